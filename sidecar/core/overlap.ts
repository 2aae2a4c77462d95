// Which lines of its base a change replaces, in a form that a row holds, and whether two changes meet there: what is
// known of a conflict as soon as the second of two agents has written, long before anything is accepted (case 161).
//
// Changes of different bases are not compared line by line: their numbers mean different lines.

import type { Edit } from './lines.ts';

/** Ranges that are kept of one change; more are kept as one from the first to the last. */
const mostRanges = 32;

/** The lines of the base that edits replace, as `start+count` joined by commas; lines count from 0. */
export function rangesOf(edits: readonly Pick<Edit, 'baseStart' | 'baseCount'>[]): string {
  const [first] = edits;
  const last = edits.at(-1);
  if (first === undefined || last === undefined) return '';
  if (edits.length <= mostRanges) return edits.map((edit) => `${edit.baseStart}+${edit.baseCount}`).join(',');
  return `${first.baseStart}+${last.baseStart + last.baseCount - first.baseStart}`;
}

export interface Place {
  readonly baseHash: string;
  readonly ranges: string;
}

/** Whether two changes of one file replace the same lines, or put lines at the same place. */
export function meet(one: Place, other: Place): boolean {
  if (one.baseHash !== other.baseHash) return false;
  const others = parsed(other.ranges);
  return parsed(one.ranges).some((range) => others.some((against) => overlap(range, against)));
}

interface Range {
  readonly start: number;
  readonly end: number;
}

function parsed(ranges: string): Range[] {
  if (ranges === '') return [];
  return ranges.split(',').map((range) => {
    const [start = 0, count = 0] = range.split('+').map(Number);
    return { start, end: start + count };
  });
}

/** Ranges that only touch do not overlap, as in a merge; two insertions at one place do. */
function overlap(a: Range, b: Range): boolean {
  if (a.start === a.end && b.start === b.end) return a.start === b.start;
  return a.start < b.end && b.start < a.end;
}
