// Channel `tree`: a window onto the forest of agents. A client names what it has expanded and which rows it
// shows; it gets those rows and hears about those rows only, whatever the size of the forest (I13).

import type { AgentRow } from './agent.ts';
import type { AgentId } from './ids.ts';

export interface TreeQuery {
  /** Agents whose children are shown, at most 1,000. */
  readonly expanded: readonly AgentId[];
  /** `attention`: who needs a person first, then running, waiting, failed, done; `created`: by id. */
  readonly order: 'attention' | 'created';
  /** Text to find in names and tasks; empty shows the tree. */
  readonly filter: string;
  /** First row wanted, counted over the expanded rows, and how many (at most 500). */
  readonly top: number;
  readonly height: number;
}

export interface TreeRow {
  readonly agent: AgentRow;
  /** Indentation, 0 for a root. */
  readonly level: number;
  readonly expanded: boolean;
}

export interface TreeWindow {
  readonly rows: readonly TreeRow[];
  /** Index of rows[0] among all expanded rows. */
  readonly top: number;
  /** All expanded rows: what the scroll bar stands for. */
  readonly total: number;
  /** Still being counted (a filter over many agents runs in slices). */
  readonly partial: boolean;
}

export type TreeAction =
  /** Rows of the window whose content changed; the order did not. */
  | { readonly kind: 'tree/rows'; readonly rows: readonly AgentRow[] }
  /** The window itself changed. */
  | { readonly kind: 'tree/window'; readonly window: TreeWindow };

export function treeReducer(state: TreeWindow, action: TreeAction): TreeWindow {
  switch (action.kind) {
    case 'tree/rows': {
      const changed = new Map(action.rows.map((row) => [row.id, row]));
      return {
        ...state,
        rows: state.rows.map((row) => ({ ...row, agent: changed.get(row.agent.id) ?? row.agent })),
      };
    }
    case 'tree/window':
      return action.window;
    default:
      return state; // an older reader skips what it does not know
  }
}
