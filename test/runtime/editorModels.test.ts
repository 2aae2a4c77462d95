// Agents on a model of the editor: they wait for a window that lends it, come a few at a time, and go on by
// themselves; and a swarm does not use it unasked (case 178).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agentId } from '../../sidecar/protocol/ids.ts';
import { World, type Answerer } from './world.ts';

const model = 'vscode/copilot/gpt';

function phaseOf(world: World, agent: number): string {
  const row = world.open.reads.agent(agent);
  return `${row?.phase} ${row?.why ?? ''}`.trim();
}

const wake = (world: World): void => {
  world.window = true;
  world.host.post({ kind: 'editors', after: 0 });
  world.run(1_000);
};

test('without a window agents wait for one, over a crash too, and all go on when it comes', () => {
  const world = new World({ answer: () => 'done' });
  const agents = Array.from({ length: 5 }, (_, n) => world.start(`task ${n}`, { model }).agent);
  world.run(1_000);
  assert.deepEqual(new Set(agents.map((agent) => phaseOf(world, agent))), new Set(['waiting editor']));
  assert.equal(world.requests.length, 0);
  assert.equal(world.host.busy(), false, 'a sidecar that only waits may leave');
  world.crash();
  world.run(1_000);
  assert.equal(phaseOf(world, agents[0]!), 'waiting editor');
  wake(world);
  assert.deepEqual(new Set(agents.map((agent) => phaseOf(world, agent))), new Set(['idle']));
});

test('no more requests are in flight than a pool takes, whatever slots are free', () => {
  let inFlight = 0;
  let most = 0;
  const answer: Answerer = () => {
    inFlight += 1;
    most = Math.max(most, inFlight);
    return 'silent';
  };
  const world = new World({ answer });
  world.window = true;
  const agents = Array.from({ length: 7 }, (_, n) => world.start(`task ${n}`, { model }).agent);
  world.run(1_000);
  assert.equal(inFlight, 2);
  assert.equal(world.host.slots().modelUsed, 2);
  for (let asked = 2; asked < 7; asked += 1) {
    const asking = agents.filter((agent) => phaseOf(world, agent) === 'asking');
    inFlight -= 1;
    world.call('agent/interrupt', { agent: asking[0]!, branch: false, key: world.key() });
    world.run(1_000);
  }
  assert.equal(world.requests.length, 7);
  assert.equal(most, 2);
});

test('a window that goes in mid-request costs the turn nothing: it is asked again by the next one', () => {
  let lost = 0;
  const world: World = new World({
    answer: () => {
      if (lost === 10) return 'done';
      lost += 1;
      world.window = false;
      return { kind: 'rejected', code: 'noEditor', message: 'gone' };
    },
  });
  world.window = true;
  const { agent } = world.start('task', { model });
  world.run(1_000);
  for (let windows = 0; windows < 10; windows += 1) {
    assert.equal(phaseOf(world, agent), 'waiting editor');
    wake(world);
  }
  assert.equal(phaseOf(world, agent), 'idle');
  assert.equal(world.open.reads.agent(agent)?.outcome, 'done');
});

test('case 178: an agent may not start agents on a model that is lent to agents of the person alone', () => {
  let said = '';
  const world = new World({
    answer: (items) => {
      const last = items.at(-1);
      if (last?.kind === 'result') said = last.text;
      if (items.length === 1) return [['spawn_agent', { tasks: [{ task: 'a part' }] }]];
      return 'done';
    },
  });
  world.window = true;
  world.alone.add(model);
  const { agent } = world.start('lead', { model });
  world.run(1_000);
  assert.match(said, /lent to agents that the person starts/);
  assert.equal(world.open.reads.agent(agent)?.children, 0);
  assert.throws(
    () => world.start('by command', { model, parent: agentId(agent) }),
    /model\/unknown: .*lent to agents/,
  );
  world.alone.clear();
  world.start('lead again', { model });
  world.run(1_000);
  assert.match(said, /^Started 1 agent/);
});
