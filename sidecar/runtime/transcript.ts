// The transcript as a model is sent it: pages read from the store while the request is written (I6).

import { must } from '../core/assert.ts';
import { HistoryCheck, itemOf } from '../core/context.ts';
import type { AgentRecord, EntryRecord } from '../core/rows.ts';
import type { Item, Store } from '../ports.ts';
import { bodyOf } from './jobs.ts';
import { limits } from './limits.ts';

/** Entries up to the agent's present head, a page at a time; its own after those of the agents it was forked from. */
export function pagesOf(store: Store, agent: AgentRecord): () => () => readonly Item[] | null {
  const { id, head, forkAgent, forkEntry } = agent;
  return () => {
    const check = new HistoryCheck();
    const parts = lineOf(store, { agent: id, upTo: head }, { agent: forkAgent, upTo: forkEntry });
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
          .range('entry.agent', [at.agent], { after, limit: limits.pageEntries })
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

interface Part {
  readonly agent: number;
  readonly upTo: number;
}

/** The agents whose entries make up a transcript, oldest first: a fork shares its prefix by reference. */
function lineOf(store: Store, own: Part, prefix: Part): Part[] {
  const parts = [own];
  let at = prefix;
  while (at.agent !== 0) {
    parts.unshift(at);
    const owner = store.get('agent', at.agent);
    at = { agent: owner?.forkAgent ?? 0, upTo: owner?.forkEntry ?? 0 };
  }
  return parts;
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
