// What a failing disk does: a full one, one that breaks, and a process that dies at any commit.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import type { Store } from '../../sidecar/ports.ts';
import { RoostError } from '../../sidecar/protocol/errors.ts';
import { limits } from '../../sidecar/runtime/limits.ts';
import { prepareSchema } from '../../sidecar/store/migrate.ts';
import { Room } from '../../sidecar/store/room.ts';
import { SqliteStore } from '../../sidecar/store/writer.ts';
import type { Watch } from '../../sidecar/store/writer.ts';
import { FakeStore, SimulatedCrash } from '../sim/fakeStore.ts';
import { folder } from './folder.ts';

const quiet: Watch = { committed: () => undefined, full: () => undefined, noRoom: () => false };

/** A store of limited size; `grow` gives it more pages. */
function small(watch: Partial<Watch> = {}): {
  store: SqliteStore;
  database: Database.Database;
  grow: (pages: number) => void;
} {
  const database = new Database(':memory:');
  prepareSchema(database);
  const grow = (pages: number): void => {
    const now = Number(database.pragma('page_count', { simple: true }));
    database.pragma(`max_page_count = ${now + pages}`);
  };
  return { store: new SqliteStore(database, { ...quiet, ...watch }), database, grow };
}

const place = (store: Store, kilobytes: number): number =>
  store.insert('place', { path: 'x'.repeat(kilobytes * 1024) });
const count = (database: Database.Database): unknown =>
  database.prepare('SELECT count(*) FROM place').pluck().get();

test('a full disk takes the transaction back, gives up the ballast, and the rows that say so fit', () => {
  const { store, database, grow } = small({ full: () => grow(20) });
  store.transact(() => place(store, 1));
  grow(0);
  const result = store.transact(() => {
    for (let made = 0; made < 50; made += 1) place(store, 4);
  });
  assert.equal(result.kind, 'full');
  assert.match(result.kind === 'full' ? result.message : '', /full.*[Ff]ree/s);
  assert.equal(count(database), 1);
  assert.deepEqual(
    store.transact(() => place(store, 4)),
    { kind: 'committed', value: 2 },
  );
});

test('whoever catches the error of a full disk, the transaction cannot commit', () => {
  const { store, database, grow } = small();
  grow(0);
  const result = store.transact(() => {
    try {
      store.attempt(() => {
        for (;;) place(store, 64);
      });
    } catch {
      return 'went on';
    }
    return 'no error';
  });
  assert.equal(result.kind, 'full');
  assert.equal(count(database), 0);
});

test('an I/O error that is a full disk in disguise is told as one', () => {
  const failure = new Database.SqliteError('disk I/O error', 'SQLITE_IOERR_WRITE');
  for (const noRoom of [true, false]) {
    const { store } = small({ noRoom: () => noRoom });
    const fail = (): never => {
      throw failure;
    };
    if (noRoom) {
      assert.equal(store.transact(fail).kind, 'full');
      assert.equal(store.transact(() => 1).kind, 'committed');
    } else {
      assert.throws(() => store.transact(fail), isFailed);
      // Nothing is certain about the connection any more.
      assert.throws(() => store.transact(() => 1), isFailed);
    }
  }
});

const isFailed = (error: unknown): boolean => error instanceof RoostError && error.code === 'store/failed';

test('the ballast is real bytes, is given up and comes back', (t) => {
  const directory = folder(t);
  const room = new Room(directory);
  t.after(() => room.close());
  grow(room);
  const ballast = statSync(path.join(directory, 'ballast'));
  assert.equal(ballast.size, limits.ballastBytes);
  assert.ok(ballast.blocks * 512 >= limits.ballastBytes);
  assert.equal(room.none(), false);
  room.release();
  assert.equal(statSync(path.join(directory, 'ballast'), { throwIfNoEntry: false }), undefined);
  grow(room);
});

function grow(room: Room): void {
  let parts = 0;
  while (room.grow() === 'part') parts += 1;
  assert.equal(room.grow(), 'whole');
  assert.equal(parts, limits.ballastBytes / limits.ballastPartBytes);
}

test('on a disk that is really full: told, nothing half, the ballast makes room, and it goes on when there is more', (t) => {
  const directory = folder(t);
  const script = path.join(import.meta.dirname, 'fullDisk.ts');
  const mounted = `mount -t tmpfs -o size=40m tmpfs "$1" && exec "$2" "$3" "$1"`;
  const run = spawnSync('unshare', ['-rm', 'sh', '-c', mounted, 'sh', directory, process.execPath, script], {
    encoding: 'utf8',
    timeout: 20_000,
    windowsHide: true,
  });
  if (run.error !== undefined || /unshare|mount/.test(run.stderr)) {
    t.skip('no small disk can be mounted here');
    return;
  }
  assert.equal(run.stderr, '');
  assert.deepEqual(JSON.parse(run.stdout), {
    committedUntilFull: true,
    full: 'full',
    afterBallast: 'committed',
    rowsWhole: true,
    afterRoom: 'committed',
    ballastGone: true,
  });
});

/** Five transactions of some calls each; says what is in the store when each has begun. */
function work(store: Store, begun: (rows: number) => void): void {
  for (let turn = 0; turn < 5; turn += 1) {
    begun(turn * 2);
    const result = store.transact(() => {
      store.attempt(() => store.insert('place', { path: `a${turn}` }));
      const at = store.insert('place', { path: `b${turn}` });
      store.update('place', at, { path: `c${turn}` });
      store.remove('timer', store.insert('timer', { due: 1, kind: 'wait', agent: 1, ref: 0 }));
    });
    if (result.kind === 'full') return;
  }
  begun(10);
}

for (const fault of ['full', 'io'] as const) {
  test(`fault loop: "${fault}" at every call in turn leaves whole transactions (simulated)`, () => {
    let failedAt = 0;
    for (let at = 1; at <= 25; at += 1) {
      let rows = 0;
      const store = new FakeStore(undefined, { call: (call) => (call === at ? fault : null) });
      try {
        work(store, (begun) => (rows = begun));
      } catch (error) {
        assert.ok(isFailed(error));
        assert.throws(() => store.transact(() => 1), isFailed);
        failedAt += 1;
      }
      assert.equal(store.disk.rows('place').length, rows, `call ${at}`);
      assert.deepEqual(
        new FakeStore(store.disk).transact(() => 1),
        { kind: 'committed', value: 1 },
      );
    }
    assert.equal(failedAt, fault === 'io' ? 25 : 0);
  });
}

test('a process that dies before or after any commit leaves what it must (simulated)', () => {
  for (const [fault, kept] of [
    ['crashBefore', 0],
    ['crashAfter', 2],
  ] as const) {
    for (let at = 1; at <= 5; at += 1) {
      let rows = 0;
      const store = new FakeStore(undefined, { commit: (commit) => (commit === at ? fault : null) });
      assert.throws(() => work(store, (begun) => (rows = begun)), SimulatedCrash);
      assert.throws(() => store.get('place', 1), SimulatedCrash);
      const next = new FakeStore(store.disk);
      assert.equal(next.disk.rows('place').length, rows + kept);
      assert.deepEqual(
        next.transact(() => next.insert('place', { path: 'next' })),
        { kind: 'committed', value: rows + kept + 1 },
      );
    }
  }
});

test('a crash in the middle of a transaction takes it back (simulated)', () => {
  const store = new FakeStore();
  store.transact(() => store.insert('place', { path: 'a' }));
  assert.throws(
    () =>
      store.transact(() => {
        store.update('place', 1, { path: 'b' });
        throw store.crash();
      }),
    SimulatedCrash,
  );
  assert.deepEqual(store.disk.rows('place'), [{ id: 1, path: 'a' }]);
});
