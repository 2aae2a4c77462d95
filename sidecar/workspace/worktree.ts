// Worktrees of agents: made on an agent's first write, of what the person sees at that moment (DESIGN §11).
//
// The base is HEAD, or, when the person has uncommitted work, a commit of it that no ref names: neither the
// person's branch nor index nor stash moves (cases 135, 158, 163). A worktree lives under the store, outside every workspace. It is
// known by a record beside it, written after it is complete and before the agent sees it; a folder without a
// record was never handed out, and may be removed (cases 130, 146). Not here: review, merging, removal.

import { constants } from 'node:fs';
import { copyFile, lstat, mkdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import type { AgentId } from '../protocol/ids.ts';
import { limits } from '../runtime/limits.ts';
import { bytesOf, utf8ByteString } from './bytes.ts';
import { writeWhole } from './files.ts';
import { git } from './git.ts';
import { createLocks } from './locks.ts';
import { within } from './paths.ts';

export interface Worktree {
  /** The folder that stands for the agent's workspace. */
  readonly place: string;
  /** Commit that it was made of. */
  readonly base: string;
}

export type WorktreeResult =
  | { readonly kind: 'worktree'; readonly worktree: Worktree }
  | { readonly kind: 'refused'; readonly text: string };

export interface Worktrees {
  /** The agent's worktree, if it has one; null before its first write. */
  find(agent: AgentId, workspace: string): Promise<Worktree | null>;
  /** The agent's worktree; made when it has none. */
  ensure(agent: AgentId, workspace: string): Promise<WorktreeResult>;
}

interface Repository {
  /** Top folder of the person's working tree. */
  readonly top: string;
  /** The repository itself, which all its worktrees share. */
  readonly common: string;
  /** Of the person's working tree. */
  readonly gitDirectory: string;
  readonly head: string;
}

/** Worktrees under `root`, one folder for each agent. */
export function createWorktrees(root: string): Worktrees {
  const locks = createLocks();
  const find = (agent: AgentId, workspace: string): Promise<Worktree | null> =>
    recorded(root, agent, workspace);
  return {
    find,
    ensure: async (agent, workspace) => {
      const known = await find(agent, workspace);
      if (known !== null) return { kind: 'worktree', worktree: known };
      const repository = await repositoryOf(workspace);
      if (typeof repository === 'string') return { kind: 'refused', text: repository };
      // Git's own lock of its configuration fails at once when several worktrees are made together (case 129).
      return await locks(repository.common, async () => {
        const made = (await find(agent, workspace)) ?? (await make(root, agent, { workspace, repository }));
        return typeof made === 'string'
          ? { kind: 'refused', text: made }
          : { kind: 'worktree', worktree: made };
      });
    },
  };
}

const recordOf = (root: string, agent: AgentId): string => path.join(root, `${agent}.json`);
const folderOf = (root: string, agent: AgentId): string => path.join(root, String(agent));

async function recorded(root: string, agent: AgentId, workspace: string): Promise<Worktree | null> {
  const text = await readFile(recordOf(root, agent), 'utf8').catch(() => null);
  if (text === null) return null;
  const record: unknown = JSON.parse(text);
  if (typeof record !== 'object' || record === null || !('base' in record) || !('inside' in record))
    return null;
  if (typeof record.base !== 'string' || typeof record.inside !== 'string') return null;
  if (!('workspace' in record) || record.workspace !== workspace) return null;
  return { place: path.join(folderOf(root, agent), record.inside), base: record.base };
}

/** The repository of a folder, or why it cannot have worktrees and what to do. */
async function repositoryOf(workspace: string): Promise<Repository | string> {
  const asked = await git(workspace, [
    'rev-parse',
    '--path-format=absolute',
    '--show-toplevel',
    '--git-common-dir',
    '--git-dir',
  ]);
  if (asked.code !== 0) {
    return `${workspace} is not in a git repository, so this agent cannot have a worktree (${asked.problem}). Run "git init" and commit there, or start the agent with isolation "shared".`;
  }
  const [top = '', common = '', gitDirectory = ''] = asked.out.trimEnd().split('\n');
  const head = await git(workspace, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']);
  if (head.code !== 0) {
    return `The repository of ${workspace} has no commits yet, so this agent cannot have a worktree. Make a first commit, or start the agent with isolation "shared".`;
  }
  return { top, common, gitDirectory, head: head.out.trim() };
}

async function make(
  root: string,
  agent: AgentId,
  from: { readonly workspace: string; readonly repository: Repository },
): Promise<Worktree | string> {
  const { workspace, repository } = from;
  const folder = folderOf(root, agent);
  const inside = within(repository.top, workspace);
  if (inside === null) return `${workspace} is not in the working tree of its repository, ${repository.top}.`;
  await mkdir(root, { recursive: true });
  // No record: a crash cut its making short, and no agent has seen it.
  await rm(folder, { recursive: true, force: true });
  await git(repository.top, ['worktree', 'prune']);
  const base = await snapshot(root, agent, repository);
  // Detached: there is no branch, so nothing that could track another (case 254).
  const added = await git(repository.top, ['worktree', 'add', '--detach', '--quiet', folder, base]);
  if (added.code !== 0) return `The worktree could not be made: ${added.problem}`;
  await mkdir(path.join(folder, inside), { recursive: true });
  const record = { agent, workspace, repository: repository.common, inside, base };
  await writeWhole(recordOf(root, agent), bytesOf(utf8ByteString(JSON.stringify(record))));
  return { place: path.join(folder, inside), base };
}

/**
 * The commit that the worktree starts from: HEAD when the person's tree is clean, else a commit on top of it with
 * the person's changes and new files, made with an index of our own.
 */
async function snapshot(root: string, agent: AgentId, repository: Repository): Promise<string> {
  const { top, head } = repository;
  const status = await git(top, [
    'status',
    '--porcelain=v1',
    '-z',
    '--untracked-files=all',
    '--no-renames',
    '--ignore-submodules',
  ]);
  if (status.code !== 0 || status.out === '') return head;
  const index = path.join(root, `${agent}.index`);
  const env = { GIT_INDEX_FILE: index };
  try {
    // A copy of the person's index, so that git need not look at files which have not changed.
    await copyFile(path.join(repository.gitDirectory, 'index'), index);
    const fresh = await smallOnes(top, status.out.split('\0'));
    const steps = [
      await git(top, ['add', '--update', '--', '.'], { env }),
      await git(top, ['update-index', '--add', '-z', '--stdin'], { env, input: fresh.join('\0') }),
    ];
    const tree = await git(top, ['write-tree'], { env });
    if (tree.code !== 0 || steps.some((step) => step.code !== 0)) return head;
    const commit = await git(top, ['commit-tree', tree.out.trim(), '-p', head, '-m', 'What the person had']);
    return commit.code === 0 ? commit.out.trim() : head;
  } catch {
    // The worktree then starts from what is committed, which is still a base.
    return head;
  } finally {
    await rm(index, { force: true });
    await rm(`${index}.lock`, { force: true });
  }
}

/** New files, unless they are so many or so large that they are surely products of a build. */
async function smallOnes(top: string, status: readonly string[]): Promise<string[]> {
  const fresh = status.filter((line) => line.startsWith('?? ')).map((line) => line.slice(3));
  if (limits.carriedFiles < fresh.length) return [];
  const small: string[] = [];
  for (const file of fresh) {
    const stat = await lstat(path.join(top, file)).catch(() => null);
    if (stat !== null && !stat.isDirectory() && stat.size <= limits.fileBytes) small.push(file);
  }
  return small;
}

interface Lacking {
  readonly person: string;
  /** The same file relative to the workspace. */
  readonly relative: string;
}

/**
 * Whether the person has a file that the worktree never had: an ignored one, or one too large to take along. A
 * file that is gone from the worktree but was in its base was removed by the agent.
 */
export async function carriable(worktree: Worktree, file: Lacking): Promise<boolean> {
  if ((await lstat(path.join(worktree.place, file.relative)).catch(() => null)) !== null) return false;
  const stat = await lstat(file.person).catch(() => null);
  if (stat === null || !stat.isFile()) return false;
  const tracked = await git(worktree.place, ['cat-file', '-e', `${worktree.base}:./${file.relative}`]);
  return tracked.code !== 0;
}

/** Brings such a file along, so that an edit starts from what the person has. Never over one that is there (case 138). */
export async function carry(worktree: Worktree, file: Lacking): Promise<void> {
  if (!(await carriable(worktree, file))) return;
  const target = path.join(worktree.place, file.relative);
  await mkdir(path.dirname(target), { recursive: true });
  await copyFile(file.person, target, constants.COPYFILE_EXCL);
}
