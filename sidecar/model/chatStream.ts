// The stream of chat completions, read into one answer, from all servers alike:
//
//  - null or empty `choices`, a delta without content, a chunk that has only usage, usage inside a choice;
//  - calls without an id, all with index 0, whole in one chunk, or with an object for arguments (chatCalls.ts);
//  - reasoning in one of three fields, sometimes in two at once, or structured in `reasoning_details`;
//  - a stream that ends without [DONE], or with it and no finish reason;
//  - errors inside a stream that began with HTTP 200.

import type { Block, StopReason, Usage } from '../protocol/entry.ts';
import type { Json, JsonObject } from '../protocol/json.ts';
import { CallParts } from './chatCalls.ts';
import {
  broken,
  countOf,
  isObject,
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

/** Where servers put reasoning; the first that is not empty counts. */
export const reasoningFields = ['reasoning_content', 'reasoning', 'reasoning_text'] as const;

export class ChatDecoder implements Decoder {
  private readonly provider: string;
  private text = '';
  private refusal = '';
  private thinking = '';
  private field = '';
  private readonly details: JsonObject[] = [];
  private readonly calls = new CallParts();
  private finish = '';
  private usage: Usage | null = null;

  constructor(target: Target) {
    this.provider = target.provider;
  }

  take(event: StreamEvent): readonly Step[] {
    if (event.data.trim() === '[DONE]') return [{ kind: 'end', ending: this.answer() }];
    const chunk = parseObject(event.data);
    if (chunk === null) return [{ kind: 'end', ending: broken('An event of the stream is no JSON.') }];
    const error = errorIn(chunk, event.type);
    if (error !== null) return [{ kind: 'end', ending: { kind: 'error', error } }];
    const choice = objectOf(listOf(chunk['choices'])[0]);
    this.count(chunk['usage'] ?? choice['usage'] ?? objectOf(chunk['x_groq'])['usage']);
    const steps = this.delta(objectOf(choice['delta']));
    const finish = textOf(choice['finish_reason']);
    if (finish !== '') this.finish = finish;
    if (finish === 'error')
      return [...steps, { kind: 'end', ending: { kind: 'error', error: choice['error'] ?? chunk } }];
    return steps;
  }

  whole(value: JsonObject): Ending {
    const error = errorIn(value, '');
    if (error !== null) return { kind: 'error', error };
    const choice = objectOf(listOf(value['choices'])[0]);
    if (!isObject(choice['message'])) return broken('The body is no chat completion.');
    this.delta(choice['message']);
    this.finish = textOf(choice['finish_reason']);
    this.count(value['usage']);
    return this.answer();
  }

  end(): Ending {
    // Some servers leave [DONE] out; an answer that named its reason to stop is complete without it.
    return this.finish === '' ? broken('The stream ended before the answer did.') : this.answer();
  }

  private delta(delta: JsonObject): readonly Step[] {
    const steps: Step[] = [];
    const think = (text: string): void => {
      this.thinking += text;
      steps.push({ kind: 'thinking', text });
    };
    const say = (text: string): void => {
      this.text += text;
      steps.push({ kind: 'text', text });
    };
    const field = reasoningFields.find((each) => textOf(delta[each]) !== '');
    if (field !== undefined) {
      this.field = field;
      think(textOf(delta[field]));
    }
    this.detail(listOf(delta['reasoning_details']), field === undefined ? think : null);
    if (textOf(delta['content']) !== '') say(textOf(delta['content']));
    // Mistral's reasoning models send content in parts.
    for (const part of listOf(delta['content']).map(objectOf)) {
      if (part['type'] === 'text' && textOf(part['text']) !== '') say(textOf(part['text']));
      for (const thought of listOf(part['thinking']).map(objectOf))
        if (textOf(thought['text']) !== '') think(textOf(thought['text']));
    }
    if (textOf(delta['refusal']) !== '') {
      this.refusal += textOf(delta['refusal']);
      say(textOf(delta['refusal']));
    }
    for (const call of listOf(delta['tool_calls'])) this.calls.take(objectOf(call));
    return steps.length === 0 ? nothing : steps;
  }

  /** OpenRouter's reasoning comes in pieces too: texts and summaries go on, encrypted ones stand alone. */
  private detail(details: readonly Json[], think: ((text: string) => void) | null): void {
    for (const detail of details.filter(isObject)) {
      const field =
        detail['type'] === 'reasoning.text'
          ? 'text'
          : detail['type'] === 'reasoning.summary'
            ? 'summary'
            : null;
      const last = this.details.at(-1);
      if (field !== null && last !== undefined && last['type'] === detail['type']) {
        const known = Object.fromEntries(Object.entries(detail).filter(([, value]) => value !== null));
        this.details[this.details.length - 1] = {
          ...last,
          ...known,
          [field]: textOf(last[field]) + textOf(detail[field]),
        };
      } else this.details.push(detail);
      if (field !== null && think !== null && textOf(detail[field]) !== '') think(textOf(detail[field]));
    }
  }

  private count(value: Json | undefined): void {
    const usage = objectOf(value);
    const input = countOf(usage['prompt_tokens']);
    const output = countOf(usage['completion_tokens']);
    // All zero means that the server does not know (case 177).
    if (input === 0 && output === 0) return;
    const details = objectOf(usage['prompt_tokens_details']);
    this.usage = {
      input,
      output,
      cacheRead: Math.min(
        input,
        countOf(details['cached_tokens']) || countOf(usage['prompt_cache_hit_tokens']),
      ),
      cacheWrite: countOf(details['cache_write_tokens']),
    };
  }

  private answer(): Ending {
    const blocks: Block[] = [];
    if (this.thinking !== '' || this.details.length > 0) {
      const opaque = this.details.length > 0 ? { reasoning_details: this.details } : { field: this.field };
      blocks.push({ kind: 'thinking', text: this.thinking, provider: this.provider, opaque });
    }
    if (this.text !== '') blocks.push({ kind: 'text', text: this.text });
    const calls = this.calls.blocks();
    blocks.push(...calls);
    const failure = failures[this.finish];
    if (failure !== undefined) return broken(failure);
    return {
      kind: 'answer',
      blocks,
      stop: stopOf(this.finish, this.refusal !== '', calls.length > 0),
      usage: this.usage,
    };
  }
}

const failures: Readonly<Record<string, string>> = {
  insufficient_system_resource: 'The server ran out of resources while it answered.',
  abort: 'The server gave the answer up.',
};

function stopOf(finish: string, refused: boolean, calls: boolean): StopReason {
  if (finish === 'length' || finish === 'model_length') return 'length';
  if (refused || finish === 'content_filter' || finish === 'refusal') return 'refusal';
  return calls ? 'calls' : 'end';
}

/** An error in place of a chunk: under `error`, as an event of that name, or as vLLM's bare object. */
function errorIn(chunk: JsonObject, type: string): Json | null {
  const { error } = chunk;
  if (error !== undefined && error !== null) return chunk;
  if (chunk['object'] === 'error' || type === 'error') return chunk;
  return null;
}
