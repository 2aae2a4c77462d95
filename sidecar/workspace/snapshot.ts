// A snapshot: the files of a working tree as they are on disk at one moment, as a tree of git's.
//
// Made with an index of our own, so nothing of the person's moves: no ref, no index, no stash, no file (cases 135,
// 158, 163). The index is kept between snapshots, because it remembers which files have not changed: then a
// snapshot is one look at the files and no reading of them. Ignored files are not in it, nor are other
// repositories inside, nor new files past the bounds: `left` names those.

import { constants } from 'node:fs';
import { access, copyFile, lstat, mkdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { limits } from '../runtime/limits.ts';
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
}

export interface SnapshotsOptions {
  /** Folder of our own for the indexes; made when it is missing. */
  readonly root: string;
  /** New files that are taken; when there are more, none is: they are surely products of a build. */
  readonly newFiles: number;
  /** Bytes of a file that is taken when it is new, and when it has changed. */
  readonly newFileBytes: number;
  readonly changedFileBytes: number;
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
  const take = async (repository: Repository): Promise<SnapshotResult> => {
    const index = path.join(options.root, `${hashOfText(repository.top).slice(0, 16)}.index`);
    const first = await attempt(options, repository, { index, kept });
    if (first.kind === 'snapshot') return first;
    // Objects that only our index knew of may have been removed by the person's `git gc`: from the start, once.
    kept.delete(repository.top);
    return await attempt(options, repository, { index, kept });
  };
  return {
    take: (repository) =>
      locks(repository.top, () =>
        take(repository).catch((error: unknown) => ({ kind: 'failed', text: String(error) })),
      ),
  };
}

interface Memory {
  readonly index: string;
  readonly kept: Map<string, Kept>;
}

async function attempt(
  options: SnapshotsOptions,
  repository: Repository,
  { index, kept }: Memory,
): Promise<SnapshotResult> {
  const { top } = repository;
  const env = await environmentOf(options, repository, index);
  await rm(`${index}.lock`, { force: true });
  const persons = await markOf(path.join(repository.gitDirectory, 'index'));
  let known = kept.get(top) ?? null;
  if (known?.copied !== persons) {
    await mkdir(options.root, { recursive: true });
    await rm(index, { force: true });
    if (persons !== 'none') await copyFile(path.join(repository.gitDirectory, 'index'), index);
    known = { copied: persons, last: null };
  }
  kept.delete(top);
  const listed = await git(top, [...listing], { env });
  if (listed.code !== 0) return failed(listed);
  const { taken, left } = await chosen(options, top, [...new Set(pathsOf(listed.out))]);
  const { last } = known;
  const result =
    last !== null && taken.length === 0 ? { ...last, left } : await written(top, env, { taken, left });
  if (result.kind === 'failed') return result;
  kept.set(top, { copied: known.copied, last: result });
  return result;
}

// With a letter before each name: `?` is a new file, others have changed or are gone.
const listing = ['ls-files', '-z', '-t', '--modified', '--others', '--exclude-standard'] as const;

async function environmentOf(
  options: SnapshotsOptions,
  repository: Repository,
  index: string,
): Promise<Record<string, string>> {
  if (options.objects === null) return { GIT_INDEX_FILE: index };
  return {
    GIT_INDEX_FILE: index,
    GIT_OBJECT_DIRECTORY: await options.objects(repository),
    GIT_ALTERNATE_OBJECT_DIRECTORIES: path.join(repository.common, 'objects'),
  };
}

const failed = (result: GitResult): SnapshotResult => ({ kind: 'failed', text: result.problem });

/** Says whether a file is another one than before. */
async function markOf(file: string): Promise<string> {
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
  const many = options.newFiles < listed.filter(isNew).length;
  const taken: string[] = [];
  const left: string[] = [];
  for (let at = 0; at < listed.length; at += limits.slice) {
    const slice = listed.slice(at, at + limits.slice);
    const fits = await Promise.all(
      slice.map(async (line) => {
        if (isNew(line) && many) return false;
        const mostBytes = isNew(line) ? options.newFileBytes : options.changedFileBytes;
        return await fitsIn(path.join(top, nameIn(line)), mostBytes);
      }),
    );
    for (const [i, line] of slice.entries()) (fits[i] === true ? taken : left).push(nameIn(line));
  }
  return { taken, left };
}

const nameIn = (line: string): string => line.slice(2);

/** A file that is gone fits too: it goes out of the index. A folder is another repository. */
async function fitsIn(file: string, mostBytes: number): Promise<boolean> {
  const found = await lstat(file).catch(() => null);
  if (found === null || found.isSymbolicLink()) return true;
  if (!found.isFile() || mostBytes < found.size) return false;
  // Git gives up altogether at one file that it cannot read.
  return await access(file, constants.R_OK).then(
    () => true,
    () => false,
  );
}
