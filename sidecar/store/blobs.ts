// Bytes as rows of `blob`: packed when that pays, and read back.
//
// Promises: packing and reading are bounded by size, so that neither holds the loop (I18): deflate level 1 packs
// about 100 MB/s, so a text at the bound takes 10 ms; above it bytes are kept as they are.
// Not here: which blobs exist and who shares them (the runtime's `shared` rows).

import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { limits } from '../runtime/limits.ts';

/** A blob as its row keeps it. `size` is the number of bytes before packing. */
export interface PackedBlob {
  readonly form: 'raw' | 'deflate';
  readonly bytes: Uint8Array;
  readonly size: number;
}

/** Packs bytes for a row of `blob`; the row is `{ form, bytes, size }`. */
export function packBlob(bytes: Uint8Array): PackedBlob {
  const size = bytes.byteLength;
  if (size >= limits.blobPackFromBytes && size <= limits.blobPackToBytes) {
    const packed = deflateRawSync(bytes, { level: 1 });
    // A row has overflow pages of 4 KB, so saving less than a tenth rarely saves a page.
    if (packed.byteLength < size * 0.9) return { form: 'deflate', bytes: packed, size };
  }
  return { form: 'raw', bytes, size };
}

/**
 * The bytes that were packed.
 * @throws when the row is damaged: its bytes do not unpack to `size`.
 */
export function unpackBlob(blob: {
  readonly form: string;
  readonly bytes: Uint8Array;
  readonly size: number;
}): Uint8Array {
  if (blob.form === 'raw') return blob.bytes;
  return inflateRawSync(blob.bytes, { maxOutputLength: Math.max(1, blob.size) });
}

/** Where to cut UTF-8 so that no character is cut: `end` or up to three bytes before it. */
export function characterEnd(bytes: Uint8Array, end: number): number {
  if (end >= bytes.byteLength) return bytes.byteLength;
  let cut = end;
  // Bytes 10xxxxxx continue a character (RFC 3629); more than three of them in a row are not UTF-8 at all.
  while (cut > 0 && end - cut < 3 && ((bytes[cut] ?? 0) & 0xc0) === 0x80) cut -= 1;
  return ((bytes[cut] ?? 0) & 0xc0) === 0x80 ? end : cut;
}
