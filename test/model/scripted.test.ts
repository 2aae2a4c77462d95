// The scripted provider: patterns, rules, pace, failures, and a whole swarm from the example script.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Item } from '../../sidecar/core/terms.ts';
import { createModel } from '../../sidecar/model/model.ts';
import { capture } from '../../sidecar/model/scripted.ts';
import type { Model } from '../../sidecar/ports.ts';
import { swarmTask } from '../fixtures/provider/behaviours.ts';
import { answer, ask, requestOf, user, type Heard } from './conversation.ts';

const example = path.resolve(import.meta.dirname, '../fixtures/scripts/swarm.json');

function modelOf(script: string): Model {
  const model = createModel();
  model.setProvider({ name: 'scripted', dialect: 'scripted', baseUrl: script });
  return model;
}

const callsOf = ({ outcome }: Heard): { tool: string; key: string; input: unknown }[] =>
  outcome.kind !== 'answer'
    ? []
    : outcome.blocks.flatMap((block) =>
        block.kind === 'call'
          ? [{ tool: block.tool, key: block.key, input: JSON.parse(block.input) as unknown }]
          : [],
      );

test('patterns catch what stands between their parts, never more than a line at their end', () => {
  assert.deepEqual(capture('area {dir}. Marker {mark}', 'Look in area src/a. Marker M-1\nmore'), {
    dir: 'src/a',
    mark: 'M-1',
  });
  assert.deepEqual(capture('plain', 'some plain text'), {});
  assert.deepEqual(capture('{all}', 'one\ntwo'), { all: 'one' });
  assert.equal(capture('a {x} z', 'a b c'), null);
  assert.equal(capture('missing', 'text'), null);
});

describe('the example script', () => {
  const model = modelOf(example);

  /** Plays one agent; `run` gives the result of each call. */
  async function play(
    task: string,
    run: (tool: string, input: unknown) => Promise<string>,
  ): Promise<{ text: string; tools: string[] }> {
    const items: Item[] = [user(task)];
    const used: string[] = [];
    for (;;) {
      const heard = await ask(model, requestOf('scripted/any', items));
      assert.equal(heard.outcome.kind, 'answer');
      if (heard.outcome.kind !== 'answer') return { text: '', tools: used };
      items.push(answer('scripted/any', heard.outcome.blocks));
      const calls = callsOf(heard);
      assert.equal(heard.outcome.stop, calls.length > 0 ? 'calls' : 'end');
      if (calls.length === 0) return { text: heard.text, tools: used };
      for (const call of calls) {
        used.push(call.tool);
        items.push({
          kind: 'result',
          key: call.key,
          tool: call.tool,
          ok: true,
          text: await run(call.tool, call.input),
        });
      }
    }
  }

  test('plays a whole swarm', async () => {
    const reports: string[] = [];
    const lead = await play(swarmTask, async (tool, input) => {
      if (tool !== 'spawn_agent') return tool === 'wait_agent' ? reports.join('\n') : 'src/a.ts\ntest/b.ts';
      const { tasks } = input as { tasks: { task: string }[] };
      for (const { task } of tasks) {
        const child = await play(task, async (_, given) => `found in ${(given as { path: string }).path}`);
        assert.deepEqual(child.tools, ['search']);
        reports.push(child.text);
      }
      return 'started';
    });
    assert.deepEqual(lead.tools, ['shell', 'spawn_agent', 'wait_agent']);
    assert.equal(
      lead.text,
      'One list of 2 areas:\n- src: MARK-src\n- test: MARK-test\nMARK-src: no bug found in src\nMARK-test: no bug found in test',
    );
  });

  test('answers the same conversation the same, and says so when no rule fits', async () => {
    const twice = [];
    for (let n = 0; n < 2; n++)
      twice.push((await ask(model, requestOf('scripted/x', [user(swarmTask)]))).outcome);
    assert.deepEqual(twice[0], twice[1]);
    const heard = await ask(model, requestOf('scripted/x', [user('what?')]));
    assert.match(heard.text, /no rule for this conversation: round 1, user message "what\?"/);
  });

  test('is free, needs no key, and says that it is a script', () => {
    assert.equal(model.lacks('scripted/any'), null);
    assert.deepEqual(model.price('scripted/any'), { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 });
    assert.equal(model.info('scripted/any')?.scripted, true);
  });
});

describe('a script of one’s own', () => {
  let folder = '';
  before(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'roost-script-'));
  });
  after(() => rmSync(folder, { recursive: true }));

  const write = (rules: readonly object[]): string => {
    const file = path.join(folder, 'script.json');
    writeFileSync(file, JSON.stringify({ rules }));
    return file;
  };
  const hear = (model: Model, text: string): Promise<Heard> =>
    ask(model, requestOf('scripted/m', [user(text)]));

  test('is read again when it has changed', async () => {
    const file = write([{ say: [{ text: 'one' }] }]);
    const model = modelOf(file);
    assert.equal((await hear(model, 'x')).text, 'one');
    write([{ say: [{ text: 'two!' }] }]);
    utimesSync(file, new Date(), new Date(Date.now() + 5_000));
    assert.equal((await hear(model, 'x')).text, 'two!');
  });

  test('can fail in each way', async () => {
    const model = modelOf(
      write([
        { user: 'busy', fail: { kind: 'refused', retryAfterMs: 500 } },
        { user: 'broken', fail: { kind: 'cut', message: 'gone' } },
        { user: 'long', fail: { kind: 'rejected', code: 'contextTooLong' } },
        { user: 'cut', stop: 'length', say: [{ text: 'half' }] },
      ]),
    );
    const busy = (await hear(model, 'busy')).outcome;
    assert.ok(busy.kind === 'refused' && (busy.retryAtMs ?? 0) > Date.now());
    assert.deepEqual((await hear(model, 'broken')).outcome, {
      kind: 'cut',
      receivedBytes: 0,
      message: 'gone',
    });
    const long = (await hear(model, 'long')).outcome;
    assert.equal(long.kind === 'rejected' && long.code, 'contextTooLong');
    const cut = (await hear(model, 'cut')).outcome;
    assert.equal(cut.kind === 'answer' && cut.stop, 'length');
  });

  test('streams in chunks, and is silent when it is told to be or was given up', async () => {
    const model = modelOf(
      write([
        { user: 'wait', fail: { kind: 'silent' } },
        { chunkChars: 2, betweenMs: 1, say: [{ thinking: 'hm' }, { text: 'abcde' }] },
      ]),
    );
    model.ask(requestOf('scripted/m', [user('wait')]), () => assert.fail('a silent rule spoke'));
    const cancel = model.ask(requestOf('scripted/m', [user('talk')]), () =>
      assert.fail('posted after cancel'),
    );
    cancel();
    const heard = await hear(model, 'talk');
    assert.deepEqual([heard.thinking, heard.text], ['hm', 'abcde']);
  });

  test('that is missing or no JSON is told with its path', async () => {
    const missing = (await hear(modelOf(path.join(folder, 'nowhere.json')), 'x')).outcome;
    assert.ok(missing.kind === 'rejected' && missing.message.includes('nowhere.json'));
    const file = path.join(folder, 'odd.json');
    writeFileSync(file, '{');
    const odd = (await hear(modelOf(file), 'x')).outcome;
    assert.ok(odd.kind === 'rejected' && odd.message.includes('cannot be used'));
  });
});
