// Stories of what is deleted for good: everything of it goes, in slices, and what others need of it stays.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lastOf, World } from './world.ts';
import type { TableName } from '../../sidecar/core/rows.ts';
import { agentId, type AgentId } from '../../sidecar/protocol/ids.ts';
import type { Result } from '../../sidecar/protocol/methods.ts';
import type { Reply } from '../../sidecar/runtime/event.ts';
import { limits } from '../../sidecar/runtime/limits.ts';
import { requestRow } from '../store/samples.ts';

const day = 24 * 60 * 60_000;

/** Ids of the rows of a table. */
function rows(world: World, table: TableName): number[] {
  const ids: number[] = [];
  for (let id = 1; id < world.open.store.nextId(table); id++)
    if (world.open.store.get(table, id) !== undefined) ids.push(id);
  return ids;
}

/** Tables that hold rows of agents, with how many rows each has. */
function counts(world: World): Record<string, number> {
  const tables: TableName[] = [
    'agent',
    'turn',
    'entry',
    'call',
    'inbox',
    'outcome',
    'request',
    'change',
    'verdict',
  ];
  tables.push('timer', 'trash', 'remains', 'walk', 'wait', 'waiting', 'ready');
  return Object.fromEntries(tables.map((table) => [table, rows(world, table).length]));
}

const nothing = Object.fromEntries(
  Object.keys(counts(new World({ answer: () => 'yes' }))).map((name) => [name, 0]),
);

function healthy(world: World): void {
  assert.deepEqual(world.bugs, []);
  assert.deepEqual(world.open.reads.doctor().findings, []);
}

function remove(world: World, agent: AgentId): void {
  world.call('agent/delete', { agent, key: world.key() });
}

function empty(world: World): Result<'trash/empty'> {
  return world.call('trash/empty', { agents: null, key: world.key() });
}

/** Starts children that call a tool, say something long and ask for nothing; the lead waits for them. */
const busy = new World({
  answer: (items) => {
    const { user, results } = lastOf(items);
    if (user === 'lead' && results.length === 0)
      return [['spawn_agent', { tasks: [{ task: 'a' }, { task: 'b' }] }]];
    if (user === 'lead') return results.length === 1 ? [['wait_agent', {}]] : 'all done';
    return results.length === 0
      ? [
          ['shell', { command: 'x' }],
          ['read', { path: 'y' }],
        ]
      : 'long '.repeat(2_000);
  },
  tool: () => ({
    kind: 'done',
    outcome: { status: 'ok', text: 'ok', whole: Buffer.from('whole '.repeat(9_000)) },
  }),
});

test('nothing of a branch is left when its trash was emptied, and what it spent stays in the budget above', () => {
  const world = busy;
  const lead = world.start('lead');
  world.run(60_000);
  assert.equal(world.open.reads.agent(lead.agent)?.branch.done, 3);
  world.open.store.transact(() =>
    world.open.store.insert('request', requestRow({ agent: lead.agent, turn: lead.turn, state: 'answered' })),
  );
  const [child] = world.open.reads.agents(lead.agent, 0, 1).rows;
  const spent = world.open.reads.budget(lead.agent)?.spent;
  assert.ok(child !== undefined && spent !== undefined);
  remove(world, child.id);
  assert.deepEqual(empty(world), { branches: 1, agents: 1 });
  world.run(1_000);
  healthy(world);
  assert.equal(world.open.reads.agent(child.id), undefined);
  assert.deepEqual(world.open.reads.entriesAfter(0, child.id, 9), []);
  assert.deepEqual(world.open.reads.budget(lead.agent)?.spent, { ...spent, agents: 2 });
  assert.equal(world.open.reads.agent(lead.agent)?.children, 1);

  remove(world, lead.agent);
  const key = world.key();
  const done = world.call('trash/empty', { agents: [lead.agent], key });
  assert.deepEqual(done, { branches: 1, agents: 2 });
  assert.deepEqual(world.call('trash/empty', { agents: [lead.agent], key }), done);
  world.run(1_000);
  assert.deepEqual(counts(world), nothing);
  // Texts that agents share are left (profiles, and what was found in the folder), and nothing else.
  assert.equal(rows(world, 'blob').length, rows(world, 'shared').length + rows(world, 'knowledge').length);
  assert.equal(world.open.reads.fleet().agents, 0);
  healthy(world);
});

test('the source of a thousand forks is deleted for good: the forks live, and it goes with the last of them', () => {
  const seen: string[] = [];
  const world = new World({
    answer: (items) => {
      seen.push(items.map((item) => (item.kind === 'user' ? item.text : item.kind)).join(','));
      return 'yes';
    },
  });
  const source = world.start('source');
  world.run(1_000);
  const { turn } = source;
  world.call('agent/send', { agent: source.agent, text: 'more', delivery: 'queue', key: world.key() });
  world.run(1_000);
  const forks = Array.from(
    { length: 1_000 },
    (_, index) =>
      world.call('agent/fork', { agent: source.agent, turn, text: `fork ${index}`, key: world.key() }).agent,
  );
  world.run(10_000);
  remove(world, source.agent);
  empty(world);
  world.run(1_000);
  healthy(world);
  assert.equal(world.open.reads.agent(source.agent), undefined);
  assert.equal(rows(world, 'remains').length, 1);
  // The three entries up to the fork point, and the three of each fork.
  assert.equal(rows(world, 'entry').length, 3 + 3_000);
  for (const fork of forks) assert.equal(world.transcript(fork).length, 6);
  const last = forks.at(-1) ?? assert.fail('a fork');
  world.call('agent/send', { agent: last, text: 'go on', delivery: 'queue', key: world.key() });
  world.run(1_000);
  assert.equal(seen.at(-1), 'source,answer,fork 999,answer,go on');
  for (const fork of forks) remove(world, fork);
  assert.deepEqual(empty(world), { branches: 1_000, agents: 1_000 });
  world.run(10_000);
  assert.deepEqual(counts(world), nothing);
  healthy(world);
});

test('a fork is taken back to a turn of a source that was deleted for good, and forked there', () => {
  const world = new World({ answer: () => 'yes' });
  const source = world.start('source');
  world.run(1_000);
  const { turn } = source;
  const fork = world.call('agent/fork', { agent: source.agent, turn, text: 'fork', key: world.key() });
  world.run(1_000);
  remove(world, source.agent);
  empty(world);
  world.run(1_000);
  assert.equal(world.open.reads.agent(source.agent), undefined);
  const back = world.call('agent/rewind', { agent: fork.agent, turn, key: world.key() });
  assert.equal(back.turn, turn);
  const again = world.call('agent/fork', { agent: fork.agent, turn, text: 'again', key: world.key() });
  world.run(1_000);
  assert.deepEqual(world.transcript(again.agent).slice(0, 3), ['person: source', 'answer: yes', 'end done']);
  healthy(world);
});

test('a fork of a fork of a fork keeps all that it begins with, and no more', () => {
  const world = new World({ answer: () => 'yes' });
  let { agent } = world.start('one');
  const line = [agent];
  world.run(1_000);
  for (const text of ['two', 'three', 'four']) {
    agent = world.call('agent/fork', { agent, turn: null, text, key: world.key() }).agent;
    line.push(agent);
    world.run(1_000);
  }
  const said = world.transcript(agent);
  assert.equal(said.length, 12);
  for (const each of line.slice(0, 3)) {
    world.call('agent/send', { agent: each, text: 'beside', delivery: 'queue', key: world.key() });
    world.run(1_000);
    remove(world, each);
    empty(world);
    world.run(1_000);
    assert.deepEqual(world.transcript(agent), said);
    healthy(world);
  }
  assert.deepEqual(rows(world, 'agent'), [agent]);
  assert.deepEqual([rows(world, 'remains').length, rows(world, 'entry').length], [3, 12]);
  remove(world, agent);
  empty(world);
  world.run(1_000);
  assert.deepEqual(counts(world), nothing);
  healthy(world);
});

test('the trash is emptied by age: after a month, after the time that is set, never, or at once', () => {
  const world = new World({ answer: () => 'yes' });
  const keep = (keptMs: number | null): unknown => world.call('trash/keep', { keptMs, key: world.key() });
  const gone = (agent: AgentId): boolean => world.open.reads.agent(agent) === undefined;
  const [a, b] = [world.start('a').agent, world.start('b').agent];
  world.run(1_000);
  remove(world, a);
  world.run(10 * day);
  remove(world, b);
  assert.equal((world.open.reads.trash(0, 9).rows[1]?.untilMs ?? 0) - world.nowMs, 20 * day);
  world.run(20 * day - 1);
  assert.deepEqual([gone(a), gone(b)], [false, false]);
  world.run(2);
  assert.deepEqual([gone(a), gone(b)], [true, false]);
  keep(null);
  assert.equal(world.open.reads.trash(0, 9).rows[0]?.untilMs, null);
  world.run(365 * day);
  assert.equal(gone(b), false);
  keep(395 * day);
  world.run(9 * day);
  assert.equal(gone(b), false);
  world.run(day);
  assert.equal(gone(b), true);
  keep(0);
  const c = world.start('c').agent;
  world.run(1_000);
  remove(world, c);
  world.run(1);
  assert.equal(gone(c), true);
  assert.deepEqual(counts(world), nothing);
  healthy(world);
});

test('a large branch goes in slices: each is bounded, others go first, and a crash after any of them costs nothing', () => {
  const world = new World({
    slots: { modelSlots: 1_000 },
    answer: (items) => {
      const { user, results } = lastOf(items);
      const tasks = Array.from({ length: 400 }, (_, index) => ({ task: `part ${index}` }));
      return user === 'lead' && results.length === 0 ? [['spawn_agent', { tasks }]] : 'yes';
    },
  });
  const lead = world.start('lead').agent;
  const other = world.start('other').agent;
  world.run(60_000);
  remove(world, lead);
  let removed = 0;
  let most = 0;
  const { store } = world.open;
  const real = { remove: store.remove.bind(store), transact: store.transact.bind(store) };
  store.remove = (table, id) => {
    removed += 1;
    real.remove(table, id);
  };
  let slices = 0;
  store.transact = (work) => {
    removed = 0;
    const result = real.transact(work);
    most = Math.max(most, removed);
    if (removed > 0) {
      slices += 1;
      assert.deepEqual(world.open.reads.doctor().findings, []);
      if (slices % 3 === 0) world.at(0, () => world.crash());
    }
    return result;
  };
  const order: string[] = [];
  const heard: Reply<Result<'trash/empty'>> = () => void order.push('emptied');
  world.host.post({ kind: 'trash/empty', params: { agents: null, key: world.key() }, reply: heard });
  world.run();
  assert.deepEqual(order, ['emptied']);
  world.run(60_000);
  assert.ok(slices > 8, `${slices} slices`);
  assert.ok(most <= limits.purgeRows + 10, `${most} rows in one step`);
  assert.deepEqual(rows(world, 'agent'), [other]);
  assert.equal(world.open.reads.fleet().agents, 1);
  healthy(world);
});

test('a parent that has not heard yet is told that its child was deleted, also when nothing of it is left', () => {
  const world = new World({
    answer: (items) => {
      const { user, results } = lastOf(items);
      if (user !== 'lead') return user.startsWith('[roost]') ? `heard: ${user}` : 'silent';
      return results.length === 0 ? [['spawn_agent', { tasks: [{ task: 'a' }, { task: 'b' }] }]] : 'I rest';
    },
  });
  const lead = world.start('lead').agent;
  world.run(1_000);
  const [first, second] = world.open.reads.agents(lead, 0, 9).rows;
  assert.ok(first !== undefined && second !== undefined);
  remove(world, first.id);
  empty(world);
  world.run(100);
  assert.equal(world.open.reads.agent(first.id), undefined);
  healthy(world);
  world.call('agent/interrupt', { agent: second.id, branch: false, key: world.key() });
  world.run(1_000);
  const notice = world.transcript(lead).find((line) => line.startsWith('notice'));
  assert.match(notice ?? '', /agent \d+, which a person deleted: interrupted\n- agent-2: interrupted/);
  healthy(world);
});

test('what is being deleted for good cannot be restored, and what is not in the trash cannot be emptied', () => {
  const world = new World({ answer: () => 'yes' });
  const { agent } = world.start('x', { name: 'lead' });
  world.run(1_000);
  const take = (agents: readonly AgentId[]): unknown =>
    world.call('trash/empty', { agents, key: world.key() });
  assert.throws(() => take([agent]), /trash\/none: lead is not a branch in the trash/);
  assert.throws(() => take([agentId(99)]), /agent\/unknown/);
  remove(world, agent);
  assert.throws(() => take([agent, agentId(99)]), /agent\/unknown/);
  assert.equal(world.open.reads.trash(0, 9).rows[0]?.state, 'kept', 'all or nothing');
  world.host.post({
    kind: 'trash/empty',
    params: { agents: null, key: world.key() },
    reply: () => undefined,
  });
  assert.throws(
    () => world.call('agent/restore', { agent, key: world.key() }),
    /agent\/trashed: lead is being deleted for good|agent\/unknown/,
  );
  world.run(1_000);
  assert.deepEqual(counts(world), nothing);
});

test('rows of the ledger go by age', () => {
  const world = new World({ answer: () => 'yes' });
  const { agent } = world.start('x');
  world.run(1_000);
  const spent = world.open.reads.budget(agent)?.spent;
  assert.equal(rows(world, 'ledger').length, 1);
  world.run(31 * day);
  world.crash();
  world.run(1_000);
  assert.equal(rows(world, 'ledger').length, 0);
  assert.deepEqual(world.open.reads.budget(agent)?.spent, spent);
  healthy(world);
});

test('room of what was deleted is told, and filled by what comes after', () => {
  const world = new World({ answer: () => 'long '.repeat(2_000) });
  const round = (): number => {
    const leads = Array.from({ length: 40 }, () => world.start('x').agent);
    world.run(10_000);
    for (const agent of leads) remove(world, agent);
    empty(world);
    world.run(10_000);
    return world.open.reads.sizes().freeBytes;
  };
  const first = round();
  assert.ok(40 * 10_000 < first * 20, `${first} bytes are free`);
  const more = [round(), round(), round()];
  // Rows of the ledger and keys of what was asked stay; else the rounds use the same pages.
  for (const bytes of more)
    assert.ok(bytes <= first * 1.2, `${bytes} bytes are free, after one round ${first}`);
  assert.deepEqual(rows(world, 'entry'), []);
  healthy(world);
});
