// The doctor finds nothing in a healthy store, and each break by the invariant that it breaks.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { examine } from '../../sidecar/store/doctor.ts';
import { checks } from '../../sidecar/store/doctorChecks.ts';
import { prepareSchema } from '../../sidecar/store/migrate.ts';
import { SqliteStore } from '../../sidecar/store/writer.ts';
import type { DoctorReport } from '../../sidecar/ports.ts';
import { agentRow, callRow, changeRow, entryRow, ledgerRow, requestRow, turnRow } from './samples.ts';

/** A lead that waits for its child, which asks a person; another child is done. */
function healthy(): { readonly database: Database.Database; readonly store: SqliteStore } {
  const database = new Database(':memory:');
  prepareSchema(database);
  const store = new SqliteStore(database, {
    committed: () => undefined,
    full: () => undefined,
    noRoom: () => false,
  });
  store.transact(() => {
    const profile = store.putBlob('{"name":"planner"}');
    store.insert('shared', { hash: 'h', blob: profile });
    const place = store.insert('place', { path: '/w' });
    const waiting = { phase: 'waiting', rank: 0, profile, place, doing: '' } as const;
    const lead = {
      ...waiting,
      why: 'child',
      turn: 1,
      head: 1,
      children: 2,
      openChildren: 1,
      unheard: 1,
    } as const;
    const sums = {
      bAgents: 3,
      bWaiting: 2,
      bNeeds: 1,
      bDone: 1,
      bMicroUsd: 6,
      bTokens: 60,
    };
    store.insert('agent', agentRow({ ...lead, ...sums, microUsd: 1, tokens: 10 }));
    const child = { parent: 1, depth: 1, profile, place };
    store.insert(
      'agent',
      agentRow({
        ...waiting,
        ...child,
        why: 'approval',
        turn: 2,
        requests: 1,
        changes: 1,
        queued: 1,
        ...{
          microUsd: 5,
          tokens: 50,
          bMicroUsd: 5,
          bTokens: 50,
          bWaiting: 1,
          bNeeds: 1,
        },
      }),
    );
    store.insert('agent', agentRow({ ...child, outcome: 'done', bDone: 1, rank: 4 }));
    store.insert('turn', turnRow({ state: 'open' }));
    store.insert('turn', turnRow({ agent: 2, state: 'open' }));
    store.insert('turn', turnRow({ agent: 3, state: 'ended', outcome: 'done', told: 1 }));
    store.insert('turn', turnRow({ agent: 2 }));
    store.insert('entry', entryRow(1, 'go'));
    store.insert('entry', entryRow(2, { kind: 'note', text: 'asks' }));
    store.insert('entry', { ...entryRow(2, 'r'), kind: 'result' });
    store.insert('call', callRow({ agent: 2, turn: 2, entry: 2, state: 'asking' }));
    store.insert('call', callRow({ agent: 2, turn: 2, entry: 2, state: 'done', open: 0, result: 3 }));
    store.insert('call', callRow({ agent: 1, turn: 1, entry: 1, state: 'started' }));
    store.insert('wait', { agent: 1, call: 3, mode: 'all', remaining: 1, everyChild: 0, deadline: 0 });
    store.insert('waiting', { wait: 1, turn: 2 });
    store.insert('outcome', { parent: 1, child: 3, turn: 3, outcome: 'done', revision: 0, via: null });
    store.insert('process', { started: 1, ended: 0 });
    store.insert('request', requestRow({ agent: 2, turn: 2, call: 1 }));
    store.insert('ledger', ledgerRow({ agent: 2, turn: 2 }));
    store.insert('change', changeRow({ agent: 2, base: profile }));
    store.insert('ready', { slot: 'model', urgency: 1, root: 1, agent: 2, call: 0 });
    store.insert('timer', { due: 1, kind: 'wait', agent: 1, ref: 1 });
    store.insert('inbox', { agent: 2, sender: 1, kind: 'message', text: 'hi', key: null, at: 1 });
  });
  return { database, store };
}

function report(database: Database.Database): DoctorReport {
  const slices = examine(database);
  for (;;) {
    const slice = slices.next();
    if (slice.done === true) return slice.value;
  }
}

test('a healthy store has no finding, and everything is looked at', () => {
  const { database } = healthy();
  const { findings, checked } = report(database);
  assert.deepEqual(findings, []);
  assert.equal(checked.length, checks.length + 2);
});

/** What is done to the store, and which invariant of which table then is broken for which rows. */
const breaks: readonly (readonly [sql: string, invariant: string, table: string, rows: readonly number[]])[] =
  [
    ['UPDATE agent SET depth = 2 WHERE id = 3', 'I9', 'agent', [3]],
    ['UPDATE agent SET root = 9 WHERE id = 1', 'I9', 'agent', [1, 2, 3]],
    ['UPDATE agent SET children = 3 WHERE id = 1', 'I9', 'agent', [1]],
    ['UPDATE agent SET openChildren = 0 WHERE id = 1', 'I9', 'agent', [1]],
    ['UPDATE agent SET bAgents = 4 WHERE id = 1', 'I9', 'agent', [1]],
    ['UPDATE agent SET bMicroUsd = 4 WHERE id = 2', 'I9', 'agent', [1, 2]],
    ['UPDATE agent SET bHeldMicroUsd = 1 WHERE id = 1', 'I9', 'agent', [1]],
    ['UPDATE agent SET rank = 4 WHERE id = 2', 'I16', 'agent', [2]],
    ['UPDATE agent SET queued = 0 WHERE id = 2', 'I9', 'agent', [2]],
    ["UPDATE agent SET phase = 'idle', why = NULL WHERE id = 2", 'I16', 'agent', [2]],
    ['UPDATE agent SET why = NULL WHERE id = 1', 'I16', 'agent', [1]],
    ["UPDATE turn SET state = 'open', outcome = NULL WHERE id = 3", 'I16', 'turn', [3]],
    ['UPDATE turn SET outcome = NULL WHERE id = 3', 'I16', 'turn', [3]],
    ['UPDATE agent SET heard = 1 WHERE id = 1', 'I8', 'agent', [1]],
    ['DELETE FROM outcome', 'I8', 'agent', [1]],
    ['UPDATE outcome SET turn = 2, child = 2', 'I8', 'outcome', [1]],
    ['UPDATE outcome SET via = 3', 'I8', 'agent', [1]],
    ['UPDATE turn SET told = 1 WHERE id = 4', 'I8', 'turn', [4]],
    ['UPDATE ready SET agent = 3', 'I5', 'ready', [1]],
    ['DELETE FROM waiting', 'I4', 'wait', [1]],
    ["UPDATE call SET state = 'done', open = 0 WHERE id = 1", 'I3', 'call', [1]],
    ['DELETE FROM entry WHERE id = 3', 'I3', 'call', [2]],
    ["UPDATE turn SET state = 'ended', outcome = 'done' WHERE id = 2", 'I3', 'call', [1]],
    ['UPDATE agent SET heldTokens = 1, bHeldTokens = 1 WHERE id = 3', 'I7', 'agent', [3]],
    ["UPDATE request SET state = 'answered'", 'I9', 'agent', [2]],
    ["UPDATE change SET state = 'accepted'", 'I9', 'agent', [2]],
    ["UPDATE entry SET body = 'torn {' WHERE id = 1", 'I2', 'entry', [1]],
    ['UPDATE entry SET body = NULL WHERE id = 1', 'I2', 'entry', [1]],
    ['UPDATE entry SET agent = 9 WHERE id = 1', 'I9', 'entry', [1]],
    ['DELETE FROM place', 'I9', 'agent', [1, 2, 3]],
    ['DELETE FROM blob', 'I9', 'shared', [1]],
    ['UPDATE change SET after = 9', 'I9', 'change', [1]],
    ['UPDATE timer SET agent = 9', 'I9', 'timer', [1]],
    ['UPDATE total SET agents = 9', 'I9', 'total', []],
  ];

test('each break is found, with its invariant and its rows', () => {
  for (const [sql, invariant, table, rows] of breaks) {
    const { database } = healthy();
    database.exec(sql);
    const { findings } = report(database);
    const found = findings.some(
      (finding) =>
        finding.invariant === invariant &&
        finding.message.startsWith(`${table}:`) &&
        JSON.stringify(finding.rows) === JSON.stringify(rows),
    );
    assert.ok(found, `${sql}\n${JSON.stringify(findings, null, 2)}`);
    database.close();
  }
});

test('a large store is looked at in slices, the last rows too', () => {
  const { database, store } = healthy();
  store.transact(() => {
    for (let made = 0; made < 1_300; made += 1)
      store.insert('turn', turnRow({ agent: 3, state: 'ended', outcome: 'done' }));
    store.insert('turn', turnRow({ agent: 3, state: 'ended' }));
  });
  const slices = examine(database);
  let count = 0;
  let slice = slices.next();
  for (; slice.done !== true; slice = slices.next()) count += 1;
  assert.ok(count > checks.length + 2 * 3);
  assert.deepEqual(
    slice.value.findings.map((finding) => finding.rows),
    [[1_305]],
  );
});
