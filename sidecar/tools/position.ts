// Where a name stands: models are bad at counting characters, so they name a line and what is written on it. And where a
// line of one version of a text is in another.

import { editsBetween } from '../core/lines.ts';
import type { Position } from '../protocol/language.ts';

export interface NamedPlace {
  /** What the file is called to the model. */
  readonly label: string;
  /** From 1. */
  readonly line: number;
  readonly symbol: string;
}

/** As editors count lines: each of `\r\n`, `\r` and `\n` ends one. */
export const editorLines = (text: string): string[] => text.split(/\r\n|\r|\n/);

/** Where the name stands on its line, as a whole word if it does; a string says why it is not found. */
export function positionIn(text: string, { label, line, symbol }: NamedPlace): Position | string {
  const found = editorLines(text)[line - 1];
  if (found === undefined) return `${label} has no line ${line}.`;
  const isWord = (at: number): boolean =>
    !/[\p{L}\p{N}_$]/u.test(found[at - 1] ?? ' ') &&
    !/[\p{L}\p{N}_$]/u.test(found[at + symbol.length] ?? ' ');
  let at = found.indexOf(symbol);
  const first = at;
  while (at >= 0 && !isWord(at)) at = found.indexOf(symbol, at + 1);
  if (first < 0) return `line ${line} of ${label} has no "${symbol}": ${found.trim().slice(0, 200)}`;
  return { line: line - 1, character: at < 0 ? first : at };
}

/** Where a line of one text is in the other one; null: it is not there as it was. Lines count from 0. */
export function lineMap(from: readonly string[], to: readonly string[]): (line: number) => number | null {
  const edits = editsBetween(from, to);
  return (line) => {
    let moved = 0;
    for (const edit of edits) {
      if (line < edit.baseStart) break;
      if (line < edit.baseStart + edit.baseCount) return null;
      moved += edit.afterCount - edit.baseCount;
    }
    return line < from.length ? line + moved : null;
  };
}
