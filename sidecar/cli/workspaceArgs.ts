// Command lines about folders: worktrees of agents, checkpoints.

import { Failure } from './failure.ts';
import { need, parseCount } from './values.ts';

export type WorkspaceCommand =
  | { readonly kind: 'checkpoints'; readonly agent: string | null; readonly all: boolean }
  | { readonly kind: 'checkpoint'; readonly checkpoint: number }
  | {
      readonly kind: 'restoreCheckpoint';
      readonly checkpoint: number;
      /** Empty: all that the preview lists. */
      readonly paths: readonly string[];
    }
  | { readonly kind: 'worktrees'; readonly agent: string | null }
  | {
      readonly kind: 'removeWorktrees';
      /** Empty: all of which nothing would be lost. */
      readonly agents: readonly string[];
      readonly force: boolean;
    };

interface Values {
  readonly all?: boolean | undefined;
  readonly force?: boolean | undefined;
  readonly done?: boolean | undefined;
}

export function parseWorkspace(
  name: 'worktree' | 'checkpoint',
  values: Values,
  words: readonly string[],
): WorkspaceCommand {
  return name === 'worktree' ? parseWorktree(values, words) : parseCheckpoint(values, words);
}

function parseCheckpoint({ all = false }: Values, [first, ...others]: readonly string[]): WorkspaceCommand {
  if (first === undefined || first === 'ls') return { kind: 'checkpoints', agent: others[0] ?? null, all };
  if (first !== 'show' && first !== 'restore')
    throw new Failure('usage', `roost checkpoint: "${first}" is not known. Use ls, show or restore.`);
  const [number, ...paths] = others;
  const checkpoint = parseCount(`checkpoint ${first}`, need(number, `checkpoint ${first}`, 'a checkpoint'));
  return first === 'show'
    ? { kind: 'checkpoint', checkpoint }
    : { kind: 'restoreCheckpoint', checkpoint, paths };
}

function parseWorktree(values: Values, [first, ...others]: readonly string[]): WorkspaceCommand {
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
