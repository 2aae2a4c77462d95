// Tools of servers (MCP) from end to end: the command, the sidecar, an official reference server and a scripted model.

import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

import { until } from '../rpc/rig.ts';
import { one, Store } from './roost.ts';

const root = path.resolve(import.meta.dirname, '../..');
const memory = path.join(root, 'node_modules/@modelcontextprotocol/server-memory/dist/index.js');
const odd = path.join(root, 'test/fixtures/servers/odd.ts');

const results = (lines: readonly { readonly [name: string]: unknown }[]): string[] =>
  lines.flatMap((line) => {
    const body = line['body'] as { kind: string; text: string; status: string } | undefined;
    return body?.kind === 'result' ? [`${body.status}: ${body.text}`] : [];
  });

test('a server of the folder is trusted, listed, called and asked about; its secrets are in no file', async (t) => {
  const secret = 'sk-very-secret-of-the-server';
  const store = new Store(t, [
    { round: 1, say: [{ call: 'memory__create_entities', input: { entities: [] } }] },
    { round: 2, say: [{ call: 'memory__read_graph', input: {} }] },
  ]);
  const servers = {
    memory: {
      command: process.execPath,
      args: [memory],
      env: { MEMORY_FILE_PATH: '${workspaceFolder}/m.json', A_TOKEN: secret },
    },
    ghost: { command: 'no-such-program' },
  };
  fs.writeFileSync(path.join(store.workspace, '.mcp.json'), JSON.stringify({ mcpServers: servers }));
  const before = await store.lines('mcp', '--workspace', store.workspace);
  assert.deepEqual(
    before.map((line) => [line['name'], line['trust'], line['state'], line['tools']]),
    [
      ['memory', 'pending', 'idle', null],
      ['ghost', 'pending', 'idle', null],
    ],
  );
  await store.lines('trust', '--allow');
  const connected = await store.roost('mcp', '--connect');
  assert.equal(connected.code, 1);
  const [asked, ghost] = connected.lines;
  assert.equal(asked?.['state'], 'running');
  assert.match(String(ghost?.['problem']), /there is no program "no-such-program"/);

  const [again] = await store.lines('mcp', 'restart', 'memory');
  assert.equal(again?.['state'], 'running');
  assert.notEqual(again?.['pid'], asked?.['pid']);
  const unknown = await store.roost('mcp', 'restart', 'nobody');
  assert.match(unknown.stderr, /This folder has no server "nobody"/);

  const running = store.start(['run', '--new', ...store.model, '--', 'work']);
  await until(
    'it asks about the tool that acts',
    () => running.lines().some((line) => line.type === 'request'),
    20_000,
  );
  const request = one(running.lines(), 'request');
  assert.equal(request['title'], 'memory: create_entities {"entities":[]}');
  await store.lines('answer', String(request['id']), 'allow');
  const ended = await running.ended;
  assert.equal(ended.code, 0);
  const [created, read] = results(ended.lines);
  assert.match(created ?? '', /^ok: /);
  // What only reads was not asked about.
  assert.match(read ?? '', /^ok: .*"entities"/s);

  const said = ended.stdout + connected.stdout + JSON.stringify(before);
  assert.ok(!said.includes(secret));
  // It answers before it ends, and takes the files of its log away with it.
  const { pid } = store;
  await store.lines('shutdown');
  await until('the sidecar has ended', () => !isAlive(pid), 10_000);
  for (const name of fs.readdirSync(store.directory, { recursive: true, encoding: 'utf8' })) {
    const file = path.join(store.directory, name);
    if (fs.statSync(file).isFile()) assert.ok(!fs.readFileSync(file).includes(secret), name);
  }
});

test('SIGKILL while a server’s tool runs: the call is unknown and was made once', async (t) => {
  const store = new Store(t, [
    { result: 'unknown', say: [{ text: 'I do not know' }] },
    { round: 1, say: [{ call: 'odd__slow', input: { text: 'once' } }] },
  ]);
  const notes = path.join(store.workspace, 'notes');
  const servers = { odd: { command: process.execPath, args: [odd, 'plain', notes] } };
  fs.writeFileSync(path.join(store.workspace, '.mcp.json'), JSON.stringify({ mcpServers: servers }));
  await store.lines('trust', '--allow', '--workspace', store.workspace);
  const running = store.start(['run', '--new', '--agent', 'lead', ...store.model, '--', 'work']);
  await until('it asks', () => running.lines().some((line) => line.type === 'request'), 20_000);
  await store.lines('answer', String(one(running.lines(), 'request')['id']), 'allow');
  await until('the tool acts', () => fs.existsSync(notes));
  await store.kill();
  const ended = await running.ended;
  assert.equal(one(ended.lines, 'result')['text'], 'I do not know');
  assert.match(results(ended.lines)[0] ?? '', /^unknown: unknown: Roost ended while the call ran/);
  assert.equal(fs.readFileSync(notes, 'utf8'), 'once\n');
});

test('servers that outlive a SIGKILL of the sidecar are ended by the next one, with what they started', async (t) => {
  const store = new Store(t, []);
  const pids = path.join(store.workspace, 'pids');
  const servers = { odd: { command: process.execPath, args: [odd, 'stubborn', pids] } };
  fs.writeFileSync(path.join(store.workspace, '.mcp.json'), JSON.stringify({ mcpServers: servers }));
  await store.lines('trust', '--allow', '--workspace', store.workspace);
  const [row] = await store.lines('mcp', '--connect', '--workspace', store.workspace);
  const running = [Number(row?.['pid']), Number(fs.readFileSync(pids, 'utf8'))];
  t.after(() => running.filter(isAlive).forEach((pid) => process.kill(pid, 'SIGKILL')));
  await store.kill();
  assert.deepEqual(running.filter(isAlive), running);
  await store.lines('mcp', '--workspace', store.workspace);
  await until('both have ended', () => running.filter(isAlive).length === 0, 15_000);
  await until(
    'nothing is written down of them',
    () => fs.readdirSync(path.join(store.directory, 'servers')).length === 0,
  );
});

/** Runs, and is not only waiting for whoever has it as a child now to look at its end. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^\d+ \(.*\) Z/.test(fs.readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
