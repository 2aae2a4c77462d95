// A folder for one test: made empty, taken away when the test ends.

import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';

/**
 * Where a sync costs nothing, for tests of what a killed process leaves: SIGKILL takes nothing from the system's
 * cache, so memory is as good as a disk there.
 */
export const memoryFolder = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** An empty folder that goes with the test. `under` is where it is made: the system's temporary folder, or a faster one. */
export function folder(t: TestContext, under: string = tmpdir()): string {
  const directory = mkdtempSync(path.join(under, 'roost-store-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}
