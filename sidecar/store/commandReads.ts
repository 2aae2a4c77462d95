// Commands that run in the background, for who looks.

import type DatabaseConstructor from 'better-sqlite3';
import type { BackgroundRecord } from '../core/commandRows.ts';
import type { CommandRow } from '../protocol/command.ts';
import { agentId, callId } from '../protocol/ids.ts';

type Statement<Row> = DatabaseConstructor.Statement<unknown[], Row>;

interface Stored extends BackgroundRecord {
  readonly agentName: string | null;
}

const named = (index: string): string =>
  `SELECT *, (SELECT name FROM agent WHERE agent.id = background.agent) AS agentName
    FROM background INDEXED BY "${index}"`;

export class CommandReads {
  readonly #all: Statement<Stored>;
  readonly #of: Statement<Stored>;

  constructor(database: DatabaseConstructor.Database) {
    this.#all = database.prepare(`${named('background.call')} WHERE call > ? ORDER BY call LIMIT ? + 0`);
    this.#of = database.prepare(
      `${named('background.agent')} WHERE agent = +? AND id > ? ORDER BY id LIMIT ? + 0`,
    );
  }

  /** Those of one agent, at most `limit`: it has never more than limits.backgroundOfAgent. */
  of(agent: number, limit: number): readonly CommandRow[] {
    return this.#of.all(agent, 0, limit).map(commandRow);
  }

  /** Those of all agents, by the call that started them. */
  all(after: number, limit: number): { readonly rows: readonly CommandRow[]; readonly more: boolean } {
    const stored = this.#all.all(after, limit + 1);
    return { rows: stored.slice(0, limit).map(commandRow), more: stored.length > limit };
  }
}

function commandRow(stored: Stored): CommandRow {
  return {
    command: callId(stored.call),
    agent: agentId(stored.agent),
    agentName: stored.agentName ?? '',
    title: stored.title,
    startedAtMs: stored.started,
    stopping: stored.state === 'stopping',
  };
}
