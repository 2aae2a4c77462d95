// Following: what a client is told keeps its replica equal to what a new client would be shown, at the cost of
// what it looks at, however slow it reads.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { introducedIn, type Channel, type Snapshot } from '../../sidecar/protocol/frame.ts';
import { callId, turnId, type AgentId } from '../../sidecar/protocol/ids.ts';
import type { TreeQuery } from '../../sidecar/protocol/tree.ts';
import { protocolVersion } from '../../sidecar/protocol/version.ts';
import { limits } from '../../sidecar/runtime/limits.ts';
import { entryRow } from '../store/samples.ts';
import { Rig, until, type TestClient } from './rig.ts';

const window: TreeQuery = { expanded: [], order: 'created', filter: '', top: 0, height: 50 };

/** What a client that opens the channel now is shown. */
async function fresh<K extends Snapshot['kind']>(rig: Rig, channel: Channel & { kind: K }): Promise<unknown> {
  const client = await rig.client();
  const { snapshot } = await client.call('follow/open', { channel });
  client.close();
  return snapshot.state;
}

/** Waits until the replica of a follow is what a new client is shown. */
async function settled(rig: Rig, client: TestClient, follow: number, channel: Channel): Promise<void> {
  const want = JSON.stringify(await fresh(rig, channel));
  await until(`the ${channel.kind} replica equals\n${want}`, () => {
    return JSON.stringify(client.state(follow, channel.kind)) === want;
  });
}

test('every channel keeps its replica equal to a new snapshot (S9)', async (t) => {
  const rig = await Rig.open(t);
  const client = await rig.client();
  const lead = rig.agent();
  const channels: Channel[] = [
    { kind: 'fleet' },
    { kind: 'requests' },
    { kind: 'tree', query: { ...window, expanded: [lead] } },
    { kind: 'agent', agent: lead },
    { kind: 'changes', agent: lead },
    { kind: 'changes', agent: null },
  ];
  const follows = await Promise.all(channels.map((channel) => client.follow(channel)));
  const check = async (): Promise<void> => {
    for (const [index, channel] of channels.entries())
      await settled(rig, client, follows[index] ?? 0, channel);
  };
  await check();
  rig.say(lead, 'first');
  rig.agent(lead, 'child');
  rig.request(lead);
  rig.change(lead);
  await check();
  rig.patch(lead, { doing: 'reading', phase: 'asking' });
  rig.say(lead, 'second');
  rig.change(lead, 'b.ts');
  rig.agent(0, 'other');
  await check();
  assert.equal(client.resets, 0);
});

test('nobody follows: a commit costs no read', async (t) => {
  const rig = await Rig.open(t);
  await rig.client();
  const agent = rig.agent();
  rig.reads.clear();
  for (let i = 0; i < 100; i++) rig.say(agent, 'x');
  rig.server.publish.delta(agent, 'text', '');
  rig.server.publish.output(agent, callId(1), 'text');
  rig.server.publish.streamEnd(agent);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual([...rig.reads], []);
});

test('a window is told of its own rows only (I13)', async (t) => {
  const rig = await Rig.open(t);
  const client = await rig.client();
  const roots = Array.from({ length: 30 }, () => rig.agent());
  const follow = await client.follow({ kind: 'tree', query: { ...window, height: 5 } });
  rig.reads.clear();
  for (const root of roots.slice(5)) rig.patch(root, { doing: 'elsewhere' });
  rig.patch(roots[2] ?? 0, { doing: 'here' });
  await until('the visible row is told', () => client.frames.length === 1);
  const [frame] = client.frames;
  assert.equal(frame?.follow, follow);
  const [action] = frame?.actions ?? [];
  assert.ok(action?.kind === 'tree/rows');
  assert.deepEqual(
    action.rows.map((row) => [row.id, row.doing]),
    [[roots[2], 'here']],
  );
  assert.deepEqual([...rig.reads], [['agent', 1]]);
});

test('a moved window shows the other rows, and frames go on', async (t) => {
  const rig = await Rig.open(t);
  const client = await rig.client();
  const roots = Array.from({ length: 30 }, () => rig.agent());
  const follow = await client.follow({ kind: 'tree', query: { ...window, height: 5 } });
  rig.patch(roots[0] ?? 0, { doing: 'one' });
  await until('the first frame', () => client.frames.length === 1);
  await client.move(follow, { kind: 'tree', query: { ...window, top: 20, height: 5 } });
  assert.deepEqual(
    client.state(follow, 'tree').rows.map((row) => row.agent.id),
    roots.slice(20, 25),
  );
  rig.patch(roots[0] ?? 0, { doing: 'two' });
  rig.patch(roots[21] ?? 0, { doing: 'three' });
  await until('the second frame', () => client.frames.length === 2);
  assert.equal(client.state(follow, 'tree').rows[1]?.agent.doing, 'three');
  const other = await client.fails('follow/move', { follow, channel: { kind: 'fleet' } });
  assert.equal(other.code, 'request/invalid');
  await client.call('follow/close', { follow });
  assert.equal((await client.fails('follow/close', { follow })).code, 'follow/unknown');
});

test('a stream of words is few frames and loses none', async (t) => {
  const rig = await Rig.open(t);
  const client = await rig.client();
  const agent = rig.agent();
  const follow = await client.follow({ kind: 'agent', agent });
  const words = Array.from({ length: 2_000 }, (_, index) => `w${index} `);
  for (const word of words) rig.server.publish.delta(agent, word, '');
  await until('all is there', () => client.state(follow, 'agent').streaming === words.join(''));
  assert.ok(client.frames.length <= 3, `${client.frames.length} frames`);
  rig.server.publish.delta(agent, 'never told', 'thought');
  rig.server.publish.streamEnd(agent);
  rig.say(agent, 'the answer');
  await until('the entry replaces the stream', () => client.state(follow, 'agent').entries.length === 1);
  assert.equal(client.state(follow, 'agent').streaming, '');
  assert.equal(client.state(follow, 'agent').thinking, '');
});

test('who comes in mid-stream sees what others were told of it', async (t) => {
  const rig = await Rig.open(t);
  const agent = rig.agent();
  const first = await rig.client();
  await first.follow({ kind: 'agent', agent });
  rig.server.publish.delta(agent, 'half of ', '');
  const second = await rig.client();
  const follow = await second.follow({ kind: 'agent', agent });
  rig.server.publish.delta(agent, 'an answer', '');
  await until('it is whole', () => second.state(follow, 'agent').streaming === 'half of an answer');
});

test('the first who looks comes in mid-stream and sees the answer from its start', async (t) => {
  const rig = await Rig.open(t);
  const agent = rig.agent();
  rig.said.set(agent, { text: 'half of ', thinking: 'a thought' });
  const first = await rig.client();
  const follow = await first.follow({ kind: 'agent', agent });
  assert.equal(first.state(follow, 'agent').streaming, 'half of ');
  rig.server.publish.delta(agent, 'an answer', '');
  await until('it is whole', () => first.state(follow, 'agent').streaming === 'half of an answer');
  const second = await rig.client();
  const other = await second.follow({ kind: 'agent', agent });
  assert.equal(second.state(other, 'agent').streaming, 'half of an answer');
  assert.equal(second.state(other, 'agent').thinking, 'a thought');
});

test('one event of each kind arrives without waiting for the next frame time', async (t) => {
  const rig = await Rig.open(t);
  const client = await rig.client();
  const agent = rig.agent();
  const follow = await client.follow({ kind: 'agent', agent });
  rig.say(agent, 'a');
  rig.say(agent, 'b');
  await until('one frame holds both', () => client.frames.length === 1);
  assert.equal(client.state(follow, 'agent').entries.length, 2);
});

test('a slow reader costs its buffer and no more, and is then brought up to date by one snapshot (I13)', async (t) => {
  const rig = await Rig.open(t);
  const client = await rig.client();
  const agent = rig.agent();
  const follow = await client.follow({ kind: 'agent', agent });
  client.socket.pause();
  const heldBefore = process.memoryUsage().external;
  for (let i = 0; i < 150; i++) {
    rig.say(agent, `${i} ${'x'.repeat(50_000)}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const heldBytes = process.memoryUsage().external - heldBefore;
  assert.ok(heldBytes < 8 * 1024 * 1024, `${heldBytes} bytes are held`);
  client.socket.resume();
  await until('the newest entry', () => client.state(follow, 'agent').entries.at(-1)?.id === 150);
  assert.ok(1 <= client.resets);
  const shown = client.state(follow, 'agent').entries.map((entry) => Number(entry.id));
  assert.deepEqual(
    shown,
    shown.map((_, index) => 150 - (shown.length - 1 - index)),
    'a run without a gap',
  );
});

test('more entries at once than a panel keeps come as one snapshot', async (t) => {
  const rig = await Rig.open(t);
  const client = await rig.client();
  const agent = rig.agent();
  const follow = await client.follow({ kind: 'agent', agent });
  rig.sayMany(
    agent,
    Array.from({ length: 500 }, (_, index) => `${index}`),
  );
  await until('the newest is there', () => client.state(follow, 'agent').entries.at(-1)?.id === 500);
  assert.equal(client.resets, 1);
  assert.equal(client.state(follow, 'agent').older, true);
});

test('a rewind is a new snapshot: what was shown last is left', async (t) => {
  const rig = await Rig.open(t);
  const client = await rig.client();
  const agent = rig.agent();
  const [first, second] = [rig.say(agent, 'one'), rig.say(agent, 'two')];
  const follow = await client.follow({ kind: 'agent', agent });
  const rewound = rig.commit(() => {
    const { store } = rig.store;
    const from = { fromAgent: agent, fromEntry: first, fromStretch: 0 };
    const stretch = store.insert('stretch', { agent, first: store.nextId('entry'), ...from });
    const body = { kind: 'rewind', turn: turnId(1), text: 'back', outcomes: 0 } as const;
    const id = store.insert('entry', entryRow(agent, body));
    store.update('agent', agent, { stretch, head: id });
    return id;
  });
  rig.publish({
    spoke: new Set([agent]),
    rewound: new Set([agent]),
    firstEntry: rewound,
    lastEntry: rewound,
  });
  const ids = (): number[] => client.state(follow, 'agent').entries.map((entry) => Number(entry.id));
  await until('it is shown', () => ids().at(-1) === rewound);
  assert.deepEqual(ids(), [first, rewound]);
  assert.equal(client.resets, 1);
  const next = rig.say(agent, 'other');
  await until('it goes on', () => ids().at(-1) === next);
  assert.deepEqual(ids(), [first, rewound, next]);
  const page = await client.call('entry/page', { agent, limit: 10 });
  assert.deepEqual(
    page.entries.map((entry) => Number(entry.id)),
    ids(),
  );
  assert.ok(!ids().includes(second));
});

test('no frame is larger than its bound, whatever is in the store', async (t) => {
  const rig = await Rig.open(t);
  const client = await rig.client();
  const agent = rig.agent();
  const channels: Channel[] = [{ kind: 'agent', agent }, { kind: 'log', agent: null }, { kind: 'requests' }];
  for (const channel of channels) await client.follow(channel);
  const whole = {
    kind: 'answer',
    model: 'm',
    stop: 'end',
    usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  } as const;
  rig.say(agent, '\u0000'.repeat(200_000));
  rig.say(agent, {
    ...whole,
    blocks: [
      { kind: 'text', text: 'é'.repeat(400_000) },
      { kind: 'text', text: 'tail' },
    ],
  });
  rig.sayMany(
    agent,
    Array.from({ length: 150 }, () => 'y'.repeat(9_000)),
  );
  for (let i = 0; i < 60; i++) rig.request(agent, 'z'.repeat(20_000));
  await until('all entries are logged', () => client.logged(2).length === 152);
  await until('the requests are shown', () => client.frames.some((frame) => frame.follow === 3));
  for (const frame of client.frames) {
    assert.ok(Buffer.byteLength(JSON.stringify(frame)) <= limits.frameBytes);
  }
  const cut = client.frames.find((frame) => JSON.stringify(frame).includes('more characters]'));
  assert.ok(cut !== undefined, 'a text that was cut says so');
});

test('a log replays and goes on live, without a gap and without a double', async (t) => {
  const rig = await Rig.open(t);
  const agents: AgentId[] = [rig.agent(), rig.agent()];
  let last = 0;
  const write = (count: number): void => {
    for (let i = 0; i < count; i++) last = rig.say(agents[i % 2] ?? 0, `entry ${'x'.repeat(500)}`);
  };
  write(1_000);
  const client = await rig.client();
  const all = await client.follow({ kind: 'log', agent: null });
  const one = await client.follow({ kind: 'log', agent: agents[0] ?? null }, 500);
  const slow = await rig.client();
  const behind = await slow.follow({ kind: 'log', agent: null });
  slow.socket.pause();
  for (let i = 0; i < 20; i++) {
    write(100);
    await new Promise((resolve) => setImmediate(resolve));
  }
  slow.socket.resume();
  const want = Array.from({ length: 3_000 }, (_, index) => index + 1);
  await until(
    'all are logged',
    () => client.logged(all).length === want.length && client.logged(one).at(-1) === last - 1,
  );
  await until('the slow one has them too', () => slow.logged(behind).length === want.length);
  assert.deepEqual(client.logged(all), want);
  assert.deepEqual(slow.logged(behind), want);
  assert.deepEqual(
    client.logged(one),
    want.filter((id) => 500 < id && id % 2 === 1),
  );
  const caughtUp = client.frames
    .flatMap((frame) => frame.actions)
    .filter((action) => action.kind === 'log/caughtUp');
  assert.equal(caughtUp.length, 2, 'each follow says once that it has caught up');
  assert.equal(slow.resets, 0);
});

test('a client may have so many follows; a client that is gone has none', async (t) => {
  const rig = await Rig.open(t);
  const client = await rig.client();
  for (let i = 0; i < limits.followsPerClient; i++) await client.follow({ kind: 'fleet' });
  assert.equal((await client.fails('follow/open', { channel: { kind: 'fleet' } })).code, 'overloaded');
  client.close();
  await until('it is gone', () => rig.server.clientCount() === 0);
  rig.reads.clear();
  rig.agent();
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual([...rig.reads], []);
});

test('counts that many look at are read once', async (t) => {
  const rig = await Rig.open(t);
  const clients = await Promise.all(Array.from({ length: 5 }, () => rig.client()));
  const follows = await Promise.all(clients.map((client) => client.follow({ kind: 'fleet' })));
  rig.reads.clear();
  rig.agent();
  await until('all are told', () => {
    return clients.every((client, index) => client.state(follows[index] ?? 0, 'fleet').agents === 1);
  });
  assert.equal(rig.reads.get('fleet'), 1);
});

test('trouble that no commit tells is shown all the same', async (t) => {
  const rig = await Rig.open(t);
  const client = await rig.client();
  const follow = await client.follow({ kind: 'fleet' });
  rig.trouble = 'The disk is full.';
  await until('it is told', () => client.state(follow, 'fleet').trouble === rig.trouble);
  rig.trouble = null;
  await until('it is over', () => client.state(follow, 'fleet').trouble === null);
});

test('every action that is sent says which version brought it (introducedIn)', async (t) => {
  const rig = await Rig.open(t);
  const client = await rig.client();
  const agent = rig.agent();
  await client.follow({ kind: 'agent', agent });
  await client.follow({ kind: 'log', agent: null });
  await client.follow({ kind: 'tree', query: window });
  await client.follow({ kind: 'fleet' });
  rig.say(agent, 'x');
  rig.agent();
  await until('all are told', () => new Set(client.frames.map((frame) => frame.follow)).size === 4);
  for (const action of client.frames.flatMap((frame) => frame.actions)) {
    assert.ok(introducedIn[action.kind] <= protocolVersion.minor, action.kind);
  }
});

test('output of running commands is shown by its newest end and never stored', async (t) => {
  const rig = await Rig.open(t);
  const client = await rig.client();
  const agent = rig.agent();
  const { callRow } = await import('../store/samples.ts');
  const call = callId(rig.commit(() => rig.store.store.insert('call', callRow({ agent, state: 'started' }))));
  const follow = await client.follow({ kind: 'agent', agent });
  for (let i = 0; i < 3_000; i++) rig.server.publish.output(agent, call, `line ${i}\n`);
  await until(
    'the end is shown',
    () => client.state(follow, 'agent').calls[0]?.output.endsWith('line 2999\n') === true,
  );
  assert.ok((client.state(follow, 'agent').calls[0]?.output.length ?? 0) <= limits.outputChars);
});
