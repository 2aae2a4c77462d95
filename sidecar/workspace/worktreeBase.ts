// The commit that a worktree is made of, and what its agent is told of it.

import { git } from './git.ts';
import type { Repository } from './repository.ts';
import type { Snapshots } from './snapshot.ts';
import { lacking } from './worktreeInclude.ts';
import type { Trees } from './worktreeInclude.ts';

export interface Base {
  /** Null: there is none, for this reason. */
  readonly commit: string | null;
  readonly problem: string;
  /** It has more than what was committed. */
  readonly carried: boolean;
  /** Files that it should have and has not. */
  readonly left: readonly string[];
}

/**
 * The commit that the worktree starts from: HEAD when the person's tree is as committed, else a commit on top of it
 * with the person's changes and new files. The same state gives the same commit, so fifty worktrees share one.
 */
export async function baseOf(snapshots: Snapshots, repository: Repository): Promise<Base> {
  const { top, head } = repository;
  const snapshot = await snapshots.take(repository);
  // Without one the worktree starts from what is committed, which is still a base.
  if (snapshot.kind === 'failed') return { commit: head, problem: snapshot.text, carried: false, left: [] };
  const { tree, left } = snapshot;
  if (head !== null) {
    const same = await git(top, ['rev-parse', `${head}^{tree}`]);
    if (same.out.trim() === tree) return { commit: head, problem: '', carried: false, left };
  }
  const parent = head === null ? [] : ['-p', head];
  const args = ['commit-tree', tree, ...parent, '-m', 'What the person had'];
  const when = { GIT_AUTHOR_DATE: '2000-01-01T00:00:00Z', GIT_COMMITTER_DATE: '2000-01-01T00:00:00Z' };
  const made = await git(top, args, { env: when });
  const commit = made.code === 0 ? made.out.trim() : null;
  return { commit, problem: made.problem, carried: true, left };
}

/** What an agent should know of its new worktree. */
export async function newsOf(base: Base, trees: Trees, missing: readonly string[]): Promise<string> {
  const carried = base.carried ? ', with what the person has not committed' : '';
  const lacks = await lacking(trees, [...base.left, ...missing]);
  const rest = lacks === null ? '' : ` Not in it, though in the person's folder: ${lacks}.`;
  return `[roost] This is a git worktree of your own, made of commit ${base.commit?.slice(0, 12) ?? ''}${carried}.${rest}`;
}

/** A text, and behind it what an agent is told of the worktree that was made for its call. */
export const withNews = (text: string, news: string | null): string =>
  news === null ? text : `${text}${text.endsWith('\n') ? '' : '\n'}${news}`;
