// What adapters answer by themselves: checkpoints and worktrees of folders, and what commands in the background print.

import type { CommandOutput } from '../protocol/command.ts';
import { RoostError } from '../protocol/errors.ts';
import type { CallId } from '../protocol/ids.ts';
import type { Params, Result } from '../protocol/methods.ts';

interface Outputs {
  /** Null: there is no such command any more. */
  output(command: CallId, after: number): CommandOutput | null;
}

export interface Folders {
  readonly checkpoints: {
    list(params: Params<'checkpoint/list'>): Promise<Result<'checkpoint/list'>>;
    preview(params: Params<'checkpoint/preview'>): Promise<Result<'checkpoint/preview'>>;
  };
  readonly trees: {
    list(params: Params<'worktree/list'>): Promise<Result<'worktree/list'>>;
    remove(params: Params<'worktree/remove'>): Promise<Result<'worktree/remove'>>;
  };
  readonly outputs: Outputs;
}

type FolderMethod =
  'checkpoint/list' | 'checkpoint/preview' | 'worktree/list' | 'worktree/remove' | 'command/output';

type FolderHandlers = {
  readonly [M in FolderMethod]: (params: Params<M>) => Result<M> | Promise<Result<M>>;
};

/** The folders are asked for at each call, so that they can be made after the server. */
export function folderHandlers(folders: () => Folders): FolderHandlers {
  return {
    'checkpoint/list': (params) => folders().checkpoints.list(params),
    'checkpoint/preview': (params) => folders().checkpoints.preview(params),
    'worktree/list': (params) => folders().trees.list(params),
    'worktree/remove': (params) => folders().trees.remove(params),
    'command/output': (params) => commandOutput(folders().outputs, params),
  };
}

/** @throws RoostError `call/unknown` when there is no such command, or it has ended some time ago. */
function commandOutput(outputs: Outputs, { command, after }: Params<'command/output'>): CommandOutput {
  const output = outputs.output(command, after);
  if (output !== null) return output;
  const message = `There is no command ${command} in the background, or it has ended some time ago.`;
  throw new RoostError('call/unknown', message, { command });
}
