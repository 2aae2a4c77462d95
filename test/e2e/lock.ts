// One at a time across processes: the install of code-server, and VS Code itself, of which two at once starve
// each other on a machine with two cores. A lock is a folder with the pid of its owner; a dead owner's is taken.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const clone = createHash('sha256')
  .update(import.meta.dirname)
  .digest('hex')
  .slice(0, 8);
const held = new Set<string>();

process.on('exit', () => {
  for (const folder of held) rmSync(folder, { recursive: true, force: true });
});

export async function withLock<T>(name: string, work: () => Promise<T>): Promise<T> {
  const release = await takeLock(name);
  try {
    return await work();
  } finally {
    release();
  }
}

/** Waits for as long as the owner lives: the runner has a bound of its own on a test. */
export async function takeLock(name: string): Promise<() => void> {
  const folder = path.join(os.tmpdir(), `roost-${name}-${clone}`);
  for (;;) {
    try {
      mkdirSync(folder);
      held.add(folder);
      writeFileSync(path.join(folder, 'pid'), String(process.pid));
      return () => {
        held.delete(folder);
        rmSync(folder, { recursive: true, force: true });
      };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    await sleep(200);
    if (!ownerLives(folder)) rmSync(folder, { recursive: true, force: true });
  }
}

function ownerLives(folder: string): boolean {
  try {
    process.kill(Number(readFileSync(path.join(folder, 'pid'), 'utf8')), 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
