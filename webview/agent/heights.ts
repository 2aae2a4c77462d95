// Where items of unequal heights stand: measured where they have been seen, estimated elsewhere. Pure.
// The list is bounded to a few hundred items, so sums over all of them cost microseconds.

export interface Layout {
  /** Top of each item, and as last element the height of all. */
  readonly tops: readonly number[];
  readonly totalPx: number;
}

export class Heights {
  readonly #measured = new Map<string, number>();

  /** Takes a measured height; true when it differs from what was known by more than rounding. */
  measure(key: string, px: number): boolean {
    const before = this.#measured.get(key);
    this.#measured.set(key, px);
    return before === undefined || 0.5 < Math.abs(before - px);
  }

  layout<Item extends { readonly key: string }>(
    items: readonly Item[],
    estimate: (item: Item) => number,
  ): Layout {
    const tops: number[] = [0];
    let totalPx = 0;
    for (const item of items) {
      totalPx += this.#measured.get(item.key) ?? estimate(item);
      tops.push(totalPx);
    }
    return { tops, totalPx };
  }

  /** Forgets items that are no longer loaded, once they outnumber those that are. */
  prune(items: readonly { readonly key: string }[]): void {
    if (this.#measured.size <= 2 * items.length + 100) return;
    const loaded = new Set(items.map((item) => item.key));
    for (const key of this.#measured.keys()) if (!loaded.has(key)) this.#measured.delete(key);
  }

  /** Forgets everything: at another width nothing is as high as it was. */
  clear(): void {
    this.#measured.clear();
  }

  get size(): number {
    return this.#measured.size;
  }
}

/** The item at a height, by halving; the first above, the last below. */
export function itemAt(layout: Layout, px: number): number {
  let low = 0;
  let high = Math.max(0, layout.tops.length - 2);
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((layout.tops[middle] ?? 0) <= px) low = middle;
    else high = middle - 1;
  }
  return low;
}
