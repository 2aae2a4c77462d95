// The simulator's store against SQLite: the same random calls, the same answers, the same rows, ids included.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { indexes } from '../../sidecar/core/indexes.ts';
import type { IndexName } from '../../sidecar/core/indexes.ts';
import type { TableName, Tables } from '../../sidecar/core/rows.ts';
import type { Page, Store } from '../../sidecar/ports.ts';
import { RoostError } from '../../sidecar/protocol/errors.ts';
import { openStore } from '../../sidecar/store/open.ts';
import { FakeStore } from '../sim/fakeStore.ts';
import { agentRow, turnRow } from './samples.ts';

type Op =
  | { readonly kind: 'insert'; readonly table: TableName; readonly row: object }
  | { readonly kind: 'update'; readonly table: TableName; readonly id: number; readonly patch: object }
  | { readonly kind: 'remove'; readonly table: TableName; readonly id: number }
  | { readonly kind: 'get'; readonly table: TableName; readonly id: number }
  | {
      readonly kind: 'range';
      readonly index: IndexName;
      readonly equals: readonly (string | number | null)[];
      readonly page: Page;
    }
  /** A part that is taken back when `fails`. */
  | { readonly kind: 'attempt'; readonly ops: readonly Op[]; readonly fails: boolean };

interface Transaction {
  readonly ops: readonly Op[];
  readonly fails: boolean;
}

const id = fc.integer({ min: 1, max: 12 });
const few = fc.integer({ min: 0, max: 3 });
const key = fc.option(fc.constantFrom('k', 'l', 'ä'), { nil: null });

/** Columns of a table that a test varies, each with its values. */
const varied = {
  agent: fc.record({
    parent: few,
    name: fc.constantFrom('a', 'b'),
    phase: fc.constantFrom('ready', 'waiting', 'idle'),
    why: fc.option(fc.constantFrom('child', 'key'), { nil: null }),
    rank: few,
    key,
  }),
  turn: fc.record({ agent: few, state: fc.constantFrom('queued', 'open', 'ended'), key }),
  ready: fc.record({
    slot: fc.constantFrom('model', 'command'),
    urgency: few,
    root: few,
    agent: few,
    call: few,
  }),
  timer: fc.record({ due: few, kind: fc.constant('wait'), agent: few, ref: few }),
  waiting: fc.record({ wait: few, turn: few }),
};
type Varied = keyof typeof varied;
const variedTables = Object.keys(varied) as Varied[];

const whole = (table: Varied, own: object): object =>
  table === 'agent' ? agentRow(own) : table === 'turn' ? turnRow(own) : own;

const table = fc.constantFrom(...variedTables);
const insert = table.chain((name) =>
  (varied[name] as fc.Arbitrary<object>).map((own): Op => ({
    kind: 'insert',
    table: name,
    row: whole(name, own),
  })),
);
const update = table.chain((name) =>
  fc
    .tuple(id, varied[name] as fc.Arbitrary<object>, fc.integer({ min: 0, max: 3 }))
    .map(([at, own, count]): Op => ({
      kind: 'update',
      table: name,
      id: at,
      patch: Object.fromEntries(Object.entries(own).slice(0, count)),
    })),
);

const ranges = (Object.keys(indexes) as IndexName[]).filter((name) =>
  variedTables.some((each) => each === indexes[name].table),
);
const value = fc.oneof(
  few,
  fc.constantFrom('model', 'queued', 'ready', 'waiting', 'child', 'a', 'k'),
  fc.constant(null),
);
const range = fc.constantFrom(...ranges).chain((index) =>
  fc
    .record({
      equals: fc.array(value, { maxLength: indexes[index].columns.length }),
      page: fc.record(
        { limit: fc.integer({ min: 0, max: 5 }), after: id, newest: fc.boolean(), above: few, upTo: few },
        { requiredKeys: ['limit'] },
      ),
    })
    .map(({ equals, page }): Op => ({ kind: 'range', index, equals, page })),
);
const simple = fc.oneof(
  { weight: 4, arbitrary: insert },
  { weight: 3, arbitrary: update },
  {
    weight: 2,
    arbitrary: fc.tuple(table, id).map(([name, at]): Op => ({ kind: 'remove', table: name, id: at })),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(table, id).map(([name, at]): Op => ({ kind: 'get', table: name, id: at })),
  },
  { weight: 4, arbitrary: range },
);
const attempt = fc
  .record({ ops: fc.array(simple, { maxLength: 4 }), fails: fc.boolean() })
  .map((made): Op => ({ kind: 'attempt', ...made }));
const transactions = fc.array(
  fc.record({
    ops: fc.array(fc.oneof({ weight: 6, arbitrary: simple }, { weight: 1, arbitrary: attempt }), {
      maxLength: 12,
    }),
    fails: fc.boolean(),
  }),
  { maxLength: 8 },
);

class Planned extends Error {}

/** Runs one call and says what came of it; an error of the store's own is an answer too. */
function answer(store: Store, op: Op): unknown {
  try {
    switch (op.kind) {
      case 'insert':
        return store.insert(op.table, op.row as Omit<Tables[TableName], 'id'>);
      case 'update':
        return store.update(op.table, op.id, op.patch);
      case 'remove':
        return store.remove(op.table, op.id);
      case 'get':
        return store.get(op.table, op.id);
      case 'range':
        return store.range(op.index, op.equals, op.page);
      case 'attempt':
        return store.attempt(() => {
          const answers = op.ops.map((inner) => answer(store, inner));
          if (op.fails) throw new Planned();
          return answers;
        });
    }
  } catch (error) {
    if (error instanceof Planned) return 'taken back';
    assert.ok(error instanceof RoostError, String(error));
    return `${error.code}: ${error.message}`;
  }
}

function run(store: Store, transaction: Transaction): unknown {
  let answers: unknown = null;
  try {
    store.transact(() => {
      answers = transaction.ops.map((op) => answer(store, op));
      if (transaction.fails) throw new Planned();
    });
  } catch (error) {
    assert.ok(error instanceof Planned);
  }
  return answers;
}

test('both stores give the same answers and end with the same rows', () => {
  fc.assert(
    fc.property(transactions, (script) => {
      const sqlite = openStore({ directory: '', durability: 'process', mode: 'memory' });
      const fake = new FakeStore();
      for (const transaction of script)
        assert.deepEqual(run(fake, transaction), run(sqlite.store, transaction));
      for (const name of variedTables) {
        const rows = fake.disk.rows(name);
        for (let at = 1; at <= 60; at += 1) {
          assert.deepEqual(
            rows.find((row) => row.id === at),
            sqlite.store.get(name, at),
            `${name} ${at}`,
          );
        }
      }
      sqlite.close();
    }),
    { numRuns: 250 },
  );
});
