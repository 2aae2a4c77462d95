// What people manage of one agent: its queue and its budget.

import type DatabaseConstructor from 'better-sqlite3';
import { budgetStateOf } from '../core/budgetState.ts';
import type { AgentRecord, TurnRecord } from '../core/rows.ts';
import { turnId } from '../protocol/ids.ts';
import type { BudgetState, QueuedTurn } from '../protocol/methods.ts';

type Database = DatabaseConstructor.Database;
type Statement<Row> = DatabaseConstructor.Statement<unknown[], Row>;

export class ManageReads {
  readonly #queue: Statement<TurnRecord>;
  readonly #agent: Statement<AgentRecord>;

  constructor(database: Database) {
    this.#queue = database.prepare(
      `SELECT * FROM turn INDEXED BY "turn.queued" WHERE state = 'queued' AND agent = +? AND id > ? ORDER BY id LIMIT ? + 0`,
    );
    this.#agent = database.prepare('SELECT * FROM agent WHERE id = +?');
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

  budget(agent: number): BudgetState | undefined {
    const row = this.#agent.get(agent);
    return row === undefined ? undefined : budgetStateOf(row, Date.now());
  }
}
