// What a dialect is: two pure halves. One turns the neutral conversation into the text of a request body, piece
// by piece, so that no body is ever whole in memory (I6); the other turns the events of a stream into deltas and
// an ending. Neither knows sockets, time or keys.
//
// Promises: the same request gives the same bytes; any split of a stream gives the same ending.

import type { ModelRequest } from '../ports.ts';
import type { Item, ToolSpec } from '../core/terms.ts';
import type { Block, StopReason, Usage } from '../protocol/entry.ts';
import type { Json, JsonObject } from '../protocol/json.ts';
import type { KeyHeader } from '../protocol/settings.ts';
import { isTooDeep } from '../core/answer.ts';
import { wellFormed } from '../core/text.ts';

/** Where a request goes, as far as its text depends on it. */
export interface Target {
  /** Name of the provider: what stands before the slash. Signed reasoning goes back only to the same one. */
  readonly provider: string;
  /** The model's name as its provider knows it: what stands after the first slash. */
  readonly model: string;
  /** Host of the base URL, for the habits of known servers. */
  readonly host: string;
}

/** The next piece of a body, about a page long; null after the last. */
export type Pieces = () => string | null;

/** One event of a stream: its type where the server names one, and its data. */
export interface StreamEvent {
  readonly type: string;
  readonly data: string;
}

/** How a stream ended, before it is judged. */
export type Ending =
  /** `usage` is null when the server never told it. */
  | {
      readonly kind: 'answer';
      readonly blocks: readonly Block[];
      readonly stop: StopReason;
      readonly usage: Usage | null;
    }
  /** The server says inside the stream that it failed; refusal.ts judges what that means. */
  | { readonly kind: 'error'; readonly error: Json }
  /** What came is no answer of this dialect, or has no end. */
  | { readonly kind: 'broken'; readonly message: string };

export type Step =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'thinking'; readonly text: string }
  | { readonly kind: 'end'; readonly ending: Ending };

/** Reads one answer. After an `end` nothing more is fed to it. */
export interface Decoder {
  take(event: StreamEvent): readonly Step[];
  /** The body was one JSON value and no stream (case 171). */
  whole(value: JsonObject): Ending;
  /** The connection ended and no event had said that the answer did. */
  end(): Ending;
}

/** Where a key goes, as far as its header depends on it. */
export interface KeyPlace {
  readonly host: string;
  /** As the provider's setting says; null: the host and the dialect tell. */
  readonly header: KeyHeader | null;
}

export interface Dialect {
  /** What follows the base URL, with a query of its own where it has one. */
  path(model: string): string;
  headers(key: string | null, place: KeyPlace): Record<string, string>;
  /** Of the list of models, below the base URL. */
  readonly listPath: string;
  encode(request: ModelRequest, target: Target): Pieces;
  decoder(target: Target): Decoder;
}

export const nothing: readonly Step[] = [];

export const broken = (message: string): Ending => ({ kind: 'broken', message });

// ---------------------------------------------------------------- writing

/** Writes the items of a conversation one after another. Returns text that is ready; `end` returns the rest. */
export interface ItemWriter {
  take(item: Item): string;
  end(): string;
}

/** A body: its head, its items page by page, its tail. */
export function pieces(head: string, request: ModelRequest, writer: ItemWriter, tail: string): Pieces {
  const next = request.pages();
  const settled = new Settled();
  let phase: 'head' | 'items' | 'done' = 'head';
  return () => {
    if (phase === 'done') return null;
    if (phase === 'head') {
      phase = 'items';
      return head;
    }
    const page = next();
    let text = '';
    if (page === null) {
      phase = 'done';
      for (const item of settled.end()) text += writer.take(item);
      return text + writer.end() + tail;
    }
    for (const item of page) for (const each of settled.take(item)) text += writer.take(each);
    return text;
  };
}

/**
 * Keeps a conversation acceptable whatever its history went through: what a person said while calls were open
 * goes behind their results, a call without a result gets one, a result without a call is left out. Providers
 * answer 400 to each of these, for ever (case 99). Nothing changes in a conversation that is in order.
 */
export class Settled {
  private readonly open = new Map<string, string>();
  private held: Item[] = [];

  take(item: Item): readonly Item[] {
    if (item.kind === 'answer') {
      const before = this.end();
      for (const block of item.blocks) if (block.kind === 'call') this.open.set(block.key, block.tool);
      return before.length === 0 ? [item] : [...before, item];
    }
    if (item.kind === 'user') {
      if (this.open.size === 0) return [item];
      this.held.push(item);
      return [];
    }
    if (!this.open.delete(item.key)) return [];
    return this.open.size === 0 && this.held.length > 0 ? [item, ...this.end()] : [item];
  }

  end(): Item[] {
    const items: Item[] = [];
    for (const [key, tool] of this.open) {
      items.push({
        kind: 'result',
        key,
        tool,
        ok: false,
        text: 'There is no result: the call did not run to its end.',
      });
    }
    items.push(...this.held);
    this.open.clear();
    this.held = [];
    return items;
  }
}

/**
 * The arguments of a call as an object: what no server can read back (cut off, no object, nested without end) is
 * wrapped, because a history that holds it as it is would be refused for ever. Escaped halves of surrogate pairs
 * are replaced.
 */
export function callInput(raw: string): JsonObject {
  if (raw.trim() === '') return {};
  if (isTooDeep(raw)) return { invalid_json: raw };
  try {
    const value: Json = JSON.parse(raw, /\\u[dD][89a-fA-F]/.test(raw) ? reviveWellFormed : undefined);
    if (isObject(value)) return value;
  } catch {
    // Falls through: it is kept as text.
  }
  return { invalid_json: raw };
}

function reviveWellFormed(_key: string, value: Json): Json {
  if (typeof value === 'string') return wellFormed(value);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, held]) => [wellFormed(key), held]));
}

/**
 * Blocks of an answer without reasoning at its end: an answer that was cut while the model thought. Providers
 * refuse reasoning that nothing follows.
 */
export function withoutOpenThought(blocks: readonly Block[]): readonly Block[] {
  const last = blocks.findLastIndex(
    (block) => block.kind === 'call' || (block.kind === 'text' && block.text.trim() !== ''),
  );
  return last === blocks.length - 1 ? blocks : blocks.slice(0, last + 1);
}

/** JSON of the tools in a dialect's form, made once for each list: all agents of a profile share the array. */
export function toolsText(
  cache: WeakMap<readonly ToolSpec[], string>,
  tools: readonly ToolSpec[],
  form: (tool: ToolSpec, last: boolean) => object,
): string {
  const known = cache.get(tools);
  if (known !== undefined) return known;
  const text = JSON.stringify(tools.map((tool, index) => form(tool, index === tools.length - 1)));
  cache.set(tools, text);
  return text;
}

/** Whether an answer was written by the very model that the request goes to. */
export const fromModel = (model: string, target: Target): boolean =>
  model === `${target.provider}/${target.model}`;

// ---------------------------------------------------------------- reading

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** An object of what should be one; {} when it is not. */
export const objectOf = (value: Json | undefined): JsonObject => (isObject(value) ? value : {});
export const listOf = (value: Json | undefined): readonly Json[] => (isList(value) ? value : []);
export const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '');
export const countOf = (value: Json | undefined): number =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.round(value) : 0;

// Array.isArray does not narrow readonly arrays out of a union.
const isList = (value: Json | undefined): value is readonly Json[] => Array.isArray(value);

/** Data of an event as an object; null when it is none. */
export function parseObject(data: string): JsonObject | null {
  try {
    const value: Json = JSON.parse(data);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
