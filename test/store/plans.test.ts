// The plan of every statement: each finds its rows by an id or by an index in the order that is wanted, and none
// reads a table from end to end or sorts (DESIGN §6).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { indexes } from '../../sidecar/core/indexes.ts';
import type { IndexName, IndexSpec } from '../../sidecar/core/indexes.ts';
import type { Page } from '../../sidecar/ports.ts';
import { brokenSql, edgeSql } from '../../sidecar/store/doctor.ts';
import { checks } from '../../sidecar/store/doctorChecks.ts';
import { SqliteReads } from '../../sidecar/store/reads.ts';
import { indexNames, schemaSql } from '../../sidecar/store/schema.ts';
import { checkPage, rangeSql } from '../../sidecar/store/statements.ts';

const database = new Database(':memory:');
for (const sql of schemaSql()) database.exec(sql);

/** The steps of a plan, as SQLite words them. */
function planOf(sql: string): string[] {
  const statement = database.prepare(`EXPLAIN QUERY PLAN ${sql}`);
  const marks = (sql.match(/\?/g) ?? []).length;
  const rows = statement.all(...new Array<number>(marks).fill(1)) as { detail: string }[];
  return rows.map((row) => row.detail);
}

const dear = /\bSCAN (?!CONSTANT|counted|total|\(subquery)|TEMP B-TREE|AUTOMATIC/;

/** All forms of page that an index allows with a number of values. */
function pagesOf(spec: IndexSpec, index: IndexName, equals: number): Page[] {
  const forms: Page[] = [
    { limit: 1 },
    { limit: 1, newest: true },
    { limit: 1, after: 1 },
    { limit: 1, after: 1, newest: true },
    { limit: 1, above: 1 },
    { limit: 1, upTo: 1 },
    { limit: 1, above: 1, upTo: 1 },
  ];
  return forms.filter((page) => {
    try {
      checkPage(index, spec.columns.length, equals, page);
      return true;
    } catch {
      return false;
    }
  });
}

test('every range of every index is a search in order', () => {
  let plans = 0;
  for (const index of indexNames) {
    const spec: IndexSpec = indexes[index];
    for (let equals = 0; equals <= spec.columns.length; equals += 1) {
      for (const page of pagesOf(spec, index, equals)) {
        const values = new Array<number>(equals).fill(1);
        const plan = planOf(rangeSql(index, values, page));
        plans += 1;
        assert.equal(plan.length, 1, `${index}: ${plan.join('; ')}`);
        // With no value and no bound the whole index is wanted, in its order: SQLite calls that a scan.
        const whole =
          equals === 0 && page.above === undefined && page.upTo === undefined && page.after === undefined;
        const by = spec.columns.length === 0 ? 'INTEGER PRIMARY KEY' : `(COVERING )?INDEX ${index}`;
        // The rows of a table stand in order of id: to read the first of them names no index.
        const ordered = spec.columns.length === 0 && page.after === undefined ? '$' : ` USING ${by}( |$)`;
        const want = new RegExp(`^${whole ? '(SCAN|SEARCH)' : 'SEARCH'} ${spec.table}${ordered}`);
        assert.match(plan[0] ?? '', want, `${index} with ${equals} values, ${JSON.stringify(page)}`);
      }
    }
  }
  assert.ok(plans > 150, `${plans} plans`);
});

test('a range with null in place of a value is a search too', () => {
  assert.match(
    planOf(rangeSql('agent.waiting', [null], { limit: 1 })).join(),
    /^SEARCH agent USING INDEX agent.waiting/,
  );
});

test('every statement of the reads is a search', () => {
  const prepared: string[] = [];
  const recording = new Proxy(database, {
    get(target, name) {
      if (name !== 'prepare') return Reflect.get(target, name, target) as unknown;
      return (sql: string) => {
        prepared.push(sql);
        return target.prepare(sql);
      };
    },
  });
  new SqliteReads(recording, ':memory:');
  assert.ok(prepared.length > 25, `${prepared.length} statements`);
  for (const sql of prepared) {
    const plan = planOf(sql);
    assert.doesNotMatch(plan.join('\n'), dear, `${sql}\n${plan.join('\n')}`);
  }
});

test('every check of the doctor looks at its slice and at nothing else', () => {
  for (const check of checks) {
    for (const sql of [brokenSql(check), edgeSql(check)]) {
      const plan = planOf(sql);
      assert.doesNotMatch(plan.join('\n'), dear, `${sql}\n${plan.join('\n')}`);
    }
  }
});

test('no statement is prepared anew when it is bound: values are not bare where SQLite plans by them', () => {
  const sorted = [
    ...indexNames.map((index) =>
      rangeSql(
        index,
        indexes[index].columns.map(() => 1),
        { limit: 1 },
      ),
    ),
    ...checks.flatMap((check) => [brokenSql(check), edgeSql(check)]),
  ];
  for (const sql of sorted) assert.doesNotMatch(sql, / = \?|LIMIT \?(?! \+ 0)|LEFT JOIN/, sql);
});
