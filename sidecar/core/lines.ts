// Lines and the edits between two lists of them: what hunks, merges and mappings are made of.
//
// A line keeps its end, so joining the lines of a text gives the same text again, byte for byte. Texts are
// "byte strings" where bytes matter (latin1: one character, one byte); nothing here knows encodings.
// The cost is bounded: O(lines) plus O(maxEdits squared), and a coarser answer beyond that.

import { diffArrays } from 'diff';

/** A run of base lines that became a run of new lines. Indexes from 0; one of the counts may be 0. */
export interface Edit {
  readonly baseStart: number;
  readonly baseCount: number;
  readonly afterStart: number;
  readonly afterCount: number;
}

/**
 * Lines that a diff may add and remove before it falls back to matching unique lines only. The search costs the
 * square: 400 take 10 ms here, 1,000 take 50 ms (a synchronous step may take 10 ms, I18).
 */
const maxEdits = 400;
/** The same between two matched lines of the fallback; beyond it the whole run counts as replaced. */
const maxEditsInGap = 60;

/** The lines of a text with their ends (`\n`, and whatever stands before it). No line for an empty rest. */
export function splitLines(text: string): string[] {
  const lines: string[] = [];
  let start = 0;
  while (start < text.length) {
    const at = text.indexOf('\n', start);
    const end = at < 0 ? text.length : at + 1;
    lines.push(text.slice(start, end));
    start = end;
  }
  return lines;
}

/** The edits that lead from `base` to `after`, ascending; between two of them lies at least one common line. */
export function editsBetween(base: readonly string[], after: readonly string[]): Edit[] {
  const whole: Range = { a: 0, aEnd: base.length, b: 0, bEnd: after.length };
  const { a, b } = numbered(base, after);
  const range = trimmed(a, b, whole);
  if (isEmpty(range)) return [];
  const minimal = searched(a, b, range, maxEdits);
  return joined(minimal ?? byUniqueLines(a, b, range));
}

/** Lines of both sides as numbers: equal lines have equal numbers, and comparing is cheap. */
function numbered(base: readonly string[], after: readonly string[]): { a: number[]; b: number[] } {
  const numbers = new Map<string, number>();
  const number = (line: string): number => {
    const known = numbers.get(line);
    if (known !== undefined) return known;
    numbers.set(line, numbers.size);
    return numbers.size - 1;
  };
  return { a: base.map(number), b: after.map(number) };
}

interface Range {
  a: number;
  aEnd: number;
  b: number;
  bEnd: number;
}

const isEmpty = (range: Range): boolean => range.a === range.aEnd && range.b === range.bEnd;

/** The range without what both sides start and end with. */
function trimmed(a: readonly number[], b: readonly number[], range: Range): Range {
  const rest = { ...range };
  while (rest.a < rest.aEnd && rest.b < rest.bEnd && a[rest.a] === b[rest.b]) {
    rest.a++;
    rest.b++;
  }
  while (rest.a < rest.aEnd && rest.b < rest.bEnd && a[rest.aEnd - 1] === b[rest.bEnd - 1]) {
    rest.aEnd--;
    rest.bEnd--;
  }
  return rest;
}

/** The shortest edit script of a range (Myers), or null when it is longer than `most`. */
function searched(a: readonly number[], b: readonly number[], range: Range, most: number): Edit[] | null {
  if (range.a === range.aEnd || range.b === range.bEnd) return [replaced(range)];
  const parts = diffArrays(a.slice(range.a, range.aEnd), b.slice(range.b, range.bEnd), {
    maxEditLength: most,
  });
  if (parts === undefined) return null;
  const edits: Edit[] = [];
  let atA = range.a;
  let atB = range.b;
  for (const part of parts) {
    const aCount = part.added ? 0 : part.count;
    const bCount = part.removed ? 0 : part.count;
    if (part.added || part.removed) {
      edits.push({ baseStart: atA, baseCount: aCount, afterStart: atB, afterCount: bCount });
    }
    atA += aCount;
    atB += bCount;
  }
  return edits;
}

const replaced = (range: Range): Edit => ({
  baseStart: range.a,
  baseCount: range.aEnd - range.a,
  afterStart: range.b,
  afterCount: range.bEnd - range.b,
});

/** Matches lines that occur once on each side, in the longest order that both share; then looks between them. */
function byUniqueLines(a: readonly number[], b: readonly number[], range: Range): Edit[] {
  const edits: Edit[] = [];
  const matches = [...longestAscending(uniquePairs(a, b, range)), { a: range.aEnd, b: range.bEnd }];
  let from = { a: range.a, b: range.b };
  for (const match of matches) {
    const gap = trimmed(a, b, { a: from.a, aEnd: match.a, b: from.b, bEnd: match.b });
    if (!isEmpty(gap))
      for (const edit of searched(a, b, gap, maxEditsInGap) ?? [replaced(gap)]) edits.push(edit);
    from = { a: match.a + 1, b: match.b + 1 };
  }
  return edits;
}

interface Pair {
  readonly a: number;
  readonly b: number;
}

function uniquePairs(a: readonly number[], b: readonly number[], range: Range): Pair[] {
  const places = (lines: readonly number[], from: number, to: number): Map<number, number> => {
    const found = new Map<number, number>();
    for (let i = from; i < to; i++) {
      const line = lines[i] ?? -1;
      found.set(line, found.has(line) ? -1 : i);
    }
    return found;
  };
  const inB = places(b, range.b, range.bEnd);
  const pairs: Pair[] = [];
  for (const [line, at] of places(a, range.a, range.aEnd)) {
    const other = inB.get(line) ?? -1;
    if (0 <= at && 0 <= other) pairs.push({ a: at, b: other });
  }
  return pairs.sort((one, two) => one.a - two.a);
}

/** The longest run of pairs that ascends on both sides (patience sorting). */
function longestAscending(pairs: readonly Pair[]): Pair[] {
  const piles: number[] = [];
  const before: number[] = [];
  for (const [index, pair] of pairs.entries()) {
    let low = 0;
    let high = piles.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const top = pairs[piles[middle] ?? 0];
      if (top !== undefined && top.b < pair.b) low = middle + 1;
      else high = middle;
    }
    before[index] = 0 < low ? (piles[low - 1] ?? -1) : -1;
    piles[low] = index;
  }
  const run: Pair[] = [];
  for (let at = piles.at(-1) ?? -1; 0 <= at; at = before[at] ?? -1) {
    const pair = pairs[at];
    if (pair !== undefined) run.push(pair);
  }
  return run.reverse();
}

/** Edits that touch, as one: a removal and an addition at the same place are a replacement. */
function joined(edits: readonly Edit[]): Edit[] {
  const result: Edit[] = [];
  for (const edit of edits) {
    const last = result.at(-1);
    if (last !== undefined && last.baseStart + last.baseCount === edit.baseStart) {
      result[result.length - 1] = {
        baseStart: last.baseStart,
        baseCount: last.baseCount + edit.baseCount,
        afterStart: last.afterStart,
        afterCount: last.afterCount + edit.afterCount,
      };
    } else {
      result.push(edit);
    }
  }
  return result;
}
