// The transcript as a model is sent it: pages read from the store while the request is written (I6), and what else
// reads transcripts by ids of entries. A fork's begins with the entries of the agent it came from, by reference.
//
// What of it is sent is said by its newest entry of kind `context` (core/context.ts).

import { HistoryCheck, itemOf, summaryItem, wholeView, type Sending } from '../core/context.ts';
import { must } from '../core/assert.ts';
import type { AgentRecord, EntryRecord, TurnRecord } from '../core/rows.ts';
import type { ContextView } from '../protocol/entry.ts';
import type { Item, Store } from '../ports.ts';
import { bodyOf } from './jobs.ts';
import { limits } from './limits.ts';
import { lineOf, ownerOf } from './line.ts';

type Transcript = Parameters<typeof lineOf>[1];

/** What is sent in place of the last entries: a request that is no round of the turn, over the same prefix. */
export interface Instead {
  /** The first entry that is not sent. */
  readonly tail: number;
  readonly item: Item;
}

/** What is sent of a conversation up to the agent's present head, a page at a time. */
export function pagesOf(
  store: Store,
  agent: AgentRecord,
  instead: Instead | null = null,
): () => () => readonly Item[] | null {
  // As it is now, and no more of it than that: what is in flight keeps it.
  const { id, head, stretch, forkAgent, forkEntry, forkStretch, context } = agent;
  const now = { id, head, stretch, forkAgent, forkEntry, forkStretch };
  const end = instead === null ? head : Math.min(head, instead.tail - 1);
  const last = instead?.item ?? null;
  return () => {
    const view = viewOf(store, context);
    const sending = sendingOf(store, view);
    const check = new HistoryCheck();
    const parts = lineOf(store, now)
      .map((part) => ({ ...part, upTo: Math.min(part.upTo, end) }))
      .filter((part) => view.from <= part.upTo && part.after < part.upTo);
    let phase: 'before' | 'entries' | 'last' | 'done' = context === 0 ? 'entries' : 'before';
    let part = 0;
    let after = Math.max(0, view.from - 1);
    return () => {
      if (phase === 'before') {
        phase = 'entries';
        const before = beforeEntries(store, view);
        if (before.length > 0) return before;
      }
      while (phase === 'entries') {
        const at = parts[part];
        if (at === undefined) {
          check.end();
          phase = 'last';
          continue;
        }
        const rows = store
          .range('entry.agent', [at.agent], { after: Math.max(after, at.after), limit: limits.pageEntries })
          .filter((row) => row.id <= at.upTo);
        const newest = rows.at(-1);
        if (newest === undefined) {
          part += 1;
          after = Math.max(0, view.from - 1);
          continue;
        }
        after = newest.id;
        const items = itemsOf(store, rows, { check, sending });
        if (items.length > 0) return items;
      }
      if (phase === 'done' || last === null) return null;
      phase = 'done';
      return [last];
    };
  };
}

/** The view that an entry of kind `context` holds; 0: all is sent. */
export function viewOf(store: Store, context: number): ContextView {
  if (context === 0) return wholeView;
  const body = bodyOf(store, entryIn(store, context));
  return body.kind === 'context' ? body.view : wholeView;
}

/** The newest entry of kind `context` of the transcript that ended with a turn; 0: none. */
export function contextAt(store: Store, turn: TurnRecord): number {
  const owner = must(ownerOf(store, turn.agent), 'a turn is of an agent, or of what is left of one', {
    turn: turn.id,
  });
  const line = lineOf(store, { ...owner, id: turn.agent, head: turn.last, stretch: turn.stretch });
  for (const part of line.reverse()) {
    const before = part.upTo + 1;
    const found = store.range('entry.context', [part.agent], { after: before, newest: true, limit: 1 })[0];
    if (found !== undefined && part.after < found.id) return found.id;
  }
  return 0;
}

export interface Back<T> {
  readonly before: number;
  readonly from: number;
  readonly limit: number;
  /** What is kept of each: a transcript of thousands of rows is not held with its texts. */
  readonly of: (row: EntryRecord) => T;
}

/** Entries of a transcript older than `before`, newest first, down to `from`, at most `limit`. */
export function entriesBack<T>(store: Store, agent: Transcript, back: Back<T>): readonly T[] {
  const all: T[] = [];
  for (const part of lineOf(store, agent).reverse()) {
    let before = Math.min(part.upTo + 1, back.before);
    while (all.length < back.limit) {
      const limit = Math.min(limits.slice, back.limit - all.length);
      const rows = store
        .range('entry.agent', [part.agent], { after: before, newest: true, limit })
        .filter((row) => back.from <= row.id && part.after < row.id);
      for (const row of rows) all.push(back.of(row));
      before = rows.at(-1)?.id ?? 0;
      if (rows.length < limit) break;
    }
  }
  return all;
}

/** An entry of this transcript; undefined when it is none, or one of somebody else. */
export function entryOf(store: Store, agent: Transcript, id: number): EntryRecord | undefined {
  const entry = store.get('entry', id);
  const isOwn = lineOf(store, agent).some(
    (part) => part.agent === entry?.agent && part.after < id && id <= part.upTo,
  );
  return isOwn ? entry : undefined;
}

export const entryIn = (store: Store, id: number): EntryRecord =>
  must(store.get('entry', id), 'an entry that is referred to exists', { id });

/** What is sent before the first entry of a view: messages that are kept, and the summary. */
function beforeEntries(store: Store, view: ContextView): Item[] {
  const items: Item[] = [];
  const sending = sendingOf(store, view);
  for (const id of view.kept) {
    const item = itemOf(id, bodyOf(store, entryIn(store, id)), sending);
    if (item !== null) items.push(item);
  }
  if (view.summary === 0) return items;
  const body = bodyOf(store, entryIn(store, view.summary));
  if (body.kind === 'context') items.push(summaryItem(body.text));
  return items;
}

/** The text of a result schema. */
export const schemaIn = (store: Store, blob: number): string =>
  must(store.blobText(blob), 'a result schema is in the store', { blob });

const sendingOf = (store: Store, view: ContextView): Sending => ({
  view,
  schemaText: (blob) => schemaIn(store, blob),
});

function itemsOf(
  store: Store,
  rows: readonly EntryRecord[],
  how: { readonly check: HistoryCheck; readonly sending: Sending },
): Item[] {
  const items: Item[] = [];
  for (const row of rows) {
    const item = itemOf(row.id, bodyOf(store, row), how.sending);
    if (item === null) continue;
    how.check.see(item);
    items.push(item);
  }
  return items;
}
