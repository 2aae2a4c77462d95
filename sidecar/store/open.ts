// Opens a store: makes it when there is none, refuses one that is newer, damaged or not writable, brings an
// older one forward, and hands out the writer and the reads.
//
// Promises: WAL, so readers never wait; `power` syncs each commit to the disk (I2), `process` leaves that to the
// system and survives a killed process but not a power cut; caches are bounded; nothing is mapped into memory.
// Not here: who may own the store (owner.ts: take it before opening), and file systems where WAL is not safe
// (platform/fileSystem.ts: ask it before opening).

import { mkdirSync } from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import type { Reads, Store } from '../ports.ts';
import { limits } from '../runtime/limits.ts';
import { openFailure } from './failure.ts';
import { prepareSchema } from './migrate.ts';
import { SqliteReads } from './reads.ts';
import { Room } from './room.ts';
import { WalKeeper } from './wal.ts';
import type { WalCounts } from './wal.ts';
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
  /** What was done to keep the log short. */
  walCounts(): WalCounts;
  /** Settles what is open and closes the files. Nothing may use the store afterwards. */
  close(): void;
}

/** Name of the database inside the folder. */
export const databaseName = 'roost.db';

/**
 * Opens the store of a folder.
 * @throws RoostError `store/unwritable`, `store/full`, `store/newer`, `store/corrupt`,
 * `store/owned` when another program holds a lock, `store/failed` for all else.
 */
export function openStore(options: StoreOptions): OpenStore {
  try {
    return options.mode === 'memory' ? openMemory() : openFiles(options);
  } catch (error) {
    throw openFailure(error, options.directory);
  }
}

function openMemory(): OpenStore {
  const database = new Database(':memory:');
  prepareSchema(database);
  const store = new SqliteStore(database, { committed: nothing, full: nothing, noRoom: () => false });
  const walCounts = (): WalCounts => ({ restarts: 0, workerRuns: 0, longestOnLoopMs: 0 });
  return { store, reads: new SqliteReads(database, ':memory:'), walCounts, close: () => database.close() };
}

const nothing = (): void => undefined;

function openFiles(options: StoreOptions): OpenStore {
  const { directory } = options;
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const file = path.join(directory, databaseName);
  const writer = openWriter(file, options.durability);
  let reader: Database.Database;
  try {
    reader = openReader(file);
  } catch (error) {
    writer.close();
    throw error;
  }
  const room = new Room(directory);
  room.prepare();
  const keeper = new WalKeeper(writer, file);
  const store = new SqliteStore(writer, {
    committed: () => keeper.committed(),
    full: () => room.release(),
    noRoom: () => room.none(),
  });
  return {
    store,
    reads: new SqliteReads(reader, file),
    walCounts: () => keeper.counts,
    close: () => {
      try {
        store.settleIds();
      } finally {
        keeper.close();
        room.close();
        reader.close();
        writer.close();
      }
    },
  };
}

function openWriter(file: string, durability: Durability): Database.Database {
  const database = new Database(file, { timeout: limits.storeBusyMs });
  const full = durability === 'power';
  try {
    // A new file takes the page size before anything is written to it; an old one keeps its own.
    database.pragma(`page_size = ${limits.pageBytes}`);
    prepareSchema(database);
    database.pragma('journal_mode = WAL');
    setUp(database, limits.writerCacheKib);
    database.pragma(`synchronous = ${full ? 'FULL' : 'NORMAL'}`);
    // macOS: fsync alone leaves the bytes in the drive's cache (https://sqlite.org/pragma.html#pragma_fullfsync).
    database.pragma(`fullfsync = ${full ? 'ON' : 'OFF'}`);
    database.pragma(`checkpoint_fullfsync = ${full ? 'ON' : 'OFF'}`);
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
