// The store as the simulated process sees it: another store behind it, with a note of which rows each commit
// touched, and the places where known-bad switches (canaries.ts) change what is written.
//
// Promises: `open` says whether a transaction runs, so an effect that comes too early is seen.
// Not here: the rows (fakeStore.ts), the faults (sim.ts decides them).

import type { IndexName, RowOf } from '../../sidecar/core/indexes.ts';
import type { TableName, Tables } from '../../sidecar/core/rows.ts';
import type { CommitResult, Page, Store } from '../../sidecar/ports.ts';
import { put, type FakeDisk, type Row } from './fakeDisk.ts';

export type AnyRow = Readonly<Record<string, unknown>>;

/** A lie of a canary: what is written instead; null: nothing is written. */
export interface Spoil {
  insert?(table: TableName, row: AnyRow): AnyRow | null;
  update?(table: TableName, id: number, patch: AnyRow): AnyRow | null;
  /** Whether a range is found empty, whatever is in it. */
  hides?(index: IndexName): boolean;
}

export interface Touched {
  readonly table: TableName;
  readonly id: number;
  /** Columns that an update named; none for an insert or a removal. */
  readonly columns: readonly string[];
  /** The row that was removed. */
  readonly removed?: AnyRow;
}

const none: readonly string[] = [];

export class SimulatedBug extends Error {
  constructor() {
    super('simulated bug');
    this.name = 'SimulatedBug';
  }
}

export class WatchedStore implements Store {
  open = false;
  /** Rows changed since the last `takeTouched`, committed or not. */
  readonly #touched: Touched[] = [];
  readonly #before: { readonly table: TableName; readonly id: number; readonly before: Row | undefined }[] =
    [];
  readonly #bug: () => boolean;
  readonly #inner: Store;
  /** Where rows are looked up as they were, when a canary wants them back; null: nobody does. */
  readonly #keep: FakeDisk | null;
  readonly #spoil: Spoil;

  constructor(inner: Store, spoil: Spoil, bug: () => boolean, keep: FakeDisk | null = null) {
    this.#inner = inner;
    this.#bug = bug;
    this.#keep = keep;
    this.#spoil = spoil;
  }

  /** Rows of the last commit; forgets them. */
  takeTouched(): Touched[] {
    return this.#touched.splice(0);
  }

  transact<T>(work: () => T): CommitResult<T> {
    this.#touched.length = 0;
    this.#before.length = 0;
    return this.#inner.transact(() => {
      this.open = true;
      try {
        return work();
      } catch (error) {
        this.#touched.length = 0;
        throw error;
      } finally {
        this.open = false;
      }
    });
  }

  attempt<T>(work: () => T): T {
    return this.#inner.attempt(work);
  }

  get<T extends TableName>(table: T, id: number): Tables[T] | undefined {
    this.#maybeBug();
    return this.#inner.get(table, id);
  }

  insert<T extends TableName>(table: T, row: Omit<Tables[T], 'id'>): number {
    const spoiled =
      this.#spoil.insert === undefined ? row : this.#spoil.insert(table, row as unknown as AnyRow);
    if (spoiled === null) return 1_000_000_000;
    const id = this.#inner.insert(table, spoiled as unknown as Omit<Tables[T], 'id'>);
    if (this.#keep !== null) this.#before.push({ table, id, before: undefined });
    this.#touched.push({ table, id, columns: none });
    return id;
  }

  /** For a canary: takes the last transaction off the disk, as if it had never been written. */
  loseLast(disk: FakeDisk): void {
    for (const { table, id, before } of this.#before.splice(0).toReversed())
      put(disk.table(table), id, before);
  }

  nextId(table: TableName): number {
    return this.#inner.nextId(table);
  }

  update<T extends TableName>(table: T, id: number, patch: Partial<Omit<Tables[T], 'id'>>): void {
    const spoiled = this.#spoil.update === undefined ? patch : this.#spoil.update(table, id, patch as AnyRow);
    if (spoiled === null) return;
    this.#maybeBug();
    this.#keepBefore(table, id);
    this.#inner.update(table, id, spoiled as Partial<Omit<Tables[T], 'id'>>);
    this.#touched.push({ table, id, columns: Object.keys(spoiled) });
  }

  remove(table: TableName, id: number): void {
    this.#keepBefore(table, id);
    const removed = table === 'agent' ? this.#inner.get(table, id) : undefined;
    this.#inner.remove(table, id);
    this.#touched.push({
      ...{ table, id, columns: none },
      ...(removed === undefined ? {} : { removed: { ...removed } }),
    });
  }

  /** A bug of the runtime, wherever it may be: the seed puts some into the middle of transactions. */
  #maybeBug(): void {
    if (this.open && this.#bug()) throw new SimulatedBug();
  }

  #keepBefore(table: TableName, id: number): void {
    if (this.#keep !== null) this.#before.push({ table, id, before: this.#keep.table(table).rows.get(id) });
  }

  putBlob(content: string | Uint8Array): number {
    return this.#inner.putBlob(content);
  }

  blobText(id: number): string | undefined {
    return this.#inner.blobText(id);
  }

  blobBytes(id: number): Uint8Array | undefined {
    return this.#inner.blobBytes(id);
  }

  range<I extends IndexName>(index: I, equals: readonly (string | number | null)[], page: Page): RowOf<I>[] {
    this.#maybeBug();
    if (this.#spoil.hides?.(index) === true) return [];
    return this.#inner.range(index, equals, page);
  }
}
