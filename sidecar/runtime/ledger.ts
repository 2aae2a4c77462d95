// The ledger: what a model request may cost is held on its agent's row before it leaves, and what it did cost is a row
// of the ledger when it has ended (I7).
//
// The agent's row is written anyway when it asks, so holding costs no page of its own; the ledger's rows are written
// once, in order: together a sixth less written a child than a row that is opened and then settled.

import { costOf, type Reservation } from '../core/budget.ts';
import type { AgentRecord } from '../core/rows.ts';
import type { ModelPrice } from '../protocol/cost.ts';
import type { Usage } from '../protocol/entry.ts';
import { limits } from './limits.ts';
import { goOnPurging } from './chains.ts';
import { noteSpend } from './spend.ts';
import type { Step } from './step.ts';

/** Opens the agent's next attempt and holds what it may cost, up to the root. Returns its number. */
export function openAttempt(
  step: Step,
  agent: AgentRecord,
  held: Extract<Reservation, { kind: 'held' }>,
): number {
  agent.attempts += 1;
  if (held.limited) hold(step, agent, held.microUsd, held.tokens);
  return agent.attempts;
}

/** The next reservation of the same step must see it, or the branch spends it twice. */
function hold(step: Step, agent: AgentRecord, microUsd: number, tokens: number): void {
  agent.heldMicroUsd = microUsd;
  agent.heldTokens = tokens;
  step.countNow(agent.id);
}

/** What an attempt came to: the model that was asked, and what it used at which price; null: nobody knows. */
export interface Spent {
  readonly model: string;
  readonly used: { readonly usage: Usage; readonly price: ModelPrice | null } | null;
}

/** Settles the attempt in flight: what was held is free, what was used is spent. A lost attempt costs what was held (DESIGN §8). */
export function settle(step: Step, agent: AgentRecord, { model, used }: Spent): void {
  const { heldMicroUsd, heldTokens } = agent;
  const usage = used?.usage ?? null;
  // At the price that it was held at: one that is raised while a request is in flight must not break a budget (I7).
  const microUsd = used === null ? heldMicroUsd : used.price === null ? 0 : costOf(used.usage, used.price);
  const row = {
    agent: agent.id,
    root: agent.root,
    turn: agent.turn,
    attempt: agent.attempts,
    round: agent.rounds + 1,
    state: usage === null ? 'lost' : 'settled',
    model,
    microUsd,
    input: usage?.input ?? 0,
    output: usage?.output ?? 0,
    cacheRead: usage?.cacheRead ?? 0,
    cacheWrite: usage?.cacheWrite ?? 0,
    at: step.nowMs,
  } as const;
  const id = step.store.insert('ledger', row);
  step.after(() => noteSpend(step.rt, { ...row, id }));
  if (id % limits.ledgerLook === 0) goOnPurging(step);
  agent.microUsd += microUsd;
  agent.tokens += usage === null ? heldTokens : usage.input + usage.output;
  if (heldTokens === 0) return;
  hold(step, agent, 0, 0);
  step.budgetFreed = true;
}
