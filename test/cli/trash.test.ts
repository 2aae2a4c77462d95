// The trash from end to end: the real command, the real sidecar, a scripted model.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { one, Store } from './roost.ts';

const slow = {
  user: 'slow',
  say: [{ text: 'slowly said, word by word by word' }],
  chunkChars: 2,
  betweenMs: 60,
};

const names = (lines: readonly Readonly<Record<string, unknown>>[]): unknown[] =>
  lines.map((line) => line['name']);

test('delete moves a branch to the trash and restore brings it back, by path, also after a crash', async (t) => {
  const store = new Store(t, [slow]);
  const run = (name: string, text: string, ...more: string[]): Promise<unknown> =>
    store.lines('run', '--new', '--agent', name, ...more, ...store.model, '--', text);
  await run('lead', 'hello');
  await run('kid', 'hi', '--parent', 'lead');
  await run('busy', 'slow', '--parent', 'lead', '--detach');
  const deleted = one(await store.lines('delete', 'lead'), 'deleted');
  assert.deepEqual([deleted['agents'], deleted['stopped'], deleted['name']], [3, 1, 'lead']);
  assert.deepEqual(await store.lines('ls', '--all'), []);
  const gone = await store.roost('send', 'lead', '--', 'more');
  assert.equal(gone.code, 2, gone.stderr);
  const refused = await store.roost('send', String(deleted['agent']), '--', 'more');
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /lead is in the trash\. Restore it first \("roost restore \d+"\)/);

  await store.kill();
  const [row] = await store.lines('trash');
  assert.deepEqual([row?.['path'], row?.['agents'], row?.['state']], ['lead', 3, 'kept']);
  const until = Number(row?.['untilMs']) - Number(row?.['atMs']);
  assert.equal(until, 30 * 24 * 60 * 60_000);
  assert.match(
    (await store.roost('trash', '--pretty')).stdout,
    /^lead \(\d+\) {2}3 agents, kept until \d{4}-/,
  );
  const restored = one(await store.lines('restore', 'lead'), 'restored');
  assert.deepEqual([restored['agents'], restored['name']], [3, 'lead']);
  assert.deepEqual(names(await store.lines('ls', '--all')), ['lead', 'kid', 'busy']);
  assert.deepEqual(await store.lines('trash'), []);
  const again = await store.roost('restore', 'lead');
  assert.equal(again.code, 2);
  assert.match(again.stderr, /no "lead" in the trash/);
  const sent = await store.lines('send', 'lead/busy', '--follow', '--', 'go on');
  assert.equal(one(sent, 'result')['text'], 'heard go on');
});

test('two branches of one name in the trash are told apart by their numbers', async (t) => {
  const store = new Store(t);
  const ids: string[] = [];
  for (const text of ['one', 'two']) {
    await store.lines('run', '--new', '--agent', 'lead', ...store.model, '--', text);
    ids.push(String(one(await store.lines('delete', 'lead'), 'deleted')['agent']));
  }
  const unclear = await store.roost('restore', 'lead');
  assert.equal(unclear.code, 2);
  assert.match(
    unclear.stderr,
    new RegExp(`2 branches in the trash are named "lead". Give a number: ${ids[1]}, ${ids[0]}`),
  );
  assert.equal(one(await store.lines('restore', ids[0] ?? ''), 'restored')['name'], 'lead');
  assert.equal(one(await store.lines('restore', 'lead'), 'restored')['name'], 'lead-2');
});
