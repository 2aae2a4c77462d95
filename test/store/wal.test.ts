// The log stays short while commits never stop, and is folded when they do.

import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises';
import { limits } from '../../sidecar/runtime/limits.ts';
import { openStore } from '../../sidecar/store/open.ts';
import { folder } from './folder.ts';

/** Twenty rows of 3 KB, once in the table and once in its index, and the pages above them. */
const pagesOfCommit = 64;

/** What the log adds to each page (https://sqlite.org/fileformat2.html#walformat). */
const frameHeaderBytes = 24;

const logBytes = (directory: string): number => statSync(path.join(directory, 'roost.db-wal')).size;

test('a log that grows is copied by the worker and starts over, while commits go on', async (t) => {
  const directory = folder(t);
  const open = openStore({ directory, durability: 'process' });
  t.after(() => open.close());
  let longest = 0;
  let commits = 0;
  while (open.walCounts().restarts < 3) {
    open.store.transact(() => {
      for (let row = 0; row < 20; row += 1)
        open.store.insert('place', { path: `${commits} `.padEnd(3_000, 'x') });
    });
    commits += 1;
    longest = Math.max(longest, logBytes(directory));
    await turn();
    assert.ok(commits < 50_000, 'the log never started over');
  }
  assert.ok(open.walCounts().workerRuns > 0);
  assert.ok(longest >= limits.walLongFrames * limits.pageBytes);
  // On a machine that gives the worker no time the hard bound holds, and the commits until the next look at it.
  const most =
    (limits.walHardFrames + limits.walLookCommits * pagesOfCommit) * (limits.pageBytes + frameHeaderBytes);
  assert.ok(longest < most, `${longest} bytes`);
  assert.equal(open.store.get('place', commits * 20)?.path.startsWith(`${commits - 1} `), true);
  assert.deepEqual(open.reads.doctor().findings, []);
});

test('a reader that looks meanwhile sees the last commit and holds nothing up', async (t) => {
  const directory = folder(t);
  const open = openStore({ directory, durability: 'process' });
  t.after(() => open.close());
  for (let commits = 1; open.walCounts().restarts < 1; commits += 1) {
    open.store.transact(() => {
      for (let row = 0; row < 20; row += 1)
        open.store.putBlob(Uint8Array.from({ length: 900 }, () => commits % 256));
    });
    assert.equal(open.reads.blobBytes(commits * 20)?.[0], commits % 256);
    await turn();
  }
});

test('when nothing is committed any more the log is folded into the database', async (t) => {
  const directory = folder(t);
  const open = openStore({ directory, durability: 'process' });
  t.after(() => open.close());
  open.store.transact(() => open.store.insert('place', { path: '/w' }));
  const database = path.join(directory, 'roost.db');
  const before = statSync(database).mtimeMs;
  while (open.walCounts().restarts === 0) await wait(50);
  assert.ok(statSync(database).mtimeMs >= before);
  assert.equal(open.walCounts().workerRuns, 0);
});
