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
}

/**
 * What the store keeps for itself. `counter`: ids below `floor` were given out, even if the row is gone.
 * `total`: sums over all roots, open requests and open changes, moved by triggers in the statement that moves
 * the row, so that the status bar costs one row at any number of roots (I13).
 */
export function ownSql(): readonly string[] {
  const sums = Object.entries(summed);
  const add = sums.map(([sum, column]) => `${sum} = ${sum} + NEW.${column}`).join(', ');
  const subtract = sums.map(([sum, column]) => `${sum} = ${sum} - OLD.${column}`).join(', ');
  const move = sums.map(([sum, column]) => `${sum} = ${sum} + NEW.${column} - OLD.${column}`).join(', ');
  const names = ['roots', ...sums.map(([sum]) => sum), 'requests', 'reviews'];
  return [
    'CREATE TABLE counter (name TEXT PRIMARY KEY, floor INTEGER NOT NULL) STRICT, WITHOUT ROWID',
    `CREATE TABLE total (id INTEGER PRIMARY KEY, ${names.map((name) => `${name} INTEGER NOT NULL`).join(', ')}) STRICT`,
    `INSERT INTO total VALUES (1, ${names.map(() => '0').join(', ')})`,
    `CREATE TRIGGER rootMade AFTER INSERT ON agent WHEN NEW.parent = 0
      BEGIN UPDATE total SET roots = roots + 1, ${add}; END`,
    `CREATE TRIGGER rootGone AFTER DELETE ON agent WHEN OLD.parent = 0
      BEGIN UPDATE total SET roots = roots - 1, ${subtract}; END`,
    `CREATE TRIGGER rootMoved AFTER UPDATE OF ${sums.map(([, column]) => column).join(', ')} ON agent
      WHEN NEW.parent = 0 BEGIN UPDATE total SET ${move}; END`,
    ...openCountSql('request', 'requests'),
    ...openCountSql('change', 'reviews'),
  ];
}

/** Triggers that count the rows of a table whose state is `open`. */
function openCountSql(table: 'request' | 'change', count: 'requests' | 'reviews'): readonly string[] {
  const set = (by: string): string => `BEGIN UPDATE total SET ${count} = ${count} ${by}; END`;
  return [
    `CREATE TRIGGER ${table}Made AFTER INSERT ON "${table}" WHEN NEW.state = 'open' ${set('+ 1')}`,
    `CREATE TRIGGER ${table}Gone AFTER DELETE ON "${table}" WHEN OLD.state = 'open' ${set('- 1')}`,
    `CREATE TRIGGER ${table}Moved AFTER UPDATE OF state ON "${table}" WHEN NEW.state <> OLD.state
      ${set("+ (NEW.state = 'open') - (OLD.state = 'open')")}`,
  ];
}

/** Compares the row of totals with a count of what it stands for: one statement over the roots and the open rows. */
export function totalDrift(database: DatabaseConstructor.Database): readonly DoctorFinding[] {
  const sums = Object.entries(summed).map(([sum, column]) => `ifnull(sum(${column}), 0) AS ${sum}`);
  const counted = `SELECT count(*) AS roots, ${sums.join(', ')},
      (SELECT count(*) FROM request INDEXED BY "request.allOpen" WHERE state = 'open') AS requests,
      (SELECT count(*) FROM change INDEXED BY "change.open" WHERE state = 'open') AS reviews
    FROM agent INDEXED BY "agent.children" WHERE parent = 0`;
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
