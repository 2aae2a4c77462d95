// Prices that a person sets, the question for one, models of profiles, and what is added up of the ledger: over
// crashes each request counts once (case 242).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../sidecar/runtime/limits.ts';
import { agentId, requestId } from '../../sidecar/protocol/ids.ts';
import { World } from './world.ts';

const usd = 1_000_000;

function openRequests(world: World) {
  return world.open.reads.requests(0, 100).rows;
}

function asking(): { world: World; agent: number } {
  const world = new World({ answer: () => 'done' });
  world.keys.add('unpriced');
  const { agent } = world.start('task', { model: 'unpriced/m', budget: { microUsd: 5 * usd } });
  world.run(1_000);
  return { world, agent };
}

test('a model without a price spends no limited money; the question says the very command', () => {
  const { world, agent } = asking();
  const [request] = openRequests(world);
  assert.equal(world.requests.length, 0);
  assert.match(request?.detail ?? '', /\n {2}roost models price unpriced\/m --input 3 --output 15\n/);
  assert.equal(request?.title, 'No price for unpriced/m');
  const set = world.call('model/price', { model: 'unpriced/m', price: { input: 3 * usd, output: 15 * usd } });
  const price = { input: 3 * usd, output: 15 * usd, cacheRead: 3 * usd, cacheWrite: 3 * usd };
  assert.deepEqual(set.price, price);
  world.run(1_000);
  assert.equal(world.open.reads.agent(agent)?.outcome, 'done');
  assert.deepEqual(openRequests(world), []);
  assert.ok((world.open.reads.budget(agent)?.spent.microUsd ?? 0) > 0);
  // The row is what the next process reads; without it nobody knows the price again.
  assert.equal(world.open.store.range('price.model', ['unpriced/m'], { limit: 1 })[0]?.output, 15 * usd);
  world.call('model/price', { model: 'unpriced/m', price: null });
  assert.equal(world.open.store.range('price.model', ['unpriced/m'], { limit: 1 })[0], undefined);
  assert.throws(() => world.call('model/price', { model: 'plain', price: null }), /no provider\/model/);
});

test('the answer may be the price itself: two numbers, nothing for free, a denial; nonsense is refused', () => {
  const answerWith = (text: string): { world: World; agent: number } => {
    const { world, agent } = asking();
    const request = requestId(openRequests(world)[0]?.id ?? 0);
    world.call('request/answer', { request, answer: { kind: 'text', text }, key: world.key() });
    world.run(1_000);
    return { world, agent };
  };
  const { world } = answerWith('$3 / 15');
  assert.deepEqual(world.prices.get('unpriced/m')?.output, 15 * usd);
  assert.equal(openRequests(world).length, 0);
  assert.throws(() => answerWith('cheap'), /"cheap" is no price\. Write dollars/);
  assert.throws(() => answerWith('3'), /is no price/);
  assert.throws(() => answerWith('3 -15'), /is no price/);
  const free = asking();
  const request = requestId(openRequests(free.world)[0]?.id ?? 0);
  free.world.call('request/answer', { request, answer: { kind: 'allow' }, key: 'k' });
  free.world.run(1_000);
  assert.equal(free.world.prices.get('unpriced/m')?.input, 0, '0 is a price');
  assert.equal(free.world.open.reads.agent(free.agent)?.outcome, 'done');
  const denied = asking();
  const same = requestId(openRequests(denied.world)[0]?.id ?? 0);
  denied.world.call('request/answer', { request: same, answer: { kind: 'deny', reason: 'No.' }, key: 'k' });
  denied.world.run(1_000);
  const row = denied.world.open.reads.agent(denied.agent);
  assert.equal(row?.outcome, 'failed');
  assert.match(row?.doing ?? '', /unpriced\/m has no price\. No\./);
});

test('one price answers all who wait for it, whoever set it', () => {
  const { world } = asking();
  for (let n = 0; n < 5; n += 1)
    world.start(`more ${n}`, { model: 'unpriced/m', budget: { microUsd: 5 * usd } });
  world.run(1_000);
  assert.equal(new Set(openRequests(world).map((row) => row.cluster)).size, 1);
  assert.equal(openRequests(world).length, 6);
  world.call('model/price', { model: 'unpriced/m', price: { input: 0, output: 0 } });
  world.run(1_000);
  assert.deepEqual(openRequests(world), []);
  assert.equal(world.requests.length, 6);
});

test('a request in flight is settled at the price that it was held at: a raise meanwhile breaks no budget', () => {
  const world = new World({ answer: () => 'done' });
  world.keys.add('unpriced');
  const model = 'unpriced/m';
  const [input, output] = [3 * usd, 15 * usd];
  world.call('model/price', { model, price: { input, output } });
  const { agent } = world.start('task', { model, budget: { microUsd: usd } });
  assert.equal(world.open.store.get('agent', agent)?.phase, 'asking');
  world.call('model/price', { model, price: { input: input * 10_000, output: output * 10_000 } });
  world.run(1_000);
  const spent = world.open.reads.budget(agent)?.spent.microUsd ?? 0;
  assert.equal(world.open.reads.agent(agent)?.outcome, 'done');
  assert.ok(spent > 0 && spent <= usd, `${spent} of ${usd} micro-dollars`);
});

test('a profile gets the model that the person set for it: before the parent’s, after what is asked for', () => {
  const world = new World({
    answer: (items) =>
      items.length === 1 && items[0]?.kind === 'user' && items[0].text === 'lead'
        ? [['spawn_agent', { tasks: [{ task: 'look' }], profile: 'explorer' }]]
        : 'done',
  });
  world.call('model/role', { profile: 'explorer', model: 'scripted/cheap' });
  world.call('model/role', { profile: 'planner', model: 'scripted/strong' });
  const { agent } = world.start('lead', { profile: 'planner' });
  world.run(1_000);
  const models = (): string[] => world.open.reads.agents(agent, 0, 10).rows.map((row) => row.model);
  assert.equal(world.open.reads.agent(agent)?.model, 'scripted/strong');
  assert.deepEqual(models(), ['scripted/cheap']);
  const named = world.start('x', { profile: 'explorer', model: 'scripted/named' });
  assert.equal(world.open.reads.agent(named.agent)?.model, 'scripted/named');
  assert.deepEqual(world.open.reads.roles(), { explorer: 'scripted/cheap', planner: 'scripted/strong' });
  world.call('model/role', { profile: 'explorer', model: null });
  const usual = world.start('x', { profile: 'explorer' });
  assert.equal(world.open.reads.agent(usual.agent)?.model, 'scripted/test');
});

test('case 242: days are the sum of the ledger, added up or not, before and after a crash', () => {
  const world = new World({ answer: () => 'done' });
  const roots = [world.start('one'), world.start('two', { model: 'scripted/other' })];
  world.run(1_000);
  const total = (root: number) => {
    const days = world.open.reads.spent(root, 0, 0);
    const sum = (field: 'requests' | 'microUsd' | 'input'): number =>
      days.reduce((all, day) => all + day[field], 0);
    return [sum('requests'), sum('microUsd'), sum('input')];
  };
  const fromLedger = (): number[] => {
    const first = world.open.reads.ledger(0, 0, 400);
    const second = world.open.reads.ledger(0, first.next ?? 0, 400);
    const rows = [...first.rows, ...(first.next === null ? [] : second.rows)];
    return [
      rows.length,
      rows.reduce((all, row) => all + row.microUsd, 0),
      rows.reduce((all, row) => all + row.input, 0),
    ];
  };
  assert.deepEqual(total(0), fromLedger(), 'nothing is added up yet');
  const send = (text: string): void => {
    for (const { agent } of roots)
      world.call('agent/send', { agent, text, delivery: 'queue', key: world.key() });
    world.run(1_000);
  };
  for (let n = 0; n < limits.foldRows / 2 + 5; n += 1) send(`more ${n}`);
  assert.ok(world.open.store.range('folded.upTo', [], { limit: 1 }).length === 1, 'some is added up');
  assert.deepEqual(total(0), fromLedger());
  world.crash();
  world.run(1_000);
  send('after the crash');
  world.host.post({ kind: 'fold' });
  world.host.post({ kind: 'fold' });
  world.run(1_000);
  assert.deepEqual(total(0), fromLedger());
  const [one, two] = roots.map(({ agent }) => total(agent));
  assert.deepEqual(
    total(0),
    one?.map((each, at) => each + (two?.[at] ?? 0)),
    'roots together are all',
  );
  const cost = world.open.reads.agentCost(roots[0]?.agent ?? 0);
  assert.equal(cost?.branch.microUsd, one?.[1]);
  assert.deepEqual(world.bugs, []);
  assert.deepEqual(world.open.reads.doctor().findings, []);
});

test('case 242: what a root spent stays in the sums of all when it is deleted for good, its rows by age too', () => {
  const world = new World({ answer: () => 'done' });
  const [gone, kept] = ['one', 'two'].map((text) => world.start(text).agent);
  world.run(1_000);
  const spent = (root: number): number =>
    world.open.reads.spent(root, 0, 0).reduce((all, day) => all + day.requests, 0);
  world.host.post({ kind: 'fold' });
  world.call('agent/send', { agent: agentId(gone ?? 0), text: 'more', delivery: 'queue', key: world.key() });
  world.run(1_000);
  world.crash();
  world.call('agent/delete', { agent: agentId(gone ?? 0), key: world.key() });
  world.run(1_000);
  world.call('trash/empty', { agents: null, key: world.key() });
  world.run(1_000);
  assert.equal(world.open.reads.agent(gone ?? 0), undefined);
  assert.deepEqual([spent(0), spent(gone ?? 0), spent(kept ?? 0)], [3, 0, 1]);
  world.run(31 * 24 * 3_600_000);
  world.crash();
  world.run(1_000);
  assert.deepEqual(world.open.reads.ledger(0, 0, 10).rows, []);
  assert.deepEqual([spent(0), spent(gone ?? 0), spent(kept ?? 0)], [3, 0, 1]);
  assert.deepEqual(world.open.reads.doctor().findings, []);
  assert.deepEqual(world.bugs, []);
});
