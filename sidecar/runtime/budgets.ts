// Setting budgets, which is a decision of a person: recorded with the branch, and those who waited look again.

import { budgetStateOf } from '../core/budgetState.ts';
import { refuse } from './agents.ts';
import type { ClientEvent } from './event.ts';
import { limits } from './limits.ts';
import { withdrawRequests } from './requests.ts';
import type { Step } from './step.ts';
import { startRound } from './turns.ts';

/** Sets the limits that are named; null takes one away, 0 is nothing (I7). Doing it twice is doing it once. */
export function onBudgetSet(step: Step, event: Extract<ClientEvent, { kind: 'budget/set' }>): void {
  const { params, reply } = event;
  const agent = step.findAgent(params.agent);
  if (agent === undefined) return refuse(step, reply, 'agent/unknown', `There is no agent ${params.agent}.`);
  const { microUsd, tokens, agents, depth, wallMs } = params.budget;
  if (microUsd !== undefined) agent.maxMicroUsd = microUsd;
  if (tokens !== undefined) agent.maxTokens = tokens;
  if (agents !== undefined) agent.maxAgents = agents;
  if (depth !== undefined) agent.maxDepth = depth;
  if (wallMs !== undefined) agent.endBy = wallMs === null ? null : step.nowMs + wallMs;
  const value = budgetStateOf(agent, step.nowMs);
  step.after(() => {
    step.rt.post({ kind: 'raisedMore', after: 0 });
    reply({ ok: true, value });
  });
}

/** Agents that wait for budget look again, also those whose question to the person is answered by a raise. */
export function onRaised(step: Step, after: number): void {
  const rows = step.store.range('agent.waiting', ['budget'], { after, limit: limits.slice });
  for (const row of rows) {
    step.lookingAt = row.id;
    const agent = step.agent(row.id);
    if (agent.phase !== 'waiting' || agent.why !== 'budget') continue;
    withdrawRequests(step, agent);
    startRound(step, agent);
  }
  const last = rows.at(-1);
  if (rows.length < limits.slice || last === undefined) return;
  step.after(() => step.rt.post({ kind: 'raisedMore', after: last.id }));
}
