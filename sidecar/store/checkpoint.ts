// The one statement of a checkpoint, for the loop and for the worker, and what the two say to each other.

import type DatabaseConstructor from 'better-sqlite3';

/** What a checkpoint worker is started with. */
export interface CheckpointTask {
  readonly file: string;
  /** An open descriptor of the same file, never closed by the worker. */
  readonly descriptor: number;
}

export type CheckpointAnswer = { readonly kind: 'done' } | { readonly kind: 'failed' };

export interface LogState {
  /** Pages in the log. */
  readonly frames: number;
  /** Of these, copied into the database. */
  readonly done: number;
}

interface Row {
  readonly busy: number;
  readonly log: number;
  readonly checkpointed: number;
}

/** Length of the log, without doing anything (7 µs). Zero when there is no log. */
export function logState(database: DatabaseConstructor.Database): LogState {
  return stateOf(database, 'NOOP');
}

/** Copies what can be copied without waiting for anybody. Null when the disk did not let it. */
export function checkpointNow(database: DatabaseConstructor.Database): LogState | null {
  try {
    return stateOf(database, 'PASSIVE');
  } catch {
    // The log is still whole, and the next commit will meet the same disk and say what is wrong with it.
    return null;
  }
}

function stateOf(database: DatabaseConstructor.Database, mode: 'NOOP' | 'PASSIVE'): LogState {
  const row = database.prepare<unknown[], Row>(`PRAGMA wal_checkpoint(${mode})`).get();
  return { frames: Math.max(0, row?.log ?? 0), done: Math.max(0, row?.checkpointed ?? 0) };
}
