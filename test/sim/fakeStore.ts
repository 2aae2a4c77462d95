// The Store port over plain maps, for the simulator: the same promises as SQLite, made of nothing that could
// block, with faults that can be put at any commit and any call.
//
// A FakeDisk is what survives a process: the committed rows. A FakeStore is one process's view of it: it changes
// the rows in place and keeps how they were, so a rollback or a crash puts the committed image back.
// Rows are copied in and out, ids and column types are checked, ranges obey the declared indexes: a bug that
// SQLite would refuse is refused here too.
// Not here: who decides when a fault happens (the simulator does, by seed).

import { indexes } from '../../sidecar/core/indexes.ts';
import type { IndexName, RowOf } from '../../sidecar/core/indexes.ts';
import type { TableName, Tables } from '../../sidecar/core/rows.ts';
import type { CommitResult, Page, Store } from '../../sidecar/ports.ts';
import { RoostError } from '../../sidecar/protocol/errors.ts';
import { checkPage } from '../../sidecar/store/statements.ts';
import { checkValue, complete, FakeDisk, put, rangeOf } from './fakeDisk.ts';
import type { Index, Row, Table } from './fakeDisk.ts';

/** What can go wrong when a transaction commits. */
export type CommitFault =
  /** The disk has no room: nothing of the transaction remains. */
  | 'full'
  /** The disk failed: nothing remains, and the store takes no further transaction. */
  | 'io'
  /** The process dies with nothing committed. */
  | 'crashBefore'
  /** The process dies with everything committed and nobody told. */
  | 'crashAfter';

export interface Faults {
  /** Asked at each commit; the first of a disk is 1. */
  readonly commit?: (count: number) => CommitFault | null;
  /** Asked at each call inside a transaction; the first of a disk is 1. */
  readonly call?: (count: number) => 'full' | 'io' | null;
}

/** Thrown through the runtime when the process dies: the simulator catches it and starts another on the same disk. */
export class SimulatedCrash extends Error {
  constructor() {
    super('The process was killed (simulated).');
    this.name = 'SimulatedCrash';
  }
}

/** Error of a disk call, as SQLite would throw it from inside a transaction. */
class DiskError extends Error {
  readonly fault: 'full' | 'io';

  constructor(fault: 'full' | 'io') {
    super(fault === 'full' ? 'database or disk is full' : 'disk I/O error');
    this.fault = fault;
  }
}

interface Undo {
  readonly table: TableName;
  readonly id: number;
  readonly before: Row | undefined;
}

interface Mark {
  readonly undo: number;
  readonly next: readonly number[];
}

export class FakeStore implements Store {
  readonly disk: FakeDisk;
  /** Replace to change what goes wrong from now on. */
  faults: Faults;
  #open = false;
  #dead: Error | null = null;
  #broken: DiskError | null = null;
  readonly #undo: Undo[] = [];

  constructor(disk: FakeDisk = new FakeDisk(), faults: Faults = {}) {
    this.disk = disk;
    this.faults = faults;
  }

  transact<T>(work: () => T): CommitResult<T> {
    if (this.#dead !== null) throw this.#dead;
    if (this.#open) throw new RoostError('internal', 'A transaction is open already.');
    const mark = this.#mark();
    this.#open = true;
    this.#broken = null;
    let value: T;
    try {
      value = work();
    } catch (error) {
      return this.#failed(mark, error);
    }
    if (this.#broken !== null) return this.#failed(mark, this.#broken);
    this.disk.commits += 1;
    const fault = this.faults.commit?.(this.disk.commits) ?? null;
    switch (fault) {
      case null:
        break;
      case 'full':
      case 'io':
        return this.#failed(mark, new DiskError(fault));
      case 'crashBefore':
        this.#rollback(mark);
        throw this.crash();
      case 'crashAfter':
        this.#close();
        throw this.crash();
    }
    this.#close();
    return { kind: 'committed', value };
  }

  attempt<T>(work: () => T): T {
    if (!this.#open) throw new RoostError('internal', 'No transaction is open.');
    const mark = this.#mark();
    try {
      return work();
    } catch (error) {
      if (this.#broken === null) this.#rollback(mark);
      throw error;
    }
  }

  get<T extends TableName>(table: T, id: number): Tables[T] | undefined {
    const row = this.#table(table).rows.get(id);
    return row === undefined ? undefined : ({ ...row } as unknown as Tables[T]);
  }

  nextId(table: TableName): number {
    return this.#table(table).next;
  }

  insert<T extends TableName>(table: T, row: Omit<Tables[T], 'id'>): number {
    this.#change();
    const into = this.#table(table);
    const id = into.next;
    const made = complete(table, id, row);
    this.#undo.push({ table, id, before: undefined });
    into.next = id + 1;
    put(into, id, made);
    return id;
  }

  update<T extends TableName>(table: T, id: number, patch: Partial<Omit<Tables[T], 'id'>>): void {
    this.#change();
    const into = this.#table(table);
    if (Object.keys(patch).length === 0) return;
    const before = into.rows.get(id);
    if (before === undefined) throw new RoostError('internal', `An update of ${table} found no row.`, { id });
    for (const [column, value] of Object.entries(patch)) checkValue(table, column, value);
    this.#undo.push({ table, id, before });
    put(into, id, { ...before, ...patch });
  }

  remove(table: TableName, id: number): void {
    this.#change();
    const from = this.#table(table);
    const before = from.rows.get(id);
    if (before === undefined) return;
    this.#undo.push({ table, id, before });
    put(from, id, undefined);
  }

  putBlob(content: string | Uint8Array): number {
    const bytes = typeof content === 'string' ? Buffer.from(content) : Uint8Array.from(content);
    return this.insert('blob', { form: 'raw', bytes, size: bytes.byteLength });
  }

  blobText(id: number): string | undefined {
    const bytes = this.blobBytes(id);
    return bytes === undefined ? undefined : Buffer.from(bytes).toString();
  }

  blobBytes(id: number): Uint8Array | undefined {
    return this.get('blob', id)?.bytes;
  }

  range<I extends IndexName>(index: I, equals: readonly (string | number | null)[], page: Page): RowOf<I>[] {
    const found = this.#index(index);
    checkPage(index, found.spec.columns.length, equals.length, page);
    return rangeOf(this.#table(indexes[index].table), found, equals, page).map((row) => ({
      ...row,
    })) as unknown as RowOf<I>[];
  }

  /** Ends this process: what is not committed is gone, and every later call throws. Returns what to throw. */
  crash(): SimulatedCrash {
    if (this.#open) this.#rollback({ undo: 0, next: this.#atBegin });
    this.#close();
    const crash = new SimulatedCrash();
    this.#dead = crash;
    return crash;
  }

  #atBegin: readonly number[] = [];

  #mark(): Mark {
    const next: number[] = [];
    for (const table of this.disk.tables.values()) next.push(table.next);
    if (!this.#open) this.#atBegin = next;
    return { undo: this.#undo.length, next };
  }

  #close(): void {
    this.#undo.length = 0;
    this.#open = false;
  }

  #failed(mark: Mark, error: unknown): { readonly kind: 'full'; readonly message: string } {
    const cause = this.#broken ?? error;
    this.#broken = null;
    this.#rollback(mark);
    this.#close();
    if (!(cause instanceof DiskError)) throw error;
    if (cause.fault === 'full')
      return { kind: 'full', message: 'The disk that holds the store is full (simulated).' };
    this.#dead = new RoostError('store/failed', 'The store could not be written (simulated).');
    throw this.#dead;
  }

  #rollback(mark: Mark): void {
    while (this.#undo.length > mark.undo) {
      const undo = this.#undo.pop();
      if (undo !== undefined) put(this.disk.table(undo.table), undo.id, undo.before);
    }
    let at = 0;
    for (const table of this.disk.tables.values()) table.next = mark.next[at++] ?? table.next;
  }

  #change(): void {
    if (this.#dead !== null) throw this.#dead;
    if (!this.#open) throw new RoostError('internal', 'Rows change only in a transaction.');
    this.disk.calls += 1;
    const fault = this.faults.call?.(this.disk.calls) ?? null;
    if (fault === null) return;
    this.#broken ??= new DiskError(fault);
    throw this.#broken;
  }

  #table(name: TableName): Table {
    if (this.#dead !== null) throw this.#dead;
    return this.disk.table(name);
  }

  #index(name: IndexName): Index {
    const found = this.#table(indexes[name].table).indexes.find((index) => index.name === name);
    if (found === undefined) throw new RoostError('internal', `There is no index ${name}.`);
    return found;
  }
}
