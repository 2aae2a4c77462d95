// `roost profiles`, `trust` and `configure`: what a folder tells agents, from the command line.

import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

import { until } from '../rpc/rig.ts';
import { one, Store } from './roost.ts';

function put(folder: string, name: string, text: string): void {
  fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
  fs.writeFileSync(path.join(folder, name), text);
}

test('an agent of a folder with instructions waits for trust; one that was trusted beforehand does not', async (t) => {
  const store = new Store(t);
  put(store.workspace, 'AGENTS.md', 'Be brief.');
  put(store.workspace, '.roost/agents/critic.md', '---\ndescription: Judges\ntools: [read]\n---\nJudge.\n');
  const running = store.start(['run', '--new', '--agent', 'lead', ...store.model, '--', 'hello']);
  await until('it asks', () => running.lines().some((line) => line.type === 'request'), 20_000);
  const request = one(running.lines(), 'request');
  assert.equal(request['kind'], 'trust');
  assert.equal(request['title'], 'Trust 2 files of this project: AGENTS.md, .roost/agents/critic.md');
  await store.lines('answer', String(request['id']), 'allow');
  assert.equal((await running.ended).code, 0);

  put(store.workspace, 'AGENTS.md', 'Be very brief.');
  const states = async (): Promise<unknown[]> =>
    (await store.lines('trust', '--workspace', store.workspace)).map((line) => [
      line['label'],
      line['state'],
    ]);
  const critic = ['.roost/agents/critic.md', 'trusted'];
  assert.deepEqual(await states(), [['AGENTS.md', 'pending'], critic]);
  assert.equal(one(await store.lines('trust', '--allow'), 'trusted')['changed'], 1);
  assert.deepEqual(await states(), [['AGENTS.md', 'trusted'], critic]);
  const judged = await store.lines('run', '--new', '--profile', 'critic', ...store.model, '--', 'judge');
  assert.equal(one(judged, 'result')['outcome'], 'done');

  const refused = await store.lines('trust', '--deny', '.roost/agents/critic.md');
  assert.equal(one(refused, 'trusted')['trusted'], false);
  const gone = await store.roost('run', '--new', '--profile', 'critic', ...store.model, '--', 'judge');
  assert.equal(gone.code, 2);
  assert.match(gone.stderr, /There is no profile "critic".*There are: implementer, planner, explorer/);
});

test('profiles lists those of files first, then the built-in ones, and what is wrong with a file', async (t) => {
  const store = new Store(t);
  put(store.workspace, '.roost/agents/reviewer.md', '---\ndescription: Ours\n---\nReview as we do.\n');
  put(store.workspace, '.claude/agents/broken.md', '---\nname: [\n---\nx\n');
  const lines = await store.lines('profiles', '--workspace', store.workspace);
  const rows = lines.filter((line) => line.type === 'profile' && !String(line['source']).startsWith('~'));
  assert.deepEqual(
    rows.map((row) => [row['name'], row['source'], row['state'], row['hidden']]),
    [
      ['reviewer', '.roost/agents/reviewer.md', 'pending', false],
      ['implementer', null, 'trusted', false],
      ['planner', null, 'trusted', false],
      ['explorer', null, 'trusted', false],
      ['reviewer', null, 'trusted', true],
      ['verifier', null, 'trusted', false],
    ],
  );
  assert.match(String(one(lines, 'problem')['message']), /left out: its fields are not YAML/);
  const missing = await store.roost('profiles', '--workspace', path.join(store.workspace, 'nowhere'));
  assert.equal(missing.code, 1);
  assert.match(missing.stderr, /There is no folder/);
});

test('configure says whether the prompt cache still serves the agent', async (t) => {
  const store = new Store(t);
  await store.lines('run', '--new', '--agent', 'lead', ...store.model, '--', 'hello');
  const configured = async (...args: string[]): Promise<unknown> =>
    one(await store.lines('configure', 'lead', ...args), 'configured')['prefix'];
  assert.equal(await configured('--mode', 'edits'), 'kept');
  assert.equal(await configured('--profile', 'explorer'), 'breaks');
  assert.equal(await configured('--profile', 'explorer'), 'kept');
  assert.equal(one(await store.lines('ls'), 'agent')['profile'], 'explorer');
  const nothing = await store.roost('configure', 'lead');
  assert.equal(nothing.code, 2);
  assert.match(nothing.stderr, /name what to change/);
});
