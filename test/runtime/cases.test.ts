// Conditions under which tools of this kind have lost work or hung, one test each, by their number.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../sidecar/runtime/limits.ts';
import { World, lastOf, type Say } from './world.ts';

/** Every call that was sent to the model has one result behind it. */
function dangling(world: World): string[] {
  const open = new Set<string>();
  const next = world.requests.at(-1)?.pages();
  assert.ok(next !== undefined, 'something was asked');
  for (let page = next(); page !== null; page = next()) {
    for (const item of page) {
      if (item.kind === 'result') assert.ok(open.delete(item.key), `${item.key} has a call, and one result`);
      if (item.kind !== 'answer') continue;
      for (const block of item.blocks) if (block.kind === 'call') open.add(block.key);
    }
  }
  return [...open];
}

for (const ends of ['an interrupt', 'a crash'] as const) {
  test(`case 98: no later request has a call without a result after ${ends}`, () => {
    const world = new World({
      answer: (items) =>
        lastOf(items).user === 'work'
          ? [
              ['shell', {}],
              ['read', {}],
            ]
          : 'well',
      tool: () => 'silent',
    });
    const { agent } = world.start('work');
    world.run(1_000);
    if (ends === 'a crash') world.crash();
    world.run(1_000);
    world.call('agent/interrupt', { agent, branch: false, key: world.key() });
    world.call('agent/send', { agent, text: 'and now?', delivery: 'queue', key: world.key() });
    world.run(1_000);
    assert.deepEqual(dangling(world), []);
    assert.equal(world.open.reads.agent(agent)?.outcome, 'done');
    assert.deepEqual(world.bugs, []);
  });
}

test('case 101: what was at work when the process died is at work again, or has ended; nobody says so who is not', () => {
  let silent = true;
  const world = new World({ answer: () => (silent ? 'silent' : 'here I am') });
  const { agent } = world.start('go');
  world.run(1_000);
  assert.equal(world.open.reads.agent(agent)?.phase, 'asking');
  silent = false;
  world.crash();
  world.run(1_000);
  assert.equal(world.requests.length, 2, 'it was asked anew');
  assert.equal(world.open.reads.agent(agent)?.phase, 'idle');
  assert.equal(world.open.reads.agent(agent)?.outcome, 'done');
});

test('case 102: every turn of a queue is told as begun and as ended, none as running afterwards', () => {
  const world = new World({ answer: (items) => lastOf(items).user });
  const { agent } = world.start('1');
  for (const text of ['2', '3'])
    world.call('agent/send', { agent, text, delivery: 'queue', key: world.key() });
  world.run(1_000);
  const ends = world.transcript(agent).filter((line) => line.startsWith('end '));
  assert.deepEqual(ends, ['end done', 'end done', 'end done']);
  assert.equal(world.open.reads.agent(agent)?.phase, 'idle');
  const turns = world.open.reads.turns(agent, 0, 10).rows;
  assert.deepEqual(
    turns.map((turn) => turn.outcome),
    ['done', 'done', 'done'],
  );
});

test('case 106: delegating takes nothing of what a parent has said, whenever the process dies', () => {
  const script = (items: Parameters<typeof lastOf>[0]): Say => {
    const says = (text: string): boolean => items.some((item) => item.kind === 'user' && item.text === text);
    if (says('part')) return 'done';
    // After a crash a note of the runtime stands behind what the person said.
    const delegated = items.some((item) => item.kind === 'result');
    return says('divide') && !delegated ? [['spawn_agent', { tasks: [{ task: 'part' }] }]] : 'heard';
  };
  for (let steps = 1; ; steps += 1) {
    const world = new World({ answer: script });
    const { agent } = world.start('hello');
    world.run(1_000);
    const before = world.transcript(agent);
    world.call('agent/send', { agent, text: 'divide', delivery: 'queue', key: 'divide' });
    let left = steps;
    while (left > 0 && world.step()) left -= 1;
    if (left > 0) break;
    world.crash();
    world.run(5_000);
    assert.deepEqual(world.transcript(agent).slice(0, before.length), before);
    const { rows } = world.open.reads.agents(agent, 0, 10);
    assert.deepEqual(
      rows.map((row) => [row.phase, row.outcome]),
      [['idle', 'done']],
      `one child, after ${steps} steps`,
    );
    assert.equal(world.open.reads.agent(agent)?.phase, 'idle');
  }
});

test('case 109: a provider that fails, or knows nothing of a session, deletes nothing', () => {
  const world = new World({
    answer: () => ({ kind: 'rejected', code: 'badRequest', message: 'session not found' }),
  });
  const { agent } = world.start('mine');
  world.run(1_000);
  world.crash();
  world.run(1_000);
  assert.equal(world.open.reads.agent(agent)?.outcome, 'failed');
  assert.equal(world.transcript(agent)[0], 'person: mine');
});

test('case 173: an unknown tool and arguments that cannot be read are results with an error, not a hang', () => {
  const world = new World({
    answer: (items) =>
      lastOf(items).results.length > 0
        ? lastOf(items).results.join(' | ')
        : [
            ['fly', {}],
            ['spawn_agent', '{"tasks": '],
            ['read', '[1]'],
          ],
  });
  const { agent } = world.start('try');
  world.run(1_000);
  const answer = world.transcript(agent).find((line) => line.startsWith('answer: There is no tool'));
  assert.ok(answer !== undefined, world.transcript(agent).join('\n'));
  assert.equal(world.transcript(agent).filter((line) => line.startsWith('result error')).length, 3);
  assert.equal(world.open.reads.agent(agent)?.outcome, 'done');
  assert.equal(world.ran.length, 0);
});

test('case 173: a model that never writes a call that can be read does not go on for ever', () => {
  const world = new World({ answer: () => [['fly', '']] });
  const { agent } = world.start('try');
  world.run(60_000);
  assert.equal(world.open.reads.agent(agent)?.phase, 'idle');
  assert.equal(world.requests.length, limits.rounds);
});

test('case 175: an interrupt in a pause for a limit ends the turn, and nothing is asked any more', () => {
  const world = new World({
    paced: true,
    answer: () => ({ kind: 'refused', retryAtMs: 9_000_000, message: 'slow down' }),
  });
  const { agent } = world.start('go');
  world.run(2_000);
  assert.notEqual(world.open.reads.agent(agent)?.phase, 'idle');
  const asked = world.requests.length;
  world.call('agent/interrupt', { agent, branch: false, key: world.key() });
  assert.equal(world.open.reads.agent(agent)?.phase, 'idle');
  world.run(120_000);
  assert.equal(world.requests.length, asked);
  assert.equal(world.open.reads.agent(agent)?.outcome, 'interrupted');
});

test('case 190: what a grandchild has done reaches its parent at any depth, and each can be stopped', () => {
  const depth = 5;
  const world = new World({
    answer: (items) => {
      const { user, results } = lastOf(items);
      const level = Number(/level (\d)/.exec(user)?.[1] ?? Number.NaN);
      if (Number.isNaN(level)) return 'heard it';
      if (level === depth) return 'the deepest is done';
      if (results.length === 0) return [['spawn_agent', { tasks: [{ task: `level ${level + 1}` }] }]];
      if (results.length === 1) return [['wait_agent', {}]];
      return results.at(-1) ?? '';
    },
  });
  const { agent } = world.start('level 1');
  world.run(60_000);
  assert.match(world.transcript(agent).join('\n'), /the deepest is done/);
  let at = agent;
  for (let level = 2; level <= depth; level += 1) {
    const [child] = world.open.reads.agents(at, 0, 2).rows;
    assert.ok(child !== undefined, `level ${level} is there`);
    assert.equal(child.outcome, 'done');
    world.call('agent/interrupt', { agent: child.id, branch: true, key: world.key() });
    at = child.id;
  }
  assert.deepEqual(world.bugs, []);
});

test('case 206: an approval of a turn that was stopped takes no answer, and none that is meant for the next one', () => {
  const world = new World({
    ask: true,
    answer: (items) => (lastOf(items).results.length === 0 ? [['shell', {}]] : 'end'),
  });
  const { agent } = world.start('one');
  world.run(1_000);
  const [old] = world.open.reads.requests(0, 10).rows;
  assert.ok(old !== undefined);
  world.call('agent/interrupt', { agent, branch: false, key: world.key() });
  world.call('agent/send', { agent, text: 'two', delivery: 'queue', key: world.key() });
  world.run(1_000);
  const [next] = world.open.reads.requests(0, 10).rows;
  assert.ok(next !== undefined && next.id !== old.id);
  const late = world.call('request/answer', { request: old.id, answer: { kind: 'allow' }, key: world.key() });
  assert.deepEqual(late, { state: 'stale' });
  world.run(1_000);
  assert.equal(world.ran.length, 0, 'the next one still waits for its own answer');
  assert.equal(world.open.reads.agent(agent)?.why, 'approval');
});

test('cases 207 and 209: approvals of agents at any depth are in one queue, and each answer wakes its own call', () => {
  // All ask under the same key of their model, in the same round.
  const world = new World({
    ask: true,
    answer: (items) => {
      const { user, results } = lastOf(items);
      const [, level] = /^level (\d)/.exec(user) ?? [];
      if (results.length === 0 && level !== undefined && level < '3')
        return [
          [
            'spawn_agent',
            { tasks: [{ task: `level ${Number(level) + 1} a` }, { task: `level ${Number(level) + 1} b` }] },
          ],
        ];
      if (results.length < (level === '3' ? 1 : 2)) return [['shell', { command: user }]];
      return results.at(-1) ?? '';
    },
  });
  world.start('level 1');
  world.run(10_000);
  const requests = world.open.reads.requests(0, 50).rows;
  assert.equal(requests.length, 7, 'one of the root, two below it, four below those');
  assert.equal(new Set(requests.map((row) => row.agent)).size, 7);
  const [last] = requests.toSorted((a, b) => b.agent - a.agent);
  assert.ok(last !== undefined);
  const answered = world.call('request/answer', {
    request: last.id,
    answer: { kind: 'allow' },
    key: world.key(),
  });
  assert.deepEqual(answered, { state: 'applied' });
  world.run(1_000);
  assert.deepEqual(
    world.ran.map((job) => job.agent),
    [last.agent],
    'the call of the one that was answered, and no other',
  );
  const again = world.call('request/answer', {
    request: last.id,
    answer: { kind: 'deny', reason: '' },
    key: world.key(),
  });
  assert.deepEqual(again, { state: 'stale' });
  assert.equal(world.open.reads.requests(0, 50).rows.length, 6);
  assert.deepEqual(world.bugs, []);
});

test('case 249: what a person has refused is not asked again in that turn, and the agent is told so', () => {
  const world = new World({
    ask: true,
    answer: (items) => {
      const { user, results } = lastOf(items);
      return results.length < (user === 'one' ? 2 : 1) ? [['shell', { command: 'rm x' }]] : 'end';
    },
  });
  const { agent } = world.start('one');
  world.run(1_000);
  const open = () => world.open.reads.requests(0, 10).rows;
  const deny = { kind: 'deny', reason: 'Not that one.' } as const;
  world.call('request/answer', { request: open()[0]!.id, answer: deny, key: world.key() });
  world.run(1_000);
  assert.deepEqual(open(), []);
  assert.deepEqual(world.ran, []);
  const results = world.transcript(agent).filter((line) => line.startsWith('result'));
  assert.equal(results.length, 2);
  for (const result of results) assert.match(result, /Not that one\./);
  world.call('agent/send', { agent, text: 'two', delivery: 'queue', key: world.key() });
  world.run(1_000);
  assert.equal(open().length, 1, 'another turn may ask');
  assert.deepEqual(world.bugs, []);
});
