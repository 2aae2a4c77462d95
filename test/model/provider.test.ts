// The provider fixture itself: the official clients can read its streams and are let in; histories that lost,
// doubled or changed something are not; its stories end as they should.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import type { Item } from '../../sidecar/core/terms.ts';
import { answerTo, filesUnder, markOf, swarmTask, topFolders } from '../fixtures/provider/behaviours.ts';
import { startFixture, type Fixture } from '../fixtures/provider/server.ts';
import { tools, user } from './conversation.ts';

describe('the official clients', () => {
  let fixture: Fixture;
  before(async () => {
    fixture = await startFixture({ key: 'k' });
  });
  after(() => fixture.close());
  const program = '@think hm\n@parallel\n@shell echo ä🦉\n@read a.ts\n@say Both.\n@end';

  test('@anthropic-ai/sdk', async () => {
    const client = new Anthropic({ baseURL: fixture.url, apiKey: 'k', maxRetries: 0 });
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: program }];
    const offered = tools.map((tool) => ({
      name: tool.name,
      input_schema: { ...tool.schema, type: 'object' as const },
    }));
    const first = await client.messages
      .stream({ model: 'm', max_tokens: 100, messages, tools: offered })
      .finalMessage();
    assert.deepEqual(
      first.content.map((block) => block.type),
      ['thinking', 'tool_use', 'tool_use', 'text'],
    );
    assert.equal(first.stop_reason, 'tool_use');
    const uses = first.content.filter((block) => block.type === 'tool_use');
    assert.deepEqual(uses[0]?.input, { command: 'echo ä🦉' });
    messages.push(
      { role: 'assistant', content: first.content },
      {
        role: 'user',
        content: uses.map((use) => ({ type: 'tool_result', tool_use_id: use.id, content: 'fine' })),
      },
    );
    const last = await client.messages
      .stream({ model: 'm', max_tokens: 100, messages, tools: offered })
      .finalMessage();
    assert.equal(
      last.content[0]?.type === 'text' && last.content[0].text,
      'Finished 2 calls.\n1 shell ok: fine\n2 read ok: fine',
    );
    assert.deepEqual(fixture.violations(), []);
  });

  test('openai, chat completions', async () => {
    const client = new OpenAI({ baseURL: `${fixture.url}/v1`, apiKey: 'k', maxRetries: 0 });
    const completion = await client.chat.completions
      .stream({
        model: 'm',
        messages: [{ role: 'user', content: `chat\n${program}` }],
        stream_options: { include_usage: true },
      })
      .finalChatCompletion();
    const choice = completion.choices[0];
    assert.equal(choice?.finish_reason, 'tool_calls');
    assert.equal(choice?.message.content, 'Both.');
    assert.deepEqual(
      choice?.message.tool_calls?.map((call) => call.type === 'function' && call.function.arguments),
      ['{"command":"echo ä🦉"}', '{"path":"a.ts"}'],
    );
    assert.ok((completion.usage?.prompt_tokens ?? 0) > 0);
  });

  test('openai, responses', async () => {
    const client = new OpenAI({ baseURL: `${fixture.url}/v1`, apiKey: 'k', maxRetries: 0 });
    const response = await client.responses
      .stream({ model: 'm', input: [{ role: 'user', content: `responses\n${program}` }], store: false })
      .finalResponse();
    assert.equal(response.status, 'completed');
    assert.equal(response.output_text, 'Both.');
    assert.deepEqual(
      response.output.map((item) => item.type),
      ['reasoning', 'function_call', 'function_call', 'message'],
    );
  });

  test('are refused with a wrong key, and told of what is wrong with a request', async () => {
    const client = new Anthropic({ baseURL: fixture.url, apiKey: 'wrong', maxRetries: 0 });
    const ask = (): Promise<unknown> =>
      client.messages.create({
        model: 'm',
        max_tokens: 1,
        messages: [{ role: 'user', content: 'x' }],
        stream: true,
      });
    await assert.rejects(ask, Anthropic.AuthenticationError);
  });
});

describe('histories', () => {
  let fixture: Fixture;
  before(async () => {
    fixture = await startFixture();
  });
  after(() => fixture.close());

  type Message = { role: string; content: unknown; tool_calls?: { id: string }[]; tool_call_id?: string };

  async function post(
    messages: readonly Message[],
  ): Promise<{ status: number; body: string; answer: Message }> {
    const response = await fetch(`${fixture.url}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ model: 'm', stream: true, messages }),
    });
    const body = await response.text();
    const deltas = [...body.matchAll(/^data: (\{.*\})$/gm)].map(
      (match) =>
        JSON.parse(match[1] ?? '') as {
          choices: {
            delta: {
              tool_calls?: { index: number; id?: string; function: { name?: string; arguments: string } }[];
            };
          }[];
        },
    );
    const calls: { id: string; type: string; function: { name: string; arguments: string } }[] = [];
    for (const call of deltas.flatMap((each) => each.choices[0]?.delta.tool_calls ?? [])) {
      calls[call.index] ??= {
        id: call.id ?? '',
        type: 'function',
        function: { name: call.function.name ?? '', arguments: '' },
      };
      calls[call.index]!.function.arguments += call.function.arguments;
    }
    return { status: response.status, body, answer: { role: 'assistant', content: null, tool_calls: calls } };
  }

  const first: Message = { role: 'user', content: '@shell one\n@shell two' };

  test('that extend what was said go on', async () => {
    const one = await post([first]);
    const result: Message = { role: 'tool', content: 'r1', tool_call_id: one.answer.tool_calls![0]!.id };
    const two = await post([first, one.answer, result]);
    assert.equal(two.status, 200);
    assert.deepEqual(fixture.violations(), []);

    const odd: readonly [string, readonly Message[], RegExp][] = [
      ['a lost result', [first, one.answer], /no result for/],
      [
        'a changed result',
        [
          first,
          one.answer,
          { ...result, content: 'r2' },
          two.answer,
          { ...result, tool_call_id: two.answer.tool_calls![0]!.id },
        ],
        /is not what was asked/,
      ],
      ['an orphan', [first, { ...result, tool_call_id: 'nobody' }], /which no open call has/],
      ['a doubled result', [first, one.answer, result, result], /which no open call has/],
      [
        'an answer nobody gave',
        [first, { role: 'assistant', content: 'I never said that.' }, first],
        /not the one that was given/,
      ],
      [
        'another beginning',
        [{ role: 'user', content: 'Hello' }, one.answer, result],
        /is not what was asked/,
      ],
      [
        'nothing to answer',
        [
          first,
          one.answer,
          result,
          two.answer,
          { ...result, tool_call_id: two.answer.tool_calls![0]!.id },
          { role: 'assistant', content: 'x' },
        ],
        /nothing to answer/,
      ],
      ['an empty message', [{ role: 'user', content: ' ' }], /empty user message/],
    ];
    for (const [name, messages, expected] of odd) {
      const refused = await post(messages);
      assert.equal(refused.status, 400, name);
      assert.match(refused.body, expected, name);
    }
    assert.ok(fixture.violations().length >= odd.length);
  });
});

describe('stories', () => {
  /** Plays a conversation against `run`, which gives results. */
  function play(task: string, run: (tool: string, input: Record<string, unknown>) => string): string {
    const items: Item[] = [user(task)];
    for (let round = 0; round < 20; round++) {
      const { said } = answerTo(items, ['shell', 'search', 'read', 'spawn_agent', 'wait_agent']);
      const calls = said.flatMap((each, index) =>
        each.kind === 'call' ? [{ ...each, key: `k${round}.${index}` }] : [],
      );
      const texts = said.flatMap((each) => (each.kind === 'text' ? [each.text] : []));
      items.push({
        kind: 'answer',
        model: 'm/m',
        blocks: [
          ...texts.map((text) => ({ kind: 'text' as const, text })),
          ...calls.map((call) => ({
            kind: 'call' as const,
            key: call.key,
            tool: call.tool,
            input: JSON.stringify(call.input),
          })),
        ],
      });
      if (calls.length === 0) return texts.join('\n');
      for (const call of calls) {
        items.push({
          kind: 'result',
          key: call.key,
          tool: call.tool,
          ok: true,
          text: run(call.tool, call.input as Record<string, unknown>),
        });
      }
    }
    return assert.fail('the story has no end');
  }

  const tree: Record<string, string> = {
    'src/one.ts': 'const one = 1;\nexport {};',
    'src/deep/two.ts': 'two',
    'lib/three.ts': 'three\nlines\nhere',
    'README.md': 'Read me.',
    '.github/x.yml': 'hidden',
  };

  test('a swarm: every area has its agent, every agent reads real files, the list has every marker', () => {
    const reports: string[] = [];
    const child = (tool: string, input: Record<string, unknown>): string =>
      tool === 'search'
        ? Object.keys(tree)
            .filter((file) => file.startsWith(`${String(input['path'])}/`))
            .map((file) => `${file}:1: ${tree[file]?.split('\n')[0] ?? ''}`)
            .join('\n')
        : (tree[String(input['path'])] ?? 'missing');
    const list = play(swarmTask, (tool, input) => {
      if (tool === 'shell') return Object.keys(tree).join('\n');
      if (tool === 'wait_agent') return reports.join('\n');
      for (const { task } of input['tasks'] as { task: string }[]) reports.push(play(task, child));
      return 'started 2';
    });
    const digest = createHash('sha256').update('three\nlines\nhere').digest('hex').slice(0, 8);
    assert.match(list, /^One list of 2 areas:/);
    assert.match(list, /- src: MARK-src: no bug found in 2 files, 3 lines/);
    assert.ok(list.includes(`- lib: MARK-lib: no bug found in 1 files, 3 lines, sha ${digest}`));
  });

  test('an edit and a command', () => {
    const steps: string[] = [];
    const end = play(
      'Edit src/a.ts: replace <<let a>> by <<const a>>, then run <<npm test>>',
      (tool, input) => {
        steps.push(`${tool} ${JSON.stringify(input)}`);
        return 'done';
      },
    );
    assert.deepEqual(steps, [
      'read {"path":"src/a.ts"}',
      'edit {"path":"src/a.ts","old":"let a","new":"const a"}',
      'shell {"command":"npm test"}',
    ]);
    assert.equal(end, 'I changed src/a.ts and ran npm test: done');
  });

  test('what lists and searches look like does not matter', () => {
    assert.deepEqual(topFolders('exit 0\nsrc/a.ts\n"lib/b c.ts"\n.git/x\nREADME.md\n[30 more lines]'), [
      'src',
      'lib',
    ]);
    assert.deepEqual(filesUnder('src', 'src/a.ts:1:x\nsrc/a.ts:9:y\n  ./src/b.ts\n(src/c.ts) src/d.ts'), [
      'src/a.ts',
      'src/b.ts',
      'src/c.ts',
    ]);
    assert.notEqual(markOf('a.b'), markOf('ab'));
  });
});
