// The touch index: who else has an undecided change of a file, known in the transaction that records a write (case
// 161). It is an index over the open changes and nothing more: what is decided overlaps with nobody.

import { meet } from '../core/overlap.ts';
import type { AgentRecord, ChangeRecord } from '../core/rows.ts';
import type { Overlap } from '../protocol/change.ts';
import { agentId, changeId } from '../protocol/ids.ts';
import { limits } from './limits.ts';
import type { Step } from './step.ts';

/** Undecided changes of a file that belong to other agents, oldest first; those of agents in the trash meet nobody. */
export function othersAt(step: Step, agent: number, path: string): ChangeRecord[] {
  return step.store
    .range('change.file', [0, path], { limit: limits.overlapsLooked })
    .filter((change) => change.agent !== agent);
}

/** Who else is at the file of a change, as its row tells it. */
export function overlapsOf(step: Step, change: ChangeRecord): readonly Overlap[] {
  if (change.state !== 'open') return [];
  return othersAt(step, change.agent, change.path)
    .slice(0, limits.overlapsShown)
    .map((other) => ({
      change: changeId(other.id),
      agent: agentId(other.agent),
      agentName: step.agent(other.agent).name,
      lines: meet(change, other),
    }));
}

/** The rows of the others say something new: who looks at them is told. */
export function tellOthers(step: Step, agent: number, path: string): void {
  for (const other of othersAt(step, agent, path)) step.changesChanged(other.agent);
}

/** What an agent is told when its change of a file begins and others have one too; null: nothing. */
export function overlapNote(step: Step, agent: AgentRecord, change: ChangeRecord): string | null {
  const others = othersAt(step, agent.id, change.path);
  if (others.length === 0) return null;
  const names = others.slice(0, limits.overlapsShown).map((other) => {
    const where = meet(change, other) ? ', at the same lines' : '';
    return `${step.agent(other.agent).name} (agent ${other.agent}${where})`;
  });
  const more = others.length - names.length;
  const rest = more > 0 ? ` and ${more} more` : '';
  return `[roost] ${change.label} is also changed by ${names.join(', ')}${rest}, and nobody has decided on that yet.`;
}
