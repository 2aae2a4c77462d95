// The chat dialect: streams as the SDK types them and as servers really send them, cut at every byte; requests
// against the SDK's types; what differs between hosts.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type OpenAI from 'openai';
import type { Item } from '../../sidecar/core/terms.ts';
import { answerForm, chat, resultForm, systemForm, toolForm, userForm } from '../../sidecar/model/chat.ts';
import type { Ending, Target } from '../../sidecar/model/dialect.ts';
import { habitsOf } from '../../sidecar/model/hosts.ts';
import type { Block } from '../../sidecar/protocol/entry.ts';
import { answer, bodyOf, readStream, requestOf, result, tools, user } from './conversation.ts';

const target: Target = { provider: 'openrouter', model: 'maker/model', host: 'openrouter.ai' };

const chunk = (delta: object | null, more: object = {}): object => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 0,
  model: 'm',
  choices: delta === null ? [] : [{ index: 0, delta, finish_reason: null, ...more }],
});

const bytesOf = (chunks: readonly (object | string)[]): Buffer =>
  Buffer.from(
    chunks.map((each) => `data: ${typeof each === 'string' ? each : JSON.stringify(each)}\n\n`).join(''),
  );

const finished = (reason: string): object => chunk({}, { finish_reason: reason });
const piece = (call: object): object => chunk({ tool_calls: [call] });
const read = (chunks: readonly (object | string)[]): Ending =>
  readStream(chat, target, bytesOf(chunks)).ending;

function blocksOf(ending: Ending): readonly Block[] {
  assert.equal(ending.kind, 'answer', JSON.stringify(ending));
  return ending.kind === 'answer' ? ending.blocks : [];
}

const callsOf = (ending: Ending): string[] =>
  blocksOf(ending).flatMap((block) =>
    block.kind === 'call' ? [`${block.key} ${block.tool} ${block.input}`] : [],
  );

// Typed by the SDK: a stream as its own server sends it.
const book: OpenAI.ChatCompletionChunk[] = [
  {
    id: 'c',
    object: 'chat.completion.chunk',
    created: 0,
    model: 'm',
    choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }],
  },
  {
    id: 'c',
    object: 'chat.completion.chunk',
    created: 0,
    model: 'm',
    choices: [{ index: 0, delta: { content: 'Größe 🦉' }, finish_reason: null }],
  },
  {
    id: 'c',
    object: 'chat.completion.chunk',
    created: 0,
    model: 'm',
    choices: [
      {
        index: 0,
        delta: {
          tool_calls: [
            { index: 0, id: 'call_a', type: 'function', function: { name: 'read', arguments: '' } },
          ],
        },
        finish_reason: null,
      },
    ],
  },
  {
    id: 'c',
    object: 'chat.completion.chunk',
    created: 0,
    model: 'm',
    choices: [
      {
        index: 0,
        delta: {
          tool_calls: [
            {
              index: 1,
              id: 'call_b',
              type: 'function',
              function: { name: 'shell', arguments: '{"command"' },
            },
          ],
        },
        finish_reason: null,
      },
    ],
  },
  {
    id: 'c',
    object: 'chat.completion.chunk',
    created: 0,
    model: 'm',
    choices: [
      {
        index: 0,
        delta: { tool_calls: [{ index: 0, function: { arguments: '{"path":"ä"}' } }] },
        finish_reason: null,
      },
    ],
  },
  {
    id: 'c',
    object: 'chat.completion.chunk',
    created: 0,
    model: 'm',
    choices: [
      {
        index: 0,
        delta: { tool_calls: [{ index: 1, function: { arguments: ':"ls"}' } }] },
        finish_reason: null,
      },
    ],
  },
  {
    id: 'c',
    object: 'chat.completion.chunk',
    created: 0,
    model: 'm',
    choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }],
  },
  {
    id: 'c',
    object: 'chat.completion.chunk',
    created: 0,
    model: 'm',
    choices: [],
    usage: {
      prompt_tokens: 90,
      completion_tokens: 8,
      total_tokens: 98,
      prompt_tokens_details: { cached_tokens: 64 },
    },
  },
];

describe('a stream', () => {
  const bytes = Buffer.concat([Buffer.from(': OPENROUTER PROCESSING\n\n'), bytesOf([...book, '[DONE]'])]);
  const whole = readStream(chat, target, bytes);

  test('gives text, parallel calls and the usage of its last chunk', () => {
    assert.deepEqual(whole, {
      text: 'Größe 🦉',
      thinking: '',
      ending: {
        kind: 'answer',
        stop: 'calls',
        usage: { input: 90, output: 8, cacheRead: 64, cacheWrite: 0 },
        blocks: [
          { kind: 'text', text: 'Größe 🦉' },
          { kind: 'call', key: 'call_a', tool: 'read', input: '{"path":"ä"}' },
          { kind: 'call', key: 'call_b', tool: 'shell', input: '{"command":"ls"}' },
        ],
      },
    });
  });

  test('gives the same however its bytes are cut', () => {
    for (let cut = 1; cut < bytes.length; cut++)
      assert.deepEqual(readStream(chat, target, bytes, [cut]), whole, `cut at ${cut}`);
    assert.deepEqual(readStream(chat, target, bytes, [...bytes.keys()]), whole, 'each byte alone');
  });

  test('that ends before its finish reason is broken, at whatever byte it ends', () => {
    const last = bytes.indexOf('"finish_reason":"tool_calls"');
    for (let length = 0; length <= last; length += 11) {
      assert.equal(
        readStream(chat, target, bytes.subarray(0, length)).ending.kind,
        'broken',
        `after ${length} bytes`,
      );
    }
  });
});

describe('odd streams (case 170)', () => {
  test('no [DONE] after the finish reason is complete; [DONE] without a reason too', () => {
    assert.deepEqual(blocksOf(read([chunk({ content: 'a' }), finished('stop')])), [
      { kind: 'text', text: 'a' },
    ]);
    assert.deepEqual(blocksOf(read([chunk({ content: 'a' }), '[DONE]'])), [{ kind: 'text', text: 'a' }]);
  });

  test('null choices, null delta, delta without content, usage inside the choice', () => {
    const ending = read([
      { choices: null },
      { choices: [{ index: 0, delta: null }] },
      chunk({ role: 'assistant' }),
      chunk({ content: null }),
      chunk({ content: 'a' }),
      chunk({}, { finish_reason: 'stop', usage: { prompt_tokens: 5, completion_tokens: 1 } }),
    ]);
    assert.deepEqual(ending, {
      kind: 'answer',
      stop: 'end',
      blocks: [{ kind: 'text', text: 'a' }],
      usage: { input: 5, output: 1, cacheRead: 0, cacheWrite: 0 },
    });
  });

  test('usage that is never sent, or all zero, is not known (case 177)', () => {
    const zero = { choices: [], usage: { prompt_tokens: 0, completion_tokens: 0 } };
    const ending = read([chunk({ content: 'a' }), finished('stop'), zero, '[DONE]']);
    assert.equal(ending.kind === 'answer' && ending.usage, null);
  });

  test('index 0 for every call: told apart by id', () => {
    const ending = read([
      piece({ index: 0, id: 'x', function: { name: 'read', arguments: '{"path":' } }),
      piece({ index: 0, function: { arguments: '"a"}' } }),
      piece({ index: 0, id: 'y', function: { name: 'read', arguments: '{"path":"b"}' } }),
      finished('tool_calls'),
    ]);
    assert.deepEqual(callsOf(ending), ['x read {"path":"a"}', 'y read {"path":"b"}']);
  });

  test('no ids and no indexes: each whole call is one', () => {
    const ending = read([
      piece({ function: { name: 'read', arguments: '{"path":"a"}' } }),
      piece({ function: { name: 'read', arguments: '{"path":"b"}' } }),
      piece({ index: 0, id: '', function: { name: 'list', arguments: { deep: true } } }),
      finished('stop'),
    ]);
    assert.deepEqual(callsOf(ending), [' read {"path":"a"}', ' read {"path":"b"}', ' list {"deep":true}']);
    assert.equal(ending.kind === 'answer' && ending.stop, 'calls');
  });

  test('id and name repeated with every piece', () => {
    const ending = read([
      piece({ index: 0, id: 'x', function: { name: 'read', arguments: '{"pa' } }),
      piece({ index: 0, id: 'x', function: { name: 'read', arguments: 'th":1}' } }),
      piece({ index: 0, id: 'x', function: { name: 'read', arguments: '' } }),
      finished('tool_calls'),
    ]);
    assert.deepEqual(callsOf(ending), ['x read {"path":1}']);
  });

  test('no arguments at all means {}; cut arguments stay as they are (case 78)', () => {
    const ending = read([
      piece({ index: 0, id: 'x', function: { name: 'list' } }),
      piece({ index: 1, id: 'y', function: { name: 'write', arguments: '{"text":"half' } }),
      finished('length'),
    ]);
    assert.deepEqual(callsOf(ending), ['x list {}', 'y write {"text":"half']);
    assert.equal(ending.kind === 'answer' && ending.stop, 'length');
  });

  test('reasoning in any field, once when it is sent twice', () => {
    for (const field of ['reasoning_content', 'reasoning', 'reasoning_text']) {
      const { thinking, ending } = readStream(
        chat,
        target,
        bytesOf([chunk({ [field]: 'hm' }), chunk({ content: 'a' }), finished('stop')]),
      );
      assert.equal(thinking, 'hm');
      assert.deepEqual(blocksOf(ending)[0], {
        kind: 'thinking',
        text: 'hm',
        provider: 'openrouter',
        opaque: { field },
      });
    }
    assert.equal(
      readStream(
        chat,
        target,
        bytesOf([chunk({ reasoning: 'hm', reasoning_content: 'hm' }), finished('stop')]),
      ).thinking,
      'hm',
    );
  });

  test('structured reasoning is put together and kept', () => {
    const detail = (more: object): object => chunk({ reasoning_details: [more] });
    const { thinking, ending } = readStream(
      chat,
      target,
      bytesOf([
        detail({ type: 'reasoning.text', text: 'so ', index: 0, signature: null }),
        detail({ type: 'reasoning.text', text: 'far', index: 0, signature: 'sig' }),
        detail({ type: 'reasoning.encrypted', data: 'E' }),
        chunk({ content: 'a' }),
        finished('stop'),
      ]),
    );
    assert.equal(thinking, 'so far');
    const block = blocksOf(ending)[0];
    assert.deepEqual(block?.kind === 'thinking' && block.opaque, {
      reasoning_details: [
        { type: 'reasoning.text', text: 'so far', index: 0, signature: 'sig' },
        { type: 'reasoning.encrypted', data: 'E' },
      ],
    });
  });

  test('content in parts (Mistral), a refusal, a filter', () => {
    const parts = [
      { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
      { type: 'text', text: 'a' },
    ];
    assert.deepEqual(
      blocksOf(read([chunk({ content: parts }), finished('stop')])).map((block) => block.kind),
      ['thinking', 'text'],
    );
    const refused = read([chunk({ refusal: 'I will not.' }), finished('stop')]);
    assert.equal(refused.kind === 'answer' && refused.stop, 'refusal');
    const filtered = read([chunk({ content: 'a' }), finished('content_filter')]);
    assert.equal(filtered.kind === 'answer' && filtered.stop, 'refusal');
  });

  test('errors inside a stream that began with 200', () => {
    for (const error of [
      { error: { code: 429, message: 'Rate limited' } },
      { object: 'error', message: 'bad', code: 400 },
      chunk({}, { finish_reason: 'error', error: { message: 'upstream' } }),
    ]) {
      assert.equal(read([chunk({ content: 'a' }), error, '[DONE]']).kind, 'error', JSON.stringify(error));
    }
    assert.equal(read([chunk({ content: 'a' }), '{"choices": [{"del']).kind, 'broken');
    assert.equal(read([finished('insufficient_system_resource'), '[DONE]']).kind, 'broken');
  });

  test('a whole completion instead of a stream (case 171)', () => {
    const message = {
      role: 'assistant',
      content: 'a',
      tool_calls: [{ id: 'x', type: 'function', function: { name: 'read', arguments: '{}' } }],
    };
    const ending = chat.decoder(target).whole({
      choices: [{ index: 0, message, finish_reason: 'tool_calls' }],
      usage: { prompt_tokens: 4, completion_tokens: 2 },
    });
    assert.deepEqual(callsOf(ending), ['x read {}']);
    assert.equal(chat.decoder(target).whole({ error: { message: 'no' } }).kind, 'error');
    assert.equal(chat.decoder(target).whole({ hello: 1 }).kind, 'broken');
  });
});

// ---------------------------------------------------------------- requests

const usual = habitsOf('127.0.0.1');

// Held against the SDK by the compiler: an assignment that does not fit fails `tsc`.
const asTool: (tool: (typeof tools)[number]) => OpenAI.ChatCompletionFunctionTool = toolForm;
const asSystem: (text: string) => OpenAI.ChatCompletionSystemMessageParam = systemForm;
const asUser: (text: string) => OpenAI.ChatCompletionUserMessageParam = userForm;
const asResult: (item: Extract<Item, { kind: 'result' }>) => OpenAI.ChatCompletionToolMessageParam = (item) =>
  resultForm(item, usual);
const asAnswer: (
  item: Extract<Item, { kind: 'answer' }>,
) => OpenAI.ChatCompletionAssistantMessageParam | null = (item) => answerForm(item, target, usual);

interface Body extends OpenAI.ChatCompletionCreateParamsStreaming {
  max_tokens?: number;
  messages: (OpenAI.ChatCompletionMessageParam & Record<string, unknown>)[];
}

const parse = (to: Target, items: readonly Item[]): Body =>
  JSON.parse(bodyOf(chat, requestOf(`${to.provider}/${to.model}`, items), to)) as Body;
const at = (host: string, model = 'm'): Target => ({ provider: 'p', model, host });
const call = (key: string, input = '{"command":"ls"}'): Block => ({
  kind: 'call',
  key,
  tool: 'shell',
  input,
});

describe('a request', () => {
  test('is made of the SDK’s pieces', () => {
    assert.equal(asTool(tools[0]!).function.name, 'shell');
    assert.equal(asSystem('S').role, 'system');
    assert.equal(asUser('U').content, 'U');
    assert.equal(
      asResult({ kind: 'result', key: 'k', tool: 't', ok: false, text: 'no' }).content,
      '[error] no',
    );
    const blocks: Block[] = [{ kind: 'text', text: 'a' }, call('k')];
    assert.deepEqual(asAnswer({ kind: 'answer', model: 'p/m', blocks }), {
      role: 'assistant',
      content: 'a',
      tool_calls: [{ id: 'k', type: 'function', function: { name: 'shell', arguments: '{"command":"ls"}' } }],
    });
  });

  test('keeps calls and results together and wraps what no server could parse again', () => {
    const { messages } = parse(at('127.0.0.1'), [
      user('go'),
      answer('p/m', [call('a', '{"com'), call('b')]),
      result('a', 'x'),
      user('faster'),
      result('b', 'y'),
    ]);
    assert.deepEqual(
      messages.map((message) => message.role),
      ['system', 'user', 'assistant', 'tool', 'tool', 'user'],
    );
    const calls = messages[2]!['tool_calls'] as { function: { arguments: string } }[];
    assert.equal(calls[0]!.function.arguments, '{"invalid_json":"{\\"com"}');
    assert.equal(messages[2]!.content, null);
  });

  test('says what each host takes', () => {
    const openai = parse(at('api.openai.com'), [user('go')]);
    assert.deepEqual(
      [openai.max_completion_tokens, openai.max_tokens, openai.prompt_cache_key],
      [4_096, undefined, 'profile-1'],
    );
    const local = parse(at('127.0.0.1'), [user('go')]);
    assert.deepEqual(
      [local.max_completion_tokens, local.max_tokens, local.prompt_cache_key],
      [undefined, 4_096, undefined],
    );
    assert.deepEqual(local.stream_options, { include_usage: true });
    const mistral = parse(at('api.mistral.ai'), [
      user('go'),
      answer('x/y', [call('call_of_another')]),
      result('call_of_another', 'x'),
    ]);
    assert.equal(mistral.stream_options, undefined);
    const id = mistral.messages[3]!['tool_call_id'];
    assert.match(String(id), /^[a-zA-Z0-9]{9}$/);
    assert.equal((mistral.messages[2]!['tool_calls'] as { id: string }[])[0]!.id, id);
  });

  test('gives reasoning back with calls, in its field, to its model only; DeepSeek even when empty', () => {
    const thought: Block = { kind: 'thinking', text: 'hm', provider: 'p', opaque: { field: 'reasoning' } };
    const items = (blocks: readonly Block[], model = 'p/m'): Item[] => [
      user('go'),
      answer(model, blocks),
      ...(blocks.some((b) => b.kind === 'call') ? [result('a', 'x')] : []),
    ];
    const sent = (host: string, list: readonly Item[]): unknown[] => {
      const message = parse(at(host), list).messages[2]!;
      return [message['reasoning'], message['reasoning_content']];
    };
    assert.deepEqual(sent('127.0.0.1', items([thought, call('a')])), ['hm', undefined]);
    assert.deepEqual(sent('127.0.0.1', items([thought, { kind: 'text', text: 'done' }])), [
      undefined,
      undefined,
    ]);
    assert.deepEqual(sent('127.0.0.1', items([thought, call('a')], 'p/other')), [undefined, undefined]);
    assert.deepEqual(sent('api.openai.com', items([thought, call('a')])), [undefined, undefined]);
    assert.deepEqual(sent('api.deepseek.com', items([call('a')])), [undefined, '']);
  });

  test('gives structured reasoning and signatures of calls back unchanged', () => {
    const details = [{ type: 'reasoning.encrypted', data: 'E' }];
    const signed = { extra_content: { google: { thought_signature: 'S' } } };
    const { messages } = parse(at('openrouter.ai'), [
      user('go'),
      answer('p/m', [
        { kind: 'thinking', text: '', provider: 'p', opaque: { reasoning_details: details } },
        { ...call('a'), opaque: signed } as Block,
      ]),
      result('a', 'x'),
    ]);
    assert.deepEqual(messages[2]!['reasoning_details'], details);
    assert.deepEqual(
      (messages[2]!['tool_calls'] as Record<string, unknown>[])[0]!['extra_content'],
      signed.extra_content,
    );
  });

  test('carries Anthropic’s cache marks through OpenRouter, and nowhere else', () => {
    const items = [user('go'), answer('p/m', [call('a')]), result('a', 'x')];
    const marked = bodyOf(
      chat,
      requestOf('p/anthropic/claude', items),
      at('openrouter.ai', 'anthropic/claude'),
    );
    assert.equal(marked.split('"cache_control"').length - 1, 3);
    assert.ok(marked.endsWith('[{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}]}]}'));
    assert.ok(!bodyOf(chat, requestOf('p/m', items), at('openrouter.ai')).includes('cache_control'));
  });

  test('gives the same bytes however the conversation is paged (I6)', () => {
    const items = [
      user('go'),
      answer('p/m', [call('a'), call('b')]),
      result('a', 'x'),
      result('b', 'y'),
      user('more'),
    ];
    const bodies = [1, 2, 3, 100].map((pageItems) =>
      bodyOf(chat, requestOf('p/m', items, {}, pageItems), at('127.0.0.1')),
    );
    assert.equal(new Set(bodies).size, 1);
  });
});
