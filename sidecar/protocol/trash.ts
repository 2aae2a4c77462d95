// The trash: branches that a person has deleted and can bring back.

import type { AgentRow } from './agent.ts';
import type { AgentId } from './ids.ts';

export interface TrashRow {
  /** Names this deletion, larger than those before it: where the next page goes on. */
  readonly id: number;
  /** The top of the branch, as it is now. */
  readonly agent: AgentRow;
  /** Its name behind the names of those above it, such as `lead/tests`. */
  readonly path: string;
  /** Agents in the branch. */
  readonly agents: number;
  /** `moving`: on its way in; `kept`; `leaving`: on its way back; `emptying`: being deleted for good; `arriving`: being imported. */
  readonly state: 'moving' | 'kept' | 'leaving' | 'emptying' | 'arriving';
  /** When it was deleted, and when it will be deleted for good (null: only by hand). Milliseconds since 1970. */
  readonly atMs: number;
  readonly untilMs: number | null;
}

/** Calls about the trash. What is put into it and taken out of it is an agent's (`agent/delete`, `agent/restore`). */
export interface TrashMethods {
  /**
   * Deletes for good: these branches of the trash, or all that are in it now (null). Answered when that is decided and
   * cannot be undone any more; their rows go behind it, and what is left is listed as `emptying`.
   */
  'trash/empty': {
    params: { readonly agents: readonly AgentId[] | null; readonly key: string };
    result: { readonly branches: number; readonly agents: number };
  };
  /** How long branches stay in the trash before they are deleted for good, milliseconds; null: until it is emptied by hand. */
  'trash/keep': {
    params: { readonly keptMs: number | null; readonly key: string };
    result: Record<string, never>;
  };
  /** Branches in the trash, the one deleted last first. */
  'trash/list': {
    params: { readonly after: number | null; readonly limit: number };
    result: { readonly rows: readonly TrashRow[]; readonly more: boolean };
  };
}
