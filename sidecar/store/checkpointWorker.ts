// A thread that copies the write-ahead log into the database whenever it is told to (wal.ts).
//
// Promises: it waits for no lock and takes none that a commit needs; told to end, it closes its connection first.

import { fsyncSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { limits } from '../runtime/limits.ts';
import { checkpointNow } from './checkpoint.ts';
import type { CheckpointAnswer, CheckpointTask } from './checkpoint.ts';

const task: CheckpointTask = workerData;
const port = parentPort;
const database = new Database(task.file, { fileMustExist: true, timeout: limits.storeBusyMs });
database.pragma('wal_autocheckpoint = 0');
database.pragma('cache_size = -256');

port?.on('message', (order: 'checkpoint' | 'end') => {
  if (order === 'end') {
    database.close();
    port.close();
    return;
  }
  port.postMessage(checkpoint());
});

/**
 * SQLite syncs the database only after a checkpoint that reached the end of the log, and here commits go on
 * meanwhile. Left to the loop's own small checkpoint, that sync took 60 to 110 ms after 64 MB.
 */
function checkpoint(): CheckpointAnswer {
  try {
    if (checkpointNow(database) === null) return { kind: 'failed' };
    fsyncSync(task.descriptor);
    return { kind: 'done' };
  } catch {
    return { kind: 'failed' };
  }
}
