// From hunks to the lines that are drawn: numbers on both sides, context from the base, and which words of a
// line changed. Pure; the hunks themselves come from the sidecar, computed from bytes.

import { diffArrays, diffWordsWithSpace } from 'diff';
import type { ChangeDetail, Hunk } from '../../sidecar/protocol/change.ts';
import { limits } from '../limits.ts';

/** Part of a line; `changed` parts are marked. */
export interface Piece {
  readonly text: string;
  readonly changed: boolean;
}

export interface DiffLine {
  readonly kind: 'same' | 'removed' | 'added';
  /** Line number in the base and in the agent's version; null on the side where it is not. */
  readonly baseLine: number | null;
  readonly afterLine: number | null;
  readonly pieces: readonly Piece[];
}

export interface DrawnHunk {
  readonly hunk: Hunk;
  readonly lines: readonly DiffLine[];
}

/** Lines of context around a hunk, where the base is known. */
const contextLines = 3;

/** The hunks of a change as lines. */
export function drawHunks(detail: ChangeDetail): readonly DrawnHunk[] {
  const base = detail.baseText === null ? null : splitLines(detail.baseText);
  let drawnTo = 0;
  return detail.hunks.map((hunk, index) => {
    const before =
      base === null
        ? []
        : context(base, hunk, Math.max(drawnTo, hunk.base.start - 1 - contextLines), hunk.base.start - 1);
    const behind = hunk.base.start - 1 + hunk.base.count;
    const next = detail.hunks[index + 1]?.base.start;
    const until = Math.min(
      behind + contextLines,
      next === undefined ? Infinity : next - 1,
      base?.length ?? 0,
    );
    const after = base === null ? [] : context(base, hunk, behind, until);
    drawnTo = Math.max(behind, until);
    return { hunk, lines: [...before, ...hunkLines(hunk), ...after] };
  });
}

/** Lines of a text without their ends; the empty rest after a last line end is no line. */
export function splitLines(text: string): readonly string[] {
  const lines = text.split(/\r\n|\n|\r/);
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}

/** Base lines `from` to `until` (0-based, exclusive), numbered on the agent's side by what the hunk shifts. */
function context(base: readonly string[], hunk: Hunk, from: number, until: number): readonly DiffLine[] {
  const isBehind = hunk.base.start - 1 + hunk.base.count <= from;
  const shift = hunk.after.start - hunk.base.start + (isBehind ? hunk.after.count - hunk.base.count : 0);
  return base.slice(from, until).map((text, index) => ({
    kind: 'same',
    baseLine: from + index + 1,
    afterLine: from + index + 1 + shift,
    pieces: [{ text, changed: false }],
  }));
}

/** Two texts side by side, as lines: what both have is context. For short texts; the work grows with their product. */
export function compareTexts(before: string, after: string): readonly DiffLine[] {
  const lines: DiffLine[] = [];
  let removed: readonly string[] = [];
  let baseLine = 1;
  let afterLine = 1;
  for (const run of [...diffArrays([...splitLines(before)], [...splitLines(after)]), null]) {
    if (run?.removed === true) {
      removed = run.value;
      continue;
    }
    const added = run?.added === true ? run.value : [];
    const base = { start: baseLine, count: removed.length };
    lines.push(...hunkLines({ base, after: { start: afterLine, count: added.length }, removed, added }));
    baseLine += removed.length;
    afterLine += added.length;
    removed = [];
    if (run === null || run.added) continue;
    for (const text of run.value) {
      lines.push({ kind: 'same', baseLine, afterLine, pieces: [{ text, changed: false }] });
      baseLine += 1;
      afterLine += 1;
    }
  }
  return lines;
}

function hunkLines(hunk: Pick<Hunk, 'base' | 'after' | 'removed' | 'added'>): readonly DiffLine[] {
  const words = changedWords(hunk);
  const removed = hunk.removed.map((text, index): DiffLine => {
    const pieces = words?.removed[index] ?? [{ text, changed: false }];
    return { kind: 'removed', baseLine: hunk.base.start + index, afterLine: null, pieces };
  });
  const added = hunk.added.map((text, index): DiffLine => {
    const pieces = words?.added[index] ?? [{ text, changed: false }];
    return { kind: 'added', baseLine: null, afterLine: hunk.after.start + index, pieces };
  });
  return [...removed, ...added];
}

type WordLines = {
  readonly removed: readonly (readonly Piece[])[];
  readonly added: readonly (readonly Piece[])[];
};

/** Which words differ; null when the hunk is one-sided, too large, or so different that marks would say nothing. */
function changedWords(hunk: Pick<Hunk, 'removed' | 'added'>): WordLines | null {
  const removed = hunk.removed.join('\n');
  const added = hunk.added.join('\n');
  if (removed === '' || added === '' || limits.wordDiffChars < removed.length + added.length) return null;
  const parts = diffWordsWithSpace(removed, added);
  const kept = parts
    .filter((part) => !part.added && !part.removed)
    .reduce((sum, part) => sum + part.value.trim().length, 0);
  if (kept * 3 < Math.min(removed.length, added.length)) return null;
  return {
    removed: linesOf(
      parts.filter((part) => !part.added).map((part) => ({ text: part.value, changed: part.removed })),
    ),
    added: linesOf(
      parts.filter((part) => !part.removed).map((part) => ({ text: part.value, changed: part.added })),
    ),
  };
}

function linesOf(pieces: readonly Piece[]): readonly (readonly Piece[])[] {
  const lines: Piece[][] = [[]];
  for (const piece of pieces) {
    piece.text.split('\n').forEach((text, index) => {
      if (0 < index) lines.push([]);
      if (text !== '') lines.at(-1)?.push({ text, changed: piece.changed });
    });
  }
  return lines;
}
