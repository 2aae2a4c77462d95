// Worktrees of agents as a client sees them: where each stands, and what would be lost if it went.

import type { AgentId } from './ids.ts';

/**
 * `working`: a turn of its agent is open or queued. `review`: changes wait for a verdict. `kept`: it has work that
 * nobody has decided on. `done`: nothing would be lost. `broken`: its folder is gone or git does not know it.
 * `stray`: no agent of this store has it.
 */
export type WorktreeState = 'working' | 'review' | 'kept' | 'done' | 'broken' | 'stray';

export interface WorktreeRow {
  readonly agent: AgentId;
  /** Null: the store has no such agent. */
  readonly agentName: string | null;
  /** Its folder, absolute. */
  readonly path: string;
  readonly workspace: string;
  /** Commit that it was made of. */
  readonly base: string;
  readonly state: WorktreeState;
  /** What is best done with it. `adopt`: the agent's next write takes it up again by itself. */
  readonly advice: 'leave' | 'remove' | 'adopt';
  /** Why, in a sentence for a person. */
  readonly reason: string;
  /** Files that differ from what it was made of. */
  readonly changedFiles: number;
  /** Those of them that no verdict speaks of, at most 20, relative to the top of the repository. */
  readonly unreviewed: readonly string[];
  /** Commits made in it that no branch and no tag holds. */
  readonly commits: number;
  readonly setup: 'none' | 'pending' | 'done' | 'failed';
  /** The first of its ports. */
  readonly firstPort: number;
  /** Bytes of its files when it was made. */
  readonly sizeBytes: number;
  readonly madeAtMs: number;
}

export interface WorktreeRemoved {
  readonly removed: boolean;
  /** Why not, or what was done. */
  readonly reason: string;
}
