// Opens a store: makes it when there is none, refuses one that is newer, damaged or not writable, brings an
// older one forward, and hands out the writer and the reads.
//
// Promises: WAL, so readers never wait; `power` syncs each commit to the disk (I2), `process` leaves that to the
// system and survives a killed process but not a power cut; caches are bounded; nothing is mapped into memory.
// Not here: who may own the store (owner.ts).

import { mkdirSync } from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import type { Reads, Store } from '../ports.ts';
import { RoostError } from '../protocol/errors.ts';
import { limits } from '../runtime/limits.ts';
import { openFailure } from './failure.ts';
import { SqliteReads } from './reads.ts';
import { applicationId, schemaSql, schemaVersion } from './schema.ts';
import { SqliteStore } from './writer.ts';

export type Durability = 'power' | 'process';

export interface StoreOptions {
  /** Folder of the store, absolute; made when it is missing. Not used in memory. */
  readonly directory: string;
  readonly durability: Durability;
  /** `memory` keeps everything in this process, for tests. */
  readonly mode?: 'file' | 'memory';
}

export interface OpenStore {
  readonly store: Store;
  readonly reads: Reads;
  /** Settles what is open and closes the files. Nothing may use the store afterwards. */
  close(): void;
}

/** Name of the database inside the folder. */
export const databaseName = 'roost.db';

/**
 * Opens the store of a folder.
 * @throws RoostError `store/unwritable`, `store/full`, `store/newer`, `store/corrupt`, `store/failed`.
 */
export function openStore(options: StoreOptions): OpenStore {
  const memory = options.mode === 'memory';
  try {
    if (!memory) mkdirSync(options.directory, { recursive: true, mode: 0o700 });
    const file = memory ? ':memory:' : path.join(options.directory, databaseName);
    const writer = openWriter(file, options.durability);
    const reader = memory ? writer : openReader(file);
    const store = new SqliteStore(writer, {
      committed: () => undefined,
      full: () => undefined,
      noRoom: () => false,
    });
    const reads = new SqliteReads(reader, file);
    return {
      store,
      reads,
      close: () => {
        store.settleIds();
        if (!memory) reader.close();
        writer.close();
      },
    };
  } catch (error) {
    throw openFailure(error, options.directory);
  }
}

function openWriter(file: string, durability: Durability): Database.Database {
  const database = new Database(file, { timeout: limits.storeBusyMs });
  try {
    // A new file takes the page size before anything is written to it; an old one keeps its own.
    database.pragma(`page_size = ${limits.pageBytes}`);
    prepareSchema(database);
    database.pragma('journal_mode = WAL');
    setUp(database, limits.writerCacheKib);
    database.pragma(`synchronous = ${durability === 'power' ? 'FULL' : 'NORMAL'}`);
    // macOS: fsync alone leaves the bytes in the drive's cache (https://sqlite.org/pragma.html#pragma_fullfsync).
    database.pragma(`fullfsync = ${durability === 'power' ? 'ON' : 'OFF'}`);
    database.pragma(`checkpoint_fullfsync = ${durability === 'power' ? 'ON' : 'OFF'}`);
    database.pragma('wal_autocheckpoint = 0');
    database.pragma(`journal_size_limit = ${limits.walKeptBytes}`);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function openReader(file: string): Database.Database {
  const database = new Database(file, { readonly: true, fileMustExist: true, timeout: limits.storeBusyMs });
  setUp(database, limits.readerCacheKib);
  return database;
}

function setUp(database: Database.Database, cacheKib: number): void {
  database.pragma(`cache_size = ${-cacheKib}`);
  database.pragma('mmap_size = 0');
  database.pragma('temp_store = MEMORY');
}

function prepareSchema(database: Database.Database): void {
  const application = database.pragma('application_id', { simple: true });
  const version = database.pragma('user_version', { simple: true });
  const rows = database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').all().length;
  if (application === 0 && version === 0 && rows === 0) {
    database.transaction(() => {
      for (const sql of schemaSql()) database.exec(sql);
      database.pragma(`application_id = ${applicationId}`);
      database.pragma(`user_version = ${schemaVersion}`);
    })();
    return;
  }
  if (application !== applicationId || typeof version !== 'number') {
    throw new RoostError(
      'store/corrupt',
      `${database.name} is not a store of Roost. Choose another folder with --store.`,
    );
  }
  if (version > schemaVersion) {
    throw new RoostError(
      'store/newer',
      `The store was written by a newer Roost (format ${version}, this one reads ${schemaVersion}). Update Roost, or choose another folder with --store.`,
      { version },
    );
  }
}
