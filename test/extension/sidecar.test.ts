// Finding a Node and starting a sidecar with it, with real processes: a fake sidecar program and shells that
// behave badly.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { afterEach, beforeEach, test } from 'node:test';
import { Launcher, loginPath, readDiscovery } from '../../extension/sidecar.ts';
import type { Machine } from '../../extension/sidecar.ts';
import { discoveryFile } from '../../sidecar/protocol/discovery.ts';
import { quietLog, temporaryStore } from './fakeSidecar.ts';

const posix = { skip: process.platform === 'win32' };
const script = path.join(import.meta.dirname, 'fakeSidecar.ts');
let store: string;
let remove: () => void;
let log: ReturnType<typeof quietLog>;

beforeEach(() => {
  ({ store, remove } = temporaryStore());
  log = quietLog();
});

afterEach(async () => {
  const running = await readDiscovery(store);
  if (running !== null && running.pid !== process.pid) process.kill(running.pid, 'SIGKILL');
  remove();
});

/** This machine as an editor on Electron sees it, whose own binary is no use. */
function machine(over: Partial<Machine> = {}): Machine {
  const env = { ...process.env, PATH: '/nowhere', SHELL: undefined };
  return { setting: '', execPath: '/nowhere/code', electron: true, platform: process.platform, env, ...over };
}

function launcher(over: Partial<Machine> = {}): Launcher {
  return new Launcher({ script, machine: () => machine(over), log });
}

function program(name: string, text: string): string {
  const folder = path.join(store, 'bin');
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, name);
  writeFileSync(file, text);
  chmodSync(file, 0o755);
  return file;
}

test('the setting is taken, the sidecar listens and outlives its starter', async () => {
  const found = await launcher({ setting: process.execPath }).start(store);
  assert.equal(found.store, store);
  assert.notEqual(found.pid, process.pid);
  assert.deepEqual(await readDiscovery(store), found);
  process.kill(found.pid, 0);
});

test('a server\u2019s own Node is taken when it is no Electron', async () => {
  await launcher({ execPath: process.execPath, electron: false }).start(store);
  assert.ok(log.lines.some((line) => line.includes(`Node for the sidecar: ${process.execPath}`)));
});

test('a Node that fails the self-test is passed over for the next one', posix, async () => {
  const old = program('node', '#!/bin/sh\nexit 139\n');
  const env = { ...process.env, PATH: `${path.dirname(old)}:${path.dirname(process.execPath)}` };
  await launcher({ setting: '/no/such/node', env }).start(store);
  assert.ok(log.lines.some((line) => line.startsWith(`${old} cannot run the sidecar: exit 139`)));
  assert.ok(log.lines.some((line) => line.startsWith('/no/such/node cannot run the sidecar')));
});

test(
  'the editor\u2019s binary acts as Node, told so by its environment, and not from a mount that vanishes',
  posix,
  async () => {
    const seen = path.join(store, 'seen');
    const code = program(
      'code',
      `#!/bin/sh\necho "$ELECTRON_RUN_AS_NODE" >> "${seen}"\nexec "${process.execPath}" "$@"\n`,
    );
    await launcher({ execPath: code }).start(store);
    assert.match(readFileSync(seen, 'utf8'), /^1\n/);
    const env = { ...process.env, PATH: '/nowhere', SHELL: undefined, APPIMAGE: '/home/me/Code.AppImage' };
    await assert.rejects(launcher({ execPath: code, env }).start(store), { code: 'sidecar/noNode' });
  },
);

test('no Node at all: says what to do', async () => {
  await assert.rejects(launcher().start(store), {
    code: 'sidecar/noNode',
    message: /Install Node 22 or newer, or set "roost.sidecar.node"/,
  });
});

test('a sidecar that ends tells its last words', async () => {
  const env = { ...process.env, ROOST_FAKE: 'ends' };
  await assert.rejects(launcher({ setting: process.execPath, env }).start(store), {
    code: 'sidecar/failed',
    message: /exit 1\): the disk is on fire/,
  });
});

test('one that cannot even write its log says it on standard error', async () => {
  const env = { ...process.env, ROOST_FAKE: 'says' };
  await assert.rejects(launcher({ setting: process.execPath, env }).start(store), {
    code: 'sidecar/failed',
    message: /exit 1\): The folder is read-only\. Choose another one\./,
  });
});

test('a second one that finds the store owned leads to the owner', async () => {
  const card = {
    ...{ pid: process.pid, startedAtMs: 1, bootId: 'b', nonce: 'n' },
    ...{ build: '1', socket: '/tmp/s', store },
  };
  writeFileSync(path.join(store, discoveryFile), JSON.stringify(card));
  const env = { ...process.env, ROOST_FAKE: 'owned' };
  assert.deepEqual(await launcher({ setting: process.execPath, env }).start(store), card);
});

test(
  'case 53: the PATH of the login shell, whatever its profile prints, and nothing from one that fails',
  posix,
  async () => {
    const chatty = program(
      'chatty',
      '#!/bin/sh\necho "welcome </roost> back"\nPATH=/opt/node/bin:/bin\neval "$2"\necho bye\n',
    );
    assert.equal(await loginPath(machine({ env: { SHELL: chatty } }), log), '/opt/node/bin:/bin');
    const broken = program('broken', '#!/bin/sh\nexit 1\n');
    assert.equal(await loginPath(machine({ env: { SHELL: broken } }), log), '');
    assert.equal(await loginPath(machine({ env: { SHELL: '/no/such/shell' } }), log), '');
    assert.equal(await loginPath(machine({ env: {} }), log), '');
  },
);

test('a half-written or foreign discovery file counts as none', async () => {
  for (const text of ['', '{"pid":1', '[]', '{"pid":"1"}']) {
    writeFileSync(path.join(store, discoveryFile), text);
    assert.equal(await readDiscovery(store), null);
  }
});
