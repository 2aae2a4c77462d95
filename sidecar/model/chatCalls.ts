// Puts the calls of a chat stream together from their pieces. Servers that follow the book give each call an
// index and name its id once; others say index 0 for all, leave ids out, repeat them with every piece, or send
// each call whole. A piece belongs to a call by its id first, by its index second, and starts a new call when
// neither fits.

import type { Block } from '../protocol/entry.ts';
import type { JsonObject } from '../protocol/json.ts';
import { isObject, objectOf, parseObject, textOf } from './dialect.ts';

interface CallPart {
  readonly index: number | null;
  id: string;
  name: string;
  input: string;
  extra: JsonObject | null;
}

export class CallParts {
  private readonly parts: CallPart[] = [];

  take(piece: JsonObject): void {
    const called = objectOf(piece['function']);
    const id = textOf(piece['id']);
    const name = textOf(called['name']);
    const given = called['arguments'];
    const input = isObject(given) ? JSON.stringify(given) : textOf(given);
    const index = typeof piece['index'] === 'number' ? piece['index'] : null;
    const part = this.find({ id, index, starts: name !== '' && input !== '' }) ?? this.open(index);
    if (part.id === '') part.id = id;
    if (part.name === '') part.name = name;
    part.input += input;
    // Gemini's compatible endpoint signs calls here, and wants the signature back with them.
    if (isObject(piece['extra_content'])) part.extra = { extra_content: piece['extra_content'] };
  }

  /** The calls in order. A missing id stays empty: who stores the answer names it. Arguments are as received. */
  blocks(): Extract<Block, { kind: 'call' }>[] {
    return this.parts.map((part) => {
      const block = {
        kind: 'call' as const,
        key: part.id,
        tool: part.name,
        input: part.input === '' ? '{}' : part.input,
      };
      return part.extra === null ? block : { ...block, opaque: part.extra };
    });
  }

  private find(piece: { id: string; index: number | null; starts: boolean }): CallPart | undefined {
    const { id, index, starts } = piece;
    if (id !== '') {
      const same = this.parts.findLast((part) => part.id === id);
      if (same !== undefined) return same;
      // A new id at a known index is a new call, unless that call is still waiting for its id.
      return this.parts.findLast((part) => part.index === index && part.id === '' && part.input === '');
    }
    const last = index === null ? this.parts.at(-1) : this.parts.findLast((part) => part.index === index);
    // A name and arguments after complete arguments: the next call of a server that gives neither ids nor indexes.
    const startsAnew = starts && last !== undefined && last.input !== '' && parseObject(last.input) !== null;
    return startsAnew ? undefined : last;
  }

  private open(index: number | null): CallPart {
    const part: CallPart = { index, id: '', name: '', input: '', extra: null };
    this.parts.push(part);
    return part;
  }
}
