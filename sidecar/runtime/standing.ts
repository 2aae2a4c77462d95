// Whether work may start in an agent: not under one that is closed, and not in a branch that is in the trash or on
// its way there or back. The marks stand on the top of the branch, so it is the lineage that says so (I9).

import type { AgentRecord } from '../core/rows.ts';
import type { ErrorCode } from '../protocol/errors.ts';
import type { Step } from './step.ts';

export interface Problem {
  readonly code: ErrorCode;
  readonly message: string;
}

/** The agent, or the nearest above it, that lets no work start; undefined: it may. */
export function stoppedAt(step: Step, id: number): AgentRecord | undefined {
  for (let at = id; at !== 0;) {
    const agent = step.agent(at);
    if (agent.closed !== 0 || agent.trash !== 0) return agent;
    at = agent.parent;
  }
  return undefined;
}

/** Why nothing may start in an agent, in words for a person; null when it may. */
export function standingProblem(step: Step, agent: AgentRecord): Problem | null {
  const by = stoppedAt(step, agent.id);
  if (by === undefined) return null;
  if (by.trash === 0) {
    return { code: 'agent/closed', message: `${by.name} is closed. Start another agent.` };
  }
  const top = topOfTrash(step, by);
  const message = `${top.name} is in the trash. Restore it first ("roost restore ${top.id}"), or start another agent.`;
  return { code: 'agent/trashed', message };
}

/** The top of the branch in the trash, or on its way, that an agent is in. */
export function topOfTrash(step: Step, agent: AgentRecord): AgentRecord {
  const row = step.store.get('trash', agent.trash);
  return (row === undefined ? undefined : step.findAgent(row.agent)) ?? agent;
}
