// From a language server's edits of a text to splices of the bytes of a file.
//
// A splice is what goes and what comes at one place; every other byte stays as it is (I11). The file may be another
// version of the text that the server knows: an agent's worktree, where lines have changed since. Then an edit goes to
// the line that is the same in both, and what has no such line is counted as left. Not here: reading and writing.

import type { Position, TextEdit } from '../protocol/language.ts';
import { bom, byteString, bytesOf, isUtf8, utf8ByteString } from '../workspace/bytes.ts';
import { editorLines, lineMap } from './position.ts';

/** At a byte of the file as it was: `gone` goes and `come` comes. Both are byte strings. */
export interface Splice {
  readonly at: number;
  readonly gone: string;
  readonly come: string;
}

export type FilePlan =
  | {
      readonly kind: 'plan';
      /** Ascending, not touching. */
      readonly splices: readonly Splice[];
      /** Lines of the server's text, from 1, that the file does not have as they are there. */
      readonly left: readonly number[];
    }
  | { readonly kind: 'refused'; readonly text: string };

/** `known`: the text that the edits are of. `target`: the bytes of the file that is to be changed. */
export function planOf(known: string, target: Uint8Array, edits: readonly TextEdit[]): FilePlan {
  if (!isUtf8(target)) return { kind: 'refused', text: 'is not UTF-8, so places in it cannot be told' };
  const file = linesOf(byteString(target));
  const lineOf = lineMap(
    editorLines(known),
    file.lines.map((line) => decoded(line)),
  );
  const splices: Splice[] = [];
  const left = new Set<number>();
  for (const { range, newText } of edits) {
    const [start, end] = [lineOf(range.start.line), lineOf(range.end.line)];
    // What spans lines must still span the same ones.
    if (start === null || end === null || end - start !== range.end.line - range.start.line) {
      left.add(range.start.line + 1);
      continue;
    }
    const at = offsetOf(file, { line: start, character: range.start.character });
    const until = offsetOf(file, { line: end, character: range.end.character });
    if (at === null || until === null || until < at) {
      return { kind: 'refused', text: `has no place ${range.start.line + 1}:${range.start.character + 1}` };
    }
    const come = utf8ByteString(newText.replaceAll('\r\n', '\n'));
    const gone = file.bytes.slice(at, until);
    if (gone !== come) splices.push({ at, gone, come: file.returns ? come.replaceAll('\n', '\r\n') : come });
  }
  splices.sort((a, b) => a.at - b.at);
  const overlap = splices.some(({ at }, index) => {
    const before = splices[index - 1];
    return before !== undefined && at < before.at + before.gone.length;
  });
  if (overlap) return { kind: 'refused', text: 'would get edits that overlap' };
  return { kind: 'plan', splices, left: [...left].sort((a, b) => a - b) };
}

/** The bytes after all splices; null: something else stands at a place. */
export function splicedAll(bytes: Uint8Array, splices: readonly Splice[]): Uint8Array | null {
  const text = byteString(bytes);
  const parts: string[] = [];
  let from = 0;
  for (const { at, gone, come } of splices) {
    if (at < from || text.slice(at, at + gone.length) !== gone) return null;
    parts.push(text.slice(from, at), come);
    from = at + gone.length;
  }
  return bytesOf(parts.concat(text.slice(from)).join(''));
}

/** The splices that lead back. */
export function undoOf(splices: readonly Splice[]): Splice[] {
  let moved = 0;
  return splices.map(({ at, gone, come }) => {
    const back = { at: at + moved, gone: come, come: gone };
    moved += come.length - gone.length;
    return back;
  });
}

interface FileLines {
  /** Byte strings: the file, and its lines without their ends. */
  readonly bytes: string;
  readonly lines: readonly string[];
  readonly starts: readonly number[];
  /** Its first line end is `\r\n`: a new text of several lines gets these. */
  readonly returns: boolean;
}

function linesOf(bytes: string): FileLines {
  const lines: string[] = [];
  const starts: number[] = [];
  let from = bytes.startsWith(bom) ? bom.length : 0;
  for (const { 0: end, index } of bytes.matchAll(/\r\n|\r|\n/g)) {
    starts.push(from);
    lines.push(bytes.slice(from, index));
    from = index + end.length;
  }
  starts.push(from);
  lines.push(bytes.slice(from));
  return { bytes, lines, starts, returns: /^[^\n]*\r\n/.test(bytes) };
}

const decoded = (line: string): string => new TextDecoder().decode(bytesOf(line));

/** The byte of a position, whose characters are UTF-16 units; null: there is none. */
function offsetOf({ lines, starts }: FileLines, { line, character }: Position): number | null {
  const [found, start] = [lines[line], starts[line]];
  if (found === undefined || start === undefined) return null;
  const text = decoded(found);
  if (text.length < character) return null;
  return start + utf8ByteString(text.slice(0, character)).length;
}
