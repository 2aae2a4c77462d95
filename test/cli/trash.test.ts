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

test('the trash is emptied by name and whole, a fork of what is gone lives, and a crash only delays it', async (t) => {
  const store = new Store(t);
  const run = (name: string, text: string, ...more: string[]): Promise<unknown> =>
    store.lines('run', '--new', '--agent', name, ...more, ...store.model, '--', text);
  await run('lead', 'first words');
  await store.lines('fork', 'lead', '--agent', 'heir', '--', 'second words');
  await store.lines('wait', 'heir');
  await run('kid', 'hi', '--parent', 'lead');
  for (const name of ['one', 'two']) {
    await run(name, 'hello');
    await store.lines('delete', name);
  }
  const lead = one(await store.lines('delete', 'lead'), 'deleted');
  const none = await store.roost('trash', 'empty', 'heir');
  assert.equal(none.code, 2);
  assert.match(none.stderr, /no "heir" in the trash/);
  const some = one(await store.lines('trash', 'empty', 'lead', 'one', '--key', 'k'), 'emptied');
  assert.deepEqual([some['branches'], some['agents']], [2, 3]);
  const again = await store.lines('trash', 'empty', String(lead['agent']), '--key', 'k');
  assert.deepEqual(one(again, 'emptied'), some, 'a key is answered as it was');
  await store.kill();

  const rest = async (): Promise<unknown[]> => (await store.lines('trash')).map((row) => row['path']);
  const deadlineMs = Date.now() + 5_000;
  while ((await rest()).length > 1) assert.ok(Date.now() < deadlineMs, 'rows go on going after a crash');
  assert.deepEqual(await rest(), ['two']);
  const gone = await store.roost('restore', String(lead['agent']));
  assert.match(gone.stderr, /There is no agent/);
  const heard = await store.lines('send', 'heir', '--follow', '--', 'third words');
  assert.equal(one(heard, 'result')['text'], 'heard third words');
  // A twin with the same words that were never deleted sends its model as much.
  await run('twin', 'first words');
  await store.lines('send', 'twin', '--follow', '--', 'second words');
  const twin = await store.lines('send', 'twin', '--follow', '--', 'third words');
  const usage = (lines: typeof heard): unknown[] =>
    lines.flatMap(({ body }) => (JSON.stringify(body ?? {}).match(/"input":\d+/) ?? []).slice(0, 1));
  assert.deepEqual(usage(heard), usage(twin));
  assert.equal(usage(heard).length, 1);

  const all = await store.roost('trash', 'empty', '--pretty');
  assert.equal(all.stdout, 'deleted for good: 1 agent\n');
  assert.equal((await store.roost('trash', 'empty', '--pretty')).stdout, 'The trash is empty.\n');
  const checked = await store.lines('doctor');
  assert.deepEqual(
    checked.filter((line) => line['type'] === 'finding'),
    [],
  );
});

test('a command of an agent empties no trash: what is deleted for good, a person has deleted', async (t) => {
  const store = new Store(t);
  await store.lines('run', '--new', '--agent', 'lead', ...store.model, '--', 'hello');
  await store.lines('delete', 'lead');
  const inside = { ROOST_CALL: '1', ROOST_AGENT: '1' };
  for (const words of [
    ['trash', 'empty'],
    ['trash', 'keep', '0'],
    ['trash', 'empty', 'lead'],
  ]) {
    const refused = await store.start(words, inside).ended;
    assert.notEqual(refused.code, 0);
    assert.match(refused.stderr, /A person decides that/);
  }
  assert.equal((await store.lines('trash')).length, 1);
});

test('how long the trash keeps is set in days, and what is older goes at once', async (t) => {
  const store = new Store(t);
  await store.lines('run', '--new', '--agent', 'lead', ...store.model, '--', 'hello');
  await store.lines('delete', 'lead');
  for (const [word, daysMs] of [
    ['1.5', 36 * 60 * 60_000],
    ['ever', null],
  ] as const) {
    assert.equal(one(await store.lines('trash', 'keep', word), 'trashKept')['keptMs'], daysMs);
    const [row] = await store.lines('trash');
    assert.equal(
      daysMs === null ? row?.['untilMs'] : Number(row?.['untilMs']) - Number(row?.['atMs']),
      daysMs,
    );
  }
  for (const wrong of ['soon', '40000'])
    assert.match((await store.roost('trash', 'keep', wrong)).stderr, /days, up to 36500, or "ever"/);
  await store.lines('trash', 'keep', '0');
  const deadlineMs = Date.now() + 5_000;
  while ((await store.lines('trash')).length > 0) assert.ok(Date.now() < deadlineMs, 'it goes');
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
