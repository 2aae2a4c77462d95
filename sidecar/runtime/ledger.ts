// The ledger: one row for each model request, reserved before it leaves and settled when it ends (I7).

import { costOf, type Reservation } from '../core/budget.ts';
import type { AgentRecord, LedgerRecord } from '../core/rows.ts';
import type { Usage } from '../protocol/entry.ts';
import type { Step } from './step.ts';

/** Opens an attempt of the agent's turn and holds what it may cost, up to the root. Returns its id. */
export function openLedger(
  step: Step,
  agent: AgentRecord,
  held: Extract<Reservation, { kind: 'held' }>,
): number {
  const turn = step.turn(agent.turn);
  const heldMicroUsd = held.limited ? held.microUsd : 0;
  const heldTokens = held.limited ? held.tokens : 0;
  if (held.limited) hold(step, agent, heldMicroUsd, heldTokens);
  return step.store.insert('ledger', {
    agent: agent.id,
    turn: turn.id,
    round: turn.rounds + 1,
    state: 'open',
    model: agent.model,
    heldMicroUsd,
    heldTokens,
    microUsd: 0,
    input: 0,
    output: 0,
    cacheRead: 0,
    cacheWrite: 0,
    at: step.nowMs,
  });
}

function hold(step: Step, agent: AgentRecord, microUsd: number, tokens: number): void {
  for (const each of step.lineage(agent.id)) {
    each.bHeldMicroUsd += microUsd;
    each.bHeldTokens += tokens;
  }
}

/** Settles an attempt: what was held is free, what was used is spent. A lost attempt costs what was held (DESIGN §8). */
export function settle(step: Step, agent: AgentRecord, ledger: LedgerRecord, usage: Usage | null): void {
  if (ledger.heldTokens > 0) hold(step, agent, -ledger.heldMicroUsd, -ledger.heldTokens);
  const price = step.rt.model.price(ledger.model);
  const microUsd = usage === null ? ledger.heldMicroUsd : price === null ? 0 : costOf(usage, price);
  const tokens = usage === null ? ledger.heldTokens : usage.input + usage.output;
  step.store.update('ledger', ledger.id, {
    state: usage === null ? 'lost' : 'settled',
    microUsd,
    input: usage?.input ?? 0,
    output: usage?.output ?? 0,
    cacheRead: usage?.cacheRead ?? 0,
    cacheWrite: usage?.cacheWrite ?? 0,
  });
  agent.microUsd += microUsd;
  agent.tokens += tokens;
  if (ledger.heldTokens === 0) return;
  // The next reservation of this step must find it spent, or the branch spends it twice.
  step.countNow(agent.id);
  step.budgetFreed = true;
}
