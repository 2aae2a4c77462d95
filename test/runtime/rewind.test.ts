// Stories of rewinds: an agent goes on from an earlier turn, what is left stays readable, and everything can be undone.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AgentId, TurnId } from '../../sidecar/protocol/ids.ts';
import type { Item } from '../../sidecar/ports.ts';
import { World, lastOf, type Answerer, type Say } from './world.ts';

/** What a model was sent, a word an item; what the runtime says is only told to be there. */
const said = (items: readonly Item[]): string =>
  items
    .map((item) =>
      item.kind === 'user' ? (item.text.startsWith('[roost]') ? '[roost]' : item.text) : item.kind,
    )
    .join(' ');

interface Talk {
  readonly world: World;
  readonly agent: AgentId;
  /** The turns of the texts, in order. */
  readonly turns: readonly TurnId[];
  readonly sent: () => string;
}

/** An agent that has answered these texts, one turn each. */
function talk(...texts: readonly string[]): Talk {
  let last = '';
  const world = new World({
    answer: (items) => {
      last = said(items);
      return `heard ${lastOf(items).user}`;
    },
  });
  const [first = '', ...others] = texts;
  const started = world.start(first);
  world.run(1_000);
  const turns = [started.turn];
  for (const text of others) turns.push(say(world, started.agent, text));
  return { world, agent: started.agent, turns, sent: () => last };
}

function say(world: World, agent: AgentId, text: string): TurnId {
  const { turn } = world.call('agent/send', { agent, text, delivery: 'queue', key: world.key() });
  world.run(1_000);
  return turn;
}

const rewind = (world: World, agent: AgentId, turn: TurnId, stop = false) =>
  world.call('agent/rewind', { agent, turn, stop, key: world.key() });

const at = (turns: readonly TurnId[], index: number): TurnId =>
  turns[index] ?? assert.fail('there is a turn');

const shown = (world: World, agent: AgentId, turn?: TurnId): string =>
  world.open.reads
    .entries(agent, { after: 0, limit: 500, ...(turn === undefined ? {} : { turn }) })
    .entries.map(({ body }) => (body.kind === 'user' ? body.text : body.kind))
    .join(' ');

test('an agent goes on from an earlier turn, and the model is sent nothing of what came after it', () => {
  const { world, agent, turns, sent } = talk('one', 'two', 'three');
  const bytes = world.open.store.get('turn', at(turns, 0))?.bytes ?? 0;
  assert.deepEqual(rewind(world, agent, at(turns, 0)), { turn: turns[0], from: turns[2], stopped: 0 });
  assert.ok((world.open.store.get('agent', agent)?.bytes ?? 0) < bytes + 600, 'it costs what is left of it');
  const row = world.open.reads.agent(agent);
  assert.deepEqual([row?.phase, row?.last, row?.doing], ['idle', turns[0], 'heard one']);
  assert.equal(world.open.reads.lastTurn(agent)?.text, 'heard one');
  say(world, agent, 'other');
  assert.equal(sent(), 'one answer [roost] other');
  assert.equal(shown(world, agent), 'one answer end rewind other answer end');
  assert.deepEqual(world.bugs, []);
});

test('what is left stays readable, is listed as left, and its result is superseded', () => {
  const { world, agent, turns } = talk('one', 'two', 'three');
  rewind(world, agent, at(turns, 0));
  say(world, agent, 'other');
  assert.equal(shown(world, agent, at(turns, 1)), 'one answer end two answer end');
  assert.equal(shown(world, agent, at(turns, 2)), 'one answer end two answer end three answer end');
  assert.deepEqual(
    world.open.reads.turns(agent, 0, 10).rows.map(({ asked, said: words, left }) => [asked, words, left]),
    [
      ['other', 'heard other', false],
      ['three', 'heard three', true],
      ['two', 'heard two', true],
      ['one', 'heard one', false],
    ],
  );
  assert.deepEqual(
    turns.map((turn) => world.open.reads.turn(turn)?.superseded),
    [false, true, true],
  );
  // The log has all of it, in the order in which it happened.
  assert.equal(world.open.reads.entriesAfter(0, agent, 100).length, 13);
});

test('a rewind to a turn that was left undoes it, any number of times', () => {
  const { world, agent, turns, sent } = talk('one', 'two', 'three');
  rewind(world, agent, at(turns, 0));
  const branch = say(world, agent, 'other');
  const back = rewind(world, agent, at(turns, 2));
  assert.deepEqual(back, { turn: turns[2], from: branch, stopped: 0 });
  say(world, agent, 'on');
  assert.equal(sent(), 'one answer two answer three answer [roost] on');
  rewind(world, agent, branch);
  rewind(world, agent, at(turns, 1));
  rewind(world, agent, branch);
  say(world, agent, 'and on');
  assert.equal(sent(), 'one answer [roost] other answer [roost] and on');
  assert.deepEqual(world.bugs, []);
});

test('pages of a transcript with many rewinds are the same in both directions, whatever their size', () => {
  const { world, agent, turns } = talk('t0', 't1', 't2', 't3', 't4');
  const all = [...turns];
  for (let n = 0; n < 12; n++) {
    rewind(world, agent, at(all, (n * 7) % all.length));
    all.push(say(world, agent, `r${n}`));
  }
  const { reads } = world.open;
  const whole = reads.entries(agent, { after: 0, limit: 500 }).entries.map((entry) => entry.id);
  assert.deepEqual(
    [...whole].sort((a, b) => a - b),
    whole,
  );
  for (const limit of [1, 2, 5]) {
    const forwards: number[] = [];
    for (let after = 0, more = true; more;) {
      const page = reads.entries(agent, { after, limit });
      forwards.push(...page.entries.map((entry) => entry.id));
      after = forwards.at(-1) ?? 0;
      ({ more } = page);
    }
    assert.deepEqual(forwards, whole);
    const backwards: number[] = [];
    for (let before: number | undefined, more = true; more;) {
      const page = reads.entries(agent, { ...(before === undefined ? {} : { before }), limit });
      backwards.unshift(...page.entries.map((entry) => entry.id));
      before = backwards[0];
      ({ more } = page);
    }
    assert.deepEqual(backwards, whole);
  }
  assert.deepEqual(world.bugs, []);
});

test('an agent at work is not taken back, unless it is to be stopped; its queue is kept', () => {
  let silent = false;
  const world = new World({ answer: (items) => (silent ? 'silent' : `heard ${lastOf(items).user}`) });
  const { agent, turn } = world.start('one');
  world.run(1_000);
  silent = true;
  const busy = say(world, agent, 'two');
  const queued = say(world, agent, 'three');
  assert.throws(
    () => rewind(world, agent, turn),
    /agent\/busy: .* is at work\. Stop it first, or rewind with stop/,
  );
  assert.deepEqual(rewind(world, agent, turn, true), { turn, from: busy, stopped: 1 });
  assert.equal(world.host.slots().modelUsed, 0);
  const row = world.open.reads.agent(agent);
  assert.deepEqual([row?.phase, row?.queued, row?.outcome], ['idle', 1, 'done']);
  assert.deepEqual(
    world.open.reads.queue(agent, 0, 10).rows.map((each) => each.turn),
    [queued],
  );
  silent = false;
  say(world, agent, 'four');
  assert.equal(shown(world, agent), 'one answer end rewind three answer end four answer end');
  assert.deepEqual(world.bugs, []);
});

test('a rewind to where it is changes nothing, and the same key does it once, over a crash too', () => {
  const { world, agent, turns } = talk('one', 'two');
  const head = world.open.store.get('agent', agent)?.head;
  assert.deepEqual(rewind(world, agent, at(turns, 1)), { turn: turns[1], from: turns[1], stopped: 0 });
  assert.equal(world.open.store.get('agent', agent)?.head, head);
  const params = { agent, turn: at(turns, 0), key: world.key() };
  const first = world.call('agent/rewind', params);
  world.crash();
  say(world, agent, 'three');
  assert.deepEqual(world.call('agent/rewind', params), first);
  assert.equal(shown(world, agent), 'one answer end rewind three answer end');
});

test('what is no turn of the agent is refused, and so is a closed agent', () => {
  const { world, agent, turns } = talk('one', 'two');
  const other = world.start('other');
  world.run(1_000);
  assert.throws(() => rewind(world, agent, other.turn), /turn\/unknown: That is no turn of one/);
  assert.throws(() => rewind(world, agent, 99 as TurnId), /turn\/unknown/);
  assert.throws(() => rewind(world, 99 as AgentId, at(turns, 0)), /agent\/unknown/);
  world.call('agent/close', { agent, key: world.key() });
  assert.throws(() => rewind(world, agent, at(turns, 0)), /agent\/closed: one is closed/);
});

test('forks go from any turn, also one that was left, and from what they were forked with', () => {
  const { world, agent, turns, sent } = talk('one', 'two', 'three');
  rewind(world, agent, at(turns, 0));
  const fork = (from: AgentId, turn: TurnId | null, text: string) => {
    const made = world.call('agent/fork', { agent: from, turn, text, key: world.key() });
    world.run(1_000);
    return made;
  };
  const left = fork(agent, at(turns, 1), 'from left');
  assert.equal(sent(), 'one answer two answer from left');
  fork(agent, null, 'from now');
  assert.equal(sent(), 'one answer from now');
  // A turn of the prefix is a turn to go back to, or to fork at.
  fork(left.agent, at(turns, 0), 'deeper');
  assert.equal(sent(), 'one answer deeper');
  rewind(world, left.agent, at(turns, 0));
  say(world, left.agent, 'again');
  assert.equal(sent(), 'one answer [roost] again');
  assert.throws(() => fork(left.agent, at(turns, 2), 'x'), /turn\/unknown/);
  assert.deepEqual(world.bugs, []);
});

/** A lead whose every turn starts one child for each word of the text; children work until they are stopped. */
const starting: Answerer = (items) => {
  const { user, results } = lastOf(items);
  if (user.startsWith('kid')) return user.endsWith('done') ? 'did it' : 'silent';
  if (user.startsWith('[roost]')) return 'heard of it';
  if (results.length > 0 || !user.startsWith('start ')) return `said ${user}`;
  const tasks = user
    .slice(6)
    .split(' ')
    .map((name) => ({ task: `kid ${name}`, name }));
  return [['spawn_agent', { tasks }]] as Say;
};

test('children of turns that are left are stopped with all below them, and their ends are told to nobody', () => {
  const world = new World({ answer: starting });
  const { agent, turn } = world.start('start a b');
  world.run(100);
  say(world, agent, 'start c d');
  const kids = () => world.open.reads.agents(agent, 0, 10).rows.map((row) => `${row.name} ${row.phase}`);
  assert.deepEqual(kids(), ['a asking', 'b asking', 'c asking', 'd asking']);
  const c = world.open.reads.agentByName('start-a-b/c') ?? assert.fail('there is c');
  const below = world.start('kid below', { parent: c.id });
  world.run(100);
  assert.equal(rewind(world, agent, turn).stopped, 3);
  assert.deepEqual(kids(), ['a asking', 'b asking', 'c idle', 'd idle']);
  assert.equal(world.open.reads.agent(below.agent)?.phase, 'idle');
  world.run(1_000_000);
  assert.equal(world.open.store.get('agent', agent)?.unheard, 0);
  assert.ok(!world.transcript(agent).some((line) => line.startsWith('notice')));
  // One that a person wakes works, and still is nobody's news; a child of a turn that stayed is.
  say(world, c.id, 'kid c done');
  const a = world.open.reads.agentByName('start-a-b/a') ?? assert.fail('there is a');
  world.call('agent/interrupt', { agent: a.id, branch: false, key: world.key() });
  world.run(1_000_000);
  const notices = world.transcript(agent).filter((line) => line.startsWith('notice'));
  assert.equal(notices.length, 1);
  assert.match(notices[0] ?? '', /1 of your agents ended a turn:\n- a: interrupted/);
  assert.deepEqual(world.bugs, []);
});

test('what children had ended with until then is told in the rewind, once (I8)', () => {
  const world = new World({ answer: starting });
  const { agent, turn } = world.start('start a-done b');
  world.run(100);
  say(world, agent, 'two');
  assert.equal(world.open.store.get('agent', agent)?.unheard, 1);
  rewind(world, agent, turn);
  assert.match(
    world.transcript(agent).at(-1) ?? '',
    /1 of your agents have ended a turn:\n- a-done: done: did it$/,
  );
  world.run(1_000_000);
  assert.ok(!world.transcript(agent).some((line) => line.startsWith('notice')));
  assert.deepEqual(world.bugs, []);
});

test('a branch of a thousand children is stopped in pages, also when the process dies in the middle', () => {
  const tasks = Array.from({ length: 1_000 }, (_, n) => ({ task: `kid ${n}` }));
  const world = new World({
    slots: { modelSlots: 2_000 },
    answer: (items) => {
      const { user, results } = lastOf(items);
      if (user.startsWith('kid')) return 'silent';
      return user === 'many' && results.length === 0 ? [['spawn_agent', { tasks }]] : 'ok';
    },
  });
  const { agent, turn } = world.start('one');
  world.run(1_000);
  say(world, agent, 'many');
  assert.equal(world.open.reads.agent(agent)?.branch.running, 1_000);
  const params = { agent, turn, key: world.key() };
  let answered = false;
  world.host.post({ kind: 'agent/rewind', params, reply: () => (answered = true) });
  while (world.open.reads.agent(agent)?.branch.running === 1_000) world.step();
  world.crash();
  assert.equal(answered, false);
  const { stopped } = world.call('agent/rewind', params);
  assert.ok(stopped < 1_000, 'some were stopped before');
  world.run(1_000);
  assert.equal(world.open.reads.agent(agent)?.branch.running, 0);
  assert.deepEqual(world.bugs, []);
});
