// What was spent: sums by hour that the runtime has added up (runtime/spend.ts), with the rows of the ledger that it
// has not added up yet, put together by day; an agent's sums; the ledger itself, page by page.

import type DatabaseConstructor from 'better-sqlite3';
import type { LedgerRecord, RoleRecord, SpendRecord } from '../core/moneyRows.ts';
import type { AgentRecord } from '../core/rows.ts';
import type { AgentCost, DaySpent, LedgerEntry } from '../protocol/cost.ts';
import { agentId, turnId } from '../protocol/ids.ts';
import { limits } from '../runtime/limits.ts';

type Database = DatabaseConstructor.Database;
type Statement<Row> = DatabaseConstructor.Statement<unknown[], Row>;

const hourMs = 3_600_000;

export class CostReads {
  readonly #hours: Statement<SpendRecord>;
  readonly #folded: Statement<number>;
  readonly #ledger: Statement<LedgerRecord>;
  readonly #agent: Statement<AgentRecord>;
  readonly #roles: Statement<RoleRecord>;

  constructor(database: Database) {
    this.#hours = database.prepare(
      `SELECT * FROM spend INDEXED BY "spend.root" WHERE root = +? AND hour >= +? ORDER BY hour DESC LIMIT ? + 0`,
    );
    this.#folded = database
      .prepare<unknown[], number>(
        'SELECT upTo FROM folded INDEXED BY "folded.upTo" WHERE upTo >= +? ORDER BY upTo DESC LIMIT 1',
      )
      .pluck();
    this.#ledger = database.prepare('SELECT * FROM ledger WHERE id > +? ORDER BY id LIMIT ? + 0');
    this.#agent = database.prepare('SELECT * FROM agent WHERE id = +?');
    this.#roles = database.prepare('SELECT * FROM role WHERE id > +? ORDER BY id LIMIT ? + 0');
  }

  agent(id: number): AgentCost | undefined {
    const row = this.#agent.get(id);
    if (row === undefined) return undefined;
    const { name, microUsd, tokens } = row;
    const branch = { microUsd: row.bMicroUsd, tokens: row.bTokens, agents: row.bAgents };
    return { id: agentId(row.id), name, own: { microUsd, tokens }, branch };
  }

  days(root: number, sinceHour: number, offsetMinutes: number): readonly DaySpent[] {
    const days = new Map<string, { -readonly [K in keyof DaySpent]: DaySpent[K] }>();
    const add = (atMs: number, row: Omit<SpendRecord, 'id' | 'root' | 'hour'>): void => {
      const day = new Date(atMs + offsetMinutes * 60_000).toISOString().slice(0, 10);
      const key = `${day} ${row.model}`;
      const sum = days.get(key) ?? { ...nothing, day, model: row.model };
      days.set(key, sum);
      for (const each of counted) sum[each] += row[each];
    };
    for (const row of this.#hours.all(root, sinceHour, limits.costRows)) add(row.hour * hourMs, row);
    for (const row of this.#unfolded()) {
      if (row.at < sinceHour * hourMs || (root !== 0 && row.root !== root)) continue;
      add(row.at, { ...row, requests: 1, lost: row.state === 'lost' ? 1 : 0 });
    }
    return [...days.values()].sort(
      (a, b) => order(b.day, a.day) || b.microUsd - a.microUsd || order(a.model, b.model),
    );
  }

  /** Rows that are not added up yet. After a crash there may be more for a moment than are looked at. */
  #unfolded(): readonly LedgerRecord[] {
    return this.#ledger.all(this.#folded.get(0) ?? 0, 2 * limits.foldRows);
  }

  ledger(
    agent: number,
    after: number,
    limit: number,
  ): { readonly rows: readonly LedgerEntry[]; readonly next: number | null } {
    const wanted = Math.min(limit, limits.pageRows);
    // Of one agent as many rows are looked at as a filter may; of all, as many as are wanted.
    const looked = this.#ledger.all(after, agent === 0 ? wanted : limits.searchSlice);
    const rows: LedgerEntry[] = [];
    let last = after;
    for (const row of looked) {
      if (rows.length === wanted) break;
      last = row.id;
      if (agent === 0 || row.agent === agent) rows.push(entryOf(row));
    }
    const isEnd = looked.at(-1)?.id === last && looked.length < (agent === 0 ? wanted : limits.searchSlice);
    return { rows, next: looked.length === 0 || isEnd ? null : last };
  }

  roles(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#roles.all(0, limits.pageRows).map((row) => [row.profile, row.model]));
  }
}

const counted = ['requests', 'lost', 'input', 'output', 'cacheRead', 'cacheWrite', 'microUsd'] as const;
const nothing = { requests: 0, lost: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, microUsd: 0 };
const order = (a: string, b: string): number => (a < b ? -1 : a === b ? 0 : 1);

function entryOf(row: LedgerRecord): LedgerEntry {
  const { attempt: _attempt, root: _root, at, agent, turn, ...rest } = row;
  return { ...rest, agent: agentId(agent), turn: turnId(turn), atMs: at };
}
