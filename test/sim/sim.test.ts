// The simulator as a test: seeds that are always run, seeds that once failed with the reason, new seeds for every
// commit for a bounded time, and the known-bad switches that it must catch.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { canaries, type Canary } from './canaries.ts';
import { catchCanary, explore } from './explore.ts';
import { changeOf } from './shrink.ts';
import { simulate } from './sim.ts';

/** Seeds that found something; chance is drawn anew whenever the simulator grows, so each names what it stood for. */
const once: readonly (readonly [seed: string, found: string])[] = [
  ['31', 'a command of the queue was started in the middle of recovery, and then recovered while it ran'],
  ['54', 'a request was reserved in the step that settled the one before, against the old spend'],
  ['79', 'recovery gave a queued command a second place in the queue'],
  ['129', 'an interrupt in the step that would have started a command did not keep it from running'],
  ['137', 'a steer to a turn that was interrupted was never read'],
  ['145', 'a second verdict took the place of the first while that was planned'],
  ['568', 'a wake-up for budget and a denial in one step opened a round of a turn that had ended'],
  ['913', 'a client with the key came while another was asked for it'],
  ['2185', 'a slot that was lent out, taken back and released in one step leaked'],
  ['c16', 'a full queue turned away the next page of a branch interrupt'],
  ['7b246272ee268aa00880455c1d801b3a1b58b505/41', 'a bug met while files were recorded lost them to review'],
  ['i1/503', 'an agent that was deleted for good was looked at in the step that removed it'],
  ['i1/244', 'a turn whose entries were still to be imported looked as if it had been taken back'],
  ['i1/748', 'a part of an import that came twice in one step was taken twice'],
];

const clean = (seed: string, failure: { check: string; message: string } | null): void => {
  const how = failure === null ? '' : `${failure.check}: ${failure.message}\nnpm run sim -- ${seed}`;
  assert.equal(how, '');
};

test('fifty seeds that are always the same keep every promise', () => {
  for (let n = 1; n <= 50; n += 1) clean(`pinned/${n}`, simulate(`pinned/${n}`).failure);
});

for (const [seed, found] of once) {
  test(`seed ${seed}: ${found}`, () => clean(seed, simulate(seed).failure));
}

test('a seed gives the same run again, line by line', () => {
  const lines = (): string[] => {
    const all: string[] = [];
    simulate('pinned/8', { trace: (line) => all.push(line) });
    return all;
  };
  const first = lines();
  assert.ok(first.length > 50);
  assert.deepEqual(lines(), first);
});

test('without faults every turn ends as its script says', () => {
  for (let n = 1; n <= 20; n += 1) {
    const calm = changeOf([
      'no faults',
      'no crashes',
      'no interrupts',
      'no forks and the like',
      'no clock jumps',
      'no budgets',
      'a key from the start',
    ]);
    const report = simulate(`calm/${n}`, { change: calm, dearEvery: 8 });
    clean(`calm/${n} --smaller "no faults, …"`, report.failure);
  }
});

test('SQLite and the maps say the same, call by call, and replicas are what the server shows (S9)', () => {
  const found = explore({
    base: 'sqlite',
    most: 40,
    seconds: 60,
    stopAtFailure: true,
    options: { sqlite: true },
  });
  clean(`${found.first?.seed ?? ''} --sqlite`, found.first?.failure ?? null);
});

test('a new world for every commit', () => {
  const base = commit();
  const found = explore({ base, most: 100_000, seconds: 6, stopAtFailure: true, options: {} });
  assert.ok(found.seeds > 10, 'at least some worlds fit into the time');
  clean(found.first?.seed ?? '', found.first?.failure ?? null);
});

for (const [name, what] of Object.entries(canaries)) {
  test(`canary ${name}: ${what}`, (t) => {
    const caught = catchCanary(name as Canary, 2_000);
    assert.ok(caught !== null, 'not caught within 2,000 seeds');
    clean(`canary/${caught.seeds}`, simulate(`canary/${caught.seeds}`).failure);
    t.diagnostic(`caught after ${caught.seeds} seeds by ${caught.check}: ${caught.message.slice(0, 120)}`);
  });
}

/** The present commit's hash; a fixed word where there is no git. */
function commit(): string {
  try {
    return execFileSync('git', ['rev-parse', 'HEAD'], {
      encoding: 'utf8',
      windowsHide: true,
      cwd: import.meta.dirname,
    }).trim();
  } catch {
    return 'no-commit';
  }
}
