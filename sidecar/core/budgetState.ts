// A branch's budget as clients see it.

import type { BudgetState } from '../protocol/methods.ts';
import type { AgentRecord } from './rows.ts';

/** Limits, what is spent and what is held, of one branch. Time is what is left of it at `nowMs`. */
export function budgetStateOf(agent: AgentRecord, nowMs: number): BudgetState {
  const { maxMicroUsd: microUsd, maxTokens: tokens, maxAgents: agents, maxDepth: depth, endBy } = agent;
  const wallMs = endBy === null ? null : Math.max(0, endBy - nowMs);
  return {
    limits: { microUsd, tokens, agents, depth, wallMs },
    spent: { microUsd: agent.bMicroUsd, tokens: agent.bTokens, agents: agent.bAgents },
    held: { microUsd: agent.bHeldMicroUsd, tokens: agent.bHeldTokens },
  };
}
