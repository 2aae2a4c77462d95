// The transcript as a model is sent it: pages read from the store while the request is written (I6).

import { must } from '../core/assert.ts';
import { HistoryCheck, itemOf } from '../core/context.ts';
import type { AgentRecord, EntryRecord } from '../core/rows.ts';
import type { Item, Store } from '../ports.ts';
import { bodyOf } from './jobs.ts';
import { limits } from './limits.ts';
import { lineOf } from './line.ts';

/** Entries up to the agent's present head, a page at a time, along the line of its transcript. */
export function pagesOf(store: Store, agent: AgentRecord): () => () => readonly Item[] | null {
  // As it is now, and no more of it than that: what is in flight keeps it.
  const { id, head, stretch, forkAgent, forkEntry, forkStretch } = agent;
  const now = { id, head, stretch, forkAgent, forkEntry, forkStretch };
  return () => {
    const check = new HistoryCheck();
    const parts = lineOf(store, now);
    let part = 0;
    let after = 0;
    return () => {
      for (;;) {
        const at = parts[part];
        if (at === undefined) {
          check.end();
          return null;
        }
        const rows = store
          .range('entry.agent', [at.agent], { after: Math.max(after, at.after), limit: limits.pageEntries })
          .filter((row) => row.id <= at.upTo);
        const last = rows.at(-1);
        if (last === undefined) {
          part += 1;
          after = 0;
          continue;
        }
        after = last.id;
        const items = itemsOf(store, rows, check);
        if (items.length > 0) return items;
      }
    };
  };
}

/** The text of a result schema. */
export const schemaIn = (store: Store, blob: number): string =>
  must(store.blobText(blob), 'a result schema is in the store', { blob });

function itemsOf(store: Store, rows: readonly EntryRecord[], check: HistoryCheck): Item[] {
  const items: Item[] = [];
  for (const row of rows) {
    const item = itemOf(bodyOf(store, row), (blob) => schemaIn(store, blob));
    if (item === null) continue;
    check.see(item);
    items.push(item);
  }
  return items;
}
