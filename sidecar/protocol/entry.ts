// What a transcript is made of. An entry is one immutable row; clients draw it, dialects encode it.
//
// The forms here are neutral: no provider's words. A dialect translates at the edge of a request and
// nothing else in the product knows how a provider spells a tool call.

import type { AgentId, BlobId, CallId, EntryId, TurnId } from './ids.ts';
import type { JsonObject } from './json.ts';

/**
 * One piece of a model's answer, in the order in which it was received. `opaque` is what its provider wants back
 * unchanged (a phase, a signature on a call); no other provider is sent it.
 */
export type Block =
  | { readonly kind: 'text'; readonly text: string; readonly opaque?: JsonObject }
  /** Reasoning. `signature` and `opaque` go back unchanged to the provider that wrote them, and to no other. */
  | {
      readonly kind: 'thinking';
      readonly text: string;
      readonly provider: string;
      readonly signature?: string;
      readonly opaque?: JsonObject;
    }
  /** A tool use. `key` is the provider's id; `input` is the raw JSON text that the model wrote, checked when used. */
  | {
      readonly kind: 'call';
      readonly key: string;
      readonly tool: string;
      readonly input: string;
      readonly opaque?: JsonObject;
    };

export type StopReason = 'end' | 'calls' | 'length' | 'refusal' | 'pause';

/** Tokens of one model request as the provider counted them. `input` includes what was read from and written to its cache. */
export interface Usage {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

/** What of a transcript is sent to the model, by ids of entries. What is left out is read back with the tool `history`. */
export interface ContextView {
  /** The first entry that is sent; 0: from the first on. */
  readonly from: number;
  /** Messages older than that which are sent all the same, before the summary. */
  readonly kept: readonly number[];
  /** The entry whose text stands for what is before `from`; 0: none. */
  readonly summary: number;
  /** Results up to this entry are sent without their text. */
  readonly elided: number;
  /** Texts up to entry `cutTo` are sent with `cutBytes` bytes each. */
  readonly cutTo: number;
  readonly cutBytes: number;
  /** Reasoning up to this entry is not sent. */
  readonly plain: number;
}

/** Who a message comes from: a person, or an agent. */
export type Sender = 'person' | AgentId;

export type EntryBody =
  /** A message that a turn starts with, or that was steered or sent into one. */
  | {
      readonly kind: 'user';
      readonly from: Sender;
      readonly text: string;
      readonly delivery: 'turn' | 'steer' | 'message';
      /** The JSON Schema that the result of the turn must fit, when one was given; the model reads it behind the text. */
      readonly schema?: BlobId;
    }
  /** Outcomes of children, folded into one message. */
  | { readonly kind: 'notice'; readonly text: string; readonly outcomes: number }
  | {
      readonly kind: 'answer';
      readonly model: string;
      readonly blocks: readonly Block[];
      readonly stop: StopReason;
      readonly usage: Usage;
    }
  | {
      readonly kind: 'result';
      readonly call: CallId;
      readonly key: string;
      readonly tool: string;
      readonly status: 'ok' | 'error' | 'unknown' | 'interrupted';
      readonly text: string;
      /** The whole output, when `text` is only its head and tail. */
      readonly blob?: BlobId;
    }
  /** A rewind: what follows goes on behind the end of `turn`. The text is for the model, `outcomes` of children in it. */
  | { readonly kind: 'rewind'; readonly turn: TurnId; readonly text: string; readonly outcomes: number }
  /**
   * From here on the model is sent less of the transcript than there is; nothing of it is gone. `elided`: texts of old
   * results are left out. `compacted`: the model's own summary, `text`, stands for what was before. `trimmed`: the
   * oldest part is left out, because no summary could be had. `plain`: reasoning is left out that its provider does
   * not take back. `handed`: another model goes on, which cannot read the reasoning of the one before. `text` says it
   * in words; only a summary is sent to the model.
   */
  | {
      readonly kind: 'context';
      readonly how: 'elided' | 'compacted' | 'trimmed' | 'plain' | 'handed';
      readonly text: string;
      readonly view: ContextView;
      /** Bytes of the conversation as it was sent before, and as it is sent now. */
      readonly bytesBefore: number;
      readonly bytesAfter: number;
      /** Of the request for the summary. */
      readonly model?: string;
      readonly usage?: Usage;
    }
  /** What the runtime tells the model: that it restarted, that a call is unknown, that a budget is nearly spent. */
  | { readonly kind: 'note'; readonly text: string }
  /** How a turn ended. Not sent to the model. */
  | { readonly kind: 'end'; readonly outcome: Outcome; readonly text: string };

/** How a turn ended. `superseded`: a newer instruction replaced it before it ended. */
export type Outcome = 'done' | 'failed' | 'interrupted' | 'superseded';

/** A transcript row as clients see it. `atMs` is wall time, milliseconds since 1970. */
export interface Entry {
  readonly id: EntryId;
  readonly agent: AgentId;
  readonly turn: TurnId;
  readonly atMs: number;
  readonly body: EntryBody;
}
