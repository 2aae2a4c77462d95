// The arithmetic of the windowed tree: any row of a million can be reached, a small scroll moves rows by just
// that much, and the rows drawn cover what is seen. What a browser does with it is in tree.page.test.ts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  atRow,
  fitted,
  fullHeight,
  isCornered,
  revealing,
  rowTop,
  scrolledTo,
  scrollStart,
  seenRows,
  settled,
  spacerHeight,
} from '../../webview/rows.ts';
import type { Extent, Scroll } from '../../webview/rows.ts';

const rowPx = 22;
const small: Extent = { total: 1_000, rowPx, viewPx: 600, spacerPx: 8_000_000 };
const million: Extent = { ...small, total: 1_000_000 };

const extents = fc.record({
  total: fc.integer({ min: 1, max: 3_000_000 }),
  rowPx: fc.constant(rowPx),
  viewPx: fc.integer({ min: 50, max: 3_000 }),
  spacerPx: fc.constantFrom(100_000, 8_000_000),
});

/** What a view does when the browser reports a scroll position. */
function userScrolls(physicalPx: number, before: Scroll, extent: Extent): Scroll {
  const last = Math.max(0, spacerHeight(extent) - extent.viewPx);
  const next = scrolledTo(Math.min(Math.max(physicalPx, 0), last), before, extent);
  return isCornered(next, extent) ? settled(next, extent) : next;
}

test('a list that fits a browser is not scaled', () => {
  assert.equal(spacerHeight(small), fullHeight(small));
  const scroll = scrolledTo(4_400, scrollStart, small);
  assert.deepEqual(scroll, { physicalPx: 4_400, offsetPx: 0 });
  assert.deepEqual(seenRows(scroll, small), { first: 200, count: 28 });
});

test('a million rows stay under the tallest element a browser makes, and the last one is reached', () => {
  assert.ok(spacerHeight(million) <= 8_000_000);
  const end = scrolledTo(spacerHeight(million) - million.viewPx, scrollStart, million);
  const { first, count } = seenRows(end, million);
  assert.equal(first + count, 1_000_000);
});

test('every row can be brought into view, whole, from anywhere', () => {
  fc.assert(
    fc.property(extents, fc.nat(), fc.nat(), (extent, from, to) => {
      const row = to % extent.total;
      const scroll = revealing(row, atRow(from % extent.total, extent), extent);
      const top = rowTop(row, scroll, extent);
      const fits = rowPx <= extent.viewPx;
      assert.ok(scroll.physicalPx - 1 <= top, `row ${row} starts above the view`);
      assert.ok(
        !fits || top + rowPx <= scroll.physicalPx + extent.viewPx + 1,
        `row ${row} ends below the view`,
      );
      const { first, count } = seenRows(scroll, extent);
      assert.ok(first <= row && row < first + count);
    }),
  );
});

test('the scroll stays within the spacer and the list, whatever the person does', () => {
  const steps = fc.array(fc.integer({ min: -5_000_000, max: 5_000_000 }), { maxLength: 40 });
  fc.assert(
    fc.property(extents, steps, (extent, deltas) => {
      let scroll: Scroll = scrollStart;
      for (const delta of deltas) {
        scroll = userScrolls(scroll.physicalPx + delta, scroll, extent);
        const { first, count } = seenRows(scroll, extent);
        assert.ok(0 <= first && 0 < count && first + count <= extent.total);
        assert.ok(0 <= scroll.physicalPx && scroll.physicalPx <= spacerHeight(extent));
      }
    }),
  );
});

test('a wheel step moves the rows of a scaled list by exactly its pixels', () => {
  let scroll = atRow(500_000, million);
  for (let step = 1; step <= 20; step += 1) {
    scroll = userScrolls(scroll.physicalPx + 110, scroll, million);
    assert.equal(seenRows(scroll, million).first, 500_000 + 5 * step);
  }
});

test('the wheel alone reaches both ends of a scaled list', () => {
  const extent: Extent = { total: 20_000, rowPx, viewPx: 600, spacerPx: 100_000 };
  let scroll: Scroll = atRow(300, extent);
  for (let step = 0; step < 200; step += 1) scroll = userScrolls(scroll.physicalPx - 300, scroll, extent);
  assert.equal(seenRows(scroll, extent).first, 0);
  scroll = atRow(19_500, extent);
  for (let step = 0; step < 200; step += 1) scroll = userScrolls(scroll.physicalPx + 300, scroll, extent);
  const { first, count } = seenRows(scroll, extent);
  assert.equal(first + count, 20_000);
});

test('settling moves the thumb and not the rows', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 999_000 }), fc.integer({ min: -50, max: 50 }), (row, wheel) => {
      const scroll = userScrolls(atRow(row, million).physicalPx + wheel, atRow(row, million), million);
      const after = settled(scroll, million);
      assert.ok(Math.abs(after.physicalPx + after.offsetPx - scroll.physicalPx - scroll.offsetPx) < 1e-6);
    }),
  );
});

test('a list that becomes shorter keeps the view inside it', () => {
  const shorter: Extent = { ...million, total: 40 };
  const scroll = fitted(atRow(900_000, million), shorter);
  const { first, count } = seenRows(scroll, shorter);
  assert.equal(first + count, 40);
  assert.equal(scroll.offsetPx, 0);
  assert.deepEqual(seenRows(fitted(scroll, { ...million, total: 0 }), { ...million, total: 0 }), {
    first: 0,
    count: 0,
  });
});
