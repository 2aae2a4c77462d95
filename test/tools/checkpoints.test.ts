// When tools take a checkpoint: before the first write of a turn in the person's folder, and not before reading.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { createPlace } from './place.ts';

test('calls that may write ask for a checkpoint and wait for it; looking does not', async () => {
  const asked: string[] = [];
  let release: () => void = () => undefined;
  const place = createPlace({
    checkpoints: {
      before: async ({ turn }) => {
        asked.push(`${turn} ${readFileSync(path.join(place.workspace, 'a.txt'), 'utf8')}`);
        await new Promise<void>((resolve) => (release = resolve));
      },
    },
  });
  writeFileSync(path.join(place.workspace, 'a.txt'), 'one\n');
  await place.call('read', { path: 'a.txt' });
  await place.call('search', { pattern: 'one' });
  await place.call('shell', { command: 'ls | head -3' });
  assert.deepEqual(asked, []);
  const writes: [string, Record<string, string>, string][] = [
    ['edit', { path: 'a.txt', old: 'one', new: 'two' }, 'one\n'],
    ['write', { path: 'a.txt', text: 'three\n' }, 'two\n'],
    ['shell', { command: 'echo four > a.txt' }, 'three\n'],
  ];
  for (const [tool, input, found] of writes) {
    const outcome = place.call(tool, input);
    while (asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 2));
    assert.equal(readFileSync(path.join(place.workspace, 'a.txt'), 'utf8'), found, 'it waits');
    assert.deepEqual(asked.splice(0), [`1 ${found}`]);
    release();
    assert.equal((await outcome).status, 'ok');
  }
});
