// The rows that survive a simulated process, in plain maps and sorted arrays: tables, declared indexes, next ids.
//
// Promises: an index gives rows in SQLite's order; a column that SQLite's STRICT tables would refuse is refused.
// Not here: transactions and faults (fakeStore.ts).

import { indexes } from '../../sidecar/core/rows.ts';
import type { IndexName, IndexSpec, TableName, Tables } from '../../sidecar/core/rows.ts';
import type { Page } from '../../sidecar/ports.ts';
import { RoostError } from '../../sidecar/protocol/errors.ts';
import { indexNames, tableNames, tables } from '../../sidecar/store/schema.ts';

export type Value = string | number | null | Uint8Array;
export type Row = { readonly id: number } & Readonly<Record<string, Value>>;

export interface Index {
  readonly name: IndexName;
  readonly spec: IndexSpec;
  /** Rows in the order of the index columns, then of the id. */
  readonly rows: Row[];
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
            indexes: own.map((index) => ({ name: index, spec: indexes[index], rows: [] })),
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
  for (const index of table.indexes) {
    const same = before !== undefined && row !== undefined && sameKey(index.spec, before, row);
    if (same) {
      index.rows[position(index, before)] = row;
      continue;
    }
    if (before !== undefined && contains(index.spec, before)) index.rows.splice(position(index, before), 1);
    if (row !== undefined && contains(index.spec, row)) index.rows.splice(position(index, row), 0, row);
  }
  if (row === undefined) table.rows.delete(id);
  else table.rows.set(id, row);
}

/** The rows of an index whose first columns equal these values, within the page's bounds: not copied. */
export function rangeOf(index: Index, equals: readonly Value[], page: Page): readonly Row[] {
  const { spec, rows } = index;
  const next = spec.columns[equals.length];
  const under = (row: Row): number => compareAll(spec.columns, row, equals);
  /** Where a row stands to the page's lower and upper bound: by the next column, else by id. */
  const above = (row: Row, bound: number): boolean =>
    next === undefined ? row.id > bound : compare(row[next] ?? null, bound) > 0;
  const lower = page.above ?? (page.newest === true ? undefined : page.after);
  const upper = page.upTo ?? (page.newest === true && page.after !== undefined ? page.after - 1 : undefined);
  const least = lower ?? (page.upTo === undefined ? undefined : Number.NEGATIVE_INFINITY);
  const first = lowerBound(
    rows,
    (row) => under(row) > 0 || (under(row) === 0 && (least === undefined || above(row, least))),
  );
  const end = lowerBound(
    rows,
    (row) => under(row) > 0 || (under(row) === 0 && upper !== undefined && above(row, upper)),
  );
  if (page.newest === true)
    return rows.slice(Math.max(first, end - page.limit), Math.max(first, end)).reverse();
  return rows.slice(first, Math.max(first, Math.min(end, first + page.limit)));
}

/** True when both rows are in the index, at the same place. */
function sameKey(spec: IndexSpec, a: Row, b: Row): boolean {
  if (!contains(spec, a) || !contains(spec, b)) return false;
  for (const column of spec.columns) if (a[column] !== b[column]) return false;
  return true;
}

function contains(spec: IndexSpec, row: Row): boolean {
  if (spec.where === undefined) return true;
  const value = row[spec.where.column] ?? null;
  return 'notNull' in spec.where ? value !== null : value === spec.where.is;
}

function position(index: Index, row: Row): number {
  const { columns } = index.spec;
  return lowerBound(index.rows, (other) => {
    for (const column of columns) {
      const order = compare(other[column] ?? null, row[column] ?? null);
      if (order !== 0) return order > 0;
    }
    return other.id >= row.id;
  });
}

/** Number of rows before the first for which `reached` holds; it must hold for all after that one. */
function lowerBound(rows: readonly Row[], reached: (row: Row) => boolean): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const row = rows[middle];
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

const columnTypes: ReadonlyMap<TableName, ReadonlyMap<string, string>> = new Map(
  tableNames.map((name) => [name, new Map(Object.entries(tables[name]))]),
);

/** The row with its id, after a look at every column: SQLite's STRICT tables refuse what this refuses. */
export function complete(table: TableName, id: number, row: object): Row {
  const made: Record<string, Value> & { id: number } = { id };
  const given = row as Readonly<Record<string, unknown>>;
  for (const column of columnTypes.get(table)?.keys() ?? [])
    made[column] = checkValue(table, column, given[column]);
  return made;
}

export function checkValue(table: TableName, column: string, value: unknown): Value {
  const type = columnTypes.get(table)?.get(column);
  const right =
    type === undefined
      ? false
      : value === null
        ? !type.endsWith('NOT NULL')
        : type.startsWith('INTEGER')
          ? Number.isSafeInteger(value)
          : type.startsWith('TEXT')
            ? typeof value === 'string'
            : value instanceof Uint8Array;
  if (!right) throw new RoostError('internal', `${table}.${column} cannot be ${String(value)}.`);
  return value as Value;
}
