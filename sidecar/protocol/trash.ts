// The trash: branches that a person has deleted and can bring back.

import type { AgentRow } from './agent.ts';

export interface TrashRow {
  /** Names this deletion, larger than those before it: where the next page goes on. */
  readonly id: number;
  /** The top of the branch, as it is now. */
  readonly agent: AgentRow;
  /** Its name behind the names of those above it, such as `lead/tests`. */
  readonly path: string;
  /** Agents in the branch. */
  readonly agents: number;
  /** `moving`: on its way in; `kept`; `leaving`: on its way back; `emptying`: being deleted for good. */
  readonly state: 'moving' | 'kept' | 'leaving' | 'emptying';
  /** When it was deleted, and when it will be deleted for good (null: only by hand). Milliseconds since 1970. */
  readonly atMs: number;
  readonly untilMs: number | null;
}
