// The sidecar is killed with SIGKILL at moments of a real swarm on this project's own repository, and every run
// ends in the same answer: nothing acknowledged is lost, no command runs twice (I1, I2, I3, I8; cases 91, 103, 107).
//
// Real parts throughout: the built sidecar and command, real processes, git and files, the provider over HTTP. The
// moments come from the store itself (moments.ts); what was in flight is read after each kill and counted.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { markOf, swarmTask, topFolders } from '../fixtures/provider/behaviours.ts';
import { startFixture, type Fixture } from '../fixtures/provider/server.ts';
import { isMoment, moments, type Moment } from './moments.ts';
import { Person } from './person.ts';

const run = promisify(execFile);
const root = path.join(import.meta.dirname, '..', '..');
const cli = path.join(root, 'dist', 'cli.cjs');

/** Two kills a run: a third with the same turn in flight asks a person, which is another test's matter. */
type Kill = readonly [Moment, number];
const runs: readonly (readonly [Kill, Kill])[] = [
  [
    ['modelInFlight', 1],
    ['planned', 1],
  ],
  [
    ['modelInFlight', 3],
    ['commandStarted', 2],
  ],
  [
    ['pureStarted', 1],
    ['writeStarted', 1],
  ],
  [
    ['commandStarted', 1],
    ['waitingForChildren', 1],
  ],
  [
    ['waitingForChildren', 1],
    ['writeStarted', 2],
  ],
  [
    ['planned', 3],
    ['halfOfTheChildren', 1],
  ],
  [
    ['writeStarted', 1],
    ['halfOfTheChildren', 1],
  ],
  [
    ['pureStarted', 3],
    ['commandStarted', 3],
  ],
  [
    ['queuedTurn', 1],
    ['modelInFlight', 6],
  ],
  [
    ['commandStarted', 3],
    ['planned', 1],
  ],
];

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

const hits: Partial<Record<Moment, number>> = {};

const killsWanted = 20;
const runsAtMost = 20;
let kills = 0;
let made = 0;

for (const plan of runs) {
  const name = plan.map((kill) => kill.join(' ')).join(' and ');
  test(`killed at ${name}: the same answer, nothing twice`, { timeout: 90_000 }, () => killedRun(plan));
}

/** A moment that was over before the second kill costs a run more. */
test(
  'twenty kills, every row of the recovery table hit, only well-formed histories',
  { timeout: 300_000 },
  async () => {
    const missing = (): Moment[] =>
      Object.keys(moments)
        .filter(isMoment)
        .filter((name) => hits[name] === undefined);
    while ((kills < killsWanted || missing().length > 0) && made < runsAtMost) {
      await killedRun([
        [missing()[0] ?? 'modelInFlight', 1],
        ['commandStarted', 1],
      ]);
    }
    process.stdout.write(`# ${kills} kills, by what was in flight: ${JSON.stringify(hits)}\n`);
    assert.deepEqual(missing(), []);
    assert.ok(kills >= killsWanted, `${kills} kills`);
    assert.deepEqual(fixture.violations(), []);
  },
);

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
  let queued = 0;
  for (const [moment, count] of plan) {
    const killing = await killer(store, moment, count);
    // Any client starts the next process.
    if (queued === 0) queued = await start();
    else await roost(store, ['info']);
    const hit = await killing.hit;
    if (hit === 'missed') continue;
    kills += 1;
    for (const name of Object.keys(hit)) if (isMoment(name)) hits[name] = (hits[name] ?? 0) + 1;
  }
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

interface Killing {
  readonly hit: Promise<Partial<Record<Moment, number>> | 'missed'>;
}

/** Starts a killer and resolves once it looks at the store. */
async function killer(store: string, moment: Moment, count: number): Promise<Killing> {
  const args = [path.join(import.meta.dirname, 'killer.ts'), store, moment, String(count)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], windowsHide: true });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  assert.equal((await lines.next()).value, 'ready');
  const hit = lines.next().then(({ value }) => {
    const parsed: Partial<Record<Moment, number>> | 'missed' | 'late' = JSON.parse(String(value));
    assert.ok(parsed !== 'late', `the moment ${moment} × ${count} did not come`);
    return parsed;
  });
  hit.catch(() => undefined); // heard where it is awaited
  return { hit };
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
