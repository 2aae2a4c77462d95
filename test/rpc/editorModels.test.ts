// Models that windows lend, over a real socket: offered, listed, asked with pages, streamed, given up, and gone with
// their window.

import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';

import type { Cancel, Model } from '../../sidecar/ports.ts';
import { createModel } from '../../sidecar/model/model.ts';
import type { LmEnding, LmMessage } from '../../sidecar/protocol/editorModel.ts';
import { answer, ask, requestOf, result, user } from '../model/conversation.ts';
import { Rig, until, type TestClient } from './rig.ts';

interface Window {
  readonly client: TestClient;
  readonly pages: LmMessage[][];
  readonly asked: { request: number; model: string; tools: number }[];
  readonly dropped: number[];
  answer: (request: number) => LmEnding | Promise<LmEnding>;
}

const said: LmEnding = { kind: 'answer', parts: [{ kind: 'text', text: 'Hello.' }] };

async function open(rig: Rig, models: readonly string[], swarms = false): Promise<Window> {
  const client = await rig.client();
  const window: Window = { client, pages: [], asked: [], dropped: [], answer: () => said };
  client.answers('editor/modelPage', ({ messages }) => {
    window.pages.push([...messages]);
    return {};
  });
  client.answers('editor/modelAsk', ({ request, model, tools }) => {
    window.asked.push({ request, model, tools: tools.length });
    return window.answer(request);
  });
  client.answers('editor/modelDrop', ({ request }) => {
    window.dropped.push(request);
    return {};
  });
  await client.call('model/offer', {
    models: models.map((id) => ({ id, name: id, inputTokens: id.endsWith('small') ? 4_000 : 0 })),
    swarms,
  });
  return window;
}

async function world(t: TestContext): Promise<{ rig: Rig; model: Model }> {
  const rig = await Rig.open(t);
  return { rig, model: createModel({ editors: () => rig.server.models }) };
}

const name = 'vscode/copilot/gpt';

test('what windows offer is listed with sizes, and is gone with them', async (t) => {
  const { rig, model } = await world(t);
  const list = (): Promise<string[]> =>
    new Promise((resolve) => model.list((models) => resolve(models.map((each) => each.id))));
  const first = await open(rig, ['copilot/gpt', 'copilot/small']);
  const second = await open(rig, ['copilot/gpt', 'own/x'], true);
  const names = ['vscode/copilot/gpt', 'vscode/copilot/small', 'vscode/own/x'];
  assert.deepEqual((await list()).sort(), names);
  assert.equal(model.info('vscode/copilot/small')?.contextTokens, 4_000);
  assert.equal(model.info('vscode/none/y'), null, 'it would be offered if it were there');
  assert.equal(model.info(name)?.alone, undefined);
  assert.equal(rig.events.filter((event) => event.kind === 'editors').length, 2, 'those who wait are told');
  second.client.close();
  await until('the window is gone', () => rig.server.clientCount() === 1);
  assert.equal(model.info(name)?.alone, true);
  assert.equal(model.lacks(name), null);
  await first.client.call('model/offer', { models: [], swarms: false });
  assert.equal(model.lacks(name), 'editor');
  assert.equal(model.info('vscode/copilot/small')?.contextTokens, 4_000, 'what was known stays known');
});

test('a request: its pages in order and bounded, its words as they come, text and calls in the end', async (t) => {
  const { rig, model } = await world(t);
  const window = await open(rig, ['copilot/gpt']);
  window.answer = async (request) => {
    for (const text of ['Let me ', 'look. ü🦉'])
      await window.client.rpc.sendNotification('editor/modelSaid', { request, text });
    // Of a request that nobody made: it is nobody's.
    await window.client.rpc.sendNotification('editor/modelSaid', { request: 999, text: 'stray' });
    return {
      kind: 'answer',
      parts: [
        { kind: 'text', text: 'Let me look. ü🦉' },
        { kind: 'call', key: 'c1', tool: 'read', input: { path: 'a.ts' } },
        { kind: 'call', key: 'c2', tool: 'shell', input: { command: 'ls' } },
      ],
    };
  };
  const items = [user('Look'), answer(name, [{ kind: 'call', key: 'k', tool: 'read', input: '{}' }])];
  const heard = await ask(model, requestOf(name, [...items, result('k', 'r'), user('Go on')]));
  assert.equal(heard.text, 'Let me look. ü🦉');
  assert.deepEqual(window.pages.length, 3, 'the prompt, and two pages of two items');
  assert.deepEqual(window.asked, [{ request: 1, model: 'copilot/gpt', tools: 2 }]);
  const { outcome } = heard;
  assert.ok(outcome.kind === 'answer');
  assert.equal(outcome.stop, 'calls');
  assert.deepEqual(outcome.blocks, [
    { kind: 'text', text: 'Let me look. ü🦉' },
    { kind: 'call', key: 'c1', tool: 'read', input: '{"path":"a.ts"}' },
    { kind: 'call', key: 'c2', tool: 'shell', input: '{"command":"ls"}' },
  ]);
  assert.ok(outcome.usage.input > 0 && outcome.usage.output > 0, 'case 177: usage is estimated');
});

test('the window that was used last carries it; when it goes the request ends, and so does nothing else', async (t) => {
  const { rig, model } = await world(t);
  const first = await open(rig, ['copilot/gpt']);
  const second = await open(rig, ['copilot/gpt']);
  second.answer = () => new Promise(() => undefined);
  const lost = ask(model, requestOf(name, [user('Hello')]));
  await until('the second window is asked', () => second.asked.length === 1);
  await first.client.call('ping', {});
  const kept = ask(model, requestOf(name, [user('Hello')]));
  second.client.close();
  const { outcome } = await lost;
  assert.equal(outcome.kind === 'rejected' && outcome.code, 'noEditor');
  assert.equal((await kept).outcome.kind, 'answer');
});

test('a request that is given up is dropped in its window, before and after it was asked', async (t) => {
  const { rig, model } = await world(t);
  const window = await open(rig, ['copilot/gpt']);
  window.answer = () => new Promise(() => undefined);
  let cancel: Cancel = () => assert.fail('it was not asked');
  void ask(model, requestOf(name, [user('Hello')]), (given) => (cancel = given));
  await until('it is asked', () => window.asked.length === 1);
  cancel();
  cancel();
  await until('it is dropped', () => window.dropped.length === 1);
  void ask(model, requestOf(name, [user('Hello')]), (given) => given());
  window.answer = () => said;
  assert.equal((await ask(model, requestOf(name, [user('Hello')]))).outcome.kind, 'answer');
  assert.equal(window.asked.length, 2);
});

test('a window that answers nonsense, or offers what it has not, costs a try and no more', async (t) => {
  const { rig, model } = await world(t);
  const window = await open(rig, ['copilot/gpt']);
  window.answer = () => ({ kind: 'answer', parts: [{ kind: 'result', key: 'k', text: '' }] });
  assert.equal((await ask(model, requestOf(name, [user('Hello')]))).outcome.kind, 'cut');
  window.answer = () => ({ kind: 'error', code: 'NotFound', message: 'not now' });
  const { outcome } = await ask(model, requestOf(name, [user('Hello')]));
  assert.equal(outcome.kind === 'rejected' && outcome.code, 'modelUnknown');
  const other = await ask(model, requestOf('vscode/none/x', [user('Hello')]));
  assert.match(other.outcome.kind === 'rejected' ? other.outcome.message : '', /It has: copilot\/gpt/);
  const stranger = await rig.client();
  await stranger.rpc.sendNotification('editor/modelSaid', { request: 'one' });
  await until('a malformed notification ends its connection', () => stranger.closed);
});

test('a window that says nothing for too long is given up', async (t) => {
  const rig = await Rig.open(t);
  const window = await open(rig, ['copilot/gpt']);
  window.answer = () => new Promise(() => undefined);
  const patience = { firstByteMs: 20 };
  const model = createModel({ editors: () => rig.server.models, patience, tickMs: 5 });
  const { outcome } = await ask(model, requestOf(name, [user('Hello')]));
  assert.equal(outcome.kind, 'cut');
  await until('it is dropped', () => window.dropped.length === 1);
});
