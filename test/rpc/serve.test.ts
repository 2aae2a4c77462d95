// The door and what comes through it: hello, bad calls, bad peers, bounds.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import * as net from 'node:net';
import { test } from 'node:test';

import type { Params } from '../../sidecar/protocol/methods.ts';
import { turnId } from '../../sidecar/protocol/ids.ts';
import { limits } from '../../sidecar/runtime/limits.ts';
import { Rig, until, type TestClient } from './rig.ts';

test('hello comes first; anything else is told so and the connection ends', async (t) => {
  const rig = await Rig.open(t);
  const early = await rig.stranger();
  assert.equal((await early.fails('ping', {})).code, 'protocol/hello');
  await until('the connection ends', () => early.closed);
  const client = await rig.client();
  assert.deepEqual(await client.call('ping', {}), {});
  assert.equal((await client.fails('hello', helloWith({}))).code, 'protocol/hello');
  assert.deepEqual(await client.call('ping', {}), {});
});

test('a wrong nonce and another major are refused; a newer minor with new fields attaches (case 197)', async (t) => {
  const rig = await Rig.open(t);
  const wrong = await rig.stranger();
  const refused = await wrong.fails('hello', helloWith({ nonce: 'b'.repeat(64) }));
  assert.equal(refused.code, 'protocol/nonce');
  assert.match(refused.message, /sidecar\.json/);
  await until('the connection ends', () => wrong.closed);
  const future = await rig.stranger();
  const { code, message } = await future.fails('hello', { protocol: { major: 2 }, shape: 'unknown' });
  assert.equal(code, 'protocol/version');
  assert.match(message, /reload the window/);
  const newer = await rig.stranger();
  const hello = { ...helloWith({ protocol: { major: 1, minor: 99 } }), extra: true };
  assert.equal((await newer.rpc.sendRequest<{ pid: number }>('hello', hello)).pid, process.pid);
});

test('an unknown method, an unknown field, a missing one and a wrong one are named', async (t) => {
  const client = await (await Rig.open(t)).client();
  const start = { text: 'x', workspace: '/w', key: 'k' };
  const said = async (method: string, params: unknown): Promise<string> => {
    const { code, message } = await client.fails(method, params);
    return `${code}: ${message}`;
  };
  assert.match(await said('agent/dance', {}), /^request\/unknownMethod: .*agent\/dance/);
  assert.match(
    await said('agent/start', { ...start, colour: 1 }),
    /^request\/invalid: agent\/start: unknown field "colour"/,
  );
  assert.match(await said('agent/start', { ...start, budget: { pence: 1 } }), /unknown field "budget.pence"/);
  assert.match(await said('agent/start', { text: 'x', key: 'k' }), /field "workspace" is missing/);
  assert.match(await said('agent/start', { ...start, text: 3 }), /field "text" is not valid/);
  assert.match(await said('agent/start', [1]), /agent\/start: /);
  assert.match(await said('agent/get', { agent: -1 }), /^request\/invalid/);
  assert.match(
    await said('tree/window', { expanded: [], order: 'x', filter: '', top: 0, height: 1 }),
    /"order"/,
  );
});

test('what is not there is an error that says where to look', async (t) => {
  const rig = await Rig.open(t);
  const client = await rig.client();
  const agent = rig.agent();
  const codes = [
    ['agent/get', { agent: 99 }, 'agent/unknown'],
    ['agent/get', { agent: 'nobody' }, 'agent/unknown'],
    ['agent/list', { parent: 99, after: null, limit: 10 }, 'agent/unknown'],
    ['turn/result', { turn: 99 }, 'turn/unknown'],
    ['turn/result', { agent }, 'turn/none'],
    ['turn/result', {}, 'request/invalid'],
    ['turn/wait', { turns: [99], mode: 'all', timeoutMs: 0 }, 'turn/unknown'],
    ['entry/page', { agent: 99, limit: 1 }, 'agent/unknown'],
    ['blob/read', { blob: 99, offset: 0, limit: 1 }, 'blob/unknown'],
    ['change/get', { change: 99 }, 'change/unknown'],
    ['follow/close', { follow: 99 }, 'follow/unknown'],
    ['follow/open', { channel: { kind: 'agent', agent: 99 } }, 'agent/unknown'],
  ] as const;
  for (const [method, params, code] of codes) {
    const failure = await client.fails(method, params);
    assert.equal(failure.code, code, method);
    assert.match(failure.message, /\.$/);
  }
  assert.deepEqual(rig.errors, []);
});

test('bad peers lose their own connection and nobody else notices (case 187)', async (t) => {
  const rig = await Rig.open(t);
  const good = await rig.client();
  const frame = (body: string): string => `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
  const bad: [name: string, bytes: string | Buffer, says: RegExp][] = [
    ['another protocol', 'GET / HTTP/1.1\r\nHost: x\r\n\r\n', /Content-Length header/],
    ['a header without end', 'x'.repeat(limits.headerBytes + 1), /Content-Length header/],
    ['a length that is none', 'Content-Length: many\r\n\r\n{}', /Content-Length header/],
    ['a negative length', 'Content-Length: -5\r\n\r\n{}', /Content-Length header/],
    ['a message too long', `Content-Length: ${limits.clientMessageBytes + 1}\r\n\r\n`, /too long/],
    ['no JSON', frame('{"jsonrpc":'), /not valid JSON/],
    ['no JSON-RPC', frame('{"hello":1}'), /not JSON-RPC/],
    ['a list', frame('[1,2]'), /not JSON-RPC/],
    ['binary', Buffer.from([0, 255, 13, 10, 13, 10, 1]), /Content-Length header/],
    [
      'a cancel of nothing',
      frame('{"jsonrpc":"2.0","method":"$/cancelRequest"}'),
      /name the call that it cancels/,
    ],
    [
      'a cancel of an object',
      frame('{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":{}}}'),
      /name/,
    ],
    [
      'an unknown notification',
      frame('{"jsonrpc":"2.0","method":"shout","params":{}}'),
      /no notification shout/,
    ],
  ];
  for (const [name, bytes, says] of bad) {
    const socket = await rig.raw();
    let heard = '';
    socket.on('data', (chunk) => (heard += chunk.toString()));
    const ended = new Promise((resolve) => socket.once('close', resolve));
    socket.write(bytes);
    await ended;
    assert.match(heard, says, name);
    assert.match(heard, /"id":null/, name);
    assert.deepEqual(await good.call('ping', {}), {}, name);
  }
  await until('only the good one is left', () => rig.server.clientCount() === 1);
});

test('half a message, then gone: nothing remains of it', async (t) => {
  const rig = await Rig.open(t);
  const socket = await rig.raw();
  socket.write('Content-Length: 1000\r\n\r\n{"jsonrpc"');
  await until('it is counted', () => rig.server.clientCount() === 1);
  socket.destroy();
  await until('it is forgotten', () => rig.server.clientCount() === 0);
});

test('a connection that says nothing is closed', async (t) => {
  const rig = await Rig.open(t, { helloMs: 20 });
  const silent = await rig.stranger();
  await until('it is closed', () => silent.closed);
});

test('messages cut anywhere arrive whole', async (t) => {
  const rig = await Rig.open(t);
  const bodies = [JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'hello', params: helloWith({}) })];
  bodies.push(
    JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'agent/get', params: { agent: 'Grüße, 世界 🐦' } }),
  );
  const bytes = Buffer.concat(
    bodies.map((body) =>
      Buffer.from(`content-length:${Buffer.byteLength(body)}\r\nX-Other: y\r\n\r\n${body}`),
    ),
  );
  const socket = await rig.raw();
  socket.setNoDelay(true);
  let heard = '';
  socket.on('data', (chunk) => (heard += chunk.toString()));
  for (const byte of bytes) {
    socket.write(Buffer.from([byte]));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await until('both are answered', () => /"id":1,"result"/.test(heard) && /"id":2,"error"/.test(heard));
  assert.match(heard, /Grüße, 世界 🐦/);
  socket.destroy();
});

test('calls beyond the bound are answered overloaded, and the others still are', async (t) => {
  const rig = await Rig.open(t);
  const client = await rig.client();
  const turn = rig.turn(rig.agent());
  const wait = { turns: [turnId(turn)], mode: 'all', timeoutMs: 60_000 } as const;
  const waits = Array.from({ length: limits.pendingCalls }, () => client.call('turn/wait', wait));
  assert.equal((await client.fails('ping', {})).code, 'overloaded');
  rig.endTurn(turn);
  assert.equal((await Promise.all(waits)).length, limits.pendingCalls);
  assert.deepEqual(await client.call('ping', {}), {});
});

test('who asks without reading is not listened to any longer than its buffer lasts', async (t) => {
  const rig = await Rig.open(t);
  const client = await rig.client();
  const agent = rig.agent();
  rig.sayMany(
    agent,
    Array.from({ length: 20 }, () => 'x'.repeat(10_000)),
  );
  client.socket.pause();
  const asked = 200;
  const body = (id: number): string =>
    JSON.stringify({ jsonrpc: '2.0', id, method: 'entry/page', params: { agent, limit: 20 } });
  for (let id = 1_000; id < 1_000 + asked; id++) {
    client.socket.write(`Content-Length: ${Buffer.byteLength(body(id))}\r\n\r\n${body(id)}`);
  }
  const other = await rig.client();
  for (let i = 0; i < 50; i++) await other.call('ping', {});
  const answered = rig.reads.get('entries') ?? 0;
  // 200 KB an answer: five fill the buffer, a few dozen were read before.
  assert.ok(answered < 60, `${answered} answers were made`);
  client.socket.resume();
  await until('the rest is answered once it reads', () => rig.reads.get('entries') === asked);
});

test('connections beyond the bound are refused', async (t) => {
  const rig = await Rig.open(t);
  const sockets = await Promise.all(Array.from({ length: limits.clients }, () => rig.raw()));
  await until('all are in', () => rig.server.clientCount() === limits.clients);
  const late = await rig.raw();
  let heard = '';
  late.on('data', (chunk) => (heard += chunk.toString()));
  await new Promise((resolve) => late.once('close', resolve));
  assert.match(heard, /512 clients are connected already/);
  // Those that were refused and do not close their half take nobody's place.
  const stubborn = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const socket = net.createConnection({ path: rig.socketPath, allowHalfOpen: true });
      socket.resume();
      await once(socket, 'end');
      return socket;
    }),
  );
  sockets.pop()?.destroy();
  await until('one place is free', () => rig.server.clientCount() === limits.clients - 1);
  const next = await rig.client();
  assert.deepEqual(await next.call('ping', {}), {});
  next.close();
  for (const socket of stubborn) socket.destroy();
  for (const socket of sockets) socket.destroy();
  await until('there is room again', () => rig.server.clientCount() === 0);
  assert.deepEqual(await (await rig.client()).call('ping', {}), {});
});

test('what changes something is posted checked, and answered when the runtime says so (I1)', async (t) => {
  const rig = await Rig.open(t);
  const client = await rig.client();
  const params = { text: 'go', workspace: '/w', budget: { tokens: 5 }, key: 'k' };
  let answered = false;
  const started = client.call('agent/start', params).then((value) => {
    answered = true;
    return value;
  });
  await until('it is posted', () => rig.events.length === 1);
  const [event] = rig.events;
  assert.ok(event?.kind === 'agent/start');
  assert.deepEqual(event.params, params);
  await client.call('ping', {});
  assert.equal(answered, false);
  event.reply({ ok: true, value: { agent: 1, turn: 2, name: 'a' } as never });
  assert.deepEqual(await started, { agent: 1, turn: 2, name: 'a' });
  rig.onEvent = (posted) => {
    if (posted.kind === 'agent/interrupt')
      posted.reply({ ok: false, code: 'agent/closed', message: 'It is closed.' });
  };
  assert.equal(
    (await client.fails('agent/interrupt', { agent: 1, branch: false, key: 'k' })).code,
    'agent/closed',
  );
  rig.accepting = false;
  assert.equal((await client.fails('agent/start', params)).code, 'overloaded');
});

test('a read that breaks is one failed call, in the log, and nothing else', async (t) => {
  const rig = await Rig.open(t, {
    models: () => {
      throw new Error('broken');
    },
  });
  const client = await rig.client();
  assert.equal((await client.fails('model/list', {})).code, 'internal');
  assert.match(rig.errors.join(), /broken/);
  assert.deepEqual(await client.call('ping', {}), {});
});

test('a server that ends answers what it took, and leaves the rest to the next one', async (t) => {
  const rig = await Rig.open(t);
  const client = await rig.client();
  const start = { text: 'go', workspace: '/w', key: 'k' };
  const taken = client.call('agent/start', start);
  await until('it is posted', () => rig.events.length === 1);
  rig.server.stop();
  const late = client.fails('agent/start', start);
  const [event] = rig.events;
  assert.ok(event?.kind === 'agent/start');
  event.reply({ ok: true, value: { agent: 1, turn: 1, name: 'a' } as never });
  rig.server.close(() => undefined);
  assert.equal((await taken).name, 'a');
  assert.equal((await late).code, 'lost');
  assert.equal(rig.events.length, 1);
});

test('info counts clients; shutdown answers first; closing twice is closing once (case 195)', async (t) => {
  const rig = await Rig.open(t);
  const client = await rig.client();
  rig.agent();
  const info = await client.call('store/info', {});
  assert.equal(info.clients, 1);
  assert.equal(info.agents, 1);
  assert.deepEqual(await client.call('shutdown', {}), {});
  await until('it was asked to end', () => rig.shutdowns === 1);
  let ended = 0;
  rig.server.close(() => (ended += 1));
  rig.server.close(() => (ended += 1));
  await until('the connection ends', () => client.closed);
  await until('both are told', () => ended === 2);
  assert.deepEqual(rig.errors, []);
});

function helloWith(own: Partial<Params<'hello'>>): Parameters<TestClient['hello']>[0] {
  return {
    protocol: { major: 1, minor: 0 },
    build: 'x',
    nonce: 'a'.repeat(64),
    client: { kind: 'test', name: 't' },
    can: [],
    workspaces: [],
    ...own,
  };
}
