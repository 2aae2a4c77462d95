// Bytes of files: their name (SHA-256), whether they are text, and texts in which no byte is lost.
//
// Everything that cuts, joins or compares file contents works on byte strings (latin1: one character is one
// byte), because decoding and encoding again would replace bytes that are not UTF-8 (case 81). Text for people
// and models is decoded at the edge, and only shown.

import { Buffer, isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import path from 'node:path';

/** Names bytes; a file that is not there is named `none`. */
export function hashOf(bytes: Uint8Array | null): string {
  return bytes === null ? 'none' : createHash('sha256').update(bytes).digest('hex');
}

/** SHA-256 of a text's UTF-8, as the editor names the text of a buffer. */
export function hashOfText(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}

/** One character for each byte. */
export function byteString(bytes: Uint8Array): string {
  return view(bytes).toString('latin1');
}

/** The bytes of a byte string. */
export function bytesOf(text: string): Uint8Array {
  return Buffer.from(text, 'latin1');
}

/** A text as the byte string of its UTF-8. */
export function utf8ByteString(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

/** At most so many bytes of a text's UTF-8, as a text; a character that the cut goes through is left out. */
export function headInBytes(text: string, bytes: number): string {
  return Buffer.from(text)
    .subarray(0, bytes)
    .toString('utf8')
    .replace(/\ufffd+$/, '');
}

const view = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** The three bytes that some editors put before UTF-8. They are kept, and never shown. */
export const bom = '\u00ef\u00bb\u00bf';

/** A text to show: UTF-8 where the bytes are that, else one character a byte. Without the byte order mark. */
export function shownText(bytes: Uint8Array): string {
  const text = isUtf8(bytes) ? view(bytes).toString('utf8') : byteString(bytes);
  return text.startsWith('\ufeff') ? text.slice(1) : text;
}

/** Parts of one byte string, shown; they are decoded as the whole is. */
export function shownLines(lines: readonly string[], utf8: boolean): string[] {
  return lines.map((line) => {
    const bare = line.endsWith('\n') ? line.slice(0, -1) : line;
    return utf8 ? Buffer.from(bare, 'latin1').toString('utf8') : bare;
  });
}

export { isUtf8 };

// Formats that hold text inside a container or are bytes altogether: what a text tool would destroy (case 86).
const binaryNames = new Set(
  (
    'png jpg jpeg gif webp bmp ico tif tiff avif heic psd pdf doc docx xls xlsx ppt pptx odt ods odp epub ' +
    'zip gz tgz bz2 xz zst 7z rar tar jar war whl woff woff2 ttf otf eot mp3 mp4 m4a mov avi mkv webm wav flac ogg ' +
    'exe dll so dylib pyc wasm sqlite sqlite3 parquet'
  ).split(' '),
);

/** Why these bytes, or what would be written under this name, are not text that can be edited; null: they are. */
export function notText(file: string, bytes: Uint8Array | null): string | null {
  const extension = path.extname(file).slice(1).toLowerCase();
  if (extension === 'ipynb') {
    return 'it is a notebook; its cells cannot be edited as text. Change the source of the cells with a script, or ask the person';
  }
  if (bytes === null) return binaryNames.has(extension) ? `.${extension} files are not text` : null;
  if (isUtf16(bytes)) return 'it is UTF-16; convert it to UTF-8 first';
  if (bytes.includes(0)) return 'it is binary (it has NUL bytes)';
  return binaryNames.has(extension) && 0 < bytes.length ? `.${extension} files are not text` : null;
}

const isUtf16 = (bytes: Uint8Array): boolean =>
  (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
