// An edit of a file as the smallest cut: the one place where the old text stands is found, and only the bytes
// that differ between old and new text are replaced.
//
// Line ends: the texts of a model have `\n`, the file may have `\r\n` or both. They match each other, and what
// is put in gets the line end of the place it goes to. Nothing is matched loosely: not found and found twice are
// errors that say where to look (cases 70, 71).

import { utf8ByteString } from './bytes.ts';
import { splitLines } from '../core/lines.ts';
import { limits } from '../runtime/limits.ts';

export type Splice =
  | {
      readonly kind: 'splice';
      readonly start: number;
      readonly end: number;
      readonly put: string;
      readonly line: number;
    }
  | { readonly kind: 'refused'; readonly text: string };

/** The file with a splice made. Byte strings. */
export function spliced(content: string, splice: Extract<Splice, { kind: 'splice' }>): string {
  return content.slice(0, splice.start) + splice.put + content.slice(splice.end);
}

export interface SpliceTexts {
  /** Byte string of the file, and whether it is UTF-8. */
  readonly content: string;
  readonly utf8: boolean;
  /** What the model gave. */
  readonly old: string;
  readonly new: string;
}

/** Finds the one place of `old` and what to put there. Offsets are bytes. */
export function spliceOf(texts: SpliceTexts): Splice {
  if (texts.old === '')
    return { kind: 'refused', text: '`old` is empty. To make or replace a whole file use `write`.' };
  if (texts.old === texts.new)
    return { kind: 'refused', text: '`old` and `new` are the same: nothing to do.' };
  if (!texts.utf8 && !/^[\0-\x7f]*$/.test(texts.old + texts.new)) {
    return {
      kind: 'refused',
      text: 'The file is not UTF-8, so only plain ASCII text can be found and put into it. Choose ASCII parts, or use a command.',
    };
  }
  const plain = withoutReturns(texts.content);
  const old = utf8ByteString(texts.old.replaceAll('\r\n', '\n'));
  const at = plain.text.indexOf(old);
  if (at < 0) return { kind: 'refused', text: notFound(plain.text, old) };
  const second = plain.text.indexOf(old, at + 1);
  if (0 <= second) return { kind: 'refused', text: foundTwice(plain.text, old) };
  if (!texts.utf8 && 0x80 <= plain.text.charCodeAt(at - 1)) {
    return {
      kind: 'refused',
      text: 'The file is not UTF-8 and `old` begins right after a byte that may be half a character. Begin `old` elsewhere.',
    };
  }
  return cut(texts.content, plain, { at, old, put: utf8ByteString(texts.new.replaceAll('\r\n', '\n')) });
}

/** The content with `\r\n` as `\n`, and where the removed characters were. */
interface Plain {
  readonly text: string;
  /** Offsets in `text` of the `\n` that had a `\r`, ascending. */
  readonly returns: readonly number[];
}

function withoutReturns(content: string): Plain {
  if (!content.includes('\r\n')) return { text: content, returns: [] };
  const returns: number[] = [];
  const parts: string[] = [];
  let from = 0;
  for (let at = content.indexOf('\r\n'); 0 <= at; at = content.indexOf('\r\n', at + 2)) {
    parts.push(content.slice(from, at));
    returns.push(at - returns.length);
    from = at + 1;
  }
  return { text: parts.concat(content.slice(from)).join(''), returns };
}

/** An offset of the plain text in the content; a `\n` with a `\r` begins at the `\r`. */
function original(plain: Plain, offset: number): number {
  let low = 0;
  let high = plain.returns.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((plain.returns[middle] ?? 0) < offset) low = middle + 1;
    else high = middle;
  }
  return offset + low;
}

function cut(
  content: string,
  plain: Plain,
  match: { readonly at: number; readonly old: string; readonly put: string },
): Splice {
  const { old, put } = match;
  let head = 0;
  while (head < old.length && head < put.length && old[head] === put[head]) head++;
  let tail = 0;
  const most = Math.min(old.length, put.length) - head;
  while (tail < most && old[old.length - 1 - tail] === put[put.length - 1 - tail]) tail++;
  const start = original(plain, match.at + head);
  const end = original(plain, match.at + old.length - tail);
  const middle = put.slice(head, put.length - tail);
  const lineEnd = middle.includes('\n') ? lineEndAt(content, start) : '\n';
  return {
    kind: 'splice',
    start,
    end,
    put: lineEnd === '\n' ? middle : middle.replaceAll('\n', lineEnd),
    line: lineOf(plain.text, match.at),
  };
}

/** The line end that the neighbours have: of the line before at the start of a line, else of the line itself. */
function lineEndAt(content: string, offset: number): string {
  const before = content.lastIndexOf('\n', offset - 1);
  const next = 0 < offset && before === offset - 1 ? -1 : content.indexOf('\n', offset);
  const at = 0 <= next ? next : before;
  return 0 < at && content[at - 1] === '\r' ? '\r\n' : '\n';
}

function lineOf(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); 0 <= at && at < offset; at = text.indexOf('\n', at + 1)) line++;
  return line;
}

function foundTwice(text: string, old: string): string {
  const lines: number[] = [];
  let count = 0;
  for (let at = text.indexOf(old); 0 <= at; at = text.indexOf(old, at + 1)) {
    count++;
    if (lines.length < limits.editCandidates) lines.push(lineOf(text, at));
    if (limits.editMatches <= count) break;
  }
  const more = limits.editMatches <= count ? ' or more' : '';
  return `\`old\` stands ${count}${more} times in the file, at lines ${lines.join(', ')}. Add lines around it until it is unique.`;
}

/** Says where lines stand that differ from the first line of `old` in white space only; never edits there. */
function notFound(text: string, old: string): string {
  const wanted = old
    .split('\n')
    .find((line) => line.trim() !== '')
    ?.trim();
  const near: number[] = [];
  if (wanted !== undefined) {
    for (const [index, line] of splitLines(text).entries()) {
      if (line.trim() === wanted && near.length < limits.editCandidates) near.push(index + 1);
    }
  }
  const hint =
    near.length === 0
      ? 'Read the file again: it may have changed.'
      : `Its first line stands at line ${near.join(', ')}; white space or the lines after it differ. Read there and copy exactly.`;
  return `\`old\` does not stand in the file. ${hint}`;
}
