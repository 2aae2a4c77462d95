// `roost worktree` on a real sidecar with real git: a worktree is kept while it has work and goes when it is decided.

import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

import { until } from '../rpc/rig.ts';
import { createRepository } from '../workspace/repository.ts';
import { one, Store } from './roost.ts';

const edits = [
  { tool: 'edit', say: [{ text: 'edited: {result}' }] },
  {
    user: 'change',
    say: [{ call: 'edit', input: { path: 'a.txt', old: 'one', new: 'ONE' } }],
  },
];

test('worktree ls and rm: kept with a reason, removed when everything is decided', async (t) => {
  const store = new Store(t, edits);
  createRepository({ 'a.txt': 'one\n' }, store.workspace);
  const start = ['run', '--new', '--isolation', 'worktree', ...store.model];
  await store.lines(...start, '--agent', 'first', '--', 'change');
  const row = one(await store.lines('worktree', 'ls'), 'worktree');
  assert.deepEqual([row['agentName'], row['state'], row['advice']], ['first', 'review', 'leave']);
  assert.match(String(row['reason']), /1 change of first without a verdict/);
  const refused = await store.roost('worktree', 'rm', 'first');
  assert.equal(refused.code, 1);
  assert.match(String(one(refused.lines, 'worktreeRemoved')['reason']), /Review it, or remove it with force/);
  const change = one(await store.lines('review', 'first'), 'change')['id'];
  await store.lines('review', 'accept', String(change));
  assert.equal(fs.readFileSync(path.join(store.workspace, 'a.txt'), 'utf8'), 'ONE\n');
  assert.equal(one(await store.lines('worktree', 'ls', 'first'), 'worktree')['state'], 'done');
  assert.equal(one(await store.lines('worktree', 'rm', '--done'), 'worktreeRemoved')['removed'], true);
  assert.deepEqual(await store.lines('worktree'), []);
});

test('the worktree of a closed agent goes with its last verdict', async (t) => {
  const store = new Store(t, edits);
  createRepository({ 'a.txt': 'one\n' }, store.workspace);
  await store.lines(
    'run',
    '--new',
    '--isolation',
    'worktree',
    ...store.model,
    '--agent',
    'first',
    '--',
    'change',
  );
  const folder = String(one(await store.lines('worktree', 'ls'), 'worktree')['path']);
  await store.lines('close', 'first');
  assert.equal(fs.existsSync(folder), true);
  const change = one(await store.lines('review', 'first'), 'change')['id'];
  await store.lines('review', 'reject', String(change));
  await until('the worktree is gone', () => !fs.existsSync(folder));
});

test('case 161: two agents at the same lines know of each other as soon as the second has written', async (t) => {
  const store = new Store(t, [
    { tool: 'edit', say: [{ text: '{result}' }] },
    ...['first', 'second', 'third'].map((name) => ({
      user: `as ${name}`,
      say: [
        {
          call: 'edit',
          input: { path: 'a.txt', old: name === 'third' ? 'nine' : 'one', new: `by ${name}` },
        },
      ],
    })),
  ]);
  createRepository({ 'a.txt': 'one\ntwo\nthree\nnine\n' }, store.workspace);
  const run = (name: string) =>
    store.lines(
      'run',
      '--new',
      '--isolation',
      'worktree',
      ...store.model,
      '--agent',
      name,
      '--',
      `as ${name}`,
    );
  assert.doesNotMatch(String(one(await run('first'), 'result')['text']), /also changed by/);
  const told = String(one(await run('second'), 'result')['text']);
  assert.match(
    told,
    /\[roost\] a\.txt is also changed by first \(agent 1, at the same lines\), and nobody has decided/,
  );
  assert.match(
    String(one(await run('third'), 'result')['text']),
    /by first \(agent 1\), second \(agent 2\), and/,
  );
  const rows = await store.lines('review');
  const overlaps = (index: number): unknown =>
    (rows[index]?.['overlaps'] as { agentName: string; lines: boolean }[]).map((each) => [
      each.agentName,
      each.lines,
    ]);
  assert.deepEqual(overlaps(0), [
    ['second', true],
    ['third', false],
  ]);
  assert.deepEqual(overlaps(2), [
    ['first', false],
    ['second', false],
  ]);
  await store.lines('review', 'accept', String(rows[0]?.['id']));
  const refused = await store.roost('review', 'accept', String(rows[1]?.['id']));
  assert.equal(one(refused.lines, 'verdict')['state'], 'conflict');
  assert.equal(refused.code, 1);
  const left = await store.lines('review');
  assert.deepEqual(
    left.map((row) => [row['agentName'], row['state']]),
    [
      ['second', 'conflict'],
      ['third', 'open'],
    ],
    'a conflict is remembered, and stays in the list',
  );
  await store.lines('review', 'accept', String(rows[2]?.['id']));
  assert.equal(
    fs.readFileSync(path.join(store.workspace, 'a.txt'), 'utf8'),
    'by first\ntwo\nthree\nby third\n',
  );
  const merged = one(await store.lines('review', 'merged', String(rows[1]?.['id'])), 'verdict');
  assert.equal(
    (merged['change'] as { state: string }).state,
    'accepted',
    'what was merged by hand is decided',
  );
  assert.match(fs.readFileSync(path.join(store.workspace, 'a.txt'), 'utf8'), /^by first/);
  assert.deepEqual(
    (await store.lines('doctor')).filter((line) => line['ok'] === false),
    [],
  );
});

test('checkpoint ls, show and restore: back to before the turn wrote, and its changes are gone', async (t) => {
  const store = new Store(t, [
    { tool: 'write', say: [{ call: 'edit', input: { path: 'a.txt', old: 'one', new: 'ONE' } }] },
    { tool: 'edit', say: [{ text: 'done' }] },
    { tool: 'read', say: [{ text: 'looked' }] },
    { user: 'look', say: [{ call: 'read', input: { path: 'a.txt' } }] },
    { user: 'change', say: [{ call: 'write', input: { path: 'made.txt', text: 'made\n' } }] },
  ]);
  createRepository({ 'a.txt': 'one\n' }, store.workspace);
  const run = ['run', '--agent', 'first', '--mode', 'edits', ...store.model];
  await store.lines(...run, '--new', '--', 'look');
  assert.deepEqual(await store.lines('checkpoint'), [], 'a turn that only reads has none');
  await store.lines(...run, '--', 'change');
  const row = one(await store.lines('checkpoint', 'ls', 'first'), 'checkpoint');
  assert.deepEqual([row['kind'], row['agentName']], ['turn', 'first']);
  assert.deepEqual(await store.lines('checkpoint'), [row], 'of this folder');
  const files = (await store.lines('checkpoint', 'show', '1')).filter(
    (line) => line.type === 'checkpointFile',
  );
  assert.deepEqual(
    files.map((file) => [file['action'], file['label']]),
    [
      ['write', 'a.txt'],
      ['remove', 'made.txt'],
    ],
  );
  assert.equal((await store.lines('review')).length, 2);
  const restored = await store.lines('checkpoint', 'restore', '1', '--key', 'k');
  assert.deepEqual(restored, [{ type: 'checkpointRestored', written: 1, removed: 1, undo: 2 }]);
  assert.deepEqual(fs.readdirSync(store.workspace).sort(), ['.git', 'a.txt']);
  assert.deepEqual(await store.lines('review'), []);
  assert.deepEqual(
    await store.lines('checkpoint', 'restore', '1', '--key', 'k'),
    restored,
    'the same key, the same answer',
  );
  await store.lines('checkpoint', 'restore', '2');
  assert.equal(fs.readFileSync(path.join(store.workspace, 'a.txt'), 'utf8'), 'ONE\n');
  assert.equal((await store.roost('checkpoint', 'show', '99')).code, 2, 'an unknown thing');
  assert.deepEqual(
    (await store.lines('doctor')).filter((line) => line['ok'] === false),
    [],
  );
});
