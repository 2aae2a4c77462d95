// Where the sidecar keeps things: the store's directory, the socket, the `roost` command of agents' shells.
//
// Each function makes what it names, with access for this user only, or says in a sentence what is in the way.

import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';

import { discoveryFile, parseDiscovery, type Discovery } from '../protocol/discovery.ts';
import { RoostError } from '../protocol/errors.ts';
import { limits } from '../runtime/limits.ts';
import { unsafeFileSystem } from './fileSystem.ts';

/**
 * Makes the store's directory usable and returns its real path.
 * Throws `store/unwritable` when it cannot be made or written, `store/fileSystem` when SQLite is not safe there.
 */
export function prepareStore(directory: string): string {
  const wanted = path.resolve(directory);
  try {
    makeFolders(wanted);
    const real = fs.realpathSync(wanted);
    const probe = path.join(real, `.probe-${process.pid}`);
    // As much as the discovery file and the command need: a disk that is full takes an empty file.
    fs.writeFileSync(probe, '.'.repeat(probeBytes), { mode: 0o600 });
    fs.rmSync(probe);
    const type = unsafeFileSystem(real);
    if (type === null) return real;
    throw new RoostError(
      'store/fileSystem',
      `The store would be at ${real}, on a file system (${type}) where a database can break. ` +
        'Name a folder on a local disk with ROOST_STORE or --store.',
    );
  } catch (error) {
    if (error instanceof RoostError) throw error;
    if (codeOf(error) === 'ENOSPC') fs.rmSync(path.join(wanted, `.probe-${process.pid}`), { force: true });
    throw new RoostError(
      'store/unwritable',
      `The store's folder ${wanted} cannot be written (${reason(error)}). ` +
        `${codeOf(error) === 'ENOSPC' ? 'Make room there' : 'Make it writable for this user'}, or name another one with ROOST_STORE or --store.`,
    );
  }
}

const probeBytes = 16 * 1024;

/** Where the sidecar of a store listens. The folder is made, with access for this user only. */
export function socketPath(store: string, env: NodeJS.ProcessEnv = process.env): string {
  const name = createHash('sha256').update(store).digest('hex').slice(0, 20);
  if (process.platform === 'win32') return `\\\\.\\pipe\\roost-${name}`;
  const uid = process.getuid?.() ?? 0;
  const runtime = env['XDG_RUNTIME_DIR'];
  const folders = [
    ...(runtime?.startsWith('/') === true && isWritable(runtime) ? [path.join(runtime, 'roost')] : []),
    path.join(os.tmpdir(), `roost-${uid}`),
    `/tmp/roost-${uid}`,
  ];
  for (const folder of folders) {
    const socket = path.join(folder, `${name}.sock`);
    if (limits.socketPathBytes < Buffer.byteLength(socket)) continue;
    makePrivate(folder, uid);
    return socket;
  }
  throw new RoostError(
    'store/unwritable',
    'No folder for the socket: /tmp is not usable. Set XDG_RUNTIME_DIR.',
  );
}

/** Writes the discovery file whole or not at all, readable for this user only. */
export function writeDiscovery(discovery: Discovery): void {
  const target = path.join(discovery.store, discoveryFile);
  const fresh = `${target}.${process.pid}`;
  fs.writeFileSync(fresh, `${JSON.stringify(discovery)}\n`, { mode: 0o600 });
  fs.renameSync(fresh, target);
}

/** What the discovery file of a store says; null when there is none, or it is not one. */
export function readDiscovery(store: string): Discovery | null {
  try {
    return parseDiscovery(fs.readFileSync(path.join(store, discoveryFile), 'utf8'));
  } catch {
    return null;
  }
}

/** Takes the discovery file away, unless it is another process's by now. */
export function removeDiscovery(discovery: Discovery): void {
  if (readDiscovery(discovery.store)?.nonce !== discovery.nonce) return;
  fs.rmSync(path.join(discovery.store, discoveryFile), { force: true });
}

/**
 * Puts the `roost` command into `<store>/bin` for agents' shells and returns that folder. It names this very
 * Node and this very build, because a shell's PATH may have neither.
 */
export function installCommand(store: string, cli: string): string {
  const folder = path.join(store, 'bin');
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (process.platform === 'win32') {
    const text = `@set ELECTRON_RUN_AS_NODE=1\r\n@"${process.execPath}" "${cli}" %*\r\n`;
    fs.writeFileSync(path.join(folder, 'roost.cmd'), text);
    return folder;
  }
  const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
  const text = `#!/bin/sh\nELECTRON_RUN_AS_NODE=1 exec ${quoted(process.execPath)} ${quoted(cli)} "$@"\n`;
  const target = path.join(folder, 'roost');
  // By rename: a shell that is reading the old one must not see half of the new one.
  fs.writeFileSync(`${target}.${process.pid}`, text, { mode: 0o755 });
  fs.renameSync(`${target}.${process.pid}`, target);
  return folder;
}

/** Level by level, because Node's own `recursive` never returns where a file system answers ENOENT (/proc does). */
function makeFolders(folder: string): void {
  if (fs.existsSync(folder)) return;
  const above = path.dirname(folder);
  if (above !== folder) makeFolders(above);
  fs.mkdirSync(folder, { mode: 0o700 });
}

/** A folder that nobody else can enter: others could put a socket of their own there and be given the nonce. */
function makePrivate(folder: string, uid: number): void {
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  const found = fs.lstatSync(folder);
  if (!found.isDirectory() || found.uid !== uid) {
    throw new RoostError(
      'store/unwritable',
      `${folder} belongs to somebody else, so the socket is not safe there. Remove it, or set XDG_RUNTIME_DIR.`,
    );
  }
  if ((found.mode & 0o077) !== 0) fs.chmodSync(folder, 0o700);
}

function isWritable(folder: string): boolean {
  try {
    fs.accessSync(folder, fs.constants.W_OK | fs.constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : '';

function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = codeOf(error);
  if (code === 'EACCES' || code === 'EPERM') return 'no permission';
  if (code === 'EROFS') return 'the file system is read-only';
  if (code === 'ENOSPC') return 'no room on the disk';
  if (code === 'ENOENT') return 'it cannot be made there';
  if (code === 'ENOTDIR' || code === 'EEXIST') return 'a part of the path is a file';
  return error.message;
}
