// What commands change in files: found on real repositories, with the bytes from before, for the right agent.
import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import type { ToolOutcome } from '../../sidecar/ports.ts';
import type { Json } from '../../sidecar/protocol/json.ts';
import { limits } from '../../sidecar/runtime/limits.ts';
import { createRepository } from '../workspace/repository.ts';
import { begin, createPlace, evidenceOf, until } from './place.ts';
import type { Begun, Call, Place } from './place.ts';

const text = (bytes: Uint8Array | null): string | null =>
  bytes === null ? null : Buffer.from(bytes).toString('latin1');

/** Files by their name in the workspace, with the text on both sides; a mark says that others may have written them. */
function changesOf(place: Place, { touched = [] }: ToolOutcome): Record<string, (string | null)[]> {
  return Object.fromEntries(
    touched.map((file) => {
      const doubt = [...(file.others ?? []).map((other) => `or ${other}`), ...(file.isLate ? ['late'] : [])];
      return [path.relative(place.workspace, file.path), [text(file.before), text(file.after), ...doubt]];
    }),
  );
}

const shell = (place: Place, command: string, how?: Call): Promise<ToolOutcome> =>
  place.call('shell', { command }, how);

async function start(place: Place, command: string, how?: Call): Promise<Begun> {
  const job = place.job('shell', { command }, how);
  return begin(place.tools, job, await evidenceOf(place, job));
}

/** A command that runs until the file `stop` is there; it runs when this returns. */
async function untilStop(place: Place, agent: number, stop: string): Promise<Begun> {
  const ready = path.join(place.store, `ready-${agent}`);
  const command = `touch '${ready}'; until [ -e '${path.join(place.store, stop)}' ]; do sleep 0.02; done`;
  const running = await start(place, command, { agent });
  await until(() => existsSync(ready));
  return running;
}

const stop = (place: Place, name: string): void => writeFileSync(path.join(place.store, name), '');

test('files that a command changes, makes, moves and removes are found with what was there before', async () => {
  const place = createPlace();
  const files = { 'a.ts': 'one\n', 'gone.ts': 'gone\n', 'move.ts': 'move\n', '.gitignore': 'out/\n' };
  const repository = createRepository(files, place.workspace);
  repository.write('a.ts', 'one, not saved in git\n');
  repository.write('new.ts', 'mine\n');
  repository.git('add', '--intent-to-add', 'new.ts');
  const state = repository.state();
  const command =
    "sed -i s/one/1/ a.ts; echo more >> new.ts; rm gone.ts; mv move.ts 'moved here.ts'; mkdir -p out dir; echo x > out/o; echo d > dir/d.ts; chmod +x a.ts";
  assert.deepEqual(changesOf(place, await shell(place, command)), {
    'a.ts': ['one, not saved in git\n', '1, not saved in git\n'],
    'dir/d.ts': [null, 'd\n'],
    'gone.ts': ['gone\n', null],
    'move.ts': ['move\n', null],
    'moved here.ts': [null, 'move\n'],
    'new.ts': ['mine\n', 'mine\nmore\n'],
  });
  // Everything back as it was: nothing of the person's repository has moved.
  repository.write('a.ts', 'one, not saved in git\n');
  repository.write('new.ts', 'mine\n');
  for (const name of ['gone.ts', 'move.ts'] as const) repository.write(name, files[name]);
  for (const name of ['moved here.ts', 'dir/d.ts']) rmSync(path.join(place.workspace, name));
  chmodSync(path.join(place.workspace, 'a.ts'), 0o644);
  assert.equal(repository.state(), state);
});

test('what a command commits, checks out or stashes is found too; what was already so is not', async () => {
  const place = createPlace();
  const repository = createRepository({ 'a.ts': 'one\n', 'b.ts': 'b\n' }, place.workspace);
  repository.git('config', 'user.name', 'Person');
  repository.git('config', 'user.email', 'person@localhost');
  repository.write('b.ts', 'b, mine\n');
  const committed = await shell(place, 'echo two >> a.ts; git commit --quiet -am both');
  assert.deepEqual(changesOf(place, committed), { 'a.ts': ['one\n', 'one\ntwo\n'] });
  const back = await shell(place, 'git reset --quiet --hard HEAD~1');
  assert.deepEqual(changesOf(place, back), { 'a.ts': ['one\ntwo\n', 'one\n'], 'b.ts': ['b, mine\n', 'b\n'] });
  assert.deepEqual(changesOf(place, await shell(place, 'git gc --quiet --prune=now; exit 0')), {});
  assert.deepEqual(changesOf(place, await shell(place, 'echo x > a.ts')), { 'a.ts': ['one\n', 'x\n'] });
});

test('in a worktree a change names both files; the folder of the person is not looked at', async () => {
  const place = createPlace();
  createRepository({ 'a.ts': 'one\n' }, place.workspace);
  const outcome = await shell(place, 'echo two >> a.ts; echo m > made.ts', {
    isolation: 'worktree',
    agent: 5,
  });
  assert.deepEqual(changesOf(place, outcome), { 'a.ts': ['one\n', 'one\ntwo\n'], 'made.ts': [null, 'm\n'] });
  assert.equal(outcome.touched?.[0]?.written, path.join(place.store, 'worktrees', '5', 'a.ts'));
});

test('a folder in no repository is followed as well, without what such folders are full of', async () => {
  const place = createPlace();
  writeFileSync(path.join(place.workspace, 'a.ts'), 'one\n');
  const outcome = await shell(
    place,
    'echo two >> a.ts; mkdir node_modules; echo x > node_modules/x; echo b > b.ts',
  );
  assert.deepEqual(changesOf(place, outcome), { 'a.ts': ['one\n', 'one\ntwo\n'], 'b.ts': [null, 'b\n'] });
  assert.deepEqual(changesOf(place, await shell(place, 'sleep 0.01')), {});
  assert.equal(existsSync(path.join(place.workspace, '.git')), false);
});

test('a command that only looks costs no look at the files', async () => {
  const place = createPlace();
  createRepository({ 'a.ts': 'one\n' }, place.workspace);
  await shell(place, 'true; git status');
  assert.equal(existsSync(path.join(place.store, 'snapshots')), false);
});

test('files that git keeps in another form are given as they were on the disk', async () => {
  const place = createPlace();
  const repository = createRepository({}, place.workspace);
  repository.write('.gitattributes', '*.txt text eol=crlf\n');
  repository.write('a.txt', 'one\r\ntwo\r\n');
  repository.write('gone.txt', 'gone\r\n');
  repository.commit();
  assert.deepEqual(changesOf(place, await shell(place, "printf 'three\\r\\n' >> a.txt; rm gone.txt")), {
    'a.txt': ['one\r\ntwo\r\n', 'one\r\ntwo\r\nthree\r\n'],
    'gone.txt': ['gone\r\n', null],
  });
});

test('repositories inside a folder are followed', async () => {
  const place = createPlace();
  createRepository({ 'a.ts': 'a\n' }, path.join(place.workspace, 'api'));
  createRepository({ 'w.ts': 'w\n' }, path.join(place.workspace, 'web'));
  const outcome = await shell(place, 'echo 1 >> api/a.ts; echo 2 >> web/w.ts; echo 3 > top.ts');
  assert.deepEqual(changesOf(place, outcome), {
    'top.ts': [null, '3\n'],
    'api/a.ts': ['a\n', 'a\n1\n'],
    'web/w.ts': ['w\n', 'w\n2\n'],
  });
});

test('what is too much, or no text, is named', async () => {
  const place = createPlace();
  createRepository({ 'a.ts': 'a\n' }, place.workspace);
  symlinkSync('a.ts', path.join(place.workspace, 'link'));
  const large = await shell(
    place,
    `ln -sf elsewhere link; head -c ${limits.fileBytes + 1} /dev/zero > big.bin`,
  );
  assert.deepEqual(changesOf(place, large), {});
  assert.match(
    large.text,
    /\[roost: Not shown for review, because it is too much or no text: link, big\.bin\.\]/,
  );
  const count = limits.comparedFiles + 5;
  const many = await shell(place, `for i in $(seq 100 ${99 + count}); do echo $i > f$i; done`);
  assert.equal(Object.keys(changesOf(place, many)).length, limits.comparedFiles);
  assert.match(many.text, /too much or no text: f\d+, f\d+, f\d+, f\d+, f\d+\.\]/);
  const later = await shell(place, 'echo y > a.ts');
  assert.deepEqual(changesOf(place, later), { 'a.ts': ['a\n', 'y\n'] });
  assert.doesNotMatch(later.text, /Not shown/);
});

test('commands of several agents at once: what is certain is told as certain, the rest with who else it may be', async () => {
  const place = createPlace();
  createRepository({ 'a.ts': 'a\n', 'b.ts': 'b\n' }, place.workspace);
  const write = (name: string, content: string): void =>
    writeFileSync(path.join(place.workspace, name), content);
  const first = await untilStop(place, 1, 'stop-1');
  write('a.ts', 'while 1 ran alone\n');
  const second = await untilStop(place, 2, 'stop-2');
  write('a.ts', 'while both ran\n');
  write('c.ts', 'while both ran\n');
  stop(place, 'stop-1');
  const one = await first.outcome;
  assert.deepEqual(
    one.touched?.map((file) => [path.basename(file.path), text(file.before), text(file.after), file.others]),
    [
      ['a.ts', 'a\n', 'while 1 ran alone\n', []],
      ['a.ts', 'while 1 ran alone\n', 'while both ran\n', [2]],
      ['c.ts', null, 'while both ran\n', [2]],
    ],
  );
  write('b.ts', 'while 2 ran alone\n');
  stop(place, 'stop-2');
  assert.deepEqual(changesOf(place, await second.outcome), { 'b.ts': ['b\n', 'while 2 ran alone\n'] });
  write('b.ts', 'the person\n');
  assert.deepEqual(changesOf(place, await shell(place, 'sleep 0.01')), {}, 'nobody ran: it is nobody’s');
});

test('what Roost itself writes while a command runs is not the work of the command', async () => {
  const place = createPlace();
  createRepository({ 'a.ts': 'a\n', 'b.ts': 'b\n' }, place.workspace);
  const running = await untilStop(place, 1, 'stop');
  const edit = await place.call('edit', { path: 'a.ts', old: 'a', new: 'A' }, { agent: 2 });
  assert.equal(edit.status, 'ok', edit.text);
  writeFileSync(path.join(place.workspace, 'b.ts'), 'B\n');
  stop(place, 'stop');
  assert.deepEqual(changesOf(place, await running.outcome), { 'b.ts': ['b\n', 'B\n'] });
});

test('twenty agents at once: the pieces of every file follow each other, none is told twice', async () => {
  const place = createPlace();
  createRepository({ 'a.ts': 'a\n' }, place.workspace);
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, (_, i) => shell(place, `echo ${i} > f${i}`, { agent: i + 1 })),
  );
  const pieces = outcomes.flatMap(({ touched = [] }) => touched);
  for (let i = 0; i < 20; i++) {
    const own = pieces.filter((piece) => path.basename(piece.path) === `f${i}`);
    // The shell makes the file and then writes into it: a look may have come in between.
    let now: string | null = null;
    for (let left = own.length; left > 0; left--) {
      const next = own.find((piece) => text(piece.before) === now);
      assert.ok(
        next !== undefined,
        `f${i}: ${own.map((piece) => [piece.before, piece.after].join()).join(' ')}`,
      );
      own.splice(own.indexOf(next), 1);
      now = text(next.after);
    }
    assert.equal(now, `${i}\n`);
  }
});

test('a command that outlives SIGKILL of the sidecar still gets its changes; what came later is doubted', async () => {
  const place = createPlace();
  createRepository({ 'a.ts': 'a\n', 'b.ts': 'b\n' }, place.workspace);
  writeFileSync(path.join(place.workspace, 'a.ts'), 'not committed\n');
  const command = 'echo 1 >> a.ts; until [ -e go ]; do sleep 0.02; done; echo 2 >> a.ts; rm go';
  const program = path.join(import.meta.dirname, 'sidecar.ts');
  const args = [program, path.join(place.store, 'runs'), place.store, place.workspace, 'bash', command];
  const sidecar = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  after(() => sidecar.kill('SIGKILL'));
  let said = '';
  sidecar.stdout.setEncoding('utf8').on('data', (chunk: string) => (said += chunk));
  await until(() => readFileSync(path.join(place.workspace, 'a.ts'), 'utf8').endsWith('1\n'));
  const gone = new Promise((resolve) => sidecar.once('exit', resolve));
  sidecar.kill('SIGKILL');
  await gone;
  writeFileSync(path.join(place.workspace, 'go'), '');
  await until(() => existsSync(path.join(place.store, 'runs', '1', 'exit')));
  const end = Date.now();
  await until(() => end + 20 < Date.now());
  writeFileSync(path.join(place.workspace, 'b.ts'), 'the person, before the restart\n');
  const job = place.job('shell', { command }, { id: 1 });
  const outcome = await begin(place.tools, job, JSON.parse(said) as Json, 'recover').outcome;
  assert.equal(outcome.status, 'ok', outcome.text);
  assert.deepEqual(changesOf(place, outcome), {
    'a.ts': ['not committed\n', 'not committed\n1\n2\n'],
    'b.ts': ['b\n', 'the person, before the restart\n', 'late'],
  });
});

test('a folder that is removed or becomes a repository meanwhile is no reason to fail', async () => {
  const place = createPlace();
  mkdirSync(path.join(place.workspace, 'x'));
  writeFileSync(path.join(place.workspace, 'x', 'a.ts'), 'a\n');
  assert.deepEqual(changesOf(place, await shell(place, 'echo b > x/a.ts')), { 'x/a.ts': ['a\n', 'b\n'] });
  assert.equal((await shell(place, 'git init --quiet .; echo c > x/a.ts')).status, 'ok');
  assert.deepEqual(changesOf(place, await shell(place, 'echo d > x/a.ts')), { 'x/a.ts': ['c\n', 'd\n'] });
});
