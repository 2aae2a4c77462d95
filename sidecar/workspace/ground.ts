// The ground that commands work on: the repository of a folder, and the repositories inside it, each of which can
// be looked at as a snapshot and compared with an earlier look.
//
// Snapshots have their objects and indexes in a folder of our own; nothing of the person's moves. A folder that
// is in no repository gets a repository of ours beside it, which knows what such folders are full of (packages,
// products of builds). Looks that are asked for while one is under way share the next.

import { lstat, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { limits } from '../runtime/limits.ts';
import { hashOfText } from './bytes.ts';
import { compare } from './compare.ts';
import type { Comparison } from './compare.ts';
import { git } from './git.ts';
import { createLocks } from './locks.ts';
import { repositoryOf } from './repository.ts';
import type { Repository } from './repository.ts';
import { createSnapshots } from './snapshot.ts';
import type { Snapshots } from './snapshot.ts';

/** What one look saw. */
export interface Look {
  readonly kind: 'look';
  /** Id of the tree of files. */
  readonly tree: string;
  /** Files that are not in the tree, with what changes when they are written; null: not known any more. */
  readonly left: ReadonlyMap<string, string> | null;
}

export interface Ground {
  /** Top folder of the working tree. */
  readonly top: string;
  /** The files as they are now; a string says why they cannot be looked at. */
  look(): Promise<Look | string>;
  /** What differs between two looks, of which `to` is the newest. */
  compare(from: string, to: string): Promise<Comparison | string>;
  /** Looks of it, those that follow and those of a mark, are needed until as many releases have come. */
  hold(): void;
  /** Once nobody needs its looks, those of an earlier process are thrown away, and snapshots that have grown large. */
  release(): Promise<void>;
}

export interface Grounds {
  /** The ground that a folder is on; a string says why there is none. */
  of(folder: string): Promise<Ground | string>;
}

/** Grounds with their snapshots under `root`, which is made when it is missing. */
export function createGrounds(root: string): Grounds {
  const snapshots = createSnapshots({
    root: path.join(root, 'indexes'),
    newFiles: limits.groundFiles,
    newFileBytes: limits.fileBytes,
    changedFileBytes: limits.fileBytes,
    newBytes: limits.groundBytes,
    lookMs: limits.groundLookMs,
    objects: async ({ top }) => {
      const objects = objectsOf(root, top);
      await mkdir(objects, { recursive: true });
      return objects;
    },
  });
  const locks = createLocks();
  const grounds = new Map<string, FolderGround>();
  const topOf = new Map<string, string>();
  const find = async (folder: string): Promise<Ground | string> => {
    const known = grounds.get(topOf.get(folder) ?? '');
    if (known !== undefined && (await known.stands())) return known;
    const repository = await repositoryAround(root, folder);
    if (typeof repository === 'string') return repository;
    const { top } = repository;
    // One that does not stand any more makes room for another with the same top: a repository was made or removed.
    const sharing = known?.top === top ? undefined : grounds.get(top);
    const ground = sharing ?? new FolderGround(snapshots, repository, root);
    grounds.set(top, ground);
    topOf.set(folder, top);
    forgetSome(grounds, topOf);
    return ground;
  };
  let swept: Promise<void> | null = null;
  return {
    of: (folder) => {
      swept ??= sweep(root);
      return locks('grounds', () => find(folder));
    },
  };
}

/** Past the bound the oldest grounds that nobody needs are forgotten; the next command there finds them again. */
function forgetSome(grounds: Map<string, FolderGround>, topOf: Map<string, string>): void {
  for (const [top, ground] of grounds) {
    if (grounds.size <= limits.groundsKept) break;
    if (!ground.isHeld()) grounds.delete(top);
  }
  for (const [folder, top] of topOf) if (!grounds.has(top)) topOf.delete(folder);
}

/** Removes what is kept of folders in which no command has run for long. Never rejects. */
async function sweep(root: string): Promise<void> {
  for (const name of await readdir(root).catch(() => [])) {
    const folder = path.join(root, name);
    const found = await lstat(folder).catch(() => null);
    if (found === null || name === 'indexes' || Date.now() - found.mtimeMs < limits.snapshotsKeptMs) continue;
    await rm(folder, { recursive: true, force: true }).catch(() => undefined);
    await rm(path.join(root, 'indexes', `${name}.index`), { force: true }).catch(() => undefined);
  }
}

const folderOf = (root: string, top: string): string => path.join(root, hashOfText(top).slice(0, 16));
const objectsOf = (root: string, top: string): string => path.join(folderOf(root, top), 'objects');

/**
 * The repository of a folder; one of ours under `root` when it is in none, or ignored by the one around it. A string
 * says why there is neither.
 */
export async function repositoryAround(root: string, folder: string): Promise<Repository | string> {
  const found = await repositoryOf(folder);
  if (typeof found === 'string') return await ownRepository(root, folder);
  // A folder that the repository around it ignores is nothing to that repository.
  const ignored = await git(found.top, ['check-ignore', '--quiet', '--', folder]);
  return ignored.code === 0 && folder !== found.top ? await ownRepository(root, folder) : found;
}

// What folders outside of repositories hold that nobody wants to review.
const notLookedAt = [
  'node_modules/',
  '.venv/',
  'venv/',
  '__pycache__/',
  'target/',
  'dist/',
  'build/',
  '.cache/',
];

/** A repository of ours for the files of a folder that is in none. */
async function ownRepository(root: string, folder: string): Promise<Repository | string> {
  const own = path.join(folderOf(root, folder), 'git');
  const env = { GIT_DIR: own, GIT_WORK_TREE: folder };
  if (!(await exists(path.join(own, 'HEAD')))) {
    await mkdir(own, { recursive: true, mode: 0o700 });
    const made = await git(folder, ['init', '--quiet', '--template='], { env });
    if (made.code !== 0) return made.problem;
    await mkdir(path.join(own, 'info'), { recursive: true });
    await writeFile(path.join(own, 'info', 'exclude'), `${notLookedAt.join('\n')}\n`);
  }
  return { top: folder, common: own, gitDirectory: own, head: null, env };
}

const exists = (file: string): Promise<boolean> =>
  lstat(file).then(
    () => true,
    () => false,
  );

class FolderGround implements Ground {
  readonly top: string;
  private readonly snapshots: Snapshots;
  private readonly repository: Repository;
  private readonly root: string;
  private running: Promise<unknown> | null = null;
  private next: Promise<Look | string> | null = null;
  private blindUntilMs = 0;
  private blindness = '';
  private holders = 0;
  /** What an earlier process has seen may be there, and needed: its commands may be taken up after new ones have begun. */
  private oldUntilMs: number | null = performance.now() + limits.oldLooksMs;
  private clearing: Promise<void> | null = null;

  constructor(snapshots: Snapshots, repository: Repository, root: string) {
    this.top = repository.top;
    this.snapshots = snapshots;
    this.repository = repository;
    this.root = root;
  }

  /** Whether the folder is still in this repository. */
  async stands(): Promise<boolean> {
    const { gitDirectory, top, env } = this.repository;
    const isThere = await exists(path.join(gitDirectory, 'HEAD'));
    return isThere && (env === undefined || !(await exists(path.join(top, '.git'))));
  }

  look(): Promise<Look | string> {
    if (performance.now() < this.blindUntilMs) return Promise.resolve(this.blindness);
    if (this.running === null) return this.begin();
    this.next ??= this.running.then(() => this.begin());
    return this.next;
  }

  async compare(from: string, to: string): Promise<Comparison | string> {
    const env = await this.snapshots.environment(this.repository);
    return await compare({ top: this.top, env, from, to });
  }

  hold(): void {
    this.holders += 1;
  }

  isHeld(): boolean {
    return 0 < this.holders;
  }

  async release(): Promise<void> {
    this.holders -= 1;
    const isLarge = limits.snapshotFiles < this.snapshots.taken(this.repository);
    const isOld = this.oldUntilMs !== null && this.oldUntilMs < performance.now();
    if (this.holders !== 0 || !(isOld || isLarge)) return;
    this.oldUntilMs = null;
    this.clearing = this.clear();
    await this.clearing;
  }

  private async clear(): Promise<void> {
    await this.snapshots.forget(this.repository);
    await rm(objectsOf(this.root, this.top), { recursive: true, force: true });
  }

  private begin(): Promise<Look | string> {
    this.next = null;
    const look = this.seen();
    const done = look.then(() => {
      if (this.running === done) this.running = null;
    });
    this.running = done;
    return look;
  }

  private async seen(): Promise<Look | string> {
    // Somebody came while the last one went.
    await this.clearing;
    const snapshot = await this.snapshots.take(this.repository);
    if (snapshot.kind === 'failed') {
      this.blindUntilMs = performance.now() + limits.groundBlindMs;
      this.blindness = snapshot.text;
      return snapshot.text;
    }
    return { kind: 'look', tree: snapshot.tree, left: await this.marks(snapshot.left) };
  }

  private async marks(left: readonly string[]): Promise<Map<string, string>> {
    const marks = await Promise.all(
      left.slice(0, limits.groundFiles).map(async (name): Promise<[string, string]> => {
        if (name.endsWith('/')) return [name, 'folder'];
        const found = await lstat(path.join(this.top, name)).catch(() => null);
        return [name, found === null ? 'gone' : `${found.size} ${found.mtimeMs} ${found.ctimeMs}`];
      }),
    );
    return new Map(marks);
  }
}
