// Stories of messages between agents: the receipt says when they are read, and an inbox has a bound (I14).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../sidecar/runtime/limits.ts';
import { World, lastOf, type Say } from './world.ts';

/** A lead whose child works for ever, or is done at once; the lead then says what the test wants. */
function withChild(child: 'busy' | 'done', then: (round: number) => Say): World {
  return new World({
    answer: (items) => {
      const { user, results } = lastOf(items);
      if (user === 'child') return child === 'busy' ? 'silent' : 'did it';
      if (user !== 'lead') return 'heard';
      if (results.length === 0 && items.length === 1)
        return [['spawn_agent', { tasks: [{ task: 'child', name: 'kid' }] }]];
      const round = items.filter((item) => item.kind === 'answer').length;
      if (child === 'done' && round === 1) return [['wait_agent', {}]];
      return then(round);
    },
  });
}

const results = (world: World, agent: number): string[] =>
  world.transcript(agent).filter((line) => line.startsWith('result'));

test('a receipt says that a busy agent reads the message at its next step, and a resting one when it is woken', () => {
  const send = (round: number): Say =>
    round < 3 ? [['send_message', { to: 'kid', text: 'note this' }]] : 'done';
  const busy = withChild('busy', send);
  const lead = busy.start('lead').agent;
  busy.run(1_000);
  assert.match(results(busy, lead)[1] ?? '', /ok: Left for kid: it reads it at its next step\.$/);
  const resting = withChild('done', send);
  const other = resting.start('lead').agent;
  resting.run(1_000);
  assert.match(results(resting, other)[2] ?? '', /it rests, and reads it .*\. followup_task wakes it\.$/);
  assert.deepEqual([...busy.bugs, ...resting.bugs], []);
});

test('an inbox that is full is told to the sender; a person still has room, and then hears why not', () => {
  const texts = Array.from({ length: 100 }, (_, index) => `${index}`);
  const world = withChild('busy', (round) =>
    round < 4 ? texts.map((text) => ['send_message', { to: 'kid', text }] as const) : 'done',
  );
  const lead = world.start('lead').agent;
  world.run(1_000);
  const said = results(world, lead).slice(1);
  assert.equal(
    said.filter((line) => line.startsWith('result ok: Left for kid')).length,
    limits.inboxMessages,
  );
  assert.match(said.at(-1) ?? '', /result error: kid has 200 messages that it has not read/);
  const kid = world.open.reads.agentByName('lead/kid')?.id ?? assert.fail('there is a kid');
  for (let n = 0; n < limits.inboxSteers; n++)
    world.call('agent/send', { agent: kid, text: `steer ${n}`, delivery: 'steer', key: world.key() });
  assert.throws(
    () => world.call('agent/send', { agent: kid, text: 'more', delivery: 'steer', key: world.key() }),
    /overloaded: kid has not read/,
  );
  assert.equal(world.open.store.range('inbox.agent', [kid], { limit: 1_000 }).length, 250);
  // Stopped, the steers are a queue: nothing that a person said is lost (I11).
  world.call('agent/interrupt', { agent: kid, branch: false, key: world.key() });
  assert.equal(world.open.reads.agent(kid)?.queued, limits.inboxSteers);
  assert.deepEqual(world.bugs, []);
});

test('a message to a closed agent is refused: nobody would ever read it', () => {
  const world = new World({
    answer: (items) => {
      const { user, results: heard } = lastOf(items);
      if (user === 'lead' && heard.length === 0)
        return [['spawn_agent', { tasks: [{ task: 'child', name: 'kid' }] }]];
      if (user === 'tell it' && heard.length === 0) return [['send_message', { to: 'kid', text: 'x' }]];
      return 'done';
    },
  });
  const lead = world.start('lead').agent;
  world.run(1_000);
  const kid = world.open.reads.agentByName('lead/kid')?.id ?? assert.fail('there is a kid');
  world.call('agent/close', { agent: kid, key: world.key() });
  world.call('agent/send', { agent: lead, text: 'tell it', delivery: 'queue', key: world.key() });
  world.run(1_000);
  assert.match(results(world, lead).at(-1) ?? '', /result error: kid is closed: kid will not read it/);
  assert.deepEqual(world.open.store.range('inbox.agent', [kid], { limit: 1 }), []);
  assert.deepEqual(world.bugs, []);
});
