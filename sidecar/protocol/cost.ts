// What models cost: prices, what was spent on which day with which model, and single requests of the ledger.
// Money is millionths of a US dollar; a price is that for a million tokens.

import type { AgentId, TurnId } from './ids.ts';

export interface ModelPrice {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

/** Sums over requests. `input` includes what was read from and written to the provider's cache. */
export interface Spent {
  readonly requests: number;
  /** Of them, those that broke; they count at what was held for them. */
  readonly lost: number;
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly microUsd: number;
}

export interface DaySpent extends Spent {
  /** `2026-12-01`, in the asker's time. */
  readonly day: string;
  readonly model: string;
}

export interface CostReport {
  /** Null: of all agents together, or of an agent that is no root: days are kept of roots. */
  readonly agent: AgentCost | null;
  readonly days: readonly DaySpent[] | null;
}

export interface AgentCost {
  readonly id: AgentId;
  readonly name: string;
  /** Of the agent itself, and of it and all below it. */
  readonly own: { readonly microUsd: number; readonly tokens: number };
  readonly branch: { readonly microUsd: number; readonly tokens: number; readonly agents: number };
}

/** One request of the ledger, as it was settled. */
export interface LedgerEntry {
  readonly id: number;
  readonly agent: AgentId;
  readonly turn: TurnId;
  readonly round: number;
  readonly state: 'settled' | 'lost';
  readonly model: string;
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly microUsd: number;
  readonly atMs: number;
}

/** The part of the wire's table (methods.ts) that is about money. */
export interface MoneyMethods {
  /** Sets what a model costs, in place of the table's price; 0 is a price, null takes it away. Turns that waited for it go on. */
  'model/price': {
    params: {
      readonly model: string;
      readonly price: (Pick<ModelPrice, 'input' | 'output'> & Partial<ModelPrice>) | null;
    };
    /** What it costs now; null: nobody knows. */
    result: { readonly price: ModelPrice | null };
  };
  /** The model of new agents of a profile, unless one is asked for; null takes it away. */
  'model/role': {
    params: { readonly profile: string; readonly model: string | null };
    result: Record<string, never>;
  };

  /**
   * What was spent, newest day first, with an agent's own and its branch's sums. Days begin at midnight of a place
   * that is `offsetMinutes` east of UTC.
   */
  'cost/get': {
    params: { readonly agent: AgentId | null; readonly days: number; readonly offsetMinutes: number };
    result: CostReport;
  };
  /**
   * Requests as they were settled, ascending from the cursor; with `agent` only its own. One call looks at a bounded
   * number of rows, so a page may be empty and `next` still lead on; null: there are no more.
   */
  'cost/ledger': {
    params: { readonly agent: AgentId | null; readonly after: number; readonly limit: number };
    result: { readonly rows: readonly LedgerEntry[]; readonly next: number | null };
  };
}
