// The Review port on real files: verdicts reach the right file, once, and never cost what the person wrote.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { Review, ReviewDone, ReviewFile, ReviewJob, ReviewPlan } from '../../sidecar/ports.ts';
import type { ChangeDetail, ChangeRow } from '../../sidecar/protocol/change.ts';
import { agentId, changeId } from '../../sidecar/protocol/ids.ts';
import type { Json } from '../../sidecar/protocol/json.ts';
import { noBuffers } from '../../sidecar/workspace/buffers.ts';
import type { Buffers } from '../../sidecar/workspace/buffers.ts';
import { hashOfText } from '../../sidecar/workspace/bytes.ts';
import { createLocks } from '../../sidecar/workspace/locks.ts';
import { createReview } from '../../sidecar/workspace/review.ts';
import { temporaryFolder } from './repository.ts';

const bytes = (text: string | null): Uint8Array | null => (text === null ? null : Buffer.from(text));
const textOf = (content: Uint8Array | null): string | null =>
  content === null ? null : Buffer.from(content).toString();

type Case = {
  review: Review;
  file: ReviewFile;
  plan(what: Pick<ReviewJob, 'verdict' | 'hunks'>): Promise<ReviewPlan>;
  write(what: Pick<ReviewJob, 'verdict' | 'hunks'>, evidence: Json): Promise<ReviewDone>;
  detail(): Promise<ChangeDetail>;
  person(): string | null;
  written(): string | null;
};

type Sides = { base: string | null; after: string | null; person: string | null };

function createCase(isolation: 'shared' | 'worktree', sides: Sides, buffers: Buffers = noBuffers): Case {
  const folder = temporaryFolder();
  const personFile = path.join(folder, 'a.ts');
  const writtenFile = isolation === 'worktree' ? path.join(folder, 'worktree.ts') : personFile;
  if (sides.person !== null) writeFileSync(personFile, sides.person);
  if (isolation === 'worktree' && sides.after !== null) writeFileSync(writtenFile, sides.after);
  const review = createReview({ buffers, locks: createLocks(), wrote: () => undefined });
  const file: ReviewFile = {
    path: personFile,
    written: writtenFile,
    isolation,
    base: bytes(sides.base),
    after: bytes(sides.after),
  };
  const read = (name: string): string | null => (existsSync(name) ? readFileSync(name, 'utf8') : null);
  const row: ChangeRow = {
    id: changeId(1),
    agent: agentId(1),
    agentName: 'a',
    path: personFile,
    label: 'a.ts',
    isolation,
    kind: 'edit',
    state: 'open',
    added: 0,
    removed: 0,
    baseHash: '',
    afterHash: '',
    atMs: 0,
    overlaps: [],
    doubt: null,
  };
  return {
    review,
    file,
    plan: (what) => new Promise((resolve) => review.plan({ ...file, ...what }, resolve)),
    write: (what, evidence) =>
      new Promise((resolve) => review.write({ ...file, ...what }, evidence, resolve)),
    detail: () => new Promise((resolve) => review.detail(row, file, resolve)),
    person: () => read(personFile),
    written: () => read(writtenFile),
  };
}

/** Plans and writes. */
async function give(
  each: Case,
  what: Pick<ReviewJob, 'verdict' | 'hunks'>,
): Promise<Extract<ReviewPlan, { kind: 'plan' }>> {
  const plan = await each.plan(what);
  assert.ok(plan.kind === 'plan', plan.kind === 'plan' ? '' : plan.message);
  assert.deepEqual(await each.write(what, plan.evidence), { kind: 'done' });
  return plan;
}

const base = 'one\ntwo\nthree\nfour\nfive\n';
const after = 'ONE\ntwo\nthree\nfour\nFIVE\n';

test('shared: a rejected hunk leaves the file, the other one and the edits of the person stay', async () => {
  const each = createCase('shared', { base, after, person: 'zero\nONE\ntwo\nthree\nfour\nFIVE\nsix\n' });
  const { hunks } = await each.detail();
  assert.deepEqual(
    hunks.map((hunk) => [hunk.removed, hunk.added, hunk.now?.start]),
    [
      [['one'], ['ONE'], 2],
      [['five'], ['FIVE'], 6],
    ],
  );
  const plan = await give(each, { verdict: 'reject', hunks: [hunks[0]?.id ?? ''] });
  assert.equal(each.person(), 'zero\none\ntwo\nthree\nfour\nFIVE\nsix\n');
  assert.deepEqual([plan.left, plan.decided, textOf(plan.after)], [1, 1, 'one\ntwo\nthree\nfour\nFIVE\n']);
});

test('shared: accepting moves the base and does not touch the file', async () => {
  const each = createCase('shared', { base, after, person: after });
  const plan = await give(each, { verdict: 'accept', hunks: 'all' });
  assert.deepEqual([textOf(plan.base), plan.left, plan.decided, each.person()], [after, 0, 2, after]);
});

test('worktree: an accepted hunk comes to the person, a rejected one leaves the worktree', async () => {
  const each = createCase('worktree', { base, after, person: 'zero\none\ntwo\nthree\nfour\nfive\n' });
  const { hunks } = await each.detail();
  assert.deepEqual(
    hunks.map((hunk) => hunk.now),
    [
      { start: 2, count: 1 },
      { start: 6, count: 1 },
    ],
  );
  await give(each, { verdict: 'accept', hunks: [hunks[0]?.id ?? ''] });
  assert.equal(each.person(), 'zero\nONE\ntwo\nthree\nfour\nfive\n');
  assert.equal(each.written(), after);
  await give(each, { verdict: 'reject', hunks: [hunks[1]?.id ?? ''] });
  assert.equal(each.written(), 'ONE\ntwo\nthree\nfour\nfive\n');
  assert.equal(each.person(), 'zero\nONE\ntwo\nthree\nfour\nfive\n');
});

test('case 62: where the person wrote into a hunk, nothing is changed', async () => {
  const person = 'ONE and mine\ntwo\nthree\nfour\nFIVE\n';
  const each = createCase('shared', { base, after, person });
  const plan = await each.plan({ verdict: 'reject', hunks: 'all' });
  assert.ok(plan.kind === 'conflict');
  assert.match(plan.message, /That text was kept/);
  assert.equal(each.person(), person);
  const { hunks } = await each.detail();
  assert.deepEqual(
    hunks.map((hunk) => hunk.now),
    [null, { start: 5, count: 1 }],
  );
});

test('case 67: a file that moves between plan and write is left alone', async () => {
  const each = createCase('shared', { base, after, person: after });
  const what = { verdict: 'reject' as const, hunks: 'all' as const };
  const plan = await each.plan(what);
  assert.ok(plan.kind === 'plan');
  writeFileSync(each.file.path, `${after}typed\n`);
  assert.equal((await each.write(what, plan.evidence)).kind, 'conflict');
  assert.equal(each.person(), `${after}typed\n`);
});

test('a verdict that was written before a crash is done, one that was not is written', async () => {
  const each = createCase('shared', { base, after, person: after });
  const what = { verdict: 'reject' as const, hunks: 'all' as const };
  const plan = await each.plan(what);
  assert.ok(plan.kind === 'plan');
  for (let times = 0; times < 3; times++)
    assert.deepEqual(await each.write(what, plan.evidence), { kind: 'done' });
  assert.equal(each.person(), base);
  assert.equal((await each.write(what, 'something else')).kind, 'conflict');
});

test('case 59: a verdict goes through the unsaved buffer, and the disk is left to the person', async () => {
  let buffer = `typed\n${after}`;
  const buffers: Buffers = {
    readText: () => Promise.resolve(buffer),
    applyEdit: (_path, expect, edits) => {
      if (expect !== hashOfText(buffer)) return Promise.resolve(false);
      for (const edit of edits.toReversed())
        buffer = buffer.slice(0, edit.start) + edit.text + buffer.slice(edit.end);
      return Promise.resolve(true);
    },
  };
  const each = createCase('shared', { base, after, person: after }, buffers);
  await give(each, { verdict: 'reject', hunks: 'all' });
  assert.equal(buffer, `typed\n${base}`);
  assert.equal(each.person(), after);
});

test('a made file that is rejected goes, a removed one that is rejected comes back', async () => {
  const made = createCase('shared', { base: null, after: 'new\n', person: 'new\n' });
  await give(made, { verdict: 'reject', hunks: 'all' });
  assert.equal(made.person(), null);
  const removed = createCase('worktree', { base: 'x\n', after: null, person: 'x\n' });
  await give(removed, { verdict: 'reject', hunks: 'all' });
  assert.equal(removed.written(), 'x\n');
  const gone = createCase('worktree', { base: 'x\n', after: null, person: 'x\n' });
  await give(gone, { verdict: 'accept', hunks: 'all' });
  assert.equal(gone.person(), null);
});

test('bytes that are no text, modes and line ends survive a verdict', async () => {
  const each = createCase('shared', { base: null, after: null, person: '' });
  const latin = (text: string): Uint8Array => Buffer.from(text, 'latin1');
  writeFileSync(each.file.path, latin('\xe9\r\nNEW\r\n\xff\n'));
  chmodSync(each.file.path, 0o750);
  const file = { ...each.file, base: latin('\xe9\r\nold\r\n\xff\n'), after: latin('\xe9\r\nNEW\r\n\xff\n') };
  const job: ReviewJob = { ...file, verdict: 'reject', hunks: 'all' };
  const plan = await new Promise<ReviewPlan>((resolve) => each.review.plan(job, resolve));
  assert.ok(plan.kind === 'plan');
  await new Promise((resolve) => each.review.write(job, plan.evidence, resolve));
  assert.equal(readFileSync(each.file.path, 'latin1'), '\xe9\r\nold\r\n\xff\n');
  assert.equal(statSync(each.file.path).mode & 0o777, 0o750);
});

test("lines of the person between two writes of an agent are nobody's hunk", () => {
  const { review } = createCase('shared', { base, after, person: after });
  const rebased = review.rebase({ base: bytes(base), after: bytes(after) }, bytes(`${after}mine\n`));
  assert.equal(textOf(rebased), `${base}mine\n`);
  assert.equal(textOf(review.rebase({ base: bytes(base), after: bytes(after) }, bytes(after))), base);
  const into = review.rebase(
    { base: bytes(base), after: bytes(after) },
    bytes(after.replace('ONE', 'ONE and mine')),
  );
  assert.equal(textOf(into), after.replace('ONE', 'ONE and mine'));
});

test('a change is measured in lines and named by its bytes', () => {
  const { review } = createCase('shared', { base, after, person: after });
  const measured = review.measure(bytes(base), bytes(after));
  assert.deepEqual([measured.added, measured.removed], [2, 2]);
  assert.notEqual(measured.beforeHash, measured.afterHash);
  assert.deepEqual(
    [review.measure(null, bytes('a\nb\n')).added, review.measure(null, bytes('a\n')).beforeHash],
    [2, 'none'],
  );
});
