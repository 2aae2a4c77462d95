// Where hunks stand in a document. The sidecar says it for the text that it has seen; between two of its answers
// the lines are shifted here by what is typed. Pure arithmetic on lines, no editor.

import type { ChangeDetail, Hunk, LineRange } from '../sidecar/protocol/change.ts';
import { limits } from './limits.ts';

/** One edit of a document: lines `first` to `last` (0-based, inclusive) were touched, and what replaced them. */
export interface LineEdit {
  readonly first: number;
  readonly firstColumn: number;
  readonly last: number;
  readonly lastColumn: number;
  readonly text: string;
}

/**
 * A hunk in a document: 0-based first line and number of lines; 0 lines: between `line - 1` and `line`. Of a
 * proposal these are the lines that it would replace, else its new lines.
 */
export interface Placed {
  readonly proposal: boolean;
  readonly change: ChangeDetail;
  readonly hunk: Hunk;
  readonly line: number;
  readonly count: number;
}

/** The range after the edit; null when the edit touched its lines. */
export function shiftRange(range: LineRange, edit: LineEdit): LineRange | null {
  const first = range.start - 1;
  const last = first + range.count - 1;
  const delta = newlines(edit.text) - (edit.last - edit.first);
  // An edit that ends before the first character of a line, and leaves a line break before it, leaves the line whole.
  const wholeLinesBefore = edit.last === first && edit.lastColumn === 0 && leavesBreak(edit);
  if (edit.last < first || wholeLinesBefore) return { start: range.start + delta, count: range.count };
  // One that begins behind the last line, or at its very end with a new line, leaves it whole too.
  const behind = last < edit.first || (range.count === 0 && first <= edit.first);
  return behind ? range : null;
}

/**
 * True when an edit has put the base's lines back where a hunk stood: the editor's own "Revert Block", or a
 * person's hands. `lineAt` reads the text after the edit.
 */
export function isReverted(
  hunk: Hunk,
  edit: LineEdit,
  lineAt: (line: number) => string | undefined,
): boolean {
  if (hunk.now === null) return false;
  const first = hunk.now.start - 1;
  const { count } = hunk.now;
  // It may begin at the end of the line before, and end at the start of the line after.
  if (edit.first < first - 1 || first + count < edit.last) return false;
  const delta = newlines(edit.text) - (edit.last - edit.first);
  return (
    delta === hunk.removed.length - count &&
    hunk.removed.every((line, index) => lineAt(first + index) === line)
  );
}

/** The hunks after some edits; those whose lines were touched have no place until the sidecar gives them one. */
export function shiftHunks(hunks: readonly Hunk[], edits: readonly LineEdit[]): readonly Hunk[] {
  return hunks.map((hunk) => {
    const now = edits.reduce<LineRange | null>(
      (range, edit) => (range === null ? null : shiftRange(range, edit)),
      hunk.now,
    );
    return now === hunk.now ? hunk : { ...hunk, now };
  });
}

/** The hunks of changes that are drawn in the person's file, by line, at most limits.hunksPerFile. */
export function placedInFile(changes: readonly ChangeDetail[], lineCount: number): readonly Placed[] {
  return place(changes, lineCount, (change, hunk) => ({
    at: hunk.now,
    proposal: change.isolation === 'worktree',
  }));
}

/** The hunks of a change in the agent's version of the file. */
export function placedInAfter(change: ChangeDetail, lineCount: number): readonly Placed[] {
  return place([change], lineCount, (_change, hunk) => ({ at: hunk.after, proposal: false }));
}

function place(
  changes: readonly ChangeDetail[],
  lineCount: number,
  locate: (change: ChangeDetail, hunk: Hunk) => { readonly at: LineRange | null; readonly proposal: boolean },
): readonly Placed[] {
  const placed = changes.flatMap((change) =>
    change.hunks.flatMap((hunk): readonly Placed[] => {
      const { at, proposal } = locate(change, hunk);
      if (at === null) return [];
      // A deletion at the end of a file stands behind its last line: shown at that line.
      const line = Math.max(0, Math.min(at.start - 1, lineCount - 1));
      return [{ change, hunk, proposal, line, count: Math.min(at.count, lineCount - line) }];
    }),
  );
  return placed.sort((a, b) => a.line - b.line || a.change.id - b.change.id).slice(0, limits.hunksPerFile);
}

/** The hunk at a line: one that covers it, else a deletion right there; undefined when there is none. */
export function hunkAt(placed: readonly Placed[], line: number): Placed | undefined {
  return (
    placed.find((each) => each.line <= line && line < each.line + each.count) ??
    placed.find((each) => each.count === 0 && (each.line === line || each.line === line + 1))
  );
}

/** The first hunk below a line, or above it; round the end to the other side. */
export function hunkBeside(placed: readonly Placed[], line: number, direction: 1 | -1): Placed | undefined {
  const ordered = direction === 1 ? placed : [...placed].reverse();
  return ordered.find((each) => (each.line - line) * direction > 0) ?? ordered[0];
}

function newlines(text: string): number {
  return text.split('\n').length - 1;
}

function leavesBreak(edit: LineEdit): boolean {
  return edit.text.endsWith('\n') || (edit.text === '' && edit.firstColumn === 0);
}
