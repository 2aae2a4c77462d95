// Requests: what a person must decide. A request is a row: asked for on connect, answered at least once,
// applied once, keyed by (agent, turn, request) (I15).

import type { AgentId, CallId, RequestId, TurnId } from './ids.ts';

/** `trust`: files of a project that agents would be told, which nobody has decided on in this form. */
export type RequestKind = 'approval' | 'question' | 'budget' | 'conflict' | 'quarantine' | 'trust';

export interface RequestRow {
  readonly id: RequestId;
  readonly agent: AgentId;
  readonly agentName: string;
  readonly turn: TurnId;
  readonly call: CallId | null;
  readonly kind: RequestKind;
  /** One line: the command, the path, the question. */
  readonly title: string;
  /** The whole of it: command and folder, the edit as a diff, the question with its choices. */
  readonly detail: string;
  /** Choices of a question; empty when any text will do. */
  readonly choices: readonly string[];
  /** Requests with the same cluster key may be answered together; null: never together. */
  readonly cluster: string | null;
  readonly state: 'open' | 'answered' | 'withdrawn';
  readonly atMs: number;
}

export type Answer =
  | { readonly kind: 'allow' }
  | { readonly kind: 'deny'; readonly reason: string }
  | { readonly kind: 'text'; readonly text: string };

/** What became of an answer. `stale`: the request was decided before, or its turn is gone; nothing was changed. */
export type AnswerState = 'applied' | 'stale';
