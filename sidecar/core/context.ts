// From transcript rows to what a model is sent, and the check that it is well-formed.

import type { EntryBody } from '../protocol/entry.ts';
import type { BlobId } from '../protocol/ids.ts';
import type { Item } from './terms.ts';
import { invariant } from './assert.ts';
import { wellFormed } from './text.ts';

/** What a model reads behind a task whose result must fit a schema. */
export const schemaWords = (schema: string): string =>
  `\n\n[roost] When you are done, hand in your result with submit_result, and then end your turn. It must fit this JSON Schema:\n${schema}`;

/** The item of one entry; null for entries that are not sent. `schemaText` reads the schema that one names. */
export function itemOf(body: EntryBody, schemaText: (blob: BlobId) => string): Item | null {
  switch (body.kind) {
    case 'user': {
      const schema = body.schema === undefined ? '' : schemaWords(schemaText(body.schema));
      return { kind: 'user', text: wellFormed(body.text + schema) };
    }
    case 'notice':
    case 'note':
    case 'rewind':
      return { kind: 'user', text: wellFormed(body.text) };
    case 'answer':
      return { kind: 'answer', model: body.model, blocks: body.blocks };
    case 'result':
      return {
        kind: 'result',
        key: body.key,
        tool: body.tool,
        ok: body.status === 'ok',
        text: wellFormed(body.text),
      };
    case 'end':
      return null;
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
