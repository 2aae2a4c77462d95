// The stream of Anthropic's Messages API, read into one answer. Unknown events and blocks are skipped, as its
// documentation asks; what has no message_stop has not ended.

import type { Block, StopReason, Usage } from '../protocol/entry.ts';
import type { JsonObject } from '../protocol/json.ts';
import {
  broken,
  countOf,
  listOf,
  nothing,
  objectOf,
  parseObject,
  textOf,
  type Decoder,
  type Ending,
  type Step,
  type StreamEvent,
  type Target,
} from './dialect.ts';

type Part =
  | { kind: 'text'; text: string }
  | { kind: 'thinking'; text: string; signature: string }
  | { kind: 'redacted'; data: string }
  | { kind: 'call'; key: string; tool: string; input: string; whole: JsonObject }
  | { kind: 'skipped' };

export class MessageDecoder implements Decoder {
  private readonly provider: string;
  /** By the index that events name; a Map because a server may skip numbers. */
  private readonly parts = new Map<number, Part>();
  private stopReason = '';
  private readonly usage = { seen: false, input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

  constructor(target: Target) {
    this.provider = target.provider;
  }

  take(event: StreamEvent): readonly Step[] {
    const data = parseObject(event.data);
    if (data === null) return end(broken('An event of the stream is no JSON.'));
    switch (textOf(data['type']) || event.type) {
      case 'message_start':
        this.count(objectOf(objectOf(data['message'])['usage']));
        return nothing;
      case 'content_block_start':
        return this.start(countOf(data['index']), objectOf(data['content_block']));
      case 'content_block_delta':
        return this.delta(countOf(data['index']), objectOf(data['delta']));
      case 'message_delta':
        this.stopReason = textOf(objectOf(data['delta'])['stop_reason']) || this.stopReason;
        this.count(objectOf(data['usage']));
        return nothing;
      case 'message_stop':
        return end(this.answer());
      case 'error':
        return end({ kind: 'error', error: data });
      default:
        // ping, content_block_stop, and whatever the API adds: unknown events are to be ignored.
        return nothing;
    }
  }

  whole(value: JsonObject): Ending {
    if (value['type'] === 'error') return { kind: 'error', error: value };
    if (value['type'] !== 'message') return broken('The body is no message of this API.');
    listOf(value['content']).forEach((block, index) => void this.start(index, objectOf(block)));
    this.stopReason = textOf(value['stop_reason']);
    this.count(objectOf(value['usage']));
    return this.answer();
  }

  end(): Ending {
    return broken('The stream ended before message_stop.');
  }

  private start(index: number, block: JsonObject): readonly Step[] {
    switch (textOf(block['type'])) {
      case 'text': {
        const text = textOf(block['text']);
        this.parts.set(index, { kind: 'text', text });
        return text === '' ? nothing : [{ kind: 'text', text }];
      }
      case 'thinking': {
        const text = textOf(block['thinking']);
        this.parts.set(index, { kind: 'thinking', text, signature: textOf(block['signature']) });
        return text === '' ? nothing : [{ kind: 'thinking', text }];
      }
      case 'redacted_thinking':
        this.parts.set(index, { kind: 'redacted', data: textOf(block['data']) });
        return nothing;
      case 'tool_use':
        this.parts.set(index, {
          kind: 'call',
          key: textOf(block['id']),
          tool: textOf(block['name']),
          input: '',
          whole: objectOf(block['input']),
        });
        return nothing;
      default:
        this.parts.set(index, { kind: 'skipped' });
        return nothing;
    }
  }

  private delta(index: number, delta: JsonObject): readonly Step[] {
    const part = this.parts.get(index);
    if (part === undefined) return end(broken('A delta came for a block that was never started.'));
    const type = delta['type'];
    if (part.kind === 'text' && type === 'text_delta') {
      part.text += textOf(delta['text']);
      return [{ kind: 'text', text: textOf(delta['text']) }];
    }
    if (part.kind === 'thinking' && type === 'thinking_delta') {
      part.text += textOf(delta['thinking']);
      return [{ kind: 'thinking', text: textOf(delta['thinking']) }];
    }
    if (part.kind === 'thinking' && type === 'signature_delta') part.signature += textOf(delta['signature']);
    if (part.kind === 'call' && type === 'input_json_delta') part.input += textOf(delta['partial_json']);
    return nothing;
  }

  /** Counts are cumulative: a later number replaces an earlier one, a missing or null one does not. */
  private count(usage: JsonObject): void {
    const read = (field: string, before: number): number =>
      typeof usage[field] === 'number' ? countOf(usage[field]) : before;
    this.usage.seen ||= Object.keys(usage).length > 0;
    this.usage.input = read('input_tokens', this.usage.input);
    this.usage.output = read('output_tokens', this.usage.output);
    this.usage.cacheRead = read('cache_read_input_tokens', this.usage.cacheRead);
    this.usage.cacheWrite = read('cache_creation_input_tokens', this.usage.cacheWrite);
  }

  private answer(): Ending {
    const indexes = [...this.parts.keys()].sort((a, b) => a - b);
    const blocks = indexes.flatMap((index) => this.blockOf(this.parts.get(index)));
    if (this.stopReason === 'model_context_window_exceeded' && blocks.length === 0) {
      return {
        kind: 'error',
        error: { type: 'context_length_exceeded', message: 'The model has no room left to answer.' },
      };
    }
    return { kind: 'answer', blocks, stop: stopOf(this.stopReason, blocks), usage: this.counted() };
  }

  private blockOf(part: Part | undefined): Block[] {
    switch (part?.kind) {
      case 'text':
        return part.text === '' ? [] : [{ kind: 'text', text: part.text }];
      case 'thinking': {
        const { text, signature } = part;
        return [
          { kind: 'thinking', text, provider: this.provider, ...(signature === '' ? {} : { signature }) },
        ];
      }
      case 'redacted':
        return [{ kind: 'thinking', text: '', provider: this.provider, opaque: { data: part.data } }];
      case 'call': {
        const { key, tool, whole } = part;
        const input = part.input === '' ? JSON.stringify(whole) : part.input;
        return [{ kind: 'call', key, tool, input }];
      }
      case 'skipped':
      case undefined:
        return [];
    }
  }

  private counted(): Usage | null {
    const { seen, input, output, cacheRead, cacheWrite } = this.usage;
    // This API counts cached tokens beside the input; the neutral form counts them within.
    return seen ? { input: input + cacheRead + cacheWrite, output, cacheRead, cacheWrite } : null;
  }
}

const end = (ending: Ending): readonly Step[] => [{ kind: 'end', ending }];

function stopOf(reason: string, blocks: readonly Block[]): StopReason {
  switch (reason) {
    case 'max_tokens':
    case 'model_context_window_exceeded':
      return 'length';
    case 'refusal':
      return 'refusal';
    case 'pause_turn':
      return 'pause';
    default:
      return blocks.some((block) => block.kind === 'call') ? 'calls' : 'end';
  }
}
