// The Messages dialect: streams as the SDK types them, cut at every byte; requests against the SDK's types; what
// goes back to whom; where the cache marks are.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type Anthropic from '@anthropic-ai/sdk';
import type { Item } from '../../sidecar/core/terms.ts';
import {
  anthropic,
  answerForm,
  resultForm,
  systemForm,
  toolForm,
  userForm,
} from '../../sidecar/model/anthropic.ts';
import type { Target } from '../../sidecar/model/dialect.ts';
import type { Block } from '../../sidecar/protocol/entry.ts';
import { limits } from '../../sidecar/runtime/limits.ts';
import { answer, bodyOf, readStream, requestOf, result, tools, user } from './conversation.ts';

const target: Target = { provider: 'anthropic', model: 'claude-sonnet-5', host: 'api.anthropic.com' };

const bytesOf = (
  events: readonly (Anthropic.RawMessageStreamEvent | { type: string; [key: string]: unknown })[],
): Buffer =>
  Buffer.from(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''));

const usage = (input: number): Anthropic.Usage => ({
  input_tokens: input,
  output_tokens: 1,
  cache_creation_input_tokens: 20,
  cache_read_input_tokens: 100,
  cache_creation: null,
  inference_geo: null,
  output_tokens_details: null,
  server_tool_use: null,
  service_tier: 'standard',
  speed: null,
});

const start = {
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-5',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: usage(7),
  },
};
const stop = { type: 'message_stop' } as const;
const ended = (reason: string | null, output = 42) => ({
  type: 'message_delta',
  delta: { stop_reason: reason, stop_sequence: null },
  usage: { output_tokens: output },
});
const text = (index: number, value: string): Anthropic.RawContentBlockDeltaEvent => ({
  type: 'content_block_delta',
  index,
  delta: { type: 'text_delta', text: value },
});
const json = (index: number, value: string): Anthropic.RawContentBlockDeltaEvent => ({
  type: 'content_block_delta',
  index,
  delta: { type: 'input_json_delta', partial_json: value },
});
const opened = (index: number, block: object) => ({
  type: 'content_block_start',
  index,
  content_block: block,
});
const closed = (index: number) => ({ type: 'content_block_stop', index });

const rich = bytesOf([
  start,
  { type: 'ping' },
  opened(0, { type: 'thinking', thinking: '', signature: '' }),
  { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Let me söe 🦉' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'c2lnbmVk' } },
  closed(0),
  opened(1, { type: 'redacted_thinking', data: 'ENCRYPTED' }),
  closed(1),
  opened(2, { type: 'text', text: '', citations: null }),
  text(2, 'I look'),
  { type: 'ping' },
  text(2, ' at two files.'),
  closed(2),
  opened(3, { type: 'tool_use', id: 'toolu_1', name: 'read', input: {} }),
  opened(4, { type: 'tool_use', id: 'toolu_2', name: 'shell', input: {} }),
  json(4, '{"command":"ec'),
  json(3, '{"path":"a.ts"}'),
  json(4, 'ho ü"}'),
  closed(3),
  closed(4),
  opened(5, { type: 'tool_use', id: 'toolu_3', name: 'list', input: {} }),
  json(5, ''),
  closed(5),
  { type: 'something_new', index: 9 },
  ended('tool_use'),
  stop,
]);

describe('a stream', () => {
  const whole = readStream(anthropic, target, rich);

  test('gives thinking with its signature, text, parallel calls, cumulative usage', () => {
    assert.deepEqual(whole, {
      text: 'I look at two files.',
      thinking: 'Let me söe 🦉',
      ending: {
        kind: 'answer',
        stop: 'calls',
        usage: { input: 127, output: 42, cacheRead: 100, cacheWrite: 20 },
        blocks: [
          { kind: 'thinking', text: 'Let me söe 🦉', provider: 'anthropic', signature: 'c2lnbmVk' },
          { kind: 'thinking', text: '', provider: 'anthropic', opaque: { data: 'ENCRYPTED' } },
          { kind: 'text', text: 'I look at two files.' },
          { kind: 'call', key: 'toolu_1', tool: 'read', input: '{"path":"a.ts"}' },
          { kind: 'call', key: 'toolu_2', tool: 'shell', input: '{"command":"echo ü"}' },
          { kind: 'call', key: 'toolu_3', tool: 'list', input: '{}' },
        ],
      },
    });
  });

  test('gives the same however its bytes are cut', () => {
    for (let cut = 1; cut < rich.length; cut++)
      assert.deepEqual(readStream(anthropic, target, rich, [cut]), whole, `cut at ${cut}`);
    assert.deepEqual(readStream(anthropic, target, rich, [...rich.keys()]), whole, 'each byte alone');
  });

  test('that ends before message_stop is broken, at whatever byte it ends (case 170)', () => {
    const last = rich.indexOf('event: message_stop');
    for (let length = 0; length <= last; length += 7) {
      assert.equal(
        readStream(anthropic, target, rich.subarray(0, length)).ending.kind,
        'broken',
        `after ${length} bytes`,
      );
    }
  });

  const stops: readonly [string, string][] = [
    ['end_turn', 'end'],
    ['stop_sequence', 'end'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['pause_turn', 'pause'],
    ['refusal', 'refusal'],
    ['something_new', 'end'],
  ];
  for (const [reason, expected] of stops) {
    test(`stop reason ${reason} is ${expected}`, () => {
      const { ending } = readStream(
        anthropic,
        target,
        bytesOf([start, opened(0, { type: 'text', text: 'so' }), closed(0), ended(reason), stop]),
      );
      assert.equal(ending.kind === 'answer' && ending.stop, expected);
    });
  }

  test('whose call was cut at the output limit passes the raw text on (case 78)', () => {
    const events = [
      start,
      opened(0, { type: 'tool_use', id: 't', name: 'write', input: {} }),
      json(0, '{"path":"a","text":"half'),
      closed(0),
      ended('max_tokens'),
      stop,
    ];
    const { ending } = readStream(anthropic, target, bytesOf(events));
    assert.deepEqual(ending.kind === 'answer' && [ending.stop, ending.blocks], [
      'length',
      [{ kind: 'call', key: 't', tool: 'write', input: '{"path":"a","text":"half' }],
    ]);
  });

  test('that turns into an error in the middle is that error', () => {
    const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
    const { ending, text: said } = readStream(
      anthropic,
      target,
      bytesOf([start, opened(0, { type: 'text', text: '' }), text(0, 'So'), error]),
    );
    assert.equal(said, 'So');
    assert.deepEqual(ending, { kind: 'error', error });
  });

  test('with no room to answer at all is an overflow', () => {
    const { ending } = readStream(
      anthropic,
      target,
      bytesOf([start, ended('model_context_window_exceeded'), stop]),
    );
    assert.equal(ending.kind, 'error');
  });

  test('without content is an empty answer, for the runtime to judge (case 174)', () => {
    const { ending } = readStream(anthropic, target, bytesOf([start, ended('end_turn', 3), stop]));
    assert.deepEqual(ending.kind === 'answer' && ending.blocks, []);
  });
});

test('a body that is one message and no stream is read as such (case 171)', () => {
  const message = {
    type: 'message',
    content: [
      { type: 'text', text: 'Hello' },
      { type: 'tool_use', id: 't', name: 'read', input: { path: 'a' } },
    ],
    stop_reason: 'tool_use',
    usage: { input_tokens: 5, output_tokens: 2 },
  };
  assert.deepEqual(anthropic.decoder(target).whole(message), {
    kind: 'answer',
    stop: 'calls',
    usage: { input: 5, output: 2, cacheRead: 0, cacheWrite: 0 },
    blocks: [
      { kind: 'text', text: 'Hello' },
      { kind: 'call', key: 't', tool: 'read', input: '{"path":"a"}' },
    ],
  });
});

// ---------------------------------------------------------------- requests

// Held against the SDK by the compiler: an assignment that does not fit fails `tsc`.
const asTool: (tool: (typeof tools)[number]) => Anthropic.Tool = (tool) => toolForm(tool, true);
const asSystem: (text: string) => Anthropic.TextBlockParam = systemForm;
const asUser: (text: string) => Anthropic.ContentBlockParam = userForm;
const asResult: (item: Extract<Item, { kind: 'result' }>) => Anthropic.ToolResultBlockParam = resultForm;
const asAnswer: (block: Block, model: string, target: Target) => Anthropic.ContentBlockParam | null =
  answerForm;

interface Body extends Anthropic.MessageCreateParamsStreaming {
  messages: { role: 'user' | 'assistant'; content: Anthropic.ContentBlockParam[] }[];
}

const parse = (items: readonly Item[], to = target): Body =>
  JSON.parse(bodyOf(anthropic, requestOf(`${to.provider}/${to.model}`, items), to)) as Body;

const call = (key: string, input = '{"command":"ls"}'): Block => ({
  kind: 'call',
  key,
  tool: 'shell',
  input,
});
const thought: Block = { kind: 'thinking', text: 'hm', provider: 'anthropic', signature: 'c2ln' };
const own = 'anthropic/claude-sonnet-5';

describe('a request', () => {
  test('is made of the SDK’s pieces', () => {
    const mark = { cache_control: { type: 'ephemeral' } };
    assert.deepEqual(asTool(tools[0]!), {
      name: 'shell',
      description: 'Runs a command.',
      input_schema: tools[0]!.schema,
      ...mark,
    });
    assert.deepEqual(asSystem('S'), { type: 'text', text: 'S', ...mark });
    assert.deepEqual(asUser(' '), { type: 'text', text: '(empty)' });
    assert.deepEqual(asResult({ kind: 'result', key: 'k', tool: 't', ok: false, text: '' }), {
      type: 'tool_result',
      tool_use_id: 'k',
      is_error: true,
    });
    assert.deepEqual(asAnswer({ kind: 'text', text: '\n' }, own, target), null);
  });

  test('merges results and messages of one side into one message, results first', () => {
    const body = parse([
      user('go'),
      answer(own, [thought, { kind: 'text', text: 'Two.' }, call('a'), call('b')]),
      result('a', 'x'),
      user('faster'),
      result('b', 'y', false),
      user('please'),
    ]);
    assert.deepEqual(
      body.messages.map((message) => [message.role, message.content.map((block) => block.type)]),
      [
        ['user', ['text']],
        ['assistant', ['thinking', 'text', 'tool_use', 'tool_use']],
        ['user', ['tool_result', 'tool_result', 'text', 'text']],
      ],
    );
    assert.equal(body.stream, true);
    assert.equal(body.max_tokens, 4_096);
  });

  test('sends signed thinking to the model that wrote it and to no other', () => {
    const items = [
      user('go'),
      answer(own, [
        thought,
        { kind: 'thinking', text: '', provider: 'anthropic', opaque: { data: 'E' } },
        call('a'),
      ]),
      result('a', 'x'),
    ];
    const sent = (to: Target): string[] => parse(items, to).messages[1]!.content.map((block) => block.type);
    assert.deepEqual(sent(target), ['thinking', 'redacted_thinking', 'tool_use']);
    assert.deepEqual(sent({ ...target, model: 'claude-opus-5' }), ['tool_use']);
    assert.deepEqual(sent({ ...target, provider: 'other' }), ['tool_use']);
  });

  test('leaves out an answer that was cut while the model thought', () => {
    const body = parse([user('go'), answer(own, [thought]), user('go on')]);
    assert.deepEqual(
      body.messages.map((message) => message.role),
      ['user'],
    );
    assert.equal(body.messages[0]!.content.length, 2);
  });

  test('is never bricked by its own history: dangling calls, orphan results, odd ids, cut arguments (case 99)', () => {
    const body = parse([
      user('go'),
      answer('other/m', [call('call|with:signs'), call('cut', '{"command":"l')]),
      result('cut', 'refused', false),
      result('nobody', 'orphan'),
      answer('other/m', [{ kind: 'text', text: 'Next.' }, call('late')]),
    ]);
    const blocks = body.messages.flatMap((message) => message.content);
    const uses = blocks.filter((block) => block.type === 'tool_use');
    const results = blocks.filter((block) => block.type === 'tool_result');
    assert.deepEqual(results.map((each) => each.tool_use_id).sort(), uses.map((each) => each.id).sort());
    assert.ok(uses.every((each) => /^[a-zA-Z0-9_-]+$/.test(each.id)));
    assert.deepEqual(uses[1]!.input, { invalid_json: '{"command":"l' });
    assert.equal(body.messages.at(-1)!.role, 'user');
  });

  test('replaces halves of surrogate pairs that a model escaped', () => {
    const body = bodyOf(
      anthropic,
      requestOf(own, [
        user('go'),
        answer(own, [call('a', '{"command":"\\ud83e x \\ud83e\\udd89"}')]),
        result('a', 'x'),
      ]),
      target,
    );
    assert.ok(!/\\ud[89a-f]/i.test(body));
    assert.ok(body.includes('\ufffd x 🦉'));
  });

  test('gives the same bytes however the conversation is paged (I6)', () => {
    const items = [
      user('go'),
      answer(own, [call('a'), call('b')]),
      result('a', 'x'),
      result('b', 'y'),
      user('and'),
      answer(own, [{ kind: 'text', text: 'Yes.' }]),
      user('more'),
    ];
    const bodies = [1, 2, 3, 100].map((pageItems) =>
      bodyOf(anthropic, requestOf(own, items, {}, pageItems), target),
    );
    assert.equal(new Set(bodies).size, 1);
  });
});

describe('cache marks (case 183)', () => {
  const rounds = (count: number): Item[] => [
    user('go'),
    ...Array.from({ length: count }, (_, n) => [
      answer(own, [call(`c${n}`)]),
      result(`c${n}`, `r${n}`),
    ]).flat(),
  ];
  const marked = (items: readonly Item[]): number[] =>
    parse(items).messages.flatMap((message, index) =>
      message.content.some((block) => 'cache_control' in block) ? [index] : [],
    );

  test('stand on the two newest user messages', () => {
    assert.deepEqual(marked(rounds(0)), [0]);
    assert.deepEqual(marked(rounds(1)), [0, 2]);
    assert.deepEqual(marked(rounds(4)), [6, 8]);
  });

  test('are four at most, tools and system among them', () => {
    const body = bodyOf(anthropic, requestOf(own, rounds(4)), target);
    assert.equal(body.split('"cache_control"').length - 1, 4);
  });

  test('do not change what stands before them: each request extends the one before', () => {
    const strip = (items: readonly Item[]): string =>
      bodyOf(anthropic, requestOf(own, items), target)
        .replaceAll(',"cache_control":{"type":"ephemeral"}', '')
        .replace(/\]\}\]\}$/, '');
    for (let n = 0; n < 6; n++)
      assert.ok(strip(rounds(n + 1)).startsWith(strip(rounds(n))), `round ${n + 1}`);
  });

  test('are left out rather than hold a large conversation back', () => {
    const big = 'x'.repeat(limits.cacheTailChars);
    const items = [
      user('go'),
      answer(own, [call('a')]),
      result('a', big),
      answer(own, [call('b')]),
      result('b', 'small'),
    ];
    const next = anthropic.encode(requestOf(own, items, {}, 1), target);
    const pieces: string[] = [];
    for (let piece = next(); piece !== null; piece = next()) pieces.push(piece);
    assert.ok(pieces.at(-1)!.length < 1_000, 'the large result has left before the end');
    assert.deepEqual(marked(items), [4]);
  });
});
