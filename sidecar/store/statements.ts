// Prepared statements of one table and of one declared index, made when first used and kept.
//
// Promises: every statement names its index (INDEXED BY), so a plan that would scan or sort is an error when it
// is prepared, not a slow query later. Nothing here is open between calls: each call runs a statement to its end.
// `= +?` and `LIMIT ? + 0`, here and in the reads: SQLite takes the value of a bare parameter into account when it
// plans an ORDER BY or a LIMIT, and then prepares the statement anew each time it is bound: 27 µs instead of 2 for
// a row of agent (measured, 3.54 with STAT4). A LEFT JOIN does the same; names of other tables come by a subquery.
// Not here: transactions and what an error means (writer.ts).

import type DatabaseConstructor from 'better-sqlite3';
import { indexes } from '../core/indexes.ts';
import type { IndexName, IndexSpec, RowOf } from '../core/indexes.ts';
import type { TableName, Tables } from '../core/rows.ts';
import type { Page } from '../ports.ts';
import { RoostError } from '../protocol/errors.ts';
import { limits } from '../runtime/limits.ts';
import { namesOf, partialCondition, quoted, tables } from './schema.ts';

type Database = DatabaseConstructor.Database;
type Statement<Row = unknown> = DatabaseConstructor.Statement<unknown[], Row>;
type New<T extends TableName> = Omit<Tables[T], 'id'>;

/** Reads and writes of one table by row id. Keeps the table's next id: see `floor`. */
export class TableStatements<T extends TableName> {
  /** The id that the next insert gets. Larger than every id the table ever had. */
  next: number;
  /**
   * Ids below this one are given out for ever, because the counter table says so. A row that is removed while
   * its id is not below `floor` moves it ahead by `limits.idLease`, so that removals cost a row of `counter`
   * once in so many ids instead of once a commit.
   */
  floor: number;

  readonly #database: Database;
  readonly #name: T;
  readonly #columns: readonly (keyof New<T> & string)[];
  readonly #get: Statement<Tables[T]>;
  readonly #insert: Statement;
  readonly #remove: Statement;
  readonly #moveFloor: Statement;
  readonly #updates = new Map<string, Statement>();
  readonly #values: unknown[];

  constructor(database: Database, name: T) {
    this.#database = database;
    this.#name = name;
    this.#columns = namesOf<keyof New<T> & string>(tables[name]);
    this.#values = new Array<unknown>(this.#columns.length + 1).fill(null);
    const table = quoted(name);
    const columns = ['id', ...this.#columns].map(quoted).join(', ');
    this.#get = database.prepare<unknown[], Tables[T]>(`SELECT ${columns} FROM ${table} WHERE id = ?`);
    const marks = this.#values.map(() => '?').join(', ');
    this.#insert = database.prepare<unknown[]>(`INSERT INTO ${table} (${columns}) VALUES (${marks})`);
    this.#remove = database.prepare<unknown[]>(`DELETE FROM ${table} WHERE id = ?`);
    this.#moveFloor = database.prepare<unknown[]>(
      'INSERT INTO counter (name, floor) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET floor = excluded.floor',
    );
    const newest = database.prepare<unknown[], number>(`SELECT max(id) FROM ${table}`).pluck().get();
    const floor = database
      .prepare<unknown[], number>('SELECT floor FROM counter WHERE name = ?')
      .pluck()
      .get(name);
    this.floor = floor ?? 1;
    this.next = Math.max((newest ?? 0) + 1, this.floor);
  }

  get(id: number): Tables[T] | undefined {
    return this.#get.get(id);
  }

  insert(row: New<T>): number {
    const values = this.#values;
    const columns = this.#columns;
    const id = this.next;
    values[0] = id;
    let at = 1;
    for (const column of columns) values[at++] = row[column];
    this.#insert.run(values);
    this.next = id + 1;
    return id;
  }

  update(id: number, patch: Partial<New<T>>): void {
    const names = Object.keys(patch);
    if (names.length === 0) return;
    const set = names.length === 1 ? (names[0] ?? '') : names.join();
    const statement = this.#updates.get(set) ?? this.#prepareUpdate(set, names);
    const values: unknown[] = Object.values(patch);
    values.push(id);
    if (statement.run(values).changes !== 1) {
      throw new RoostError('internal', `An update of ${this.#name} found no row.`, { id });
    }
  }

  remove(id: number): void {
    if (this.#remove.run(id).changes === 1 && id >= this.floor) this.setFloor(this.next + limits.idLease);
  }

  /** Writes down that every id below `floor` has been given out. */
  setFloor(floor: number): void {
    this.#moveFloor.run(this.#name, floor);
    this.floor = floor;
  }

  #prepareUpdate(set: string, names: readonly string[]): Statement {
    // A patch whose column set depends on data could make statements without end; starting over is rare and cheap.
    if (this.#updates.size >= limits.updateStatements) this.#updates.clear();
    const sets = names.map((name) => `${quoted(name)} = ?`).join(', ');
    const statement = this.#database.prepare<unknown[]>(
      `UPDATE ${quoted(this.#name)} SET ${sets} WHERE id = ?`,
    );
    this.#updates.set(set, statement);
    return statement;
  }
}

/** What a page asks of an index, as SQL. Exported for the test that looks at the plan of every one. */
export function rangeSql(index: IndexName, equals: readonly (string | number | null)[], page: Page): string {
  const spec: IndexSpec = indexes[index];
  const rest = spec.columns.slice(equals.length);
  const next = rest[0];
  const order = page.newest === true ? 'DESC' : 'ASC';
  const terms: string[] = [];
  const condition = partialCondition(spec);
  if (condition !== null) terms.push(condition);
  spec.columns.slice(0, equals.length).forEach((column, position) => {
    terms.push(equals[position] === null ? `${quoted(column)} IS NULL` : `${quoted(column)} = +?`);
  });
  if (page.after !== undefined) terms.push(page.newest === true ? 'id < ?' : 'id > ?');
  if (next !== undefined && page.above !== undefined) terms.push(`${quoted(next)} > ?`);
  if (next !== undefined && page.upTo !== undefined) terms.push(`${quoted(next)} <= ?`);
  const where = terms.length === 0 ? '' : ` WHERE ${terms.join(' AND ')}`;
  const ordered = [...rest.map(quoted), 'id'].map((column) => `${column} ${order}`).join(', ');
  const by = spec.columns.length === 0 ? 'NOT INDEXED' : `INDEXED BY ${quoted(index)}`;
  return `SELECT * FROM ${quoted(spec.table)} ${by}${where} ORDER BY ${ordered} LIMIT ? + 0`;
}

/** Pages of one index. A statement a form of page: which bounds it has decides the SQL. */
export class RangeStatements<I extends IndexName> {
  readonly #database: Database;
  readonly #index: I;
  readonly #columns: number;
  readonly #forms = new Map<number, Statement<RowOf<I>>>();

  constructor(database: Database, index: I) {
    this.#database = database;
    this.#index = index;
    this.#columns = indexes[index].columns.length;
  }

  all(equals: readonly (string | number | null)[], page: Page): RowOf<I>[] {
    const values: unknown[] = [];
    let form = equals.length;
    for (const value of equals) {
      form *= 2;
      if (value === null) form += 1;
      else values.push(value);
    }
    form *= 16;
    if (page.newest === true) form += 1;
    if (page.after !== undefined) {
      form += 2;
      values.push(page.after);
    }
    if (page.above !== undefined) {
      form += 4;
      values.push(page.above);
    }
    if (page.upTo !== undefined) {
      form += 8;
      values.push(page.upTo);
    }
    values.push(page.limit);
    const statement = this.#forms.get(form) ?? this.#prepare(form, equals, page);
    return statement.all(values);
  }

  #prepare(form: number, equals: readonly (string | number | null)[], page: Page): Statement<RowOf<I>> {
    checkPage(this.#index, this.#columns, equals.length, page);
    const statement = this.#database.prepare<unknown[], RowOf<I>>(rangeSql(this.#index, equals, page));
    this.#forms.set(form, statement);
    return statement;
  }
}

/** Throws when a page is not one that the index can give in order. Shared with the store of the simulator. */
export function checkPage(index: IndexName, columns: number, equals: number, page: Page): void {
  const bounded = page.above !== undefined || page.upTo !== undefined;
  const wrong =
    equals > columns
      ? 'has fewer columns than values'
      : page.after !== undefined && equals !== columns
        ? 'pages by id only with a value for every column'
        : bounded && equals >= columns
          ? 'has no column left to bound'
          : bounded && (page.after !== undefined || page.newest === true)
            ? 'cannot be bounded and paged by id at once'
            : null;
  if (wrong !== null) throw new RoostError('internal', `The index ${index} ${wrong}.`);
}
