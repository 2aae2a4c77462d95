// What is in the trash, newest first.
//
// Promises: a page costs a few row lookups for each of its rows, at any number of branches in the trash.

import type DatabaseConstructor from 'better-sqlite3';
import { keptMsOf } from '../core/trash.ts';
import type { TrashRecord } from '../core/branchRows.ts';
import type { AgentRow } from '../protocol/agent.ts';
import type { TrashRow } from '../protocol/trash.ts';
import { limits } from '../runtime/limits.ts';
import type { AgentReads } from './agentReads.ts';

type Database = DatabaseConstructor.Database;
type Statement<Row> = DatabaseConstructor.Statement<unknown[], Row>;

export class TrashReads {
  readonly #agents: AgentReads;
  readonly #rows: Statement<TrashRecord>;
  readonly #setting: Statement<string>;

  constructor(database: Database, agents: AgentReads) {
    this.#agents = agents;
    this.#rows = database.prepare('SELECT * FROM trash WHERE id < ? ORDER BY id DESC LIMIT ? + 0');
    this.#setting = database
      .prepare<unknown[], string>(
        'SELECT value FROM setting INDEXED BY "setting.name" WHERE name = +? LIMIT 1',
      )
      .pluck();
  }

  /** Branches in the trash deleted before `after`, which the page before has ended with; 0: from the newest on. */
  trash(after: number, limit: number): { readonly rows: readonly TrashRow[]; readonly more: boolean } {
    const wanted = Math.min(limit, limits.pageRows);
    const stored = this.#rows.all(after === 0 ? Number.MAX_SAFE_INTEGER : after, wanted + 1);
    const keptMs = this.keptMs();
    const rows = stored.slice(0, wanted).flatMap((row): TrashRow[] => {
      const agent = this.#agents.agent(row.agent);
      if (agent === undefined) return [];
      const untilMs = keptMs === null ? null : row.at + keptMs;
      const { id, agents, state, at: atMs } = row;
      return [{ id, agent, path: this.#path(agent), agents, state, atMs, untilMs }];
    });
    return { rows, more: stored.length > wanted };
  }

  /** How long branches stay in the trash, ms; null: until they are emptied by hand. */
  keptMs(): number | null {
    return keptMsOf(this.#setting.get('trashKeptMs'), limits.trashKeptMs);
  }

  #path(agent: AgentRow): string {
    const names = [agent.name];
    for (let at = agent.parent; at !== null;) {
      const above = this.#agents.agent(at);
      if (above === undefined) break;
      names.unshift(above.name);
      at = above.parent;
    }
    return names.join('/');
  }
}
