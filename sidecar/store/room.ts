// Room on the disk: a file that is given up when the disk is full, so that the rows that say so can be written.
//
// Promises: the ballast is real bytes, not a hole; it is given up once a commit found no room, and made again as
// soon as the disk has four times its size.
// Not here: which agents wait because the disk is full (the runtime writes those rows).

import { randomBytes } from 'node:crypto';
import { closeSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs';
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
      append(probe, limits.probeBytes);
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

  /**
   * Makes the next part of the ballast if the disk has room for the whole of it. Small parts, because this runs on
   * the loop: 1 MB takes 1 ms, the 16 MB with a sync took 40.
   * @returns `whole` when it is there, `part` when there is more to do, `none` when there is no room now.
   */
  grow(): 'whole' | 'part' | 'none' {
    try {
      const size = statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0;
      if (size >= limits.ballastBytes) return 'whole';
      const disk = statfsSync(this.#directory);
      if (disk.bavail * disk.bsize < limits.ballastBytes * 4) return 'none';
      append(this.#file, limits.ballastPartBytes);
      return 'part';
    } catch {
      // Somebody else took the room in this moment, or the disk cannot say how much it has. Try again later.
      rmSync(this.#file, { force: true });
      return 'none';
    }
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #later(waitMs: number = limits.ballastMs): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      const state = this.grow();
      if (state !== 'whole') this.#later(state === 'part' ? limits.ballastPartMs : limits.ballastMs);
    }, waitMs).unref();
  }
}

/** Appends random bytes to a file, which no file system stores as less than they are. */
function append(file: string, bytes: number): void {
  const handle = openSync(file, 'a', 0o600);
  try {
    writeSync(handle, randomBytes(bytes));
  } finally {
    closeSync(handle);
  }
}
