// Checkpoints of folders that agents share with the person: taken before the first write of a turn, when the turn
// comes to write and not before, and restored without destroying anything (cases 63, 65, 151, 157 to 159).
//
// A checkpoint is a snapshot of each repository in the folder; one that cannot be read does not keep the others from
// being in it. Nothing of the person's moves, and a write does not fail for want of a checkpoint. Not here: how
// files are brought back (restore.ts), where things are kept (checkpointStore.ts).

import { lstat } from 'node:fs/promises';
import path from 'node:path';
import type { Place } from '../ports.ts';
import type { AgentId, TurnId } from '../protocol/ids.ts';
import { limits } from '../runtime/limits.ts';
import { createCheckpointStore } from './checkpointStore.ts';
import type { CheckpointRecord, CheckpointRoot, CheckpointStore } from './checkpointStore.ts';
import { createLocks, createShared } from './locks.ts';
import { repositoryAround } from './ground.ts';
import { repositoryOf, submodulesOf } from './repository.ts';
import type { Repository } from './repository.ts';
import { createSnapshots, markOf } from './snapshot.ts';
import type { Snapshots } from './snapshot.ts';

export interface Writer {
  readonly agent: AgentId;
  readonly turn: TurnId;
  readonly place: Place;
}

export interface Checkpoints {
  /** Takes the checkpoint of a turn that is about to write, unless it has one. Never rejects. */
  before(writer: Writer): Promise<void>;
  /** How the folder is now, without a record; null with the reason when nothing of it can be looked at. */
  now(workspace: string): Promise<Seen | string>;
  /** Records what was seen as the checkpoint of a restore, which is going to make these files. */
  keep(workspace: string, seen: Seen, made: readonly string[]): Promise<CheckpointRecord>;
  readonly store: CheckpointStore;
}

export interface Seen {
  readonly atMs: number;
  readonly roots: readonly SeenRoot[];
  readonly problems: readonly string[];
}

export interface SeenRoot extends CheckpointRoot {
  /** Files that are not in the tree, relative to the top. */
  readonly left: readonly string[];
}

export interface CheckpointsOptions {
  /** Folder of our own; made when it is missing. */
  readonly root: string;
  /** Tells the log of a folder that cannot be looked at. */
  readonly warn: (message: string, fields: Readonly<Record<string, string | number>>) => void;
}

export function createCheckpoints(options: CheckpointsOptions): Checkpoints {
  const store = createCheckpointStore(options.root);
  const snapshots = createSnapshots({
    root: path.join(options.root, 'indexes'),
    newFiles: limits.checkpointFiles,
    newFileBytes: limits.checkpointFileBytes,
    changedFileBytes: limits.checkpointFileBytes,
    newBytes: limits.checkpointBytes,
    lookMs: limits.checkpointMs,
    objects: (repository) => store.objects(repository),
  });
  const found = createFound(options.root);
  const shared = createShared<Seen | string>();
  const locks = createLocks();
  const now = (workspace: string): Promise<Seen | string> =>
    shared(workspace, () => locks('objects', () => look({ snapshots, found }, workspace)));
  /** Turns with their checkpoint, or on the way to it. */
  const turns = new Map<string, Promise<void>>();
  let sincePrune = 0;
  const prune = (): void => {
    sincePrune += 1;
    if (sincePrune < limits.checkpointsBetween) return;
    sincePrune = 0;
    locks('objects', () => store.prune(Date.now())).catch((error: unknown) =>
      options.warn('old checkpoints could not be removed', { message: String(error) }),
    );
  };
  const take = async ({ agent, turn, place: { workspace } }: Writer): Promise<void> => {
    const isKnown = (each: CheckpointRecord): boolean => each.agent === agent && each.turn === turn;
    // Of an earlier process: it may have written already.
    if ((await store.all()).some(isKnown)) return;
    const seen = await within(limits.checkpointMs, now(workspace));
    if (typeof seen === 'string') {
      options.warn('a turn has no checkpoint', { workspace, turn, message: seen });
      return;
    }
    const record = recordOf({ kind: 'turn', agent, turn, workspace }, seen);
    await locks('objects', () => store.add(record));
    prune();
  };
  return {
    store,
    now,
    keep: (workspace, seen, made) =>
      locks('objects', () =>
        store.add({ ...recordOf({ kind: 'restore', agent: 0, turn: 0, workspace }, seen), made: [...made] }),
      ),
    before: (writer) => {
      if (writer.place.isolation !== 'shared') return Promise.resolve();
      const name = `${writer.agent} ${writer.turn}`;
      const known = turns.get(name);
      if (known !== undefined) return known;
      if (limits.checkpointTurns <= turns.size) turns.delete(turns.keys().next().value ?? '');
      const taking = take(writer).catch((error: unknown) =>
        options.warn('a checkpoint could not be kept', { message: String(error) }),
      );
      turns.set(name, taking);
      return taking;
    },
  };
}

type Whose = Pick<CheckpointRecord, 'kind' | 'agent' | 'turn' | 'workspace'>;

const recordOf = (whose: Whose, { roots, problems, atMs }: Seen): Omit<CheckpointRecord, 'id'> => ({
  ...whose,
  atMs,
  roots: roots.map(({ top, common, tree, isOurs }) => ({ top, common, tree, isOurs })),
  problems: [...problems],
  made: [],
});

/** The snapshot, or a sentence once it takes too long: what is written from then on would be in it. */
async function within(mostMs: number, work: Promise<Seen | string>): Promise<Seen | string> {
  let timer: NodeJS.Timeout | null = null;
  const limit = new Promise<string>((resolve) => {
    const text = `The folder could not be looked at within ${mostMs / 1000} seconds.`;
    timer = setTimeout(() => resolve(text), mostMs);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    if (timer !== null) clearTimeout(timer);
  }
}

interface Looking {
  readonly snapshots: Snapshots;
  readonly found: Found;
}

interface Found {
  repository(workspace: string): Promise<Repository | string>;
  submodules(repository: Repository): Promise<readonly string[]>;
}

/** What a look need not ask anew each time: where the repository is, for some seconds, and what its index says. */
function createFound(root: string): Found {
  const repositories = new Map<string, { readonly repository: Repository; readonly untilMs: number }>();
  const submodules = new Map<string, { readonly mark: string; readonly names: readonly string[] }>();
  return {
    repository: async (workspace) => {
      const known = repositories.get(workspace);
      if (known !== undefined && performance.now() < known.untilMs) return known.repository;
      const repository = await repositoryAround(root, workspace);
      if (limits.foldersKnown <= repositories.size) repositories.clear();
      if (typeof repository === 'string') repositories.delete(workspace);
      else repositories.set(workspace, { repository, untilMs: performance.now() + limits.repositoryKnownMs });
      return repository;
    },
    submodules: async (repository) => {
      const mark = await markOf(path.join(repository.gitDirectory, 'index'));
      const known = submodules.get(repository.top);
      if (known?.mark === mark) return known.names;
      const names = await submodulesOf(repository.top);
      if (limits.foldersKnown <= submodules.size) submodules.clear();
      submodules.set(repository.top, { mark, names });
      return names;
    },
  };
}

async function look({ snapshots, found }: Looking, workspace: string): Promise<Seen | string> {
  const atMs = Date.now();
  const repository = await found.repository(workspace);
  if (typeof repository === 'string') return repository;
  const problems: string[] = [];
  const roots: SeenRoot[] = [];
  const outer = await seenRoot(snapshots, repository, problems);
  if (outer !== null) roots.push(outer);
  for (const inner of await repositoriesIn(
    repository,
    outer?.left ?? [],
    await found.submodules(repository),
  )) {
    if (limits.checkpointRoots < roots.length) {
      problems.push(`Only the first ${limits.checkpointRoots} repositories inside are in it.`);
      break;
    }
    const root = await seenRoot(snapshots, inner, problems);
    if (root !== null) roots.push(root);
  }
  const [first] = problems;
  if (roots.length === 0) return first ?? 'Nothing could be looked at.';
  return { atMs, roots, problems: problems.slice(0, limits.checkpointProblems) };
}

async function seenRoot(
  snapshots: Snapshots,
  repository: Repository,
  problems: string[],
): Promise<SeenRoot | null> {
  const { top, common, env } = repository;
  const isOurs = env !== undefined;
  const snapshot = await snapshots.take(repository);
  if (snapshot.kind === 'failed') {
    problems.push(`${top} is not in it: ${snapshot.text}`);
    return null;
  }
  const files = snapshot.left.filter((name) => !name.endsWith('/'));
  if (isOurs && limits.checkpointFiles < files.length) {
    problems.push(`${top} is in no git repository and has more than ${limits.checkpointFiles} files.`);
    return null;
  }
  for (const name of files)
    problems.push(`${path.join(top, name)} is not in it: it is too large, or one of too many.`);
  return { top, common, tree: snapshot.tree, isOurs, left: snapshot.left };
}

/** Submodules that are checked out, and repositories that lie in folders of this one. */
async function repositoriesIn(
  { top }: Repository,
  left: readonly string[],
  submodules: readonly string[],
): Promise<Repository[]> {
  const nested = left.filter((name) => name.endsWith('/')).map((name) => name.slice(0, -1));
  const folders = [...nested, ...submodules];
  const found: Repository[] = [];
  for (const name of new Set(folders.map((each) => path.join(top, each)))) {
    if ((await lstat(path.join(name, '.git')).catch(() => null)) === null) continue;
    const repository = await repositoryOf(name);
    if (typeof repository !== 'string' && repository.top === name) found.push(repository);
  }
  return found;
}
