// The Responses dialect: streams as the SDK types them, cut at every byte; requests against the SDK's types.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type OpenAI from 'openai';
import type { Item } from '../../sidecar/core/terms.ts';
import type { Ending, Target } from '../../sidecar/model/dialect.ts';
import { answerForm, responses, resultForm, toolForm, userForm } from '../../sidecar/model/responses.ts';
import type { Block } from '../../sidecar/protocol/entry.ts';
import type { JsonObject } from '../../sidecar/protocol/json.ts';
import { answer, bodyOf, readStream, requestOf, result, tools, user } from './conversation.ts';

type Event = OpenAI.Responses.ResponseStreamEvent;

const target: Target = { provider: 'openai', model: 'gpt-5', host: 'api.openai.com' };
const own = 'openai/gpt-5';

const bytesOf = (events: readonly object[]): Buffer =>
  Buffer.from(
    events
      .map(
        (event) => `event: ${'type' in event ? String(event.type) : ''}\ndata: ${JSON.stringify(event)}\n\n`,
      )
      .join(''),
  );

const reasoning: OpenAI.Responses.ResponseReasoningItem = {
  type: 'reasoning',
  id: 'rs_1',
  summary: [
    { type: 'summary_text', text: 'First ä.' },
    { type: 'summary_text', text: 'Then b.' },
  ],
  encrypted_content: 'ENCRYPTED',
};

const call = (id: string, args: string): OpenAI.Responses.ResponseFunctionToolCall => ({
  type: 'function_call',
  id: `fc_${id}`,
  call_id: id,
  name: 'read',
  arguments: args,
  status: 'completed',
});

const message = {
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  status: 'completed',
  phase: 'commentary',
  content: [{ type: 'output_text', text: 'I read 🦉.', annotations: [] }],
};

const done = (
  type: 'response.completed' | 'response.incomplete' | 'response.failed',
  more: object = {},
): object => ({
  type,
  sequence_number: 99,
  response: {
    object: 'response',
    usage: {
      input_tokens: 900,
      output_tokens: 30,
      total_tokens: 930,
      input_tokens_details: { cached_tokens: 640, cache_write_tokens: 10 },
      output_tokens_details: { reasoning_tokens: 9 },
    },
    ...more,
  },
});

const added = (output_index: number, item: object): object => ({
  type: 'response.output_item.added',
  output_index,
  sequence_number: 1,
  item,
});
const itemDone = (output_index: number, item: object): object => ({
  type: 'response.output_item.done',
  output_index,
  sequence_number: 2,
  item,
});
const textDelta: Event = {
  type: 'response.output_text.delta',
  output_index: 1,
  item_id: 'msg_1',
  content_index: 0,
  delta: 'I read 🦉.',
  logprobs: [],
  sequence_number: 3,
};
const thoughtDelta: Event = {
  type: 'response.reasoning_summary_text.delta',
  output_index: 0,
  item_id: 'rs_1',
  summary_index: 0,
  delta: 'First ä.',
  sequence_number: 4,
};
const argsDelta = (output_index: number, delta: string): Event => ({
  type: 'response.function_call_arguments.delta',
  output_index,
  item_id: 'fc',
  delta,
  sequence_number: 5,
});

const rich = bytesOf([
  { type: 'response.created', sequence_number: 0, response: {} },
  added(0, { ...reasoning, summary: [], encrypted_content: 'partial' }),
  thoughtDelta,
  itemDone(0, reasoning),
  added(1, { ...message, content: [] }),
  textDelta,
  itemDone(1, message),
  added(2, { ...call('a', ''), status: 'in_progress' }),
  added(3, { ...call('b', ''), status: 'in_progress' }),
  argsDelta(3, '{"path":"b"}'),
  argsDelta(2, '{"path":'),
  argsDelta(2, '"a"}'),
  itemDone(3, call('b', '{"path":"b"}')),
  itemDone(2, call('a', '{"path":"a"}')),
  { type: 'response.something_new', sequence_number: 6 },
  done('response.completed'),
]);

const read = (events: readonly object[]): Ending => readStream(responses, target, bytesOf(events)).ending;

describe('a stream', () => {
  const whole = readStream(responses, target, rich);

  test('gives encrypted reasoning, phases, parallel calls and usage', () => {
    assert.deepEqual(whole, {
      text: 'I read 🦉.',
      thinking: 'First ä.',
      ending: {
        kind: 'answer',
        stop: 'calls',
        usage: { input: 900, output: 30, cacheRead: 640, cacheWrite: 10 },
        blocks: [
          { kind: 'thinking', text: 'First ä.\n\nThen b.', provider: 'openai', opaque: { item: reasoning } },
          { kind: 'text', text: 'I read 🦉.', opaque: { phase: 'commentary' } },
          { kind: 'call', key: 'a', tool: 'read', input: '{"path":"a"}' },
          { kind: 'call', key: 'b', tool: 'read', input: '{"path":"b"}' },
        ],
      },
    });
  });

  test('gives the same however its bytes are cut', () => {
    for (let cut = 1; cut < rich.length; cut++)
      assert.deepEqual(readStream(responses, target, rich, [cut]), whole, `cut at ${cut}`);
    assert.deepEqual(readStream(responses, target, rich, [...rich.keys()]), whole, 'each byte alone');
  });

  test('that stops without completed, failed or incomplete is broken, at whatever byte', () => {
    const last = rich.indexOf('event: response.completed');
    for (let length = 0; length <= last; length += 13) {
      assert.equal(
        readStream(responses, target, rich.subarray(0, length)).ending.kind,
        'broken',
        `after ${length} bytes`,
      );
    }
  });

  test('that is incomplete keeps what came: cut arguments raw, half reasoning not', () => {
    const ending = read([
      added(0, { ...reasoning, encrypted_content: 'partial' }),
      added(1, { ...call('a', ''), status: 'in_progress' }),
      argsDelta(1, '{"path":"a'),
      done('response.incomplete', { incomplete_details: { reason: 'max_output_tokens' } }),
    ]);
    assert.deepEqual(ending.kind === 'answer' && [ending.stop, ending.blocks], [
      'length',
      [{ kind: 'call', key: 'a', tool: 'read', input: '{"path":"a' }],
    ]);
  });

  test('that was filtered or refused is a refusal', () => {
    const filtered = read([
      itemDone(0, message),
      done('response.incomplete', { incomplete_details: { reason: 'content_filter' } }),
    ]);
    assert.equal(filtered.kind === 'answer' && filtered.stop, 'refusal');
    const refused = read([
      itemDone(0, { ...message, content: [{ type: 'refusal', refusal: 'No.' }] }),
      done('response.completed'),
    ]);
    assert.deepEqual(refused.kind === 'answer' && [refused.stop, refused.blocks], [
      'refusal',
      [{ kind: 'text', text: 'No.', opaque: { phase: 'commentary' } }],
    ]);
  });

  test('that fails inside 200 is that error, in each of its forms', () => {
    const failed = done('response.failed', {
      error: { code: 'rate_limit_exceeded', message: 'Please try again in 1.2s.' },
    });
    assert.equal(read([failed]).kind, 'error');
    assert.equal(
      read([{ type: 'error', code: 'server_error', message: 'x', param: null, sequence_number: 1 }]).kind,
      'error',
    );
    assert.equal(read([{ error: { code: 'server_error', message: 'x' } }]).kind, 'error');
  });

  test('that has its items only in the last event is read from there', () => {
    const ending = read([done('response.completed', { output: [message, call('a', '{}')] })]);
    assert.deepEqual(ending.kind === 'answer' && ending.blocks.map((block) => block.kind), ['text', 'call']);
  });

  test('that is one JSON body is read as such (case 171)', () => {
    const body: JsonObject = {
      object: 'response',
      status: 'completed',
      output: [{ type: 'message', content: [{ type: 'output_text', text: 'Hi' }] }],
      usage: { input_tokens: 3, output_tokens: 1 },
    };
    const ending = responses.decoder(target).whole(body);
    assert.deepEqual(ending.kind === 'answer' && ending.blocks, [{ kind: 'text', text: 'Hi' }]);
  });
});

// Held against the SDK by the compiler: an assignment that does not fit fails `tsc`.
const asTool: (tool: (typeof tools)[number]) => OpenAI.Responses.FunctionTool = toolForm;
const asUser: (text: string) => OpenAI.Responses.ResponseInputItem = userForm;
const asResult: (item: Extract<Item, { kind: 'result' }>) => OpenAI.Responses.ResponseInputItem = resultForm;
const asAnswer: (
  block: Extract<Block, { kind: 'text' | 'call' }>,
) => OpenAI.Responses.ResponseInputItem | JsonObject | null = (block) => answerForm(block, own, target);

interface Body extends OpenAI.Responses.ResponseCreateParamsStreaming {
  input: (OpenAI.Responses.ResponseInputItem & Record<string, unknown>)[];
}

const parse = (items: readonly Item[], to = target): Body =>
  JSON.parse(bodyOf(responses, requestOf(`${to.provider}/${to.model}`, items), to)) as Body;

const thought: Block = {
  kind: 'thinking',
  text: 'hm',
  provider: 'openai',
  opaque: { item: { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'E' } },
};
const used: Block = { kind: 'call', key: 'a', tool: 'read', input: '{"path":"a"}' };

describe('a request', () => {
  test('is made of the SDK’s pieces', () => {
    assert.equal(asTool(tools[0]!).strict, false);
    assert.deepEqual(asUser('U'), { type: 'message', role: 'user', content: 'U' });
    assert.deepEqual(asResult({ kind: 'result', key: 'k', tool: 't', ok: false, text: 'no' }), {
      type: 'function_call_output',
      call_id: 'k',
      output: '[error] no',
    });
    assert.deepEqual(asAnswer({ kind: 'call', key: 'k', tool: 't', input: '' }), {
      type: 'function_call',
      call_id: 'k',
      name: 't',
      arguments: '{}',
    });
  });

  test('stores nothing and asks for encrypted reasoning of models that reason', () => {
    const body = parse([user('go')]);
    assert.deepEqual(
      [
        body.store,
        body.stream,
        body.include,
        body.max_output_tokens,
        body.prompt_cache_key,
        body.instructions,
        body.parallel_tool_calls,
      ],
      [false, true, ['reasoning.encrypted_content'], 4_096, 'profile-1', 'You work on a repository.', true],
    );
    assert.equal(parse([user('go')], { ...target, model: 'gpt-4.1' }).include, undefined);
    assert.equal(parse([user('go')], { ...target, model: 'gpt-5-chat-latest' }).include, undefined);
  });

  test('gives reasoning back in its place and phases with their texts, to their model only', () => {
    const items = [
      user('go'),
      answer(own, [thought, { kind: 'text', text: 'I read.', opaque: { phase: 'commentary' } }, used]),
      result('a', 'x'),
    ];
    assert.deepEqual(parse(items).input.slice(1), [
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'E' },
      { type: 'message', role: 'assistant', content: 'I read.', phase: 'commentary' },
      { type: 'function_call', call_id: 'a', name: 'read', arguments: '{"path":"a"}' },
      { type: 'function_call_output', call_id: 'a', output: 'x' },
    ]);
    assert.deepEqual(
      parse(items, { ...target, model: 'gpt-5-mini' })
        .input.slice(1)
        .map((item) => [item.type, item['phase']]),
      [
        ['message', undefined],
        ['function_call', undefined],
        ['function_call_output', undefined],
      ],
    );
  });

  test('leaves out reasoning that nothing follows: it would be refused', () => {
    assert.deepEqual(
      parse([user('go'), answer(own, [thought]), user('on')]).input.map((item) => item.type),
      ['message', 'message'],
    );
  });
});
