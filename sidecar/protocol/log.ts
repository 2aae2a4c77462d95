// Channel `log`: every entry of one agent, of a branch, or of all agents from a cursor on: first from the
// store, then live, without a gap and without a double. The cursor is the entry's id.

import type { Entry } from './entry.ts';

/** The log keeps nothing: each action is printed and forgotten, its last id is the cursor. */
export interface LogState {
  readonly caughtUp: boolean;
}

export type LogAction =
  { readonly kind: 'log/entries'; readonly entries: readonly Entry[] } | { readonly kind: 'log/caughtUp' };

export function logReducer(state: LogState, action: LogAction): LogState {
  switch (action.kind) {
    case 'log/caughtUp':
      return { caughtUp: true };
    case 'log/entries':
      return state;
    default:
      return state;
  }
}
