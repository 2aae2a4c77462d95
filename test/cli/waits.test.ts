// Waits for any or all, with and without a time limit, over a SIGKILL of the sidecar: of agents inside wait_agent,
// whose wait is a row, and of commands, which ask again.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { readDiscovery } from '../../sidecar/platform/paths.ts';
import { connectTo, until } from '../rpc/rig.ts';
import { one, Store } from './roost.ts';

const spawn = (...names: readonly string[]): unknown => [
  { call: 'spawn_agent', input: { tasks: names.map((name) => ({ task: name, name })) } },
];

const silent = { fail: { kind: 'silent' } };

/** `slow` answers only when its request is asked again, by the next sidecar. */
const rules = (slow: object): readonly unknown[] => [
  { task: 'quick', say: [{ text: 'quick is done' }] },
  { task: 'slow', ...slow },
  { task: 'never', ...silent },
  { task: 'all', round: 1, say: spawn('quick', 'never') },
  { task: 'all', tool: 'spawn_agent', say: [{ call: 'wait_agent', input: { timeoutMs: 4_000 } }] },
  { task: 'any', round: 1, say: spawn('slow', 'never') },
  { task: 'any', tool: 'spawn_agent', say: [{ call: 'wait_agent', input: { mode: 'any' } }] },
  { tool: 'wait_agent', say: [{ text: 'told: {result}' }] },
];

test('waits for any and for all end as they would have, over a SIGKILL in the middle', async (t) => {
  const store = new Store(t, rules(silent));
  const start = async (name: string): Promise<string> => {
    const run = await store.lines('run', '--new', '--agent', name, '--detach', ...store.model, '--', name);
    return String(one(run, 'started')['turn']);
  };
  const [any, all] = [await start('any'), await start('all')];
  const client = await connectTo(t, readDiscovery(store.directory));
  for (const agent of ['any', 'all'])
    await until(
      `${agent} waits`,
      async () => (await client.call('agent/get', { agent })).why === 'child',
      30_000,
    );
  const turnOf = async (path: string): Promise<string> => {
    const agent = await client.call('agent/get', { agent: path });
    return String(agent.turn ?? agent.last);
  };
  const [slow, never, quick] = [
    await turnOf('any/slow'),
    await turnOf('any/never'),
    await turnOf('all/quick'),
  ];
  const watching = [
    store.start(['wait', slow, never, '--any']),
    store.start(['wait', quick, never, '--timeout', '3']),
  ];
  const clients = async (): Promise<number> => (await client.call('store/info', {})).clients;
  await until('both watch, beside this client', async () => (await clients()) === 3, 30_000);
  store.play(rules({ say: [{ text: 'slow is done' }] }));
  await store.kill();

  const told = (await store.lines('wait', all, any)).map((line) => String(line['text']));
  assert.match(
    told[0] ?? '',
    /^told: The time is over\. 1 ended:\n- quick: done: quick is done\n1 still at work\.$/,
  );
  assert.match(told[1] ?? '', /^told: 1 ended:\n- slow: done: slow is done\n1 still at work\.$/);
  const [first, second] = await Promise.all(watching.map((each) => each.ended));
  assert.deepEqual([first?.code, one(first?.lines ?? [], 'result')['turn']], [0, Number(slow)]);
  assert.deepEqual([second?.code, one(second?.lines ?? [], 'open')['turns']], [1, [Number(never)]]);
  assert.equal(one(second?.lines ?? [], 'result')['turn'], Number(quick));
});
