// Looking things up for clients: found, or an error that says where to look.

import type { AgentRow } from '../protocol/agent.ts';
import { RoostError } from '../protocol/errors.ts';
import type { AgentId } from '../protocol/ids.ts';
import type { Reads } from '../ports.ts';

/** An agent by id or by path of names. Throws `agent/unknown`. */
export function findAgent(reads: Pick<Reads, 'agent' | 'agentByName'>, agent: AgentId | string): AgentRow {
  const row = typeof agent === 'string' ? reads.agentByName(agent) : reads.agent(agent);
  if (row !== undefined) return row;
  throw new RoostError(
    'agent/unknown',
    `There is no agent ${agent}. "roost ls --all" lists those there are.`,
    { agent },
  );
}
