// Stories of turns: start, calls, children, messages, stops, crashes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { World, lastOf } from './world.ts';

test('a message starts a turn, the answer ends it', () => {
  const world = new World({ answer: () => 'hello' });
  const { agent, turn } = world.start('say hello');
  world.run(1_000);
  assert.deepEqual(world.transcript(agent), ['person: say hello', 'answer: hello', 'end done']);
  assert.equal(world.open.reads.turn(turn)?.outcome, 'done');
  assert.equal(world.open.reads.agent(agent)?.phase, 'idle');
  assert.deepEqual(world.bugs, []);
});

test('calls run, their results go into the next round', () => {
  const world = new World({
    answer: (items) =>
      lastOf(items).results.length === 0
        ? [
            ['read', { path: 'a' }],
            ['shell', { command: 'ls' }],
          ]
        : 'done',
  });
  const { agent } = world.start('look');
  world.run(1_000);
  assert.deepEqual(world.transcript(agent), [
    'person: look',
    'answer: [read {"path":"a"}] [shell {"command":"ls"}]',
    'result ok: ok',
    'result ok: ok',
    'answer: done',
    'end done',
  ]);
  assert.deepEqual(world.bugs, []);
});

test('a batch of children works at once, the parent waits without a slot and hears each once', () => {
  const world = new World({
    slots: { modelSlots: 3 },
    answer: (items) => {
      const { user, results } = lastOf(items);
      if (!user.startsWith('split')) return `did ${user}`;
      if (results.length === 0)
        return [['spawn_agent', { tasks: Array.from({ length: 10 }, (_, i) => ({ task: `part ${i}` })) }]];
      if (results.length === 1) return [['wait_agent', {}]];
      return 'all done';
    },
  });
  const { agent } = world.start('split');
  world.run(60_000);
  const lines = world.transcript(agent);
  assert.equal(lines.at(-1), 'end done');
  assert.match(lines[3] ?? '', /^answer: \[wait_agent/);
  assert.match(lines[4] ?? '', /10 ended/);
  for (let i = 0; i < 10; i++) assert.equal(lines.filter((line) => line.includes(`did part ${i}`)).length, 1);
  const row = world.open.reads.agent(agent);
  assert.deepEqual(row?.branch, { ...row?.branch, agents: 11, running: 0, waiting: 0, done: 11, failed: 0 });
  assert.deepEqual(world.bugs, []);
});

test('children that end while the parent rests wake it once (case 189)', () => {
  const world = new World({
    answer: (items) => {
      const { user, results } = lastOf(items);
      if (user.startsWith('[roost]')) return 'heard';
      if (!user.startsWith('split')) return `did ${user}`;
      return results.length === 0
        ? [['spawn_agent', { tasks: [{ task: 'a' }, { task: 'b' }, { task: 'c' }] }]]
        : 'started them';
    },
  });
  const { agent } = world.start('split');
  world.run(120_000);
  const lines = world.transcript(agent);
  assert.equal(lines.filter((line) => line.startsWith('notice:')).length, 1);
  assert.match(lines.find((line) => line.startsWith('notice:')) ?? '', /3 of your agents/);
  assert.equal(lines.at(-1), 'end done');
  assert.deepEqual(world.bugs, []);
});

test('an approval parks the agent; allowed it runs once, denied the model is told', () => {
  const world = new World({
    ask: true,
    answer: (items) =>
      lastOf(items).results.length === 0 ? [['shell', { command: 'ls' }]] : lastOf(items).results.join(),
  });
  const one = world.start('one');
  const two = world.start('two');
  world.run(1_000);
  assert.equal(world.open.reads.agent(one.agent)?.why, 'approval');
  const [first, second] = world.open.reads.requests(0, 10).rows;
  assert.ok(first !== undefined && second !== undefined);
  assert.deepEqual(world.call('request/answer', { request: first.id, answer: { kind: 'allow' }, key: 'a' }), {
    state: 'applied',
  });
  assert.deepEqual(world.call('request/answer', { request: first.id, answer: { kind: 'allow' }, key: 'b' }), {
    state: 'stale',
  });
  world.call('request/answer', { request: second.id, answer: { kind: 'deny', reason: 'not now' }, key: 'c' });
  world.run(1_000);
  assert.equal(world.ran.length, 1);
  assert.ok(world.transcript(one.agent).includes('result ok: ok'));
  assert.ok(world.transcript(two.agent).includes('result error: The person denied this: not now'));
  assert.deepEqual(world.bugs, []);
});

test('a crash with a request and a command in flight: asked again, told unknown, nothing twice', () => {
  const world = new World({
    tool: () => 'silent',
    answer: (items) => {
      const { user, results } = lastOf(items);
      if (user === 'silent' && world.requests.length < 3) return 'silent';
      return user === 'command' && results.length === 0
        ? [['shell', { command: 'x' }]]
        : `after ${results.join()}`;
    },
  });
  const silent = world.start('silent');
  const command = world.start('command');
  world.run(1_000);
  world.crash();
  world.run(5_000);
  assert.equal(world.open.reads.agent(silent.agent)?.outcome, 'done');
  assert.equal(world.ran.length, 1);
  assert.ok(world.transcript(command.agent).some((line) => line.startsWith('result unknown')));
  assert.equal(world.open.reads.agent(command.agent)?.outcome, 'done');
  assert.deepEqual(world.bugs, []);
});

test('interrupt stops the branch, answers open calls and keeps the queue (case 203)', () => {
  const world = new World({
    tool: () => 'silent',
    answer: (items) => {
      const { user, results } = lastOf(items);
      if (user === 'lead' && results.length === 0)
        return [['spawn_agent', { tasks: [{ task: 'x' }, { task: 'y' }] }]];
      if (user === 'lead' && results.length === 1) return [['wait_agent', {}]];
      return [['shell', { command: 'sleep' }]];
    },
  });
  const { agent } = world.start('lead');
  world.run(1_000);
  world.call('agent/send', { agent, text: 'later', delivery: 'queue', key: world.key() });
  assert.deepEqual(world.call('agent/interrupt', { agent, branch: true, key: world.key() }), { stopped: 3 });
  world.run(1_000);
  const row = world.open.reads.agent(agent);
  assert.equal(row?.phase, 'idle');
  assert.equal(row?.queued, 1);
  assert.equal(row?.branch.running, 0);
  assert.equal(world.host.slots().commandUsed, 0);
  assert.equal(world.host.slots().modelUsed, 0);
  assert.deepEqual(world.bugs, []);
});

test('a steer ends a wait and enters the next round; a queued message is a turn of its own', () => {
  const world = new World({
    answer: (items, request) => {
      const { user, results } = lastOf(items);
      if (user === 'slow') return 'silent';
      if (user === 'lead' && results.length === 0) return [['spawn_agent', { tasks: [{ task: 'slow' }] }]];
      if (user === 'lead' && results.length === 1) return [['wait_agent', {}]];
      return `heard ${user} in ${request.agent}`;
    },
  });
  const { agent, turn } = world.start('lead');
  world.run(1_000);
  const steer = world.call('agent/send', { agent, text: 'hurry', delivery: 'steer', key: 'steer' });
  assert.deepEqual(steer, { turn, state: 'steered' });
  const queued = world.call('agent/send', { agent, text: 'next', delivery: 'queue', key: 'queue' });
  world.run(1_000);
  const lines = world.transcript(agent);
  assert.ok(lines.some((line) => line.includes('The wait ended early')));
  assert.ok(lines.some((line) => line.startsWith('answer: heard hurry')));
  assert.ok(lines.some((line) => line.startsWith('answer: heard next')));
  assert.deepEqual(
    world.call('agent/send', { agent, text: 'next', delivery: 'queue', key: 'queue' }).turn,
    queued.turn,
  );
  assert.deepEqual(
    world.call('agent/send', { agent, text: 'hurry', delivery: 'steer', key: 'steer' }),
    steer,
  );
  assert.deepEqual(world.bugs, []);
});

test('zero means zero: a branch without money makes no request (I7)', () => {
  const world = new World({ answer: () => 'hello' });
  const { agent } = world.start('spend', { budget: { microUsd: 0 } });
  world.run(1_000);
  assert.equal(world.requests.length, 0);
  assert.equal(world.open.reads.agent(agent)?.why, 'budget');
  assert.deepEqual(world.bugs, []);
});
