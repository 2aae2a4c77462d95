// Rows about money: the ledger of model requests and what is added up of it; prices, and models of profiles, that a person
// has set. The other rows, and the indexes of all, are in rows.ts.

/**
 * One model request as it was settled. Until then it is columns of its agent (`attempts`, `heldMicroUsd`,
 * `heldTokens`): a row that is inserted once and never changed costs a third of the pages of one that is.
 */
export interface LedgerRecord {
  id: number;
  agent: number;
  /** Whose branch pays for it, also when the agent has been deleted for good before its rows are added up. */
  root: number;
  turn: number;
  /** Which of the agent's attempts, and the round of the turn that it was made for. */
  attempt: number;
  round: number;
  state: 'settled' | 'lost';
  model: string;
  microUsd: number;
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  /** When it was settled. */
  at: number;
}

/** What a model costs, as a person has set it: millionths of a dollar for a million tokens. */
export interface PriceRecord {
  id: number;
  /** provider/model. */
  model: string;
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
}

/** The model of new agents of a profile, as a person has set it. */
export interface RoleRecord {
  id: number;
  profile: string;
  model: string;
}

/** The ledger's rows of an hour, a root and a model, added up behind it: nobody adds up a million rows to show a day. */
export interface SpendRecord {
  id: number;
  /** 0: all roots together. */
  root: number;
  /** Hours since 1970. */
  hour: number;
  model: string;
  requests: number;
  lost: number;
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  microUsd: number;
}

/** The one row says up to which row the ledger is added up. */
export interface FoldedRecord {
  id: number;
  upTo: number;
}
