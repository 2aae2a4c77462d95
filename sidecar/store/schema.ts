// The tables: one declarative spec that the compiler checks against the rows of core/rows.ts, turned into SQL.
//
// Promises: a column that a row type has and the spec has not (or with another type) does not compile. Every
// table has an ascending INTEGER PRIMARY KEY, so pages fill in order; a hash as primary key costs ten times the
// bytes (DESIGN §6). The indexes are those of core/indexes.ts and no others.
// Not here: statements (writer.ts and the reads), and how an older store becomes this one (migrate.ts).

import { indexes } from '../core/indexes.ts';
import type { IndexName, IndexSpec } from '../core/indexes.ts';
import type { TableName, Tables } from '../core/rows.ts';
import { ownSql } from './totals.ts';

/** The schema that this build reads and writes: SQLite's `user_version`. A change of it needs a step in migrate.ts. */
export const schemaVersion = 15;

/** "Rst1" as a number: `file` and other tools then know whose database this is. */
export const applicationId = 0x52737431;

type SqlType<V> = [V] extends [number]
  ? 'INTEGER NOT NULL'
  : [V] extends [string]
    ? 'TEXT NOT NULL'
    : [V] extends [Uint8Array]
      ? 'BLOB NOT NULL'
      : [V] extends [number | null]
        ? 'INTEGER'
        : [V] extends [string | null]
          ? 'TEXT'
          : never;

export type ColumnsOf<T extends TableName> = {
  readonly [C in Exclude<keyof Tables[T], 'id'>]: SqlType<Tables[T][C]>;
};

const integer = 'INTEGER NOT NULL';
const text = 'TEXT NOT NULL';
const blob = 'BLOB NOT NULL';
const integerOrNull = 'INTEGER';
const textOrNull = 'TEXT';

/** Columns of every table but `id`, in the order in which they are stored: small and often read ones first. */
export const tables: { readonly [T in TableName]: ColumnsOf<T> } = {
  agent: {
    parent: integer,
    root: integer,
    depth: integer,
    phase: text,
    why: textOrNull,
    since: integer,
    rank: integer,
    turn: integer,
    head: integer,
    bytes: integer,
    context: integer,
    seenTokens: integer,
    seenBytes: integer,
    compacting: integer,
    handed: integer,
    outcome: textOrNull,
    queued: integer,
    children: integer,
    openChildren: integer,
    heard: integer,
    unheard: integer,
    noticeGap: integer,
    requests: integer,
    changes: integer,
    commands: integer,
    crashes: integer,
    restarted: integer,
    urgency: integer,
    closed: integer,
    trash: integer,
    detached: integer,
    revision: integer,
    halted: integer,
    attempts: integer,
    heldMicroUsd: integer,
    heldTokens: integer,
    rounds: integer,
    tries: integer,
    empties: integer,
    schema: integer,
    misses: integer,
    result: integer,
    last: integer,
    microUsd: integer,
    tokens: integer,
    cacheable: integer,
    cacheRead: integer,
    bAgents: integer,
    bRunning: integer,
    bWaiting: integer,
    bNeeds: integer,
    bFailed: integer,
    bDone: integer,
    bMicroUsd: integer,
    bTokens: integer,
    bCacheable: integer,
    bCacheRead: integer,
    bHeldMicroUsd: integer,
    bHeldTokens: integer,
    maxMicroUsd: integerOrNull,
    maxTokens: integerOrNull,
    maxAgents: integerOrNull,
    maxDepth: integerOrNull,
    endBy: integerOrNull,
    forkAgent: integer,
    forkEntry: integer,
    forkStretch: integer,
    stretch: integer,
    born: integer,
    profile: integer,
    nextProfile: integer,
    place: integer,
    created: integer,
    model: text,
    homeModel: textOrNull,
    effort: textOrNull,
    isolation: text,
    mode: text,
    name: text,
    task: text,
    doing: text,
    key: textOrNull,
  },
  turn: {
    agent: integer,
    state: text,
    cause: text,
    sender: integer,
    outcome: textOrNull,
    started: integer,
    ended: integer,
    answer: integer,
    last: integer,
    bytes: integer,
    stretch: integer,
    schema: integer,
    revision: integer,
    told: integer,
    late: integerOrNull,
    key: textOrNull,
    brief: text,
    text: textOrNull,
    result: textOrNull,
    model: textOrNull,
  },
  entry: {
    agent: integer,
    turn: integer,
    at: integer,
    kind: text,
    blob: integer,
    bytes: integer,
    body: textOrNull,
  },
  blob: { form: text, size: integer, bytes: blob },
  shared: { hash: text, blob: integer },
  place: { path: text },
  knowledge: { place: integer, blob: integer },
  offer: { blob: integer, at: integer, server: text },
  trust: { at: integer, verdict: text, hash: text, label: text },
  call: {
    agent: integer,
    turn: integer,
    entry: integer,
    block: integer,
    state: text,
    open: integer,
    started: integer,
    result: integer,
    key: text,
    tool: text,
    evidence: textOrNull,
  },
  inbox: { agent: integer, sender: integer, kind: text, at: integer, key: textOrNull, text },
  wait: {
    agent: integer,
    call: integer,
    mode: text,
    remaining: integer,
    everyChild: integer,
    deadline: integer,
  },
  waiting: { wait: integer, turn: integer },
  outcome: {
    parent: integer,
    child: integer,
    turn: integer,
    outcome: text,
    revision: integer,
    via: integerOrNull,
  },
  request: {
    agent: integer,
    turn: integer,
    call: integer,
    kind: text,
    state: text,
    at: integer,
    answered: integer,
    cluster: textOrNull,
    key: textOrNull,
    title: text,
    choices: text,
    answer: textOrNull,
    detail: text,
  },
  ledger: {
    agent: integer,
    root: integer,
    turn: integer,
    attempt: integer,
    round: integer,
    state: text,
    microUsd: integer,
    input: integer,
    output: integer,
    cacheRead: integer,
    cacheWrite: integer,
    at: integer,
    model: text,
  },
  change: {
    agent: integer,
    state: text,
    kind: text,
    isolation: text,
    trash: integer,
    base: integer,
    after: integer,
    added: integer,
    removed: integer,
    at: integer,
    accepted: integer,
    rejected: integer,
    conflict: integer,
    baseHash: text,
    afterHash: text,
    label: text,
    path: text,
    written: text,
    ranges: text,
    doubt: text,
  },
  verdict: {
    change: integer,
    state: text,
    verdict: text,
    base: integer,
    after: integer,
    left: integer,
    decided: integer,
    added: integer,
    removed: integer,
    at: integer,
    baseHash: text,
    afterHash: text,
    hunks: text,
    evidence: text,
    key: textOrNull,
  },
  ready: { slot: text, urgency: integer, root: integer, agent: integer, call: integer },
  timer: { due: integer, kind: text, agent: integer, ref: integer },
  provider: { name: text, spec: text },
  price: { model: text, input: integer, output: integer, cacheRead: integer, cacheWrite: integer },
  role: { profile: text, model: text },
  spend: {
    root: integer,
    hour: integer,
    model: text,
    requests: integer,
    lost: integer,
    input: integer,
    output: integer,
    cacheRead: integer,
    cacheWrite: integer,
    microUsd: integer,
  },
  folded: { upTo: integer },
  answered: { key: text, answer: text, at: integer },
  process: { started: integer, ended: integer },
  trash: { agent: integer, state: text, at: integer, agents: integer },
  walk: { agent: integer, kind: text, cursor: integer, stopped: integer, key: text },
  remains: {
    agent: integer,
    forkAgent: integer,
    forkEntry: integer,
    forkStretch: integer,
    upTo: integer,
    due: integer,
  },
  setting: { name: text, value: text },
  stretch: {
    agent: integer,
    first: integer,
    fromAgent: integer,
    fromEntry: integer,
    fromStretch: integer,
  },
  background: {
    agent: integer,
    call: integer,
    turn: integer,
    state: text,
    started: integer,
    told: integer,
    title: text,
    evidence: text,
  },
};

/** A name as SQL: `call`, `key` and `change` are words of SQL or may become some. */
export const quoted = (name: string): string => `"${name}"`;

/** The condition that makes an index partial, as SQL, or null. A query must repeat it, word for word, to use the index. */
export function partialCondition(spec: IndexSpec): string | null {
  if (spec.where === undefined) return null;
  const column = quoted(spec.where.column);
  if ('notNull' in spec.where) return `${column} IS NOT NULL`;
  if ('not' in spec.where) return `${column} <> ${spec.where.not}`;
  const value = spec.where.is;
  return `${column} = ${typeof value === 'number' ? String(value) : `'${value.replaceAll("'", "''")}'`}`;
}

/** Names as an array of the record's own keys: Object.keys forgets their types. */
export function namesOf<N extends string>(record: Readonly<Record<N, unknown>>): readonly N[] {
  const names: N[] = [];
  for (const name in record) names.push(name);
  return names;
}

export const tableNames: readonly TableName[] = namesOf(tables);
export const indexNames: readonly IndexName[] = namesOf(indexes);

function tableSql(name: TableName): string {
  const columns = Object.entries(tables[name]).map(([column, type]) => `${quoted(column)} ${type}`);
  return `CREATE TABLE ${quoted(name)} (id INTEGER PRIMARY KEY, ${columns.join(', ')}) STRICT`;
}

function indexSql(name: IndexName): string {
  const spec: IndexSpec = indexes[name];
  const condition = partialCondition(spec);
  const columns = spec.columns.map(quoted).join(', ');
  const where = condition === null ? '' : ` WHERE ${condition}`;
  return `CREATE INDEX ${quoted(name)} ON ${quoted(spec.table)} (${columns})${where}`;
}

/** Every statement that makes an empty database a store of `schemaVersion`, in order. */
export function schemaSql(): readonly string[] {
  const made = indexNames.filter((name) => indexes[name].columns.length > 0);
  return [...tableNames.map(tableSql), ...made.map(indexSql), ...ownSql()];
}
