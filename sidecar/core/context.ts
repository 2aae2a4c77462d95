// From transcript rows to what a model is sent, and the check that it is well-formed.
//
// A transcript only grows. What of it is sent is said by a view: the newest entry of kind `context` holds it, and
// everything that is left out stays where it is, is shown, and can be read back with the tool `history`.
// Not here: when a view is changed and to what (room.ts).

import type { Block, ContextView, EntryBody } from '../protocol/entry.ts';
import type { BlobId } from '../protocol/ids.ts';
import type { Item } from './terms.ts';
import { invariant } from './assert.ts';
import { utf8Bytes, wellFormed } from './text.ts';

/** What a model reads behind a task whose result must fit a schema. */
export const schemaWords = (schema: string): string =>
  `\n\n[roost] When you are done, hand in your result with submit_result, and then end your turn. It must fit this JSON Schema:\n${schema}`;

/** All of a transcript is sent. */
export const wholeView: ContextView = {
  from: 0,
  kept: [],
  summary: 0,
  elided: 0,
  cutTo: 0,
  cutBytes: 0,
  plain: 0,
};

export interface Sending {
  readonly view: ContextView;
  /** Reads the schema that an entry names. */
  readonly schemaText: (blob: BlobId) => string;
}

/** The item of one entry under a view; null for entries that are not sent. */
export function itemOf(entry: number, body: EntryBody, { view, schemaText }: Sending): Item | null {
  const most = entry <= view.cutTo ? view.cutBytes : Number.POSITIVE_INFINITY;
  switch (body.kind) {
    case 'user': {
      // A schema is never cut: no result could fit the rest of it.
      const schema = body.schema === undefined ? '' : schemaWords(schemaText(body.schema));
      return { kind: 'user', text: wellFormed(cut(body.text, most, entry) + schema) };
    }
    case 'notice':
    case 'note':
    case 'rewind':
      return { kind: 'user', text: cut(wellFormed(body.text), most, entry) };
    case 'answer': {
      const sent =
        entry <= view.plain ? body.blocks.filter((block) => block.kind !== 'thinking') : body.blocks;
      const blocks =
        entry <= view.plain || entry <= view.cutTo ? sent.map((each) => plain(each, most, entry)) : sent;
      return { kind: 'answer', model: body.model, blocks };
    }
    case 'result': {
      const text = entry <= view.elided ? elided(body.text, entry) : cut(wellFormed(body.text), most, entry);
      return { kind: 'result', key: body.key, tool: body.tool, ok: body.status === 'ok', text };
    }
    case 'context':
    case 'end':
      return null;
  }
}

/** The message that stands for what is left out: of an entry that holds a summary. */
export function summaryItem(text: string): Item {
  return { kind: 'user', text: `${summaryHead}\n\n${wellFormed(text)}\n\n${summaryTail}` };
}

const summaryHead =
  '[roost] The conversation up to here is left out, because it no longer fits. What follows stands for it:';
const summaryTail =
  '[roost] That was the summary. What was left out can be read with the tool history. Go on from here, and do not do again what is done.';

/** Bytes that a text takes which is left out: what stands for it is shorter than this. */
export const elidedBytes = 160;

function elided(text: string, entry: number): string {
  if (utf8Bytes(text) <= elidedBytes) return wellFormed(text);
  return `[elided, read with history: entry ${entry}, ${utf8Bytes(text)} bytes]`;
}

/** A text of at most about `most` bytes: how it began and how it ended. */
function cut(text: string, most: number, entry: number): string {
  if (text.length <= most && utf8Bytes(text) <= most) return text;
  // Three bytes a character are enough for nearly every text; what is longer is cut a little too much.
  const chars = Math.max(32, Math.floor(most / (utf8Bytes(text) / text.length)) - elidedBytes);
  const first = wellFormed(text.slice(0, Math.floor(chars * 0.6)));
  const last = wellFormed(text.slice(text.length - Math.floor(chars * 0.4)));
  const left = utf8Bytes(text) - utf8Bytes(first) - utf8Bytes(last);
  return `${first}\n[elided, read with history: entry ${entry}, ${left} bytes]\n${last}`;
}

/** A block of an answer whose reasoning is not sent, or which is too long: without what only its provider reads. */
function plain(block: Block, most: number, entry: number): Block {
  switch (block.kind) {
    case 'text':
      return { kind: 'text', text: cut(block.text, most, entry) };
    case 'call': {
      const { key, tool, input } = block;
      if (utf8Bytes(input) <= most) return { kind: 'call', key, tool, input };
      const stub = { elided: `read with history: entry ${entry}, ${utf8Bytes(input)} bytes` };
      return { kind: 'call', key, tool, input: JSON.stringify(stub) };
    }
    case 'thinking':
      return block;
  }
}

/**
 * Follows a conversation item by item and asserts what every provider demands: each call is answered exactly
 * once, after the answer that asks for it and before the next answer (case 99). Keeps the open keys only.
 */
export class HistoryCheck {
  private readonly open = new Set<string>();

  see(item: Item): void {
    switch (item.kind) {
      case 'answer':
        invariant(this.open.size === 0, 'every call has its result before the next answer', {
          open: [...this.open],
        });
        for (const block of item.blocks) if (block.kind === 'call') this.open.add(block.key);
        return;
      case 'result':
        invariant(this.open.delete(item.key), 'a result answers an open call', { key: item.key });
        return;
      case 'user':
        return;
    }
  }

  end(): void {
    invariant(this.open.size === 0, 'every call has its result before the next request', {
      open: [...this.open],
    });
  }
}
