// What people manage: of one agent its queue, its budget and, seen from the store, its worktree; and what they trust.

import type DatabaseConstructor from 'better-sqlite3';
import { budgetStateOf } from '../core/budgetState.ts';
import type { Offer } from '../core/offers.ts';
import type { AgentRecord, BlobRecord, TrustRecord, TurnRecord } from '../core/rows.ts';
import { turnId } from '../protocol/ids.ts';
import { limits } from '../runtime/limits.ts';
import type { TreeAgent } from '../ports.ts';
import { unpackBlob } from './blobs.ts';
import type { BudgetState, QueuedTurn } from '../protocol/methods.ts';

type Database = DatabaseConstructor.Database;
type Statement<Row> = DatabaseConstructor.Statement<unknown[], Row>;

export class ManageReads {
  readonly #queue: Statement<TurnRecord>;
  readonly #agent: Statement<AgentRecord>;
  readonly #decided: Statement<number>;
  readonly #trust: Statement<TrustRecord>;
  readonly #atWork: Statement<string>;
  readonly #created: Statement<number>;
  readonly #inPlace: Statement<number>;
  readonly #offer: Statement<BlobRecord>;

  constructor(database: Database) {
    this.#queue = database.prepare(
      `SELECT * FROM turn INDEXED BY "turn.queued" WHERE state = 'queued' AND agent = +? AND id > ? ORDER BY id LIMIT ? + 0`,
    );
    this.#agent = database.prepare('SELECT * FROM agent WHERE id = +?');
    this.#decided = database
      .prepare<unknown[], number>(
        `SELECT 1 FROM change INDEXED BY "change.path" WHERE agent = +? AND path = +? AND afterHash = +?
          AND state <> 'open' LIMIT 1`,
      )
      .pluck();
    this.#atWork = database
      .prepare<unknown[], string>(
        ['asking', 'calling']
          .map(
            (phase) => `SELECT name FROM (SELECT name, place, isolation FROM agent INDEXED BY "agent.${phase}"
              WHERE phase = '${phase}' LIMIT ? + 0)
              WHERE isolation = 'shared' AND place = (SELECT id FROM place INDEXED BY "place.path" WHERE path = +?)`,
          )
          .join(' UNION ALL ') + ' LIMIT ? + 0',
      )
      .pluck();
    this.#created = database
      .prepare<unknown[], number>(
        `SELECT 1 FROM change INDEXED BY "change.made"
          WHERE kind = 'create' AND path = +? AND isolation = 'shared' AND at >= +? LIMIT 1`,
      )
      .pluck();
    this.#inPlace = database
      .prepare<unknown[], number>(
        `SELECT 1 FROM change INDEXED BY "change.file"
          WHERE state = 'open' AND trash = 0 AND path = +? AND isolation = 'shared' LIMIT 1`,
      )
      .pluck();
    this.#offer = database.prepare(
      'SELECT blob.* FROM offer INDEXED BY "offer.server" JOIN blob ON blob.id = offer.blob WHERE offer.server = +? LIMIT 1',
    );
    this.#trust = database.prepare('SELECT * FROM trust INDEXED BY "trust.hash" WHERE hash = +? LIMIT 1');
  }

  queue(
    agent: number,
    after: number,
    limit: number,
  ): { readonly rows: readonly QueuedTurn[]; readonly more: boolean } {
    const found = this.#queue.all(agent, after, limit + 1);
    const rows = found
      .slice(0, limit)
      .map((turn) => ({ turn: turnId(turn.id), text: turn.text ?? '', atMs: turn.started }));
    return { rows, more: found.length > limit };
  }

  atWork(workspace: string): readonly string[] {
    const { atWorkLooked: looked } = limits;
    return this.#atWork.all(looked, workspace, looked, workspace, limits.atWorkNamed);
  }

  madeByAgent(path: string, sinceMs: number): boolean {
    return this.#created.get(path, sinceMs) !== undefined;
  }

  isOpenInPlace(path: string): boolean {
    return this.#inPlace.get(path) !== undefined;
  }

  offer(server: string): Offer | undefined {
    const blob = this.#offer.get(server);
    if (blob === undefined) return undefined;
    const offer: Offer = JSON.parse(Buffer.from(unpackBlob(blob)).toString('utf8'));
    return offer;
  }

  trust(hash: string): TrustRecord['verdict'] | undefined {
    return this.#trust.get(hash)?.verdict;
  }

  budget(agent: number): BudgetState | undefined {
    const row = this.#agent.get(agent);
    return row === undefined ? undefined : budgetStateOf(row, Date.now());
  }

  treeAgent(agent: number): TreeAgent | undefined {
    const row = this.#agent.get(agent);
    if (row === undefined) return undefined;
    return {
      name: row.name,
      closed: this.#isClosed(row),
      busy: row.turn !== 0 || 0 < row.queued,
      undecided: row.changes,
      decided: (path, hash) => this.#decided.get(agent, path, hash) !== undefined,
    };
  }

  /** It, or one above it: depth is bounded. */
  #isClosed(row: AgentRecord): boolean {
    for (let at: AgentRecord | undefined = row; at !== undefined; at = this.#agent.get(at.parent)) {
      if (at.closed !== 0 || at.trash !== 0) return true;
    }
    return false;
  }
}
