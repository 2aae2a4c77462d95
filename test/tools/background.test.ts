// Commands in the background on real processes: started, read, waited for, ended; found again after SIGKILL.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import type { Cancel, ToolJob, ToolOutcome } from '../../sidecar/ports.ts';
import type { Json, JsonObject } from '../../sidecar/protocol/json.ts';
import { bootId, lives } from '../../sidecar/tools/command/processes.ts';
import { limits } from '../../sidecar/runtime/limits.ts';
import { begin, createPlace, evidenceOf, until } from './place.ts';
import type { Call, Place } from './place.ts';

type Attended = { readonly end: Promise<ToolOutcome>; readonly cancel: Cancel };

/** Looks after a command as the runtime does after the commit that knows of it. */
function attend(place: Place, job: ToolJob, evidence: Json): Attended {
  let cancel: Cancel = () => undefined;
  const alive = setInterval(() => undefined, 60_000);
  const end = new Promise<ToolOutcome>((resolve) => {
    cancel = place.tools.attend(job, evidence, (outcome) => {
      clearInterval(alive);
      resolve(outcome);
    });
  });
  after(() => cancel());
  return { end, cancel: () => cancel() };
}

async function start(
  place: Place,
  command: string,
  how: Call & { timeoutMs?: number } = {},
): Promise<{ job: ToolJob; outcome: ToolOutcome; attended: Attended }> {
  const { timeoutMs, ...call } = how;
  const input = { command, background: true, ...(timeoutMs === undefined ? {} : { timeoutMs }) };
  const job = place.job('shell', input, call);
  const outcome = await begin(place.tools, job, await evidenceOf(place, job)).outcome;
  assert.ok(outcome.background !== undefined, outcome.text);
  return { job, outcome, attended: attend(place, job, outcome.background.evidence) };
}

const look = (place: Place, input: JsonObject, how?: Call): Promise<ToolOutcome> =>
  place.call('command', input, how);

test('a command in the background is told at once, read bit by bit, waited for, and its end is told', async () => {
  const place = createPlace();
  const go = path.join(place.workspace, 'go');
  const { job, outcome, attended } = await start(
    place,
    'echo first; until [ -e go ]; do sleep 0.02; done; echo second; exit 3',
  );
  assert.equal(outcome.status, 'ok');
  assert.match(
    outcome.text,
    new RegExp(`^runs in the background as command ${job.call} \\(process group \\d+\\)\nfirst\n$`),
  );
  assert.match(
    (await look(place, { id: job.call })).text,
    /^runs since \d+ s\n\[no output since you last read\]$/,
  );
  assert.match(
    (await look(place, {})).text,
    new RegExp(`^${job.call}: runs since \\d+ s: echo first; until`),
  );
  assert.match(
    (await look(place, { id: job.call, do: 'wait', timeoutMs: 50 })).text,
    /^runs since \d+ s\n\[no output/,
  );
  const waiting = look(place, { id: job.call, do: 'wait' });
  writeFileSync(go, '');
  const waited = await waiting;
  assert.equal(waited.text, 'ended: exit code 3\nsecond\n');
  assert.equal(waited.ended, job.call);
  assert.deepEqual(await attended.end, { status: 'error', text: 'exit code 3\nfirst\nsecond\n' });
  assert.match((await look(place, { id: job.call })).text, /^ended: exit code 3\n\[no output/);
});

test('a server that cannot start says so at once, like any other command', async () => {
  const place = createPlace();
  const outcome = await place.call('shell', { command: 'echo no port; exit 1', background: true });
  assert.deepEqual(outcome, { status: 'error', text: 'exit code 1\nno port\n' });
  assert.equal((await look(place, {})).text, 'You have no commands in the background.');
});

test('a wait ends when a text was printed', async () => {
  const place = createPlace();
  const { job, attended } = await start(
    place,
    'until [ -e go ]; do sleep 0.02; done; printf "listen"; sleep 0.3; echo "ing on 80"; sleep 100',
  );
  const waiting = look(place, { id: job.call, do: 'wait', until: 'listening on' });
  writeFileSync(path.join(place.workspace, 'go'), '');
  assert.match((await waiting).text, /^runs since \d+ s\nlistening on 80\n$/);
  attended.cancel();
  assert.match((await attended.end).text, /^interrupted; /);
});

test('kill ends the command and what it started', async () => {
  const place = createPlace();
  const { job, attended } = await start(place, 'sleep 100 & echo $! > pid; sleep 100');
  const pid = Number(readFileSync(path.join(place.workspace, 'pid'), 'utf8'));
  const killed = await look(place, { id: job.call, do: 'kill' });
  assert.match(killed.text, /^ended: interrupted; the command and what it had started were ended\n/);
  assert.equal(killed.ended, job.call);
  assert.equal(await lives({ pid, start: '-', bootId: bootId() }), false);
  assert.equal((await attended.end).status, 'error');
});

test('a time limit holds in the background too', async () => {
  const place = createPlace();
  const { attended } = await start(place, 'sleep 100', { timeoutMs: limits.backgroundStartMs + 300 });
  assert.match((await attended.end).text, /^timed out after/);
});

test('an agent sees its own commands only, and as many as are allowed', async () => {
  const place = createPlace();
  const started = await Promise.all(
    Array.from({ length: limits.backgroundOfAgent }, () => start(place, 'sleep 100', { agent: 3 })),
  );
  const [first] = started;
  assert.ok(first !== undefined);
  const other = await look(place, { id: first.job.call }, { agent: 4 });
  assert.match(other.text, /you have no command \d+ in the background\. You have none\./);
  const refused = await place.call('shell', { command: 'sleep 100', background: true }, { agent: 3 });
  assert.match(
    refused.text,
    /^shell: 8 of your commands run in the background already, .*: \d+ \(sleep 100\), /,
  );
  for (const { attended } of started) attended.cancel();
  await Promise.all(started.map(({ attended }) => attended.end));
  assert.equal(
    (await place.call('shell', { command: 'exit 0', background: true }, { agent: 3 })).status,
    'ok',
  );
});

test('what is wrong with the arguments is said', async () => {
  const place = createPlace();
  const said = async (input: JsonObject): Promise<string> => (await look(place, input)).text;
  assert.match(
    await said({ do: 'stop' }),
    /^command: `do` must be one of read, wait, kill; it is the string "stop"\.$/,
  );
  assert.match(await said({ do: 'kill' }), /^command: `kill` needs the `id`/);
  assert.match(await said({ id: 1, until: 'x' }), /belong to `wait`/);
  assert.match(await said({ id: '1' }), /must be a whole number/);
  const { text } = await place.call('shell', { command: 'x', background: 'yes' });
  assert.match(text, /^shell: `background` must be true or false, it is the string "yes"\.$/);
});

test('output is bounded, and what was left out is said', async () => {
  const place = createPlace();
  const { job, attended } = await start(place, 'sleep 1.2; yes | head -c 9000000; echo last; sleep 100');
  await look(place, { id: job.call, do: 'wait', until: 'last' });
  const { text } = await look(place, { id: job.call, do: 'wait', timeoutMs: 1 });
  assert.match(text, /no output since/);
  const shown = place.tools.output(job.call, 0);
  assert.ok(
    shown !== null && shown.running && shown.skippedBytes > 8_000_000,
    JSON.stringify(shown?.skippedBytes),
  );
  assert.match(shown.text, /y\nlast\n$/);
  attended.cancel();
  await attended.end;
});

test('a command in the background outlives SIGKILL of the sidecar, and is found again', async () => {
  const place = createPlace();
  const program = path.join(import.meta.dirname, 'sidecar.ts');
  const command = 'echo before; until [ -e go ]; do sleep 0.02; done; echo after; exit 4';
  const args = [program, path.join(place.store, 'runs'), place.store, place.workspace, 'bash', `&${command}`];
  const sidecar = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  after(() => sidecar.kill('SIGKILL'));
  const lines: string[] = [];
  sidecar.stdout.setEncoding('utf8').on('data', (chunk: string) => lines.push(...chunk.split('\n')));
  // The evidence of the call, then what its outcome says of the background.
  await until(() => lines.filter((line) => line !== '').length === 2);
  const gone = new Promise((resolve) => sidecar.once('exit', resolve));
  sidecar.kill('SIGKILL');
  await gone;
  const job = place.job('shell', { command, background: true }, { id: 1 });
  const behind = JSON.parse(lines.filter((line) => line !== '')[1] ?? '') as Json;
  const attended = attend(place, job, behind);
  await until(() => place.tools.output(job.call, 0) !== null);
  assert.match((await look(place, { id: 1 })).text, /^runs since \d+ s\nbefore\n$/);
  writeFileSync(path.join(place.workspace, 'go'), '');
  assert.deepEqual(await attended.end, { status: 'error', text: 'exit code 4\nbefore\nafter\n' });
  assert.equal(existsSync(path.join(place.store, 'runs', '1', 'exit')), true);
});

test('a sidecar that leaves in order leaves somebody to keep the output within bounds', async () => {
  const place = createPlace();
  const { job, attended } = await start(place, 'sleep 1.2; yes | head -c 20000000; echo last; sleep 100');
  place.tools.close();
  const out = path.join(place.store, 'runs', String(job.call), 'out');
  await until(() => readFileSync(out, 'latin1').endsWith('last\n'));
  attended.cancel();
  assert.match((await attended.end).text, /last\n$/);
});
