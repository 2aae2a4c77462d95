// What the person has opened in one agent's transcript, how much of it is shown, and outputs that were loaded
// whole. Belongs to the panel of one agent and goes with it (case 11); bounded by what is loaded.

import type { BlobId } from '../../sidecar/protocol/ids.ts';
import type { Bridge } from '../bridge.ts';
import { limits } from '../limits.ts';

export interface LoadedBlob {
  readonly text: string;
  /** Where the next read starts; null when all is here. */
  readonly next: number | null;
  readonly totalBytes: number;
  readonly state: 'loading' | 'here' | 'failed' | 'bound';
  readonly message: string;
}

const unread: LoadedBlob = { text: '', next: 0, totalBytes: 0, state: 'loading', message: '' };

export class Folds {
  readonly #bridge: Bridge;
  readonly #changed: () => void;
  readonly #open = new Set<string>();
  readonly #shownChars = new Map<string, number>();
  readonly #blobs = new Map<string, LoadedBlob>();

  constructor(bridge: Bridge, changed: () => void) {
    this.#bridge = bridge;
    this.#changed = changed;
  }

  isOpen(key: string): boolean {
    return this.#open.has(key);
  }

  toggle(key: string): void {
    if (this.#open.has(key)) this.#forget(key);
    else this.#open.add(key);
    this.#changed();
  }

  /** Characters of a long text that are drawn. */
  shownChars(key: string): number {
    return this.#shownChars.get(key) ?? limits.outputChars;
  }

  showMore(key: string, chars: number = limits.outputChars): void {
    this.#shownChars.set(key, this.shownChars(key) + chars);
    this.#changed();
  }

  blob(key: string): LoadedBlob | undefined {
    return this.#blobs.get(key);
  }

  /** Reads the first or the next page of an output that is kept as a blob. */
  async loadBlob(key: string, blob: BlobId): Promise<void> {
    const before = this.#blobs.get(key) ?? unread;
    if ((before.state === 'loading' && this.#blobs.has(key)) || before.next === null) return;
    this.#put(key, { ...before, state: 'loading' });
    const answer = await this.#bridge.call('blob/read', {
      blob,
      offset: before.next,
      limit: limits.blobPageBytes,
    });
    if (!this.#blobs.has(key)) return; // folded meanwhile
    if (!answer.ok) {
      this.#put(key, { ...before, state: 'failed', message: answer.message });
      return;
    }
    const { result } = answer;
    const text = before.text + result.text;
    const full = limits.blobChars <= text.length && result.nextOffset !== null;
    this.#shownChars.set(outputPart(key), text.length); // asked for page by page, so all of it is shown
    this.#put(key, {
      text,
      next: result.nextOffset,
      totalBytes: result.totalBytes,
      state: full ? 'bound' : 'here',
      message: '',
    });
  }

  /** Forgets what belongs to items that are no longer loaded. */
  keepOnly(keys: ReadonlySet<string>): void {
    for (const map of [this.#shownChars, this.#blobs]) {
      for (const key of map.keys()) if (!keys.has(itemKey(key))) map.delete(key);
    }
    for (const key of this.#open) if (!keys.has(itemKey(key))) this.#open.delete(key);
  }

  #put(key: string, blob: LoadedBlob): void {
    this.#blobs.set(key, blob);
    this.#changed();
  }

  /** What is folded again is forgotten with all its parts, so that an output loaded whole does not stay. */
  #forget(key: string): void {
    this.#open.delete(key);
    for (const map of [this.#shownChars, this.#blobs]) {
      for (const part of map.keys()) if (itemKey(part) === key) map.delete(part);
    }
  }
}

/** The part of a call's item that is its output. */
export function outputPart(key: string): string {
  return `${key}/out`;
}

/** Parts of an item are named `item/part`. */
function itemKey(key: string): string {
  return key.split('/')[0] ?? key;
}
