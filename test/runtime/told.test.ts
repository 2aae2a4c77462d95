// Stories of outcomes that reach a parent through its own command: once, and not lost with the command (I8). And who
// is said to have written: a person, or the agent in whose command a client runs.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callId, type AgentId, type CallId, type TurnId } from '../../sidecar/protocol/ids.ts';
import type { ClientEvent } from '../../sidecar/runtime/event.ts';
import { World, lastOf } from './world.ts';

/** A lead whose command runs on until the test ends it; whatever it is told by notices it says it has heard. */
function leadInShell(): {
  world: World;
  lead: AgentId;
  call: CallId;
  end: (status: 'ok' | 'unknown') => void;
} {
  const world = new World({
    tool: () => 'silent',
    answer: (items) => {
      const { user, results } = lastOf(items);
      if (user === 'lead' && results.length === 0) return [['shell', { command: 'roost run …' }]];
      return user === 'lead' ? 'the command ended' : `did ${user}`;
    },
  });
  const lead = world.start('lead').agent;
  world.run(100);
  const call = callId(world.ran[0]?.call ?? assert.fail('the command runs'));
  const end = (status: 'ok' | 'unknown'): void => {
    world.host.post({ kind: 'callEnd', call, outcome: { status, text: 'what it printed' } });
    world.run(60_000);
  };
  return { world, lead, call, end };
}

function startKid(world: World, parent: AgentId, call: CallId): { agent: AgentId; turn: TurnId } {
  let kid: { agent: AgentId; turn: TurnId } | undefined;
  const params = { text: 'kid', workspace: '/w', parent, key: world.key() };
  const event = {
    kind: 'agent/start',
    params,
    call,
    reply: (answer: { value: typeof kid }) => (kid = answer.value),
  };
  world.host.post(event as unknown as ClientEvent);
  world.run(1_000);
  return kid ?? assert.fail('it was not started');
}

function tell(world: World, call: CallId, turn: TurnId): void {
  let told = false;
  world.host.post({ kind: 'told', call, turns: [turn], reply: () => (told = true) });
  world.run();
  assert.ok(told);
}

const notices = (world: World, agent: number): string[] =>
  world.transcript(agent).filter((line) => line.startsWith('notice'));
const unheard = (world: World, agent: number): number => world.open.store.get('agent', agent)?.unheard ?? -1;

test('what its command was told is no notice again', () => {
  const { world, lead, call, end } = leadInShell();
  const kid = startKid(world, lead, call);
  assert.equal(unheard(world, lead), 1);
  tell(world, call, kid.turn);
  tell(world, call, kid.turn);
  assert.equal(unheard(world, lead), 0);
  end('ok');
  assert.deepEqual(notices(world, lead), []);
  assert.equal(world.transcript(lead).at(-1), 'end done');
  assert.deepEqual(world.bugs, []);
});

test('a command that nobody saw the end of has told nothing: a notice does, once', () => {
  for (const way of ['unknown', 'interrupted'] as const) {
    const { world, lead, call, end } = leadInShell();
    const kid = startKid(world, lead, call);
    tell(world, call, kid.turn);
    if (way === 'unknown') end('unknown');
    else {
      world.call('agent/interrupt', { agent: lead, branch: false, key: world.key() });
      world.call('agent/send', { agent: lead, text: 'go on', delivery: 'queue', key: world.key() });
      world.run(60_000);
    }
    assert.equal(notices(world, lead).length, 1, way);
    assert.match(notices(world, lead)[0] ?? '', /1 of your agents ended a turn:\n- kid: done: did kid/);
    assert.deepEqual(world.bugs, []);
  }
});

test('a detached child is told by a notice, and what a stranger’s command is told counts for nothing', () => {
  const { world, lead, call, end } = leadInShell();
  const other = world.start('lead').agent;
  world.run(100);
  const strange = callId(world.ran[1]?.call ?? assert.fail('its command runs'));
  const kid = startKid(world, lead, call);
  tell(world, strange, kid.turn);
  assert.equal(unheard(world, lead), 1);
  end('ok');
  assert.equal(notices(world, lead).length, 1);
  assert.equal(notices(world, other).length, 0);
  assert.deepEqual(world.bugs, []);
});

test('a text is from whoever gave it: a person also under a parent, an agent by its own command', () => {
  const { world, lead, call } = leadInShell();
  const byPerson = world.start('person', { parent: lead }).agent;
  const byCommand = startKid(world, lead, call).agent;
  world.run(1_000);
  assert.equal(world.transcript(byPerson)[0], 'person: person');
  assert.equal(world.transcript(byCommand)[0], `agent ${lead}: kid`);
  const turns = (agent: number) => world.open.store.range('turn.agent', [agent], { limit: 10 });
  assert.deepEqual([turns(byPerson)[0]?.cause, turns(byCommand)[0]?.cause], ['message', 'spawn']);
  const fork = world.call('agent/fork', { agent: byCommand, turn: null, text: 'mine', key: world.key() });
  world.run(1_000);
  assert.equal(world.transcript(fork.agent).at(-3), 'person: mine');
  assert.deepEqual(world.bugs, []);
});

test('an end in order is no crash: no number of them puts a turn in quarantine, and its model is told each time', () => {
  const world: World = new World({ answer: () => (world.requests.length < 6 ? 'silent' : 'done') });
  const { agent } = world.start('long');
  world.run(1_000);
  for (let n = 0; n < 5; n++) {
    let left = false;
    world.host.drain(() => (left = true), true);
    world.run();
    assert.ok(left);
    world.crash();
    world.run(1_000);
  }
  assert.equal(world.open.reads.agent(agent)?.outcome, 'done');
  const notes = world
    .transcript(agent)
    .filter((line) => line.startsWith('note: [roost] The runtime restarted'));
  assert.equal(notes.length, 5);
  assert.deepEqual(world.bugs, []);
});

test('three crashes are: a person is asked', () => {
  const world = new World({ answer: () => 'silent' });
  const { agent } = world.start('long');
  for (let n = 0; n < 3; n++) {
    world.run(1_000);
    world.crash();
  }
  world.run(1_000);
  assert.equal(world.open.reads.agent(agent)?.why, 'quarantine');
  assert.match(world.open.reads.requests(0, 10).rows[0]?.title ?? '', /Roost crashed 3 times while/);
  assert.deepEqual(world.bugs, []);
});
