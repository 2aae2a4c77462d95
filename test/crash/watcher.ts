// Kills a sidecar with SIGKILL at moments of its own log, and says what it was doing: `node watcher.ts STORE`.
//
// A process of its own, so that it can look without a pause while the test serves the provider and the person. It
// reads one line of JSON for each kill (`Order`) and answers with one (`Killed`). To see a moment it looks at the store
// three thousand times a second; when the moment has come it stops the sidecar (SIGSTOP), looks again, and kills it only when the
// moment is still there: so what is counted is what was cut. Its connection is opened for each kill and closed after it:
// a reader that stayed would spare the next sidecar from recovering the log.

import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import Database from 'better-sqlite3';
import { commandAt, fileAt, isAlive, launcherOf, type CommandAt, type FileState } from './evidence.ts';
import { rowNames, rows, type Row } from './rows.ts';

export interface Order {
  /** Of the sidecar; null: whoever runs the store at that moment. */
  readonly pid: number | null;
  /** What it is to be doing; null: whatever it does after `afterMs`. */
  readonly row: Row | null;
  /** A finer point of the row: where a file or a command is. */
  readonly point: FileState | CommandAt['state'] | null;
  /** How many of them must have come, one after the other, that were not there at the last kill. */
  readonly count: number;
  readonly afterMs: number;
  readonly withinMs: number;
  readonly targets: readonly Target[];
  /** Keys of starts and messages that were acknowledged, and of those that were sent and were not yet. */
  readonly acknowledged: readonly string[];
  readonly sent: readonly string[];
}

export type Target = 'sidecar' | 'launcher' | 'wrappers';

export interface Killed {
  /** Rows at the moment of the kill, and how many of each. */
  readonly rows: Readonly<Partial<Record<Row, number>>>;
  readonly commands: readonly CommandAt[];
  readonly files: readonly FileState[];
  /** Agents whose model request was in flight. */
  readonly asking: readonly number[];
  /** Calls of a server's tool that acts, in flight. */
  readonly served: readonly number[];
  /** Calls whose wrapper was killed. */
  readonly bereft: readonly number[];
  readonly launcherKilled: boolean;
  /** Keys that were acknowledged and are not in the store. */
  readonly lost: readonly string[];
  /** Keys that were sent and are in the store. */
  readonly accepted: readonly string[];
}

const [store = ''] = process.argv.slice(2);
const file = path.join(store, 'roost.db');
/** A store that has its tables is opened in a few milliseconds. */
const openMs = 500;
const nothing = new Int32Array(new SharedArrayBuffer(4));
/** What was there of each row when it was killed last: a moment is something new. */
let stale = new Map<Row, ReadonlySet<number>>();

for await (const line of createInterface({ input: process.stdin })) {
  const order: Order = JSON.parse(line);
  const answer = obey(order);
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}

/** Waits for the moment and kills; null: it did not come in time, and nothing was killed. */
function obey(order: Order): Killed | null {
  const untilMs = performance.now() + (order.row === null ? order.afterMs : order.withinMs);
  const seen = new Set<number>();
  let database: Database.Database | null = null;
  let isStopped = false;
  while (!isStopped && performance.now() < untilMs) {
    pause();
    database ??= open(untilMs);
    if (database === null || order.row === null || !hasCome(database, order, seen)) continue;
    isStopped = stop(order);
    if (hasCome(database, order, seen)) break;
    resume(order);
    isStopped = false;
  }
  if (order.row === null) {
    isStopped = stop(order);
    database ??= open(performance.now() + openMs);
  }
  const killed = isStopped ? cut(database, order) : null;
  database?.close();
  return killed;
}

/** Whether as many have come as were ordered, and one of them is there now. */
function hasCome(database: Database.Database, { row, point, count }: Order, seen: Set<number>): boolean {
  if (row === null) return false;
  const known = stale.get(row);
  let ids = idsOf(database, row).filter((id) => known?.has(id) !== true);
  if (row === 'commandStarted' && point !== null)
    ids = ids.filter((id) => commandAt(store, id).state === point);
  if (row === 'writeStarted' && point !== null) ids = ids.filter((id) => fileOf(database, id) === point);
  for (const id of ids) seen.add(id);
  return 0 < ids.length && count <= seen.size;
}

/** Between two looks: without it the watcher would take a core from those whom it watches. */
function pause(): void {
  Atomics.wait(nothing, 0, 0, 0.3);
}

/** Everything is stopped and looked at, then killed in one go. */
function cut(database: Database.Database | null, order: Order): Killed {
  const found = new Map<Row, readonly number[]>();
  for (const row of rowNames) found.set(row, database === null ? [] : idsOf(database, row));
  const commands = (found.get('commandStarted') ?? []).map((call) => commandAt(store, call));
  const alive = commands.filter((command) => command.state === 'alive' && isAlive(command.wrapper));
  const wrappers = order.targets.includes('wrappers') ? alive : [];
  const sidecar = sidecarOf(order);
  const launcher = order.targets.includes('launcher') ? launcherOf(sidecar) : 0;
  const victims = [...(launcher === 0 ? [] : [launcher]), ...wrappers.map((command) => command.wrapper)];
  if (order.targets.includes('sidecar')) victims.unshift(sidecar);
  for (const pid of victims) end(pid);
  if (!order.targets.includes('sidecar')) resume(order);
  stale = new Map([...found].map(([row, ids]) => [row, new Set(ids)]));
  const files = database === null ? [] : (found.get('writeStarted') ?? []).map((id) => fileOf(database, id));
  const counts = [...found].filter(([, ids]) => 0 < ids.length).map(([row, ids]) => [row, ids.length]);
  const present = database === null ? new Set<string>() : keysOf(database);
  return {
    rows: Object.fromEntries(counts),
    commands,
    files,
    asking: (found.get('modelInFlight') ?? []).map((id) => Math.floor(id / 1000)),
    served: found.get('serverStarted') ?? [],
    bereft: wrappers.map((command) => command.call),
    launcherKilled: launcher !== 0,
    lost: order.acknowledged.filter((key) => !present.has(key)),
    accepted: order.sent.filter((key) => present.has(key)),
  };
}

function sidecarOf({ pid }: Order): number {
  if (pid !== null) return pid;
  const discovery: { readonly pid: number } = JSON.parse(
    readFileSync(path.join(store, 'sidecar.json'), 'utf8'),
  );
  return discovery.pid;
}

function stop(order: Order): boolean {
  return process.kill(sidecarOf(order), 'SIGSTOP');
}

function resume(order: Order): void {
  process.kill(sidecarOf(order), 'SIGCONT');
}

/** SIGKILL; what has ended by itself in this moment was quicker. */
function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (isAlive(pid)) throw error;
  }
}

function idsOf(database: Database.Database, row: Row): readonly number[] {
  return database.prepare<unknown[], number>(rows[row]).pluck().all();
}

function keysOf(database: Database.Database): Set<string> {
  const sql = 'SELECT key FROM agent WHERE key IS NOT NULL UNION SELECT key FROM turn WHERE key IS NOT NULL';
  return new Set(database.prepare<unknown[], string>(sql).pluck().all());
}

/** Where the file of a write or an edit is. */
function fileOf(database: Database.Database, call: number): FileState {
  const row = database
    .prepare<[number], { body: string; block: number; evidence: string; path: string }>(
      `SELECT entry.body, call.block, call.evidence, place.path FROM call JOIN entry ON entry.id = call.entry
         JOIN agent ON agent.id = call.agent JOIN place ON place.id = agent.place WHERE call.id = ?`,
    )
    .get(call);
  if (row === undefined) return 'other';
  const body: { readonly blocks: readonly { readonly input?: string }[] } = JSON.parse(row.body);
  const input: { readonly path: string } = JSON.parse(body.blocks[row.block]?.input ?? '{}');
  return fileAt(path.join(row.path, input.path), row.evidence);
}

/** The store's database once it has its tables; null: it has not. */
function open(untilMs: number): Database.Database | null {
  for (; performance.now() < untilMs; pause()) {
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
