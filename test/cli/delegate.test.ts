// Agents that delegate by command, many at once on few slots: a command that waits inside Roost lends its slot, or they
// would all hold one while they wait for agents that need one (I5, case 167). On what is shipped: a start of the
// command from its source costs five times as much.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import path from 'node:path';
import { test, type TestContext } from 'node:test';

import { readDiscovery } from '../../sidecar/platform/paths.ts';
import { Person } from '../crash/person.ts';
import { connectTo, until, type TestClient } from '../rpc/rig.ts';
import { Store } from './roost.ts';

const roots = 40;

const rules = [
  { task: 'root', tool: 'shell', say: [{ text: 'told: {result}' }] },
  {
    task: 'root {n}',
    say: [
      { call: 'shell', input: { command: 'roost run --new --agent kid --model play/x -- "kid of {n}"' } },
    ],
  },
  { task: 'kid of', tool: 'shell', say: [{ text: 'it says: {result}' }] },
  { task: 'kid of {n}', say: [{ call: 'shell', input: { command: 'echo hello {n}' } }] },
];

/** The built sidecar on three command slots, and a client of it. */
async function begin(t: TestContext): Promise<{ store: Store; client: TestClient }> {
  const store = new Store(t, rules);
  const program = path.resolve(import.meta.dirname, '../../dist/sidecar.cjs');
  const args = [program, '--store', store.directory, '--command-slots', '3'];
  const child = spawn(process.execPath, args, { stdio: 'ignore', windowsHide: true });
  t.after(() => void child.kill('SIGKILL'));
  await until('it listens', () => readDiscovery(store.directory) !== null, 15_000);
  const client = await connectTo(t, readDiscovery(store.directory));
  const baseUrl = store.model[1]?.replace('play=scripted,', '') ?? '';
  await client.call('provider/set', { name: 'play', dialect: 'scripted', baseUrl });
  return { store, client };
}

test('forty agents whose commands each run roost finish on three command slots', async (t) => {
  const { store, client } = await begin(t);
  const person = new Person(store.directory);
  t.after(() => person.leave());
  const turns = await Promise.all(
    Array.from({ length: roots }, async (_, n) => {
      const name = `root-${n}`;
      const params = { name, text: `root ${n}`, workspace: store.workspace, model: 'play/x', key: name };
      return (await client.call('agent/start', params)).turn;
    }),
  );
  const { done, open } = await client.call('turn/wait', { turns, mode: 'all', timeoutMs: 60_000 });
  assert.deepEqual(open, []);
  done.forEach((result, n) => {
    assert.equal(result.outcome, 'done');
    assert.match(result.text, new RegExp(`it says: .*hello ${n}\\b`, 's'), result.name);
  });
  const { slots, agents } = await client.call('store/info', {});
  assert.deepEqual([slots.commandUsed, slots.commandLimit, agents], [0, 3, 2 * roots]);
  // Each was told by its command, and by no notice besides (I8).
  const rows = await client.call('agent/list', { parent: null, after: null, limit: 100 });
  for (const { id } of rows.rows) {
    const turnsOf = await client.call('turn/list', { agent: id, before: null, limit: 5 });
    assert.equal(turnsOf.rows.length, 1);
  }
});
