// Waiting for turns: any, all, time limits, clients that vanish, and slots that are lent meanwhile (I5).

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { callId, turnId, type TurnId } from '../../sidecar/protocol/ids.ts';
import { Rig, until } from './rig.ts';

const lends = (rig: Rig): string[] =>
  rig.events.flatMap((event) =>
    event.kind === 'lend' ? [`${event.call} ${event.lent ? 'lent' : 'back'}`] : [],
  );

function turns(rig: Rig, count: number): TurnId[] {
  const agent = rig.agent();
  return Array.from({ length: count }, () => turnId(rig.turn(agent)));
}

test('all waits for the last, any for the first; what has ended already does not wait', async (t) => {
  const rig = await Rig.open(t);
  const client = await rig.client();
  const [a, b, c] = turns(rig, 3);
  assert.ok(a !== undefined && b !== undefined && c !== undefined);
  const all = client.call('turn/wait', { turns: [a, b, a], mode: 'all', timeoutMs: 60_000 });
  const any = client.call('turn/wait', { turns: [b, c], mode: 'any', timeoutMs: 60_000 });
  await client.call('ping', {});
  rig.endTurn(b);
  const first = await any;
  assert.deepEqual(
    first.done.map((result) => [result.turn, result.outcome]),
    [[b, 'done']],
  );
  assert.deepEqual(first.open, [c]);
  rig.endTurn(a);
  assert.deepEqual(
    (await all).done.map((result) => result.turn),
    [a, b],
  );
  const over = await client.call('turn/wait', { turns: [a, c], mode: 'any', timeoutMs: 60_000 });
  assert.deepEqual(over.open, [c]);
});

test('a time limit answers with what has ended until then', async (t) => {
  const rig = await Rig.open(t);
  const client = await rig.client();
  const [a, b] = turns(rig, 2);
  assert.ok(a !== undefined && b !== undefined);
  const long = client.call('turn/wait', { turns: [b], mode: 'all', timeoutMs: 60_000 });
  const short = client.call('turn/wait', { turns: [a, b], mode: 'all', timeoutMs: 30 });
  rig.endTurn(a);
  const result = await short;
  assert.deepEqual([result.done.length, result.open], [1, [b]]);
  const now = await client.call('turn/wait', { turns: [b], mode: 'all', timeoutMs: 0 });
  assert.deepEqual(now, { done: [], open: [b] });
  rig.endTurn(b);
  assert.equal((await long).done.length, 1);
});

test('a client that vanishes waits for nothing any more (case 17)', async (t) => {
  const rig = await Rig.open(t);
  const [a] = turns(rig, 1);
  assert.ok(a !== undefined);
  const gone = await rig.client();
  const waiting = gone.call('turn/wait', { turns: [a], mode: 'all', timeoutMs: 60_000 }).catch(() => 'lost');
  await gone.call('ping', {});
  gone.close();
  assert.equal(await waiting, 'lost');
  await until('it is gone', () => rig.server.clientCount() === 0);
  rig.reads.clear();
  rig.endTurn(a);
  assert.deepEqual([...rig.reads], []);
});

test('the slot of a command is lent while it waits or follows, and taken back once', async (t) => {
  const rig = await Rig.open(t);
  const [a] = turns(rig, 1);
  assert.ok(a !== undefined);
  const client = await rig.client({ call: callId(7) });
  await client.call('ping', {});
  assert.deepEqual(lends(rig), []);
  const follow = await client.follow({ kind: 'log', agent: null });
  const waiting = client.call('turn/wait', { turns: [a], mode: 'all', timeoutMs: 60_000 });
  await client.call('ping', {});
  assert.deepEqual(lends(rig), ['7 lent']);
  rig.endTurn(a);
  await waiting;
  assert.deepEqual(lends(rig), ['7 lent']);
  await client.call('follow/close', { follow });
  assert.deepEqual(lends(rig), ['7 lent', '7 back']);
});

test('what a command of an agent is told is remembered before it is said (I1, I8)', async (t) => {
  const rig = await Rig.open(t);
  const [a, b] = turns(rig, 2);
  assert.ok(a !== undefined && b !== undefined);
  const told = (): number[][] =>
    rig.events.flatMap((event) => (event.kind === 'told' ? [[event.call, ...event.turns]] : []));
  const client = await rig.client({ call: callId(7) });
  const waiting = client.call('turn/wait', { turns: [a, b], mode: 'any', timeoutMs: 60_000 });
  await client.call('ping', {});
  assert.deepEqual(told(), []);
  rig.endTurn(a);
  await waiting;
  assert.deepEqual(told(), [[7, a]]);
  await client.call('turn/result', { turn: b });
  assert.deepEqual(told(), [[7, a]], 'it has not ended, so nothing was told');
  const person = await rig.client();
  await person.call('turn/result', { turn: a });
  assert.deepEqual(told(), [[7, a]], 'a person is not a command of an agent');
  await client.call('turn/result', { turn: a });
  assert.deepEqual(told(), [
    [7, a],
    [7, a],
  ]);
});

test('a command that is killed while it waits gives the slot back to nobody twice', async (t) => {
  const rig = await Rig.open(t);
  const [a] = turns(rig, 1);
  assert.ok(a !== undefined);
  const client = await rig.client({ call: callId(9) });
  void client.call('turn/wait', { turns: [a], mode: 'all', timeoutMs: 60_000 }).catch(() => undefined);
  await client.call('ping', {});
  client.close();
  await until('it is taken back', () => lends(rig).length === 2);
  rig.endTurn(a);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(lends(rig), ['9 lent', '9 back']);
});
