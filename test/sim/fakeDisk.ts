// The rows that survive a simulated process, in plain maps and sorted arrays: tables, declared indexes, next ids.
//
// Promises: an index gives rows in SQLite's order; a column that SQLite's STRICT tables would refuse is refused.
// Not here: transactions and faults (fakeStore.ts).

import { indexes } from '../../sidecar/core/indexes.ts';
import type { IndexName, IndexSpec } from '../../sidecar/core/indexes.ts';
import type { TableName, Tables } from '../../sidecar/core/rows.ts';
import type { Page } from '../../sidecar/ports.ts';
import { RoostError } from '../../sidecar/protocol/errors.ts';
import { indexNames, tableNames, tables } from '../../sidecar/store/schema.ts';

export type Value = string | number | null | Uint8Array;
export type Row = { readonly id: number } & Readonly<Record<string, Value>>;

export interface Index {
  readonly name: IndexName;
  readonly spec: IndexSpec;
  /** Ids in the order of the index columns, then of the id: a row that keeps its place costs the index nothing. */
  readonly ids: number[];
}

export interface Table {
  readonly rows: Map<number, Row>;
  readonly indexes: Index[];
  next: number;
}

/** What survives a process. */
export class FakeDisk {
  readonly tables: ReadonlyMap<TableName, Table>;
  commits = 0;
  calls = 0;

  constructor() {
    this.tables = new Map(
      tableNames.map((name) => {
        const own = indexNames.filter((index) => indexes[index].table === name);
        return [
          name,
          {
            rows: new Map(),
            indexes: own.map((index) => ({ name: index, spec: indexes[index], ids: [] })),
            next: 1,
          },
        ];
      }),
    );
  }

  /** All rows of a table, by id: for the simulator's checks. Do not change them. */
  rows<T extends TableName>(table: T): readonly Readonly<Tables[T]>[] {
    const rows = [...this.table(table).rows.values()].sort((a, b) => a.id - b.id);
    return rows as unknown as Readonly<Tables[T]>[];
  }

  row<T extends TableName>(table: T, id: number): Readonly<Tables[T]> | undefined {
    return this.table(table).rows.get(id) as unknown as Tables[T] | undefined;
  }

  table(name: TableName): Table {
    const table = this.tables.get(name);
    if (table === undefined) throw new RoostError('internal', `There is no table ${name}.`);
    return table;
  }
}

/** Puts a row in place of the one with this id, or takes it away, in the table and in its indexes. */
export function put(table: Table, id: number, row: Row | undefined): void {
  const before = table.rows.get(id);
  const moved = table.indexes.filter(({ spec }) => !samePlace(spec, before, row));
  for (const index of moved) {
    if (isIn(index.spec, before)) index.ids.splice(position(table, index, before), 1);
  }
  if (row === undefined) table.rows.delete(id);
  else table.rows.set(id, row);
  for (const index of moved) {
    if (isIn(index.spec, row)) index.ids.splice(position(table, index, row), 0, id);
  }
}

/** The rows of an index whose first columns equal these values, within the page's bounds: not copied. */
export function rangeOf(table: Table, index: Index, equals: readonly Value[], page: Page): readonly Row[] {
  const { spec, ids } = index;
  const next = spec.columns[equals.length];
  const under = (row: Row): number => compareAll(spec.columns, row, equals);
  /** Where a row stands to the page's lower and upper bound: by the next column, else by id. */
  const above = (row: Row, bound: number | string): boolean =>
    next === undefined ? row.id > Number(bound) : compare(row[next] ?? null, bound) > 0;
  const lower = page.above ?? (page.newest === true ? undefined : page.after);
  const upper = page.upTo ?? (page.newest === true && page.after !== undefined ? page.after - 1 : undefined);
  const least = lower ?? (page.upTo === undefined ? undefined : Number.NEGATIVE_INFINITY);
  const first = lowerBound(table, ids, (row) => {
    const order = under(row);
    return order > 0 || (order === 0 && (least === undefined || above(row, least)));
  });
  const end = lowerBound(table, ids, (row) => {
    const order = under(row);
    return order > 0 || (order === 0 && upper !== undefined && above(row, upper));
  });
  const found =
    page.newest === true
      ? ids.slice(Math.max(first, end - page.limit), Math.max(first, end)).reverse()
      : ids.slice(first, Math.max(first, Math.min(end, first + page.limit)));
  return found.flatMap((id) => table.rows.get(id) ?? []);
}

/** True when both rows have the same place in an index, or none. */
function samePlace(spec: IndexSpec, a: Row | undefined, b: Row | undefined): boolean {
  if (!isIn(spec, a)) return !isIn(spec, b);
  if (!isIn(spec, b)) return false;
  for (const column of spec.columns) if (a[column] !== b[column]) return false;
  return true;
}

function isIn(spec: IndexSpec, row: Row | undefined): row is Row {
  if (row === undefined) return false;
  if (spec.where === undefined) return true;
  const value = row[spec.where.column] ?? null;
  if ('notNull' in spec.where) return value !== null;
  return 'not' in spec.where ? value !== spec.where.not : value === spec.where.is;
}

function position(table: Table, index: Index, row: Row): number {
  const { columns } = index.spec;
  return lowerBound(table, index.ids, (other) => {
    for (const column of columns) {
      const order = compare(other[column] ?? null, row[column] ?? null);
      if (order !== 0) return order > 0;
    }
    return other.id >= row.id;
  });
}

/** Number of rows before the first for which `reached` holds; it must hold for all after that one. */
function lowerBound(table: Table, ids: readonly number[], reached: (row: Row) => boolean): number {
  let low = 0;
  let high = ids.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const row = table.rows.get(ids[middle] ?? 0);
    if (row === undefined || reached(row)) high = middle;
    else low = middle + 1;
  }
  return low;
}

function compareAll(columns: readonly string[], row: Row, values: readonly Value[]): number {
  for (let at = 0; at < values.length; at += 1) {
    const order = compare(row[columns[at] ?? ''] ?? null, values[at] ?? null);
    if (order !== 0) return order;
  }
  return 0;
}

/** SQLite's order: null, numbers, texts. Texts by code unit, which is its order for all but rare characters. */
function compare(a: Value, b: Value): number {
  const kind = kindOf(a) - kindOf(b);
  if (kind !== 0) return kind;
  if (a === null || b === null || a === b) return 0;
  return a < b ? -1 : 1;
}

const kindOf = (value: Value): number => (value === null ? 0 : typeof value === 'number' ? 1 : 2);

interface ColumnType {
  readonly kind: 'number' | 'string' | 'bytes';
  readonly nullable: boolean;
}

const columnTypes: ReadonlyMap<TableName, ReadonlyMap<string, ColumnType>> = new Map(
  tableNames.map((name) => [
    name,
    new Map(Object.entries(tables[name]).map(([column, sql]) => [column, typeOf(sql)])),
  ]),
);

function typeOf(sql: string): ColumnType {
  const kind = sql.startsWith('INTEGER') ? 'number' : sql.startsWith('TEXT') ? 'string' : 'bytes';
  return { kind, nullable: !sql.endsWith('NOT NULL') };
}

/** The row with its id, after a look at every column: SQLite's STRICT tables refuse what this refuses. */
export function complete(table: TableName, id: number, row: object): Row {
  const given = row as Readonly<Record<string, unknown>>;
  for (const column of columnTypes.get(table)?.keys() ?? []) checkValue(table, column, given[column]);
  // Spread, not built column by column: V8 copies such an object twenty times as fast as a dictionary.
  return { id, ...row } as Row;
}

/** @throws when a column cannot hold the value. */
export function checkValue(table: TableName, column: string, value: unknown): void {
  const type = columnTypes.get(table)?.get(column);
  const right =
    type !== undefined &&
    (value === null
      ? type.nullable
      : type.kind === 'number'
        ? Number.isSafeInteger(value)
        : type.kind === 'string'
          ? typeof value === 'string'
          : value instanceof Uint8Array);
  if (!right) throw new RoostError('internal', `${table}.${column} cannot be ${String(value)}.`);
}
