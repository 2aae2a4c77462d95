// Channel `changes`: the changes of one agent, or of all agents that touched one workspace, for review.

import type { ChangeRow } from './change.ts';
import type { ChangeId } from './ids.ts';

export interface ChangesState {
  readonly rows: readonly ChangeRow[];
  readonly more: boolean;
}

export type ChangesAction = {
  readonly kind: 'changes/rows';
  readonly rows: readonly ChangeRow[];
  readonly gone: readonly ChangeId[];
};

export function changesReducer(state: ChangesState, action: ChangesAction): ChangesState {
  switch (action.kind) {
    case 'changes/rows': {
      const gone = new Set(action.gone);
      const changed = new Map(action.rows.map((row) => [row.id, row]));
      const kept = state.rows.filter((row) => !gone.has(row.id)).map((row) => changed.get(row.id) ?? row);
      const known = new Set(kept.map((row) => row.id));
      const added = action.rows.filter((row) => !known.has(row.id) && !gone.has(row.id));
      // By id as in a snapshot: a change that was in conflict comes back among the others.
      return { ...state, rows: [...kept, ...added].sort((a, b) => a.id - b.id) };
    }
    default:
      return state;
  }
}
