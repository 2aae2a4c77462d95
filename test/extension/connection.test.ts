// The connection against a sidecar that dies, refuses, is old, or is not there. Every condition is waited for by
// what the connection announces; nothing sleeps.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { Connection } from '../../extension/connection.ts';
import type { State } from '../../extension/connection.ts';
import { limits } from '../../extension/limits.ts';
import { agentId } from '../../sidecar/protocol/ids.ts';
import { FakeSidecar, quietLog, refusal, temporaryStore, noModels } from './fakeSidecar.ts';

let sidecar: FakeSidecar;
let connection: Connection;
let remove: () => void;
let states: State[];
/** What the setting says instead of the sidecar's store. */
let storeSetting: string | null;

beforeEach(() => {
  const place = temporaryStore();
  remove = place.remove;
  sidecar = new FakeSidecar(place.store);
  states = [];
  storeSetting = null;
  connection = connect(() => sidecar.start());
});

afterEach(async () => {
  connection.dispose();
  await sidecar.crash();
  remove();
});

function connect(launch: (store: string) => ReturnType<FakeSidecar['start']>): Connection {
  const made = new Connection({
    store: () => storeSetting ?? sidecar.store,
    launch,
    client: () => Promise.resolve({ name: 'window', workspaces: ['/project'] }),
    can: ['buffers', 'secrets'],
    editor: {
      'editor/readText': ({ path }) => Promise.resolve({ text: `text of ${path}` }),
      'editor/applyEdit': () => Promise.resolve({ applied: false }),
      'editor/secret': () => Promise.resolve({ key: null }),
      ...noModels,
    },
    log: quietLog(),
    backOffMs: [0, 1, 1],
  });
  made.onState.on((state) => states.push(state));
  return made;
}

function reached(kind: State['kind']): Promise<State> {
  if (connection.state.kind === kind) return Promise.resolve(connection.state);
  return new Promise((resolve) => {
    const listening = connection.onState.on((state) => {
      if (state.kind !== kind) return;
      listening.dispose();
      resolve(state);
    });
  });
}

const startAgent = { text: 'work', workspace: '/project', key: 'k1' };

test('a call starts a sidecar when none listens, and greets it with nonce and folders', async () => {
  sidecar.answers['agent/get'] = () => ({ name: 'lead' });
  const row = await connection.call('agent/get', { agent: agentId(1) });
  assert.equal(row.name, 'lead');
  assert.equal(sidecar.starts, 1);
  const hello = sidecar.calls.find((call) => call.method === 'hello')?.params as unknown as Record<
    string,
    unknown
  >;
  assert.equal(hello['nonce'], sidecar.nonce);
  assert.deepEqual(hello['workspaces'], ['/project']);
  assert.deepEqual(hello['can'], ['buffers', 'secrets']);
});

test('one that listens is used, and many calls make one connection', async () => {
  await sidecar.start();
  sidecar.answers['agent/get'] = () => ({ name: 'lead' });
  await Promise.all([1, 2, 3].map((id) => connection.call('agent/get', { agent: agentId(id) })));
  assert.equal(sidecar.starts, 1);
  assert.equal(sidecar.calls.filter((call) => call.method === 'hello').length, 1);
});

test('the sidecar asks this window, and gets its answer', async () => {
  connection.start();
  await reached('connected');
  assert.deepEqual(await sidecar.ask('editor/readText', { path: '/project/a' }), {
    text: 'text of /project/a',
  });
});

test('case 187: when it dies, what is pending is rejected with what happened, and it is started again at once', async () => {
  connection.start();
  await reached('connected');
  const pending = connection.call('agent/get', { agent: agentId(1) });
  await sidecar.called('agent/get');
  await sidecar.crash();
  await assert.rejects(pending, { code: 'sidecar/lost', message: /started again/ });
  await reached('connected');
  assert.equal(sidecar.starts, 2);
  assert.deepEqual(
    states.map((state) => state.kind),
    ['connecting', 'connected', 'restarting', 'connected'],
  );
});

test('a store setting that changes moves no window to another store when the sidecar dies', async () => {
  sidecar.answers['agent/get'] = () => ({ name: 'lead' });
  const launched: string[] = [];
  connection.dispose();
  connection = connect((store) => {
    launched.push(store);
    return sidecar.start();
  });
  await connection.call('agent/get', { agent: agentId(1) });
  storeSetting = `${sidecar.store}-other`;
  const again = reached('restarting');
  await sidecar.crash();
  await again;
  assert.equal((await connection.call('agent/get', { agent: agentId(1) })).name, 'lead');
  assert.deepEqual(launched, [sidecar.store, sidecar.store]);
});

test('case 246: an answer that was on its way when the connection was lost is delivered with the same key', async () => {
  connection.start();
  await reached('connected');
  const answer = connection.call('agent/start', startAgent);
  await sidecar.called('agent/start');
  await sidecar.crash();
  sidecar.answers['agent/start'] = () => ({ agent: 5, turn: 6, name: 'lead' });
  assert.equal((await answer).agent, 5);
  const keys = sidecar.calls
    .filter((call) => call.method === 'agent/start')
    .map((call) => (call.params as unknown as { key: string }).key);
  assert.deepEqual(keys, ['k1', 'k1']);
});

test('four crashes in three minutes end the attempts; a person starts them again', async () => {
  connection.start();
  await reached('connected');
  for (let crash = 1; crash < limits.crashes; crash += 1) {
    const again = new Promise<void>((resolve) => {
      const listening = connection.onState.on((state) => {
        if (state.kind !== 'connected') return;
        listening.dispose();
        resolve();
      });
    });
    await sidecar.crash();
    await again;
  }
  await sidecar.crash();
  const failed = await reached('failed');
  assert.match(failed.kind === 'failed' ? failed.message : '', /ended 4 times in 3 minutes/);
  await assert.rejects(connection.call('ping', {}), { code: 'sidecar/failed' });
  assert.equal(sidecar.starts, 4);

  const settled = reached('connected');
  await connection.restart();
  await settled;
  assert.equal(sidecar.starts, 5);
});

test('a sidecar that cannot be started ends as failed, with the reason', async () => {
  connection.dispose();
  connection = connect(() => Promise.reject(new Error('no space on /data')));
  connection.start();
  const failed = await reached('failed');
  assert.match(failed.kind === 'failed' ? failed.message : '', /no space on \/data/);
});

test('a refused version is told in the sidecar\u2019s own words, without further attempts', async () => {
  sidecar.answers['hello'] = () => refusal('protocol/version', 'Update Roost in this window.');
  connection.start();
  const failed = await reached('failed');
  assert.equal(failed.kind === 'failed' ? failed.message : '', 'Update Roost in this window.');
  assert.equal(sidecar.starts, 1);
});

test('errors keep their code and words', async () => {
  sidecar.answers['agent/get'] = () => refusal('agent/unknown', 'There is no agent 9.');
  await assert.rejects(connection.call('agent/get', { agent: agentId(9) }), {
    name: 'RoostError',
    code: 'agent/unknown',
    message: 'There is no agent 9.',
  });
});

test('an older build is replaced when no turn runs, and left alone when one does', async () => {
  sidecar.build = '2020.01.01.1';
  sidecar.running = 1;
  await sidecar.start();
  connection.start();
  await reached('connected');
  assert.equal(sidecar.starts, 1);

  connection.dispose();
  sidecar.running = 0;
  connection = connect(() => {
    sidecar.build = '2099.01.01.1';
    return sidecar.start();
  });
  connection.start();
  await reached('connected');
  assert.equal(sidecar.starts, 2);
  assert.equal(sidecar.calls.filter((call) => call.method === 'shutdown').length, 1);
});

test('restart ends the sidecar in order and counts as no crash', async () => {
  connection.start();
  await reached('connected');
  for (let round = 0; round < limits.crashes + 1; round += 1) {
    await connection.restart();
    await reached('connected');
  }
  assert.equal(sidecar.starts, limits.crashes + 2);
  assert.ok(!states.some((state) => state.kind === 'restarting' || state.kind === 'failed'));
});

test('a window that is closed leaves the sidecar alone', async () => {
  connection.start();
  await reached('connected');
  const pending = connection.call('agent/get', { agent: agentId(1) });
  await sidecar.called('agent/get');
  connection.dispose();
  await assert.rejects(pending, { code: 'sidecar/lost' });
  assert.equal(sidecar.starts, 1);
  assert.ok(!sidecar.calls.some((call) => call.method === 'shutdown'));
});
