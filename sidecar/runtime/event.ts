// Everything that can happen to the runtime, as one closed union. Clients, ports and the clock all post these
// into the one queue; the Host takes one at a time.
//
// A `reply` is called after the commit that makes the answer true, exactly once (I1).

import type { Knowledge } from '../core/knowledge.ts';
import type { AgentId, AttemptId, CallId, TurnId } from '../protocol/ids.ts';
import type { ErrorCode } from '../protocol/errors.ts';
import type { MethodName, Params, Result } from '../protocol/methods.ts';
import type {
  ModelOutcome,
  OfferAnswer,
  Prepared,
  RestoreEvent,
  ReviewDone,
  ReviewPlan,
  ToolOutcome,
  Touched,
} from '../ports.ts';

export type Reply<T> = (
  answer:
    | { readonly ok: true; readonly value: T }
    | { readonly ok: false; readonly code: ErrorCode; readonly message: string },
) => void;

/** Wire methods that change something: the runtime's. All others are reads and never come here. */
export const runtimeMethods = [
  'agent/start',
  'agent/send',
  'agent/interrupt',
  'request/answer',
  'request/answerMany',
  'change/verdict',
  'provider/set',
  'agent/fork',
  'agent/rewind',
  'agent/rename',
  'agent/configure',
  'agent/compact',
  'agent/close',
  'agent/delete',
  'agent/restore',
  'agent/import',
  'trash/empty',
  'trash/keep',
  'turn/retry',
  'queue/remove',
  'budget/set',
  'checkpoint/restore',
  'model/price',
  'model/role',
  'command/kill',
  'trust/set',
  'mcp/files',
] as const satisfies readonly MethodName[];
export type RuntimeMethod = (typeof runtimeMethods)[number];

/** A client's wish, checked against its schema by rpc/serve. */
export type ClientEvent = {
  [M in RuntimeMethod]: {
    readonly kind: M;
    readonly params: Params<M>;
    readonly reply: Reply<Result<M>>;
    /** The call in whose command the client runs: what it says is said by that call's agent, and not by a person. */
    readonly call?: CallId | undefined;
  };
}[RuntimeMethod];

export type RuntimeEvent =
  | ClientEvent
  | {
      readonly kind: 'modelEnd';
      readonly agent: AgentId;
      readonly attempt: AttemptId;
      readonly outcome: ModelOutcome;
    }
  | { readonly kind: 'prepared'; readonly call: CallId; readonly prepared: Prepared }
  /** Some of the files that a call has changed; the last of them come with its end. */
  | { readonly kind: 'touched'; readonly call: CallId; readonly touched: readonly Touched[] }
  | { readonly kind: 'callEnd'; readonly call: CallId; readonly outcome: ToolOutcome }
  /** A command in the background, by its row, has ended. */
  | { readonly kind: 'commandEnd'; readonly command: number; readonly outcome: ToolOutcome }
  | { readonly kind: 'verdictPlanned'; readonly verdict: number; readonly plan: ReviewPlan }
  | { readonly kind: 'verdictWritten'; readonly verdict: number; readonly done: ReviewDone }
  /** The end of a restore. */
  | {
      readonly kind: 'checkpointRestored';
      readonly key: string;
      readonly event: Exclude<RestoreEvent, { kind: 'file' }>;
      readonly reply: Reply<Result<'checkpoint/restore'>>;
    }
  /** One file of a restore is as it was. It answers nobody. */
  | { readonly kind: 'fileRestored'; readonly path: string; readonly after: Uint8Array | null }
  /** A client that offers secrets came, or gave a key: agents that wait for a key look again. */
  | { readonly kind: 'keys' }
  /** A window says which of its editor's models may be asked: agents that wait for one look again, from this id on. */
  | { readonly kind: 'editors'; readonly after: number }
  /** The command of this call waits inside Roost (or no longer does): its slot is lent out meanwhile (I5). */
  | { readonly kind: 'lend'; readonly call: CallId; readonly lent: boolean }
  /** A client in the command of this call is about to be told how these turns ended: each is told once (I8). */
  | {
      readonly kind: 'told';
      readonly call: CallId;
      readonly turns: readonly TurnId[];
      readonly reply: Reply<Record<string, never>>;
    }
  /** The process is about to end in order. */
  | { readonly kind: 'leaving' }
  /** What was settled is added up by hour (spend.ts). */
  | { readonly kind: 'fold' }
  /** The earliest timer is due. */
  | { readonly kind: 'alarm' }
  /** A batch is started in slices: this call goes on with its next tasks. */
  | { readonly kind: 'spawnMore'; readonly call: CallId }
  /** A branch is interrupted in slices: agents whose children are still to be visited. */
  | {
      readonly kind: 'interruptMore';
      readonly parents: readonly number[];
      readonly after: number;
      readonly stopped: number;
      /** The call of interrupt_agent that has asked for it, and ends with it; 0: a client has. */
      readonly call: number;
      readonly reply: Reply<Result<'agent/interrupt'>>;
    }
  /** Something is done to a whole branch in slices: the next one. Of several chains of these only the newest goes on. */
  | { readonly kind: 'walk'; readonly chain: number }
  /** An agent was rewound: children that it now has never started are stopped, in slices, and what is below them. */
  | {
      readonly kind: 'orphansMore';
      readonly agent: number;
      readonly after: number;
      /** Children whose own children are still to be visited. */
      readonly parents: readonly number[];
      readonly moved: Omit<Result<'agent/rewind'>, 'stopped'>;
      readonly stopped: number;
      readonly reply: Reply<Result<'agent/rewind'>>;
    }
  /** Rows of what was deleted for good go in slices: the next one, when it has let others pass so many times. */
  | { readonly kind: 'purge'; readonly chain: number; readonly passes: number }
  /** The trash is emptied in slices: of the branches up to this row of it, so many were taken already. */
  | {
      readonly kind: 'emptyMore';
      readonly upTo: number;
      readonly branches: number;
      readonly agents: number;
      readonly key: string;
      readonly reply: Reply<Result<'trash/empty'>>;
    }
  /** Held budget came free: agents that waited for it look again, from this id on. */
  | { readonly kind: 'budgetsMore'; readonly after: number }
  /** A budget was raised: those whose question is thereby answered look again too, from this id on. */
  | { readonly kind: 'raisedMore'; readonly after: number }
  /** More turns wait for slots than one step starts. */
  | { readonly kind: 'admit' }
  /** A look at a folder has come back; `call`: the batch that waits for it, 0: none. */
  | {
      readonly kind: 'looked';
      readonly workspace: string;
      readonly knowledge: Knowledge;
      readonly call: number;
    }
  /** A server has said what it offers, or that it cannot: asked, or by itself when its list has changed. */
  | { readonly kind: 'offered'; readonly server: string; readonly answer: OfferAnswer }
  /** Agents that waited for what servers offer look again, from this id on. */
  | { readonly kind: 'offersMore'; readonly after: number }
  /** Files were decided on: agents that waited for that look again, from this id on. */
  | { readonly kind: 'trustMore'; readonly after: number }
  /** Agents that waited for a key look again, from this id on. */
  | { readonly kind: 'keysMore'; readonly after: number }
  /**
   * What was in flight when the last process ended, in slices (DESIGN §7). Comes before all else. `crashed`: it did not
   * end in order; null: that is still to be looked up.
   */
  | {
      readonly kind: 'recover';
      readonly stage: RecoverStage;
      readonly after: number;
      readonly crashed: boolean | null;
    }
  /** Work on this agent met a bug: its turn ends with the message. */
  | { readonly kind: 'broken'; readonly agent: number; readonly message: string };

export type RecoverStage = 'background' | 'asking' | 'calling' | 'verdicts';
