// Chat completions, as OpenAI made it and many others speak it: requests and streams. Shapes are those of the
// `openai` package 7.59 (resources/chat/completions); what servers differ in when they are asked is in hosts.ts,
// what they differ in when they answer is read here, from all of them alike:
//
//  - null or empty `choices`, a delta without content, a chunk that has only usage, usage inside a choice;
//  - calls without an id, all with index 0, whole in one chunk, or with an object for arguments;
//  - reasoning in one of three fields, sometimes in two at once, or structured in `reasoning_details`;
//  - a stream that ends without [DONE], or with it and no finish reason;
//  - errors inside a stream that began with HTTP 200.

import type { ModelRequest } from '../ports.ts';
import type { Item, ToolSpec } from '../core/terms.ts';
import type { Block, StopReason, Usage } from '../protocol/entry.ts';
import type { Json, JsonObject } from '../protocol/json.ts';
import { callId } from './callId.ts';
import { CallParts } from './chatCalls.ts';
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
  type Decoder,
  type Dialect,
  type Ending,
  type ItemWriter,
  type Pieces,
  type Step,
  type StreamEvent,
  type Target,
} from './dialect.ts';
import { habitsOf, type Habits } from './hosts.ts';

export const chat: Dialect = {
  path: '/chat/completions',
  headers: (key): Record<string, string> => (key === null ? {} : { authorization: `Bearer ${key}` }),
  encode,
  decoder: (target) => new ChatDecoder(target),
};

// ---------------------------------------------------------------- request

const toolForms = new WeakMap<readonly ToolSpec[], string>();
const markedToolForms = new WeakMap<readonly ToolSpec[], string>();

const cacheMark = { cache_control: { type: 'ephemeral' as const } };

export const toolForm = (tool: ToolSpec) => ({
  type: 'function' as const,
  function: { name: tool.name, description: tool.description, parameters: { ...tool.schema } },
});

const markedToolForm = (tool: ToolSpec, last: boolean): object => ({
  ...toolForm(tool),
  ...(last ? cacheMark : {}),
});

const marked = (text: string) => [{ type: 'text' as const, text, ...cacheMark }];

export const systemForm = (text: string) => ({ role: 'system' as const, content: text });

export const userForm = (text: string) => ({ role: 'user' as const, content: text });

/** This dialect has no flag for a failed call, so the text says it. */
export const resultForm = (item: Extract<Item, { kind: 'result' }>, habits: Habits) => ({
  role: 'tool' as const,
  tool_call_id: callId(item.key, habits.ids),
  content: item.ok ? item.text : `[error] ${item.text}`,
});

/** An answer as it goes back; null when nothing of it may. */
export function answerForm(item: Extract<Item, { kind: 'answer' }>, target: Target, habits: Habits) {
  const text = item.blocks.flatMap((block) => (block.kind === 'text' ? [block.text] : [])).join('\n');
  const own = fromModel(item.model, target);
  const calls = item.blocks.flatMap((block) => {
    if (block.kind !== 'call') return [];
    const call = { name: block.tool, arguments: JSON.stringify(callInput(block.input)) };
    const form = { id: callId(block.key, habits.ids), type: 'function' as const, function: call };
    return [own && block.opaque !== undefined ? { ...block.opaque, ...form } : form];
  });
  if (text === '' && calls.length === 0) return null;
  const message = { role: 'assistant' as const, content: text === '' && calls.length > 0 ? null : text };
  return {
    ...message,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(calls.length > 0 && own ? reasoningForm(item.blocks, target, habits) : {}),
  };
}

/** Reasoning in the field it came in, or structured when it came so. */
function reasoningForm(blocks: readonly Block[], target: Target, habits: Habits): JsonObject {
  if (habits.reasoning === 'never') return {};
  const thoughts = blocks.flatMap((block) =>
    block.kind === 'thinking' && block.provider === target.provider ? [block] : [],
  );
  const details = listOf(
    thoughts.find((block) => block.opaque?.['reasoning_details'] !== undefined)?.opaque?.[
      'reasoning_details'
    ],
  );
  if (details.length > 0) return { reasoning_details: details };
  const text = thoughts.map((block) => block.text).join('\n');
  if (text === '' && habits.reasoning !== 'always') return {};
  const field = textOf(thoughts[0]?.opaque?.['field']);
  return { [reasoningFields.find((each) => each === field) ?? 'reasoning_content']: text };
}

function encode(request: ModelRequest, target: Target): Pieces {
  const { system, tools } = request;
  const habits = habitsOf(target.host);
  const marks = habits.marksFor?.test(target.model) ?? false;
  const head = [
    `"model":${JSON.stringify(target.model)}`,
    '"stream":true',
    ...(habits.asksUsage ? ['"stream_options":{"include_usage":true}'] : []),
    `"${habits.outputField}":${request.maxOutputTokens}`,
    ...(habits.cacheKey ? [`"prompt_cache_key":${JSON.stringify(cacheKey(request.cacheKey))}`] : []),
    ...(tools.length === 0
      ? []
      : [
          `"tools":${marks ? toolsText(markedToolForms, tools, markedToolForm) : toolsText(toolForms, tools, toolForm)}`,
        ]),
  ];
  const first =
    system === ''
      ? ''
      : JSON.stringify(marks ? { ...systemForm(system), content: marked(system) } : systemForm(system));
  const writer = new ChatWriter({ target, habits, marks, first });
  return pieces(`{${head.join(',')},"messages":[${first}`, request, writer, ']}');
}

const cacheKeyForm = { pattern: /^[\x21-\x7e]{1,64}$/, length: 32 };

/** OpenAI takes at most 64 characters. */
export const cacheKey = (key: string): string => callId(key, cacheKeyForm);

class ChatWriter implements ItemWriter {
  private readonly target: Target;
  private readonly habits: Habits;
  private readonly marks: boolean;
  private first: boolean;
  /** Where marks are set: the newest message that could carry one. */
  private held: { readonly role: string; readonly content: string } | null = null;

  constructor(how: {
    readonly target: Target;
    readonly habits: Habits;
    readonly marks: boolean;
    readonly first: string;
  }) {
    this.target = how.target;
    this.habits = how.habits;
    this.marks = how.marks;
    this.first = how.first === '';
  }

  take(item: Item): string {
    if (item.kind === 'answer') {
      const form = answerForm(item, this.target, this.habits);
      return form === null ? '' : this.release(false) + this.put(form);
    }
    const form = item.kind === 'user' ? userForm(item.text) : resultForm(item, this.habits);
    if (!this.marks || form.content === '') return this.release(false) + this.put(form);
    const before = this.release(false);
    this.held = form;
    return before;
  }

  end(): string {
    return this.release(true);
  }

  private release(last: boolean): string {
    const { held } = this;
    if (held === null) return '';
    this.held = null;
    return this.put(last ? { ...held, content: marked(held.content) } : held);
  }

  private put(form: object): string {
    const text = `${this.first ? '' : ','}${JSON.stringify(form)}`;
    this.first = false;
    return text;
  }
}

// ---------------------------------------------------------------- stream

const reasoningFields = ['reasoning_content', 'reasoning', 'reasoning_text'] as const;

class ChatDecoder implements Decoder {
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
