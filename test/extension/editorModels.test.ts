// Models of the editor from the window's side, and end to end over a real socket: the person's gesture, what is
// offered, the request in the classes of vscode, errors, cancelling, and a permission that is taken back.

import assert from 'node:assert/strict';
import { beforeEach, test, type TestContext } from 'node:test';
import { openSocket, openWire, type EditorHandlers } from '../../extension/wire.ts';
import { createModel } from '../../sidecar/model/model.ts';
import type { ClientNotifications } from '../../sidecar/protocol/methods.ts';
import type { ModelOffer } from '../../sidecar/protocol/editorModel.ts';
import { build, protocolVersion } from '../../sidecar/protocol/version.ts';
import { answer, ask, requestOf, result, user } from '../model/conversation.ts';
import { nonce, Rig, until } from '../rpc/rig.ts';
import { quietLog } from './fakeSidecar.ts';
import {
  LanguageModelChatMessage,
  LanguageModelError,
  LanguageModelTextPart,
  LanguageModelToolCallPart,
  LanguageModelToolResultPart,
  memento,
  seen,
  standIn,
  type CancellationToken,
  type TestModel,
} from './vscode.ts';

standIn();
const { EditorModels } = await import('../../extension/editorModels.ts');
type Parts = ConstructorParameters<typeof EditorModels>[0];

interface Sent {
  readonly messages: LanguageModelChatMessage[];
  readonly tools: unknown[];
  readonly token: CancellationToken;
}

interface Chat extends TestModel {
  readonly sent: Sent[];
  answer: (sent: Sent) => AsyncGenerator<unknown>;
  /** Rejects the request before it streams. */
  refuse: (() => Error) | null;
}

function chat(vendor: string, id: string): Chat {
  const made: Chat = {
    ...{ vendor, id, name: id.toUpperCase(), family: id, version: '1', maxInputTokens: 64_000 },
    sent: [],
    refuse: null,
    answer: async function* () {
      yield await Promise.resolve(new LanguageModelTextPart('Hello.'));
    },
    sendRequest: (messages, { tools = [] }, token) => {
      const sent = { messages, tools, token };
      made.sent.push(sent);
      if (made.refuse !== null) return Promise.reject(made.refuse());
      return Promise.resolve({ stream: made.answer(sent) });
    },
  };
  return made;
}

let gpt: Chat;
let offers: ModelOffer[];

beforeEach(() => {
  gpt = chat('copilot', 'gpt');
  seen.models = [gpt];
  seen.canSendRequest = undefined;
  seen.answers = [];
  seen.messages = [];
  offers = [];
});

function editorModels(more: Partial<Parts> = {}): InstanceType<typeof EditorModels> {
  const storage = memento() as Parts['storage'];
  return new EditorModels({
    storage,
    access: { canSendRequest: () => seen.canSendRequest } as unknown as Parts['access'],
    log: quietLog(),
    offer: (offer) => Promise.resolve(void offers.push(offer)),
    said: () => undefined,
    ...more,
  });
}

test('case 178: nothing is offered before the person has said so, and VS Code is asked in the same gesture', async () => {
  const models = editorModels();
  await models.tell();
  assert.deepEqual(offers, []);
  seen.answers = ['For Agents I Start'];
  assert.equal(await models.consent(), 'agents');
  assert.equal(gpt.sent.length, 1, 'one word is asked, so that VS Code shows its question');
  assert.equal(gpt.sent[0]?.token.isCancellationRequested, true);
  const gptOffer = { id: 'copilot/gpt', name: 'GPT', inputTokens: 64_000 };
  assert.deepEqual(offers, [{ models: [gptOffer], swarms: false }]);
  assert.match(seen.messages.at(-1) ?? '', /vscode\/copilot\/gpt/);
  seen.canSendRequest = true;
  seen.answers = ['For Swarms Too'];
  assert.equal(await models.consent(), 'swarms');
  assert.equal(gpt.sent.length, 1, 'permitted already: no request is spent');
  assert.deepEqual(offers.at(-1), { models: [gptOffer], swarms: true });
  seen.answers = ['Stop Using Them'];
  assert.equal(await models.consent(), 'nobody');
  assert.deepEqual(offers.at(-1), { models: [], swarms: false });
  const count = offers.length;
  await models.tell();
  assert.equal(offers.length, count, 'there is nothing to take back');
});

test('a person who says no, here or to VS Code, has lent nothing; without models the way on is said', async () => {
  const models = editorModels();
  seen.answers = [undefined];
  assert.equal(await models.consent(), 'nobody');
  assert.equal(gpt.sent.length, 0);
  gpt.refuse = () => LanguageModelError.NoPermissions('denied');
  seen.answers = ['For Agents I Start'];
  assert.equal(await models.consent(), 'nobody');
  assert.match(seen.messages.at(-1) ?? '', /did not allow/);
  gpt.refuse = () => LanguageModelError.Blocked('quota exceeded');
  seen.answers = ['For Agents I Start'];
  assert.equal(await models.consent(), 'agents', 'a quota that is used up is no refusal of the person');
  seen.models = [];
  assert.equal(await models.consent(), 'agents');
  assert.match(seen.messages.at(-1) ?? '', /no models/);
});

interface Wired {
  readonly rig: Rig;
  readonly models: InstanceType<typeof EditorModels>;
  readonly model: ReturnType<typeof createModel>;
  close(): void;
}

/** The extension's side of a real connection to a real server, with consent. */
async function wired(t: TestContext): Promise<Wired> {
  const rig = await Rig.open(t);
  const socket = await openSocket(rig.socketPath);
  assert.ok(socket !== null);
  const models = editorModels({
    offer: (offer) => wire.sendRequest('model/offer', offer),
    // As in the product, words that find the connection gone are nobody's error: the sidecar knows that it went.
    said: (said: ClientNotifications['editor/modelSaid']) =>
      void wire.sendNotification('editor/modelSaid', said).catch(() => undefined),
  });
  const others = ['readText', 'applyEdit', 'secret', 'diagnostics', 'locations'].map(
    (name) => `editor/${name}`,
  );
  const unused = Object.fromEntries(others.map((name) => [name, () => Promise.resolve({})]));
  const wire = openWire(socket, {
    editor: { ...(unused as unknown as EditorHandlers), ...models.handlers },
    frames: () => undefined,
    gone: () => models.disconnected(),
    warn: () => undefined,
  });
  t.after(() => socket.destroy());
  const client = { kind: 'extension', name: 'window' };
  await wire.sendRequest('hello', {
    protocol: protocolVersion,
    build,
    nonce,
    client,
    can: [],
    workspaces: [],
  });
  seen.canSendRequest = true;
  seen.answers = ['For Swarms Too'];
  await models.consent();
  const model = createModel({ editors: () => rig.server.models });
  return { rig, models, model, close: () => socket.destroy() };
}

const name = 'vscode/copilot/gpt';

test('a turn over the socket: tools, results and answers in the classes of vscode, words as they come', async (t) => {
  const { model } = await wired(t);
  gpt.answer = async function* () {
    yield await Promise.resolve(new LanguageModelTextPart('Both '));
    yield { odd: 'a part of a newer API' };
    yield new LanguageModelTextPart('then.');
    yield new LanguageModelToolCallPart('c1', 'read', { path: 'a' });
    yield new LanguageModelToolCallPart('c2', 'read', { path: 'b' });
  };
  const items = [
    user('Look'),
    answer(name, [
      { kind: 'text', text: 'I look.' },
      { kind: 'call', key: 'k1', tool: 'read', input: '{"path":"x"}' },
      { kind: 'call', key: 'k2', tool: 'read', input: '{"path":"y"}' },
    ]),
    result('k1', 'one'),
    result('k2', 'two', false),
  ];
  const heard = await ask(model, requestOf(name, items, {}, 1));
  assert.equal(heard.text, 'Both then.');
  assert.ok(heard.outcome.kind === 'answer');
  assert.deepEqual(
    heard.outcome.blocks.map((block) => (block.kind === 'call' ? `${block.key} ${block.input}` : block.text)),
    ['Both then.', 'c1 {"path":"a"}', 'c2 {"path":"b"}'],
  );
  const [sent] = gpt.sent;
  assert.deepEqual(
    sent?.messages.map((message) => [message.role, message.content.length]),
    [
      [1, 2],
      [2, 3],
      [1, 2],
    ],
    'pages of one message are one message',
  );
  const results = sent?.messages[2]?.content as LanguageModelToolResultPart[];
  assert.ok(results.every((part) => part instanceof LanguageModelToolResultPart));
  assert.deepEqual(results[1]?.content, [new LanguageModelTextPart('[error] two')]);
  assert.ok(sent?.messages[1]?.content[1] instanceof LanguageModelToolCallPart);
  assert.equal(sent?.tools.length, 2);
});

test('a cancel reaches the model; a window that goes cancels what it carries', async (t) => {
  const { model, close } = await wired(t);
  let streams = 0;
  gpt.answer = async function* ({ token }) {
    streams += 1;
    yield new LanguageModelTextPart('a');
    await new Promise<void>((resolve) => token.onCancellationRequested(resolve));
    throw new Error('Canceled');
  };
  void ask(
    model,
    requestOf(name, [user('Hello')]),
    (cancel) => void until('it streams', () => streams === 1).then(cancel),
  );
  await until('it is cancelled', () => gpt.sent[0]?.token.isCancellationRequested === true);
  const lost = ask(model, requestOf(name, [user('Hello')]));
  await until('it streams', () => streams === 2);
  close();
  const { outcome } = await lost;
  assert.equal(outcome.kind === 'rejected' && outcome.code, 'noEditor');
  await until('it is cancelled', () => gpt.sent[1]?.token.isCancellationRequested === true);
});

test('errors keep the words of their causes; a model that went is unknown', async (t) => {
  const { model } = await wired(t);
  const outcomeOf = async (refuse: () => Error): Promise<string> => {
    gpt.refuse = refuse;
    const { outcome } = await ask(model, requestOf(name, [user('Hello')]));
    return outcome.kind === 'rejected' ? `${outcome.code}: ${outcome.message}` : outcome.kind;
  };
  const cause = new Error('You have exceeded your copilot premium requests allowance');
  assert.match(
    await outcomeOf(() => new LanguageModelError('Failed', 'Unknown', cause)),
    /^noCredit: Failed You/,
  );
  assert.equal(await outcomeOf(() => new Error('net::ERR')), 'cut');
  assert.equal(await outcomeOf(() => LanguageModelError.Blocked('rate limit exceeded')), 'refused');
  seen.models = [chat('copilot', 'other')];
  assert.match(await outcomeOf(() => new Error('never asked')), /^modelUnknown/);
});

test('a permission that is taken back withdraws the offer before the request ends, and says so', async (t) => {
  const { model, rig } = await wired(t);
  gpt.refuse = () => LanguageModelError.NoPermissions('revoked');
  const { outcome } = await ask(model, requestOf(name, [user('Hello')]));
  assert.equal(outcome.kind === 'rejected' && outcome.code, 'noEditor');
  assert.equal(model.lacks(name), 'editor', 'agents wait and do not ask again');
  assert.deepEqual(rig.server.models.offered(), []);
  assert.match(seen.messages.at(-1) ?? '', /revoked/);
});
