// Files that define servers: what is read of them, what is shown, and that their secrets are neither shown nor stored.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import {
  definitionProblem,
  folderOf,
  readStart,
  serverHash,
  serversIn,
  summaryOf,
  type ServerEntry,
} from '../../sidecar/workspace/serverFile.ts';
import { createLook } from '../../sidecar/workspace/knowledge.ts';
import { createRepository, temporaryFolder } from './repository.ts';

const entriesIn = (text: string): readonly ServerEntry[] => {
  const entries = serversIn(text);
  assert.ok(typeof entries !== 'string', String(entries));
  return entries;
};

test('both forms of the file are read, with comments and trailing commas', () => {
  const editor = entriesIn('// mine\n{ "servers": { "a": { "command": "x", }, }, "inputs": [] }');
  const claude = entriesIn('{ "mcpServers": { "a": { "command": "x" }, "odd": 7 } }');
  assert.deepEqual(editor, claude);
  assert.match(String(serversIn('{ "servers": {\n "a" }')), /not JSON: \w+ in line 2/);
  assert.match(String(serversIn('{}')), /neither "mcpServers" nor "servers"/);
});

test('what is wrong with a definition is said', () => {
  const problem = (definition: object, name = 'a'): string | null =>
    definitionProblem({ name, definition: { ...definition } as ServerEntry['definition'] });
  assert.equal(problem({ command: 'x', args: ['y'], env: { A: '1' } }), null);
  assert.equal(problem({ url: 'https://a.example/mcp' }), null);
  assert.match(problem({}) ?? '', /neither a "command" nor a "url"/);
  assert.match(problem({ url: 'file:///etc/passwd' }) ?? '', /must begin with https/);
  assert.match(problem({ command: 'x', args: 'y' }) ?? '', /"args"/);
  assert.match(problem({ command: 'x', disabled: true }) ?? '', /disabled/);
  assert.match(problem({ command: 'x' }, 'a/b') ?? '', /its name/);
});

test('a definition is the same however it is written, and another in another folder or under another name', () => {
  const [one] = entriesIn('{"servers":{"a":{"command":"x","args":["1"]}}}');
  const [two] = entriesIn('{"servers":{"a":{"args":["1"],\n"command":"x"}}}');
  const [other] = entriesIn('{"servers":{"a":{"args":["2"],"command":"x"}}}');
  assert.ok(one !== undefined && two !== undefined && other !== undefined);
  assert.equal(serverHash(one, '/w'), serverHash(two, '/w'));
  assert.notEqual(serverHash(one, '/w'), serverHash(other, '/w'));
  assert.notEqual(serverHash(one, '/w'), serverHash(one, '/v'));
  assert.notEqual(serverHash(one, '/w'), serverHash({ ...one, name: 'b' }, '/w'));
  assert.equal(folderOf(one, '/w', true), '');
  const rooted: ServerEntry = { name: 'r', definition: { command: 'x', args: ['${workspaceFolder}'] } };
  assert.equal(folderOf(rooted, '/w', true), '/w');
});

test('what is shown of a definition holds no secret', () => {
  const stdio = summaryOf({
    name: 'a',
    definition: {
      command: 'npx',
      args: ['-y', 'server', '--api-key', 'sk-1', '--token=sk-2', '--user', 'me', '${API_KEY}'],
      env: { SECRET: 'sk-3' },
    },
  });
  assert.deepEqual(stdio, {
    transport: 'stdio',
    line: 'npx -y server --api-key *** --token=*** --user me ${API_KEY}',
    given: ['SECRET'],
  });
  const http = summaryOf({
    name: 'b',
    definition: { url: 'https://me:sk-4@a.example/mcp?key=sk-5', headers: { Authorization: 'Bearer sk-6' } },
  });
  assert.deepEqual(http, {
    transport: 'http',
    line: 'https://a.example/mcp?key=***',
    given: ['Authorization'],
  });
});

test('a look keeps no value of a definition', async () => {
  const definition = { command: 'x', args: ['--password', 'sk-a'], env: { TOKEN: 'sk-b' } };
  const { folder } = createRepository({
    '.mcp.json': JSON.stringify({ mcpServers: { a: definition } }),
    '.vscode/mcp.json': JSON.stringify({
      servers: { b: { url: 'https://x.example', headers: { A: 'sk-c' } } },
    }),
    '.roost/mcp.json': '{ nonsense',
  });
  const home = temporaryFolder();
  const own = path.join(home, 'mine.json');
  writeFileSync(own, JSON.stringify({ mcpServers: { c: { command: 'y' } } }));
  const look = createLook({ home, tools: () => [], serverFiles: () => [own] });
  const found = await look(folder);
  assert.deepEqual(
    found.servers.map(({ name, label, own: mine, transport }) => [name, label, mine, transport]),
    [
      ['a', '.mcp.json: a', false, 'stdio'],
      ['b', '.vscode/mcp.json: b', false, 'http'],
      ['c', `${own}: c`, true, 'stdio'],
    ],
  );
  assert.match(found.problems[0]?.message ?? '', /not JSON/);
  assert.doesNotMatch(JSON.stringify(found), /sk-/);
});

test('variables are filled in when a server is started, and only of the trusted definition (case 219)', async () => {
  const { folder, write } = createRepository({ '.env.servers': 'FROM_FILE="1 2"\n' });
  const define = (command: string): string =>
    write(
      '.mcp.json',
      JSON.stringify({
        mcpServers: {
          a: {
            command,
            args: ['${workspaceFolder}/x', '${HERE:-otherwise}', '${env:HERE}', '${userHome}'],
            env: { KEY: '${input:key}', NONE: null },
            envFile: '${workspaceFolder}/.env.servers',
            cwd: 'sub',
          },
        },
      }),
    );
  const file = define('run');
  const [entry] = entriesIn(JSON.stringify({ servers: JSON.parse(await readText(file)).mcpServers }));
  assert.ok(entry !== undefined);
  const wish = { name: 'a', hash: serverHash(entry, folder), path: file, workspace: folder };
  const input = (id: string) => Promise.resolve(id === 'key' ? 'given' : null);
  const surroundings = { home: '/home/me', env: { HERE: 'here' }, input };
  assert.deepEqual(await readStart(wish, surroundings), {
    folder,
    start: {
      kind: 'stdio',
      command: 'run',
      args: [`${folder}/x`, 'here', 'here', '/home/me'],
      env: { FROM_FILE: '1 2', KEY: 'given' },
      directory: path.join(folder, 'sub'),
    },
  });
  const without = { ...surroundings, env: {}, input: () => Promise.resolve(null) };
  assert.match(
    String(await readStart(wish, without)),
    /It needs the variable HERE .*, and a key named "input:key" .*INPUT_KEY_API_KEY/,
  );
  define('rm');
  assert.match(String(await readStart(wish, surroundings)), /has changed, and the person has not been asked/);
  write('.mcp.json', '{"mcpServers":{}}');
  assert.match(String(await readStart(wish, surroundings)), /does not define it any more/);
});

const readText = async (file: string): Promise<string> =>
  (await import('node:fs/promises')).readFile(file, 'utf8');
