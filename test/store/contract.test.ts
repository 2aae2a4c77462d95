// The promises of the Store port, as one suite for every implementation: SQLite in a file, SQLite in memory, and
// the simulator's maps. A Postgres store would be the next line of `stores`.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { Store } from '../../sidecar/ports.ts';
import { openStore } from '../../sidecar/store/open.ts';
import { FakeStore } from '../sim/fakeStore.ts';
import { folder } from './folder.ts';
import { agentRow, turnRow } from './samples.ts';

interface Opened {
  readonly store: Store;
  /** Closes the store and opens it again, as the next process would. */
  readonly again: () => Store;
}

const stores: Readonly<Record<string, (t: TestContext) => Opened>> = {
  'SQLite file': (t) => {
    const directory = folder(t);
    let open = openStore({ directory, durability: 'process' });
    t.after(() => open.close());
    return {
      store: open.store,
      again: () => {
        open.close();
        open = openStore({ directory, durability: 'process' });
        return open.store;
      },
    };
  },
  'SQLite memory': (t) => {
    const open = openStore({ directory: '', durability: 'process', mode: 'memory' });
    t.after(() => open.close());
    return { store: open.store, again: () => open.store };
  },
  maps: () => {
    const first = new FakeStore();
    return { store: first, again: () => new FakeStore(first.disk) };
  },
};

for (const [name, make] of Object.entries(stores)) {
  const story = (title: string, check: (opened: Opened) => void): void => {
    test(`${name}: ${title}`, (t) => check(make(t)));
  };

  story('a row comes back as it was put in, and only what a patch names changes', ({ store }) => {
    const row = agentRow({ why: 'child', maxMicroUsd: 0, key: 'k', since: 2 ** 52, task: 'ä 𝒳 "\u0000' });
    const id = committed(store, () => store.insert('agent', row));
    assert.deepEqual(store.get('agent', id), { id, ...row });
    committed(store, () => store.update('agent', id, { why: null, rank: 0, name: 'b' }));
    assert.deepEqual(store.get('agent', id), { id, ...row, why: null, rank: 0, name: 'b' });
    committed(store, () => store.update('agent', id, {}));
    assert.equal(store.get('agent', 2), undefined);
  });

  story('what get returns is the caller’s own', ({ store }) => {
    const id = committed(store, () => store.insert('place', { path: '/a' }));
    const got = store.get('place', id);
    assert.ok(got);
    got.path = '/b';
    assert.equal(store.get('place', id)?.path, '/a');
  });

  story('a thrown error takes the whole transaction back, ids included', ({ store }) => {
    committed(store, () => store.insert('place', { path: '/a' }));
    const bug = new Error('bug');
    assert.throws(
      () =>
        store.transact(() => {
          store.insert('place', { path: '/b' });
          store.update('place', 1, { path: '/c' });
          store.remove('place', 1);
          throw bug;
        }),
      bug,
    );
    assert.deepEqual(all(store, '/a'), [1]);
    assert.equal(store.get('place', 2), undefined);
    assert.equal(
      committed(store, () => store.insert('place', { path: '/d' })),
      2,
    );
  });

  story('an attempt that throws takes back its own part only', ({ store }) => {
    committed(store, () => {
      store.insert('place', { path: '/a' });
      assert.throws(() =>
        store.attempt(() => {
          store.insert('place', { path: '/b' });
          store.attempt(() => store.update('place', 1, { path: '/inner' }));
          throw new Error('no');
        }),
      );
      assert.equal(
        store.attempt(() => store.insert('place', { path: '/c' })),
        2,
      );
    });
    assert.deepEqual(all(store, '/a', '/b', '/c', '/inner'), [1, 2]);
  });

  story('rows change in a transaction and nowhere else, and transactions do not nest', ({ store }) => {
    assert.throws(() => store.insert('place', { path: '/a' }), /only in a transaction/);
    assert.throws(() => store.attempt(() => 1), /No transaction/);
    assert.throws(() => store.transact(() => store.transact(() => 1)), /open already/);
    assert.equal(
      committed(store, () => store.insert('place', { path: '/a' })),
      1,
    );
  });

  story('an update of a row that is not there is a bug; a removal is not', ({ store }) => {
    assert.throws(() => store.transact(() => store.update('place', 7, { path: '/a' })), /found no row/);
    committed(store, () => store.remove('place', 7));
  });

  story('a value of the wrong type is refused and the rest of the transaction may go on', ({ store }) => {
    const bad: number = JSON.parse('"text"');
    committed(store, () => {
      store.insert('place', { path: '/a' });
      assert.throws(() => store.attempt(() => store.insert('agent', agentRow({ rank: bad }))));
    });
    assert.equal(store.get('place', 1)?.path, '/a');
    assert.equal(store.get('agent', 1), undefined);
  });

  story('an id is never used again, not after removals and not by the next process', ({ store, again }) => {
    const ready = { slot: 'model', urgency: 0, root: 1, agent: 1, call: 0 } as const;
    committed(store, () => {
      for (let count = 0; count < 3; count += 1) store.insert('ready', ready);
      for (let id = 1; id <= 3; id += 1) store.remove('ready', id);
    });
    const fourth = committed(store, () => store.insert('ready', ready));
    assert.ok(fourth > 3);
    committed(store, () => store.remove('ready', fourth));
    const next = again();
    assert.ok(committed(next, () => next.insert('ready', ready)) > fourth);
  });

  story('what was committed is there for the next process', ({ store, again }) => {
    const row = turnRow({ text: 'x'.repeat(100_000), state: 'open' });
    const id = committed(store, () => store.insert('turn', row));
    const next = again();
    assert.deepEqual(next.get('turn', id), { id, ...row });
    assert.equal(
      committed(next, () => next.insert('turn', row)),
      id + 1,
    );
  });

  story('ranges give rows in order, page by page, both ways', ({ store }) => {
    committed(store, () => {
      for (let id = 1; id <= 10; id += 1) store.insert('turn', turnRow({ agent: (id % 2) + 1 }));
    });
    const ids = (page: { after?: number; newest?: boolean; limit: number }): number[] =>
      store.range('turn.agent', [1], page).map((row) => row.id);
    assert.deepEqual(ids({ limit: 10 }), [2, 4, 6, 8, 10]);
    assert.deepEqual(ids({ limit: 2 }), [2, 4]);
    assert.deepEqual(ids({ limit: 2, after: 4 }), [6, 8]);
    assert.deepEqual(ids({ limit: 2, newest: true }), [10, 8]);
    assert.deepEqual(ids({ limit: 2, newest: true, after: 8 }), [6, 4]);
    assert.deepEqual(ids({ limit: 10, after: 10 }), []);
  });

  story('a partial index has only its rows, and follows them', ({ store }) => {
    committed(store, () => {
      store.insert('turn', turnRow());
      store.insert('turn', turnRow({ state: 'open' }));
      store.insert('turn', turnRow({ key: 'k' }));
    });
    const queued = (): number[] => store.range('turn.queued', [1], { limit: 9 }).map((row) => row.id);
    assert.deepEqual(queued(), [1, 3]);
    committed(store, () => {
      store.update('turn', 1, { state: 'open' });
      store.update('turn', 2, { state: 'queued' });
    });
    assert.deepEqual(queued(), [2, 3]);
    assert.deepEqual(
      store.range('turn.key', ['k'], { limit: 9 }).map((row) => row.id),
      [3],
    );
    assert.deepEqual(store.range('turn.key', ['other'], { limit: 9 }), []);
  });

  story('null is a value to look for', ({ store }) => {
    committed(store, () => {
      store.insert('agent', agentRow({ phase: 'waiting', why: null }));
      store.insert('agent', agentRow({ phase: 'waiting', why: 'child' }));
      store.insert('agent', agentRow({ phase: 'idle', why: 'child' }));
    });
    const waiting = (why: string | null): number[] =>
      store.range('agent.waiting', [why], { limit: 9 }).map((row) => row.id);
    assert.deepEqual(waiting(null), [1]);
    assert.deepEqual(waiting('child'), [2]);
  });

  story('the next column can be bounded instead of the id', ({ store }) => {
    const ready = (root: number): number =>
      store.insert('ready', { slot: 'model', urgency: 0, root, agent: 1, call: 0 });
    committed(store, () => {
      for (const root of [5, 3, 9, 3]) ready(root);
    });
    const roots = (page: { above?: number; upTo?: number; limit: number }): number[] =>
      store.range('ready.root', ['model', 0], page).map((row) => row.root);
    assert.deepEqual(roots({ limit: 9 }), [3, 3, 5, 9]);
    assert.deepEqual(roots({ limit: 9, above: 3 }), [5, 9]);
    assert.deepEqual(roots({ limit: 9, upTo: 5 }), [3, 3, 5]);
    assert.deepEqual(roots({ limit: 9, above: 3, upTo: 5 }), [5]);
    assert.deepEqual(
      store.range('ready.root', ['model', 0], { limit: 2 }).map((row) => row.id),
      [2, 4],
    );
  });

  story('timers come by their time, from no value at all', ({ store }) => {
    committed(store, () => {
      for (const due of [50, 10, 30, 10]) store.insert('timer', { due, kind: 'wait', agent: 1, ref: 0 });
    });
    assert.deepEqual(
      store.range('timer.due', [], { limit: 3 }).map((row) => [row.due, row.id]),
      [
        [10, 2],
        [10, 4],
        [30, 3],
      ],
    );
    assert.deepEqual(
      store.range('timer.due', [], { upTo: 29, limit: 9 }).map((row) => row.id),
      [2, 4],
    );
  });

  story('a page that the index cannot give in order is refused', ({ store }) => {
    assert.throws(() => store.range('timer.due', [], { after: 3, limit: 1 }), /value for every column/);
    assert.throws(() => store.range('timer.due', [1], { above: 3, limit: 1 }), /no column left/);
    assert.throws(() => store.range('timer.due', [1, 2], { limit: 1 }), /fewer columns/);
    assert.throws(
      () => store.range('ready.root', ['model'], { above: 1, newest: true, limit: 1 }),
      /at once/,
    );
  });

  story('blobs come back byte for byte, packed or not', ({ store }) => {
    const contents = ['', 'short', 'long '.repeat(10_000), 'ä𝒳\u0000'.repeat(500)];
    const bytes = Uint8Array.from({ length: 5_000 }, (_, at) => (at * 7919) % 251);
    const ids = committed(store, () => [...contents, bytes].map((content) => store.putBlob(content)));
    contents.forEach((content, at) => assert.equal(store.blobText(ids[at] ?? 0), content));
    assert.deepEqual(new Uint8Array(store.blobBytes(ids.at(-1) ?? 0) ?? []), bytes);
    assert.equal(store.blobText(99), undefined);
    assert.equal(store.blobBytes(99), undefined);
  });
}

/** Runs a transaction that must commit. */
function committed<T>(store: Store, work: () => T): T {
  const result = store.transact(work);
  assert.equal(result.kind, 'committed');
  return result.kind === 'committed' ? result.value : assert.fail();
}

/** Ids of the places with one of these paths. */
function all(store: Store, ...paths: readonly string[]): number[] {
  return paths.flatMap((path) => store.range('place.path', [path], { limit: 9 }).map((row) => row.id)).sort();
}
