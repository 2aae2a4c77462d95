// Changes: what an agent did to one file against its base, as hunks with verdicts.
//
// A change is computed from bytes before and after, never from what the model said it did. Accepting a hunk
// moves the base; rejecting one takes it out of the file. Both leave every other byte alone (I11).

import type { AgentId, ChangeId } from './ids.ts';
import type { Isolation } from './agent.ts';

/** A run of lines, 1-based; `count` 0 means "between `start - 1` and `start`". */
export interface LineRange {
  readonly start: number;
  readonly count: number;
}

export interface Hunk {
  /** Hash of (path, base text of the hunk and its surroundings, new text): names this hunk whatever happens around it. */
  readonly id: string;
  readonly base: LineRange;
  /** Where the new lines stand in the agent's version of the file. */
  readonly after: LineRange;
  /** Where they stand in the file as the person sees it now; null when the person has changed them since. */
  readonly now: LineRange | null;
  readonly removed: readonly string[];
  readonly added: readonly string[];
}

/** Another agent's change of the same file that waits for a verdict too. */
export interface Overlap {
  readonly change: ChangeId;
  readonly agent: AgentId;
  readonly agentName: string;
  /** Both replace the same lines: once one is accepted, the other is in conflict. */
  readonly lines: boolean;
}

export interface ChangeRow {
  readonly id: ChangeId;
  readonly agent: AgentId;
  readonly agentName: string;
  /** Absolute path of the person's file. */
  readonly path: string;
  /** Relative to the agent's workspace, with forward slashes: what is shown. */
  readonly label: string;
  readonly isolation: Isolation;
  readonly kind: 'edit' | 'create' | 'delete';
  readonly state: 'open' | 'accepted' | 'rejected' | 'mixed' | 'conflict';
  readonly added: number;
  readonly removed: number;
  /** Hash of the base and of the agent's version; a verdict names both, and is refused as stale when they moved. */
  readonly baseHash: string;
  readonly afterHash: string;
  readonly atMs: number;
  /** While it waits for a verdict: who else has such a change of this file; at most 8. */
  readonly overlaps: readonly Overlap[];
  /** Why it may be somebody else's work (a command changed the file while others were at work); null: it is this agent's. */
  readonly doubt: string | null;
}

export interface ChangeDetail extends ChangeRow {
  readonly hunks: readonly Hunk[];
  /** Text of the base, when it is text of at most 1 MB; the left side of a diff editor. */
  readonly baseText: string | null;
  /** Text of the agent's version. */
  readonly afterText: string | null;
}

export type Verdict = 'accept' | 'reject';

export interface VerdictResult {
  readonly state: 'applied' | 'stale' | 'conflict';
  /** What happened and what to do, when it is not `applied`. */
  readonly message: string;
  readonly change: ChangeRow;
}
