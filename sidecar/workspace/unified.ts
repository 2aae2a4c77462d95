// A change as a unified diff, for people who are asked and models that are told. Shown only: what is applied are
// hunks.

import { splitLines } from '../core/lines.ts';
import { hunksOf } from '../core/merge.ts';
import type { TextHunk } from '../core/merge.ts';
import { byteString, isUtf8, shownLines } from './bytes.ts';

/** Unchanged lines shown around a hunk, as diff and git do. */
const contextLines = 3;

/** The diff between two versions of a file; null is a file that is not there. Cut at `maxBytes` with a note. */
export function unified(
  label: string,
  before: Uint8Array | null,
  after: Uint8Array | null,
  maxBytes: number,
): string {
  const base = before === null ? null : byteString(before);
  const next = after === null ? null : byteString(after);
  const utf8 = [before, after].every((bytes) => bytes === null || isUtf8(bytes));
  const lines = splitLines(base ?? '');
  const out = [`--- ${before === null ? '/dev/null' : label}`, `+++ ${after === null ? '/dev/null' : label}`];
  let bytes = 0;
  for (const group of grouped(hunksOf(base, next, label))) {
    const part = groupLines(group, lines, utf8);
    bytes += part.reduce((sum, line) => sum + line.length + 1, 0);
    if (maxBytes < bytes)
      return [...out, ...part].join('\n').slice(0, maxBytes) + '\n[more was changed than is shown]';
    out.push(...part);
  }
  return out.join('\n');
}

/** Hunks whose surroundings touch are shown together. */
function grouped(hunks: readonly TextHunk[]): TextHunk[][] {
  const groups: TextHunk[][] = [];
  for (const hunk of hunks) {
    const last = groups.at(-1);
    const before = last?.at(-1);
    const near =
      before !== undefined && hunk.base.start - (before.base.start + before.base.count) <= 2 * contextLines;
    if (near) last?.push(hunk);
    else groups.push([hunk]);
  }
  return groups;
}

function groupLines(group: readonly TextHunk[], base: readonly string[], utf8: boolean): string[] {
  const first = group[0];
  const last = group.at(-1);
  if (first === undefined || last === undefined) return [];
  const start = Math.max(0, first.base.start - 1 - contextLines);
  const end = Math.min(base.length, last.base.start - 1 + last.base.count + contextLines);
  const body: string[] = [];
  const put = (mark: string, lines: readonly string[]): void => {
    for (const line of shownLines(lines, utf8)) body.push(mark + line);
  };
  let at = start;
  for (const hunk of group) {
    put(' ', base.slice(at, hunk.base.start - 1));
    put('-', hunk.removed);
    put('+', hunk.added);
    at = hunk.base.start - 1 + hunk.base.count;
  }
  put(' ', base.slice(at, end));
  const before = { start, count: body.filter((line) => !line.startsWith('+')).length };
  const after = {
    start: start + first.after.start - first.base.start,
    count: body.filter((line) => !line.startsWith('-')).length,
  };
  return [`@@ -${place(before)} +${place(after)} @@`, ...body];
}

/** Of a range from 0; an empty range is named by the line before it. */
const place = (range: { readonly start: number; readonly count: number }): string =>
  range.count === 0 ? `${range.start},0` : `${range.start + 1},${range.count}`;
