// Follows: order, gaps, resets, moves, and what happens to them when the connection is lost.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { Connection } from '../../extension/connection.ts';
import { Follows, Replica } from '../../extension/replica.ts';
import { emptyFleet } from '../../sidecar/protocol/fleet.ts';
import type { Snapshot } from '../../sidecar/protocol/frame.ts';
import { FakeSidecar, quietLog, refusal, temporaryStore, noModels } from './fakeSidecar.ts';

let sidecar: FakeSidecar;
let connection: Connection;
let follows: Follows;
let remove: () => void;
let running: number;
let lastFollow: number;
const seq = 10;

beforeEach(() => {
  const place = temporaryStore();
  remove = place.remove;
  running = 1;
  lastFollow = 0;
  sidecar = new FakeSidecar(place.store, {
    'follow/open': () => ({ follow: (lastFollow += 1), snapshot: fleet(running), seq }),
    'follow/move': () => ({ snapshot: fleet(running), seq }),
  });
  const log = quietLog();
  connection = new Connection({
    store: () => sidecar.store,
    launch: () => sidecar.start(),
    client: () => Promise.resolve({ name: 'window', workspaces: [] }),
    can: [],
    editor: {
      'editor/readText': () => Promise.resolve({ text: null }),
      'editor/applyEdit': () => Promise.resolve({ applied: false }),
      'editor/secret': () => Promise.resolve({ key: null }),
      ...noModels,
    },
    log,
  });
  follows = new Follows(connection, log);
});

afterEach(async () => {
  connection.dispose();
  await sidecar.crash();
  remove();
});

const fleet = (count: number): Snapshot => ({ kind: 'fleet', state: { ...emptyFleet, running: count } });
const step = (frameSeq: number, count: number, follow = lastFollow) => ({
  follow,
  seq: frameSeq,
  actions: [{ kind: 'fleet/set', state: { ...emptyFleet, running: count } }] as const,
});

const countOf = (replica: Replica): number =>
  replica.snapshot?.kind === 'fleet' ? replica.snapshot.state.running : -1;

/** Resolves when the replica shows this number of running agents. */
function shows(replica: Replica, count: number): Promise<void> {
  if (countOf(replica) === count) return Promise.resolve();
  return new Promise((resolve) => {
    const listening = replica.onChange.on(() => {
      if (countOf(replica) !== count) return;
      listening.dispose();
      resolve();
    });
  });
}

async function followed(): Promise<Replica> {
  const replica = new Replica(follows, { kind: 'fleet' });
  connection.start();
  await shows(replica, running);
  return replica;
}

test('a snapshot, then frames in order', async () => {
  const replica = await followed();
  sidecar.send(step(11, 2), step(12, 3));
  await shows(replica, 3);
  assert.equal(sidecar.calls.filter((call) => call.method === 'follow/open').length, 1);
});

test('following never starts a sidecar by itself', () => {
  const replica = new Replica(follows, { kind: 'fleet' });
  assert.equal(connection.state.kind, 'off');
  assert.equal(replica.snapshot, null);
});

test('a gap leads to a new snapshot, a number from before it is ignored', async () => {
  const replica = await followed();
  running = 7;
  sidecar.send(step(13, 99));
  await shows(replica, 7);
  sidecar.send(step(10, 50), step(11, 8));
  await shows(replica, 8);
  assert.equal(sidecar.calls.filter((call) => call.method === 'follow/move').length, 1);
});

test('a reset replaces the state of a client that was too slow', async () => {
  const replica = await followed();
  sidecar.send({ follow: lastFollow, seq: 40, actions: [], reset: fleet(4) }, step(41, 5));
  await shows(replica, 5);
  assert.ok(!sidecar.calls.some((call) => call.method === 'follow/move'));
});

test('cases 187 and 247: after the sidecar died every follow begins again with a fresh snapshot', async () => {
  const replica = await followed();
  running = 9;
  await sidecar.crash();
  await shows(replica, 9);
  assert.equal(sidecar.calls.filter((call) => call.method === 'follow/open').length, 2);
  sidecar.send(step(11, 10));
  await shows(replica, 10);
});

test('a closed follow hears nothing more, and the sidecar is told', async () => {
  const replica = await followed();
  const id = lastFollow;
  replica.close();
  await sidecar.called('follow/close');
  assert.equal(follows.count, 0);
  const other = await followed();
  sidecar.send(step(11, 5, id), step(11, 6));
  await shows(other, 6);
  assert.equal(countOf(replica), 1);
});

test('moves while one is on its way: the last one wins, with one more request', async () => {
  const snapshots: Snapshot[] = [];
  connection.start();
  const query = { expanded: [], order: 'attention', filter: '', height: 20 } as const;
  const follow = follows.open(
    { kind: 'tree', query: { ...query, top: 0 } },
    { snapshot: (snapshot) => snapshots.push(snapshot), actions: () => undefined, refused: () => undefined },
  );
  await sidecar.called('follow/open');
  for (let top = 1; top <= 20; top += 1) follow.move({ kind: 'tree', query: { ...query, top } });
  await sidecar.called('follow/move');
  await connection.call('store/info', {});
  const moves = sidecar.calls.filter((call) => call.method === 'follow/move');
  assert.equal(moves.length, 1);
  assert.equal(
    (moves[0]?.params as unknown as { channel: { query: { top: number } } }).channel.query.top,
    20,
  );
});

test('a follow that the sidecar does not know any more is opened anew', async () => {
  const replica = await followed();
  sidecar.answers['follow/move'] = () => refusal('follow/unknown', 'No such follow.');
  running = 6;
  sidecar.send(step(20, 99));
  await shows(replica, 6);
  assert.equal(lastFollow, 2);
});

test('a refusal is told and not asked again', async () => {
  sidecar.answers['follow/open'] = () => refusal('agent/unknown', 'There is no agent 3.');
  connection.start();
  const told = new Promise<string>((resolve) => {
    follows.open(
      { kind: 'fleet' },
      { snapshot: () => undefined, actions: () => undefined, refused: (error) => resolve(error.code) },
    );
  });
  assert.equal(await told, 'agent/unknown');
});
