// Commands that run in the background: what their agents started with `shell` and went on without.

import type { AgentId, CallId } from './ids.ts';

export interface CommandRow {
  /** The call that started it names it, for people and for the agent. */
  readonly command: CallId;
  readonly agent: AgentId;
  readonly agentName: string;
  /** The command in one line. */
  readonly title: string;
  readonly startedAtMs: number;
  /** It is being ended. */
  readonly stopping: boolean;
}

export interface CommandOutput {
  /** What it has printed after the place that was asked for, the newest 64 KB of it. */
  readonly text: string;
  /** Bytes after that place which are not in `text`. */
  readonly skippedBytes: number;
  /** The place to ask from next. */
  readonly next: number;
  readonly running: boolean;
}
