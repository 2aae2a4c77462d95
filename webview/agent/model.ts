// What the panel of one agent knows: the live end from channel `agent`, and a stretch of entries that reaches
// back from it as far as the person has scrolled. The stretch is bounded; what falls off one end is paged
// again when it is wanted (cases 9, 10, 11). No DOM.
//
// The stretch has no holes: entries join it only when nothing can be missing between them and it.

import type { Entry } from '../../sidecar/protocol/entry.ts';
import type { EntryId } from '../../sidecar/protocol/ids.ts';
import type { TranscriptState } from '../../sidecar/protocol/transcript.ts';
import { limits } from '../limits.ts';

export type PageEnd = 'before' | 'after';

export interface Page {
  readonly entries: readonly Entry[];
  readonly more: boolean;
}

export class TranscriptModel {
  #state: TranscriptState | null = null;
  #loaded: readonly Entry[] = [];
  #before = false;
  #after = false;

  get state(): TranscriptState | null {
    return this.#state;
  }
  /** Ascending, without holes. */
  get entries(): readonly Entry[] {
    return this.#loaded;
  }
  /** There are older entries than the first one here. */
  get hasBefore(): boolean {
    return this.#before;
  }
  /** There are newer entries than the last one here: the stretch does not reach the live end. */
  get hasAfter(): boolean {
    return this.#after;
  }

  /** Takes the live end. `atEnd`: the person looks at the end, so older entries are let go rather than newer ones. */
  take(state: TranscriptState, atEnd: boolean): void {
    this.#state = state;
    if (this.#loaded.length === 0) return this.toLatest();
    if (this.#after) return;
    const joined = join(this.#loaded, state.entries, state.older);
    if (joined === null) {
      if (atEnd) this.toLatest();
      else this.#after = true;
      return;
    }
    this.#loaded = joined;
    if (atEnd) this.#letGo('before');
    else this.#letGo('after');
  }

  /** Forgets what was paged and shows the live end. */
  toLatest(): void {
    this.#loaded = this.#state?.entries ?? [];
    this.#before = this.#state?.older ?? false;
    this.#after = false;
    this.#letGo('before');
  }

  /** The entry to page from; null when there is nothing more at that end. */
  pageFrom(end: PageEnd): EntryId | null {
    const entry = end === 'before' ? this.#loaded[0] : this.#loaded.at(-1);
    const has = end === 'before' ? this.#before : this.#after;
    return has ? (entry?.id ?? null) : null;
  }

  /** Adds a page that was asked for from `from`; a page for a stretch that has moved on meanwhile is dropped. */
  addPage(end: PageEnd, from: EntryId, page: Page): void {
    if (this.pageFrom(end) !== from) return;
    if (end === 'before') {
      this.#loaded = [...page.entries.filter((entry) => entry.id < from), ...this.#loaded];
      this.#before = page.more;
      this.#letGo('after');
      return;
    }
    this.#loaded = [...this.#loaded, ...page.entries.filter((entry) => from < entry.id)];
    this.#after = page.more;
    const joined = join(this.#loaded, this.#state?.entries ?? [], this.#state?.older ?? false);
    if (joined !== null) {
      this.#loaded = joined;
      this.#after = false;
    }
    this.#letGo('before');
  }

  /** Shows another stretch instead, which ends at some entry far from the live end. */
  jump(page: Page): void {
    if (page.entries.length === 0) return;
    this.#loaded = page.entries;
    this.#before = page.more;
    this.#after = true;
    const joined = join(page.entries, this.#state?.entries ?? [], this.#state?.older ?? false);
    if (joined === null) return;
    this.#loaded = joined;
    this.#after = false;
  }

  /** Drops entries from one end until the rest is within bounds. */
  #letGo(end: PageEnd): void {
    const ordered = end === 'before' ? this.#loaded.toReversed() : this.#loaded;
    let chars = 0;
    let keep = 0;
    for (const entry of ordered) {
      chars += entryChars(entry);
      if (limits.loadedEntries <= keep || (limits.loadedChars < chars && 0 < keep)) break;
      keep += 1;
    }
    if (keep === ordered.length) return;
    this.#loaded = end === 'before' ? this.#loaded.slice(-keep) : this.#loaded.slice(0, keep);
    if (end === 'before') this.#before = true;
    else this.#after = true;
  }
}

/** The stretch with the tail's newer entries; null when entries may be missing between the two. */
function join(loaded: readonly Entry[], tail: readonly Entry[], older: boolean): readonly Entry[] | null {
  const last = loaded.at(-1)?.id ?? 0;
  const first = tail[0]?.id;
  if (first === undefined) return loaded;
  if (last < first && older) return null;
  const fresh = tail.filter((entry) => last < entry.id);
  return fresh.length === 0 ? loaded : [...loaded, ...fresh];
}

const sizes = new WeakMap<Entry, number>();

function entryChars(entry: Entry): number {
  const known = sizes.get(entry);
  if (known !== undefined) return known;
  const { body } = entry;
  const chars =
    body.kind === 'answer'
      ? body.blocks.reduce((sum, block) => sum + (block.kind === 'call' ? block.input : block.text).length, 0)
      : body.text.length;
  sizes.set(entry, chars);
  return chars;
}
