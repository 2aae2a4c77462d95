// A snapshot: the files of a working tree as they are on disk at one moment, as a tree of git's.
//
// Made with an index of our own, so nothing of the person's moves: no ref, no index, no stash, no file (cases 135,
// 158, 163). The index is kept between snapshots, because it remembers which files have not changed: then a
// snapshot is one look at the files and no reading of them. Ignored files are not in it, nor are other
// repositories inside, nor new files past the bounds: `left` names those.

import { constants } from 'node:fs';
import { access, copyFile, lstat, mkdir, rm, stat, utimes } from 'node:fs/promises';
import path from 'node:path';
import { limits } from '../runtime/limits.ts';
import { exceptTemporary } from './files.ts';
import { git } from './git.ts';
import type { GitResult } from './git.ts';
import { createLocks } from './locks.ts';
import { hashOfText } from './bytes.ts';
import { pathsOf } from './repository.ts';
import type { Repository } from './repository.ts';

export interface Snapshot {
  readonly kind: 'snapshot';
  /** Id of the tree. */
  readonly tree: string;
  /** Files and folders that are not in it although git does not ignore them, relative to the top. */
  readonly left: readonly string[];
}

export type SnapshotResult = Snapshot | { readonly kind: 'failed'; readonly text: string };

export interface Snapshots {
  /** The working tree of a repository as it is now. Never rejects. */
  take(repository: Repository): Promise<SnapshotResult>;
  /** What git is told to find the objects of these snapshots: for comparing two of them (compare.ts). */
  environment(repository: Repository): Promise<Readonly<Record<string, string>>>;
  /** Files that snapshots of this working tree have taken in since they were last forgotten. */
  taken(repository: Repository): number;
  /** Begins anew at the next snapshot. Objects in a folder of the caller's are the caller's to remove. */
  forget(repository: Repository): Promise<void>;
}

export interface SnapshotsOptions {
  /** Folder of our own for the indexes; made when it is missing. */
  readonly root: string;
  /** New files that are taken; when there are more, none is: they are surely products of a build. */
  readonly newFiles: number;
  /** Bytes of a file that is taken when it is new, and when it has changed. */
  readonly newFileBytes: number;
  readonly changedFileBytes: number;
  /** Bytes of all new files together; when they have more, none is taken. */
  readonly newBytes: number;
  /** Longest time of one look at the files; past it there is no snapshot. */
  readonly lookMs: number;
  /**
   * Where new objects go, with what is asked for objects beside it. Null: into the repository, where a worktree
   * finds them.
   */
  readonly objects: ((repository: Repository) => Promise<string>) | null;
}

/** What is remembered of a repository between two snapshots. */
interface Kept {
  /** The person's index when it was copied. */
  readonly copied: string;
  readonly last: Snapshot | null;
}

/** Snapshots with their indexes under `root`. One at a time for each working tree. */
export function createSnapshots(options: SnapshotsOptions): Snapshots {
  const locks = createLocks();
  const kept = new Map<string, Kept>();
  const taken = new Map<string, number>();
  const indexOf = ({ top }: Repository): string =>
    path.join(options.root, `${hashOfText(top).slice(0, 16)}.index`);
  const take = async (repository: Repository): Promise<SnapshotResult> => {
    const index = indexOf(repository);
    const first = await attempt(options, repository, { index, kept, taken });
    if (first.kind === 'snapshot') return first;
    // Objects that only our index knew of may have been removed by the person's `git gc`: from the start, once.
    kept.delete(repository.top);
    return await attempt(options, repository, { index, kept, taken });
  };
  return {
    environment: (repository) => objectsOf(options, repository),
    taken: ({ top }) => taken.get(top) ?? 0,
    forget: (repository) =>
      locks(repository.top, async () => {
        kept.delete(repository.top);
        taken.delete(repository.top);
        await rm(indexOf(repository), { force: true });
      }),
    take: (repository) =>
      locks(repository.top, () =>
        take(repository).catch((error: unknown) => ({ kind: 'failed', text: String(error) })),
      ),
  };
}

interface Memory {
  readonly index: string;
  readonly kept: Map<string, Kept>;
  readonly taken: Map<string, number>;
}

async function attempt(
  options: SnapshotsOptions,
  repository: Repository,
  { index, kept, taken: counts }: Memory,
): Promise<SnapshotResult> {
  const { top } = repository;
  const env = { ...(await objectsOf(options, repository)), GIT_INDEX_FILE: index };
  await rm(`${index}.lock`, { force: true });
  const persons = await markOf(path.join(repository.gitDirectory, 'index'));
  let known = kept.get(top) ?? null;
  if (known?.copied !== persons) {
    await mkdir(options.root, { recursive: true });
    await rm(index, { force: true });
    if (persons !== 'none') await copyIndex(path.join(repository.gitDirectory, 'index'), index);
    known = { copied: persons, last: null };
  }
  kept.delete(top);
  const listed = await git(top, [...listing], { env, timeoutMs: options.lookMs });
  if (listed.code !== 0) return failed(listed);
  const { taken, left } = await chosen(options, top, [...new Set(pathsOf(listed.out))]);
  counts.set(top, (counts.get(top) ?? 0) + taken.length);
  const { last } = known;
  const result =
    last !== null && taken.length === 0 ? { ...last, left } : await written(top, env, { taken, left });
  if (result.kind === 'failed') return result;
  kept.set(top, { copied: known.copied, last: result });
  return result;
}

// With a letter before each name: `?` is a new file, others have changed or are gone.
const listing = [
  ...['ls-files', '-z', '-t', '--modified', '--others'],
  ...['--exclude-standard', exceptTemporary],
];

async function objectsOf(
  options: SnapshotsOptions,
  repository: Repository,
): Promise<Readonly<Record<string, string>>> {
  const { env } = repository;
  if (options.objects === null) return { ...env };
  return {
    ...env,
    GIT_OBJECT_DIRECTORY: await options.objects(repository),
    GIT_ALTERNATE_OBJECT_DIRECTORIES: path.join(repository.common, 'objects'),
  };
}

const failed = (result: GitResult): SnapshotResult => ({ kind: 'failed', text: result.problem });

/**
 * Git takes an entry whose file is as new as the index itself for possibly changed, and looks into the file. A copy
 * is newer than what it was copied of, so it gets the time of that: whole milliseconds, rounded down.
 */
async function copyIndex(from: string, to: string): Promise<void> {
  const { atime, mtimeMs } = await stat(from);
  await copyFile(from, to);
  await utimes(to, atime, Math.floor(mtimeMs) / 1000);
}

/** Says whether a file is another one than before. */
export async function markOf(file: string): Promise<string> {
  const found = await stat(file).catch(() => null);
  return found === null ? 'none' : `${found.ino} ${found.size} ${found.mtimeMs}`;
}

async function written(
  top: string,
  env: Readonly<Record<string, string>>,
  { taken, left }: { readonly taken: readonly string[]; readonly left: readonly string[] },
): Promise<SnapshotResult> {
  if (0 < taken.length) {
    const args = ['update-index', '--add', '--remove', '--replace', '-z', '--stdin'];
    const updated = await git(top, args, { env, input: `${taken.join('\0')}\0` });
    if (updated.code !== 0) return failed(updated);
  }
  const tree = await git(top, ['write-tree'], { env });
  return tree.code === 0 ? { kind: 'snapshot', tree: tree.out.trim(), left } : failed(tree);
}

/** Of what has changed or is new: what goes in, and what is too much. */
async function chosen(
  options: SnapshotsOptions,
  top: string,
  listed: readonly string[],
): Promise<{ taken: string[]; left: string[] }> {
  const isNew = (line: string): boolean => line.startsWith('? ');
  let many = options.newFiles < listed.filter(isNew).length;
  const fitting: string[] = [];
  const left: string[] = [];
  let newBytes = 0;
  for (let at = 0; at < listed.length; at += limits.slice) {
    const slice = listed.slice(at, at + limits.slice);
    const sizes = await Promise.all(
      slice.map(async (line) => {
        if (isNew(line) && many) return null;
        const mostBytes = isNew(line) ? options.newFileBytes : options.changedFileBytes;
        return await sizeIn(path.join(top, nameIn(line)), mostBytes);
      }),
    );
    for (const [i, line] of slice.entries()) {
      const sizeBytes = sizes[i] ?? null;
      if (isNew(line)) newBytes += sizeBytes ?? 0;
      (sizeBytes === null ? left : fitting).push(sizeBytes === null ? nameIn(line) : line);
    }
    many ||= options.newBytes < newBytes;
  }
  if (!many) return { taken: fitting.map(nameIn), left };
  const known = fitting.filter((line) => !isNew(line));
  return { taken: known.map(nameIn), left: [...left, ...fitting.filter(isNew).map(nameIn)] };
}

const nameIn = (line: string): string => line.slice(2);

/**
 * Bytes of a file that goes in; null: it does not. One that is gone goes in too: it goes out of the index. A folder
 * is another repository.
 */
async function sizeIn(file: string, mostBytes: number): Promise<number | null> {
  const found = await lstat(file).catch(() => null);
  if (found === null || found.isSymbolicLink()) return 0;
  if (!found.isFile() || mostBytes < found.size) return null;
  // Git gives up altogether at one file that it cannot read.
  return await access(file, constants.R_OK).then(
    () => found.size,
    () => null,
  );
}
