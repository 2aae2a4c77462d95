// Command lines about folders: worktrees of agents.

import { Failure } from './failure.ts';
import { need } from './values.ts';

export type WorkspaceCommand =
  | { readonly kind: 'worktrees'; readonly agent: string | null }
  | {
      readonly kind: 'removeWorktrees';
      /** Empty: all of which nothing would be lost. */
      readonly agents: readonly string[];
      readonly force: boolean;
    };

interface Values {
  readonly force?: boolean | undefined;
  readonly done?: boolean | undefined;
}

export function parseWorkspace(
  _name: 'worktree',
  values: Values,
  [first, ...others]: readonly string[],
): WorkspaceCommand {
  if (first === undefined || first === 'ls') return { kind: 'worktrees', agent: others[0] ?? null };
  if (first !== 'rm') throw new Failure('usage', `roost worktree: "${first}" is not known. Use ls or rm.`);
  const { force = false, done = false } = values;
  if (done && (force || 0 < others.length)) {
    throw new Failure(
      'usage',
      'roost worktree rm: --done stands alone; it removes all of which nothing is lost.',
    );
  }
  if (!done) need(others[0], 'worktree rm', 'an agent, or --done');
  return { kind: 'removeWorktrees', agents: others, force };
}
