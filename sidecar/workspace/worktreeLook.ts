// What is in a worktree that would be lost with it: files that differ from its base, and commits that nothing else
// holds. Looks only, and takes no lock of git.

import path from 'node:path';
import { limits } from '../runtime/limits.ts';
import { hashOf } from './bytes.ts';
import { exceptTemporary, readWhole } from './files.ts';
import { git } from './git.ts';
import { pathsOf } from './repository.ts';
import type { WorktreeRecord } from './worktreeRecord.ts';

export interface Found {
  /** Files that differ from the base, relative to the top; ignored ones are not among them. */
  readonly files: readonly string[];
  /** Commits from the base on that no branch and no tag has. */
  readonly commits: number;
}

/** Looks into a worktree that git knows; a string says why that could not be done. */
export async function lookInto(folder: string, record: WorktreeRecord): Promise<Found | string> {
  const diff = ['diff', '--name-only', '-z', '--no-renames', '--no-ext-diff', '--no-textconv'];
  const [changed, fresh, ahead] = await Promise.all([
    git(folder, [...diff, '--ignore-submodules=all', record.base, '--']),
    git(folder, ['ls-files', '-z', '--others', '--exclude-standard', exceptTemporary]),
    git(folder, ['rev-list', '--count', 'HEAD', '--not', record.base, '--branches', '--tags', '--remotes']),
  ]);
  const problem = [changed, fresh, ahead].find((result) => result.code !== 0)?.problem;
  if (problem !== undefined) return problem;
  const links = new Set(record.linked.map((link) => path.relative(record.top, link)));
  const files = [...pathsOf(changed.out), ...pathsOf(fresh.out).filter((name) => !links.has(name))];
  return { files: files.sort(), commits: Number(ahead.out) };
}

/**
 * The files of these whose content nobody has decided on. `decided` is asked with the person's file and the hash
 * of what the worktree has in its place. A file too large to be read counts as undecided.
 */
export async function unreviewed(
  folder: string,
  record: WorktreeRecord,
  { files, decided }: { readonly files: readonly string[]; decided(file: string, hash: string): boolean },
): Promise<readonly string[]> {
  if (limits.lookedFiles < files.length) return files;
  const open: string[] = [];
  for (const name of files) {
    const read = await readWhole(path.join(folder, name), limits.fileBytes);
    const hash = read.kind === 'refused' ? null : hashOf(read.kind === 'file' ? read.bytes : null);
    if (hash === null || !decided(path.join(record.top, name), hash)) open.push(name);
  }
  return open;
}
