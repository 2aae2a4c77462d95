// Where rows of one height stand when there may be a million of them. Pure arithmetic, no DOM.
//
// The list is as tall as all rows together until that is taller than a browser can make an element; then the
// spacer stops growing and the list is scrolled through it like a film through a window: small steps move the
// rows by just as many pixels, and a jump of the thumb goes to the same share of the list.
//
// Physical pixels are those of the scroll bar; full pixels those of the list as if nothing limited it.
// `full = physical + offset` for every row that is drawn.

export interface Extent {
  readonly total: number;
  readonly rowPx: number;
  /** Height of the window through which the list is seen. */
  readonly viewPx: number;
  /** Tallest spacer allowed. */
  readonly spacerPx: number;
}

export interface Scroll {
  readonly physicalPx: number;
  readonly offsetPx: number;
}

/** Sums of fractions end this close to where they should. */
const roundingPx = 0.5;

export const scrollStart: Scroll = { physicalPx: 0, offsetPx: 0 };

export function fullHeight(extent: Extent): number {
  return extent.total * extent.rowPx;
}

/** Height of the spacer that the scroll bar stands for. */
export function spacerHeight(extent: Extent): number {
  return Math.min(fullHeight(extent), Math.max(extent.spacerPx, extent.viewPx));
}

/** The position after the browser has scrolled to `physicalPx`. */
export function scrolledTo(physicalPx: number, before: Scroll, extent: Extent): Scroll {
  if (!isScaled(extent)) return { physicalPx, offsetPx: 0 };
  const step = Math.abs(physicalPx - before.physicalPx);
  if (extent.viewPx <= step) {
    const full = (physicalPx / lastPhysical(extent)) * lastFull(extent);
    return { physicalPx, offsetPx: full - physicalPx };
  }
  const full = clamp(physicalPx + before.offsetPx, 0, lastFull(extent));
  // At the very end the thumb cannot stand for less than a row, so the row goes all the way.
  if (physicalPx <= 0 && full < extent.rowPx) return { physicalPx, offsetPx: -physicalPx };
  if (lastPhysical(extent) <= physicalPx && lastFull(extent) - full < extent.rowPx) {
    return { physicalPx, offsetPx: lastFull(extent) - physicalPx };
  }
  return { physicalPx, offsetPx: full - physicalPx };
}

/**
 * The same rows with the thumb where their share of the list is. To be applied when a scroll has ended, or
 * when the thumb is about to hit an end that the rows have not reached.
 */
export function settled(scroll: Scroll, extent: Extent): Scroll {
  return atFull(scroll.physicalPx + scroll.offsetPx, extent);
}

/** Whether the thumb is at an end, or within a window of it, while the rows are not: settle before the wheel sticks. */
export function isCornered(scroll: Scroll, extent: Extent): boolean {
  if (!isScaled(extent)) return false;
  const full = scroll.physicalPx + scroll.offsetPx;
  const due = settled(scroll, extent).physicalPx;
  const last = lastPhysical(extent);
  const start =
    scroll.physicalPx <= 0 ? roundingPx < full : scroll.physicalPx < extent.viewPx && extent.viewPx < due;
  const end =
    last <= scroll.physicalPx
      ? full < lastFull(extent) - roundingPx
      : last - scroll.physicalPx < extent.viewPx && due < last - extent.viewPx;
  return start || end;
}

/** The scroll at which `row` is the first one seen. */
export function atRow(row: number, extent: Extent): Scroll {
  return atFull(row * extent.rowPx, extent);
}

/** The nearest scroll at which `row` is wholly seen; the given one when it already is. */
export function revealing(row: number, scroll: Scroll, extent: Extent): Scroll {
  const full = scroll.physicalPx + scroll.offsetPx;
  const top = row * extent.rowPx;
  const bottom = top + extent.rowPx;
  if (top < full) return moved(top - full, scroll, extent);
  if (full + extent.viewPx < bottom) return moved(bottom - extent.viewPx - full, scroll, extent);
  return scroll;
}

/** Rows that are seen at least in part. */
export function seenRows(scroll: Scroll, extent: Extent): { readonly first: number; readonly count: number } {
  if (extent.total === 0) return { first: 0, count: 0 };
  const full = scroll.physicalPx + scroll.offsetPx;
  const first = clamp(Math.floor(full / extent.rowPx), 0, extent.total - 1);
  const last = clamp(Math.ceil((full + extent.viewPx) / extent.rowPx), first + 1, extent.total);
  return { first, count: last - first };
}

/** Where a row is drawn inside the spacer. */
export function rowTop(row: number, scroll: Scroll, extent: Extent): number {
  return row * extent.rowPx - scroll.offsetPx;
}

/** The scroll kept inside the list after its length or the window changed. */
export function fitted(scroll: Scroll, extent: Extent): Scroll {
  const full = scroll.physicalPx + scroll.offsetPx;
  const last = lastFull(extent);
  if (!isScaled(extent)) return { physicalPx: clamp(full, 0, last), offsetPx: 0 };
  return full < 0 || last < full || lastPhysical(extent) < scroll.physicalPx ? atFull(full, extent) : scroll;
}

function moved(byPx: number, scroll: Scroll, extent: Extent): Scroll {
  const physical = scroll.physicalPx + byPx;
  const near = Math.abs(byPx) < extent.viewPx && 0 <= physical && physical <= lastPhysical(extent);
  if (!near) return atFull(scroll.physicalPx + scroll.offsetPx + byPx, extent);
  return { physicalPx: physical, offsetPx: scroll.offsetPx };
}

function atFull(fullPx: number, extent: Extent): Scroll {
  const full = clamp(fullPx, 0, lastFull(extent));
  if (!isScaled(extent)) return { physicalPx: full, offsetPx: 0 };
  const physical = Math.round((full / lastFull(extent)) * lastPhysical(extent));
  return { physicalPx: physical, offsetPx: full - physical };
}

function isScaled(extent: Extent): boolean {
  return spacerHeight(extent) < fullHeight(extent);
}

function lastFull(extent: Extent): number {
  return Math.max(0, fullHeight(extent) - extent.viewPx);
}

function lastPhysical(extent: Extent): number {
  return Math.max(0, spacerHeight(extent) - extent.viewPx);
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), high);
}
