// Budgets: whether a branch can pay for the next model request, and how much of it (I7).
//
// Money is millionths of a US dollar; a price is millionths of a dollar for a million tokens. A reservation is
// the estimated input plus the output limit that is really sent, so an answer cannot cost more than was held.

import type { ModelPrice as Price } from '../protocol/cost.ts';
import type { AgentRecord } from './rows.ts';

export interface TokenCounts {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

/** Cost in millionths of a dollar, rounded up, so that many small requests are not free. `input` includes cache reads and writes. */
export function costOf(usage: TokenCounts, price: Price): number {
  const plain = Math.max(0, usage.input - usage.cacheRead - usage.cacheWrite);
  const total =
    plain * price.input +
    usage.cacheRead * price.cacheRead +
    usage.cacheWrite * price.cacheWrite +
    usage.output * price.output;
  return Math.ceil(total / 1_000_000);
}

export type Reservation =
  | {
      readonly kind: 'held';
      readonly outputTokens: number;
      readonly microUsd: number;
      readonly tokens: number;
      readonly limited: boolean;
    }
  /** Others hold what is left: wait until one of them settles. */
  | { readonly kind: 'wait' }
  /** It is spent: a person decides. `limit` names what ran out, `agent` whose budget it was. */
  | { readonly kind: 'spent'; readonly limit: 'money' | 'tokens' | 'time'; readonly agent: number }
  /** Money is limited and nobody knows what this model costs. */
  | { readonly kind: 'noPrice'; readonly agent: number };

export interface ReserveFacts {
  /** Estimated tokens of the request. */
  readonly input: number;
  readonly outputTokens: number;
  readonly outputFloor: number;
  readonly price: Price | null;
  readonly nowMs: number;
}

/** Whether a row limits what its branch may spend. */
export const isLimited = (agent: AgentRecord): boolean =>
  agent.maxMicroUsd !== null || agent.maxTokens !== null || agent.endBy !== null;

/** Output tokens that `left` pays for after the input; below 0 when not even the input is paid. */
function affordable(left: number, facts: ReserveFacts, price: Price): number {
  const inputCost = (facts.input * Math.max(price.input, price.cacheWrite)) / 1_000_000;
  if (price.output === 0) return left - inputCost >= 0 ? facts.outputTokens : -1;
  return Math.floor(((left - inputCost) * 1_000_000) / price.output);
}

function limitOf(
  agent: AgentRecord,
  facts: ReserveFacts,
): { tokens: number } | Exclude<Reservation, { kind: 'held' }> {
  if (agent.endBy !== null && facts.nowMs >= agent.endBy)
    return { kind: 'spent', limit: 'time', agent: agent.id };
  let tokens = facts.outputTokens;
  if (agent.maxTokens !== null) {
    const left = agent.maxTokens - agent.bTokens;
    tokens = Math.min(tokens, left - agent.bHeldTokens - facts.input);
    if (tokens < facts.outputFloor) {
      return left - facts.input < facts.outputFloor
        ? { kind: 'spent', limit: 'tokens', agent: agent.id }
        : { kind: 'wait' };
    }
  }
  if (agent.maxMicroUsd !== null) {
    if (facts.price === null) return { kind: 'noPrice', agent: agent.id };
    const left = agent.maxMicroUsd - agent.bMicroUsd;
    // Zero means zero, also for a model that costs nothing.
    if (agent.maxMicroUsd === 0) return { kind: 'spent', limit: 'money', agent: agent.id };
    tokens = Math.min(tokens, affordable(left - agent.bHeldMicroUsd, facts, facts.price));
    if (tokens < facts.outputFloor) {
      return affordable(left, facts, facts.price) < facts.outputFloor
        ? { kind: 'spent', limit: 'money', agent: agent.id }
        : { kind: 'wait' };
    }
  }
  return { tokens };
}

/** Checks every limit from the agent up to its root; the smallest wins. `lineage` starts with the agent itself. */
export function reserve(lineage: readonly AgentRecord[], facts: ReserveFacts): Reservation {
  let outputTokens = facts.outputTokens;
  let limited = false;
  for (const agent of lineage) {
    if (!isLimited(agent)) continue;
    limited = true;
    const limit = limitOf(agent, facts);
    if (!('tokens' in limit)) return limit;
    outputTokens = Math.min(outputTokens, limit.tokens);
  }
  const price = facts.price ?? { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  const dearest = Math.max(price.input, price.cacheWrite);
  const microUsd = Math.ceil((facts.input * dearest + outputTokens * price.output) / 1_000_000);
  return { kind: 'held', outputTokens, microUsd, tokens: facts.input + outputTokens, limited };
}

type Spent = Extract<Reservation, { kind: 'spent' }>['limit'];

/** Names whose limit is spent, and what that limit was: all who met it may be answered together, and answer once. */
export function spentCluster(owner: AgentRecord, limit: Spent): string {
  return `budget:${owner.id}:${limit}:${limitNow(owner, limit) ?? 0}`;
}

function limitNow(owner: AgentRecord, limit: Spent): number | null {
  if (limit === 'time') return owner.endBy;
  return limit === 'money' ? owner.maxMicroUsd : owner.maxTokens;
}

/** Whose limit a cluster of `spentCluster` names; null when it is another cluster. */
export function ownerOfSpent(cluster: string | null): number | null {
  const owner = /^budget:(\d+):/.exec(cluster ?? '')?.[1];
  return owner === undefined ? null : Number(owner);
}

/**
 * Gives as much again of the limit that the cluster names, and of no other. A limit that was raised since it was
 * asked about stays: a hundred agents that met one limit ask a hundred times, and their person means one raise.
 */
export function giveAgain(owner: AgentRecord, cluster: string, nowMs: number): void {
  const asked = (['money', 'tokens', 'time'] as const).find((each) => cluster === spentCluster(owner, each));
  if (asked === undefined) return;
  const most = Number.MAX_SAFE_INTEGER;
  if (asked === 'time') owner.endBy = nowMs + Math.max(leastTimeMs, nowMs - owner.created);
  if (asked === 'money')
    owner.maxMicroUsd = Math.min(most, 2 * Math.max(owner.maxMicroUsd ?? 0, owner.bMicroUsd, leastMicroUsd));
  if (asked === 'tokens')
    owner.maxTokens = Math.min(most, 2 * Math.max(owner.maxTokens ?? 0, owner.bTokens, leastTokens));
}

/** What a limit of nearly nothing is doubled from: a cent, a long conversation, a minute. */
const leastMicroUsd = 5_000;
const leastTokens = 50_000;
const leastTimeMs = 60_000;
