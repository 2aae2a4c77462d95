// Terms that decisions and ports share: what a request is made of, how it can end, what a person would be asked.

import type { Block, StopReason, Usage } from '../protocol/entry.ts';
import type { JsonObject } from '../protocol/json.ts';

/** What a request is made of, in the neutral form that dialects encode. */
export type Item =
  | { readonly kind: 'user'; readonly text: string }
  | { readonly kind: 'answer'; readonly model: string; readonly blocks: readonly Block[] }
  | {
      readonly kind: 'result';
      readonly key: string;
      readonly tool: string;
      readonly ok: boolean;
      readonly text: string;
    };

/** A tool as a model is offered it. `schema` is JSON Schema. The same array object is used by all agents of a profile. */
export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  readonly schema: JsonObject;
}

export type ModelOutcome =
  | {
      readonly kind: 'answer';
      readonly blocks: readonly Block[];
      readonly stop: StopReason;
      readonly usage: Usage;
    }
  /** 429, 529, or the same said inside a 200 stream: the pool's business, not the agent's. Null: the server named no time. */
  | { readonly kind: 'refused'; readonly retryAtMs: number | null; readonly message: string }
  /** The stream broke, the server was not reached or failed (5xx): asking again is safe. */
  | { readonly kind: 'cut'; readonly receivedBytes: number; readonly message: string }
  /**
   * Asking again with the same request cannot help. `staleReasoning`: reasoning of its own is not taken back.
   * `noEditor`: the window that carried it is gone.
   */
  | {
      readonly kind: 'rejected';
      readonly code:
        | 'contextTooLong'
        | 'staleReasoning'
        | 'badRequest'
        | 'wrongKey'
        | 'noKey'
        | 'noEditor'
        | 'noCredit'
        | 'modelUnknown';
      readonly message: string;
      /** Of `contextTooLong`: the tokens that the model takes, when its server named them. */
      readonly limitTokens?: number;
    };

/** The state of one of a provider's limits, as the headers of an answer tell it. */
export interface LimitReading {
  /** What is counted: requests, tokens of both kinds together, or of one kind. */
  readonly of: 'requests' | 'tokens' | 'input' | 'output';
  readonly limit: number;
  readonly remaining: number;
  /** Time until all of it is there again; null: not told. */
  readonly fullInMs: number | null;
}

/** What a person would be asked. Whether they are is core/policy's decision. */
export interface Ask {
  readonly kind: 'command' | 'edit';
  readonly title: string;
  readonly detail: string;
  /** Calls with the same key may be answered together; null for what is dangerous: it never clusters. */
  readonly cluster: string | null;
  /** Only looks, and only at what lies in the agent's place: nobody is asked, in any mode. */
  readonly harmless: boolean;
  /** Runs inside a sandbox of the system. */
  readonly sandboxed: boolean;
  /** Asks in every mode: own config, `.vscode`, `.git/hooks`, MCP config, what could not be parsed. */
  readonly always: boolean;
}
