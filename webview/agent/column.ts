// The scrolling column of the transcript: only items near the view are elements (case 10). It keeps still what
// the person reads while things above and below change their height, and follows the end only while the
// person is at the end.
//
// The browser's own scroll anchoring is off: it cannot know items that are not there.

import { html, render } from 'lit-html';
import { repeat } from 'lit-html/directives/repeat.js';
import { inNextFrame } from '../frames.ts';
import { limits } from '../limits.ts';
import { Heights, itemAt } from './heights.ts';
import type { Layout } from './heights.ts';

export interface ColumnOptions<Item> {
  readonly scroller: HTMLElement;
  readonly draw: (item: Item) => unknown;
  /** A guess at the height of an item that was never seen, in pixels, for a column of this width. */
  readonly estimate: (item: Item, widthPx: number) => number;
  /** After a scroll or a draw: the place to ask for more. */
  readonly moved: () => void;
}

type Anchor = { readonly key: string; readonly offsetPx: number };

/** A pixel or two of rounding still counts as the end. */
const endSlackPx = 4;

export class Column<Item extends { readonly key: string }> {
  readonly #options: ColumnOptions<Item>;
  readonly #heights = new Heights();
  readonly #above = pad('pad');
  readonly #body = pad('items');
  readonly #below = pad('pad');
  readonly #resize = new ResizeObserver(() => this.#resized());
  #items: readonly Item[] = [];
  #layout: Layout = { tops: [0], totalPx: 0 };
  #anchor: Anchor | null = null;
  #pinned = true;
  #reachesEnd = true;
  /** Held at the end: followed again if the end is still in view after the next draw. */
  #held = false;
  #widthPx = 0;
  #setTopPx = -1;
  /** Items that are elements right now. */
  #shown = { first: 0, last: -1 };
  #closed = false;

  constructor(options: ColumnOptions<Item>) {
    this.#options = options;
    const { scroller } = options;
    scroller.append(this.#above, this.#body, this.#below);
    scroller.addEventListener('scroll', this.#scrolled, { passive: true });
    scroller.addEventListener('wheel', this.#wheeled, { passive: true });
    this.#resize.observe(scroller);
    this.#resize.observe(this.#body);
    this.#widthPx = scroller.clientWidth;
  }

  /** The end is in view, and stays in view as it grows. */
  get pinned(): boolean {
    return this.#pinned;
  }
  /** Pixels from the view to the first and past the last loaded item. */
  get room(): { readonly abovePx: number; readonly belowPx: number } {
    const { scrollTop, scrollHeight, clientHeight } = this.#options.scroller;
    return { abovePx: scrollTop, belowPx: scrollHeight - scrollTop - clientHeight };
  }

  /**
   * Draws these items from now on, at once: to be called inside a frame. `toEnd`: their last is the live end;
   * the end of anything less is not followed, or each page that comes would drag the person along.
   */
  setItems(items: readonly Item[], toEnd: boolean): void {
    this.#reachesEnd = toEnd;
    if (!toEnd && this.#pinned) {
      this.#takeAnchor();
      this.#pinned = false;
    }
    this.#items = items;
    this.#heights.prune(items);
    this.#draw();
  }

  /** Draws in the next frame. */
  request(): void {
    if (!this.#closed) inNextFrame(this.#draw);
  }

  /** Keeps what is seen where it is, even at the end: something is about to open under the person's pointer. */
  hold(): void {
    if (!this.#pinned) return;
    this.#takeAnchor();
    this.#pinned = false;
    this.#held = true;
  }

  toEnd(): void {
    this.#pinned = true;
    this.#anchor = null;
    this.request();
  }

  /** Scrolls the last item that matches to the upper third of the view. False when none does. */
  reveal(matches: (item: Item) => boolean): boolean {
    const item = this.#items.findLast(matches);
    if (item === undefined) return false;
    this.#pinned = false;
    this.#anchor = { key: item.key, offsetPx: this.#options.scroller.clientHeight / 3 };
    this.request();
    return true;
  }

  close(): void {
    this.#closed = true;
    this.#resize.disconnect();
    this.#options.scroller.removeEventListener('scroll', this.#scrolled);
    this.#options.scroller.removeEventListener('wheel', this.#wheeled);
    render(html``, this.#body);
  }

  readonly #draw = (): void => {
    if (this.#closed) return;
    const { scroller } = this.#options;
    this.#relayout();
    const topPx = this.#targetTop();
    const first = itemAt(this.#layout, topPx - limits.overscanPx);
    const last = Math.min(
      this.#items.length - 1,
      itemAt(this.#layout, topPx + scroller.clientHeight + limits.overscanPx),
    );
    const hadFocus = this.#body.contains(document.activeElement);
    const shown = this.#items.slice(first, last + 1);
    render(
      repeat(
        shown,
        (item) => item.key,
        (item) => html`<div class="item" data-key=${item.key}>${this.#options.draw(item)}</div>`,
      ),
      this.#body,
    );
    this.#above.style.height = `${this.#layout.tops[first] ?? 0}px`;
    this.#below.style.height = `${this.#layout.totalPx - (this.#layout.tops[last + 1] ?? 0)}px`;
    this.#shown = { first, last };
    this.#settle();
    if (hadFocus && document.activeElement === document.body) scroller.focus({ preventScroll: true });
    this.#options.moved();
  };

  /** Measures what was drawn, and puts the view back to where it should be with the true heights. */
  #settle(): void {
    const { first, last } = this.#shown;
    const changed = this.#measure();
    if (changed) {
      this.#relayout();
      this.#above.style.height = `${this.#layout.tops[first] ?? 0}px`;
      this.#below.style.height = `${this.#layout.totalPx - (this.#layout.tops[last + 1] ?? 0)}px`;
    }
    const topPx = this.#targetTop();
    this.#scrollTo(topPx);
    const { scroller } = this.#options;
    const drawnTop = this.#layout.tops[first] ?? 0;
    const drawnBottom = this.#layout.tops[last + 1] ?? 0;
    const short =
      (topPx < drawnTop && 0 < first) ||
      (drawnBottom < topPx + scroller.clientHeight && last + 1 < this.#items.length);
    if (this.#held && !short) {
      this.#held = false;
      this.#pinned = this.#reachesEnd && this.room.belowPx <= endSlackPx;
    }
    if (short) this.request();
    else if (this.#anchor === null && !this.#pinned) this.#takeAnchor();
  }

  #measure(): boolean {
    let changed = false;
    for (const element of this.#body.children) {
      if (!(element instanceof HTMLElement)) continue;
      const { key } = element.dataset;
      if (key !== undefined && this.#heights.measure(key, element.getBoundingClientRect().height))
        changed = true;
    }
    return changed;
  }

  #relayout(): void {
    this.#layout = this.#heights.layout(this.#items, (item) => this.#options.estimate(item, this.#widthPx));
  }

  /** Where the view belongs: at the end when pinned, else where the item it is anchored to stands. */
  #targetTop(): number {
    const { scroller } = this.#options;
    const endPx = Math.max(0, this.#layout.totalPx - scroller.clientHeight);
    if (this.#pinned) return endPx;
    const anchor = this.#anchor;
    const index = anchor === null ? -1 : this.#items.findIndex((item) => item.key === anchor.key);
    if (anchor === null || index < 0) return Math.min(scroller.scrollTop, endPx);
    return Math.min(Math.max(0, (this.#layout.tops[index] ?? 0) - anchor.offsetPx), endPx);
  }

  #scrollTo(topPx: number): void {
    const { scroller } = this.#options;
    if (0.5 < Math.abs(scroller.scrollTop - topPx)) scroller.scrollTop = topPx;
    this.#setTopPx = scroller.scrollTop;
  }

  readonly #scrolled = (): void => {
    const { scroller } = this.#options;
    if (Math.abs(scroller.scrollTop - this.#setTopPx) < 1) return; // our own
    this.#setTopPx = scroller.scrollTop;
    this.#pinned = this.#reachesEnd && this.room.belowPx <= endSlackPx;
    this.#takeAnchor();
    this.request();
  };

  /** A wheel turned back lets go of the end at once: the scroll that follows may lose against a growing answer. */
  readonly #wheeled = (event: WheelEvent): void => {
    if (event.deltaY < 0 && 0 < this.#options.scroller.scrollTop && this.#pinned) {
      this.#pinned = false;
      this.#takeAnchor();
    }
  };

  #takeAnchor(): void {
    const topPx = this.#options.scroller.scrollTop;
    const index = itemAt(this.#layout, topPx);
    const item = this.#items[index];
    this.#anchor =
      item === undefined ? null : { key: item.key, offsetPx: (this.#layout.tops[index] ?? 0) - topPx };
  }

  #resized(): void {
    const widthPx = this.#options.scroller.clientWidth;
    if (widthPx !== this.#widthPx) {
      this.#widthPx = widthPx;
      this.#heights.clear();
      this.request();
      return;
    }
    // In the same frame, before it is painted. It changes no size that is observed here, so it cannot loop.
    if (!this.#closed) this.#settle();
  }
}

function pad(name: string): HTMLElement {
  const element = document.createElement('div');
  element.className = name;
  return element;
}
