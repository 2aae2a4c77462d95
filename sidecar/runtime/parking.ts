// Parking: a turn that cannot ask its model now, with the reason why, and what will wake it.

import { spentCluster, type Reservation } from '../core/budget.ts';
import type { AgentRecord } from '../core/rows.ts';
import { askPrice } from './priceQuestion.ts';
import { openRequest } from './requests.ts';
import type { Step } from './step.ts';
import { setTimer } from './timers.ts';
import { setPhase } from './turns.ts';

/** The branch cannot pay: wait for others to settle, or for a person to raise the budget. */
export function cannotPay(
  step: Step,
  agent: AgentRecord,
  held: Exclude<Reservation, { kind: 'held' }>,
): void {
  setPhase(step, agent, 'waiting', 'budget');
  if (held.kind === 'wait') return;
  const owner = step.agent(held.agent);
  if (held.kind === 'noPrice') return askPrice(step, agent, owner);
  openRequest(step, agent, {
    kind: 'budget',
    title: `Budget of ${owner.name}: ${held.limit} spent`,
    detail: `${owner.name} has used up its budget of ${held.limit}. Allow to give as much again; deny to end the turn.`,
    cluster: spentCluster(owner, held.limit),
    call: 0,
    choices: [],
  });
}

/** No key is known: clients that have keys are asked once, and every agent of the provider goes on with it. */
export function waitForKey(step: Step, agent: AgentRecord, provider: string): void {
  const { rt } = step;
  setPhase(step, agent, 'waiting', 'key');
  step.after(() => {
    if (rt.askingKey.has(provider)) return;
    rt.askingKey.add(provider);
    rt.clients.secret(provider, (secret) => {
      rt.askingKey.delete(provider);
      if (secret === null) return;
      rt.model.setKey(provider, secret.key, secret.baseUrl);
      rt.post({ kind: 'keysMore', after: 0 });
    });
  });
}

/** Parks the turn until a time. */
export function parkUntil(step: Step, agent: AgentRecord, why: 'rate' | 'timer', atMs: number): void {
  setPhase(step, agent, 'waiting', why);
  setTimer(step, { due: Math.max(atMs, step.nowMs + 1), kind: 'rate', agent: agent.id, ref: agent.turn });
}

/** A turn that keeps failing waits for a person instead of going round (DESIGN §7). */
export function quarantine(step: Step, agent: AgentRecord, message: string): void {
  setPhase(step, agent, 'waiting', 'quarantine');
  const detail = `${message}\nAllow to try again; deny to end the turn.`;
  openRequest(step, agent, {
    kind: 'quarantine',
    title: message,
    detail,
    cluster: `quarantine:${message}`,
    call: 0,
    choices: [],
  });
}
