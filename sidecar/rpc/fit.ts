// Keeps what a client is sent within a frame (limits.frameBytes): a list stops early, a single text that is longer
// than a frame is cut and says so. The store keeps the whole; blobs are read in ranges.

import type { AttentionState } from '../protocol/attention.ts';
import type { Block, Entry, EntryBody } from '../protocol/entry.ts';
import type { RequestRow } from '../protocol/request.ts';
import { limits } from '../runtime/limits.ts';

/** Room for the frame around what is measured. */
const slackBytes = 1_024;

/** What one frame may hold besides its own fields. */
export const roomBytes = limits.frameBytes - slackBytes;

/** Bytes of a value as JSON. */
export const sizeBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** The first items that fit into `bytes` together; at least one, so that a list always gets on. */
export function takeFitting<T>(items: readonly T[], bytes: number): readonly T[] {
  let used = 0;
  const end = items.findIndex((item, index) => {
    used += sizeBytes(item) + 1;
    return bytes < used && 0 < index;
  });
  return end === -1 ? items : items.slice(0, end);
}

/** The last items that fit into `bytes` together; at least one. */
export function takeNewest<T>(items: readonly T[], bytes: number): readonly T[] {
  return takeFitting(items.toReversed(), bytes).toReversed();
}

/** An entry that fits into a frame: its longest texts are cut when it does not. */
export function fitEntry(entry: Entry, bytes: number = roomBytes): Entry {
  if (sizeBytes(entry) <= bytes) return entry;
  const texts = entry.body.kind === 'answer' ? entry.body.blocks.length : 1;
  // A character is at most six bytes of JSON; opaque reasoning is no text for people and goes.
  const chars = Math.max(100, Math.floor(bytes / 6 / texts) - 100);
  return { ...entry, body: cutBody(entry.body, chars) };
}

function cutBody(body: EntryBody, chars: number): EntryBody {
  if (body.kind !== 'answer') return { ...body, text: cutText(body.text, chars) };
  return { ...body, blocks: body.blocks.map((block) => cutBlock(block, chars)) };
}

function cutBlock(block: Block, chars: number): Block {
  switch (block.kind) {
    case 'text':
      return { kind: 'text', text: cutText(block.text, chars) };
    case 'thinking':
      return { kind: 'thinking', text: cutText(block.text, chars), provider: block.provider };
    case 'call':
      return { ...block, input: cutText(block.input, chars) };
  }
}

/** Requests whose details together fit: each gets its share, and says what is missing. */
export function fitRequests(rows: readonly RequestRow[], bytes: number = roomBytes): readonly RequestRow[] {
  if (sizeBytes(rows) <= bytes) return rows;
  const chars = Math.max(100, Math.floor(bytes / 12 / rows.length));
  return rows.map((row) => ({
    ...row,
    title: cutText(row.title, chars),
    detail: cutText(row.detail, chars),
  }));
}

/** The attention view, within a frame. */
export function fitAttention(state: AttentionState): AttentionState {
  if (sizeBytes(state) <= roomBytes) return state;
  return {
    ...state,
    requests: fitRequests(state.requests, roomBytes / 2),
    reviews: takeFitting(state.reviews, roomBytes / 4),
    failed: takeFitting(state.failed, roomBytes / 4),
  };
}

/** At most about `chars` characters, never half of a surrogate pair; says how much is missing. */
export function cutText(text: string, chars: number): string {
  if (text.length <= chars) return text;
  const last = text.charCodeAt(chars - 1);
  const end = 0xd800 <= last && last <= 0xdbff ? chars - 1 : chars;
  return `${text.slice(0, end)}… [${text.length - end} more characters]`;
}
