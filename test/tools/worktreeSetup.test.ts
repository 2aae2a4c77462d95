// The setup command of a repository's worktrees: asked about once, run once in each, its end told clearly; and
// the variables that keep the ports and names of worktrees apart.
import assert from 'node:assert/strict';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { Ask, ToolJob } from '../../sidecar/ports.ts';
import { createTools } from '../../sidecar/tools/registry.ts';
import { createWorktrees } from '../../sidecar/workspace/worktree.ts';
import type { Worktrees } from '../../sidecar/workspace/worktree.ts';
import { createRepository } from '../workspace/repository.ts';
import { begin, createPlace, evidenceOf, until } from './place.ts';
import type { Call, Place } from './place.ts';

const agent = (number: number): Call => ({ isolation: 'worktree', agent: number, mode: 'edits' });

function createSetupPlace(setup: string): { place: Place; inside(agent: number, name: string): string } {
  const place = createPlace();
  createRepository({ 'a.ts': 'one\n', '.roost/worktree.json': JSON.stringify({ setup }) }, place.workspace);
  return { place, inside: (number, name) => path.join(place.store, 'worktrees', String(number), name) };
}

async function askOf(place: Place, job: ToolJob): Promise<Ask | null> {
  const prepared = await place.prepare(job);
  assert.ok(prepared.kind === 'run');
  return prepared.ask;
}

const edit = { path: 'a.ts', old: 'one', new: 'ONE' };

test('the setup runs once in each worktree, before the first write, and is asked about before the first time', async () => {
  const { place, inside } = createSetupPlace('cat a.ts >> before.log; echo $ROOST_WORKSPACE > where');
  const asked = await askOf(place, place.job('edit', edit, agent(1)));
  assert.equal(asked?.kind, 'command', 'also in a mode that does not ask for edits');
  assert.match(asked?.title ?? '', /^Set up a worktree with cat a\.ts .*, then Edit a\.ts$/);
  assert.match(
    asked?.detail ?? '',
    /^cat a\.ts >> before\.log;.*\n\nonce in each new worktree of .*\n\nThen:\n\n/,
  );
  const other = await askOf(place, place.job('write', { path: 'b.ts', text: 'x\n' }, agent(2)));
  assert.equal(other?.cluster, asked?.cluster, 'fifty agents are allowed with one answer');
  assert.equal((await place.call('edit', edit, agent(1))).status, 'ok');
  assert.equal(readFileSync(inside(1, 'before.log'), 'utf8'), 'one\n');
  assert.equal(readFileSync(inside(1, 'where'), 'utf8'), `${place.workspace}\n`);
  assert.equal((await askOf(place, place.job('edit', edit, agent(2))))?.kind, 'edit', 'allowed before');
  assert.equal((await place.call('shell', { command: 'cat before.log' }, agent(2))).status, 'ok');
  await place.call('edit', { ...edit, old: 'ONE', new: 'two' }, agent(1));
  for (const each of [1, 2]) assert.equal(readFileSync(inside(each, 'before.log'), 'utf8'), 'one\n');
});

test('another command is asked about again', async () => {
  const { place } = createSetupPlace('true');
  await place.call('edit', edit, agent(1));
  writeFileSync(path.join(place.workspace, '.roost/worktree.json'), '{ "setup": "false" }');
  assert.match((await askOf(place, place.job('edit', edit, agent(2))))?.title ?? '', /with false/);
  const known = await askOf(place, place.job('shell', { command: 'ls' }, agent(1)));
  assert.equal(known?.title, 'ls', 'a worktree that is set up is not set up again');
});

test('a setup that nobody has allowed does not run', async () => {
  const { place, inside } = createSetupPlace('touch ran');
  const job = place.job('edit', edit, agent(1));
  writeFileSync(path.join(place.workspace, '.roost/worktree.json'), '{}');
  const evidence = await evidenceOf(place, job);
  writeFileSync(path.join(place.workspace, '.roost/worktree.json'), '{ "setup": "touch other" }');
  const outcome = await begin(place.tools, job, evidence).outcome;
  assert.match(outcome.text, /has to be allowed by the person first\. Repeat the call/);
  assert.equal(existsSync(inside(1, 'other')), false);
  assert.equal(readFileSync(inside(1, 'a.ts'), 'utf8'), 'one\n');
});

test('a setup that fails says so with its output, once; the worktree is there', async () => {
  const { place } = createSetupPlace('echo no network >&2; exit 7');
  const first = await place.call('edit', edit, agent(1));
  assert.equal(first.status, 'error');
  assert.match(first.text, /setup command \(\.roost\/worktree\.json\) failed, so nothing else was done/);
  assert.match(first.text, /\$ echo no network >&2; exit 7\nexit code 7\nno network\n/);
  assert.match(first.text, /\[roost\] This is a git worktree of your own/);
  assert.equal((await place.call('edit', edit, agent(1))).status, 'ok');
});

test('a setup that was stopped with its call starts anew with the next', async () => {
  const { place, inside } = createSetupPlace('echo started >> log; [ -e go ] || { touch go; sleep 60; }');
  const job = place.job('edit', edit, agent(1));
  const begun = begin(place.tools, job, await evidenceOf(place, job));
  await until(() => existsSync(inside(1, 'go')));
  begun.cancel();
  assert.match((await begun.outcome).text, /was interrupted/);
  assert.equal((await place.call('edit', edit, agent(1))).status, 'ok');
  assert.equal(readFileSync(inside(1, 'log'), 'utf8'), 'started\nstarted\n');
});

test('a setup under way at a crash is taken up, not run twice', async () => {
  const { place, inside } = createSetupPlace('echo started >> log; while [ ! -e go ]; do sleep 0.01; done');
  const job = place.job('edit', edit, agent(1));
  const evidence = await evidenceOf(place, job);
  const make = (): Worktrees => createWorktrees(path.join(place.store, 'worktrees'));
  const dying = make();
  // A process that goes while the command runs: it never hears of its end.
  const ensure: Worktrees['ensure'] = (agent, folder, asker) =>
    dying.ensure(
      agent,
      folder,
      asker === undefined
        ? asker
        : { ...asker, run: (each) => asker.run(each).then(() => new Promise(() => undefined)) },
    );
  const first = createTools({ ...place.options, worktrees: { ...dying, ensure } });
  first.run(job, evidence, () => undefined);
  await until(() => existsSync(inside(1, 'log')));
  first.close();
  const next = createTools({ ...place.options, worktrees: make() });
  const taken = begin(next, job, evidence, 'recover');
  appendFileSync(inside(1, 'go'), '');
  const outcome = await taken.outcome;
  assert.equal(outcome.status, 'ok', outcome.text);
  next.close();
  assert.equal(readFileSync(inside(1, 'log'), 'utf8'), 'started\n');
  assert.equal(readFileSync(inside(1, 'a.ts'), 'utf8'), 'ONE\n');
});

test('case 137: each worktree has ports and names of its own, and no stash', async () => {
  const { place } = createSetupPlace('');
  const show = { command: 'echo $PORT $ROOST_PORT_BASE $COMPOSE_PROJECT_NAME $ROOST_WORKTREE' };
  const said = await Promise.all([1, 2, 3].map((each) => place.call('shell', show, agent(each))));
  const lines = said.map((outcome) => outcome.text.split('\n')[1]?.split(' ') ?? []);
  assert.equal(new Set(lines.map(([port]) => port)).size, 3);
  for (const [i, [port, base, compose, folder]] of lines.entries()) {
    assert.equal(port, base);
    assert.ok(20_000 <= Number(port) && Number(port) < 32_000 && Number(port) % 10 === 0, port);
    assert.equal(compose, `workspace-roost-${i + 1}`);
    assert.equal(folder, path.join(place.store, 'worktrees', String(i + 1)));
  }
  for (const command of ['git stash', 'cd x && git -c a=b stash pop']) {
    assert.match((await place.call('shell', { command }, agent(1))).text, /stash of git is shared/);
  }
  assert.match((await place.call('shell', { command: 'git stash list' }, agent(1))).text, /^exit code 0/);
  const shared = await place.call('shell', { command: 'echo "[$ROOST_WORKTREE]"' });
  assert.match(shared.text, /\[\]/, 'an agent without worktree has none of them');
});
