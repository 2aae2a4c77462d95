// A thread that copies the write-ahead log into the database whenever it is told to (wal.ts).
//
// Promises: it waits for no lock and takes none that a commit needs; told to end, it closes its connection first.

import { parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { limits } from '../runtime/limits.ts';
import { checkpointNow } from './checkpoint.ts';
import type { CheckpointAnswer, CheckpointTask } from './checkpoint.ts';

const task: CheckpointTask = workerData;
const port = parentPort;
const database = new Database(task.file, { fileMustExist: true, timeout: limits.storeBusyMs });
database.pragma(`checkpoint_fullfsync = ${task.fullSync ? 'ON' : 'OFF'}`);
database.pragma('wal_autocheckpoint = 0');
database.pragma('cache_size = -256');

port?.on('message', (order: 'checkpoint' | 'end') => {
  if (order === 'end') {
    database.close();
    port.close();
    return;
  }
  const answer: CheckpointAnswer =
    checkpointNow(database) === null
      ? { kind: 'failed', message: 'The log could not be copied.' }
      : { kind: 'done' };
  port.postMessage(answer);
});
