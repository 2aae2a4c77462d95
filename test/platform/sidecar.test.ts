// The sidecar as a process: one owner per store, quiet streams, an orderly end, a clear word when it cannot start.

import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import * as fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';

import { readDiscovery } from '../../sidecar/platform/paths.ts';
import { build } from '../../sidecar/protocol/version.ts';
import { connectTo, until } from '../rpc/rig.ts';

const main = path.resolve(import.meta.dirname, '../../sidecar/main.ts');

interface Run {
  readonly child: ChildProcess;
  stdout: string;
  stderr: string;
  /** Null while it runs. */
  code: number | null;
  readonly ended: Promise<number>;
}

/** Processes of a test; they end before its folders go, or one of them could still write there. */
const runs = new WeakMap<TestContext, Run[]>();

function folder(t: TestContext): string {
  const made = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'roost-sidecar-')));
  t.after(async () => {
    for (const run of runs.get(t) ?? []) {
      run.child.kill('SIGKILL');
      await run.ended;
    }
    fs.rmSync(made, { recursive: true, force: true });
  });
  return made;
}

function start(t: TestContext, args: readonly string[], nodeArgs: readonly string[] = []): Run {
  const child = spawn(process.execPath, [...nodeArgs, main, ...args], { windowsHide: true });
  const ended = new Promise<number>((resolve) => {
    child.once('close', (code) => {
      run.code = code ?? -1;
      resolve(run.code);
    });
  });
  const run: Run = { child, stdout: '', stderr: '', code: null, ended };
  child.stdout.on('data', (chunk: Buffer) => (run.stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (run.stderr += chunk.toString()));
  runs.set(t, [...(runs.get(t) ?? []), run]);
  return run;
}

async function started(
  t: TestContext,
  store: string,
  args: readonly string[] = [],
  nodeArgs: readonly string[] = [],
): Promise<Run> {
  const before = readDiscovery(store)?.nonce;
  const run = start(t, ['--store', store, ...args], nodeArgs);
  await until(
    'it listens',
    () => {
      assert.equal(run.code, null, run.stderr);
      const found = readDiscovery(store);
      return found !== null && found.nonce !== before;
    },
    15_000,
  );
  return run;
}

test('a second sidecar for the store ends with 75 and names the owner', async (t) => {
  const store = folder(t);
  const first = await started(t, store);
  const second = start(t, ['--store', store]);
  assert.equal(await second.ended, 75);
  assert.match(second.stderr, new RegExp(`run by process ${first.child.pid} already`));
  assert.match(second.stderr, /roost shutdown/);
  assert.equal(first.code, null);
});

test('killed with SIGKILL, the next one has the store at once, whatever was left behind', async (t) => {
  const store = folder(t);
  const first = await started(t, store);
  const left = readDiscovery(store);
  first.child.kill('SIGKILL');
  await first.ended;
  assert.deepEqual(readDiscovery(store), left);
  await started(t, store);
  const found = readDiscovery(store);
  assert.notEqual(found?.nonce, left?.nonce);
  const client = await connectTo(t, found);
  assert.deepEqual(await client.call('ping', {}), {});
});

test('SIGTERM, SIGINT and shutdown end it in order: no discovery file, no socket, exit 0', async (t) => {
  for (const way of ['SIGTERM', 'SIGINT', 'shutdown'] as const) {
    const store = folder(t);
    const run = await started(t, store);
    const found = readDiscovery(store);
    const client = await connectTo(t, found);
    if (way === 'shutdown') assert.deepEqual(await client.call('shutdown', {}), {});
    else run.child.kill(way);
    // Asked twice it still ends once (case 195).
    run.child.kill('SIGTERM');
    assert.equal(await run.ended, 0, way);
    await until('its clients are told', () => client.closed);
    assert.equal(readDiscovery(store), null);
    assert.equal(fs.existsSync(found?.socket ?? ''), false);
    assert.match(fs.readFileSync(path.join(store, 'sidecar.log'), 'utf8'), /"message":"leaving"/);
  }
});

test('without client and work it leaves; with a client it stays', async (t) => {
  const store = folder(t);
  const run = await started(t, store, ['--idle-ms', '200']);
  const client = await connectTo(t, readDiscovery(store));
  const untilMs = performance.now() + 500;
  while (performance.now() < untilMs) await client.call('ping', {});
  assert.equal(run.code, null);
  client.close();
  assert.equal(await run.ended, 0);
});

test('what a dependency prints is a line of the log and reaches no client (case 186)', async (t) => {
  const store = folder(t);
  const noisy = path.join(store, 'noisy.mjs');
  fs.writeFileSync(
    noisy,
    `setInterval(() => {
      console.log('Content-Length: 5\\r\\n\\r\\nnoise');
      process.stdout.write(Buffer.from('more noise'));
    }, 1);`,
  );
  const run = await started(t, store, [], ['--import', noisy]);
  const client = await connectTo(t, readDiscovery(store));
  for (let i = 0; i < 20; i++) assert.deepEqual(await client.call('ping', {}), {});
  await until('it is logged', () =>
    fs.readFileSync(path.join(store, 'sidecar.log'), 'utf8').includes('more noise'),
  );
  assert.equal(run.stdout, '');
});

test('an exception and a rejection that nobody caught are logged and end nothing (case 97)', async (t) => {
  const store = folder(t);
  const faulty = path.join(store, 'faulty.mjs');
  fs.writeFileSync(
    faulty,
    `import { existsSync } from 'node:fs';
     const timer = setInterval(() => {
       if (!existsSync(${JSON.stringify(path.join(store, 'sidecar.json'))})) return;
       clearInterval(timer);
       setTimeout(() => { throw new Error('thrown by a part'); });
       void Promise.reject(new Error('rejected by a part'));
     }, 10);`,
  );
  const run = await started(t, store, [], ['--import', faulty]);
  const log = (): string => fs.readFileSync(path.join(store, 'sidecar.log'), 'utf8');
  await until('both are logged', () => /thrown by a part/.test(log()) && /rejected by a part/.test(log()));
  const client = await connectTo(t, readDiscovery(store));
  assert.deepEqual(await client.call('ping', {}), {});
  assert.equal(run.code, null);
});

test('a store that failed ends it at once, and the next one has the store', async (t) => {
  const store = folder(t);
  const faulty = path.join(store, 'faulty.mjs');
  const errors = path.resolve(import.meta.dirname, '../../sidecar/protocol/errors.ts');
  fs.writeFileSync(
    faulty,
    `import { existsSync } from 'node:fs';
     import { RoostError } from ${JSON.stringify(pathToFileURL(errors).href)};
     const timer = setInterval(() => {
       if (!existsSync(${JSON.stringify(path.join(store, 'sidecar.json'))})) return;
       clearInterval(timer);
       setImmediate(() => { throw new RoostError('store/failed', 'The disk is gone.'); });
     }, 10);`,
  );
  const run = start(t, ['--store', store], ['--import', faulty]);
  assert.equal(await run.ended, 1, run.stderr);
  assert.match(fs.readFileSync(path.join(store, 'sidecar.log'), 'utf8'), /The disk is gone/);
  assert.equal(readDiscovery(store), null);
  await started(t, store);
});

test('the one that started it may be gone: nobody reads its streams and it goes on', async (t) => {
  const store = folder(t);
  const run = await started(t, store);
  run.child.stdout?.destroy();
  run.child.stderr?.destroy();
  run.child.kill('SIGHUP');
  const client = await connectTo(t, readDiscovery(store));
  assert.deepEqual(await client.call('ping', {}), {});
});

test('what it cannot do it says in one line, with the exit code for it', async (t) => {
  const store = folder(t);
  fs.writeFileSync(path.join(store, 'file'), '');
  const cases = [
    [['--store', path.join(store, 'file')], 1, /cannot be written .*Make it writable/],
    [['--colour'], 2, /Unknown option '--colour'/],
    [['--idle-ms', 'soon'], 2, /--idle-ms needs a number/],
  ] as const;
  for (const [args, code, says] of cases) {
    const run = start(t, args);
    assert.equal(await run.ended, code, run.stderr);
    assert.match(run.stderr, says);
    assert.equal(run.stdout, '');
  }
});

test('--version and --self-test answer on standard output', async (t) => {
  const version = start(t, ['--version']);
  assert.equal(await version.ended, 0);
  assert.equal(version.stdout, `${build}\n`);
  const tested = start(t, ['--self-test']);
  assert.equal(await tested.ended, 0);
  assert.match(tested.stdout, /^ok: Node \d+/);
});
