// The repository that a folder is in: where it is, what its HEAD is, and what git knows of its files.
//
// Nothing here changes anything. What a folder lacks is said in words for a person, with what to do.

import { stat } from 'node:fs/promises';
import path from 'node:path';
import { git } from './git.ts';

export interface Repository {
  /** Top folder of the person's working tree. */
  readonly top: string;
  /** The repository itself, which all its worktrees share. */
  readonly common: string;
  /** Of the person's working tree. */
  readonly gitDirectory: string;
  /** Null before the first commit. */
  readonly head: string | null;
  /** What git needs to be told when the folder itself does not say where its repository is. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The repository of a folder; a string says in git's words why there is none. */
export async function repositoryOf(folder: string): Promise<Repository | string> {
  const places = ['--show-toplevel', '--git-common-dir', '--git-dir'];
  const [asked, head] = await Promise.all([
    git(folder, ['rev-parse', '--path-format=absolute', ...places]),
    git(folder, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']),
  ]);
  if (asked.code !== 0) return asked.problem;
  const [top = '', common = '', gitDirectory = ''] = asked.out.trimEnd().split('\n');
  return { top, common, gitDirectory, head: head.code === 0 ? head.out.trim() : null };
}

/** Paths of a `-z` listing. */
export const pathsOf = (out: string): string[] => out.split('\0').filter((name) => name !== '');

/** Submodules and folders of other repositories that the index has a commit of, relative to the top. */
export async function submodulesOf(folder: string): Promise<string[]> {
  const staged = await git(folder, ['ls-files', '--stage', '-z', '--full-name']);
  return pathsOf(staged.out)
    .filter((line) => line.startsWith('160000 '))
    .map((line) => line.slice(line.indexOf('\t') + 1));
}

/** What git ignores, relative to the top; a folder that it ignores altogether is one entry that ends with a slash. */
export async function ignoredOf(top: string): Promise<string[]> {
  const args = ['ls-files', '-z', '--others', '--ignored', '--exclude-standard', '--directory'];
  return pathsOf((await git(top, args)).out);
}

/**
 * The nearest folder from `folder` upwards that holds a `.git`; null: there is none. Asks no git: this is asked
 * whenever an agent starts, and a process costs 4 ms and more from a large parent.
 */
export async function repositoryTop(folder: string): Promise<string | null> {
  for (let at = folder; ; at = path.dirname(at)) {
    if ((await stat(path.join(at, '.git')).catch(() => null)) !== null) return at;
    if (at === path.dirname(at)) return null;
  }
}
