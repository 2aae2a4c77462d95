// SIGKILL at any moment, a log that is cut or scribbled over anywhere, torn and foreign files: the store opens with
// what was acknowledged, whole, or says what is wrong and touches nothing.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { RoostError } from '../../sidecar/protocol/errors.ts';
import { backupName, prepareSchema } from '../../sidecar/store/migrate.ts';
import type { Format } from '../../sidecar/store/migrate.ts';
import { openStore } from '../../sidecar/store/open.ts';
import { applicationId, schemaSql, schemaVersion } from '../../sidecar/store/schema.ts';
import { folder, memoryFolder } from './folder.ts';

/** A deterministic source of numbers below 1, so that a failure can be repeated. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

/** Starts a committer that waits to be told to begin. The compile cache halves what 51 starts take. */
async function committer(
  t: TestContext,
  directory: string,
  cache: string,
): Promise<{ readonly kill: (after: number) => Promise<number[]> }> {
  const child = spawn(process.execPath, [path.join(import.meta.dirname, 'committer.ts'), directory], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, NODE_COMPILE_CACHE: cache },
    windowsHide: true,
  });
  t.after(() => child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout });
  await once(lines, 'line');
  const kill = async (after: number): Promise<number[]> => {
    const said: number[] = [];
    const closed = once(child, 'close');
    lines.on('line', (line) => {
      said.push(Number(line));
      if (said.length === after) child.kill('SIGKILL');
    });
    if (after === 0) {
      // Killed while it opens the store.
      child.stdin.write('go');
      for (let turns = 0; turns < 40; turns += 1) await turn();
      child.kill('SIGKILL');
    } else {
      child.stdin.write('go');
    }
    await closed;
    return said;
  };
  return { kill };
}

/** Every group that is there must be whole. Returns the ids of the first rows of the groups. */
function groups(directory: string, doctor: boolean): Set<number> {
  const open = openStore({ directory, durability: 'power' });
  const first = new Set<number>();
  try {
    let last = 0;
    for (let id = 1; ; id += 3) {
      const row = open.store.get('place', id);
      if (row === undefined) break;
      assert.match(row.path, /^first/);
      assert.equal(open.store.get('place', id + 1)?.path, `second of ${id}`);
      assert.ok(open.store.get('place', id + 2)?.path.startsWith(`third of ${id} `));
      first.add(id);
      last = id + 2;
    }
    assert.equal(open.store.get('place', last + 1), undefined);
    if (doctor) assert.deepEqual(open.reads.doctor().findings, []);
  } finally {
    open.close();
  }
  return first;
}

test('what was acknowledged survives SIGKILL, 51 times over (case 91)', async (t) => {
  const random = numbers(8271);
  const cache = folder(t, memoryFolder);
  const lane = async (): Promise<number> => {
    const directory = folder(t, memoryFolder);
    let acknowledged = 0;
    let next = committer(t, directory, cache);
    for (let kills = 0; kills < 17; kills += 1) {
      const child = await next;
      if (kills < 16) next = committer(t, directory, cache);
      const said = await child.kill(Math.floor(random() * 12));
      const there = groups(directory, true);
      for (const id of said) assert.ok(there.has(id), `group ${id} was acknowledged and is gone`);
      acknowledged += said.length;
    }
    return acknowledged;
  };
  const acknowledged = await Promise.all([lane(), lane(), lane()]);
  t.diagnostic(`${acknowledged.reduce((sum, each) => sum + each)} groups acknowledged`);
  assert.ok(acknowledged.every((each) => each > 40));
});

/** Files of a store with `count` commits that are all in the log, as a crash would leave them. */
function logged(t: TestContext, count: number): { readonly database: Buffer; readonly log: Buffer } {
  const directory = folder(t, memoryFolder);
  const open = openStore({ directory, durability: 'power' });
  t.after(() => open.close());
  for (let at = 0; at < count; at += 1) {
    open.store.transact(() => {
      const first = open.store.insert('place', { path: 'first' });
      open.store.insert('place', { path: `second of ${first}` });
      open.store.insert('place', { path: `third of ${first} ` });
    });
  }
  return {
    database: readFileSync(path.join(directory, 'roost.db')),
    log: readFileSync(path.join(directory, 'roost.db-wal')),
  };
}

/** Opens a store made of these bytes and returns how many groups it has; they must be the first ones, whole. */
function groupsIn(directory: string, database: Buffer, log: Buffer): number {
  for (const name of readdirSync(directory)) writeFileSync(path.join(directory, name), '');
  writeFileSync(path.join(directory, 'roost.db'), database);
  writeFileSync(path.join(directory, 'roost.db-wal'), log);
  return groups(directory, false).size;
}

test('a log that is cut anywhere gives the commits before the cut (cases 94, 95)', (t) => {
  const { database, log } = logged(t, 30);
  const directory = folder(t, memoryFolder);
  let before = 0;
  for (let cut = 0; cut <= 200; cut += 1) {
    const found = groupsIn(directory, database, log.subarray(0, Math.floor((log.byteLength * cut) / 200)));
    assert.ok(found >= before, 'a longer log never gives fewer commits');
    before = found;
  }
  assert.equal(before, 30);
});

test('a log that is scribbled over anywhere gives the commits before the place', (t) => {
  const { database, log } = logged(t, 30);
  const directory = folder(t, memoryFolder);
  const random = numbers(1729);
  for (let time = 0; time < 120; time += 1) {
    const damaged = Buffer.from(log);
    const at = Math.floor(random() * log.byteLength);
    const length = 1 + Math.floor(random() * 6_000);
    damaged
      .subarray(at, at + length)
      .forEach((_, offset) => damaged.writeUInt8(Math.floor(random() * 256), at + offset));
    assert.ok(groupsIn(directory, database, damaged) <= 30);
  }
});

const refusedAs =
  (code: string, says: RegExp) =>
  (error: unknown): boolean =>
    error instanceof RoostError && error.code === code && says.test(error.message);

test('torn and foreign files are told apart from a store, and left as they are', (t) => {
  const whole = folder(t);
  openStore({ directory: whole, durability: 'power' }).close();
  const bytes = statSync(path.join(whole, 'roost.db')).size;
  const cases: Readonly<Record<string, (file: string) => void>> = {
    'text in its place': (file) =>
      writeFileSync(file, 'not a database at all, but long enough to be one '.repeat(99)),
    'cut in the middle': (file) => truncateSync(file, Math.floor(bytes / 2)),
    'scribbled header': (file) =>
      writeFileSync(file, Buffer.concat([Buffer.alloc(100, 7), readFileSync(file).subarray(100)])),
    'another program’s database': (file) => {
      writeFileSync(file, '');
      const other = new Database(file);
      other.exec('CREATE TABLE theirs (a)');
      other.close();
    },
  };
  for (const [name, damage] of Object.entries(cases)) {
    const directory = folder(t);
    const file = path.join(directory, 'roost.db');
    copyFileSync(path.join(whole, 'roost.db'), file);
    damage(file);
    const before = readFileSync(file);
    assert.throws(
      () => openStore({ directory, durability: 'power' }),
      refusedAs('store/corrupt', /.../),
      name,
    );
    assert.deepEqual(readFileSync(file), before, name);
  }
});

test('a newer store is refused and not touched (case 105)', (t) => {
  const directory = folder(t);
  openStore({ directory, durability: 'power' }).close();
  const file = path.join(directory, 'roost.db');
  const newer = new Database(file);
  newer.pragma(`user_version = ${schemaVersion + 1}`);
  newer.close();
  const before = readFileSync(file);
  assert.throws(
    () => openStore({ directory, durability: 'power' }),
    refusedAs('store/newer', /newer Roost.*Update/),
  );
  assert.deepEqual(readFileSync(file), before);
});

/** A format with a history: two steps beyond this build's. `fail` makes the second step throw. */
const later = (fail: boolean): Format => ({
  version: schemaVersion + 2,
  create: schemaSql(),
  steps: [
    ...new Array<() => void>(schemaVersion - 1).fill(() => undefined),
    (database) => database.exec('ALTER TABLE place ADD COLUMN seen INTEGER NOT NULL DEFAULT 0'),
    (database) => {
      database.exec('UPDATE place SET seen = 7');
      if (fail) throw new Error('killed here');
    },
  ],
});

test('an older store is copied and brought forward in one transaction, or stays as it was', (t) => {
  const directory = folder(t);
  const open = openStore({ directory, durability: 'power' });
  open.store.transact(() => open.store.insert('place', { path: '/w' }));
  open.close();
  const file = path.join(directory, 'roost.db');
  const stand = (database: Database.Database): unknown[] => [
    database.pragma('user_version', { simple: true }),
    database.prepare('SELECT * FROM place').get(),
  ];
  const old = [schemaVersion, { id: 1, path: '/w' }];

  const failing = new Database(file);
  assert.throws(() => prepareSchema(failing, later(true)), /killed here/);
  assert.deepEqual(stand(failing), old);
  failing.close();

  const moving = new Database(file);
  prepareSchema(moving, later(false));
  assert.deepEqual(stand(moving), [schemaVersion + 2, { id: 1, path: '/w', seen: 7 }]);
  moving.close();

  const backup = new Database(backupName(file, schemaVersion));
  assert.deepEqual(stand(backup), old);
  assert.equal(backup.pragma('application_id', { simple: true }), applicationId);
  backup.close();
});

test('a folder that cannot be written is said to be so', (t) => {
  const file = path.join(folder(t), 'file');
  writeFileSync(file, '');
  const directory = path.join(file, 'store');
  assert.throws(
    () => openStore({ directory, durability: 'power' }),
    refusedAs('store/unwritable', /--store/),
  );
});
