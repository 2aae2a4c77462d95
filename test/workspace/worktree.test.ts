// Worktrees of agents on real repositories: made when needed, of what the person sees, without touching anything
// of the person's.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { agentId } from '../../sidecar/protocol/ids.ts';
import { gitEnvironment } from '../../sidecar/workspace/git.ts';
import { carry, createWorktrees } from '../../sidecar/workspace/worktree.ts';
import type { Worktree, Worktrees } from '../../sidecar/workspace/worktree.ts';
import { createRepository, temporaryFolder } from './repository.ts';

async function made(worktrees: Worktrees, agent: number, workspace: string): Promise<Worktree> {
  const result = await worktrees.ensure(agentId(agent), workspace);
  assert.ok(result.kind === 'worktree', result.kind === 'refused' ? result.text : '');
  return result.worktree;
}

test('case 110: a worktree is found after a restart, of its own workspace alone, and is not there before it is made', async () => {
  const repository = createRepository({ 'a.txt': 'a\n' });
  const root = path.join(temporaryFolder(), 'worktrees');
  const worktrees = createWorktrees(root);
  assert.equal(await worktrees.find(agentId(1), repository.folder), null);
  assert.equal(existsSync(root), false);
  const worktree = await made(worktrees, 1, repository.folder);
  assert.equal(readFileSync(path.join(worktree.place, 'a.txt'), 'utf8'), 'a\n');
  assert.deepEqual(await createWorktrees(root).find(agentId(1), repository.folder), worktree);
  assert.equal(await worktrees.find(agentId(1), temporaryFolder()), null, 'it belongs to one workspace');
});

test('cases 135 and 158: uncommitted and new files come along, and nothing of the person moves', async () => {
  const repository = createRepository({
    'a.txt': 'committed\n',
    'gone.txt': 'x\n',
    '.gitignore': 'ignored/\n',
  });
  repository.write('staged.txt', 'staged\n');
  repository.git('add', 'staged.txt');
  repository.write('stash.txt', 'in the stash\n');
  repository.git('stash', 'push', '--quiet', '--include-untracked', '--', 'stash.txt');
  repository.write('a.txt', 'not committed\n');
  repository.write('new/file with spaces.txt', 'new\n');
  repository.write('ignored/big.txt', 'ignored\n');
  rmSync(path.join(repository.folder, 'gone.txt'));
  const before = repository.state();
  const worktree = await made(createWorktrees(temporaryFolder()), 1, repository.folder);
  const inside = (name: string): string | null => {
    const file = path.join(worktree.place, name);
    return existsSync(file) ? readFileSync(file, 'utf8') : null;
  };
  assert.equal(inside('a.txt'), 'not committed\n');
  assert.equal(inside('staged.txt'), 'staged\n');
  assert.equal(inside('new/file with spaces.txt'), 'new\n');
  assert.equal(inside('gone.txt'), null);
  assert.equal(inside('ignored/big.txt'), null);
  assert.equal(repository.state(), before);
  assert.equal(existsSync(path.join(repository.folder, '.git', 'index.lock')), false);
});

test('case 129: fifty worktrees made together', async () => {
  const repository = createRepository({ 'a.txt': 'a\n', 'sub/b.txt': 'b\n' });
  const worktrees = createWorktrees(temporaryFolder());
  const all = await Promise.all(
    Array.from({ length: 50 }, (_, i) => made(worktrees, i + 1, repository.folder)),
  );
  assert.equal(new Set(all.map((worktree) => worktree.place)).size, 50);
  for (const worktree of all)
    assert.equal(readFileSync(path.join(worktree.place, 'sub/b.txt'), 'utf8'), 'b\n');
});

test('the same worktree asked for twice at once is made once', async () => {
  const repository = createRepository({ 'a.txt': 'a\n' });
  const worktrees = createWorktrees(temporaryFolder());
  const [one, two] = await Promise.all([
    made(worktrees, 1, repository.folder),
    made(worktrees, 1, repository.folder),
  ]);
  assert.deepEqual(one, two);
  assert.equal(repository.git('worktree', 'list').trim().split('\n').length, 2);
});

test('cases 153, 154 and 159: hooks, signing, a missing identity and GIT_ variables do not matter', async () => {
  const repository = createRepository({ 'a.txt': 'a\n' });
  const hook = repository.write(
    '.git/hooks/post-checkout',
    `#!/bin/sh\ntouch "${repository.folder}/hooked"\nexit 1\n`,
  );
  chmodSync(hook, 0o755);
  repository.git('config', 'commit.gpgSign', 'true');
  repository.git('config', 'gpg.program', 'false');
  repository.git('config', 'branch.autoSetupMerge', 'always');
  repository.write('a.txt', 'changed\n');
  const saved = { ...process.env };
  Object.assign(process.env, {
    GIT_DIR: '/nowhere',
    GIT_INDEX_FILE: '/nowhere/index',
    HOME: temporaryFolder(),
  });
  try {
    const worktree = await made(createWorktrees(temporaryFolder()), 1, repository.folder);
    assert.equal(readFileSync(path.join(worktree.place, 'a.txt'), 'utf8'), 'changed\n');
  } finally {
    for (const name of ['GIT_DIR', 'GIT_INDEX_FILE']) delete process.env[name];
    if (saved['HOME'] !== undefined) process.env['HOME'] = saved['HOME'];
  }
  assert.equal(existsSync(path.join(repository.folder, 'hooked')), false);
  assert.deepEqual(Object.keys(gitEnvironment({ GIT_DIR: 'x', GIT_ASKPASS: 'x', A: 'b' })).sort(), [
    'A',
    'GIT_OPTIONAL_LOCKS',
    'GIT_PAGER',
    'GIT_TERMINAL_PROMPT',
    'LC_ALL',
  ]);
});

test('case 139: without a repository an error that says what to do; without commits what the person has', async () => {
  const worktrees = createWorktrees(temporaryFolder());
  const none = await worktrees.ensure(agentId(1), temporaryFolder());
  assert.ok(none.kind === 'refused');
  assert.match(
    none.text,
    /is not in a git repository.*Run "git init" there, or start the agent with isolation "shared"/,
  );
  const empty = createRepository({});
  empty.write('first.txt', 'not committed\n');
  const worktree = await made(worktrees, 1, empty.folder);
  assert.equal(readFileSync(path.join(worktree.place, 'first.txt'), 'utf8'), 'not committed\n');
  assert.equal(empty.git('for-each-ref'), '');
  assert.match(empty.git('status', '--porcelain'), /^\?\? first\.txt$/m);
  const bare = await worktrees.ensure(agentId(2), createRepository({}).folder);
  assert.equal(bare.kind, 'worktree', 'a repository with nothing in it');
});

test('a workspace below the top of its repository has its place below the top of the worktree', async () => {
  const repository = createRepository({ 'top.txt': 'x\n', 'packages/one/a.txt': 'a\n' });
  const workspace = path.join(repository.folder, 'packages/one');
  const worktree = await made(createWorktrees(temporaryFolder()), 1, workspace);
  assert.equal(readFileSync(path.join(worktree.place, 'a.txt'), 'utf8'), 'a\n');
  assert.equal(readFileSync(path.join(worktree.place, '../../top.txt'), 'utf8'), 'x\n');
});

test('case 146: a folder that was left by a crash is made anew, one that was handed out is kept', async () => {
  const repository = createRepository({ 'a.txt': 'a\n' });
  const root = temporaryFolder();
  mkdirSync(path.join(root, '1'));
  writeFileSync(path.join(root, '1', 'half'), 'x');
  const worktree = await made(createWorktrees(root), 1, repository.folder);
  assert.equal(existsSync(path.join(worktree.place, 'half')), false);
  writeFileSync(path.join(worktree.place, 'work.txt'), 'work\n');
  await made(createWorktrees(root), 1, repository.folder);
  assert.equal(readFileSync(path.join(worktree.place, 'work.txt'), 'utf8'), 'work\n');
});

test('case 138: an ignored file is brought along once, never over another, never after it was removed', async () => {
  const repository = createRepository({ '.gitignore': '.env\n', 'kept.txt': 'x\n' });
  const env = repository.write('.env', 'A=1\n');
  const worktree = await made(createWorktrees(temporaryFolder()), 1, repository.folder);
  const target = path.join(worktree.place, '.env');
  await carry(worktree, { person: env, relative: '.env' });
  assert.equal(readFileSync(target, 'utf8'), 'A=1\n');
  writeFileSync(target, 'A=2\n');
  await carry(worktree, { person: env, relative: '.env' });
  assert.equal(readFileSync(target, 'utf8'), 'A=2\n');
  rmSync(path.join(worktree.place, 'kept.txt'));
  await carry(worktree, { person: path.join(repository.folder, 'kept.txt'), relative: 'kept.txt' });
  assert.equal(existsSync(path.join(worktree.place, 'kept.txt')), false);
});

test('the same state of the person gives the same base, another one another', async () => {
  const repository = createRepository({ 'a.txt': 'a\n' });
  const worktrees = createWorktrees(temporaryFolder());
  const clean = await made(worktrees, 1, repository.folder);
  assert.equal(clean.base, repository.git('rev-parse', 'HEAD').trim());
  repository.write('a.txt', 'b\n');
  const two = await made(worktrees, 2, repository.folder);
  const three = await made(worktrees, 3, repository.folder);
  assert.equal(two.base, three.base);
  repository.write('a.txt', 'c\n');
  const four = await made(worktrees, 4, repository.folder);
  assert.notEqual(four.base, two.base);
  assert.equal(readFileSync(path.join(four.place, 'a.txt'), 'utf8'), 'c\n');
  repository.write('a.txt', 'a\n');
  assert.equal((await made(worktrees, 5, repository.folder)).base, clean.base);
});

test('cases 131 and 146: a prune of the person and a stale lock of the index do no harm', async () => {
  const repository = createRepository({ 'a.txt': 'a\n' });
  const root = temporaryFolder();
  const worktrees = createWorktrees(root);
  const worktree = await made(worktrees, 1, repository.folder);
  repository.write('.git/index.lock', '');
  repository.write('a.txt', 'locked out\n');
  assert.equal(
    readFileSync(path.join((await made(worktrees, 2, repository.folder)).place, 'a.txt'), 'utf8'),
    'locked out\n',
  );
  rmSync(path.join(repository.folder, '.git/index.lock'));
  repository.git('worktree', 'prune', '--expire=now');
  assert.equal(repository.git('worktree', 'list').trim().split('\n').length, 3);
  // Somebody took git's part of it away: it is registered again around what the agent has done.
  writeFileSync(path.join(worktree.place, 'a.txt'), 'of the agent\n');
  rmSync(path.join(repository.folder, '.git/worktrees/1'), { recursive: true });
  assert.deepEqual(await made(createWorktrees(root), 1, repository.folder), worktree);
  assert.equal(readFileSync(path.join(worktree.place, 'a.txt'), 'utf8'), 'of the agent\n');
  const status = execFileSync('git', ['status', '--porcelain'], { cwd: worktree.place, encoding: 'utf8' });
  assert.equal(status, ' M a.txt\n');
});

test('case 253: a worktree whose folder was taken away is made again', async () => {
  const repository = createRepository({ 'a.txt': 'a\n' });
  const root = temporaryFolder();
  const worktrees = createWorktrees(root);
  const worktree = await made(worktrees, 1, repository.folder);
  rmSync(path.join(root, '1'), { recursive: true });
  assert.equal(await worktrees.find(agentId(1), repository.folder), null);
  assert.deepEqual(await made(worktrees, 1, repository.folder), worktree);
  assert.equal(readFileSync(path.join(worktree.place, 'a.txt'), 'utf8'), 'a\n');
});

test('case 149: the worktree of a sparse checkout is sparse', async () => {
  const repository = createRepository({ 'in/a.txt': 'a\n', 'out/b.txt': 'b\n', 'top.txt': 'x\n' });
  repository.git('sparse-checkout', 'set', 'in');
  repository.write('in/a.txt', 'changed\n');
  const before = repository.state();
  const worktree = await made(createWorktrees(temporaryFolder()), 1, repository.folder);
  assert.equal(readFileSync(path.join(worktree.place, 'in/a.txt'), 'utf8'), 'changed\n');
  assert.equal(existsSync(path.join(worktree.place, 'out')), false);
  assert.match(
    execFileSync('git', ['show', 'HEAD:out/b.txt'], { cwd: worktree.place, encoding: 'utf8' }),
    /b/,
  );
  assert.equal(repository.state(), before);
});

test('a submodule and a repository inside are left out, and the one that is the workspace has worktrees', async () => {
  const library = createRepository({ 'lib.txt': 'lib\n' });
  const repository = createRepository({ 'a.txt': 'a\n' });
  repository.addSubmodule(library, 'vendor/lib');
  repository.commit();
  createRepository({ 'inner.txt': 'inner\n' }, path.join(repository.folder, 'nested'));
  repository.git('config', 'submodule.recurse', 'true');
  const before = repository.state();
  const worktrees = createWorktrees(temporaryFolder());
  const worktree = await made(worktrees, 1, repository.folder);
  assert.equal(existsSync(path.join(worktree.place, 'vendor/lib/lib.txt')), false);
  assert.equal(existsSync(path.join(worktree.place, 'nested')), false);
  const inside = await made(worktrees, 2, path.join(repository.folder, 'vendor/lib'));
  assert.equal(readFileSync(path.join(inside.place, 'lib.txt'), 'utf8'), 'lib\n');
  assert.equal(repository.state(), before);
});

test('case 141: past the quota, or with little of the disk free, none is made, and it is said what to do', async () => {
  const repository = createRepository({ 'a.txt': 'a\n', 'b.txt': 'b\n' });
  const root = temporaryFolder();
  const worktrees = createWorktrees(root, { quotaBytes: 20_000, freeBytes: 0 });
  const all = await Promise.all(
    Array.from({ length: 4 }, (_, i) => worktrees.ensure(agentId(i + 1), repository.folder)),
  );
  const refused = all.flatMap((result) => (result.kind === 'refused' ? [result.text] : []));
  assert.equal(refused.length, 2);
  assert.match(refused[0] ?? '', /^No worktree was made\. 2 worktrees take .* "roost worktree rm"\.$/);
  const full = createWorktrees(root, { quotaBytes: 1e12, freeBytes: 1e15 });
  const none = await full.ensure(agentId(9), repository.folder);
  assert.match(none.kind === 'refused' ? none.text : '', /Only .* are free on the disk of .*Free some space/);
  const there = agentId(1 + all.findIndex((result) => result.kind === 'worktree'));
  assert.equal((await full.ensure(there, repository.folder)).kind, 'worktree', 'one that is there is used');
});
