// The sidecar is killed with SIGKILL at moments of a real swarm on this project's own repository, and every run
// ends in the same answer: nothing acknowledged is lost, no command runs twice (I1, I2, I3, I8; cases 91, 103, 107).
//
// Real parts throughout: the built sidecar and command, real processes, git and files, the provider over HTTP. Every
// row of the recovery table, many times, and what else may be killed: kills.test.ts.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { markOf, swarmTask, topFolders } from '../fixtures/provider/behaviours.ts';
import { startFixture, type Fixture } from '../fixtures/provider/server.ts';
import { Person } from './person.ts';
import type { Row } from './rows.ts';
import { Watcher } from './watching.ts';

const run = promisify(execFile);
const root = path.join(import.meta.dirname, '..', '..');
const cli = path.join(root, 'dist', 'cli.cjs');

/** Two kills a run: a third with the same turn in flight asks a person, which is another test's matter. */
type Kill = readonly [Row, number];
const runs: readonly (readonly [Kill, Kill])[] = [
  [
    ['queuedTurn', 1],
    ['commandStarted', 2],
  ],
  [
    ['modelInFlight', 3],
    ['planned', 1],
  ],
  [
    ['pureStarted', 1],
    ['writeStarted', 2],
  ],
  [
    ['waitingForChildren', 1],
    ['commandStarted', 3],
  ],
  [
    ['planned', 3],
    ['halfOfTheChildren', 1],
  ],
];
/** A moment that has not come by then is over. */
const momentMs = 30_000;

let folder = '';
let fixture: Fixture;

before(async () => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'roost-crash-'));
  // Slow enough that a look at the store every few microseconds sees every step.
  fixture = await startFixture({ firstByteMs: 15 });
});

after(async () => {
  await fixture.close();
  if (process.env['KEEP'] === undefined) rmSync(folder, { recursive: true, force: true });
});

let made = 0;

for (const plan of runs) {
  const name = plan.map((kill) => kill.join(' ')).join(' and ');
  test(`killed at ${name}: the same answer, nothing twice`, { timeout: 90_000 }, () => killedRun(plan));
}

test('the provider saw only well-formed histories', () => assert.deepEqual(fixture.violations(), []));

async function killedRun(plan: readonly [Kill, Kill]): Promise<void> {
  const serial = made++;
  const store = path.join(folder, `store-${serial}`);
  const effects = path.join(folder, `effects-${serial}`);
  const workspace = path.join(folder, `repository-${serial}`);
  await run('git', ['clone', '--quiet', root, workspace]);
  const person = new Person(store);
  try {
    const queued = await killedAt(plan, store, () => started({ store, workspace, effects }));
    await expectTheSame({ store, workspace, effects }, queued);
  } finally {
    await person.leave();
    await roost(store, ['info']);
    await roost(store, ['shutdown']);
  }
}

/** Starts the swarm and kills its sidecar at each of the moments. Resolves with the id of the queued turn. */
async function killedAt(plan: readonly Kill[], store: string, start: () => Promise<number>): Promise<number> {
  const watcher = new Watcher(store);
  const still = { pid: null, point: null, afterMs: 0, withinMs: momentMs, acknowledged: [], sent: [] };
  let queued = 0;
  for (const [row, count] of plan) {
    const killing = watcher.kill({ ...still, row, count, targets: ['sidecar'] });
    // Any client starts the next process.
    if (queued === 0) queued = await start();
    else await roost(store, ['info']);
    assert.ok((await killing) !== null, `the moment ${row} × ${count} did not come`);
  }
  watcher.leave();
  await roost(store, ['info']);
  return queued;
}

interface Run {
  readonly store: string;
  readonly workspace: string;
  readonly effects: string;
}

async function expectTheSame({ store, workspace, effects }: Run, queued: number): Promise<void> {
  const lead = lastOf(await roost(store, ['wait', '1']));
  assert.equal(lead['outcome'], 'done', JSON.stringify(lead));
  assert.equal(lastOf(await roost(store, ['wait', String(queued)]))['text'], 'second');
  await expectAnswer(String(lead['text']), workspace);
  const oracle = [path.join(import.meta.dirname, 'oracle.ts'), path.join(store, 'roost.db'), effects];
  const { stdout } = await run(process.execPath, oracle);
  const verdict: { problems: string[]; ran: number } = JSON.parse(stdout);
  assert.deepEqual(verdict.problems, []);
  assert.ok(verdict.ran > 0, 'commands ran');
  const doctor = lastOf(await roost(store, ['doctor']));
  assert.deepEqual(doctor['findings'] ?? [], []);
}

/** Starts the swarm as turn 1 and sends a second message, which waits in the queue: its turn. Both are acknowledged. */
async function started({ store, workspace, effects }: Run): Promise<number> {
  const provider = ['--provider', `fixture=chat,${fixture.url}/v1,keyless`, '--model', 'fixture/any'];
  const where = ['--mode', 'auto', '--workspace', workspace, '--detach'];
  const task = `${swarmTask}\nEffects go to ${effects}`;
  const lead = await roost(store, ['run', '--new', '--agent', 'lead', ...where, ...provider, '--', task]);
  const queued = await roost(store, ['send', 'lead', '--queue', '--', '@say second']);
  assert.equal(lastOf(lead)['turn'], 1);
  return Number(lastOf(queued)['turn']);
}

/** What every run must say: each folder of the repository with its marker, in order. */
async function expectAnswer(text: string, workspace: string): Promise<void> {
  const { stdout } = await run('git', ['-C', workspace, 'ls-files']);
  const areas = topFolders(stdout);
  const lines = text.split('\n').slice(1);
  assert.equal(lines.length, areas.length, text);
  areas.forEach((area, index) =>
    assert.match(lines[index] ?? '', new RegExp(`^- ${area}: ${markOf(area)}: no bug found in [1-3] files`)),
  );
}

async function roost(store: string, args: readonly string[]): Promise<string> {
  assert.ok(existsSync(cli), 'dist/cli.cjs is built');
  const env = { ...process.env, ROOST_STORE: store };
  const { stdout } = await run(process.execPath, [cli, ...args], { env, maxBuffer: 64 * 1024 * 1024 });
  return stdout;
}

function lastOf(lines: string): Record<string, unknown> {
  const last: Record<string, unknown> = JSON.parse(lines.trim().split('\n').at(-1) ?? '{}');
  return last;
}
