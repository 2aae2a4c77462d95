// Stores of older builds: the first format, as it was once written down, is brought forward to what this build makes.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { prepareSchema } from '../../sidecar/store/migrate.ts';
import { SqliteReads } from '../../sidecar/store/reads.ts';
import { schemaVersion } from '../../sidecar/store/schema.ts';
import { totalDrift } from '../../sidecar/store/totals.ts';
import { SqliteStore } from '../../sidecar/store/writer.ts';
import { agentRow, changeRow, requestRow } from './samples.ts';

const nothing = (): void => undefined;

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

/** What a lead and its child were in the first format: both at work, the child after a turn that its lead has heard. */
const rows = `
  INSERT INTO blob VALUES (1, 'raw', 9, CAST('{"name":1}' AS BLOB));
  INSERT INTO place VALUES (1, '/w');
  INSERT INTO agent (id, parent, root, depth, phase, since, rank, turn, head, bytes, queued, children, openChildren, heard,
      unheard, noticeGap, requests, changes, crashes, urgency, closed, revision, halted, microUsd, tokens, bAgents, bRunning,
      bWaiting, bNeeds, bFailed, bDone, bMicroUsd, bTokens, bHeldMicroUsd, bHeldTokens, forkAgent, forkEntry, profile,
      place, created, model, isolation, mode, name, task, doing) VALUES
    (1, 0, 1, 0, 'asking', 1, 1, 1, 1, 9, 0, 1, 1, 1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 3, 30, 2, 2, 0, 0, 0, 0, 3, 30, 5, 50,
      0, 0, 1, 1, 1, 'm/x', 'shared', 'ask', 'lead', '', ''),
    (2, 1, 1, 1, 'ready', 1, 1, 3, 3, 9, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0,
      0, 0, 1, 1, 1, 'm/x', 'shared', 'ask', 'kid', '', '');
  INSERT INTO turn (id, agent, state, cause, sender, outcome, rounds, tries, empties, started, ended, answer, last, bytes,
      brief) VALUES
    (1, 1, 'open', 'message', 0, NULL, 4, 1, 0, 1, 0, 0, 0, 0, ''),
    (2, 2, 'ended', 'spawn', 1, 'done', 1, 0, 0, 1, 2, 0, 2, 9, 'said'),
    (3, 2, 'open', 'followup', 1, NULL, 0, 0, 0, 2, 0, 0, 0, 0, '');
  INSERT INTO entry VALUES (1, 1, 1, 1, 'note', 0, 9, '{"kind":"note","text":"a"}'),
    (2, 2, 2, 1, 'note', 0, 9, '{"kind":"note","text":"b"}'), (3, 2, 3, 1, 'note', 0, 9, '{"kind":"note","text":"c"}');
  INSERT INTO outcome VALUES (1, 1, 2, 2, 'done', 1);
  INSERT INTO ready VALUES (1, 'model', 1, 1, 2, 0);
  INSERT INTO ledger VALUES (6, 2, 2, 1, 'settled', 0, 0, 3, 20, 10, 5, 0, 7200000, 'm/x');
  INSERT INTO ledger VALUES (7, 1, 1, 5, 'open', 5, 50, 0, 0, 0, 0, 0, 1, 'm/x');
`;

/** Changes of every kind that the store's triggers count, each followed by a recount; all are undone. */
function countsRight(database: Database.Database): void {
  const store = new SqliteStore(database, { committed: nothing, full: nothing, noRoom: () => false });
  const undone = new Error('undone');
  const look = (): void => assert.deepEqual(totalDrift(database), []);
  const sums = { bAgents: 3, bRunning: 1, bWaiting: 1, bFailed: 1, bDone: 1, bMicroUsd: 5, bTokens: 7 };
  const changes = (): never => {
    const root = store.insert('agent', agentRow(sums));
    const change = store.insert('change', changeRow({ agent: root }));
    store.insert('request', requestRow({ agent: root }));
    look();
    store.update('agent', root, { bRunning: 0, bMicroUsd: 9 });
    store.update('change', change, { trash: 1 });
    look();
    store.update('agent', root, { detached: 1 });
    look();
    store.update('agent', root, { bTokens: 8, bDone: 2 });
    look();
    store.update('agent', root, { detached: 0 });
    store.update('change', change, { trash: 0 });
    look();
    store.update('agent', root, { detached: 1 });
    store.remove('change', change);
    store.remove('agent', root);
    look();
    throw undone;
  };
  assert.throws(() => store.transact(changes), undone);
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
  countsRight(old);
  const reads = new SqliteReads(old, '');
  assert.deepEqual(reads.doctor().findings, []);
  assert.equal(reads.trust('f'.repeat(64)), undefined);
  old.close();
  fresh.close();
});

test('rows of the first format are whole afterwards, and what was in flight is where it is looked for', () => {
  const old = new Database(':memory:');
  old.exec(fixture('v1.sql'));
  old.exec(rows);
  prepareSchema(old);
  const reads = new SqliteReads(old, '');
  assert.deepEqual(reads.doctor().findings, []);
  assert.equal(reads.agent(2)?.name, 'kid');
  assert.equal(reads.turn(2)?.outcome, 'done');
  const of = (sql: string): unknown => old.prepare(sql).get();
  assert.deepEqual(of('SELECT rounds, tries, heldTokens, attempts, restarted FROM agent WHERE id = 1'), {
    rounds: 4,
    tries: 1,
    heldTokens: 50,
    attempts: 7,
    restarted: 0,
  });
  assert.deepEqual(of('SELECT told FROM turn WHERE id = 2'), { told: 1 });
  const spent = { requests: 1, lost: 0, input: 20, output: 10, cacheRead: 5, cacheWrite: 0, microUsd: 3 };
  const day = { day: '1970-01-01', model: 'm/x', ...spent };
  assert.deepEqual([reads.spent(0, 0, 0), reads.spent(1, 0, 0), reads.spent(2, 0, 0)], [[day], [day], []]);
  assert.deepEqual(of('SELECT context, compacting, homeModel, effort FROM agent WHERE id = 1'), {
    context: 0,
    compacting: 0,
    homeModel: null,
    effort: null,
  });
  old.close();
});

test('a change that was in conflict is an open one with a mark, counted as it is for its agent', () => {
  const old = new Database(':memory:');
  old.exec(fixture('v1.sql'));
  old.exec(rows);
  old.exec(`UPDATE agent SET changes = 2 WHERE id = 1;
    INSERT INTO change (id, agent, path, written, label, isolation, kind, state, base, after, baseHash, afterHash,
      added, removed, at, accepted, rejected) VALUES
    (1, 1, '/w/a', '/w/a', 'a', 'shared', 'edit', 'open', 0, 0, 'b', 'a', 1, 1, 1, 0, 0),
    (2, 1, '/w/b', '/w/b', 'b', 'shared', 'edit', 'conflict', 0, 0, 'b', 'a', 1, 1, 1, 0, 0)`);
  prepareSchema(old);
  const reads = new SqliteReads(old, '');
  assert.deepEqual(reads.doctor().findings, []);
  const states = reads.changes(0, 0, 10).rows.map((row) => row.state);
  assert.deepEqual(states, ['open', 'conflict']);
  assert.equal(reads.fleet().reviews, 2);
  old.close();
});
