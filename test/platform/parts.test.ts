// The real clock, log, paths and processes, each by itself.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';

import { createClock } from '../../sidecar/platform/clock.ts';
import { fromMount, fromMountInfo, unsafeFileSystem } from '../../sidecar/platform/fileSystem.ts';
import { openLog } from '../../sidecar/platform/log.ts';
import {
  installCommand,
  prepareStore,
  readDiscovery,
  removeDiscovery,
  socketPath,
  writeDiscovery,
} from '../../sidecar/platform/paths.ts';
import {
  bootId,
  isRunning,
  privateBytes,
  processStartMs,
  thisProcess,
} from '../../sidecar/platform/processes.ts';
import { bindingProblem, nodeProblem } from '../../sidecar/platform/selfTest.ts';
import { RoostError } from '../../sidecar/protocol/errors.ts';

function folder(t: TestContext): string {
  const made = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'roost-platform-')));
  t.after(() => fs.rmSync(made, { recursive: true, force: true }));
  return made;
}

test('an alarm rings once, the newest replaces the one before, null takes it away', async () => {
  const clock = createClock();
  const rung: string[] = [];
  clock.alarm(clock.nowMs() + 5, () => rung.push('replaced'));
  clock.alarm(clock.nowMs() - 1_000, () => rung.push('past'));
  assert.equal(rung.length, 0, 'never before the call has returned');
  await new Promise((resolve) => setTimeout(resolve, 15));
  assert.deepEqual(rung, ['past']);
  clock.alarm(clock.nowMs() + 1, () => rung.push('taken away'));
  clock.alarm(null, () => undefined);
  await new Promise<void>((resolve) => clock.alarm(clock.nowMs() + 5, resolve));
  assert.deepEqual(rung, ['past']);
});

test('a wall clock that jumps ahead is told, and rings what is due by now (case 125)', async () => {
  let aheadMs = 0;
  const jumps: number[] = [];
  const clock = createClock({ wallMs: () => Date.now() + aheadMs, jumped: (byMs) => jumps.push(byMs) });
  const rung = new Promise<void>((resolve) => clock.alarm(clock.nowMs() + 20, resolve));
  aheadMs = 8 * 3_600_000;
  await rung;
  assert.equal(jumps.length, 1);
  assert.ok(Math.abs((jumps[0] ?? 0) - aheadMs) < 1_000);
});

test('a clock for short waits neither rings early nor falls silent when the wall clock is set', async () => {
  let aheadMs = 0;
  const clock = createClock({ alarm: 'elapsed', wallMs: () => Date.now() + aheadMs });
  const started = clock.monotonicMs();
  const rung = new Promise<void>((resolve) => clock.alarm(clock.nowMs() + 20, resolve));
  aheadMs = -3_600_000;
  await rung;
  assert.ok(19 <= clock.monotonicMs() - started);
});

test('the log is bounded, rotates once, and hides secrets', (t) => {
  const file = path.join(folder(t), 'sidecar.log');
  const log = openLog(file, 2_000);
  log.hide('hunter2-hunter2');
  log.hide('short');
  log.info('first', {
    key: 'x hunter2-hunter2 y',
    other: 'Bearer abcdefghijkl',
    third: 'sk-ant-api03-abcdefgh',
  });
  const first = fs.readFileSync(file, 'utf8');
  assert.doesNotMatch(first, /hunter2-hunter2|abcdefgh/);
  assert.equal(log.redacted('a hunter2-hunter2 and a short one'), 'a [secret] and a short one');
  assert.equal(JSON.parse(first).message, 'first');
  for (let i = 0; i < 200; i++) log.warn(`line ${i}`, { text: 'short'.repeat(4) });
  log.error('long', { text: 'x'.repeat(100_000) });
  log.close();
  assert.deepEqual(fs.readdirSync(path.dirname(file)), ['sidecar.log', 'sidecar.log.1']);
  assert.ok(fs.statSync(file).size <= 12_000 && fs.statSync(`${file}.1`).size <= 2_000);
  for (const name of [file, `${file}.1`]) {
    for (const line of fs.readFileSync(name, 'utf8').trim().split('\n')) JSON.parse(line);
  }
});

test('a log that cannot be written stops nobody', (t) => {
  const log = openLog(path.join(folder(t), 'missing', 'sidecar.log'));
  log.error('lost');
  log.close();
});

test('file systems where a database can break are known by the mount that holds the path (case 117)', () => {
  const mounts = [
    '27 1 254:0 / / rw - ext4 /dev/vda rw',
    '40 27 0:40 / /mnt/share rw,relatime shared:1 - nfs4 host:/x rw',
    '41 27 0:41 / /mnt/with\\040blank rw - 9p C: rw',
    '42 40 0:42 / /mnt/share/local rw - xfs /dev/b rw',
  ].join('\n');
  assert.equal(fromMountInfo('/home/me', mounts), 'ext4');
  assert.equal(fromMountInfo('/mnt/share/a/b', mounts), 'nfs4');
  assert.equal(fromMountInfo('/mnt/shared', mounts), 'ext4');
  assert.equal(fromMountInfo('/mnt/share/local/a', mounts), 'xfs');
  assert.equal(fromMountInfo('/mnt/with blank', mounts), '9p');
  const mac = '/dev/disk3s1 on / (apfs, local)\n//me@nas/home on /Volumes/home (smbfs, nodev)\n';
  assert.equal(fromMount('/Volumes/home/x', mac), 'smbfs');
  assert.equal(fromMount('/Users/me', mac), 'apfs');
  assert.equal(unsafeFileSystem(os.tmpdir()), null);
});

test('a store that cannot be made says which path and what to do', (t) => {
  const here = folder(t);
  const made = prepareStore(path.join(here, 'a', 'b'));
  assert.equal(fs.statSync(made).mode & 0o777, 0o700);
  assert.deepEqual(fs.readdirSync(made), []);
  fs.writeFileSync(path.join(here, 'file'), '');
  for (const wrong of [path.join(here, 'file'), path.join(here, 'file', 'below'), '/proc/roost']) {
    assert.throws(
      () => prepareStore(wrong),
      (error: unknown) => {
        assert.ok(error instanceof RoostError);
        assert.equal(error.code, 'store/unwritable');
        assert.ok(error.message.includes(wrong) && error.message.includes('ROOST_STORE'), error.message);
        return true;
      },
    );
  }
});

test('a store on a full disk says so before anything is started', (t) => {
  const paths = path.resolve(import.meta.dirname, '../../sidecar/platform/paths.ts');
  const script = `import { prepareStore } from ${JSON.stringify(paths)};
    try { prepareStore(process.argv[1]); } catch (error) { console.log(error.code, error.message); }`;
  const mounted = `mount -t tmpfs -o size=64k tmpfs "$1" && { cat /dev/zero > "$1/other" || true; } 2>/dev/null &&
    "$2" --input-type=module -e "$3" "$1" && ls -A "$1"`;
  const args = ['-rm', 'sh', '-c', mounted, 'sh', folder(t), process.execPath, script];
  const run = spawnSync('unshare', args, { encoding: 'utf8', timeout: 20_000, windowsHide: true });
  if (run.error !== undefined || /unshare|mount/.test(run.stderr)) {
    t.skip('no small disk can be mounted here');
    return;
  }
  assert.match(run.stdout, /^store\/unwritable .*no room on the disk\). Make room there, or .*\nother\n$/);
});

test('the socket has a short path in a folder of this user alone', (t) => {
  const here = folder(t);
  const socket = socketPath('/some/store', { XDG_RUNTIME_DIR: here });
  assert.equal(path.dirname(socket), path.join(here, 'roost'));
  assert.equal(fs.statSync(path.dirname(socket)).mode & 0o777, 0o700);
  assert.notEqual(socket, socketPath('/other/store', { XDG_RUNTIME_DIR: here }));
  const deep = path.join(here, 'x'.repeat(90));
  fs.mkdirSync(deep);
  const short = socketPath('/some/store', { XDG_RUNTIME_DIR: deep });
  assert.ok(Buffer.byteLength(short) <= 100 && !short.startsWith(deep));
  fs.chmodSync(path.join(here, 'roost'), 0o755);
  socketPath('/some/store', { XDG_RUNTIME_DIR: here });
  assert.equal(fs.statSync(path.join(here, 'roost')).mode & 0o777, 0o700);
});

test('a socket folder that somebody else could have put there is refused (case 197)', (t) => {
  const here = folder(t);
  fs.mkdirSync(path.join(here, 'elsewhere'));
  fs.symlinkSync(path.join(here, 'elsewhere'), path.join(here, 'roost'));
  assert.throws(() => socketPath('/some/store', { XDG_RUNTIME_DIR: here }), /belongs to somebody else/);
});

test('the discovery file is whole, private, and removed only by its writer', (t) => {
  const store = folder(t);
  const card = { ...thisProcess(), nonce: 'n1', build: 'b', socket: '/s', store };
  writeDiscovery(card);
  assert.equal(fs.statSync(path.join(store, 'sidecar.json')).mode & 0o777, 0o600);
  assert.deepEqual(readDiscovery(store), card);
  writeDiscovery({ ...card, nonce: 'n2' });
  removeDiscovery(card);
  assert.equal(readDiscovery(store)?.nonce, 'n2');
  removeDiscovery({ ...card, nonce: 'n2' });
  assert.equal(readDiscovery(store), null);
  fs.writeFileSync(path.join(store, 'sidecar.json'), '{"pid":');
  assert.equal(readDiscovery(store), null);
});

test('a process is known by pid, start and boot, not by its pid alone (case 111)', () => {
  const self = thisProcess();
  assert.ok(isRunning(self));
  assert.equal(isRunning({ ...self, bootId: 'another boot' }), false);
  assert.equal(isRunning({ ...self, pid: 2 ** 22 + 1 }), false);
  if (processStartMs(process.pid) !== null) {
    assert.equal(isRunning({ ...self, startedAtMs: self.startedAtMs - 60_000 }), false);
  }
  assert.equal(bootId(), bootId());
  assert.ok(1_000_000 < privateBytes());
});

test('the roost command of agents names this Node and this build, whatever the PATH', (t) => {
  const store = folder(t);
  const odd = path.join(store, "it's a cli.cjs");
  fs.writeFileSync(odd, 'console.log(process.argv.slice(2).join("|"))');
  const command = path.join(installCommand(store, odd), 'roost');
  assert.equal(fs.statSync(command).mode & 0o111, 0o111);
  assert.match(fs.readFileSync(command, 'utf8'), /ELECTRON_RUN_AS_NODE=1/);
});

test('an old Node and a binding that does not load are said in one line', async () => {
  assert.equal(nodeProblem('22.0.0'), null);
  assert.match(nodeProblem('20.19.1') ?? '', /needs Node 22 or newer.*20\.19\.1.*roost\.sidecar\.node/);
  assert.equal(await bindingProblem(() => Promise.resolve()), null);
  const problem = await bindingProblem(() => Promise.reject(new Error('wrong ELF class\nstack')));
  assert.match(problem ?? '', /^The database could not be loaded .*: wrong ELF class\. Reinstall/);
});
