// Commands on real processes: what they say, how they end, and that an exit record survives what they do to
// their own group, to their parent and to the launcher.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { limits } from '../../sidecar/runtime/limits.ts';
import { begin, createPlace, evidenceOf, until } from './place.ts';
import type { Place } from './place.ts';

const pidIn = (file: string): number => Number(readFileSync(file, 'utf8'));
const runs = (place: Place): string => path.join(place.store, 'runs');

function isAlive(pid: number): boolean {
  try {
    // A zombie has no group to end any more.
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

for (const shell of ['bash', 'sh'] as const) {
  test(`a command tells its exit code and its output (${shell})`, async () => {
    const place = createPlace({ shell });
    const shellOf = (command: string) => place.call('shell', { command });
    assert.deepEqual(await shellOf('echo out; echo err >&2'), {
      status: 'ok',
      text: 'exit code 0\nout\nerr\n',
    });
    assert.deepEqual(await shellOf('exit 3'), { status: 'error', text: 'exit code 3\n[no output]' });
    assert.deepEqual(await shellOf('pwd'), { status: 'ok', text: `exit code 0\n${place.workspace}\n` });
    assert.equal(
      (await shellOf("printf '%s' \"it's $HOME\"")).text,
      `exit code 0\nit's ${process.env['HOME']}`,
    );
    assert.equal((await shellOf('read -r line || echo no input')).text, 'exit code 0\nno input\n');
    assert.match((await shellOf('kill -KILL $$')).text, /^exit code 137 \(SIGKILL\)/);
    assert.match((await shellOf('echo "unfinished')).text, /^exit code [1-9]/);
  });

  test(`the command, its wrapper and the launcher are in groups of their own (${shell})`, async () => {
    const place = createPlace({ shell });
    const shellOf = (command: string) => place.call('shell', { command });
    for (const command of ['kill 0', 'kill -9 0', 'kill -TERM 0; sleep 5']) {
      assert.match(
        (await shellOf(`echo before; ${command}`)).text,
        /^exit code (143|137) \(SIG(TERM|KILL)\)\nbefore\n/,
      );
    }
    for (const signal of ['TERM', 'HUP', 'INT', 'PIPE']) {
      assert.equal((await shellOf(`kill -${signal} $PPID; echo after`)).text, 'exit code 0\nafter\n');
    }
    assert.equal((await shellOf('exec echo replaced')).text, 'exit code 0\nreplaced\n');
    assert.equal(
      (await shellOf('(sleep 0.2; kill -CONT $$) & kill -STOP $$; wait; echo on')).text,
      'exit code 0\non\n',
    );
  });

  test(`a background process does not hold up the result, and is named (${shell})`, async () => {
    const place = createPlace({ shell });
    const result = await place.call('shell', { command: 'sleep 100 & echo $! > pid; echo started' });
    const group = /kill -- -(\d+)\]\nstarted\n$/.exec(result.text)?.[1];
    assert.ok(group !== undefined, result.text);
    const pid = pidIn(path.join(place.workspace, 'pid'));
    assert.ok(isAlive(pid));
    process.kill(-Number(group), 'SIGKILL');
    await until(() => !isAlive(pid));
  });

  test(`case 49: a timeout ends the whole group and says so (${shell})`, async () => {
    const place = createPlace({ shell });
    const command = 'sleep 100 & echo $! > pid; sleep 100';
    const result = await place.call('shell', { command, timeoutMs: 300 });
    assert.match(result.text, /^timed out after 300 ms/);
    assert.equal(isAlive(pidIn(path.join(place.workspace, 'pid'))), false);
  });
}

test('case 37: every byte of an output is kept', async () => {
  const place = createPlace();
  const bytes = Buffer.from(Array.from({ length: 127 }, (_, i) => i + 1));
  writeFileSync(path.join(place.workspace, 'bytes'), bytes);
  assert.equal(
    (await place.call('shell', { command: 'cat bytes' })).text,
    `exit code 0\n${bytes.toString('latin1')}`,
  );
});

test('a thousand echos in a row lose nothing', async () => {
  const place = createPlace();
  for (let i = 0; i < 1_000; i++) {
    const { text } = await place.call('shell', { command: `echo ${i}` });
    assert.equal(text, `exit code 0\n${i}\n`);
  }
});

test('many commands at once each get their own result', async () => {
  const place = createPlace();
  const results = await Promise.all(
    Array.from({ length: 60 }, (_, i) => place.call('shell', { command: `echo ${i}; exit ${i}` })),
  );
  for (const [i, { text }] of results.entries())
    assert.match(text, new RegExp(`^exit code ${i}\\b.*\n${i}\n$`));
});

test('case 33: a flood costs a bounded file and a bounded result, head and tail are kept', async () => {
  const place = createPlace();
  const job = place.job('shell', {
    command: 'echo first; head -c 200000000 /dev/zero | tr "\\0" x; echo; echo last',
  });
  const running = begin(place.tools, job, await evidenceOf(place, job));
  const out = path.join(runs(place), String(job.call), 'out');
  const { text, whole } = await running.outcome;
  assert.match(text, /^exit code 0\nfirst\n/);
  assert.match(text, /\[roost: \d+ of 200000012 bytes left out\]/);
  assert.match(text, /\nlast\n$/);
  assert.ok(Buffer.byteLength(text) <= limits.resultBytes);
  assert.ok(whole !== undefined && whole.length <= limits.outputHeadBytes + limits.outputTailBytes + 100);
  await until(() => statSync(out).blocks * 512 <= limits.outputFileBytes);
});

test('an interrupt ends the group, what left the group too, and is verified', async () => {
  const place = createPlace();
  const command = 'setsid sh -c "echo \\$\\$ > stray; trap : TERM; while :; do sleep 0.1; done" & sleep 100';
  const job = place.job('shell', { command });
  const running = begin(place.tools, job, await evidenceOf(place, job));
  const stray = path.join(place.workspace, 'stray');
  await until(() => existsSync(stray) && readFileSync(stray, 'utf8').endsWith('\n'));
  running.cancel();
  running.cancel();
  assert.match((await running.outcome).text, /^interrupted; /);
  await until(() => !isAlive(pidIn(stray)));
});

test('a command that was not claimed yet never starts when it is interrupted', async () => {
  const place = createPlace();
  const job = place.job('shell', { command: 'touch started' });
  const running = begin(place.tools, job, await evidenceOf(place, job));
  running.cancel();
  assert.match((await running.outcome).text, /^Interrupted before it started\. Nothing was run\.$/);
  assert.equal((await place.call('shell', { command: 'ls' })).text, 'exit code 0\n[no output]');
});

test('the launcher killed: what runs is seen to its end, and the next command works', async () => {
  const place = createPlace();
  const job = place.job('shell', { command: 'until [ -e go ]; do sleep 0.02; done; echo done' });
  const running = begin(place.tools, job, await evidenceOf(place, job));
  const claim = path.join(runs(place), String(job.call), 'claim');
  await until(() => existsSync(claim) && readFileSync(claim, 'utf8').endsWith('\n'));
  const wrapper = Number(readFileSync(claim, 'utf8').split(' ')[2]);
  const launcher = Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${wrapper}/status`, 'utf8'))?.[1]);
  process.kill(launcher, 'SIGKILL');
  writeFileSync(path.join(place.workspace, 'go'), '');
  assert.equal((await running.outcome).text, 'exit code 0\ndone\n');
  assert.equal((await place.call('shell', { command: 'echo next' })).text, 'exit code 0\nnext\n');
});

test('the wrapper killed: the end of the command is not known, and its output is told', async () => {
  const place = createPlace();
  const result = await place.call('shell', { command: 'echo here; kill -9 $PPID; exit 5' });
  assert.equal(result.status, 'unknown');
  assert.match(result.text, /^unknown: .*\nhere\n$/);
});

test('case 57: without room for records commands still run, from memory', async () => {
  const place = createPlace({ runDirectory: path.join(import.meta.filename, 'runs') });
  assert.equal(
    (await place.call('shell', { command: 'echo out; echo err >&2; exit 4' })).text,
    'exit code 4\nout\nerr\n',
  );
  const flood = await place.call('shell', { command: 'head -c 5000000 /dev/zero | tr "\\0" x; echo last' });
  assert.match(flood.text, /bytes left out[^]*last\n$/);
  assert.match((await place.call('shell', { command: 'sleep 100', timeoutMs: 100 })).text, /^timed out/);
  const background = await place.call('shell', { command: 'sleep 100 & echo $!' });
  assert.match(background.text, /still run/);
  process.kill(-Number(/kill -- -(\d+)/.exec(background.text)?.[1]), 'SIGKILL');
});

test('output is told while a command runs', async () => {
  const place = createPlace();
  const job = place.job('shell', { command: 'echo early; until [ -e go ]; do sleep 0.02; done' });
  const running = begin(place.tools, job, await evidenceOf(place, job));
  await until(() => running.output.includes('early\n'));
  writeFileSync(path.join(place.workspace, 'go'), '');
  assert.equal((await running.outcome).status, 'ok');
});

test('a command knows its call and its store, and none of the secrets', async () => {
  const environment = { PATH: process.env['PATH'] ?? '', ROOST_STORE: '/a store' };
  const place = createPlace({ environment: () => environment });
  const job = place.job('shell', { command: 'env | sort' }, { agent: 7 });
  const { text } = await begin(place.tools, job, await evidenceOf(place, job)).outcome;
  const names = text
    .split('\n')
    .slice(1)
    .filter((line) => line !== '')
    .map((line) => line.split('=')[0]);
  assert.deepEqual(
    names.filter((name) => name !== '_' && name !== 'OLDPWD'),
    ['PATH', 'PWD', 'ROOST_AGENT', 'ROOST_CALL', 'ROOST_PARENT', 'ROOST_STORE', 'SHLVL'],
  );
  assert.match(text, new RegExp(`ROOST_AGENT=7\nROOST_CALL=${job.call}\n`));
});

test('a key that a command prints reaches neither its result nor the whole output', async () => {
  const key = 'key-0123456789';
  const place = createPlace({ redacted: (text) => text.replaceAll(key, '[secret]') });
  const small = await place.call('shell', { command: `echo a ${key} b` });
  assert.equal(small.text, 'exit code 0\na [secret] b\n');
  const large = await place.call('shell', { command: `yes ${key} | head -n 10000` });
  assert.ok(large.whole !== undefined && large.whole.length > 0);
  assert.doesNotMatch(large.text + Buffer.from(large.whole).toString(), new RegExp(key));
});

test('case 54: a command gets the environment of its own moment', async () => {
  let base = 'one';
  const place = createPlace({ environment: () => ({ PATH: process.env['PATH'] ?? '', BASE: base }) });
  assert.equal((await place.call('shell', { command: 'echo $BASE' })).text, 'exit code 0\none\n');
  base = 'two';
  assert.equal((await place.call('shell', { command: 'echo $BASE' })).text, 'exit code 0\ntwo\n');
});

test('no file of a run is left in the workspace', async () => {
  const place = createPlace();
  await place.call('shell', { command: 'true' });
  assert.deepEqual(readdirSync(place.workspace), []);
});

test('case 43: a command that asks finds the end of its input, and no terminal to ask at', async () => {
  const place = createPlace();
  const command =
    'read -r answer; echo "read: $?"; if : </dev/tty; then echo terminal; else echo none; fi 2>/dev/null';
  const outcome = await place.call('shell', { command });
  assert.deepEqual(outcome, { status: 'ok', text: 'exit code 0\nread: 1\nnone\n' });
  const asked = await place.call('shell', { command: 'select x in a b; do break; done; echo "[$x]"' });
  assert.match(asked.text, /^exit code 0\n[^]*\[\]\n$/);
});
