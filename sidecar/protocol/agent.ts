// An agent as a client sees it: one row of the tree, derived from durable facts (I16).

import type { AgentId, TurnId } from './ids.ts';
import type { Outcome } from './entry.ts';

/** `ready`: a turn is open and waits for a slot. `asking`: a model request is in flight. `calling`: calls run. */
export type Phase = 'idle' | 'ready' | 'asking' | 'calling' | 'waiting';

/** Why a turn is parked. `calls` is not one of them: an agent whose calls run is `calling`. */
export type WaitReason =
  | 'child'
  | 'approval'
  | 'answer'
  | 'timer'
  | 'rate'
  | 'budget'
  | 'key'
  | 'editor'
  | 'disk'
  | 'quarantine'
  | 'tools';

/** Where an agent's edits land. */
export type Isolation = 'shared' | 'worktree' | 'readonly';

/** What an agent may do without asking: `ask` asks for edits and commands, `edits` only for commands, `auto` for commands that no sandbox holds. */
export type Mode = 'ask' | 'edits' | 'auto';

/**
 * How much a model is asked to think before it answers, as far as it can be asked: `off` not at all, or as little as
 * it can. More thinking costs more output tokens and time.
 */
export type Effort = 'off' | 'low' | 'medium' | 'high' | 'max';

/** What a branch may spend; null is no limit, 0 is nothing (I7). Money in millionths of a US dollar, time in milliseconds. */
export interface Budget {
  readonly microUsd: number | null;
  readonly tokens: number | null;
  readonly agents: number | null;
  readonly depth: number | null;
  readonly wallMs: number | null;
}

/** Counts over an agent and all its descendants, kept in the transaction that changes them. */
export interface Rollup {
  /** Agents in the branch, the agent itself included. */
  readonly agents: number;
  /** Agents that are ready, asking or calling. */
  readonly running: number;
  /** Agents that are parked. */
  readonly waiting: number;
  /** Requests that a person must decide. */
  readonly needs: number;
  /** Idle agents whose last turn failed. */
  readonly failed: number;
  /** Idle agents whose last turn is done. */
  readonly done: number;
  readonly microUsd: number;
  readonly tokens: number;
}

export interface AgentRow {
  readonly id: AgentId;
  readonly parent: AgentId | null;
  readonly root: AgentId;
  readonly depth: number;
  readonly name: string;
  /** The first line of what it was asked, at most 120 characters. */
  readonly task: string;
  readonly profile: string;
  /** provider/model. Starts with `scripted/` when no real model answers; every view says so. */
  readonly model: string;
  readonly isolation: Isolation;
  readonly mode: Mode;
  /** Absolute path of the folder it works in. */
  readonly workspace: string;
  readonly phase: Phase;
  readonly why: WaitReason | null;
  /** When it entered this phase, milliseconds since 1970. */
  readonly sinceMs: number;
  readonly turn: TurnId | null;
  /** The last turn of its transcript that ended, and how. */
  readonly last: TurnId | null;
  readonly outcome: Outcome | null;
  /** What it does right now or said last, one line. */
  readonly doing: string;
  /** Turns that wait in its queue. */
  readonly queued: number;
  /** Direct children. */
  readonly children: number;
  /** Files with a change that waits for a verdict. */
  readonly changes: number;
  /** Its commands that run in the background. */
  readonly commands: number;
  /** It is in the trash, or on its way there or back: in no list or count, and no work starts in it. */
  readonly trashed: boolean;
  readonly branch: Rollup;
  readonly budget: Budget;
}
