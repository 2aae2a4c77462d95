// What worktrees of a repository are made of at one moment: the commit, and what is known of the person's files. Many
// agents that write for the first time together share one look.

import { git } from './git.ts';
import { ignoredOf, repositoryOf, submodulesOf } from './repository.ts';
import type { Repository } from './repository.ts';
import type { Snapshots } from './snapshot.ts';
import { lackingFolders, settingsOf, wantedFiles } from './worktreeInclude.ts';
import type { Trees, WorktreeSettings } from './worktreeInclude.ts';
import { limits } from '../runtime/limits.ts';

export interface Survey {
  readonly repository: Repository;
  readonly settings: WorktreeSettings;
  readonly base: Base & { readonly commit: string };
  /** What git ignores; folders end with a slash. All relative to the top, as are the next two. */
  readonly ignored: readonly string[];
  readonly submodules: readonly string[];
  /** Ignored files that worktrees get a copy of. */
  readonly wanted: readonly string[];
}

/** Looks at the repository of a folder as it is now; a string says why it can have no worktrees and what to do. */
export async function survey(snapshots: Snapshots, workspace: string): Promise<Survey | string> {
  const repository = await repositoryOf(workspace);
  if (typeof repository === 'string') {
    return `${workspace} is not in a git repository, so this agent cannot have a worktree (${repository}). Run "git init" there, or start the agent with isolation "shared".`;
  }
  const { top } = repository;
  const settings = await settingsOf(top);
  if (typeof settings === 'string') return `The worktree could not be made. ${settings}`;
  const [base, ignored, submodules] = await Promise.all([
    baseOf(snapshots, repository),
    ignoredOf(top),
    submodulesOf(top),
  ]);
  const { commit } = base;
  if (commit === null) return `The worktree could not be made: ${base.problem}`;
  const wanted = await wantedFiles(top, ignored);
  return { repository, settings, base: { ...base, commit }, ignored, submodules, wanted };
}

interface Base {
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
async function baseOf(snapshots: Snapshots, repository: Repository): Promise<Base> {
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

/**
 * What an agent should know of its new worktree, so that it does not take a missing package or an empty submodule
 * for a fault of the project (cases 135, 147).
 */
export async function newsOf(found: Survey, trees: Trees, missing: readonly string[]): Promise<string> {
  const { base, ignored, submodules } = found;
  const parts = [
    named('ignored by git', await lackingFolders(trees, ignored)),
    named('submodules, empty here', submodules),
    named('not taken along', [...base.left, ...missing]),
  ].filter((part) => part !== null);
  const carried = base.carried ? ', with what the person has not committed' : '';
  const lacks = parts.length === 0 ? '' : ` Not in it, though in the person's folder: ${parts.join('; ')}.`;
  return `[roost] This is a git worktree of your own, made of commit ${base.commit.slice(0, 12)}${carried}.${lacks}`;
}

function named(what: string, names: readonly string[]): string | null {
  if (names.length === 0) return null;
  const shown = names.slice(0, limits.lackingNamed).join(', ');
  const more = names.length - limits.lackingNamed;
  return `${what}: ${shown}${more > 0 ? ` and ${more} more` : ''}`;
}

/** A text, and behind it what an agent is told of the worktree that was made for its call. */
export const withNews = (text: string, news: string | null): string =>
  news === null ? text : `${text}${text.endsWith('\n') ? '' : '\n'}${news}`;
