// Files on disk: read within a bound, written whole or not at all.
//
// A write keeps what surrounds the bytes: mode, owner, links to and from the file. It is durable before it is
// reported (I2). Paths come resolved (paths.ts). Not here: open buffers, which win over the disk (buffers.ts).

import { constants } from 'node:fs';
import type { Stats } from 'node:fs';
import { lstat, mkdir, open, rename, unlink } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { codeOf } from './paths.ts';

export type FileRead =
  | { readonly kind: 'file'; readonly bytes: Uint8Array }
  | { readonly kind: 'missing' }
  /** A directory, a file that is too large, a device, one that may not be read: `text` says which. */
  | { readonly kind: 'refused'; readonly text: string };

/** The bytes of a regular file of at most `maxBytes`. */
export async function readWhole(file: string, maxBytes: number): Promise<FileRead> {
  try {
    const stat = await lstat(file);
    if (stat.isDirectory()) return { kind: 'refused', text: `${file} is a directory.` };
    if (!stat.isFile()) return { kind: 'refused', text: `${file} is not a regular file.` };
    if (maxBytes < stat.size) {
      return {
        kind: 'refused',
        text: `${file} has ${stat.size} bytes, the limit is ${maxBytes}. Work on a part of it with a command.`,
      };
    }
    const handle = await open(file, constants.O_RDONLY);
    try {
      return { kind: 'file', bytes: await readAll(handle, stat.size) };
    } finally {
      await handle.close();
    }
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return { kind: 'missing' };
    return { kind: 'refused', text: `${file} cannot be read: ${messageOf(error)}.` };
  }
}

async function readAll(handle: FileHandle, sizeBytes: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(sizeBytes);
  let at = 0;
  while (at < sizeBytes) {
    const { bytesRead } = await handle.read(bytes, at, sizeBytes - at, at);
    if (bytesRead === 0) break;
    at += bytesRead;
  }
  return bytes.subarray(0, at);
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/**
 * Puts bytes into a file, or removes it (null), durably. A new file gets the directories it needs. Throws what
 * the file system throws; then the file is as it was, except for hard-linked files and files of others in
 * directories that may not be written, which are overwritten in place.
 */
export async function writeWhole(file: string, bytes: Uint8Array | null): Promise<void> {
  if (bytes === null) {
    await unlink(file).catch((error: unknown) => {
      if (codeOf(error) !== 'ENOENT') throw error;
    });
    return await syncDirectory(path.dirname(file));
  }
  const stat = await lstat(file).catch(() => null);
  if (stat === null) await mkdir(path.dirname(file), { recursive: true });
  if (stat !== null && !stat.isFile()) throw new Error(`${file} is not a regular file`);
  // A rename would cut the file off from its other names.
  if (stat !== null && 1 < stat.nlink) return await overwrite(file, bytes);
  try {
    await replace(file, bytes, stat);
  } catch (error) {
    const code = codeOf(error);
    if (stat === null || (code !== 'EACCES' && code !== 'EPERM')) throw error;
    await overwrite(file, bytes);
  }
}

async function overwrite(file: string, bytes: Uint8Array): Promise<void> {
  const handle = await open(file, 'r+');
  try {
    await handle.write(bytes, 0, bytes.length, 0);
    await handle.truncate(bytes.length);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Beside the file under a temporary name, made durable, then renamed over it. */
async function replace(file: string, bytes: Uint8Array, stat: Stats | null): Promise<void> {
  const temporary = temporaryOf(file);
  const handle = await open(temporary, 'w', stat === null ? 0o666 : stat.mode & 0o7777);
  try {
    await keepOwner(handle, stat);
    await handle.write(bytes, 0, bytes.length, 0);
    await handle.sync();
    await handle.close();
    await rename(temporary, file);
  } catch (error) {
    await handle.close().catch(() => undefined);
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
  await syncDirectory(path.dirname(file));
}

/** The same name for every try, so that a file left by a crash is overwritten by the next and removed by recovery. */
export const temporaryOf = (file: string): string =>
  path.join(path.dirname(file), `.${path.basename(file).slice(0, 200)}.roost-write`);

/** For git: files that are just being written are nobody's work, though they are there for a moment. */
export const exceptTemporary = '--exclude=.*.roost-write';

async function keepOwner(handle: FileHandle, stat: Stats | null): Promise<void> {
  if (stat === null) return;
  // `open` masks the mode with the umask, and chown clears setuid: so owner first, then mode.
  const made = await handle.stat();
  if (made.uid !== stat.uid || made.gid !== stat.gid) await handle.chown(stat.uid, stat.gid);
  await handle.chmod(stat.mode & 0o7777);
}

/** Makes a rename or a removal durable. Windows cannot open directories, and needs no such thing. */
async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, constants.O_RDONLY).catch(() => null);
  if (handle === null) return;
  await handle.sync().catch(() => undefined);
  await handle.close();
}
