// From entries to what is drawn: one item for a message, a paragraph of an answer, a call with its result, a
// request. Pure. A call and its result are two entries far apart and one item.

import type { Entry, EntryBody, Outcome, Sender, StopReason } from '../../sidecar/protocol/entry.ts';
import type { RequestRow } from '../../sidecar/protocol/request.ts';
import type { OpenCall, TranscriptState } from '../../sidecar/protocol/transcript.ts';

type ContextBody = Extract<EntryBody, { kind: 'context' }>;

export type ResultBody = Extract<EntryBody, { kind: 'result' }>;

export type Item = { readonly key: string; readonly atMs: number } & (
  | {
      readonly kind: 'user';
      readonly from: Sender;
      readonly text: string;
      readonly delivery: 'turn' | 'steer' | 'message';
    }
  | { readonly kind: 'text'; readonly text: string; readonly live: boolean }
  | { readonly kind: 'thinking'; readonly text: string; readonly live: boolean }
  | CallFacts
  | { readonly kind: 'notice'; readonly text: string; readonly outcomes: number }
  | { readonly kind: 'note'; readonly text: string }
  | {
      readonly kind: 'context';
      readonly how: ContextBody['how'];
      readonly text: string;
      readonly bytesBefore: number;
      readonly bytesAfter: number;
    }
  | { readonly kind: 'stop'; readonly stop: StopReason }
  | { readonly kind: 'end'; readonly outcome: Outcome; readonly text: string }
  | { readonly kind: 'request'; readonly request: RequestRow }
  /** The model is asked and has not said anything yet. */
  | { readonly kind: 'asking' }
);

interface CallFacts {
  readonly kind: 'call';
  readonly tool: string;
  /** The provider's id of the call, by which a result is matched. */
  readonly call: string;
  /** Raw JSON that the model wrote; null when the answer that asked for it is not loaded. */
  readonly input: string | null;
  readonly result: ResultBody | null;
  readonly open: OpenCall | null;
}

export type CallItem = Extract<Item, { kind: 'call' }>;

/** Items of stored entries. */
export function itemsOf(entries: readonly Entry[]): readonly Item[] {
  const items: Item[] = [];
  /** Where calls without a result stand. A provider may use an id again in a later answer; the newest counts. */
  const open = new Map<string, number>();
  for (const entry of entries) {
    if (entry.body.kind === 'result') placeResult(items, open, entry, entry.body);
    else if (entry.body.kind === 'answer') placeAnswer(items, open, entry, entry.body);
    else items.push(itemOf(entry, entry.body));
  }
  return items;
}

/** The items with what is going on right now: running calls, the answer being received, requests. */
export function withLive(items: readonly Item[], state: TranscriptState): readonly Item[] {
  const calls = new Map(state.calls.map((call) => [call.key, call]));
  const requests = state.requests.filter((request) => request.state === 'open');
  const placed = new Set<RequestRow>();
  const all: Item[] = [];
  for (const item of items) {
    const open = item.kind === 'call' && item.result === null ? calls.get(item.call) : undefined;
    if (item.kind !== 'call' || open === undefined) {
      all.push(item);
      continue;
    }
    calls.delete(item.call);
    all.push({ ...item, open });
    for (const request of requests.filter((each) => each.call === open.call)) {
      placed.add(request);
      all.push(requestItem(request));
    }
  }
  return [
    ...all,
    ...liveEnd(state),
    ...unplaced(calls),
    ...requests.filter((each) => !placed.has(each)).map(requestItem),
  ];
}

function liveEnd(state: TranscriptState): readonly Item[] {
  const items: Item[] = [];
  const atMs = state.agent.sinceMs;
  if (state.thinking !== '') {
    items.push({
      key: 'live.thinking',
      atMs,
      kind: 'thinking',
      text: state.thinking,
      live: state.streaming === '',
    });
  }
  if (state.streaming !== '')
    items.push({ key: 'live.text', atMs, kind: 'text', text: state.streaming, live: true });
  if (items.length === 0 && state.agent.phase === 'asking')
    items.push({ key: 'live.asking', atMs, kind: 'asking' });
  return items;
}

/** Calls whose answer is not stored yet, or lies in a page that is not loaded. */
function unplaced(calls: ReadonlyMap<string, OpenCall>): readonly Item[] {
  return [...calls.values()].map((open) => ({
    key: `open.${open.call}`,
    atMs: 0,
    kind: 'call',
    tool: open.tool,
    call: open.key,
    input: null,
    result: null,
    open,
  }));
}

function requestItem(request: RequestRow): Item {
  return { key: `request.${request.id}`, atMs: request.atMs, kind: 'request', request };
}

function placeAnswer(
  items: Item[],
  open: Map<string, number>,
  entry: Entry,
  body: Extract<EntryBody, { kind: 'answer' }>,
): void {
  body.blocks.forEach((block, index) => {
    const base = { key: `${entry.id}.${index}`, atMs: entry.atMs };
    if (block.kind === 'call') {
      open.set(block.key, items.length);
      items.push({
        ...base,
        kind: 'call',
        tool: block.tool,
        call: block.key,
        input: block.input,
        result: null,
        open: null,
      });
    } else if (block.text.trim() !== '') {
      items.push({ ...base, kind: block.kind, text: block.text, live: false });
    }
  });
  if (body.stop === 'length' || body.stop === 'refusal') {
    items.push({ key: `${entry.id}.stop`, atMs: entry.atMs, kind: 'stop', stop: body.stop });
  }
}

function placeResult(items: Item[], open: Map<string, number>, entry: Entry, body: ResultBody): void {
  const at = open.get(body.key);
  const call = at === undefined ? undefined : items[at];
  if (at === undefined || call === undefined || call.kind !== 'call') {
    items.push({
      key: String(entry.id),
      atMs: entry.atMs,
      kind: 'call',
      tool: body.tool,
      call: body.key,
      input: null,
      result: body,
      open: null,
    });
    return;
  }
  open.delete(body.key);
  items[at] = { ...call, result: body };
}

type SimpleBody = Exclude<EntryBody, { kind: 'answer' } | { kind: 'result' }>;

function itemOf(entry: Entry, body: SimpleBody): Item {
  const base = { key: String(entry.id), atMs: entry.atMs };
  switch (body.kind) {
    case 'user':
      return { ...base, kind: 'user', from: body.from, text: body.text, delivery: body.delivery };
    case 'notice':
      return { ...base, kind: 'notice', text: body.text, outcomes: body.outcomes };
    case 'note':
    case 'rewind':
      return { ...base, kind: 'note', text: body.text };
    case 'context': {
      const { how, text, bytesBefore, bytesAfter } = body;
      return { ...base, kind: 'context', how, text, bytesBefore, bytesAfter };
    }
    case 'end':
      return { ...base, kind: 'end', outcome: body.outcome, text: body.text };
  }
}
