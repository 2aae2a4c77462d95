// Anthropic's Messages API: its requests; its streams are in anthropicStream.ts. Shapes and rules are those of @anthropic-ai/sdk 1.14
// (resources/messages) and of the documentation pages on streaming, thinking with tools and prompt caching.
//
// Signed reasoning goes back, unchanged and in its place, to the model that wrote it; to any other it is left
// out. At most four cache marks: the last tool, the system prompt, and the last block of the two newest user
// messages, so that a request finds what the one before it wrote even when twenty blocks lie between.

import type { ModelRequest } from '../ports.ts';
import type { Item, ToolSpec } from '../core/terms.ts';
import type { Block } from '../protocol/entry.ts';
import { limits } from '../runtime/limits.ts';
import { MessageDecoder } from './anthropicStream.ts';
import { callId } from './callId.ts';
import {
  callInput,
  fromModel,
  pieces,
  textOf,
  toolsText,
  withoutOpenThought,
  type Dialect,
  type ItemWriter,
  type Pieces,
  type Target,
} from './dialect.ts';

export const anthropic: Dialect = {
  path: () => '/v1/messages',
  listPath: '/v1/models',
  headers: (key) => ({ 'anthropic-version': '2023-06-01', ...(key === null ? {} : { 'x-api-key': key }) }),
  encode,
  decoder: (target) => new MessageDecoder(target),
};

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
