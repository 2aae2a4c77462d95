// `roost` in the command of an agent: it starts and asks agents below that agent, and decides nothing (DESIGN §13).

import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { until } from '../rpc/rig.ts';
import { one, Store } from './roost.ts';

const waiting = 'echo runs >> began; until [ -e go ]; do sleep 0.05; done';

test('a command of an agent decides nothing, and what it starts is below its agent and may no more than it', async (t) => {
  const store = new Store(t, [
    { task: 'lead', round: 1, say: [{ call: 'shell', input: { command: waiting } }] },
  ]);
  const lead = store.start(['run', '--new', '--agent', 'lead', ...store.model, '--', 'lead']);
  await until('it asks', () => lead.lines().some((line) => line.type === 'request'), 20_000);
  const request = String(one(lead.lines(), 'request')['id']);
  const inside = { ROOST_CALL: '1', ROOST_AGENT: '1', ROOST_MODEL: 'play/x' };
  const refused = async (words: readonly string[], why: RegExp, env = inside): Promise<void> => {
    const { code, stderr } = await store.start(words, env).ended;
    assert.notEqual(code, 0, words.join(' '));
    assert.match(stderr, why, words.join(' '));
  };
  const person = /A person decides that/;
  await refused(['answer', request, 'allow'], person);
  assert.equal((await store.lines('answer', '--list')).length, 1);
  await store.lines('answer', request, 'allow');
  await until('its command runs', () => fs.existsSync(path.join(store.workspace, 'began')), 20_000);
  await refused(['budget', 'lead', '--budget', 'usd=9'], person);
  await refused(['configure', 'lead', '--mode', 'auto'], person);
  await refused(['models', 'price', 'play/x', '--input', '0', '--output', '0'], person);
  await refused(['trust', '--allow'], person);
  await refused(['shutdown'], person);
  await refused(['lsp'], /for the editor of a person/);
  const run = ['run', '--new', '--detach', '--mode', 'auto'];
  const below = /starts agents below that agent only/;
  await refused([...run, '--parent', 'none', '--', 'work'], below);
  await refused(['fork', 'lead', '--', 'work'], below);
  await refused([...run, '--', 'work'], below, { ...inside, ROOST_CALL: '999' });
  const child = await store.start([...run, '--agent', 'child', '--', 'work'], inside).ended;
  assert.equal(child.code, 0, child.stderr);
  const [row] = await store.lines('ls', 'lead');
  assert.deepEqual([row?.['name'], row?.['mode']], ['child', 'ask'], 'its agent asks before commands');
  fs.writeFileSync(path.join(store.workspace, 'go'), '');
  assert.equal((await lead.ended).code, 0);
});
