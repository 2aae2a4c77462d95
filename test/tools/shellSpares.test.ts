// Records whose results are committed become those of the next commands: nothing of the one before is left in them,
// and what it left behind cannot write into them.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { limits } from '../../sidecar/runtime/limits.ts';
import { begin, createPlace, evidenceOf, until, type Place } from './place.ts';

const runs = (place: Place): string => path.join(place.store, 'runs');
const spares = (place: Place): string[] =>
  readdirSync(runs(place)).filter((name) => name.startsWith('spare-'));

async function ended(place: Place, id: number, command: string): Promise<string> {
  const job = place.job('shell', { command }, { id });
  const { text } = await begin(place.tools, job, await evidenceOf(place, job)).outcome;
  return text;
}

test('a settled record keeps nothing of what became of its command, and the next command takes it', async () => {
  const place = createPlace();
  assert.equal(await ended(place, 1, 'echo secret-output; exit 3'), 'exit code 3\nsecret-output\n');
  assert.ok(existsSync(path.join(runs(place), '1')));
  place.tools.settled('shell', place.job('shell', {}, { id: 1 }).call);
  const emptied = (): boolean => {
    const [spare] = spares(place);
    return spare !== undefined && existsSync(path.join(runs(place), spare, 'out'));
  };
  await until(emptied);
  assert.ok(!existsSync(path.join(runs(place), '1')));
  const [spare = ''] = spares(place);
  for (const name of ['claim', 'exit', 'out'])
    assert.equal(statSync(path.join(runs(place), spare, name)).size, 0, name);

  // It is ready a moment after its last file is there, and then the next command has it.
  let id = 1;
  do assert.equal(await ended(place, ++id, 'echo next'), 'exit code 0\nnext\n');
  while (spares(place).length > 0);
  assert.match(readFileSync(path.join(runs(place), String(id), 'claim'), 'utf8'), /^\d+ .*\n$/);
});

test('what a command left behind writes into its own output, not into that of the next', async () => {
  const place = createPlace();
  const loop = '(until [ -e stop ]; do echo stray; sleep 0.01; done; touch stopped) & echo first';
  assert.match(await ended(place, 1, loop), /first/);
  place.tools.settled('shell', place.job('shell', {}, { id: 1 }).call);
  await until(() => spares(place).some((name) => existsSync(path.join(runs(place), name, 'out'))));
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(await ended(place, 2, 'sleep 0.1; echo second'), 'exit code 0\nsecond\n');
  assert.equal(await ended(place, 3, 'touch stop'), 'exit code 0\n[no output]');
  await until(() => existsSync(path.join(place.workspace, 'stopped')));
});

test('records beyond the spare ones are removed', async () => {
  const place = createPlace();
  const ids = Array.from({ length: limits.spareRuns + 4 }, (_, index) => index + 1);
  await Promise.all(ids.map((id) => ended(place, id, 'true')));
  for (const id of ids) place.tools.settled('shell', place.job('shell', {}, { id }).call);
  await until(() => !readdirSync(runs(place)).some((name) => /^\d+$/.test(name)));
  assert.equal(spares(place).length, limits.spareRuns);
});
