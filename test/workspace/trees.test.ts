// What becomes of worktrees: the state of each with its reason, removal that loses nothing, and the way back.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { TreeAgent } from '../../sidecar/ports.ts';
import { agentId } from '../../sidecar/protocol/ids.ts';
import type { WorktreeRow } from '../../sidecar/protocol/worktree.ts';
import { hashOf } from '../../sidecar/workspace/bytes.ts';
import { createTrees } from '../../sidecar/workspace/trees.ts';
import type { TreeService } from '../../sidecar/workspace/trees.ts';
import { createWorktrees } from '../../sidecar/workspace/worktree.ts';
import type { Worktrees } from '../../sidecar/workspace/worktree.ts';
import { createRepository, temporaryFolder } from './repository.ts';
import type { Repository } from './repository.ts';

type Rig = {
  repository: Repository;
  root: string;
  worktrees: Worktrees;
  trees: TreeService;
  /** What the store says of the agents; there is none without an entry. */
  agents: Map<number, TreeAgent>;
  /** Hashes that were decided. */
  decided: Set<string>;
  make(agent: number): Promise<string>;
  row(agent: number): Promise<WorktreeRow>;
};

function createRig(): Rig {
  const repository = createRepository({ 'a.txt': 'a\n', 'b.txt': 'b\n', '.gitignore': 'out/\n' });
  const root = temporaryFolder();
  const worktrees = createWorktrees(root);
  const agents = new Map<number, TreeAgent>();
  const trees = createTrees({
    worktrees,
    agent: (id) => agents.get(id),
    warn: (message) => assert.fail(message),
  });
  const decided = new Set<string>();
  return {
    repository,
    root,
    worktrees,
    trees,
    agents,
    decided,
    make: async (agent) => {
      agents.set(agent, {
        name: `agent-${agent}`,
        closed: false,
        busy: false,
        undecided: 0,
        decided: (file, hash) => decided.has(`${path.basename(file)} ${hash}`),
      });
      const made = await worktrees.ensure(agentId(agent), repository.folder);
      assert.ok(made.kind === 'worktree');
      return made.worktree.place;
    },
    row: async (agent) => {
      const { rows } = await trees.list({ agent: agentId(agent), after: null, limit: 1 });
      const [row] = rows;
      assert.ok(row !== undefined);
      return row;
    },
  };
}

const git = (folder: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@localhost', ...args], {
    cwd: folder,
    encoding: 'utf8',
  });

const hash = (text: string | null): string => hashOf(text === null ? null : Buffer.from(text));

function set(rig: Rig, agent: number, change: Partial<TreeAgent>): void {
  const known = rig.agents.get(agent);
  assert.ok(known !== undefined);
  rig.agents.set(agent, { ...known, ...change });
}

test('each state has its reason: at work, to review, with work that nobody saw, done', async () => {
  const rig = createRig();
  const place = await rig.make(1);
  assert.deepEqual(
    [(await rig.row(1)).state, (await rig.row(1)).advice],
    ['done', 'remove'],
    'nothing was written in it',
  );
  set(rig, 1, { busy: true });
  assert.deepEqual(
    [(await rig.row(1)).state, (await rig.row(1)).reason],
    ['working', 'agent-1 is at work in it.'],
  );
  set(rig, 1, { busy: false, undecided: 2 });
  assert.match((await rig.row(1)).reason, /^2 changes of agent-1 without a verdict\.$/);
  set(rig, 1, { undecided: 0 });
  writeFileSync(path.join(place, 'a.txt'), 'accepted\n');
  rmSync(path.join(place, 'b.txt'));
  writeFileSync(path.join(place, 'by-command.txt'), 'x\n');
  mkdirSync(path.join(place, 'out'));
  writeFileSync(path.join(place, 'out/product'), 'x\n');
  rig.decided.add(`a.txt ${hash('accepted\n')}`).add(`b.txt ${hash(null)}`);
  const kept = await rig.row(1);
  assert.deepEqual([kept.state, kept.advice, kept.changedFiles], ['kept', 'leave', 3]);
  assert.deepEqual(kept.unreviewed, ['by-command.txt']);
  assert.match(kept.reason, /^It has 1 file that nobody has reviewed\.$/);
  rmSync(path.join(place, 'by-command.txt'));
  assert.equal((await rig.row(1)).state, 'done');
  git(place, 'commit', '--quiet', '--all', '--message', 'Own');
  const ahead = await rig.row(1);
  assert.deepEqual([ahead.state, ahead.commits], ['kept', 1]);
  git(place, 'branch', 'kept-by-a-branch');
  assert.equal((await rig.row(1)).state, 'done', 'a branch has its commit');
});

test('case 130: a worktree with work is not removed, with force it is, and then it can be made again (case 253)', async () => {
  const rig = createRig();
  const place = await rig.make(1);
  writeFileSync(path.join(place, 'work.txt'), 'work\n');
  const before = rig.repository.state();
  const refused = await rig.trees.remove({ agent: agentId(1), force: false });
  assert.equal(refused.removed, false);
  assert.match(refused.reason, /1 file that nobody has reviewed\. Review it, or remove it with force/);
  assert.equal(readFileSync(path.join(place, 'work.txt'), 'utf8'), 'work\n');
  set(rig, 1, { busy: true });
  assert.match(
    (await rig.trees.remove({ agent: agentId(1), force: true })).reason,
    /at work in it\. Stop it first/,
  );
  set(rig, 1, { busy: false });
  assert.equal((await rig.trees.remove({ agent: agentId(1), force: true })).removed, true);
  assert.equal(existsSync(place), false);
  assert.equal(rig.repository.git('worktree', 'list').trim().split('\n').length, 1);
  assert.equal(rig.repository.state(), before);
  assert.match((await rig.trees.remove({ agent: agentId(1), force: true })).reason, /There is no worktree/);
  assert.equal(await rig.make(1), place);
  assert.equal(existsSync(path.join(place, 'work.txt')), false);
});

test('case 146: of a worktree that git does not know or whose folder is gone it is said what to do', async () => {
  const rig = createRig();
  const place = await rig.make(1);
  await rig.make(2);
  rmSync(path.join(rig.repository.folder, '.git/worktrees/1'), { recursive: true });
  rmSync(path.join(rig.root, '2'), { recursive: true });
  assert.deepEqual([(await rig.row(1)).state, (await rig.row(1)).advice], ['broken', 'adopt']);
  assert.match((await rig.row(2)).reason, /folder is gone; the next write of its agent makes it anew/);
  set(rig, 1, { closed: true });
  set(rig, 2, { closed: true });
  assert.equal((await rig.row(1)).advice, 'leave', 'its files may be work');
  assert.equal((await rig.trees.remove({ agent: agentId(1), force: false })).removed, false);
  assert.equal((await rig.trees.remove({ agent: agentId(1), force: true })).removed, true);
  assert.equal(existsSync(place), false);
  assert.equal((await rig.trees.remove({ agent: agentId(2), force: false })).removed, true);
  set(rig, 1, { closed: false });
  assert.equal(existsSync(path.join(await rig.make(1), 'a.txt')), true);
});

test('a worktree of no agent of this store is shown, and stays while it has work', async () => {
  const rig = createRig();
  const place = await rig.make(7);
  rig.agents.clear();
  assert.deepEqual([(await rig.row(7)).state, (await rig.row(7)).advice], ['stray', 'remove']);
  writeFileSync(path.join(place, 'work.txt'), 'work\n');
  assert.deepEqual([(await rig.row(7)).state, (await rig.row(7)).advice], ['stray', 'leave']);
});

test('a sweep removes the worktrees of closed agents of which nothing would be lost, and no others', async () => {
  const rig = createRig();
  const places = await Promise.all([1, 2, 3, 4].map((agent) => rig.make(agent)));
  set(rig, 1, { closed: true });
  set(rig, 2, { closed: true });
  writeFileSync(path.join(places[1] ?? '', 'work.txt'), 'work\n');
  set(rig, 3, { closed: true, undecided: 1 });
  mkdirSync(path.join(rig.root, 'removed/9-1'), { recursive: true });
  rig.trees.sweep();
  rig.trees.sweep();
  while ((await rig.worktrees.records.read(1)) !== null || existsSync(path.join(rig.root, 'removed/9-1')))
    await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(existsSync(places[0] ?? ''), false);
  const { rows, more } = await rig.trees.list({ agent: null, after: null, limit: 10 });
  assert.deepEqual([rows.map((row) => row.agent), more], [[2, 3, 4], false]);
  const second = await rig.trees.list({ agent: null, after: agentId(2), limit: 1 });
  assert.deepEqual([second.rows.map((row) => row.agent), second.more], [[3], true]);
});
