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
