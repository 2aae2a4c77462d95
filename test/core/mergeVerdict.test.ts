// Verdicts on texts: accepted text stays, rejected text goes, the person's text is never touched.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { hunksOf } from '../../sidecar/core/merge.ts';
import { decide } from '../../sidecar/core/verdict.ts';
import type { VerdictInput } from '../../sidecar/core/verdict.ts';

type State = { base: string | null; after: string | null; person: string | null; written: string | null };

/** Gives a verdict and brings the files to what it says; a conflict or a stale one changes nothing. */
function judge(state: State, what: Pick<VerdictInput, 'isolation' | 'verdict' | 'hunks'>): State {
  const outcome = decide({ path: 'a.ts', ...what, ...state });
  if (outcome.kind !== 'decided') return state;
  const moved = { ...state, base: outcome.base, after: outcome.after };
  if (outcome.target !== 'none') moved[outcome.target] = outcome.text;
  if (what.isolation !== 'worktree') moved.written = moved.person;
  return moved;
}

/** Lines that say where they come from; an agent and a person each change some, far enough apart or not. */
const rows = Array.from({ length: 12 }, (_, i) => i);
const changes = fc.array(fc.constantFrom('keep', 'keep', 'change', 'drop', 'add'), {
  minLength: 12,
  maxLength: 12,
});
const version = (who: string, what: readonly string[], base: readonly string[]): string =>
  rows
    .map((i) => {
      const line = base[i] ?? '';
      if (what[i] === 'change') return `${who} ${i}\n`;
      if (what[i] === 'drop') return '';
      return what[i] === 'add' ? `${line}${who} after ${i}\n` : line;
    })
    .join('');
const base = rows.map((i) => `line ${i}\n`);
const order = fc.array(fc.tuple(fc.nat(20), fc.constantFrom('accept' as const, 'reject' as const)), {
  minLength: 12,
  maxLength: 12,
});

test('case 61: in any order of verdicts accepted lines stay, and the rest is as before', () => {
  fc.assert(
    fc.property(changes, order, (agent, verdicts) => {
      const after = version('agent', agent, base);
      let state: State = { base: base.join(''), after, person: after, written: after };
      const accepted = new Set<string>();
      const rejected = new Set<string>();
      for (const [pick, verdict] of verdicts) {
        const hunks = hunksOf(state.base, state.after, 'a.ts');
        const hunk = hunks[pick % Math.max(1, hunks.length)];
        if (hunk === undefined) break;
        for (const line of hunk.added) (verdict === 'accept' ? accepted : rejected).add(line);
        state = judge(state, { isolation: 'shared', verdict, hunks: [hunk.id] });
      }
      state = judge(state, { isolation: 'shared', verdict: 'reject', hunks: 'all' });
      assert.equal(state.base, state.after, 'nothing is left to decide');
      assert.equal(state.person, state.after, 'nobody else wrote, so the file is what was decided');
      for (const line of accepted) assert.ok(state.person?.includes(line), `${line} was accepted`);
      for (const line of rejected) assert.ok(!state.person?.includes(line), `${line} was rejected`);
    }),
  );
});

test('the same verdicts in two orders end in the same file', () => {
  fc.assert(
    fc.property(changes, fc.array(fc.boolean(), { minLength: 14, maxLength: 14 }), (agent, picks) => {
      const after = version('agent', agent, base);
      const start: State = { base: base.join(''), after, person: after, written: after };
      const decisions = hunksOf(start.base, after, 'a.ts').map((hunk, i) => ({
        hunks: [hunk.id],
        verdict: picks[i] === true ? ('accept' as const) : ('reject' as const),
      }));
      const run = (list: typeof decisions): State =>
        list.reduce((state, each) => judge(state, { isolation: 'shared', ...each }), start);
      assert.deepEqual(run(decisions), run(decisions.toReversed()));
    }),
  );
});

for (const isolation of ['shared', 'worktree'] as const) {
  test(`cases 62 and 69: what a person writes survives every verdict (${isolation})`, () => {
    fc.assert(
      fc.property(changes, changes, order, (agent, person, verdicts) => {
        const after = version('agent', agent, base);
        const before = isolation === 'shared' ? after : base.join('');
        const now = version('person', person, before.split(/(?<=\n)/));
        let state: State = {
          base: base.join(''),
          after,
          person: now,
          written: isolation === 'shared' ? now : after,
        };
        for (const [pick, verdict] of verdicts) {
          const hunks = hunksOf(state.base, state.after, 'a.ts');
          const hunk = hunks[pick % Math.max(1, hunks.length)];
          if (hunk === undefined) break;
          state = judge(state, { isolation, verdict, hunks: [hunk.id] });
        }
        const wrote = now.split('\n').filter((line) => line.startsWith('person'));
        for (const line of wrote) assert.ok(state.person?.includes(`${line}\n`), `${line} is the person's`);
      }),
    );
  });
}

test('case 66: an accepted hunk is no hunk any more, so undoing cannot reach it', () => {
  const start: State = { base: 'a\n', after: 'b\n', person: 'b\n', written: 'b\n' };
  const kept = judge(start, { isolation: 'shared', verdict: 'accept', hunks: 'all' });
  assert.deepEqual(judge(kept, { isolation: 'shared', verdict: 'reject', hunks: 'all' }), kept);
});

test('case 62: a hunk that the person edited is not taken out', () => {
  const outcome = decide({
    path: 'a.ts',
    isolation: 'shared',
    verdict: 'reject',
    hunks: 'all',
    base: 'one\ntwo\nthree\n',
    after: 'one\nagent\nthree\n',
    person: 'one\nagent and person\nthree\n',
    written: null,
  });
  assert.equal(outcome.kind, 'conflict');
});

test('a made file: rejected it goes, edited it stays, accepted from a worktree it comes', () => {
  const made = { path: 'a.ts', base: null, after: 'new\n', hunks: 'all' as const };
  const shared = { ...made, isolation: 'shared' as const, written: null };
  const gone = decide({ ...shared, verdict: 'reject', person: 'new\n' });
  assert.ok(gone.kind === 'decided' && gone.target === 'person' && gone.text === null && gone.after === null);
  assert.equal(decide({ ...shared, verdict: 'reject', person: 'new and mine\n' }).kind, 'conflict');
  const apart = { ...made, isolation: 'worktree' as const, verdict: 'accept' as const, written: 'new\n' };
  const come = decide({ ...apart, person: null });
  assert.ok(come.kind === 'decided' && come.target === 'person' && come.text === 'new\n');
  assert.equal(decide({ ...apart, person: 'mine\n' }).kind, 'conflict');
});

test('a removed file: accepted from a worktree it goes only if it is as the agent saw it', () => {
  const removed = {
    path: 'a.ts',
    isolation: 'worktree' as const,
    verdict: 'accept' as const,
    hunks: 'all' as const,
  };
  const state = { base: 'x\n', after: null, written: null };
  const gone = decide({ ...removed, ...state, person: 'x\n' });
  assert.ok(gone.kind === 'decided' && gone.target === 'person' && gone.text === null);
  assert.equal(decide({ ...removed, ...state, person: 'x\nmine\n' }).kind, 'conflict');
});

test('what a person has merged by hand is accepted without a write, whatever their file says', () => {
  const state = { base: 'x\n', after: 'agent\n', person: 'both\n', written: 'agent\n' };
  const how = { path: 'a.ts', isolation: 'worktree', verdict: 'accept', hunks: 'all' } as const;
  assert.equal(decide({ ...state, ...how }).kind, 'conflict');
  const merged = decide({ ...state, ...how, merged: true });
  assert.ok(merged.kind === 'decided' && merged.target === 'none' && merged.base === 'agent\n');
  assert.deepEqual(merged.left, []);
});

test('a hunk that is not there any more makes a verdict stale', () => {
  const input = {
    path: 'a.ts',
    isolation: 'shared' as const,
    base: 'a\n',
    after: 'b\n',
    person: 'b\n',
    written: 'b\n',
  };
  assert.equal(decide({ ...input, verdict: 'accept', hunks: ['gone'] }).kind, 'stale');
});
