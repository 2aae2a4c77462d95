// A list of rows of one height of which only those in view are elements. Elements are pooled: the one of row
// n is used again for row n + pool size, so scrolling by one row draws one row.

import { inNextFrame } from '../frames.ts';
import { limits } from '../limits.ts';
import {
  atRow,
  fitted,
  isCornered,
  revealing,
  rowTop,
  scrolledTo,
  scrollStart,
  seenRows,
  settled,
  spacerHeight,
} from '../rows.ts';
import type { Extent, Scroll } from '../rows.ts';

export interface RowListOptions {
  /** The element that scrolls. */
  readonly scroller: HTMLElement;
  /** Draws the row at an index into an element; called for every row in view, so it compares before it draws. */
  readonly draw: (element: HTMLElement, index: number) => void;
  /** The element is no longer a row until it is drawn again. */
  readonly erase: (element: HTMLElement) => void;
  /** Other rows are seen than before. */
  readonly moved: () => void;
}

/** Rows drawn beyond each edge, so that a fast wheel shows no gap before the next frame. */
const beyondRows = 6;

export class RowList {
  readonly #options: RowListOptions;
  readonly #spacer: HTMLElement;
  readonly #pool: HTMLElement[] = [];
  #scroll: Scroll = scrollStart;
  #total = 0;
  #viewPx = 0;

  constructor(options: RowListOptions) {
    this.#options = options;
    this.#spacer = document.createElement('div');
    this.#spacer.className = 'spacer';
    this.#spacer.setAttribute('role', 'none');
    options.scroller.append(this.#spacer);
    options.scroller.addEventListener('scroll', () => this.#scrolled(), { passive: true });
    options.scroller.addEventListener('scrollend', () => this.#scrollEnded(), { passive: true });
    new ResizeObserver(() => this.#resized()).observe(options.scroller);
    this.#viewPx = options.scroller.clientHeight;
  }

  get seen(): { readonly first: number; readonly count: number } {
    return seenRows(this.#scroll, this.#extent);
  }

  /** Rows that fit, at least one: how far a page key goes. */
  get pageRows(): number {
    return Math.max(1, Math.floor(this.#viewPx / limits.treeRowPx) - 1);
  }

  setTotal(total: number): void {
    if (total === this.#total) return;
    this.#total = total;
    this.#spacer.style.height = `${spacerHeight(this.#extent)}px`;
    this.#apply(fitted(this.#scroll, this.#extent));
    this.request();
  }

  /** Scrolls as little as needed to see a row. */
  reveal(row: number): void {
    this.#apply(revealing(row, this.#scroll, this.#extent));
    this.request();
  }

  showAtTop(row: number): void {
    this.#apply(atRow(row, this.#extent));
    this.request();
  }

  /** Scrolls by whole rows: keeps a row under the eye that has moved in the list. */
  shift(rows: number): void {
    const { first } = this.seen;
    const partPx = this.#scroll.physicalPx + this.#scroll.offsetPx - first * limits.treeRowPx;
    const to = atRow(first + rows, this.#extent);
    this.#apply({ physicalPx: to.physicalPx + partPx, offsetPx: to.offsetPx });
    this.request();
  }

  /** Draws in the next frame. */
  request(): void {
    inNextFrame(this.#drawRows);
  }

  readonly #drawRows = (): void => {
    const extent = this.#extent;
    const { first, count } = this.seen;
    const from = Math.max(0, first - beyondRows);
    const to = Math.min(this.#total, first + count + beyondRows);
    this.#resizePool(to - from);
    const size = this.#pool.length;
    for (let index = from; index < to; index += 1) {
      const element = this.#pool[index % size];
      if (element === undefined) continue;
      element.style.transform = `translateY(${rowTop(index, this.#scroll, extent)}px)`;
      element.hidden = false;
      this.#options.draw(element, index);
    }
    for (let rest = to - from; rest < size; rest += 1) {
      const element = this.#pool[(from + rest) % size];
      if (element === undefined || element.hidden) continue;
      element.hidden = true;
      this.#options.erase(element);
    }
  };

  get #extent(): Extent {
    return { total: this.#total, rowPx: limits.treeRowPx, viewPx: this.#viewPx, spacerPx: limits.spacerPx };
  }

  /** The pool only grows: to what the largest window of this view needs, about a hundred elements. */
  #resizePool(rows: number): void {
    if (rows <= this.#pool.length) return;
    while (this.#pool.length < rows) {
      const element = document.createElement('div');
      element.className = 'row';
      element.setAttribute('role', 'treeitem');
      element.hidden = true;
      this.#spacer.append(element);
      this.#pool.push(element);
    }
  }

  #scrolled(): void {
    const physicalPx = this.#options.scroller.scrollTop;
    if (physicalPx === this.#scroll.physicalPx) return;
    this.#scroll = scrolledTo(physicalPx, this.#scroll, this.#extent);
    if (isCornered(this.#scroll, this.#extent)) this.#apply(settled(this.#scroll, this.#extent));
    this.#options.moved();
    this.request();
  }

  #scrollEnded(): void {
    this.#apply(settled(this.#scroll, this.#extent));
    this.request();
  }

  #resized(): void {
    this.#viewPx = this.#options.scroller.clientHeight;
    this.#apply(fitted(this.#scroll, this.#extent));
    this.#options.moved();
    this.request();
  }

  /** Moves the browser's scroll position; what it rounds goes into the offset, so the rows stand where they should. */
  #apply(scroll: Scroll): void {
    const { scroller } = this.#options;
    const full = scroll.physicalPx + scroll.offsetPx;
    if (scroller.scrollTop !== scroll.physicalPx) scroller.scrollTop = scroll.physicalPx;
    const physicalPx = scroller.scrollTop;
    const isScaled = spacerHeight(this.#extent) < this.#total * limits.treeRowPx;
    const before = this.seen.first;
    this.#scroll = { physicalPx, offsetPx: isScaled ? full - physicalPx : 0 };
    if (this.seen.first !== before) this.#options.moved();
  }
}
