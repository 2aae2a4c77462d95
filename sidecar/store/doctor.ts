// The doctor: looks at every row of the store for broken invariants, in slices, and changes nothing.
//
// Promises: a slice is one statement, so it sees one commit even while the fleet works, and holds the loop a few
// milliseconds; a finding names the invariant and the first rows.
// Not here: what is checked (doctorChecks.ts), repairs.

import type DatabaseConstructor from 'better-sqlite3';
import type { DoctorReport } from '../ports.ts';
import type { DoctorFinding } from '../protocol/methods.ts';
import { limits } from '../runtime/limits.ts';
import { checks } from './doctorChecks.ts';
import type { Check } from './doctorChecks.ts';
import { quoted, tableNames } from './schema.ts';
import { totalDrift } from './totals.ts';

type Database = DatabaseConstructor.Database;

/** Yields after each slice; the last value is what was found. */
export function* examine(database: Database): Generator<undefined, DoctorReport> {
  const findings: DoctorFinding[] = [];
  const checked: string[] = [];
  findings.push(...pages(database));
  checked.push(
    sizeOf(database) <= limits.doctorPagesBytes
      ? 'every page of the database'
      : 'the first page of every table (the store is large)',
  );
  yield;
  for (const check of checks) {
    const rows: number[] = [];
    for (const found of slices(database, check)) {
      rows.push(...found.slice(0, limits.doctorRows - rows.length));
      if (rows.length >= limits.doctorRows) break;
      yield;
    }
    if (rows.length > 0) {
      findings.push({ invariant: check.invariant, message: `${check.table}: ${check.message}`, rows });
    }
    checked.push(check.about);
  }
  findings.push(...totalDrift(database));
  checked.push('the totals of the status bar');
  return { findings, checked };
}

/** Ids of the rows that break a check, slice by slice. Exported with its SQL for the test that looks at the plans. */
function* slices(database: Database, check: Check): Generator<readonly number[], void> {
  const edge = database.prepare<unknown[], number>(edgeSql(check)).pluck();
  const broken = database.prepare<unknown[], number>(brokenSql(check)).pluck();
  let from = 0;
  for (;;) {
    const upTo = edge.get(from, limits.doctorSlice - 1);
    yield broken.all(from, upTo ?? Number.MAX_SAFE_INTEGER, limits.doctorRows);
    if (upTo === undefined) return;
    from = upTo;
  }
}

/** The last row of a slice. */
export const edgeSql = (check: Check): string =>
  `SELECT id FROM ${quoted(check.table)} WHERE id > ? ORDER BY id LIMIT 1 OFFSET ? + 0`;

/** The broken rows of a slice. */
export const brokenSql = (check: Check): string =>
  `SELECT own.id FROM ${quoted(check.table)} AS own WHERE own.id > ? AND own.id <= ? AND (${check.broken})
    ORDER BY own.id LIMIT ? + 0`;

/** What SQLite itself says of the file. */
function pages(database: Database): readonly DoctorFinding[] {
  try {
    if (sizeOf(database) <= limits.doctorPagesBytes) {
      const said = database.pragma(`quick_check(${limits.doctorRows})`, { simple: true });
      return said === 'ok' ? [] : [damaged(String(said))];
    }
    for (const table of tableNames)
      database.prepare(`SELECT * FROM ${quoted(table)} ORDER BY id LIMIT 1`).get();
    return [];
  } catch (error) {
    return [damaged(error instanceof Error ? error.message : String(error))];
  }
}

const damaged = (said: string): DoctorFinding => ({
  invariant: 'I2',
  message: `The database is damaged: ${said}. Stop Roost and put a backup in its place.`,
  rows: [],
});

function sizeOf(database: Database): number {
  const pageCount = Number(database.pragma('page_count', { simple: true }));
  return pageCount * Number(database.pragma('page_size', { simple: true }));
}
