// Checkpoints: how the files of a folder were before a turn first wrote there, and what going back would do.

import type { AgentId, CheckpointId, TurnId } from './ids.ts';

export interface CheckpointRow {
  readonly id: CheckpointId;
  /** `turn`: before the first write of a turn. `restore`: before a restore, which it undoes. */
  readonly kind: 'turn' | 'restore';
  /** Whose turn it was; null for a restore. */
  readonly agent: AgentId | null;
  readonly agentName: string | null;
  readonly turn: TurnId | null;
  /** Absolute path of the folder. */
  readonly workspace: string;
  readonly atMs: number;
  /** What is not in it, each in a sentence: repositories inside that could not be read, files that were too large. */
  readonly problems: readonly string[];
}

/** What going back does to one file. */
export interface CheckpointFile {
  /** Absolute. */
  readonly path: string;
  /** Relative to the folder, with forward slashes. */
  readonly label: string;
  readonly action: 'write' | 'remove' | 'leave';
  /** Why it is left as it is. */
  readonly reason: string | null;
}

export interface CheckpointPreview {
  readonly checkpoint: CheckpointRow;
  /** At most 500, by path. */
  readonly files: readonly CheckpointFile[];
  /** Files beyond those. */
  readonly more: number;
  /** Agents that are at work in the folder; what they write meanwhile is left as it is. At most 8 names. */
  readonly atWork: readonly string[];
}

export interface CheckpointRestored {
  readonly written: number;
  readonly removed: number;
  /** What was left as it is, at most 500. */
  readonly left: readonly CheckpointFile[];
  /** The checkpoint of how it was before: restoring it undoes this. Null: nothing had to be changed. */
  readonly undo: CheckpointId | null;
}
