// Stories of what people do with agents: fork, close, retry, take back, raise a budget.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { turnId } from '../../sidecar/protocol/ids.ts';
import { World, lastOf } from './world.ts';

test('a fork shares the transcript up to a turn and goes on alone', () => {
  const seen: string[] = [];
  const world = new World({
    answer: (items) => {
      seen.push(items.map((item) => (item.kind === 'user' ? item.text : item.kind)).join(','));
      return `heard ${lastOf(items).user}`;
    },
  });
  const source = world.start('one');
  world.run(1_000);
  world.call('agent/send', { agent: source.agent, text: 'two', delivery: 'queue', key: world.key() });
  world.run(1_000);
  const key = world.key();
  const fork = world.call('agent/fork', { agent: source.agent, turn: source.turn, text: 'other', key });
  world.run(1_000);
  assert.equal(seen.at(-1), 'one,answer,other');
  assert.deepEqual(world.transcript(fork.agent), [
    'person: one',
    'answer: heard one',
    'end done',
    'person: other',
    'answer: heard other',
    'end done',
  ]);
  assert.deepEqual(
    world.call('agent/fork', { agent: source.agent, turn: source.turn, text: 'other', key }),
    fork,
  );
  assert.deepEqual(world.bugs, []);
});

test('a thousand forks of a closed agent live on, and cost no copy of the transcript', () => {
  const world = new World({ answer: () => 'yes' });
  const source = world.start('source');
  world.run(1_000);
  const forks = Array.from(
    { length: 1_000 },
    (_, index) =>
      world.call('agent/fork', { agent: source.agent, turn: null, text: `fork ${index}`, key: world.key() })
        .agent,
  );
  world.call('agent/close', { agent: source.agent, key: world.key() });
  world.run(10_000);
  for (const fork of forks) assert.equal(world.transcript(fork).length, 6);
  assert.equal(world.open.reads.sizes().agents, 1_001);
  assert.deepEqual(world.bugs, []);
});

test('a turn that failed is done again on request', () => {
  let broken = true;
  const world = new World({
    answer: () => (broken ? { kind: 'rejected', code: 'badRequest', message: 'no' } : 'now it works'),
  });
  const { agent } = world.start('try');
  world.run(1_000);
  assert.equal(world.open.reads.agent(agent)?.outcome, 'failed');
  broken = false;
  const key = world.key();
  const { turn } = world.call('turn/retry', { agent, key });
  assert.deepEqual(world.call('turn/retry', { agent, key }), { turn });
  world.run(1_000);
  assert.equal(world.open.reads.agent(agent)?.outcome, 'done');
  assert.throws(() => world.call('turn/retry', { agent, key: world.key() }), /turn\/none/);
  assert.deepEqual(world.bugs, []);
});

test('a queued message is listed and can be taken back; one that has begun cannot', () => {
  const world = new World({ answer: () => 'silent' });
  const { agent, turn } = world.start('busy');
  world.run(100);
  const queued = world.call('agent/send', { agent, text: 'later', delivery: 'queue', key: world.key() });
  assert.deepEqual(
    world.open.reads.queue(agent, 0, 10).rows.map((row) => row.text),
    ['later'],
  );
  assert.deepEqual(world.call('queue/remove', { turn: queued.turn, key: world.key() }), { removed: true });
  assert.deepEqual(world.call('queue/remove', { turn, key: world.key() }), { removed: false });
  assert.deepEqual(world.call('queue/remove', { turn: turnId(99), key: world.key() }), { removed: false });
  assert.equal(world.open.reads.agent(agent)?.queued, 0);
  assert.deepEqual(world.open.reads.queue(agent, 0, 10).rows, []);
  assert.deepEqual(world.bugs, []);
});

test('raising a budget wakes who waited for it and answers the question to the person', () => {
  const world = new World({ answer: () => 'paid' });
  const { agent } = world.start('spend', { budget: { microUsd: 0 } });
  world.run(1_000);
  assert.equal(world.open.reads.requests(0, 10).rows.length, 1);
  const state = world.call('budget/set', { agent, budget: { microUsd: 10_000_000 }, key: world.key() });
  assert.equal(state.limits.microUsd, 10_000_000);
  world.run(1_000);
  assert.equal(world.open.reads.agent(agent)?.outcome, 'done');
  assert.equal(world.open.reads.requests(0, 10).rows.length, 0);
  assert.ok((world.open.reads.budget(agent)?.spent.microUsd ?? 0) > 0);
  assert.equal(world.open.reads.budget(agent)?.held.microUsd, 0);
  assert.deepEqual(world.bugs, []);
});

for (const [fanOut, modelSlots] of [
  [3, 1],
  [10, 3],
] as const) {
  const agents = [0, 1, 2, 3, 4].reduce((sum, level) => sum + fanOut ** level, 0);
  test(`depth 5 by fan-out ${fanOut} on ${modelSlots} slots finishes, ${agents} agents: no slot is held while waiting (I5, case 167)`, () => {
    const world = new World({
      slots: { modelSlots },
      answer: (items) => {
        const first = items.find((item) => item.kind === 'user');
        const depth = Number(/depth (\d)/.exec(first?.kind === 'user' ? first.text : '')?.[1]);
        const { results } = lastOf(items);
        if (depth === 5 || results.length === 2) return 'done';
        const tasks = Array.from({ length: fanOut }, () => ({ task: `depth ${depth + 1}` }));
        return results.length === 0 ? [['spawn_agent', { tasks }]] : [['wait_agent', {}]];
      },
    });
    const { agent } = world.start('depth 1');
    world.run(10_000_000);
    const row = world.open.reads.agent(agent);
    assert.deepEqual([row?.branch.agents, row?.branch.done, row?.outcome], [agents, agents, 'done']);
    assert.deepEqual(world.bugs, []);
  });
}

test('sixty agents meet one limit: allowing all sixty raises it once, and no other limit', () => {
  const world = new World({
    answer: (items) => {
      const tasks = Array.from({ length: 60 }, (_, index) => ({ task: `part ${index}` }));
      const { user } = lastOf(items);
      return user === 'spread' && items.length === 1 ? [['spawn_agent', { tasks }]] : 'done';
    },
  });
  const microUsd = 1_000_000_000;
  const { agent } = world.start('spread', { budget: { tokens: 3_500, microUsd } });
  world.run(1_000);
  const asked = world.open.reads.requests(0, 500).rows;
  assert.ok(asked.length > 20, `${asked.length} ask`);
  assert.deepEqual(new Set(asked.map((row) => row.cluster)), new Set([`budget:${agent}:tokens:3500`]));
  const requests = asked.map((row) => row.id);
  const said = world.call('request/answerMany', { requests, answer: { kind: 'allow' }, key: world.key() });
  assert.deepEqual(said, { applied: asked.length, stale: 0 });
  const { limits } = world.open.reads.budget(agent) ?? assert.fail();
  assert.deepEqual([limits.tokens, limits.microUsd], [100_000, microUsd]);
  world.run(60_000);
  assert.deepEqual(world.bugs, []);
});

test('an answer that is given again under its key is told that it was applied, also after a crash', () => {
  const world = new World({
    ask: true,
    answer: (items) => (items.length === 1 ? [['shell', { command: 'x' }]] : 'done'),
  });
  world.start('ask me');
  world.run(1_000);
  const request = world.open.reads.requests(0, 10).rows[0]?.id ?? assert.fail('it asks');
  const first = { request, answer: { kind: 'allow' }, key: world.key() } as const;
  assert.deepEqual(world.call('request/answer', first), { state: 'applied' });
  world.crash();
  world.run(1_000);
  assert.deepEqual(world.call('request/answer', first), { state: 'applied' });
  const many = { requests: [request], answer: first.answer, key: first.key };
  assert.deepEqual(world.call('request/answerMany', many), { applied: 1, stale: 0 });
  assert.deepEqual(world.call('request/answer', { ...first, key: world.key() }), { state: 'stale' });
  assert.equal(world.ran.length, 1);
  assert.deepEqual(world.bugs, []);
});
