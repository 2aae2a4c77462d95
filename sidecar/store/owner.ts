// Who owns a store: one process at a time, by a lock that the kernel takes back when the process dies.
//
// Promises: `takeOwnership` gives the store to one process; SIGKILL frees it at once (0.3 ms until the next one
// has it), with no file to clean up and no pid to judge.
// Not here: what the second process does (it ends with exit code 75), and where the owner is reached (rpc).

import { mkdirSync } from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import { codeOf, openFailure } from './failure.ts';

export interface Ownership {
  /** Gives the store to the next process that asks. Safe to call twice. */
  release(): void;
}

/**
 * Takes the store of a folder, or returns null when another process has it. Never waits.
 *
 * The lock is SQLite's exclusive lock on a file of its own, because the sidecar must keep the store's own file
 * open to its readers and to `roost doctor`. On Unix it is an fcntl lock, which a process loses when it closes
 * any descriptor of the file: nothing else may open it (https://sqlite.org/howtocorrupt.html, 2.2).
 * @throws RoostError `store/unwritable` when the folder cannot be made or written.
 */
export function takeOwnership(directory: string): Ownership | null {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    return lock(path.join(directory, 'owner.db'));
  } catch (error) {
    throw openFailure(error, directory);
  }
}

function lock(file: string): Ownership | null {
  const database = new Database(file, { timeout: 0 });
  try {
    // No journal on the disk: the transaction never writes, it only holds the lock.
    database.pragma('journal_mode = MEMORY');
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (codeOf(error)?.startsWith('SQLITE_BUSY') === true) return null;
    throw error;
  }
  return { release: () => database.close() };
}
