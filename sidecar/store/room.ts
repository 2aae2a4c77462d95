// Room on the disk: a file that is given up when the disk is full, so that the rows that say so can be written.
//
// Promises: the ballast is real bytes, not a hole; it is given up once a commit found no room, and made again as
// soon as the disk has four times its size.
// Not here: which agents wait because the disk is full (the runtime writes those rows).

import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs';
import path from 'node:path';
import { limits } from '../runtime/limits.ts';
import { nodeCode } from './failure.ts';

export class Room {
  readonly #directory: string;
  readonly #file: string;
  #timer: NodeJS.Timeout | null = null;

  constructor(directory: string) {
    this.#directory = directory;
    this.#file = path.join(directory, 'ballast');
  }

  /** Makes the ballast soon, when it is not there: not now, because the first rows on screen should not wait for it. */
  prepare(): void {
    this.#later();
  }

  /** True when a small file cannot be written for want of room or quota. Some errors of SQLite do not say it. */
  none(): boolean {
    const probe = path.join(this.#directory, 'probe');
    try {
      writeFile(probe, limits.probeBytes);
      return false;
    } catch (error) {
      const code = nodeCode(error);
      return code === 'ENOSPC' || code === 'EDQUOT';
    } finally {
      rmSync(probe, { force: true });
    }
  }

  /** Gives the ballast to whoever needs room; looks from time to time whether it can be made again. */
  release(): void {
    rmSync(this.#file, { force: true });
    this.#later();
  }

  /** Makes the ballast if the disk has room for it. Returns whether it is there. */
  restore(): boolean {
    if ((statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0) >= limits.ballastBytes) return true;
    try {
      const disk = statfsSync(this.#directory);
      if (disk.bavail * disk.bsize < limits.ballastBytes * 4) return false;
      writeFile(this.#file, limits.ballastBytes);
      return true;
    } catch {
      // Somebody else took the room in this moment, or the disk cannot say how much it has. Try again later.
      rmSync(this.#file, { force: true });
      return false;
    }
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #later(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      if (!this.restore()) this.#later();
    }, limits.ballastMs).unref();
  }
}

/** Writes a file of random bytes, which no file system stores as less than they are. */
function writeFile(file: string, bytes: number): void {
  const part = randomBytes(Math.min(bytes, 64 * 1024));
  const handle = openSync(file, 'w', 0o600);
  try {
    for (let written = 0; written < bytes; written += part.byteLength) writeSync(handle, part);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
