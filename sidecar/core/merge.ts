// Hunks of a change, taking them in and out, and merging three versions of a text.
//
// Promises: taking all hunks into the base gives the agent's version, taking all out of it gives the base, and
// every line that no chosen hunk covers stays as it is, byte for byte. A merge never guesses: what two sides
// changed differently at the same place is a conflict. Not here: bytes, encodings, files.

import type { LineRange } from '../protocol/change.ts';
import { hashText } from './hash.ts';
import { editsBetween, splitLines } from './lines.ts';
import type { Edit } from './lines.ts';

/** One run of changed lines. The lines keep their ends. */
export interface TextHunk {
  readonly id: string;
  readonly base: LineRange;
  readonly after: LineRange;
  readonly removed: readonly string[];
  readonly added: readonly string[];
}

/**
 * The hunks between two versions of a file; null is a file that is not there. A file that appears or goes away
 * is one hunk, also an empty one. The id names what a hunk does and the line on each side of it, so it stays the
 * same whatever happens to the other hunks; equal hunks of one file are told apart by a count.
 */
export function hunksOf(base: string | null, after: string | null, path: string): TextHunk[] {
  if (base === after) return [];
  const before = splitLines(base ?? '');
  const next = splitLines(after ?? '');
  const edits = base === null || after === null ? [wholeFile(before, next)] : editsBetween(before, next);
  const seen = new Map<string, number>();
  return edits.map((edit) => {
    const removed = before.slice(edit.baseStart, edit.baseStart + edit.baseCount);
    const added = next.slice(edit.afterStart, edit.afterStart + edit.afterCount);
    const above = before[edit.baseStart - 1] ?? '';
    const below = before[edit.baseStart + edit.baseCount] ?? '';
    const name = hashText([path, above, removed.join(''), added.join(''), below].join('\0')).slice(0, 16);
    const count = (seen.get(name) ?? 0) + 1;
    seen.set(name, count);
    return {
      id: count === 1 ? name : `${name}.${count}`,
      base: { start: edit.baseStart + 1, count: edit.baseCount },
      after: { start: edit.afterStart + 1, count: edit.afterCount },
      removed,
      added,
    };
  });
}

const wholeFile = (before: readonly string[], next: readonly string[]): Edit => ({
  baseStart: 0,
  baseCount: before.length,
  afterStart: 0,
  afterCount: next.length,
});

/** The base with these hunks of it taken in. */
export function applyHunks(base: string, hunks: readonly TextHunk[]): string {
  return spliced(
    base,
    hunks.map((hunk) => ({ range: hunk.base, lines: hunk.added })),
  );
}

/** The agent's version with these hunks of it taken out. */
export function withoutHunks(after: string, hunks: readonly TextHunk[]): string {
  return spliced(
    after,
    hunks.map((hunk) => ({ range: hunk.after, lines: hunk.removed })),
  );
}

function spliced(
  text: string,
  changes: readonly { readonly range: LineRange; readonly lines: readonly string[] }[],
): string {
  const lines = splitLines(text);
  const parts: string[] = [];
  let at = 0;
  for (const { range, lines: put } of changes) {
    copy(parts, lines, at, range.start - 1);
    copy(parts, put, 0, put.length);
    at = range.start - 1 + range.count;
  }
  copy(parts, lines, at, lines.length);
  return parts.join('');
}

/** Not `push(...slice)`: a spread of 100,000 lines overflows the stack. */
function copy(target: string[], source: readonly string[], from: number, to: number): void {
  for (let i = from; i < to; i++) target.push(source[i] ?? '');
}

export type Merged =
  | { readonly kind: 'merged'; readonly text: string }
  /** Lines of `ours`, from 1, at which both sides did different things. */
  | { readonly kind: 'conflict'; readonly at: LineRange };

/**
 * `ours` with what happened between `base` and `theirs`. Changes of the two sides conflict when they overlap, or
 * when they put different lines at the same place; changes that only touch do not (in git they do), because both
 * keep every line. The same change on both sides is taken once.
 */
export function merge3(base: string, ours: string, theirs: string): Merged {
  if (ours === theirs || base === theirs) return { kind: 'merged', text: ours };
  if (base === ours) return { kind: 'merged', text: theirs };
  const sides: Sides = { base: splitLines(base), ours: splitLines(ours), theirs: splitLines(theirs) };
  const lines: string[] = [];
  let at = 0;
  for (const region of regions(sides)) {
    copy(lines, sides.base, at, region.start);
    const mine = sideOf(sides.base, sides.ours, region.ours, region);
    const other = sideOf(sides.base, sides.theirs, region.theirs, region);
    if (0 < region.ours.length && 0 < region.theirs.length && mine.join('') !== other.join('')) {
      return { kind: 'conflict', at: placeOf(region.ours, mine.length) };
    }
    const taken = 0 < region.theirs.length ? other : mine;
    copy(lines, taken, 0, taken.length);
    at = region.end;
  }
  copy(lines, sides.base, at, sides.base.length);
  // A last line without an end must not grow together with a line that the other side put after it.
  const glued = lines.findIndex((line, index) => index < lines.length - 1 && !line.endsWith('\n'));
  if (0 <= glued) return { kind: 'conflict', at: { start: sides.ours.length, count: 1 } };
  return { kind: 'merged', text: lines.join('') };
}

interface Sides {
  readonly base: readonly string[];
  readonly ours: readonly string[];
  readonly theirs: readonly string[];
}

/** A run of base lines with the edits of each side that meet there. */
interface Region {
  readonly start: number;
  end: number;
  readonly ours: Edit[];
  readonly theirs: Edit[];
}

function regions(sides: Sides): Region[] {
  const edits = [
    ...editsBetween(sides.base, sides.ours).map((edit) => ({ edit, side: 'ours' as const })),
    ...editsBetween(sides.base, sides.theirs).map((edit) => ({ edit, side: 'theirs' as const })),
  ];
  // At the same line an insertion comes first: it lies before what the other side did with that line.
  edits.sort((x, y) => x.edit.baseStart - y.edit.baseStart || x.edit.baseCount - y.edit.baseCount);
  const found: Region[] = [];
  for (const { edit, side } of edits) {
    const last = found.at(-1);
    const joins = last !== undefined && meets(last, edit);
    const region = joins ? last : { start: edit.baseStart, end: edit.baseStart, ours: [], theirs: [] };
    region.end = Math.max(region.end, edit.baseStart + edit.baseCount);
    region[side].push(edit);
    if (!joins) found.push(region);
  }
  return found;
}

function meets(region: Region, edit: Edit): boolean {
  if (edit.baseStart < region.end) return true;
  // Two insertions at one place: nothing says which comes first.
  return edit.baseCount === 0 && region.start === region.end && edit.baseStart === region.end;
}

/** What a side made of a region. */
function sideOf(
  base: readonly string[],
  side: readonly string[],
  edits: readonly Edit[],
  region: { readonly start: number; readonly end: number },
): string[] {
  const lines: string[] = [];
  let at = region.start;
  for (const edit of edits) {
    copy(lines, base, at, edit.baseStart);
    copy(lines, side, edit.afterStart, edit.afterStart + edit.afterCount);
    at = edit.baseStart + edit.baseCount;
  }
  copy(lines, base, at, region.end);
  return lines;
}

function placeOf(edits: readonly Edit[], count: number): LineRange {
  return { start: (edits[0]?.afterStart ?? 0) + 1, count };
}

/**
 * Where a run of lines of `from` stands in `to`; null when an edit between the two reaches into it. Insertions at
 * its edges do not. `edits` are those between the two texts (`editsBetween`).
 */
export function mapRange(edits: readonly Edit[], range: LineRange): LineRange | null {
  const start = range.start - 1;
  const end = start + range.count;
  let shift = 0;
  for (const edit of edits) {
    const editEnd = edit.baseStart + edit.baseCount;
    if (end < edit.baseStart || (end === edit.baseStart && (0 < range.count || 0 < edit.baseCount))) break;
    const before = editEnd <= start;
    if (!before) return null;
    shift += edit.afterCount - edit.baseCount;
  }
  return { start: range.start + shift, count: range.count };
}
