// What the store keeps for itself: given-out ids, and sums that would else be counted.
//
// Promises: a sum moves in the statement that moves its rows, by a trigger, so that no commit is without it.
// Not here: counts of a branch below its root, which the runtime writes into the agents' rows.

import type DatabaseConstructor from 'better-sqlite3';
import type { Tables } from '../core/rows.ts';
import type { DoctorFinding } from '../protocol/methods.ts';

/** Branch counts of a root and the column of `total` that sums them over all roots. */
const summed = {
  agents: 'bAgents',
  running: 'bRunning',
  waiting: 'bWaiting',
  needs: 'bNeeds',
  failed: 'bFailed',
  done: 'bDone',
  microUsd: 'bMicroUsd',
  tokens: 'bTokens',
} as const satisfies Record<string, keyof Tables['agent']>;

/** The one row of `total`: what the status bar shows, and how many roots the tree has. */
export interface TotalRow extends Record<keyof typeof summed, number> {
  readonly roots: number;
  readonly requests: number;
  readonly reviews: number;
  /** Times that a branch went to the trash or came back: what was found by looking at all agents is then looked for anew. */
  readonly moves: number;
}

/** What an old or a new row of a root adds to a sum: spend stays when the root goes to the trash, counts do not. */
const part = (row: 'NEW' | 'OLD', sum: string, column: string): string =>
  sum === 'microUsd' || sum === 'tokens' ? `${row}.${column}` : `${row}.${column} * (1 - ${row}.detached)`;

/**
 * What the store keeps for itself. `counter`: ids below `floor` were given out, even if the row is gone.
 * `total`: sums over all roots, open requests and open changes, moved by triggers in the statement that moves
 * the row, so that the status bar costs one row at any number of roots (I13). What is in the trash is not counted.
 */
export function ownSql(): readonly string[] {
  const sums = Object.entries(summed);
  const add = sums.map(([sum, column]) => `${sum} = ${sum} + ${part('NEW', sum, column)}`).join(', ');
  const subtract = sums.map(([sum, column]) => `${sum} = ${sum} - ${part('OLD', sum, column)}`).join(', ');
  const move = sums
    .map(([sum, column]) => `${sum} = ${sum} + ${part('NEW', sum, column)} - ${part('OLD', sum, column)}`)
    .join(', ');
  const columns = sums.map(([, column]) => column).join(', ');
  const names = ['roots', ...sums.map(([sum]) => sum), 'requests', 'reviews', 'moves'];
  return [
    'CREATE TABLE counter (name TEXT PRIMARY KEY, floor INTEGER NOT NULL) STRICT, WITHOUT ROWID',
    `CREATE TABLE total (id INTEGER PRIMARY KEY, ${names.map((name) => `${name} INTEGER NOT NULL`).join(', ')}) STRICT`,
    `INSERT INTO total VALUES (1, ${names.map(() => '0').join(', ')})`,
    `CREATE TRIGGER rootMade AFTER INSERT ON agent WHEN NEW.parent = 0
      BEGIN UPDATE total SET roots = roots + 1 - NEW.detached, ${add}; END`,
    `CREATE TRIGGER rootGone AFTER DELETE ON agent WHEN OLD.parent = 0
      BEGIN UPDATE total SET roots = roots - 1 + OLD.detached, ${subtract}; END`,
    `CREATE TRIGGER rootMoved AFTER UPDATE OF ${columns}, detached ON agent WHEN NEW.parent = 0
      BEGIN UPDATE total SET roots = roots + OLD.detached - NEW.detached, ${move}; END`,
    `CREATE TRIGGER branchMoved AFTER UPDATE OF detached ON agent BEGIN UPDATE total SET moves = moves + 1; END`,
    ...openCountSql('request', 'requests', ''),
    ...openCountSql('change', 'reviews', ' AND *.trash = 0'),
  ];
}

/** Triggers that count the rows of a table whose state is `open`; `also`: what else must hold of a row. */
function openCountSql(
  table: 'request' | 'change',
  count: 'requests' | 'reviews',
  also: string,
): readonly string[] {
  const counts = (row: 'NEW' | 'OLD'): string => `(${row}.state = 'open'${also.replace('*', row)})`;
  const set = (by: string): string => `BEGIN UPDATE total SET ${count} = ${count} ${by}; END`;
  const columns = also === '' ? 'state' : 'state, trash';
  return [
    `CREATE TRIGGER ${table}Made AFTER INSERT ON "${table}" WHEN ${counts('NEW')} ${set('+ 1')}`,
    `CREATE TRIGGER ${table}Gone AFTER DELETE ON "${table}" WHEN ${counts('OLD')} ${set('- 1')}`,
    `CREATE TRIGGER ${table}Moved AFTER UPDATE OF ${columns} ON "${table}" WHEN ${counts('NEW')} <> ${counts('OLD')}
      ${set(`+ ${counts('NEW')} - ${counts('OLD')}`)}`,
  ];
}

/** Compares the row of totals with a count of what it stands for: one statement over the roots and the open rows. */
export function totalDrift(database: DatabaseConstructor.Database): readonly DoctorFinding[] {
  const sums = Object.entries(summed).map(([sum, column]) => {
    const spent = `(SELECT ifnull(sum(${column}), 0) FROM agent INDEXED BY "agent.detached" WHERE parent = 0 AND detached = 1)`;
    const kept = sum === 'microUsd' || sum === 'tokens' ? ` + ${spent}` : '';
    return `ifnull(sum(${column}), 0)${kept} AS ${sum}`;
  });
  const counted = `SELECT count(*) AS roots, ${sums.join(', ')},
      (SELECT count(*) FROM request INDEXED BY "request.allOpen" WHERE state = 'open') AS requests,
      (SELECT count(*) FROM change INDEXED BY "change.open" WHERE state = 'open' AND trash = 0) AS reviews
    FROM agent INDEXED BY "agent.children" WHERE parent = 0 AND detached = 0`;
  const names = ['roots', ...Object.keys(summed), 'requests', 'reviews'];
  const wrong = names.map((name) => `total.${name} <> counted.${name} AS ${name}`).join(', ');
  const row = database
    .prepare<unknown[], Record<string, number>>(
      `SELECT ${wrong} FROM total, (${counted}) AS counted WHERE total.id = 1`,
    )
    .get();
  const drifted = row === undefined ? names : names.filter((name) => row[name] !== 0);
  if (drifted.length === 0) return [];
  return [
    { invariant: 'I9', message: `total: not the sum over all roots: ${drifted.join(', ')}.`, rows: [] },
  ];
}
