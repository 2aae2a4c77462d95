// Fan-outs and races from end to end: the command, the sidecar, real git, a scripted model.

import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

import { until } from '../rpc/rig.ts';
import { createRepository } from '../workspace/repository.ts';
import { one, Store, type Printed } from './roost.ts';

const members = (lines: readonly Printed[]): [string, unknown, unknown][] =>
  lines
    .filter(({ type }) => type === 'member')
    .map((line) => [(line['agent'] as { name: string }).name, line['outcome'], line['text']]);

test('a fan-out starts one agent for each item, in waves, and joins them', async (t) => {
  const store = new Store(t, [{ task: 'look at {what}', say: [{ text: 'seen {what}' }] }]);
  const list = path.join(store.workspace, 'list');
  fs.writeFileSync(list, 'b b\n\nc\r\n');
  const args = ['fan', '--agent', 'look', '--at-once', '2', '--items', list, ...store.model];
  const lines = await store.lines(...args, '--', 'look at {item}', 'a');
  assert.deepEqual(members(lines), [
    ['agent-1', 'done', 'seen a'],
    ['agent-2', 'done', 'seen b b'],
    ['agent-3', 'done', 'seen c'],
  ]);
  const said = String(one(lines, 'result')['text']);
  for (const words of ['seen a', 'seen b b', 'seen c']) assert.ok(said.includes(words), said);
  const group = one(await store.lines('ls'), 'agent');
  assert.deepEqual(
    [group['name'], group['model'], group['task']],
    ['look', 'roost/play/x', 'Fan-out over 3: look at {item}'],
  );
  assert.equal((group['branch'] as { microUsd: number }).microUsd, 0);
  assert.deepEqual(members(await store.lines('compare', 'look')), members(lines));

  const refused = await store.roost('fan', ...store.model, '--', 'no place for it', 'a');
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /has no \{item\}: say where each item goes/);
  assert.equal((await store.roost('fan', ...store.model, '--', 'look at {item}')).code, 2);
  const pretty = await store.roost('compare', 'look', '--pretty');
  assert.match(pretty.stdout, /^agent-1 \(agent \d+, play\/x\): done, no changes\n {4}seen a/);
});

test('a fan-out whose sidecar is killed goes on, and each item is done once', async (t) => {
  const store = new Store(t, [{ task: 'slow {what}', say: [{ text: 'did {what}' }], delayMs: 1_000 }]);
  const running = store.start([
    'fan',
    '--agent',
    'many',
    '--at-once',
    '2',
    ...store.model,
    '--',
    'slow {item}',
    'a',
    'b',
    'c',
  ]);
  await until('it has begun', () => running.lines().some(({ type }) => type === 'started'), 15_000);
  await until('a wave is at work', async () => (await store.lines('ls', 'many')).length === 2, 15_000);
  const early = await store.roost('pick', 'many', 'agent-1');
  assert.match(early.stderr, /agent-1 is at work\. Wait until it has ended, or stop it first/);
  await store.kill();
  const ended = await running.ended;
  assert.equal(ended.code, 0, ended.stderr);
  assert.deepEqual(members(ended.lines), [
    ['agent-1', 'done', 'did a'],
    ['agent-2', 'done', 'did b'],
    ['agent-3', 'done', 'did c'],
  ]);
});

test('a race: side by side in worktrees, one is picked, the others are in the trash', async (t) => {
  const store = new Store(t, [
    { task: 'write it', round: 1, say: [{ call: 'write', input: { path: 'made.txt', text: 'made\n' } }] },
    { task: 'write it', say: [{ text: 'written' }] },
  ]);
  createRepository({ 'a.txt': 'a\n' }, store.workspace);
  const runners = ['--with', 'play/quick', '--with', 'implementer=play/slow', '--with', 'nobody'];
  const lines = await store.lines(
    'race',
    '--agent',
    'r',
    '--mode',
    'edits',
    ...runners,
    ...store.model,
    '--',
    'write',
    'it',
  );
  assert.deepEqual(members(lines), [
    ['quick', 'done', 'written'],
    ['implementer-slow', 'done', 'written'],
  ]);
  // One that cannot be started does not keep the others from it.
  assert.match(String(one(lines, 'result')['text']), /Not started: There is no profile "nobody"/);
  const files = lines.filter(({ type }) => type === 'member').map((line) => line['files']);
  assert.deepEqual(files, [
    [{ label: 'made.txt', added: 1, removed: 0 }],
    [{ label: 'made.txt', added: 1, removed: 0 }],
  ]);
  const made = path.join(store.workspace, 'made.txt');
  assert.ok(!fs.existsSync(made));

  const wrong = await store.roost('pick', 'r', 'somebody');
  assert.match(wrong.stderr, /There is no agent r\/somebody/);
  const picked = one(await store.lines('pick', 'r', 'quick', '--key', 'p'), 'picked');
  assert.deepEqual([picked['accepted'], picked['conflicts']], [1, []]);
  assert.equal(fs.readFileSync(made, 'utf8'), 'made\n');
  assert.deepEqual(
    (await store.lines('trash')).map((line) => line['path']),
    ['r/implementer-slow'],
  );
  // Doing it twice does nothing more.
  const again = one(await store.lines('pick', 'r', 'quick', '--key', 'p'), 'picked');
  assert.deepEqual([again['accepted'], again['discarded']], [0, []]);
  await store.lines('restore', 'r/implementer-slow');
});

test('a conflict keeps the others of a race', async (t) => {
  const store = new Store(t, [
    { task: 'write it', round: 1, say: [{ call: 'write', input: { path: 'made.txt', text: 'made\n' } }] },
    { task: 'write it', say: [{ text: 'written' }] },
  ]);
  createRepository({ 'a.txt': 'a\n' }, store.workspace);
  const runners = ['--with', 'play/quick', '--with', 'play/slow'];
  await store.lines('race', '--agent', 'r', '--mode', 'edits', ...runners, ...store.model, '--', 'write it');
  const made = path.join(store.workspace, 'made.txt');
  fs.writeFileSync(made, 'mine\n');
  const picked = await store.roost('pick', 'r', 'slow');
  assert.equal(picked.code, 1);
  const { accepted, conflicts, discarded } = one(picked.lines, 'picked');
  assert.deepEqual([accepted, (conflicts as unknown[]).length, discarded], [0, 1, []]);
  assert.equal(fs.readFileSync(made, 'utf8'), 'mine\n');
  assert.equal((await store.lines('ls', 'r')).length, 2);
});
