// The Store port on SQLite: rows, ranges and one transaction at a time, all on the loop.
//
// Promises
//  - A transaction is on the disk when `transact` returns `committed`, as far as the durability says (I2).
//  - It is there whole or not at all; `full` and a thrown error leave nothing of it, given-out ids included.
//  - After an I/O error nothing is certain about the connection, so it takes no further transaction: the process
//    must end, and the next one finds in the log what was committed.
// Not here: opening (open.ts), the length of the WAL (wal.ts), what clients read (reads.ts).

import type DatabaseConstructor from 'better-sqlite3';
import { indexes } from '../core/indexes.ts';
import type { IndexName, RowOf } from '../core/indexes.ts';
import type { TableName, Tables } from '../core/rows.ts';
import type { CommitResult, Page, Store } from '../ports.ts';
import { RoostError } from '../protocol/errors.ts';
import { packBlob, unpackBlob } from './blobs.ts';
import { codeOf, isFull } from './failure.ts';
import { namesOf } from './schema.ts';
import { RangeStatements, TableStatements } from './statements.ts';

type Database = DatabaseConstructor.Database;
type Statement = DatabaseConstructor.Statement<unknown[]>;
type TablesOf = { readonly [T in TableName]: TableStatements<T> };
type RangesOf = { [I in IndexName]?: RangeStatements<I> };

/** What the writer tells those who keep house around it. */
export interface Watch {
  /** After a commit, before `transact` returns. Must be quick: it runs once a group. */
  committed(): void;
  /** A commit found no room. Runs after the rollback. */
  full(): void;
  /** True when the disk that the store is on has no room: some errors do not say why they happened. */
  noRoom(): boolean;
}

export class SqliteStore implements Store {
  readonly #database: Database;
  readonly #watch: Watch;
  readonly #tables: TablesOf;
  readonly #names: readonly TableName[];
  readonly #ranges: RangesOf = {};
  readonly #begin: Statement;
  readonly #commit: Statement;
  readonly #rollback: Statement;
  readonly #savepoint: Statement;
  readonly #release: Statement;
  readonly #rollbackTo: Statement;
  /** A transaction is running. Asked at every change, so it is not asked of SQLite: that is 0.3 µs more. */
  #open = false;
  /** The first error of SQLite in this transaction: whoever catches it, the transaction cannot commit any more. */
  #broken: unknown = null;
  /** Why no transaction is taken any more. */
  #dead: RoostError | null = null;

  constructor(database: Database, watch: Watch) {
    this.#database = database;
    this.#watch = watch;
    this.#tables = prepareTables(database);
    this.#names = namesOf(this.#tables);
    this.#begin = database.prepare('BEGIN IMMEDIATE');
    this.#commit = database.prepare('COMMIT');
    this.#rollback = database.prepare('ROLLBACK');
    this.#savepoint = database.prepare('SAVEPOINT step');
    this.#release = database.prepare('RELEASE step');
    this.#rollbackTo = database.prepare('ROLLBACK TO step');
  }

  /** @throws what `work` throws, after the rollback; `store/failed` when the disk failed (now or before). */
  transact<T>(work: () => T): CommitResult<T> {
    if (this.#dead !== null) throw this.#dead;
    if (this.#open) throw new RoostError('internal', 'A transaction is open already.');
    const ids = this.#idsNow();
    this.#broken = null;
    this.#open = true;
    let value: T;
    try {
      this.#begin.run();
      value = work();
      if (this.#broken === null) this.#commit.run();
    } catch (error) {
      return this.#undo(error, ids);
    } finally {
      this.#open = false;
    }
    if (this.#broken !== null) return this.#undo(this.#broken, ids);
    this.#watch.committed();
    return { kind: 'committed', value };
  }

  /** @throws what `work` throws. After an error of SQLite the whole transaction is lost, not only this part. */
  attempt<T>(work: () => T): T {
    if (!this.#open) throw new RoostError('internal', 'No transaction is open.');
    const ids = this.#idsNow();
    this.#savepoint.run();
    try {
      const value = work();
      this.#release.run();
      return value;
    } catch (error) {
      if (this.#broken === null && this.#database.inTransaction) {
        this.#rollbackTo.run();
        this.#release.run();
        this.#setIds(ids);
      }
      throw error;
    }
  }

  get<T extends TableName>(table: T, id: number): Tables[T] | undefined {
    try {
      return this.#tables[table].get(id);
    } catch (error) {
      throw this.#noted(error);
    }
  }

  insert<T extends TableName>(table: T, row: Omit<Tables[T], 'id'>): number {
    this.#mustBeOpen();
    try {
      return this.#tables[table].insert(row);
    } catch (error) {
      throw this.#noted(error);
    }
  }

  nextId(table: TableName): number {
    return this.#tables[table].next;
  }

  /** @throws `internal` when there is no such row. */
  update<T extends TableName>(table: T, id: number, patch: Partial<Omit<Tables[T], 'id'>>): void {
    this.#mustBeOpen();
    try {
      this.#tables[table].update(id, patch);
    } catch (error) {
      throw this.#noted(error);
    }
  }

  /** Does nothing when there is no such row. */
  remove(table: TableName, id: number): void {
    this.#mustBeOpen();
    try {
      this.#tables[table].remove(id);
    } catch (error) {
      throw this.#noted(error);
    }
  }

  range<I extends IndexName>(index: I, equals: readonly (string | number | null)[], page: Page): RowOf<I>[] {
    try {
      return this.#rangesOf(index).all(equals, page);
    } catch (error) {
      throw this.#noted(error);
    }
  }

  putBlob(content: string | Uint8Array): number {
    return this.insert('blob', packBlob(typeof content === 'string' ? Buffer.from(content) : content));
  }

  blobText(id: number): string | undefined {
    const bytes = this.blobBytes(id);
    return bytes === undefined
      ? undefined
      : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
  }

  blobBytes(id: number): Uint8Array | undefined {
    const row = this.get('blob', id);
    return row === undefined ? undefined : unpackBlob(row);
  }

  /** Before a clean close: writes the exact next ids, so that a store that was not killed has no gaps. */
  settleIds(): void {
    if (this.#dead !== null) return;
    const ahead = this.#names.filter((name) => this.#tables[name].floor > this.#tables[name].next);
    if (ahead.length === 0) return;
    this.transact(() => ahead.forEach((name) => this.#tables[name].setFloor(this.#tables[name].next)));
  }

  #rangesOf<I extends IndexName>(index: I): RangeStatements<I> {
    const known: RangesOf[I] = this.#ranges[index];
    if (known !== undefined) return known;
    if (!(index in indexes)) throw new RoostError('internal', `There is no index ${index}.`);
    const made = new RangeStatements(this.#database, index);
    const target: { [K in I]?: RangeStatements<K> } = this.#ranges;
    target[index] = made;
    return made;
  }

  #mustBeOpen(): void {
    if (!this.#open) throw new RoostError('internal', 'Rows change only in a transaction.');
  }

  /** Remembers an error that ends the transaction, whoever catches it on its way up. */
  #noted(error: unknown): unknown {
    const code = codeOf(error);
    // A broken constraint undoes its own statement only; it is a bug of the caller and travels like one.
    if (code !== null && !code.startsWith('SQLITE_CONSTRAINT')) this.#broken ??= error;
    return error;
  }

  #undo(error: unknown, ids: Float64Array): { readonly kind: 'full'; readonly message: string } {
    const cause = this.#broken ?? error;
    const code = codeOf(cause);
    this.#broken = null;
    try {
      if (this.#database.inTransaction) this.#rollback.run();
    } catch (failed) {
      throw this.#die(failed);
    }
    this.#setIds(ids);
    if (code === null || code.startsWith('SQLITE_CONSTRAINT')) throw error;
    if (isFull(code) || (code.startsWith('SQLITE_IOERR') && this.#watch.noRoom())) {
      this.#watch.full();
      return {
        kind: 'full',
        message: 'The disk that holds the store is full. Free some space; agents go on by themselves.',
      };
    }
    throw this.#die(cause);
  }

  #die(cause: unknown): RoostError {
    const said = cause instanceof Error ? cause.message : String(cause);
    this.#dead = new RoostError(
      'store/failed',
      `The store could not be written (${said}). Nothing acknowledged is lost; check the disk, then start Roost again.`,
      { code: codeOf(cause) },
    );
    return this.#dead;
  }

  #idsNow(): Float64Array {
    const ids = new Float64Array(this.#names.length * 2);
    let at = 0;
    for (const name of this.#names) {
      const table = this.#tables[name];
      ids[at++] = table.next;
      ids[at++] = table.floor;
    }
    return ids;
  }

  #setIds(ids: Float64Array): void {
    let at = 0;
    for (const name of this.#names) {
      const table = this.#tables[name];
      table.next = ids[at++] ?? table.next;
      table.floor = ids[at++] ?? table.floor;
    }
  }
}

function prepareTables(database: Database): TablesOf {
  return {
    agent: new TableStatements(database, 'agent'),
    turn: new TableStatements(database, 'turn'),
    entry: new TableStatements(database, 'entry'),
    blob: new TableStatements(database, 'blob'),
    shared: new TableStatements(database, 'shared'),
    place: new TableStatements(database, 'place'),
    knowledge: new TableStatements(database, 'knowledge'),
    trust: new TableStatements(database, 'trust'),
    offer: new TableStatements(database, 'offer'),
    call: new TableStatements(database, 'call'),
    inbox: new TableStatements(database, 'inbox'),
    wait: new TableStatements(database, 'wait'),
    waiting: new TableStatements(database, 'waiting'),
    outcome: new TableStatements(database, 'outcome'),
    request: new TableStatements(database, 'request'),
    ledger: new TableStatements(database, 'ledger'),
    change: new TableStatements(database, 'change'),
    verdict: new TableStatements(database, 'verdict'),
    ready: new TableStatements(database, 'ready'),
    timer: new TableStatements(database, 'timer'),
    provider: new TableStatements(database, 'provider'),
    price: new TableStatements(database, 'price'),
    role: new TableStatements(database, 'role'),
    spend: new TableStatements(database, 'spend'),
    folded: new TableStatements(database, 'folded'),
    answered: new TableStatements(database, 'answered'),
    process: new TableStatements(database, 'process'),
    trash: new TableStatements(database, 'trash'),
    walk: new TableStatements(database, 'walk'),
    remains: new TableStatements(database, 'remains'),
    setting: new TableStatements(database, 'setting'),
    stretch: new TableStatements(database, 'stretch'),
    background: new TableStatements(database, 'background'),
  };
}
