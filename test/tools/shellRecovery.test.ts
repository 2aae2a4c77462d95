// Commands and the death of the sidecar: what was started goes on, its result is taken up once, and nothing is
// started twice (DESIGN §7).
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import type { ToolOutcome } from '../../sidecar/ports.ts';
import type { Json } from '../../sidecar/protocol/json.ts';
import { takeClaim } from '../../sidecar/tools/command/runs.ts';
import { limits } from '../../sidecar/runtime/limits.ts';
import { begin, createPlace, evidenceOf, until } from './place.ts';
import type { Begun, Place } from './place.ts';

type Sidecar = { process: ChildProcess; evidence: Json[] };

/** Starts a sidecar with these commands and waits until all are handed to the launcher. */
async function startSidecar(
  place: Place,
  shell: 'bash' | 'sh',
  commands: readonly string[],
): Promise<Sidecar> {
  const program = path.join(import.meta.dirname, 'sidecar.ts');
  const args = [program, path.join(place.store, 'runs'), place.store, place.workspace, shell, ...commands];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  after(() => child.kill('SIGKILL'));
  const evidence: Json[] = [];
  let rest = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    evidence.push(...lines.map((line) => JSON.parse(line) as Json));
  });
  await until(() => evidence.length === commands.length);
  return { process: child, evidence };
}

async function kill(sidecar: Sidecar): Promise<void> {
  const gone = new Promise((resolve) => sidecar.process.once('exit', resolve));
  sidecar.process.kill('SIGKILL');
  await gone;
}

const file = (place: Place, id: number, name: string): string =>
  path.join(place.store, 'runs', String(id), name);
/** What the model is told. */
const said = ({ status, text }: ToolOutcome) => ({ status, text });
const filled = (name: string): boolean => existsSync(name) && 0 < statSync(name).size;

function recover(place: Place, id: number, evidence: Json, command = 'touch never'): Begun {
  return begin(place.tools, place.job('shell', { command }, { id }), evidence, 'recover');
}

for (const shell of ['bash', 'sh'] as const) {
  test(`a command outlives the sidecar, and its result is taken up (${shell})`, async () => {
    const place = createPlace({ shell });
    const command = 'echo $$ >> ran; echo before; until [ -e go ]; do sleep 0.02; done; echo after; exit 6';
    const sidecar = await startSidecar(place, shell, [command, 'echo $$ >> ran; echo quick']);
    await until(() => filled(file(place, 1, 'claim')) && filled(file(place, 2, 'exit')));
    await kill(sidecar);
    const slow = recover(place, 1, sidecar.evidence[0] ?? null);
    const quick = recover(place, 2, sidecar.evidence[1] ?? null);
    assert.deepEqual(said(await quick.outcome), { status: 'ok', text: 'exit code 0\nquick\n' });
    writeFileSync(path.join(place.workspace, 'go'), '');
    assert.deepEqual(said(await slow.outcome), { status: 'error', text: 'exit code 6\nbefore\nafter\n' });
    // Again, as after another crash before the result was committed.
    assert.deepEqual(said(await recover(place, 1, sidecar.evidence[0] ?? null).outcome), {
      status: 'error',
      text: 'exit code 6\nbefore\nafter\n',
    });
    assert.equal(readFileSync(path.join(place.workspace, 'ran'), 'utf8').trim().split('\n').length, 2);
    assert.equal(existsSync(path.join(place.workspace, 'never')), false);
  });

  test(`a start that a stopped launcher has not read is made once, by recovery, which has the claim (${shell})`, async () => {
    const place = createPlace({ shell });
    const sidecar = await startSidecar(place, shell, ['echo 1 >> ran; sleep 100']);
    await until(() => filled(file(place, 1, 'claim')));
    const shellPid = Number(readFileSync(file(place, 1, 'claim'), 'utf8').split(' ')[0]);
    const parentOf = (pid: number): number =>
      Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
    const launcher = parentOf(parentOf(shellPid));
    process.kill(launcher, 'SIGSTOP');
    // What the sidecar would have written to the launcher for the next call.
    mkdirSync(file(place, 2, ''));
    writeFileSync(file(place, 2, 'job'), "# due 9999999999\nset -- 'echo 2 >> ran'\n");
    await kill(sidecar);
    const again = async () =>
      said(await recover(place, 2, sidecar.evidence[0] ?? null, 'echo 2 >> ran').outcome);
    const second = await again();
    assert.deepEqual(second, { status: 'ok', text: 'exit code 0\n[no output]' });
    process.kill(launcher, 'SIGCONT');
    const first = recover(place, 1, sidecar.evidence[0] ?? null);
    first.cancel();
    assert.match((await first.outcome).text, /^interrupted; /);
    assert.equal(readFileSync(path.join(place.workspace, 'ran'), 'utf8'), '1\n2\n');
    // Recovered once more, as after another crash: the record of the second start tells, and nothing runs.
    assert.deepEqual(await again(), second);
    assert.equal(readFileSync(path.join(place.workspace, 'ran'), 'utf8'), '1\n2\n');
  });
}

test('the claim goes to exactly one', async () => {
  const place = createPlace();
  const wins = { command: 0, recovery: 0 };
  for (let id = 1; id <= 40; id++) {
    const job = place.job('shell', { command: 'echo ran' }, { id });
    const prepared = await place.prepare(job);
    assert.ok(prepared.kind === 'run');
    const running = begin(place.tools, job, prepared.evidence);
    while (!existsSync(file(place, id, 'job'))) await new Promise((resolve) => setImmediate(resolve));
    // At different moments around the one at which the command's shell makes the claim.
    const untilMs = performance.now() + (id % 20) / 8;
    while (performance.now() < untilMs);
    // On a busy machine recovery would win them all.
    if (id % 10 === 0) await until(() => filled(file(place, id, 'claim')));
    const taken = takeClaim(file(place, id, '.'));
    const { text } = await running.outcome;
    if (taken) assert.match(text, /Nothing was run\.$/);
    else assert.equal(text, 'exit code 0\nran\n');
    wins[taken ? 'recovery' : 'command']++;
  }
  assert.ok(0 < wins.command && 0 < wins.recovery, JSON.stringify(wins));
});

test('a run directory that was removed: the command is unknown, not run again', async () => {
  const place = createPlace();
  const sidecar = await startSidecar(place, 'bash', ['until [ -e go ]; do sleep 0.02; done']);
  await until(() => filled(file(place, 1, 'claim')));
  const shell = Number(readFileSync(file(place, 1, 'claim'), 'utf8').split(' ')[0]);
  await kill(sidecar);
  rmSync(path.join(place.store, 'runs'), { recursive: true });
  assert.equal((await recover(place, 1, sidecar.evidence[0] ?? null).outcome).status, 'unknown');
  process.kill(-shell, 'SIGKILL');
});

test('a command of an earlier boot, or whose number another process has, is unknown', async () => {
  const place = createPlace();
  const origin = ((await place.prepare(place.job('shell', { command: 'true' }))) as { evidence: Json })
    .evidence;
  const [start, boot] = [
    readFileSync('/proc/self/stat', 'utf8').split(' ')[21] ?? '',
    readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
  ];
  const leave = (id: number, claim: string): void => {
    mkdirSync(file(place, id, ''), { recursive: true });
    writeFileSync(file(place, id, 'claim'), `${claim}\n`);
    appendFileSync(file(place, id, 'out'), 'so far\n');
    writeFileSync(file(place, id, 'job'), '# due 9999999999 seconds after 1970\n');
  };
  leave(101, `${process.pid} ${start} 0 - another-boot`);
  leave(102, `${process.pid} 1 0 - ${boot}`);
  for (const id of [101, 102]) {
    const outcome = await recover(place, id, origin).outcome;
    assert.equal(outcome.status, 'unknown');
    assert.match(
      outcome.text,
      /\nso far\n\[roost: What it changed before the restart is not shown for review\.\]$/,
    );
  }
});

test('after a restart of the machine a claim that is not there says nothing', async () => {
  const place = createPlace();
  const evidence = await evidenceOf(place, place.job('shell', { command: 'true' }));
  const { origin } = evidence as { readonly origin: string };
  const here = await recover(place, 1, evidence, 'echo ran').outcome;
  assert.equal(here.text, 'exit code 0\nran\n');
  const before = await recover(place, 2, { origin: `${origin.split(' ')[0]} another-boot` }).outcome;
  assert.equal(before.status, 'unknown');
  assert.ok(!existsSync(path.join(place.workspace, 'never')));
});

test('a recovered command is still bound by its time', async () => {
  const place = createPlace();
  const sidecar = await startSidecar(place, 'bash', ['sleep 100']);
  await until(() => filled(file(place, 1, 'claim')));
  await kill(sidecar);
  const job = readFileSync(file(place, 1, 'job'), 'utf8');
  writeFileSync(file(place, 1, 'job'), job.replace(/^# due \d+/, '# due 1'));
  assert.match((await recover(place, 1, sidecar.evidence[0] ?? null).outcome).text, /^timed out/);
});

test('without a sidecar the launcher keeps output bounded and ends what runs too long', async () => {
  const place = createPlace();
  const flood = 'yes | head -c 20000000; echo last; echo $$ > pid; until [ -e go ]; do sleep 0.02; done';
  const sidecar = await startSidecar(place, 'bash', [flood]);
  const pid = path.join(place.workspace, 'pid');
  await until(() => filled(file(place, 1, 'claim')));
  await kill(sidecar);
  await until(() => filled(pid) && statSync(file(place, 1, 'out')).blocks * 512 < limits.outputFileBytes);
  writeFileSync(file(place, 1, 'job'), '# due 1\n');
  await until(() => filled(file(place, 1, 'exit')));
  const { text } = await recover(place, 1, sidecar.evidence[0] ?? null).outcome;
  assert.match(text, /^exit code (143|137)[^]*bytes left out[^]*\nlast\n$/);
});
