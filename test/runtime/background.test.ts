// Stories of commands in the background: their end is told once, at the next round; they end with their agent's work; a
// rewind says that they still run, and ends those of agents that were then never started.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callId, type AgentId } from '../../sidecar/protocol/ids.ts';
import { World, lastOf } from './world.ts';

/** Agents that start a server when they are told to, and say what they are told. `heard`: newest of all of them. */
function servers(): { readonly world: World; readonly heard: () => string } {
  let heard = '';
  const world = new World({
    tool: ({ tool, call }) => {
      if (tool !== 'shell') return { kind: 'done', outcome: { status: 'ok', text: 'ok' } };
      const background = { title: 'npm start', evidence: { call } };
      return { kind: 'done', outcome: { status: 'ok', text: 'runs in the background', background } };
    },
    answer: (items) => {
      heard = items.map((item) => ('text' in item ? item.text : '')).join('\n');
      const { user, results } = lastOf(items);
      if (results.length > 0) return 'started';
      if (user === 'serve') return [['shell', { command: 'npm start', background: true }]];
      if (user === 'lead') return [['spawn_agent', { tasks: [{ task: 'serve' }] }]];
      return `did ${user}`;
    },
  });
  return { world, heard: () => heard };
}

function say(world: World, agent: AgentId, text: string): void {
  world.call('agent/send', { agent, text, delivery: 'queue', key: world.key() });
  world.run(1_000);
}

function only<T>(values: Iterable<T>): T {
  const [value, ...others] = values;
  assert.ok(value !== undefined && others.length === 0, 'there is one');
  return value;
}

const counted = (world: World, agent: number): unknown => [
  world.open.store.get('agent', agent)?.commands,
  world.open.reads.commandsOf(agent).length,
];

test('the end of a command is told at the next round, and once (case 45)', () => {
  const { world, heard } = servers();
  const { agent } = world.start('serve');
  world.run(1_000);
  assert.deepEqual(counted(world, agent), [1, 1]);
  assert.equal(world.open.reads.agent(agent)?.phase, 'idle');
  assert.ok(world.host.busy(), 'the sidecar does not leave while it runs');
  only(world.behind.values()).end({ status: 'error', text: 'exit code 3\nno port' });
  world.run(1_000);
  assert.deepEqual(counted(world, agent), [0, 0]);
  assert.equal(world.host.busy(), false);
  say(world, agent, 'one');
  say(world, agent, 'two');
  const told = heard().split('in the background (npm start) has ended: exit code 3');
  assert.equal(told.length, 2, heard());
  assert.deepEqual(world.bugs, []);
});

test('a command is found again by the next process, and ended when its row says so', () => {
  const { world } = servers();
  const { agent } = world.start('serve');
  world.run(1_000);
  const command = callId(only(world.behind.keys()));
  world.behind.clear();
  world.crash();
  world.run(1_000);
  assert.equal(only(world.behind.values()).isStopped, false);
  assert.deepEqual(world.call('command/kill', { command, key: world.key() }), { killed: true });
  assert.equal(only(world.behind.values()).isStopped, true);
  world.behind.clear();
  world.crash();
  world.run(1_000);
  assert.equal(only(world.behind.values()).isStopped, true, 'the next process ends it too');
  only(world.behind.values()).end({ status: 'error', text: 'interrupted' });
  world.run(1_000);
  assert.deepEqual(counted(world, agent), [0, 0]);
  assert.deepEqual(world.call('command/kill', { command, key: world.key() }), { killed: false });
  assert.throws(
    () => world.call('command/kill', { command: callId(99), key: world.key() }),
    /call\/unknown: There is no command 99\./,
  );
});

test('an interrupt of an agent at rest ends its commands; one of its branch those below it (case 46)', () => {
  const { world } = servers();
  const { agent } = world.start('lead');
  world.run(60_000);
  const { isStopped } = only(world.behind.values());
  assert.equal(isStopped, false);
  world.call('agent/interrupt', { agent, branch: false, key: world.key() });
  assert.equal(only(world.behind.values()).isStopped, false, 'it is of its child');
  world.call('agent/interrupt', { agent, branch: true, key: world.key() });
  assert.equal(only(world.behind.values()).isStopped, true);
});

test('a rewind tells of commands that run, and ends those of children that were then never started', () => {
  const { world, heard } = servers();
  const { agent, turn } = world.start('hello');
  world.run(1_000);
  say(world, agent, 'serve');
  say(world, agent, 'lead');
  world.run(60_000);
  assert.equal(world.behind.size, 2);
  world.call('agent/rewind', { agent, turn, stop: true, key: world.key() });
  world.run(1_000);
  const [own, kids] = [...world.behind.values()];
  assert.deepEqual([own?.isStopped, kids?.isStopped], [false, true]);
  say(world, agent, 'go on');
  const command = [...world.behind.keys()][0];
  assert.ok(heard().includes(`Your commands in the background: ${command} (npm start).`), heard());
  assert.deepEqual(world.bugs, []);
});
