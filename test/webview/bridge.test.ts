// The bridge against a host that a test plays: calls get their answers, follows their states, and nothing that
// was closed, or is not of the table, reaches a view. Cases 17, 122, 222.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agentId, changeId } from '../../sidecar/protocol/ids.ts';
import type { Snapshot } from '../../sidecar/protocol/frame.ts';
import type { Connection, ToExtension, ToWebview } from '../../sidecar/protocol/panel.ts';
import { Bridge } from '../../webview/bridge.ts';
import { limits } from '../../webview/limits.ts';
import { Review } from '../../webview/changes/review.ts';
import { agent, change, hunk, transcript } from './samples.ts';

function play() {
  const posted: ToExtension[] = [];
  const connections: Connection[] = [];
  const bridge = new Bridge(
    { postMessage: (message) => posted.push(message), getState: () => undefined, setState: () => undefined },
    { connection: (connection) => connections.push(connection), show: () => undefined },
    () => undefined,
  );
  const of = <K extends ToExtension['kind']>(kind: K) =>
    posted.filter((message): message is Extract<ToExtension, { kind: K }> => message.kind === kind);
  const say = (message: ToWebview): void => bridge.receive(message);
  return { bridge, posted, of, say, connections };
}

const ignore = (): void => undefined;

const snapshotOf = (id: number, words = ''): Snapshot => ({
  kind: 'agent',
  state: transcript(agent(id), [], { streaming: words }),
});

test('case 17: a call is settled once, and nothing is left when all are', async () => {
  const { bridge, of, say } = play();
  const call = bridge.call('agent/get', { agent: agentId(7) });
  const id = of('call')[0]?.id ?? 0;
  say({ kind: 'answer', id, ok: true, result: agent(7) });
  say({ kind: 'answer', id, ok: false, code: 'internal', message: 'late' });
  assert.deepEqual(await call, { ok: true, result: agent(7) });
  assert.deepEqual(bridge.openCount, { calls: 0, follows: 0 });
});

test('a failure is data, an answer of another form is a failure', async () => {
  const { bridge, of, say } = play();
  const failing = bridge.call('agent/get', { agent: agentId(7) });
  const odd = bridge.call('entry/page', { agent: agentId(7), limit: 1 });
  const [first, second] = of('call').map((message) => message.id);
  say({ kind: 'answer', id: first ?? 0, ok: false, code: 'agent/unknown', message: 'No such agent.' });
  say({ kind: 'answer', id: second ?? 0, ok: true, result: agent(7) });
  assert.deepEqual(await failing, { ok: false, code: 'agent/unknown', message: 'No such agent.' });
  assert.equal((await odd).ok, false);
});

test('calls without answers are bounded', async () => {
  const { bridge } = play();
  for (let made = 0; made < limits.pendingCalls; made += 1)
    void bridge.call('agent/get', { agent: agentId(1) });
  const refused = await bridge.call('agent/get', { agent: agentId(1) });
  assert.equal(refused.ok ? '' : refused.code, 'overloaded');
});

test('case 122: a closed follow hears nothing more, and its name is never used again', () => {
  const { bridge, of, say } = play();
  const heard: string[] = [];
  const first = bridge.follow(
    { kind: 'agent', agent: agentId(1) },
    { state: () => heard.push('first'), refused: ignore },
  );
  const tag = of('follow')[0]?.tag ?? '';
  say({ kind: 'snapshot', tag, snapshot: snapshotOf(1) });
  first.close();
  first.close();
  bridge.follow({ kind: 'agent', agent: agentId(1) }, { state: () => heard.push('second'), refused: ignore });
  say({ kind: 'snapshot', tag, snapshot: snapshotOf(1) });
  say({ kind: 'actions', tag, actions: [{ kind: 'agent/streamEnd' }] });
  assert.deepEqual(heard, ['first']);
  assert.notEqual(of('follow')[1]?.tag, tag);
  assert.equal(of('unfollow').length, 1);
});

test('actions move the state on; without a snapshot, or of another channel, they change nothing', () => {
  const { bridge, of, say } = play();
  const words: string[] = [];
  bridge.follow(
    { kind: 'agent', agent: agentId(1) },
    { state: (state) => state.kind === 'agent' && words.push(state.state.streaming), refused: ignore },
  );
  const tag = of('follow')[0]?.tag ?? '';
  const delta = { kind: 'agent/delta', text: 'b', thinking: '' } as const;
  say({ kind: 'actions', tag, actions: [delta] });
  say({ kind: 'snapshot', tag, snapshot: { kind: 'changes', state: { rows: [], more: false } } });
  say({ kind: 'snapshot', tag, snapshot: snapshotOf(1, 'a') });
  say({ kind: 'actions', tag, actions: [delta, delta] });
  assert.deepEqual(words, ['a', 'abb']);
});

test('a follow moves under its name, and hears when it is refused', () => {
  const { bridge, of, say, connections } = play();
  say({ kind: 'boot', view: 'agent', strings: {}, connection: { kind: 'connected' } });
  const refusals: string[] = [];
  const follow = bridge.follow(
    { kind: 'changes', agent: agentId(1) },
    { state: ignore, refused: (message) => refusals.push(message) },
  );
  follow.move({ kind: 'changes', agent: agentId(2) });
  const [opened, moved] = of('follow');
  assert.equal(opened?.tag, moved?.tag);
  say({ kind: 'refused', tag: opened?.tag ?? '', code: 'agent/unknown', message: 'There is no agent 2.' });
  follow.close();
  say({ kind: 'refused', tag: opened?.tag ?? '', code: 'agent/unknown', message: 'late' });
  assert.deepEqual(refusals, ['There is no agent 2.']);
  assert.deepEqual(connections, [{ kind: 'connected' }]);
});

test('case 222: what is not of the table is dropped', () => {
  const { bridge, posted } = play();
  for (const odd of [
    null,
    7,
    'boot',
    [],
    {},
    { kind: 'eval' },
    { kind: 'boot' },
    { kind: 'toString' },
    { kind: 'answer', id: 1 },
  ]) {
    bridge.receive(odd);
  }
  assert.deepEqual(posted, []);
});

function review() {
  const host = play();
  const said: string[] = [];
  const parts = {
    agent: agentId(1),
    bridge: host.bridge,
    announcer: { answer: (words: string) => said.push(words) },
    changed: () => undefined,
  };
  const reviewed = new Review(parts);
  const answer = async (
    result: Extract<ToWebview, { kind: 'answer'; ok: true }>['result'],
  ): Promise<void> => {
    host.say({ kind: 'answer', id: host.of('call').at(-1)?.id ?? 0, ok: true, result });
    await new Promise(setImmediate);
  };
  return { ...host, said, review: reviewed, answer };
}

const sample = change(1, { hunks: [hunk('h1', 1, ['a'], ['b']), hunk('h2', 9, ['c'], ['d'])] });

test('case 61: a verdict names its hunk and the state that was seen', async () => {
  const { review: it, of, answer } = review();
  it.take({ rows: [sample], more: false });
  it.toggle(sample);
  await answer(sample);
  const deciding = it.decide(sample, 'accept', ['h1']);
  assert.equal(it.isWorking(sample.id), true);
  await it.decide(sample, 'accept', ['h2']); // while one is on its way, a second click does nothing
  const call = of('call').at(-1);
  assert.equal(of('call').length, 2);
  assert.partialDeepStrictEqual(call?.params, {
    change: 1,
    verdict: 'accept',
    hunks: ['h1'],
    baseHash: 'base-1',
    afterHash: 'after-1',
  });
  const left = change(1, { hunks: sample.hunks.slice(1), baseHash: 'base-2' });
  await answer({ state: 'applied', message: '', change: left });
  await answer(left);
  await deciding;
  assert.deepEqual(
    it.opened(sample.id)?.hunks.map((each) => each.hunk.id),
    ['h2'],
  );
});

test('case 62, case 69: stale and conflict are said in words, and the change is read again', async () => {
  const { review: it, said, answer, of } = review();
  it.take({ rows: [sample], more: false });
  for (const state of ['stale', 'conflict'] as const) {
    void it.decide(sample, 'reject', 'all');
    await answer({ state, message: '', change: { ...sample, state: 'conflict' } });
    assert.equal(it.note(sample.id)?.tone, 'error');
    assert.equal(it.note(sample.id)?.text, said.at(-1));
  }
  assert.match(said[0] ?? '', /changed since you looked/);
  assert.match(said[1] ?? '', /does not fit/);
  assert.equal(of('call').length, 2, 'a change that is not open is not read');
  assert.equal(it.rows[0]?.state, 'conflict');
});

test('an opened change that moves is read again; one that is gone is forgotten', async () => {
  const { review: it, of, answer } = review();
  it.take({ rows: [sample], more: false });
  it.toggle(sample);
  await answer(sample);
  it.take({ rows: [{ ...sample, afterHash: 'after-2' }], more: false });
  assert.equal(of('call').filter((call) => call.method === 'change/get').length, 2);
  it.take({ rows: [], more: false });
  assert.equal(it.opened(sample.id), undefined);
});

test('case 23: files beyond the first page are paged', async () => {
  const { review: it, answer } = review();
  const rows = Array.from({ length: limits.changeRows }, (_, index) => change(index + 1));
  it.take({ rows, more: true });
  assert.equal(it.rows.length, limits.changeRows);
  const more = it.showMoreRows();
  await answer({ rows: [change(900)], more: false });
  await more;
  assert.equal(it.rows.at(-1)?.id, changeId(900));
  assert.equal(it.hasMore, false);
});
