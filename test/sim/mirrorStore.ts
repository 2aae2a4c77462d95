// Two stores as one: every call goes to the maps of the simulator and to real SQLite in memory, and what they say
// must be the same. So a run on it is a differential test of both, and the real reads and follows can be used.
//
// Faults happen here and not in either store, so that both meet the same ones.

import { isDeepStrictEqual } from 'node:util';
import type { IndexName, RowOf } from '../../sidecar/core/indexes.ts';
import type { TableName, Tables } from '../../sidecar/core/rows.ts';
import type { CommitResult, Page, Store } from '../../sidecar/ports.ts';
import { RoostError } from '../../sidecar/protocol/errors.ts';
import { SimulatedCrash, type CommitFault, type Faults, type FakeStore } from './fakeStore.ts';

/** Undoes a transaction in both stores. */
class Stop extends Error {
  readonly fault: CommitFault;

  constructor(fault: CommitFault) {
    super(`stopped: ${fault}`);
    this.fault = fault;
  }
}

export class MirrorStore implements Store {
  readonly #maps: FakeStore;
  readonly #real: Store;
  readonly #faults: Faults;
  readonly #differs: (what: string) => void;
  #calls = 0;
  #stop: Stop | null = null;
  #dead: Error | null = null;

  /** `maps` must have no faults of its own. `differs` is told what the two do not agree on. */
  constructor(
    stores: { readonly maps: FakeStore; readonly real: Store },
    faults: Faults,
    differs: (what: string) => void,
  ) {
    this.#maps = stores.maps;
    this.#real = stores.real;
    this.#faults = faults;
    this.#differs = differs;
  }

  transact<T>(work: () => T): CommitResult<T> {
    if (this.#dead !== null) throw this.#dead;
    this.#stop = null;
    let fault: CommitFault | null = null;
    try {
      const result = this.#real.transact(() => {
        const inner = this.#maps.transact(() => {
          const value = work();
          fault = this.#stop?.fault ?? this.#faults.commit?.(this.#maps.disk.commits + 1) ?? null;
          if (fault !== null && fault !== 'crashAfter') throw new Stop(fault);
          return value;
        });
        if (inner.kind === 'full') throw new Stop('full');
        return inner.value;
      });
      if (fault === 'crashAfter') throw this.crash();
      return result;
    } catch (error) {
      return this.#stopped(error);
    }
  }

  /** Ends this process: every later call throws. Returns what to throw. */
  crash(): SimulatedCrash {
    const crash = new SimulatedCrash();
    this.#dead = crash;
    return crash;
  }

  attempt<T>(work: () => T): T {
    return this.#real.attempt(() => this.#maps.attempt(work));
  }

  get<T extends TableName>(table: T, id: number): Tables[T] | undefined {
    this.#alive();
    return this.#same(`get ${table} ${id}`, this.#maps.get(table, id), this.#real.get(table, id));
  }

  insert<T extends TableName>(table: T, row: Omit<Tables[T], 'id'>): number {
    this.#change();
    return this.#same(`insert ${table}`, this.#maps.insert(table, row), this.#real.insert(table, row));
  }

  nextId(table: TableName): number {
    this.#alive();
    return this.#same(`nextId ${table}`, this.#maps.nextId(table), this.#real.nextId(table));
  }

  update<T extends TableName>(table: T, id: number, patch: Partial<Omit<Tables[T], 'id'>>): void {
    this.#change();
    this.#maps.update(table, id, patch);
    this.#real.update(table, id, patch);
  }

  remove(table: TableName, id: number): void {
    this.#change();
    this.#maps.remove(table, id);
    this.#real.remove(table, id);
  }

  putBlob(content: string | Uint8Array): number {
    this.#change();
    return this.#same('putBlob', this.#maps.putBlob(content), this.#real.putBlob(content));
  }

  blobText(id: number): string | undefined {
    this.#alive();
    return this.#same(`blobText ${id}`, this.#maps.blobText(id), this.#real.blobText(id));
  }

  blobBytes(id: number): Uint8Array | undefined {
    this.#alive();
    const [maps, real] = [this.#maps.blobBytes(id), this.#real.blobBytes(id)];
    this.#same(
      `blobBytes ${id}`,
      Buffer.from(maps ?? []).toString('hex'),
      Buffer.from(real ?? []).toString('hex'),
    );
    return real;
  }

  range<I extends IndexName>(index: I, equals: readonly (string | number | null)[], page: Page): RowOf<I>[] {
    this.#alive();
    const what = `range ${index} ${JSON.stringify(equals)} ${JSON.stringify(page)}`;
    return this.#same(what, this.#maps.range(index, equals, page), this.#real.range(index, equals, page));
  }

  #stopped(error: unknown): { readonly kind: 'full'; readonly message: string } {
    const cause = this.#stop ?? error;
    this.#stop = null;
    if (!(cause instanceof Stop)) throw error;
    switch (cause.fault) {
      case 'full':
        return { kind: 'full', message: 'The disk that holds the store is full (simulated).' };
      case 'io':
        this.#dead = new RoostError('store/failed', 'The store could not be written (simulated).');
        throw this.#dead;
      case 'crashBefore':
      case 'crashAfter':
        throw this.crash();
    }
  }

  #change(): void {
    this.#alive();
    this.#calls += 1;
    const fault = this.#faults.call?.(this.#calls) ?? null;
    if (fault === null) return;
    this.#stop ??= new Stop(fault);
    throw this.#stop;
  }

  #alive(): void {
    if (this.#dead !== null) throw this.#dead;
  }

  #same<T>(what: string, maps: T, real: T): T {
    if (!isDeepStrictEqual(plain(maps), plain(real))) {
      this.#differs(`${what}: the maps say ${JSON.stringify(maps)}, SQLite says ${JSON.stringify(real)}`);
    }
    return real;
  }
}

/** Rows of SQLite and of the maps have other prototypes and another order of columns. */
const plain = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(plain)
    : typeof value === 'object' && value !== null
      ? { ...value }
      : value;
