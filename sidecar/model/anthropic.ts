// Anthropic's Messages API: requests and streams. Shapes and rules are those of @anthropic-ai/sdk 1.14
// (resources/messages) and of the documentation pages on streaming, thinking with tools and prompt caching.
//
// Signed reasoning goes back, unchanged and in its place, to the model that wrote it; to any other it is left
// out. At most four cache marks: the last tool, the system prompt, and the last block of the two newest user
// messages, so that a request finds what the one before it wrote even when twenty blocks lie between.

import type { ModelRequest } from '../ports.ts';
import type { Item, ToolSpec } from '../core/terms.ts';
import type { Block, StopReason, Usage } from '../protocol/entry.ts';
import type { JsonObject } from '../protocol/json.ts';
import { limits } from '../runtime/limits.ts';
import { callId } from './callId.ts';
import {
  broken,
  callInput,
  countOf,
  fromModel,
  listOf,
  nothing,
  objectOf,
  parseObject,
  pieces,
  textOf,
  toolsText,
  withoutOpenThought,
  type Decoder,
  type Dialect,
  type Ending,
  type ItemWriter,
  type Pieces,
  type Step,
  type StreamEvent,
  type Target,
} from './dialect.ts';

export const anthropic: Dialect = {
  path: '/v1/messages',
  headers: (key) => ({ 'anthropic-version': '2023-06-01', ...(key === null ? {} : { 'x-api-key': key }) }),
  encode,
  decoder: (target) => new MessageDecoder(target),
};

// ---------------------------------------------------------------- request

const cacheMark = { cache_control: { type: 'ephemeral' as const } };

const toolForms = new WeakMap<readonly ToolSpec[], string>();

/** A tool as this API is offered it. The last one carries the cache mark for all of them. */
export const toolForm = (tool: ToolSpec, last: boolean) => ({
  name: tool.name,
  description: tool.description,
  input_schema: { type: 'object' as const, ...tool.schema },
  ...(last ? cacheMark : {}),
});

export const systemForm = (text: string) => ({ type: 'text' as const, text, ...cacheMark });

export const userForm = (text: string) => ({
  type: 'text' as const,
  text: text.trim() === '' ? '(empty)' : text,
});

/** A result without text is sent without content: the API refuses empty text blocks. */
export const resultForm = (item: Extract<Item, { kind: 'result' }>) => ({
  type: 'tool_result' as const,
  tool_use_id: callId(item.key, anthropicIds),
  ...(item.text === '' ? {} : { content: item.text }),
  ...(item.ok ? {} : { is_error: true }),
});

const anthropicIds = { pattern: /^[a-zA-Z0-9_-]{1,64}$/, length: 24 };

/** A block of an answer as it goes back; null for what this target must not get. */
export function answerForm(block: Block, model: string, target: Target) {
  switch (block.kind) {
    case 'text':
      return block.text.trim() === '' ? null : { type: 'text' as const, text: block.text };
    case 'call':
      return {
        type: 'tool_use' as const,
        id: callId(block.key, anthropicIds),
        name: block.tool,
        input: callInput(block.input),
      };
    case 'thinking': {
      if (block.provider !== target.provider || !fromModel(model, target)) return null;
      const data = textOf(block.opaque?.['data']);
      if (data !== '') return { type: 'redacted_thinking' as const, data };
      if (block.signature === undefined) return null;
      return { type: 'thinking' as const, thinking: block.text, signature: block.signature };
    }
  }
}

function encode(request: ModelRequest, target: Target): Pieces {
  const { system, tools } = request;
  const head = [
    `"model":${JSON.stringify(target.model)}`,
    `"max_tokens":${request.maxOutputTokens}`,
    '"stream":true',
    ...(tools.length === 0 ? [] : [`"tools":${toolsText(toolForms, tools, toolForm)}`]),
    ...(system === '' ? [] : [`"system":${JSON.stringify([systemForm(system)])}`]),
  ];
  return pieces(`{${head.join(',')},"messages":[`, request, new MessageWriter(target), ']}');
}

/** A last block of a user message, and all text that follows it: it may turn out to be one of the two newest. */
interface Held {
  readonly block: string;
  after: string;
}

class MessageWriter implements ItemWriter {
  private readonly target: Target;
  private role: 'none' | 'user' | 'assistant' = 'none';
  /** The newest block of the open user message: written when it is known whether it is the last. */
  private pending: string | null = null;
  private held: Held[] = [];
  private ready = '';
  private first = true;

  constructor(target: Target) {
    this.target = target;
  }

  take(item: Item): string {
    if (item.kind === 'user') this.user(JSON.stringify(userForm(item.text)));
    else if (item.kind === 'result') this.user(JSON.stringify(resultForm(item)));
    else {
      for (const block of withoutOpenThought(item.blocks)) {
        const form = answerForm(block, item.model, this.target);
        if (form !== null) this.assistant(JSON.stringify(form));
      }
    }
    const ready = this.ready;
    this.ready = '';
    return ready;
  }

  end(): string {
    this.close();
    const last = this.held.map(
      (each) => `${each.block.slice(0, -1)},${JSON.stringify(cacheMark).slice(1)}${each.after}`,
    );
    return this.ready + last.join('');
  }

  private user(block: string): void {
    if (this.role !== 'user') this.open('user');
    else if (this.pending !== null) this.put(`${this.pending},`);
    this.pending = block;
  }

  private assistant(block: string): void {
    if (this.role === 'assistant') this.put(`,${block}`);
    else {
      this.open('assistant');
      this.put(block);
    }
  }

  private open(role: 'user' | 'assistant'): void {
    this.close();
    this.put(`${this.first ? '' : ','}{"role":"${role}","content":[`);
    this.first = false;
    this.role = role;
  }

  private close(): void {
    if (this.pending !== null) {
      this.held.push({ block: this.pending, after: '' });
      this.pending = null;
      if (this.held.length > 2) this.release();
    }
    if (this.role !== 'none') this.put(']}');
    this.role = 'none';
  }

  private put(text: string): void {
    const last = this.held.at(-1);
    if (last === undefined) {
      this.ready += text;
      return;
    }
    last.after += text;
    const chars = this.held.reduce((sum, each) => sum + each.block.length + each.after.length, 0);
    if (chars > limits.cacheTailChars) this.release();
  }

  /** Lets the oldest held text go, unmarked. */
  private release(): void {
    const oldest = this.held.shift();
    if (oldest !== undefined) this.ready += oldest.block + oldest.after;
  }
}

// ---------------------------------------------------------------- stream

type Part =
  | { kind: 'text'; text: string }
  | { kind: 'thinking'; text: string; signature: string }
  | { kind: 'redacted'; data: string }
  | { kind: 'call'; key: string; tool: string; input: string; whole: JsonObject }
  | { kind: 'skipped' };

class MessageDecoder implements Decoder {
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
