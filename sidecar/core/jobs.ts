// What is asked of folders and how it ends: verdicts on changes, and files that are brought back. Data of the Review
// and Checkpoints ports.

import type { Isolation } from '../protocol/agent.ts';
import type { Verdict } from '../protocol/change.ts';
import type { CheckpointRestored } from '../protocol/checkpoint.ts';
import type { ErrorCode } from '../protocol/errors.ts';
import type { CheckpointId } from '../protocol/ids.ts';
import type { Json } from '../protocol/json.ts';

export interface ReviewFile {
  readonly path: string;
  readonly written: string;
  readonly isolation: Isolation;
  readonly base: Uint8Array | null;
  readonly after: Uint8Array | null;
}

export interface ReviewJob extends ReviewFile {
  readonly verdict: Verdict;
  readonly hunks: readonly string[] | 'all';
  /** The person's file has what the person wants of them already. */
  readonly merged?: boolean;
}

/** What a verdict would do. `evidence` is committed before the file is touched, and judged after a crash like an edit's. */
export type ReviewPlan =
  | {
      readonly kind: 'plan';
      readonly evidence: Json;
      /** The base and the agent's version afterwards. */
      readonly base: Uint8Array | null;
      readonly after: Uint8Array | null;
      /** Hunks that are left, and their lines. */
      readonly left: number;
      readonly added: number;
      readonly removed: number;
      /** Hunks that this verdict decides. */
      readonly decided: number;
    }
  | { readonly kind: 'stale'; readonly message: string }
  | { readonly kind: 'conflict'; readonly message: string };

export type ReviewDone = { readonly kind: 'done' } | { readonly kind: 'conflict'; readonly message: string };

export interface RestoreJob {
  readonly checkpoint: CheckpointId;
  /** Files, absolute; what else would be brought back is left. */
  readonly paths: readonly string[] | 'all';
}

export type RestoreEvent =
  /** A file that was brought back and that an agent has an undecided change of. */
  | {
      readonly kind: 'file';
      readonly path: string;
      readonly before: Uint8Array | null;
      readonly after: Uint8Array | null;
    }
  /** Last, exactly once. */
  | { readonly kind: 'done'; readonly result: CheckpointRestored }
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly message: string };
