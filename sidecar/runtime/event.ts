// Everything that can happen to the runtime, as one closed union. Clients, ports and the clock all post these
// into the one queue; the Host takes one at a time.
//
// A `reply` is called after the commit that makes the answer true, exactly once (I1).

import type { AttemptId, CallId, TurnId } from '../protocol/ids.ts';
import type { ErrorCode } from '../protocol/errors.ts';
import type { MethodName, Params, Result } from '../protocol/methods.ts';
import type { ModelOutcome, Prepared, ReviewDone, ReviewPlan, ToolOutcome } from '../ports.ts';

export type Reply<T> = (answer: { readonly ok: true; readonly value: T } | { readonly ok: false; readonly code: ErrorCode; readonly message: string }) => void;

/** Wire methods that change something: the runtime's. All others are reads and never come here. */
export const runtimeMethods = [
  'agent/start',
  'agent/send',
  'agent/interrupt',
  'request/answer',
  'request/answerMany',
  'change/verdict',
  'provider/set',
] as const satisfies readonly MethodName[];
export type RuntimeMethod = (typeof runtimeMethods)[number];

/** A client's wish, checked against its schema by rpc/serve. */
export type ClientEvent = { [M in RuntimeMethod]: { readonly kind: M; readonly params: Params<M>; readonly reply: Reply<Result<M>> } }[RuntimeMethod];

export type RuntimeEvent =
  | ClientEvent
  | { readonly kind: 'modelEnd'; readonly attempt: AttemptId; readonly outcome: ModelOutcome }
  | { readonly kind: 'prepared'; readonly call: CallId; readonly prepared: Prepared }
  | { readonly kind: 'callEnd'; readonly call: CallId; readonly outcome: ToolOutcome }
  | { readonly kind: 'verdictPlanned'; readonly verdict: number; readonly plan: ReviewPlan }
  | { readonly kind: 'verdictWritten'; readonly verdict: number; readonly done: ReviewDone }
  /** A client that offers secrets came, or gave a key: agents that wait for a key look again. */
  | { readonly kind: 'keys' }
  /** The command of this call waits inside Roost (or no longer does): its slot is lent out meanwhile (I5). */
  | { readonly kind: 'lend'; readonly call: CallId; readonly lent: boolean }
  /** The earliest timer is due. */
  | { readonly kind: 'alarm' }
  /** A client waits for these turns: it is told through News.ended. */
  | { readonly kind: 'watch'; readonly turns: readonly TurnId[] }
  /** First event of a process: what was in flight when the last one ended (DESIGN §7). */
  | { readonly kind: 'recover' };

