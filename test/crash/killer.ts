// Kills a sidecar with SIGKILL at a moment drawn from its store: `node killer.ts STORE MOMENT COUNT`.
//
// Prints `ready`, then looks at the store as fast as it can, on a connection of its own, until the moment has come
// for COUNT different rows; kills whoever runs the store; prints as JSON what was in flight. Prints `missed` when all
// turns ended before, and `late` when neither came within the limit.

import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import Database from 'better-sqlite3';
import { isMoment, moments, type Moment } from './moments.ts';

const limitMs = 40_000;
const allOver = `SELECT 1 WHERE EXISTS (SELECT 1 FROM turn) AND NOT EXISTS (SELECT 1 FROM turn WHERE state <> 'ended')`;
const [store = '', moment = '', count = '1'] = process.argv.slice(2);
if (!isMoment(moment)) throw new Error(`unknown moment ${moment}`);
process.stdout.write('ready\n');

const startMs = performance.now();
const late = (): boolean => performance.now() - startMs > limitMs;
const database = open();
const look = database?.prepare<unknown[], number>(moments[moment]).pluck();
const seen = new Set<number>();
let looks = 0;
let over = false;
while (look !== undefined && seen.size < Number(count) && !over && !late()) {
  const id = look.get();
  if (id !== undefined) seen.add(id);
  // Whether all is over is asked less often: it is the dearer question.
  if (++looks % 100 === 0) over = database?.prepare(allOver).get() !== undefined;
}
if (database === null || seen.size < Number(count)) {
  process.stdout.write(over ? '"missed"\n' : '"late"\n');
} else {
  const discovery: { pid: number } = JSON.parse(readFileSync(path.join(store, 'sidecar.json'), 'utf8'));
  process.kill(discovery.pid, 'SIGKILL');
  const hit: Partial<Record<Moment, number>> = {};
  for (const [name, sql] of Object.entries(moments)) {
    if (isMoment(name) && database.prepare(sql).get() !== undefined) hit[name] = 1;
  }
  process.stdout.write(`${JSON.stringify(hit)}\n`);
}
database?.close();

/** The store's database once it has its tables. */
function open(): Database.Database | null {
  const file = path.join(store, 'roost.db');
  while (!late()) {
    if (!existsSync(file)) continue;
    try {
      const opened = new Database(file, { readonly: true });
      opened.prepare('SELECT 1 FROM verdict LIMIT 1').get();
      return opened;
    } catch {
      // being made
    }
  }
  return null;
}
