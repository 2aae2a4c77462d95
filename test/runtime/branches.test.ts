// Stories of whole branches: closed deepest first, deleted to the trash, brought back.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AgentRecord } from '../../sidecar/core/rows.ts';
import { agentId } from '../../sidecar/protocol/ids.ts';
import type { BranchDone } from '../../sidecar/protocol/methods.ts';
import type { Reply } from '../../sidecar/runtime/event.ts';
import { changeRow } from '../store/samples.ts';
import type { Answerer } from './world.ts';
import { World, lastOf } from './world.ts';

/**
 * A task "tree N D" starts N children a level, D levels deep, and waits for them; at the bottom the model is silent.
 * Each other task is answered.
 */
const trees: Answerer = (items) => {
  const { user, results } = lastOf(items);
  const [, count, depth] = /^tree (\d+) (\d+)$/.exec(user) ?? [];
  if (count === undefined) return `heard ${user}`;
  if (depth === '0') return 'silent';
  const tasks = Array.from({ length: Number(count) }, () => ({ task: `tree ${count} ${Number(depth) - 1}` }));
  return results.length === 0 ? [['spawn_agent', { tasks }]] : [['wait_agent', {}]];
};

function agents(world: World): AgentRecord[] {
  const rows: AgentRecord[] = [];
  for (let id = 1; id < world.open.store.nextId('agent'); id++) {
    const row = world.open.store.get('agent', id);
    if (row !== undefined) rows.push(row);
  }
  return rows;
}

function healthy(world: World): void {
  assert.deepEqual(world.bugs, []);
  assert.deepEqual(world.open.reads.doctor().findings, []);
}

/** Agents in the order in which their turns have ended. */
function endings(world: World): number[] {
  const ends = world.open.reads.entriesAfter(0, 0, 500).filter((entry) => entry.body.kind === 'end');
  return ends.map((entry) => entry.agent);
}

test('work that is given in the same step as a close, a deletion or a stop of the branch is ended with it', () => {
  for (const kind of ['agent/close', 'agent/delete', 'agent/interrupt'] as const) {
    const world = new World({
      answer: (items) => {
        const { user, results } = lastOf(items);
        if (user !== 'lead' && user !== 'deep') return user === 'more' ? 'silent' : 'done';
        const task = user === 'lead' ? 'deep' : 'leaf';
        return results.length === 0 ? [['spawn_agent', { tasks: [{ task }] }]] : 'started';
      },
    });
    const lead = world.start('lead');
    world.run(10_000);
    const leaf = agents(world).find((agent) => agent.task === 'leaf');
    assert.equal(leaf?.phase, 'idle');
    // Both come before the first is handled, as from two clients at once.
    const reply = (answer: { readonly ok: boolean }): void => assert.ok(answer.ok);
    const to = agentId(leaf.id);
    world.host.post({
      kind: 'agent/send',
      params: { agent: to, text: 'more', delivery: 'queue', key: world.key() },
      reply,
    });
    const stop = { agent: lead.agent, key: world.key() };
    if (kind === 'agent/interrupt') world.host.post({ kind, params: { ...stop, branch: true }, reply });
    else world.host.post({ kind, params: stop, reply });
    world.run(10_000);
    assert.deepEqual(
      agents(world).map((agent) => agent.phase),
      ['idle', 'idle', 'idle'],
      kind,
    );
    healthy(world);
  }
});

test('nothing starts under a closed agent, and what was at work below it is stopped', () => {
  const world = new World({
    answer: (items) => {
      const { user, results } = lastOf(items);
      if (user !== 'lead') return 'silent';
      return results.length === 0
        ? [['spawn_agent', { tasks: [{ task: 'a' }, { task: 'b' }] }]]
        : [['wait_agent', {}]];
    },
  });
  const lead = world.start('lead');
  world.run(1_000);
  const done = world.call('agent/close', { agent: lead.agent, key: world.key() });
  assert.deepEqual(done, { agents: 3, stopped: 3, name: 'lead' });
  world.run(1_000);
  assert.equal(world.open.reads.agent(lead.agent)?.branch.running, 0);
  const child = world.open.reads.agents(lead.agent, 0, 1).rows[0];
  assert.ok(child !== undefined);
  for (const agent of [lead.agent, child.id]) {
    assert.throws(
      () => world.call('agent/send', { agent, text: 'go', delivery: 'queue', key: world.key() }),
      /agent\/closed/,
    );
  }
  assert.deepEqual(world.bugs, []);
});

test('a branch is closed deepest first, and nobody in it is woken by the end of another', () => {
  const world = new World({ answer: trees });
  const { agent } = world.start('tree 3 3');
  world.run(1_000);
  const asked = world.requests.length;
  const done = world.call('agent/close', { agent, key: world.key() });
  assert.deepEqual(done, { agents: 40, stopped: 40, name: 'tree-3-3' });
  assert.equal(world.requests.length, asked, 'no parent was asked again');
  const order = endings(world);
  assert.equal(order.length, 40);
  const parents = new Map(agents(world).map((row) => [row.id, row.parent]));
  for (const [at, id] of order.entries()) {
    const parent = parents.get(id) ?? 0;
    if (parent !== 0) assert.ok(order.indexOf(parent) > at, `agent ${id} ended before its parent ${parent}`);
  }
  healthy(world);
});

test('a close that a crash cuts goes on after it, and the same key gets the answer', () => {
  const world = new World({ answer: trees });
  const { agent } = world.start('tree 300 1');
  world.run(1_000);
  const key = world.key();
  world.host.post({
    kind: 'agent/close',
    params: { agent, key },
    reply: () => assert.fail('not before the crash'),
  });
  // One step: the first slice of 200 agents.
  world.at(0, () => world.crash());
  world.run();
  const done = world.call('agent/close', { agent, key });
  assert.equal(done.agents, 301);
  assert.ok(agents(world).every((row) => row.phase === 'idle'));
  assert.deepEqual(world.call('agent/close', { agent, key }), done);
  healthy(world);
});

test('a deleted branch is in no list, path or count, and comes back whole', () => {
  const world = new World({ answer: trees });
  const lead = world.start('tree 2 2', { name: 'lead' });
  world.run(1_000);
  const child = world.open.reads.agents(lead.agent, 0, 1).rows[0] ?? assert.fail('a child');
  const before = agents(world);
  const key = world.key();
  const done = world.call('agent/delete', { agent: child.id, key });
  assert.deepEqual(done, { agents: 3, stopped: 3, name: 'agent-1' });
  assert.deepEqual(world.call('agent/delete', { agent: child.id, key: world.key() }), {
    ...done,
    stopped: 0,
  });
  assert.equal(world.open.reads.agentByName('lead/agent-1'), undefined);
  assert.deepEqual(
    world.open.reads.agents(lead.agent, 0, 9).rows.map((row) => row.name),
    ['agent-2'],
  );
  assert.equal(world.open.reads.agent(lead.agent)?.branch.agents, 4);
  assert.equal(world.open.reads.fleet().agents, 4);
  assert.equal(world.open.reads.agent(child.id)?.trashed, true);
  const [row] = world.open.reads.trash(0, 9).rows;
  assert.deepEqual([row?.path, row?.agents, row?.state], ['lead/agent-1', 3, 'kept']);
  healthy(world);

  // Nothing starts in it, whoever asks.
  const inside = agents(world).filter((each) => each.trash !== 0);
  assert.equal(inside.length, 3);
  for (const { id } of inside) {
    const agent = agentId(id);
    const send = (): unknown =>
      world.call('agent/send', { agent, text: 'go', delivery: 'queue', key: world.key() });
    assert.throws(send, /agent\/trashed: agent-1 is in the trash\. Restore it first/);
    assert.throws(
      () => world.call('agent/fork', { agent, turn: null, text: 'x', key: world.key() }),
      /agent\/trashed/,
    );
    assert.throws(() => world.start('x', { parent: agent }), /agent\/trashed/);
    assert.throws(() => world.call('turn/retry', { agent, key: world.key() }), /agent\/trashed/);
  }

  const back = world.call('agent/restore', { agent: child.id, key: world.key() });
  assert.deepEqual(back, { agents: 3, stopped: 0, name: 'agent-1' });
  assert.equal(world.open.reads.agentByName('lead/agent-1')?.id, child.id);
  assert.equal(world.open.reads.agent(lead.agent)?.branch.agents, 7);
  assert.equal(world.open.reads.fleet().agents, 7);
  assert.deepEqual(world.open.reads.trash(0, 9).rows, []);
  assert.equal(agents(world).length, before.length);
  // It was deleted once, and that key says so for ever; it is not deleted again.
  assert.deepEqual(world.call('agent/delete', { agent: child.id, key }), done);
  assert.equal(world.open.reads.agent(child.id)?.trashed, false);
  assert.throws(() => world.call('agent/restore', { agent: child.id, key: world.key() }), /trash\/none/);
  healthy(world);
  world.call('agent/send', { agent: child.id, text: 'go on', delivery: 'queue', key: world.key() });
  world.run(1_000);
  assert.ok(world.transcript(child.id).includes('answer: heard go on'));
});

test('a deleted root takes nothing of what was spent with it, and the tree has one row less', () => {
  const world = new World({ answer: () => 'yes' });
  const [first, second] = [world.start('first'), world.start('second')];
  world.run(1_000);
  const spent = world.open.reads.fleet().microUsd;
  assert.ok(spent > 0);
  const query = { expanded: [first.agent], order: 'attention', filter: '', top: 0, height: 9 } as const;
  const filtered = { ...query, filter: 'first' };
  assert.equal(world.open.reads.tree(filtered).total, 1);
  world.call('agent/delete', { agent: first.agent, key: world.key() });
  const tree = world.open.reads.tree(query);
  assert.deepEqual([tree.total, tree.rows.map((row) => row.agent.id)], [1, [second.agent]]);
  assert.equal(world.open.reads.tree(filtered).total, 0);
  assert.equal(world.open.reads.fleet().microUsd, spent);
  assert.equal(world.open.reads.fleet().done, 1);
  world.call('agent/restore', { agent: first.agent, key: world.key() });
  assert.equal(world.open.reads.tree(filtered).total, 1);
  healthy(world);
});

test('what a deleted branch has spent stays in the budget of those above it (I7)', () => {
  const world = new World({ answer: trees });
  const lead = world.start('tree 2 1', { budget: { microUsd: 50_000_000 } });
  world.run(1_000);
  const child = world.open.reads.agents(lead.agent, 0, 1).rows[0]?.id ?? assert.fail('a child');
  const spent = world.open.reads.budget(lead.agent)?.spent;
  world.call('agent/delete', { agent: child, key: world.key() });
  const after = world.open.reads.budget(lead.agent)?.spent;
  assert.equal(after?.agents, (spent?.agents ?? 0) - 1);
  assert.ok((after?.microUsd ?? 0) > (spent?.microUsd ?? 0), 'the request that was given up is paid too');
  healthy(world);
});

test('a parent hears that its child was deleted, once, and its wait ends', () => {
  const world = new World({
    answer: (items) => {
      const { results } = lastOf(items);
      return results.length === 2 ? 'done' : trees(items, undefined as never);
    },
  });
  const lead = world.start('tree 1 1');
  world.run(1_000);
  const child = world.open.reads.agents(lead.agent, 0, 1).rows[0]?.id ?? assert.fail('a child');
  world.call('agent/delete', { agent: child, key: world.key() });
  world.run(1_000);
  const told = world.transcript(lead.agent).filter((line) => line.includes('Deleted by a person.'));
  assert.deepEqual(told, [
    'result ok: 1 ended:\n- agent-1: interrupted: Deleted by a person.\nNone is at work any more.',
  ]);
  assert.equal(world.open.reads.agent(lead.agent)?.outcome, 'done');
  healthy(world);
});

test('a name that was given away meanwhile: the restored one gets another', () => {
  const world = new World({ answer: () => 'yes' });
  const first = world.start('x', { name: 'lead' });
  world.call('agent/delete', { agent: first.agent, key: world.key() });
  const second = world.start('x', { name: 'lead' });
  const back = world.call('agent/restore', { agent: first.agent, key: world.key() });
  assert.equal(back.name, 'lead-2');
  assert.equal(world.open.reads.agentByName('lead')?.id, second.agent);
  assert.equal(world.open.reads.agentByName('lead-2')?.id, first.agent);
  healthy(world);
});

test('a branch in the trash within a branch in the trash: each comes back by itself, the outer one first', () => {
  const world = new World({ answer: trees });
  const lead = world.start('tree 1 2', { name: 'lead' });
  world.run(1_000);
  const middle = world.open.reads.agentByName('lead/agent-1')?.id ?? assert.fail('a child');
  const inner = world.open.reads.agentByName('lead/agent-1/agent-1')?.id ?? assert.fail('its child');
  world.call('agent/delete', { agent: inner, key: world.key() });
  assert.equal(world.call('agent/delete', { agent: lead.agent, key: world.key() }).agents, 2);
  assert.throws(
    () => world.call('agent/restore', { agent: inner, key: world.key() }),
    /agent\/trashed: lead, above agent-1, is in the trash too\. Restore lead first/,
  );
  assert.throws(() => world.call('agent/restore', { agent: middle, key: world.key() }), /Restore lead first/);
  assert.throws(
    () => world.call('agent/delete', { agent: middle, key: world.key() }),
    /in the trash already, with lead/,
  );
  world.call('agent/restore', { agent: lead.agent, key: world.key() });
  assert.equal(world.open.reads.agentByName('lead/agent-1/agent-1'), undefined);
  assert.equal(world.open.reads.agent(lead.agent)?.branch.agents, 2);
  world.call('agent/restore', { agent: inner, key: world.key() });
  assert.equal(world.open.reads.agent(lead.agent)?.branch.agents, 3);
  healthy(world);
});

test('a branch and one below it are deleted in the same step: each has a place of its own in the trash', () => {
  const world = new World({ answer: trees });
  const lead = world.start('tree 1 2', { name: 'lead' });
  world.run(1_000);
  const inner = world.open.reads.agentByName('lead/agent-1/agent-1')?.id ?? assert.fail('a child');
  const removed: number[] = [];
  for (const agent of [inner, lead.agent]) {
    const reply = (answer: Parameters<Reply<BranchDone>>[0]): void =>
      void removed.push(answer.ok ? answer.value.agents : assert.fail(answer.message));
    world.host.post({ kind: 'agent/delete', params: { agent, key: world.key() }, reply });
  }
  world.run(1_000);
  assert.deepEqual(removed, [1, 2]);
  world.call('agent/restore', { agent: lead.agent, key: world.key() });
  assert.equal(world.open.reads.agent(lead.agent)?.branch.agents, 2);
  world.call('agent/delete', { agent: lead.agent, key: world.key() });
  world.call('trash/empty', { agents: null, key: world.key() });
  world.run(1_000);
  assert.deepEqual(agents(world), []);
  healthy(world);
});

test('a large branch goes to the trash in slices over crashes, and is restored in the middle of it', () => {
  const world = new World({ answer: trees, slots: { modelSlots: 1_000 } });
  const { agent } = world.start('tree 900 1', { name: 'many' });
  world.run(1_000);
  const gone: string[] = [];
  const hear: Reply<BranchDone> = (said) => void gone.push(said.ok ? `${said.value.agents}` : said.message);
  const params = { agent, key: world.key() };
  world.host.post({ kind: 'agent/delete', params, reply: hear });
  world.at(0, () => world.crash());
  world.run();
  assert.deepEqual(gone, [], 'nobody is told before it is done');
  assert.equal(world.call('agent/delete', params).agents, 901);
  assert.equal(world.open.reads.fleet().agents, 0);
  healthy(world);

  world.call('agent/restore', { agent, key: world.key() });
  assert.equal(world.open.reads.fleet().agents, 901);
  world.host.post({ kind: 'agent/delete', params: { agent, key: world.key() }, reply: hear });
  world.host.post({ kind: 'agent/restore', params: { agent, key: world.key() }, reply: hear });
  world.run();
  assert.deepEqual(gone, ['It was restored while it was being deleted.', '901']);
  assert.ok(agents(world).every((row) => row.trash === 0 && row.detached === 0));
  healthy(world);
});

test('an undecided change of an agent in the trash waits for no review, and does again after a restore', () => {
  const world = new World({ answer: () => 'done' });
  const { agent } = world.start('edit it');
  world.run(1_000);
  world.open.store.transact(() => {
    world.open.store.insert('change', changeRow({ agent }));
    world.open.store.insert('change', changeRow({ agent, path: '/w/b.ts', state: 'accepted' }));
    world.open.store.update('agent', agent, { changes: 1 });
  });
  const reviews = (): number[] => [
    world.open.reads.attention().reviewsTotal,
    world.open.reads.changes(0, 0, 9).rows.length,
  ];
  assert.deepEqual(reviews(), [1, 1]);
  world.call('agent/delete', { agent, key: world.key() });
  assert.deepEqual(reviews(), [0, 0]);
  healthy(world);
  world.call('agent/restore', { agent, key: world.key() });
  assert.deepEqual(reviews(), [1, 1]);
  healthy(world);
});

test('a failure in the trash is in no list of failures', () => {
  const world = new World({ answer: () => ({ kind: 'rejected', code: 'badRequest', message: 'no' }) });
  const { agent } = world.start('try');
  world.run(1_000);
  assert.equal(world.open.reads.attention().failed.length, 1);
  world.call('agent/delete', { agent, key: world.key() });
  const { failed, failedTotal } = world.open.reads.attention();
  assert.deepEqual([failed, failedTotal], [[], 0]);
  healthy(world);
});
