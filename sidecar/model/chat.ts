// Chat completions, as OpenAI made it and many others speak it: requests. Shapes are those of the `openai` package
// 7.59 (resources/chat/completions); what servers differ in when they are asked is in hosts.ts, what they differ
// in when they answer is read in chatStream.ts.

import type { ModelRequest } from '../ports.ts';
import type { Item, ToolSpec } from '../core/terms.ts';
import type { Block } from '../protocol/entry.ts';
import type { JsonObject } from '../protocol/json.ts';
import { keyHeaders } from './azure.ts';
import { callId } from './callId.ts';
import { ChatDecoder, reasoningFields } from './chatStream.ts';
import {
  callInput,
  fromModel,
  listOf,
  pieces,
  textOf,
  toolsText,
  type Dialect,
  type ItemWriter,
  type Pieces,
  type Target,
} from './dialect.ts';
import { habitsOf, type Habits } from './hosts.ts';

export const chat: Dialect = {
  path: () => '/chat/completions',
  listPath: '/models',
  headers: keyHeaders,
  encode,
  decoder: (target) => new ChatDecoder(target),
};

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
