// Worktrees of agents: made on an agent's first write, of what the person sees at that moment (DESIGN §11).
//
// The base is HEAD, or, when the person has uncommitted work, a commit of it that no ref names: neither the
// person's branch nor index nor stash moves (cases 135, 158, 163). A worktree lives under the store, outside every
// workspace, and is locked, so that a `git worktree prune` of the person does not take it. Git's part that cannot
// be done twice at a time is under a lock of the repository (case 129); files are checked out side by side.
// Not here: what of the ignored files comes along (worktreeInclude.ts), review, removal (worktreeLook.ts).

import { constants } from 'node:fs';
import { access, copyFile, lstat, mkdir, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import type { AgentId } from '../protocol/ids.ts';
import { limits } from '../runtime/limits.ts';
import { git } from './git.ts';
import { createLocks, createShared } from './locks.ts';
import type { Locks } from './locks.ts';
import { within } from './paths.ts';
import { repositoryOf } from './repository.ts';
import { createSnapshots } from './snapshot.ts';
import type { Snapshots } from './snapshot.ts';
import { newsOf, survey, withNews } from './worktreeBase.ts';
import type { Survey } from './worktreeBase.ts';
import { include } from './worktreeInclude.ts';
import { createRecords, folderOf } from './worktreeRecord.ts';
import type { Records, WorktreeRecord } from './worktreeRecord.ts';
import { createRooms, environmentOf, roomBounds } from './worktreeRoom.ts';
import type { RoomBounds, Rooms } from './worktreeRoom.ts';
import { createSetups } from './worktreeSetup.ts';
import type { Asker, Setups, SetupWish } from './worktreeSetup.ts';

export interface Worktree {
  /** The folder that stands for the agent's workspace. */
  readonly place: string;
  /** Commit that it was made of. */
  readonly base: string;
  /** Folders of the person's, absolute, that it has a link to. */
  readonly linked: readonly string[];
  /** Variables of its commands: ports and names of its own (case 137). */
  readonly env: Readonly<Record<string, string>>;
}

export type WorktreeResult =
  | {
      readonly kind: 'worktree';
      readonly worktree: Worktree;
      /** What its agent is told of it, once, when it was made just now. */
      readonly news: string | null;
    }
  | { readonly kind: 'refused'; readonly text: string };

export interface Worktrees {
  /** The agent's worktree, if it has one; null before its first write. */
  find(agent: AgentId, workspace: string): Promise<Worktree | null>;
  /** The agent's worktree; made when it has none, and set up when there is an asker who can. */
  ensure(agent: AgentId, workspace: string, asker?: Asker): Promise<WorktreeResult>;
  /** The setup command that the person must allow with the agent's next write; null: none. */
  wish(agent: AgentId, workspace: string): SetupWish | null;
  /** Of all worktrees, whatever became of their agents. */
  readonly root: string;
  readonly records: Pick<Records, 'read' | 'all' | 'remove'>;
  folderOf(agent: number): string;
  /** Whether its folder is there and git knows it. */
  standing(agent: number): Promise<'there' | 'unregistered' | 'missing'>;
  /** Does something while nobody makes, adopts or removes the worktree of this agent. */
  alone<T>(agent: AgentId, work: () => Promise<T>): Promise<T>;
}

/** Worktrees under `root`, one folder for each agent. */
export function createWorktrees(root: string, bounds: RoomBounds = roomBounds): Worktrees {
  const records = createRecords(root);
  const making: Making = {
    root,
    rooms: createRooms(root, records, bounds),
    records,
    setups: createSetups(root, records),
    locks: createLocks(),
    surveys: createShared(),
    snapshots: createSnapshots({
      root: path.join(root, 'indexes'),
      newFiles: limits.carriedFiles,
      newFileBytes: limits.fileBytes,
      changedFileBytes: limits.carriedFileBytes,
      newBytes: limits.carriedBytes,
      lookMs: limits.gitMs,
      objects: null,
    }),
  };
  const alone = <T>(agent: AgentId, work: () => Promise<T>): Promise<T> =>
    making.locks(`agent ${agent}`, work);
  return {
    find: async (agent, workspace) => {
      const record = await recordOf(making, agent, workspace);
      return record !== null && (await isThere(root, agent)) ? worktreeOf(root, record) : null;
    },
    // An agent has one worktree, whichever of its calls asks first.
    ensure: (agent, workspace, asker) =>
      alone(agent, async () => {
        const made = await ensure(making, agent, workspace);
        if (typeof made === 'string') return { kind: 'refused', text: made };
        const worktree = worktreeOf(root, made.record);
        const problem = asker === undefined ? null : await setUp(making, made.record, worktree, asker);
        if (problem !== null) return { kind: 'refused', text: withNews(problem, made.news) };
        return { kind: 'worktree', worktree, news: made.news };
      }),
    wish: (agent, workspace) => making.setups.wish(agent, workspace),
    root,
    records,
    folderOf: (agent) => folderOf(root, agent),
    standing: async (agent) => {
      if (!(await isThere(root, agent))) return 'missing';
      return (await isRegistered(root, agent)) ? 'there' : 'unregistered';
    },
    alone,
  };
}

interface Making {
  readonly root: string;
  readonly rooms: Rooms;
  readonly records: Records;
  readonly setups: Setups;
  readonly locks: Locks;
  readonly snapshots: Snapshots;
  readonly surveys: (workspace: string, look: () => Promise<Survey | string>) => Promise<Survey | string>;
}

function worktreeOf(root: string, record: WorktreeRecord): Worktree {
  const folder = folderOf(root, record.agent);
  const { base, linked } = record;
  return {
    place: path.join(folder, record.inside),
    base,
    linked,
    env: environmentOf(record, folder),
  };
}

interface Made {
  readonly record: WorktreeRecord;
  readonly news: string | null;
}

const setUp = (making: Making, record: WorktreeRecord, { place, env }: Worktree, asker: Asker) =>
  making.setups.run(record, { top: record.top, directory: place, env }, asker);

async function recordOf(making: Making, agent: AgentId, workspace: string): Promise<WorktreeRecord | null> {
  const record = await making.records.read(agent);
  return record?.workspace === workspace ? record : null;
}

const exists = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );

const isThere = (root: string, agent: number): Promise<boolean> =>
  exists(path.join(folderOf(root, agent), '.git'));

async function ensure(making: Making, agent: AgentId, workspace: string): Promise<Made | string> {
  const { root } = making;
  const known = await recordOf(making, agent, workspace);
  if (known !== null && (await isThere(root, agent))) {
    return (await isRegistered(root, agent)) ? { record: known, news: null } : await adopt(making, known);
  }
  const found = await making.surveys(workspace, () => survey(making.snapshots, workspace));
  if (typeof found === 'string') return found;
  try {
    return await make(making, { agent, workspace, found });
  } finally {
    making.rooms.give(agent);
  }
}

interface Wish {
  readonly agent: AgentId;
  readonly workspace: string;
  readonly found: Survey;
}

async function make(making: Making, { agent, workspace, found }: Wish): Promise<Made | string> {
  const { root, locks } = making;
  const { repository, settings } = found;
  const { top, common } = repository;
  const { commit } = found.base;
  const folder = folderOf(root, agent);
  const inside = within(top, workspace);
  if (inside === null) return `${workspace} is not in the working tree of its repository, ${top}.`;
  await mkdir(root, { recursive: true });
  // No record, or no folder: a crash cut its making short and no agent has seen it, or somebody removed it.
  await rm(folder, { recursive: true, force: true });
  const room = await making.rooms.take(agent, repository);
  if (typeof room === 'string') return `No worktree was made. ${room}`;
  const added = await locks(common, () => register(top, { folder, commit, agent }));
  if (added !== null) return `The worktree could not be made: ${added}`;
  const checkedOut = await git(folder, ['reset', '--hard', '--quiet', '--no-recurse-submodules']);
  if (checkedOut.code !== 0)
    return `The files of the worktree could not be checked out: ${checkedOut.problem}`;
  await mkdir(path.join(folder, inside), { recursive: true });
  const trees = { from: top, to: folder };
  const { linked, missing } = await include(trees, settings.link, found.wanted);
  const { setup } = settings;
  const record: WorktreeRecord = {
    ...{ agent, workspace, repository: common, top, inside, base: commit, ...room },
    madeAtMs: Date.now(),
    linked: [...linked],
    setup: setup === '' ? null : { command: setup, state: 'pending', run: null, origin: null },
  };
  await making.records.write(record);
  return { record, news: await newsOf(found, trees, missing) };
}

interface Place {
  readonly folder: string;
  readonly commit: string;
  readonly agent: number;
}

/**
 * Adds a worktree without its files. Twice `--force`: git may still know one at this place, locked, whose folder
 * is gone. Detached: there is no branch, so nothing that could track another (case 254). Null: done.
 */
async function register(top: string, { folder, commit, agent }: Place): Promise<string | null> {
  const args = ['worktree', 'add', '--force', '--force', '--detach', '--no-checkout', '--lock'];
  const reason = ['--reason', `It belongs to agent ${agent} of Roost.`];
  const added = await git(top, [...args, ...reason, folder, commit]);
  return added.code === 0 ? null : added.problem;
}

/** Whether git still has its own part of the worktree, which the file `.git` in it names. */
async function isRegistered(root: string, agent: number): Promise<boolean> {
  const link = await readFile(path.join(folderOf(root, agent), '.git'), 'utf8').catch(() => '');
  const named = /^gitdir: (.+)$/m.exec(link)?.[1];
  return named !== undefined && (await exists(path.join(named, 'HEAD')));
}

/**
 * A worktree with its files whose registration is gone (somebody pruned it by force): registered anew around the
 * files as they are (case 146).
 */
async function adopt(making: Making, record: WorktreeRecord): Promise<Made | string> {
  const { root, locks } = making;
  const { agent, base, workspace } = record;
  const folder = folderOf(root, agent);
  const aside = `${folder}.adopted`;
  const repository = await repositoryOf(workspace);
  const problem =
    typeof repository === 'string'
      ? repository
      : await locks(repository.common, async () => {
          await rename(folder, aside);
          const refused = await register(repository.top, { folder, commit: base, agent });
          if (refused === null) await rename(path.join(folder, '.git'), path.join(aside, '.git'));
          await rm(folder, { recursive: true, force: true });
          await rename(aside, folder);
          return refused;
        });
  if (problem !== null) {
    return `The repository does not know the worktree ${folder} any more, and it could not be registered again: ${problem} Its files are still there. Save what you need of them, then remove it with "roost worktree rm ${agent} --force".`;
  }
  const indexed = await git(folder, ['read-tree', base]);
  if (indexed.code !== 0) return `The worktree ${folder} has no index: ${indexed.problem}`;
  const news = `[roost] Git did not know your worktree any more. It was registered again; commits that you made in it are gone, its files are as they were.`;
  return { record, news };
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
