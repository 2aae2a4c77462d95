// OpenAI's Responses API: requests and streams. Shapes are those of the `openai` package 7.59
// (resources/responses). Nothing is stored on the server: every request carries the whole conversation, and
// reasoning goes back encrypted, in its place, unchanged, to the model that wrote it.
//
// Finished items are taken from `output_item.done`; those of `output_item.added` may be partial. Only completed,
// failed, incomplete and error end a stream: one that just stops is broken.

import type { ModelRequest } from '../ports.ts';
import type { Item, ToolSpec } from '../core/terms.ts';
import type { Block, StopReason, Usage } from '../protocol/entry.ts';
import type { JsonObject } from '../protocol/json.ts';
import { keyHeaders } from './azure.ts';
import { callId } from './callId.ts';
import { cacheKey } from './chat.ts';
import {
  broken,
  callInput,
  countOf,
  fromModel,
  isObject,
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

export const responses: Dialect = {
  path: () => '/responses',
  listPath: '/models',
  headers: keyHeaders,
  encode,
  decoder: (target) => new ResponseDecoder(target),
};

// ---------------------------------------------------------------- request

const toolForms = new WeakMap<readonly ToolSpec[], string>();

/** Not strict: strict schemas must list every property as required, which ours do not. */
export const toolForm = (tool: ToolSpec) => ({
  type: 'function' as const,
  name: tool.name,
  description: tool.description,
  parameters: { ...tool.schema },
  strict: false,
});

export const userForm = (text: string) => ({
  type: 'message' as const,
  role: 'user' as const,
  content: text,
});

const ids = { pattern: /^[\x21-\x7e]{1,64}$/, length: 24 };

export const resultForm = (item: Extract<Item, { kind: 'result' }>) => ({
  type: 'function_call_output' as const,
  call_id: callId(item.key, ids),
  output: item.ok ? item.text : `[error] ${item.text}`,
});

/** A block of an answer as it goes back; null for what this target must not get. */
export function answerForm(block: Block, model: string, target: Target) {
  const own = fromModel(model, target);
  switch (block.kind) {
    case 'text': {
      if (block.text === '') return null;
      const phase = own ? block.opaque?.['phase'] : undefined;
      const message = { type: 'message' as const, role: 'assistant' as const, content: block.text };
      return phase === 'commentary' || phase === 'final_answer' ? { ...message, phase } : message;
    }
    case 'call':
      return {
        type: 'function_call' as const,
        call_id: callId(block.key, ids),
        name: block.tool,
        arguments: JSON.stringify(callInput(block.input)),
      };
    case 'thinking': {
      const item = block.opaque?.['item'];
      return own && block.provider === target.provider && isObject(item) && isWhole(item) ? item : null;
    }
  }
}

/** A reasoning item that says nothing by itself names one that the server has not stored, and would be refused. */
const isWhole = (item: JsonObject): boolean =>
  textOf(item['encrypted_content']) !== '' || listOf(item['content']).length > 0;

/**
 * Models that reason, by their names; others answer 400 when encrypted reasoning is asked for. Azure's deployments are
 * named by people, who mostly keep the model's name; its gpt-35 is older than it looks.
 */
const reasons = /(?:^|[-_.])(?:o[1-9]|gpt-(?!35)(?:[5-9]|\d\d)|codex)(?![\w.-]*-chat)/;

function encode(request: ModelRequest, target: Target): Pieces {
  const { system, tools } = request;
  const head = [
    `"model":${JSON.stringify(target.model)}`,
    '"stream":true',
    '"store":false',
    ...(reasons.test(target.model) ? ['"include":["reasoning.encrypted_content"]'] : []),
    `"max_output_tokens":${request.maxOutputTokens}`,
    `"prompt_cache_key":${JSON.stringify(cacheKey(request.cacheKey))}`,
    ...(system === '' ? [] : [`"instructions":${JSON.stringify(system)}`]),
    ...(tools.length === 0
      ? []
      : ['"parallel_tool_calls":true', `"tools":${toolsText(toolForms, tools, toolForm)}`]),
  ];
  return pieces(`{${head.join(',')},"input":[`, request, new InputWriter(target), ']}');
}

class InputWriter implements ItemWriter {
  private readonly target: Target;
  private first = true;

  constructor(target: Target) {
    this.target = target;
  }

  take(item: Item): string {
    switch (item.kind) {
      case 'user':
        return this.put(userForm(item.text));
      case 'result':
        return this.put(resultForm(item));
      case 'answer':
        return withoutOpenThought(item.blocks)
          .map((block) => this.put(answerForm(block, item.model, this.target)))
          .join('');
    }
  }

  end(): string {
    return '';
  }

  private put(form: object | null): string {
    if (form === null) return '';
    const text = `${this.first ? '' : ','}${JSON.stringify(form)}`;
    this.first = false;
    return text;
  }
}

// ---------------------------------------------------------------- stream

/** An output item while it comes: what its deltas said until it is finished. */
interface Part {
  item: JsonObject;
  done: boolean;
  text: string;
}

class ResponseDecoder implements Decoder {
  private readonly provider: string;
  private readonly parts = new Map<number, Part>();

  constructor(target: Target) {
    this.provider = target.provider;
  }

  take(event: StreamEvent): readonly Step[] {
    const data = parseObject(event.data);
    if (data === null) return end(broken('An event of the stream is no JSON.'));
    const index = countOf(data['output_index']);
    switch (textOf(data['type']) || event.type) {
      case 'response.output_item.added':
        this.parts.set(index, { item: objectOf(data['item']), done: false, text: '' });
        return nothing;
      case 'response.output_item.done':
        this.parts.set(index, { item: objectOf(data['item']), done: true, text: '' });
        return nothing;
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        return this.delta(index, 'text', data);
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return this.delta(index, 'thinking', data);
      case 'response.function_call_arguments.delta':
        this.delta(index, 'text', data);
        return nothing;
      case 'response.completed':
      case 'response.incomplete':
        return end(this.answer(objectOf(data['response'])));
      case 'response.failed':
      case 'error':
        return end({ kind: 'error', error: data });
      default:
        // Progress of items and parts, sequence numbers, and whatever the API adds.
        return isObject(data['error']) ? end({ kind: 'error', error: data }) : nothing;
    }
  }

  whole(value: JsonObject): Ending {
    if (isObject(value['error']) || value['status'] === 'failed') return { kind: 'error', error: value };
    if (value['object'] !== 'response') return broken('The body is no response of this API.');
    return this.answer(value);
  }

  end(): Ending {
    return broken('The stream ended before response.completed.');
  }

  private delta(index: number, kind: 'text' | 'thinking', data: JsonObject): readonly Step[] {
    const text = textOf(data['delta']);
    const part = this.parts.get(index);
    if (part !== undefined) part.text += text;
    return text === '' ? nothing : [{ kind, text }];
  }

  private answer(response: JsonObject): Ending {
    // A server that sends no items on the way has them all in its last event.
    if (this.parts.size === 0) {
      listOf(response['output']).forEach((item, index) => {
        this.parts.set(index, { item: objectOf(item), done: true, text: '' });
      });
    }
    const indexes = [...this.parts.keys()].sort((a, b) => a - b);
    const parts = indexes.flatMap((index) => this.parts.get(index) ?? []);
    const blocks = parts.flatMap((part) => this.blocksOf(part));
    const refused = parts.some((part) =>
      listOf(part.item['content']).some((each) => objectOf(each)['type'] === 'refusal'),
    );
    const why = textOf(objectOf(response['incomplete_details'])['reason']);
    return {
      kind: 'answer',
      blocks,
      stop: stopOf(why, refused, blocks),
      usage: usageOf(objectOf(response['usage'])),
    };
  }

  private blocksOf(part: Part): Block[] {
    const { item } = part;
    switch (textOf(item['type'])) {
      case 'message': {
        const said = listOf(item['content']).map(
          (each) => textOf(objectOf(each)['text']) || textOf(objectOf(each)['refusal']),
        );
        const text = part.done ? said.join('') : part.text;
        const phase = textOf(item['phase']);
        if (text === '') return [];
        return [phase === '' ? { kind: 'text', text } : { kind: 'text', text, opaque: { phase } }];
      }
      case 'reasoning': {
        // One that was cut off is signed for nothing, and would be refused when it came back.
        if (!part.done) return [];
        const summary = listOf(item['summary']).map((each) => textOf(objectOf(each)['text']));
        const content = listOf(item['content']).map((each) => textOf(objectOf(each)['text']));
        const text = (summary.length > 0 ? summary : content).join('\n\n');
        return [{ kind: 'thinking', text, provider: this.provider, opaque: { item: returned(item) } }];
      }
      case 'function_call': {
        const input = part.done ? textOf(item['arguments']) : part.text;
        return [{ kind: 'call', key: textOf(item['call_id']), tool: textOf(item['name']), input }];
      }
      default:
        return [];
    }
  }
}

/** A reasoning item as the API takes it back: without its status, which is for reading only. */
function returned(item: JsonObject): JsonObject {
  const { status: _, ...rest } = item;
  return rest;
}

const end = (ending: Ending): readonly Step[] => [{ kind: 'end', ending }];

function stopOf(why: string, refused: boolean, blocks: readonly Block[]): StopReason {
  if (why === 'content_filter' || refused) return 'refusal';
  if (why !== '') return 'length';
  return blocks.some((block) => block.kind === 'call') ? 'calls' : 'end';
}

function usageOf(usage: JsonObject): Usage | null {
  const input = countOf(usage['input_tokens']);
  const output = countOf(usage['output_tokens']);
  if (input === 0 && output === 0) return null;
  const details = objectOf(usage['input_tokens_details']);
  return {
    input,
    output,
    cacheRead: Math.min(input, countOf(details['cached_tokens'])),
    cacheWrite: countOf(details['cache_write_tokens']),
  };
}
