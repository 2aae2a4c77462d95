// Stores of older builds: the first format, as it was once written down, is brought forward to what this build makes.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { prepareSchema } from '../../sidecar/store/migrate.ts';
import { SqliteReads } from '../../sidecar/store/reads.ts';
import { schemaVersion } from '../../sidecar/store/schema.ts';

const fixture = (name: string): string =>
  readFileSync(path.join(import.meta.dirname, '../fixtures/store', name), 'utf8');

/** Tables with their columns, indexes and triggers. The order of columns may differ: every statement names them. */
function shape(database: Database.Database): unknown {
  const objects = database
    .prepare(
      "SELECT type, name, tbl_name AS of FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY type, name",
    )
    .all() as { type: string; name: string; of: string }[];
  return objects.map(({ type, name, of }) => {
    if (type === 'table') {
      const columns = database.pragma(`table_info("${name}")`) as {
        name: string;
        type: string;
        notnull: number;
      }[];
      return [type, name, columns.map((column) => `${column.name} ${column.type} ${column.notnull}`).sort()];
    }
    const columns = type === 'index' ? (database.pragma(`index_info("${name}")`) as { name: string }[]) : [];
    return [type, name, of, columns.map((column) => column.name)];
  });
}

test('a store of the first format becomes one of this build, and its doctor finds nothing', () => {
  const old = new Database(':memory:');
  old.exec(fixture('v1.sql'));
  old.exec(`INSERT INTO place (id, path) VALUES (1, '/w')`);
  prepareSchema(old);
  const fresh = new Database(':memory:');
  prepareSchema(fresh);
  assert.equal(old.pragma('user_version', { simple: true }), schemaVersion);
  assert.deepEqual(shape(old), shape(fresh));
  const reads = new SqliteReads(old, '');
  assert.deepEqual(reads.doctor().findings, []);
  assert.equal(reads.trust('f'.repeat(64)), undefined);
  old.close();
  fresh.close();
});
