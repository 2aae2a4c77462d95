// A file as the person has it now: the unsaved buffer of an open editor where there is one, else the disk.
//
// A buffer with unsaved changes is never overwritten on disk; text is put into the buffer, as one undo step, and
// only if it still says what it said when it was read (I11, case 59).

import { editsBetween, splitLines } from '../core/lines.ts';
import { limits } from '../runtime/limits.ts';
import { bom, byteString, bytesOf, hashOfText, isUtf8, shownText, utf8ByteString } from './bytes.ts';
import { readWhole, writeWhole } from './files.ts';

/** Offsets in UTF-16 units of the buffer's text; ascending, not touching. */
export interface TextEdit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** What editors are asked (protocol `editor/*`). Without an editor: null, false. */
export interface Buffers {
  /** The text of a buffer with unsaved changes; null when there is none for this path. */
  readText(path: string): Promise<string | null>;
  /** Edits a buffer whose text has this SHA-256 (hex, of its UTF-8); false when it does not, or is closed. */
  applyEdit(path: string, expect: string, edits: readonly TextEdit[]): Promise<boolean>;
}

/** For a process without editors. */
export const noBuffers: Buffers = {
  readText: () => Promise.resolve(null),
  applyEdit: () => Promise.resolve(false),
};

export type Current =
  | {
      readonly kind: 'current';
      /** Null: there is no such file. */
      readonly bytes: Uint8Array | null;
      /** Text of the unsaved buffer that `bytes` were made from. */
      readonly buffer: string | null;
    }
  | { readonly kind: 'refused'; readonly text: string };

/** The file as it stands now, at most `limits.fileBytes`. */
export async function currentOf(buffers: Buffers, path: string): Promise<Current> {
  const [buffer, disk] = await Promise.all([buffers.readText(path), readWhole(path, limits.fileBytes)]);
  if (disk.kind === 'refused') return disk;
  const saved = disk.kind === 'missing' ? null : disk.bytes;
  if (buffer === null) return { kind: 'current', bytes: saved, buffer };
  // How the editor would write the buffer is known for UTF-8 only.
  if (saved !== null && !isUtf8(saved)) {
    return {
      kind: 'refused',
      text: `${path} has unsaved changes and is not UTF-8. It has to be saved first.`,
    };
  }
  const text = utf8ByteString(buffer);
  if (limits.fileBytes < text.length) {
    return { kind: 'refused', text: `${path} has ${text.length} bytes, the limit is ${limits.fileBytes}.` };
  }
  const marked = saved !== null && byteString(saved.subarray(0, 3)) === bom;
  return { kind: 'current', bytes: bytesOf(marked ? bom + text : text), buffer };
}

/**
 * Brings the file from `current` to `next`. False: the buffer has moved on, nothing was changed. Throws what the
 * file system throws. The caller holds the lock of the path (locks.ts).
 */
export async function putCurrent(
  buffers: Buffers,
  path: string,
  current: Extract<Current, { kind: 'current' }>,
  next: Uint8Array | null,
): Promise<boolean> {
  if (current.buffer !== null && next !== null) {
    return await buffers.applyEdit(
      path,
      hashOfText(current.buffer),
      textEdits(current.buffer, shownText(next)),
    );
  }
  if (current.buffer !== null) return false;
  await writeWhole(path, next);
  return true;
}

/** The edits of a buffer, by whole lines, so that what the person sees moves as little as possible. */
export function textEdits(before: string, after: string): TextEdit[] {
  const old = splitLines(before);
  const lines = splitLines(after);
  const starts = [0];
  for (const line of old) starts.push((starts.at(-1) ?? 0) + line.length);
  return editsBetween(old, lines).map((edit) => ({
    start: starts[edit.baseStart] ?? 0,
    end: starts[edit.baseStart + edit.baseCount] ?? before.length,
    text: lines.slice(edit.afterStart, edit.afterStart + edit.afterCount).join(''),
  }));
}
