// Agents with worktrees: what they read, where their edits and commands land, and that the person's folder stays.
import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { createRepository } from '../workspace/repository.ts';
import { begin, createPlace, evidenceOf } from './place.ts';
import type { Call, Place } from './place.ts';

const isolated: Call = { isolation: 'worktree', agent: 5 };

function createWorktreePlace(): {
  place: Place;
  repository: ReturnType<typeof createRepository>;
  inside: (name: string) => string;
} {
  const place = createPlace();
  const repository = createRepository(
    { 'a.ts': 'one\ntwo\n', 'b.ts': 'b\n', '.gitignore': '.env\n' },
    place.workspace,
  );
  return { place, repository, inside: (name) => path.join(place.store, 'worktrees', '5', name) };
}

test('case 133: edits land in a worktree that is made on the first write, never in the folder of the person', async () => {
  const { place, repository, inside } = createWorktreePlace();
  repository.write('a.ts', 'one\ntwo, not committed\n');
  assert.match((await place.call('read', { path: 'a.ts' }, isolated)).text, /two, not committed/);
  assert.match((await place.call('search', { pattern: 'committed' }, isolated)).text, /a\.ts:2/);
  assert.equal(existsSync(inside('')), false, 'looking makes none');
  const edit = await place.call('edit', { path: 'a.ts', old: 'two', new: 'TWO' }, isolated);
  assert.equal(edit.status, 'ok', edit.text);
  assert.equal(readFileSync(inside('a.ts'), 'utf8'), 'one\nTWO, not committed\n');
  assert.equal(repository.read('a.ts'), 'one\ntwo, not committed\n');
  const [touched] = edit.touched ?? [];
  assert.deepEqual([touched?.path, touched?.written], [path.join(place.workspace, 'a.ts'), inside('a.ts')]);
  assert.equal(Buffer.from(touched?.before ?? []).toString(), 'one\ntwo, not committed\n');
  assert.match((await place.call('read', { path: 'a.ts' }, isolated)).text, /TWO/);
  assert.match(
    (await place.call('read', { path: path.join(place.workspace, 'a.ts') }, isolated)).text,
    /TWO/,
  );
  assert.match((await place.call('read', { path: inside('a.ts') }, isolated)).text, /TWO/);
  assert.match((await place.call('search', { pattern: 'TWO' }, isolated)).text, /^a\.ts:2:TWO/);
  assert.doesNotMatch((await place.call('read', { path: 'a.ts' }, { agent: 6 })).text, /TWO/);
});

test('a command of such an agent runs in its worktree', async () => {
  const { place, inside, repository } = createWorktreePlace();
  const first = await place.call('shell', { command: 'pwd; echo x > made.txt' }, isolated);
  const [code, directory, news] = first.text.split('\n');
  assert.deepEqual([code, directory], ['exit code 0', path.dirname(inside('x'))]);
  assert.match(news ?? '', /^\[roost\] This is a git worktree of your own, made of commit [0-9a-f]{12}\.$/);
  assert.equal((await place.call('shell', { command: 'echo x' }, isolated)).text, 'exit code 0\nx\n');
  assert.equal(existsSync(inside('made.txt')), true);
  assert.equal(repository.state().includes('made.txt'), false);
});

test('an ignored file is edited from what the person has', async () => {
  const { place, repository, inside } = createWorktreePlace();
  repository.write('.env', 'A=1\nB=2\n');
  await place.call('write', { path: 'c.ts', text: 'c\n' }, isolated);
  assert.match((await place.call('read', { path: '.env' }, isolated)).text, /A=1/);
  const edit = await place.call('edit', { path: '.env', old: 'A=1', new: 'A=3' }, isolated);
  assert.equal(edit.status, 'ok', edit.text);
  assert.equal(readFileSync(inside('.env'), 'utf8'), 'A=3\nB=2\n');
  assert.equal(repository.read('.env'), 'A=1\nB=2\n');
});

test('after a crash the worktree says whether the edit was made', async () => {
  const { place, repository, inside } = createWorktreePlace();
  const job = place.job('edit', { path: 'a.ts', old: 'two', new: 'TWO' }, isolated);
  const evidence = await evidenceOf(place, job);
  for (let times = 0; times < 2; times++) {
    const outcome = await begin(place.tools, job, evidence, 'recover').outcome;
    assert.equal(outcome.status, 'ok', outcome.text);
    assert.equal(Buffer.from(outcome.touched?.[0]?.before ?? []).toString(), 'one\ntwo\n');
  }
  assert.equal(readFileSync(inside('a.ts'), 'utf8'), 'one\nTWO\n');
  assert.equal(repository.read('a.ts'), 'one\ntwo\n');
});

test('links inside a worktree are fenced too', async () => {
  const { place, inside } = createWorktreePlace();
  writeFileSync(path.join(place.store, 'secret.txt'), 'secret\n');
  await place.call('shell', { command: `ln -s ${place.store}/secret.txt link.txt` }, isolated);
  assert.equal(existsSync(inside('link.txt')), true);
  assert.match((await place.call('read', { path: 'link.txt' }, isolated)).text, /outside the workspace/);
  assert.match(
    (await place.call('write', { path: 'link.txt', text: 'x' }, isolated)).text,
    /outside the workspace/,
  );
  assert.equal(readFileSync(path.join(place.store, 'secret.txt'), 'utf8'), 'secret\n');
});

test('case 139: without a repository the agent is told what to do', async () => {
  const place = createPlace();
  const outcome = await place.call('write', { path: 'a.ts', text: 'x\n' }, isolated);
  assert.equal(outcome.status, 'error');
  assert.match(outcome.text, /not in a git repository.*isolation "shared"/);
  assert.equal(existsSync(path.join(place.workspace, 'a.ts')), false);
  assert.match((await place.call('shell', { command: 'ls' }, isolated)).text, /not in a git repository/);
});

test('a linked folder is read as the person has it, and not written', async () => {
  const { place, repository, inside } = createWorktreePlace();
  repository.write('.gitignore', '/node_modules/\n');
  repository.write('.roost/worktree.json', '{ "link": ["node_modules"] }');
  repository.write('node_modules/left/index.js', 'left\n');
  const made = await place.call('edit', { path: 'a.ts', old: 'two', new: 'TWO' }, isolated);
  assert.match(made.text, /^Changed a\.ts:[\s\S]*\n\[roost\] This is a git worktree/);
  assert.equal(readFileSync(inside('node_modules/left/index.js'), 'utf8'), 'left\n');
  assert.match((await place.call('read', { path: 'node_modules/left/index.js' }, isolated)).text, /left/);
  const write = await place.call('write', { path: 'node_modules/left/index.js', text: 'x\n' }, isolated);
  assert.match(write.text, /behind a link to the person's own folder/);
  assert.equal(repository.read('node_modules/left/index.js'), 'left\n');
});
