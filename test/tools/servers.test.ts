// Servers of tools (MCP) as real processes: the official reference servers, and one that misbehaves as it is told.
// Started, called, killed in mid-call, started again; one client each, and no process left behind.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import type { OfferAnswer, ServerRef, ToolJob, ToolOutcome } from '../../sidecar/ports.ts';
import type { Offer } from '../../sidecar/core/offers.ts';
import type { JsonObject } from '../../sidecar/protocol/json.ts';
import { limits } from '../../sidecar/runtime/limits.ts';
import { receivedIn } from '../../sidecar/tools/mcp/result.ts';
import { Pool, type PoolOptions } from '../../sidecar/tools/mcp/pool.ts';
import { serverHash, serversIn } from '../../sidecar/workspace/serverFile.ts';
import { until } from '../rpc/rig.ts';
import { createPlace } from './place.ts';

const root = path.resolve(import.meta.dirname, '../..');
const reference = (name: string): string =>
  path.join(root, `node_modules/@modelcontextprotocol/server-${name}/dist/index.js`);
const odd = (...args: string[]) => ({
  command: process.execPath,
  args: [path.join(root, 'test/fixtures/servers/odd.ts'), ...args],
});

interface Bench {
  readonly pool: Pool;
  readonly workspace: string;
  readonly file: string;
  readonly offered: Offer[];
  readonly hidden: string[];
  ref(name: string): ServerRef;
  offer(name: string): Promise<OfferAnswer>;
  /** Runs or, after a crash, recovers a call; the rest of its life is what the runtime would be told. */
  call(name: string, tool: string, input?: JsonObject, how?: Partial<How>): Promise<ToolOutcome>;
}

interface How {
  readonly reading: boolean;
  readonly recover: boolean;
  readonly output: (text: string) => void;
  readonly cancel: Promise<unknown>;
}

// A server that failed is tried again after this: a second of the product's, which nobody here needs to see.
Object.assign(limits, { serverRetryFirstMs: 200 });

/** A place whose workspace defines these servers, as `.mcp.json`. */
function bench(t: TestContext, servers: JsonObject, change: Partial<PoolOptions> = {}): Bench {
  const offered: Offer[] = [];
  const hidden: string[] = [];
  const pool = new Pool({
    environment: () => ({ PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '' }),
    surroundings: { home: '/', env: process.env, input: () => Promise.resolve(null) },
    offered: (_server, offer) => void offered.push(offer),
    hide: (secret) => void hidden.push(secret),
    directory: temporaryDirectory(t),
    ...change,
  });
  t.after(() => pool.close());
  const place = createPlace({ servers: pool });
  const { workspace } = place;
  const file = path.join(workspace, '.mcp.json');
  const text = JSON.stringify({ mcpServers: servers }).replaceAll('WORKSPACE', workspace);
  writeFileSync(file, text);
  const entries = serversIn(text);
  assert.ok(typeof entries !== 'string');
  const ref = (name: string): ServerRef => {
    const entry = entries.find((each) => each.name === name);
    assert.ok(entry !== undefined);
    return { name, hash: serverHash(entry, workspace), path: file, workspace };
  };
  return {
    ...{ pool, workspace, file, offered, hidden, ref },
    offer: (name) => new Promise((resolve) => place.tools.offer(ref(name), resolve)),
    call: async (name, tool, input = {}, how = {}) => {
      const remote = { server: ref(name), tool, reading: how.reading ?? false };
      const job: ToolJob = { ...place.job(`${name}__${tool}`, input), remote };
      const prepared = await place.prepare(job);
      assert.equal(prepared.kind, 'run');
      return await new Promise((resolve) => {
        const act = how.recover === true ? place.tools.recover : place.tools.run;
        const cancel = act(job, prepared.kind === 'run' ? prepared.evidence : null, (event) => {
          if (event.kind === 'done') resolve(event.outcome);
          else how.output?.(event.text);
        });
        void how.cancel?.then(cancel);
      });
    },
  };
}

function temporaryDirectory(t: TestContext): string {
  const directory = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'roost-servers-')));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

const lines = (file: string): string[] =>
  existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];

test('the reference servers: tools are listed and called, errors are told, images are kept, resources are read', async (t) => {
  const { offer, call, workspace } = bench(t, {
    everything: { command: process.execPath, args: [reference('everything'), 'stdio'] },
    files: { command: process.execPath, args: [reference('filesystem'), '${workspaceFolder}'] },
    memory: {
      command: process.execPath,
      args: [reference('memory')],
      env: { MEMORY_FILE_PATH: '${workspaceFolder}/memory.json' },
    },
  });
  const [everything, files, memory] = await Promise.all([
    offer('everything'),
    offer('files'),
    offer('memory'),
  ]);
  assert.ok(everything.kind === 'offer' && files.kind === 'offer' && memory.kind === 'offer');
  assert.ok(everything.offer.tools.some((tool) => tool.name === 'echo' && tool.reading));
  assert.ok(everything.offer.tools.some((tool) => tool.name === 'read_resource' && tool.reading));
  assert.ok(files.offer.tools.some((tool) => tool.name === 'write_file' && !tool.reading));
  assert.ok(!files.offer.tools.some((tool) => tool.name === 'read_resource'));

  assert.deepEqual(await call('everything', 'echo', { message: 'hi' }), { status: 'ok', text: 'Echo: hi' });
  const wrong = await call('everything', 'get-sum', { a: 'x' });
  assert.equal(wrong.status, 'error');
  assert.match(wrong.text, /Invalid arguments for tool get-sum/);
  const image = await call('everything', 'get-tiny-image');
  const [, sizeBytes, file] = /\[image, image\/png, (\d+) bytes: kept in (.*)\]/.exec(image.text) ?? [];
  assert.deepEqual(
    readFileSync(file ?? '')
      .subarray(1, 4)
      .toString(),
    'PNG',
  );
  assert.equal(readFileSync(file ?? '').length, Number(sizeBytes));
  const listed = await call('everything', 'read_resource', {}, { reading: true });
  const uri = /^\S+/.exec(listed.text)?.[0] ?? '';
  const read = await call('everything', 'read_resource', { uri }, { reading: true });
  assert.ok(read.status === 'ok' && read.text.startsWith(`[resource ${uri}`), read.text);
  const none = await call('everything', 'read_resource', { uri: 'none://x' }, { reading: true });
  assert.equal(none.status, 'error');
  assert.match((await call('everything', 'nothing')).text, /nothing/);

  const written = path.join(workspace, 'made.txt');
  assert.equal((await call('files', 'write_file', { path: written, content: 'made' })).status, 'ok');
  assert.equal(readFileSync(written, 'utf8'), 'made');
  assert.match((await call('files', 'read_text_file', { path: '/etc/passwd' })).text, /Access denied/);

  const entities = [{ name: 'Roost', entityType: 'product', observations: ['runs agents'] }];
  assert.equal((await call('memory', 'create_entities', { entities })).status, 'ok');
  assert.match((await call('memory', 'search_nodes', { query: 'agents' }, { reading: true })).text, /Roost/);
});

test('one client of a server for all that call it, also when they come together (case 29)', async (t) => {
  const { pool, call, ref } = bench(t, { odd: odd('plain', 'WORKSPACE/notes') });
  const calls = Array.from({ length: 40 }, () => call('odd', 'peek', {}, { reading: true }));
  const seen = new Set((await Promise.all(calls)).map((outcome) => outcome.text));
  assert.deepEqual([...seen], [`seen by ${pool.status(ref('odd').hash).pid}`]);
  assert.equal(pool.running, 1);
});

test('a server that is killed in mid-call: unknown for what acts, asked again for what only reads', async (t) => {
  const { pool, call, ref, workspace, offer } = bench(t, { odd: odd('plain', 'WORKSPACE/notes') });
  const notes = path.join(workspace, 'notes');
  await offer('odd');
  const first = pool.status(ref('odd').hash).pid ?? 0;
  const acting = call('odd', 'slow', { text: 'once' });
  const reading = call('odd', 'linger', {}, { reading: true });
  await until('it acts', () => lines(notes).length === 1);
  process.kill(first, 'SIGKILL');
  const lost = await acting;
  assert.equal(lost.status, 'unknown');
  assert.match(lost.text, /^unknown: it was ended by SIGKILL\. Whether odd__slow took effect is not known/);
  await until('another one runs', () => ![null, first].includes(pool.status(ref('odd').hash).pid));
  const second = pool.status(ref('odd').hash).pid ?? 0;
  process.kill(second, 'SIGKILL');
  assert.equal((await reading).status, 'error');
  assert.deepEqual(lines(notes), ['once']);
  // It ended twice in a short time: the next call waits for no miracle, and says when it is tried again.
  await until('it may be tried again', () => pool.status(ref('odd').hash).status !== 'starting');
  const after = await callAgain(() => call('odd', 'note', { text: 'twice' }));
  assert.deepEqual(after, { status: 'ok', text: 'noted twice' });
  assert.deepEqual(lines(notes), ['once', 'twice']);
});

/** Calls until the pause after a failure is over. */
async function callAgain(call: () => Promise<ToolOutcome>): Promise<ToolOutcome> {
  for (;;) {
    const outcome = await call();
    if (!/It is tried again in \d+ seconds/.test(outcome.text)) return outcome;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

test('after a crash of Roost a call that acted is unknown and not made again; one that reads is', async (t) => {
  const { pool, call, workspace } = bench(t, { odd: odd('plain', 'WORKSPACE/notes') });
  const unknown = await call('odd', 'note', { text: 'again' }, { recover: true });
  assert.equal(unknown.status, 'unknown');
  assert.equal(pool.running, 0);
  assert.deepEqual(lines(path.join(workspace, 'notes')), []);
  const read = await call('odd', 'peek', {}, { recover: true, reading: true });
  assert.equal(read.status, 'ok');
});

test('bad tools are dropped one by one, and the others can be called', async (t) => {
  const { offer, call } = bench(t, { odd: odd('bad', 'WORKSPACE/notes') });
  const answer = await offer('odd');
  assert.ok(answer.kind === 'offer');
  assert.deepEqual(
    answer.offer.tools.map((tool) => tool.name),
    ['linger', 'note', 'näme with. dots', 'peek', 'slow'],
  );
  assert.equal(answer.offer.dropped.length, 8);
  assert.equal((await call('odd', 'note', { text: 'x' })).status, 'ok');
});

test('a hung server costs its start budget and no more (case 181); one that cannot start says why', async (t) => {
  const { offer, call, pool, ref } = bench(
    t,
    {
      hung: odd('hung'),
      missing: { command: 'no-such-program-of-roost' },
      dies: { command: process.execPath, args: ['-e', 'console.error("no licence"); process.exit(3)'] },
    },
    { startMs: 200 },
  );
  const hung = await offer('hung');
  assert.match(
    hung.kind === 'failed' ? hung.message : '',
    /has not started within 0.2 seconds. Its tools come when it has/,
  );
  const missing = await offer('missing');
  assert.match(
    missing.kind === 'failed' ? missing.message : '',
    /there is no program "no-such-program-of-roost"/,
  );
  await until('it has ended', () => pool.status(ref('dies').hash).status !== 'starting');
  const dies = await offer('dies');
  assert.match(dies.kind === 'failed' ? dies.message : '', /exit code 3: no licence/);
  const refused = await call('dies', 'note');
  assert.equal(refused.status, 'error');
  assert.match(
    refused.text,
    /The server dies cannot be used: .*no licence It is tried again in 1 seconds|no licence/,
  );
});

test('what a server prints beside its messages does no harm; a long result is cut, with the whole beside it', async (t) => {
  const { call } = bench(t, { noisy: odd('noisy', 'WORKSPACE/n'), huge: odd('huge', 'WORKSPACE/h') });
  assert.deepEqual(await call('noisy', 'note', { text: 'x' }), { status: 'ok', text: 'noted x' });
  const failed = await call('noisy', 'note', { text: 'fail' });
  assert.deepEqual(failed, { status: 'error', text: 'noted fail' });
  const { text, whole } = await call('huge', 'note', { text: 'x' });
  assert.ok(Buffer.byteLength(text) <= limits.resultBytes);
  assert.match(text, /^begin [^]*\[roost: \d+ of 300010 bytes left out\][^]* end$/);
  assert.equal(whole?.length, 300_010);
});

test('a list that changes is told, without a restart (case 182)', async (t) => {
  const { call, offered, pool, ref } = bench(t, { odd: odd('grows', 'WORKSPACE/n') });
  await call('odd', 'note', { text: 'x' });
  await until('the longer list came', () => offered.length === 2);
  const { pid } = pool.status(ref('odd').hash);
  assert.deepEqual(
    offered.map((offer) => offer.tools.length),
    [4, 5],
  );
  await call('odd', 'note', { text: 'y' });
  assert.equal(pool.status(ref('odd').hash).pid, pid);
});

test('a call that is given up ends at once, and the server is not harmed', async (t) => {
  const { call, pool, ref, workspace } = bench(t, { odd: odd('plain', 'WORKSPACE/n') });
  await call('odd', 'peek', {}, { reading: true });
  const notes = path.join(workspace, 'n');
  const cancel = until('it acts', () => lines(notes).length === 1);
  const given = await call('odd', 'slow', { text: 'x' }, { cancel });
  assert.equal(given.status, 'unknown');
  assert.equal(pool.status(ref('odd').hash).status, 'running');
});

test('a server that nobody calls is ended with all that it started, however stubborn', async (t) => {
  const { serverGraceMs } = limits;
  Object.assign(limits, { serverGraceMs: 200 });
  t.after(() => Object.assign(limits, { serverGraceMs }));
  const { call, pool, ref, workspace } = bench(t, { odd: odd('stubborn', 'WORKSPACE/pids') }, { idleMs: 50 });
  await call('odd', 'peek', {}, { reading: true });
  const pid = pool.status(ref('odd').hash).pid ?? 0;
  const child = Number(lines(path.join(workspace, 'pids'))[0]);
  assert.ok(isAlive(pid) && isAlive(child));
  await until('it is let go', () => pool.status(ref('odd').hash).status === 'idle');
  await until('both have ended', () => !isAlive(pid) && !isAlive(child));
});

test('more servers than may run: the one that nobody uses makes room (case 30)', async (t) => {
  const before = limits.serversRunning;
  Object.assign(limits, { serversRunning: 1 });
  t.after(() => Object.assign(limits, { serversRunning: before }));
  const { call, pool } = bench(t, { a: odd('plain', 'WORKSPACE/a'), b: odd('plain', 'WORKSPACE/b') });
  await call('a', 'peek', {}, { reading: true });
  assert.equal((await call('b', 'peek', {}, { reading: true })).status, 'ok');
  assert.equal(pool.running, 1);
  const busy = call(
    'b',
    'linger',
    {},
    { reading: true, cancel: new Promise((resolve) => setTimeout(resolve, 300)) },
  );
  const refused = await call('a', 'peek', {}, { reading: true });
  assert.match(refused.text, /1 servers run already and all of them are at work/);
  await busy;
});

test('values of a definition that are secrets reach the server, and are named to be hidden', async (t) => {
  const { call, hidden } = bench(t, {
    everything: {
      command: process.execPath,
      args: [reference('everything'), 'stdio'],
      env: { MY_TOKEN: 'tell-nobody', SHORT_KEY: 'x' },
    },
  });
  const env: unknown = JSON.parse((await call('everything', 'get-env')).text);
  assert.ok(typeof env === 'object' && env !== null);
  assert.equal(Reflect.get(env, 'MY_TOKEN'), 'tell-nobody');
  assert.deepEqual(hidden, ['tell-nobody']);
  // What the sidecar was started with is not the server's business.
  const own = ['ROOST_STORE', 'NODE_OPTIONS'].filter((name) => Reflect.has(env, name));
  assert.deepEqual(own, []);
});

test('of files that results held the newest are kept, and a large one is only named', async (t) => {
  const { receivedFiles, receivedBytes } = limits;
  Object.assign(limits, { receivedFiles: 2, receivedBytes: 10 });
  t.after(() => Object.assign(limits, { receivedFiles, receivedBytes }));
  const directory = path.join(temporaryDirectory(t), 'received');
  const received = receivedIn(directory);
  const keep = (text: string) => received(Buffer.from(text).toString('base64'), 'image/../x');
  const [a, b] = [await keep('a'), await keep('b')];
  assert.ok(typeof a !== 'string' && typeof b !== 'string');
  utimesSync(a.path, 1, 1);
  assert.match(a.path, /received.[0-9a-f]{16}\.bin$/);
  await keep('b');
  assert.deepEqual(readdirSync(directory).length, 2);
  const c = await keep('c');
  assert.ok(typeof c !== 'string');
  assert.deepEqual(readdirSync(directory).sort(), [b, c].map((each) => path.basename(each.path)).sort());
  assert.equal(await keep('more than ten'), 'larger than 10 bytes');
});

test('a server that wants a sign-in: what to do is said', async (t) => {
  const server = createServer((_request, response) => void response.writeHead(401).end('who are you?'));
  t.after(() => server.close());
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : 0);
    });
  });
  const { offer } = bench(t, { web: { type: 'http', url: `http://127.0.0.1:${port}/mcp` } });
  const answer = await offer('web');
  assert.match(
    answer.kind === 'failed' ? answer.message : '',
    /wants a sign-in \(HTTP 401\).*"Authorization": "Bearer \$\{input:NAME\}"/,
  );
});

test('a definition that changed since it was trusted is not started (case 219)', async (t) => {
  const { call, file, pool } = bench(t, { odd: odd('plain', 'WORKSPACE/n') });
  writeFileSync(file, readFileSync(file, 'utf8').replace('plain', 'noisy'));
  const refused = await call('odd', 'peek', {}, { reading: true });
  assert.equal(refused.status, 'error');
  assert.match(refused.text, /has changed, and the person has not been asked about the new one/);
  assert.equal(pool.running, 0);
});

test('over HTTP: the reference server is called, dies in mid-call, and is reached again when it is back', async (t) => {
  const port = await freePort();
  let server = startHttp(t, port);
  await server.listening;
  const { call, offer, pool, ref } = bench(t, { web: { type: 'http', url: `http://127.0.0.1:${port}/mcp` } });
  const answer = await offer('web');
  assert.ok(answer.kind === 'offer' && answer.offer.tools.length > 5);
  assert.deepEqual(await call('web', 'echo', { message: 'hi' }), { status: 'ok', text: 'Echo: hi' });
  const said: string[] = [];
  const input = { duration: 30, steps: 60 };
  const acting = call('web', 'trigger-long-running-operation', input, {
    output: (text) => void said.push(text),
  });
  await until('it says how far it is', () => said.length > 0);
  server.kill();
  const lost = await acting;
  assert.equal(lost.status, 'unknown');
  await until('nobody believes that it runs', () => pool.status(ref('web').hash).status !== 'running');
  const gone = await call('web', 'echo', { message: 'x' });
  assert.equal(gone.status, 'error');
  server = startHttp(t, port);
  await server.listening;
  assert.deepEqual(await callAgain(() => call('web', 'echo', { message: 'back' })), {
    status: 'ok',
    text: 'Echo: back',
  });
});

function startHttp(t: TestContext, port: number): { readonly listening: Promise<void>; kill(): void } {
  const child = spawn(process.execPath, [reference('everything'), 'streamableHttp'], {
    env: { ...process.env, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
    windowsHide: true,
  });
  t.after(() => void child.kill('SIGKILL'));
  const listening = new Promise<void>((resolve) => {
    child.stderr.on('data', (chunk: Buffer) => {
      if (chunk.toString().includes('listening')) resolve();
    });
  });
  return { listening, kill: () => void child.kill('SIGKILL') };
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = net.createServer();
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
