// Turns that may not ask yet: in the lane of their model for a short pause, parked for a long one, and found again
// after a crash (cases 165, 166).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../sidecar/runtime/limits.ts';
import { World } from './world.ts';

const refusal = (retryAtMs: number | null) => ({ kind: 'refused', retryAtMs, message: 'busy' }) as const;

/** A provider that refuses until a time, and answers from then on. */
function refusing(named: (nowMs: number) => number | null): { world: World; until: (ms: number) => void } {
  let untilMs = Number.POSITIVE_INFINITY;
  const world: World = new World({
    answer: () => (world.nowMs < untilMs ? refusal(named(world.nowMs)) : 'done'),
  });
  return { world, until: (ms) => (untilMs = ms) };
}

const phases = (world: World): string[] =>
  world.open.reads
    .agents(0, 0, 100)
    .rows.map((row) => `${row.phase}${row.why === null ? '' : ` ${row.why}`}`);

const timers = (world: World): number =>
  world.open.store.range('timer.due', [], { above: 0, limit: 100 }).length;

test('a refusal holds all of its model, in a lane without a timer each, and asks one at a time', () => {
  const { world, until } = refusing(() => null);
  for (let i = 0; i < 20; i++) world.start(`task ${i}`);
  world.run(5_000);
  assert.deepEqual(new Set(phases(world)), new Set(['ready']));
  assert.equal(timers(world), 0);
  // Twenty at once, then one after each pause: 100, 200, 400, 800, 1,600 ms.
  assert.ok(world.requests.length < 40, `${world.requests.length} requests`);
  until(0);
  world.run(120_000);
  assert.deepEqual(new Set(phases(world)), new Set(['idle']));
});

test('a reset in hours parks who waits, says why, and all go on when it ends', () => {
  const { world, until } = refusing((nowMs) => nowMs + 3 * 3_600_000);
  for (let i = 0; i < 5; i++) world.start(`task ${i}`);
  world.run(1_000);
  const asked = world.requests.length;
  world.start('a late one');
  world.run(1_000);
  assert.deepEqual(new Set(phases(world)), new Set(['waiting rate']));
  assert.equal(timers(world), 6);
  world.run(3 * 3_600_000 - 60_000);
  assert.equal(world.requests.length, asked, 'nobody asks before the time that was named');
  until(0);
  world.run(3_600_000);
  assert.deepEqual(new Set(phases(world)), new Set(['idle']));
});

test('lanes are found again by a look at each, however many turns wait in them', () => {
  const world: World = new World({ answer: () => refusal(world.nowMs + limits.paceParkMs / 2) });
  for (let i = 0; i < 300; i++) world.start(`task ${i}`, { model: `scripted/m${i % 3}` });
  world.run(1_000);
  const range = world.open.store.range.bind(world.open.store);
  let rows = 0;
  world.open.store.range = (index, equals, page) => {
    const found = range(index, equals, page);
    if (found[0] !== undefined && 'phase' in found[0]) rows += found.length;
    return found;
  };
  world.crash();
  world.run();
  assert.equal(rows, 0, 'no agent is looked at that waits in the queue');
  const before = world.requests.length;
  world.run(3 * limits.paceParkMs);
  const asked = new Set(world.requests.slice(before).map((request) => request.model));
  assert.deepEqual([...asked].sort(), ['scripted/m0', 'scripted/m1', 'scripted/m2']);
  assert.deepEqual(world.bugs, []);
});

test('who waits in a lane when the process is killed goes on in the next one', () => {
  const { world, until } = refusing((nowMs) => nowMs + limits.paceParkMs / 2);
  for (let i = 0; i < 5; i++) world.start(`task ${i}`);
  world.run(1_000);
  assert.deepEqual(new Set(phases(world)), new Set(['ready']));
  until(0);
  world.crash();
  world.run(60_000);
  assert.deepEqual(new Set(phases(world)), new Set(['idle']));
  assert.deepEqual(world.bugs, []);
});

/** Agents of which so many are asking when the process is killed: how many ask again at once in the next one. */
function askAgainAtOnce(agents: number, forMs: number): { asking: number; again: number; world: World } {
  const world = new World({ answer: () => 'silent', paced: true, slots: { modelSlots: 1_000 } });
  for (let i = 0; i < agents; i++) world.start(`task ${i}`);
  world.run(forMs);
  const asking = phases(world).filter((phase) => phase === 'asking').length;
  world.requests.length = 0;
  world.crash();
  world.run();
  return { asking, again: world.requests.length, world };
}

test('what was in flight when the process was killed is asked again at once, without a ramp', () => {
  const { asking, again, world } = askAgainAtOnce(90, 5_000);
  assert.deepEqual([asking, again], [90, 90]);
  assert.deepEqual(world.bugs, []);
});

test('where turns waited for the pace of their model the next process finds the pace again by a ramp', () => {
  const { asking, again, world } = askAgainAtOnce(90, 100);
  assert.ok(limits.paceFirstCredit <= asking && asking < 90, `${asking} had asked`);
  assert.equal(again, limits.paceFirstCredit);
  world.run(5_000);
  assert.equal(new Set(world.requests.map((request) => request.agent)).size, 90);
  assert.deepEqual(world.bugs, []);
});
