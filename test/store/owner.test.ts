// One owner a store: beside a second process, after a clean end and after SIGKILL.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { RoostError } from '../../sidecar/protocol/errors.ts';
import { takeOwnership } from '../../sidecar/store/owner.ts';
import { folder } from './folder.ts';

const owner = path.resolve(import.meta.dirname, '../../sidecar/store/owner.ts');

test('the store has one owner in a process', (t) => {
  const directory = path.join(folder(t), 'made', 'deep');
  const first = takeOwnership(directory);
  assert.ok(first);
  assert.equal(takeOwnership(directory), null);
  first.release();
  first.release();
  const second = takeOwnership(directory);
  assert.ok(second);
  second.release();
});

test('another process keeps the store until it is killed, and not a moment longer (case 111)', async (t) => {
  const directory = folder(t);
  const child = await holder(t, directory);
  assert.equal(takeOwnership(directory), null);
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
  const mine = takeOwnership(directory);
  assert.ok(mine);
  mine.release();
});

test('a folder that cannot be written is said to be so', (t) => {
  const file = path.join(folder(t), 'file');
  takeOwnership(file)?.release();
  assert.throws(
    () => takeOwnership(path.join(file, 'owner.db')),
    (error: unknown) =>
      error instanceof RoostError && error.code === 'store/unwritable' && error.message.includes('--store'),
  );
});

/** A process that owns the store and does nothing else. */
async function holder(t: TestContext, directory: string): Promise<ReturnType<typeof spawn>> {
  const script = `import { takeOwnership } from ${JSON.stringify(owner)};
    const owned = takeOwnership(${JSON.stringify(directory)});
    process.stdout.write(owned === null ? 'busy' : 'mine');
    setInterval(() => owned?.release === undefined, 1_000);`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
    windowsHide: true,
  });
  t.after(() => child.kill('SIGKILL'));
  const [said] = await once(child.stdout, 'data');
  assert.equal(String(said), 'mine');
  return child;
}
