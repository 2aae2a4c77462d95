// What lasts: commands that outlive the sidecar, turns that outlive the command, agents that run `roost` themselves.

import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import { test } from 'node:test';

import { until } from '../rpc/rig.ts';
import { kinds, one, Store, type Printed } from './roost.ts';

const slow = {
  task: 'slow',
  say: [{ text: 'slowly said, word by word by word' }],
  chunkChars: 2,
  betweenMs: 60,
};

const ids = (lines: readonly Printed[]): number[] =>
  lines.filter((line) => line.type === 'entry').map((line) => Number(line['id']));

/** Starts an agent `lead` on a task that takes a while; returns what the command printed. */
const startSlow = (store: Store): ReturnType<Store['lines']> =>
  store.lines('run', '--new', '--agent', 'lead', '--detach', ...store.model, '--', 'slow');

test('a detached turn has a handle that survives SIGKILL of the sidecar', async (t) => {
  const store = new Store(t, [slow]);
  const detached = await startSlow(store);
  const { turn } = one(detached, 'started');
  assert.equal(detached.length, 1);
  await store.kill();
  const waited = await store.lines('wait', String(turn));
  assert.equal(one(waited, 'result')['text'], 'slowly said, word by word by word');
});

test('run goes on over a SIGKILL and prints each entry once', async (t) => {
  const store = new Store(t, [slow]);
  const running = store.start(['run', '--new', '--agent', 'lead', ...store.model, '--', 'slow']);
  await until('the turn runs', () => running.lines().some((line) => line.type === 'entry'), 15_000);
  await store.kill();
  const { code, lines, stderr } = await running.ended;
  assert.equal(code, 0, stderr);
  assert.match(stderr, /the sidecar ended; connecting again/);
  assert.deepEqual(kinds(lines), ['user', 'note', 'answer', 'end']);
  assert.equal(new Set(ids(lines)).size, 4);
});

test('follow --all shows everything once, in order, over three SIGKILLs', async (t) => {
  const store = new Store(t);
  await store.lines('run', '--new', '--agent', 'a0', ...store.model, '--', 'before');
  const follow = store.start(['follow', '--all']);
  await until('it has caught up', () => follow.lines().some((line) => line.type === 'caughtUp'), 15_000);
  for (let round = 1; round <= 3; round++) {
    const run = store.start(['run', '--new', '--agent', `a${round}`, ...store.model, '--', `round ${round}`]);
    if (round !== 2) await run.ended;
    await store.kill();
    assert.equal((await run.ended).code, 0);
  }
  const stored = ids(await store.lines('follow', '--once'));
  assert.ok(12 <= stored.length);
  await until('the last one is shown', () => ids(follow.lines()).at(-1) === stored.at(-1), 15_000);
  assert.deepEqual(ids(follow.lines()), stored);
  assert.equal(follow.lines().filter((line) => line.type === 'caughtUp').length, 1);
  const later = await store.lines('follow', 'a1', '--after', String(stored[2]), '--once');
  assert.ok(ids(later).length === 3 && ids(later).every((id) => Number(stored[2]) < id));
  follow.child.kill('SIGINT');
  const { code, stderr } = await follow.ended;
  assert.equal(code, 130);
  assert.match(stderr, new RegExp(`Come back with: roost follow --all --after ${stored.at(-1)}`));
});

test('follow of an agent ends when it rests, with how it ended; with --stay it goes on', async (t) => {
  const store = new Store(t, [
    slow,
    { task: 'break', fail: { kind: 'rejected', code: 'badRequest', message: 'no' } },
  ]);
  const begun = await startSlow(store);
  const follow = await store.roost('follow', 'lead');
  assert.equal(follow.code, 0, follow.stderr);
  assert.deepEqual(kinds(follow.lines), ['user', 'answer', 'end']);
  assert.equal(follow.lines.filter((line) => line.type === 'caughtUp').length, 1);
  assert.equal(one(follow.lines, 'result')['turn'], one(begun, 'started')['turn']);
  // One that rests already is shown as it is.
  const again = await store.roost('follow', String(one(begun, 'started')['agent']), '--after', '1');
  assert.deepEqual([again.code, kinds(again.lines)], [0, ['answer', 'end']]);
  await store.roost('run', '--new', '--agent', 'bad', ...store.model, '--', 'break');
  assert.equal((await store.roost('follow', 'bad')).code, 1);
  const staying = store.start(['follow', 'lead', '--stay']);
  await until('it has caught up', () => staying.lines().some((line) => line.type === 'caughtUp'), 15_000);
  await store.lines('run', '--agent', 'lead', '--', 'more');
  await until('it goes on', () => kinds(staying.lines()).length === 6, 15_000);
  staying.child.kill('SIGINT');
  assert.equal((await staying.ended).code, 130);
});

test('a sidecar that is killed while it starts is started again', async (t) => {
  if (process.platform !== 'linux') return t.skip('children are found in /proc');
  const store = new Store(t);
  const info = store.start(['info']);
  const children = `/proc/${info.child.pid}/task/${info.child.pid}/children`;
  const first = (): number => Number(fs.readFileSync(children, 'utf8').split(' ', 1)[0]);
  await until('it starts one', () => first() > 0, 15_000);
  process.kill(first(), 'SIGKILL');
  const { code, stderr } = await info.ended;
  assert.equal(code, 0, stderr);
});

test('Ctrl-C leaves the turn running and says how to come back', async (t) => {
  const store = new Store(t, [slow]);
  const running = store.start(['run', '--new', '--agent', 'lead', ...store.model, '--', 'slow']);
  await until('the turn runs', () => running.lines().some((line) => line.type === 'entry'), 15_000);
  running.child.kill('SIGINT');
  const { code, stderr, lines } = await running.ended;
  assert.equal(code, 130);
  const { turn } = one(lines, 'started');
  assert.match(
    stderr,
    new RegExp(`lead goes on\\. Come back with: roost follow 1 --after \\d+, or: roost wait ${turn}`),
  );
  assert.equal(one(await store.lines('wait', String(turn)), 'result')['outcome'], 'done');
});

test('an agent delegates by command: its child is its child, and the answer comes back', async (t) => {
  const command = 'roost run --new --agent kid --model play/x -- "hello kid"';
  const store = new Store(t, [
    { task: 'delegate', tool: 'shell', say: [{ text: 'my kid said: {result}' }] },
    { task: 'delegate', say: [{ call: 'shell', input: { command } }] },
  ]);
  const running = store.start(['run', '--new', '--agent', 'lead', ...store.model, '--', 'delegate']);
  await until('it asks', () => running.lines().some((line) => line.type === 'request'), 15_000);
  const request = one(running.lines(), 'request');
  assert.equal(one(await store.lines('answer', '--list'), 'request')['id'], request['id']);
  assert.equal(one(await store.lines('answer', 'allow'), 'answered')['applied'], 1);
  const { code, lines, stderr } = await running.ended;
  assert.equal(code, 0, stderr);
  assert.match(String(one(lines, 'result')['text']), /heard hello kid/);
  // The lead heard of its kid by its command: no notice, and no turn for one (I8).
  const said = await store.lines('follow', 'lead', '--once');
  assert.deepEqual(kinds(said), ['user', 'answer', 'result', 'answer', 'end']);
  const [first] = await store.lines('follow', 'lead/kid', '--once');
  assert.equal((first?.['body'] as { from: unknown }).from, 1, 'the kid’s task is from its parent');
  const rows = await store.lines('ls', '--all');
  assert.deepEqual(
    rows.map((row) => [row['name'], row['parent']]),
    [
      ['lead', null],
      ['kid', 1],
    ],
  );
  const late = await store.roost('answer', String(request['id']), 'deny', 'no');
  assert.equal(late.code, 1, 'a second answer changes nothing');
  assert.equal(one(late.lines, 'answered')['stale'], 1);
});

test('what is denied is told to the agent', async (t) => {
  const store = new Store(t, [
    { task: 'do it', tool: 'shell', say: [{ text: 'I was told: {result}' }] },
    { task: 'do it', say: [{ call: 'shell', input: { command: 'touch made' } }] },
  ]);
  const running = store.start(['run', '--new', '--agent', 'lead', ...store.model, '--', 'do it']);
  await until('it asks', () => running.lines().some((line) => line.type === 'request'), 15_000);
  await store.lines('answer', String(one(running.lines(), 'request')['id']), 'deny', 'not', 'today');
  assert.match(String(one((await running.ended).lines, 'result')['text']), /not today/);
});
