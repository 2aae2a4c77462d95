// The end of a step: what handlers left to do follows from the rows, and free slots are given away.

import { admit } from './admit.ts';
import { settleCalls } from './calls.ts';
import { lookAtNotice } from './notices.ts';
import { nextRound } from './rounds.ts';
import { stoppedAt } from './standing.ts';
import type { Step } from './step.ts';
import { turnEndedForWaits } from './waits.ts';

/** Carries out the intents of a step until none is left. Ends because each intent moves an agent forward once. */
export function settleStep(step: Step): void {
  do {
    tellParents(step);
    settleAgents(step);
    look(step);
    admit(step);
  } while (step.untold.length > 0 || step.unsettled.size > 0 || step.looks.size > 0 || step.wanting.size > 0);
  step.lookingAt = 0;
  if (step.budgetFreed) step.after(() => step.rt.post({ kind: 'budgetsMore', after: 0 }));
}

/** An ended turn may end its parent's wait, or be due as a notice. */
function tellParents(step: Step): void {
  for (const { parent: id, turn, outcome } of step.untold.splice(0)) {
    step.lookingAt = id;
    const parent = step.findAgent(id);
    if (parent === undefined) continue; // deleted for good in the same step
    // In a branch that is being closed or deleted nobody starts again because others were ended.
    if (stoppedAt(step, id) !== undefined) continue;
    if (parent.phase === 'waiting' || parent.phase === 'calling') turnEndedForWaits(step, parent, turn);
    else step.looks.set(id, (step.looks.get(id) ?? false) || outcome === 'failed');
  }
}

function settleAgents(step: Step): void {
  for (const id of step.unsettled) {
    step.unsettled.delete(id);
    step.lookingAt = id;
    const agent = step.findAgent(id);
    if (agent === undefined || agent.turn === 0 || agent.phase === 'asking' || agent.phase === 'ready')
      continue;
    if (agent.why === 'quarantine') continue; // a person decides first
    if (settleCalls(step, agent)) nextRound(step, agent);
  }
}

function look(step: Step): void {
  for (const [id, failed] of step.looks) {
    step.looks.delete(id);
    step.lookingAt = id;
    const agent = step.findAgent(id);
    if (agent !== undefined) lookAtNotice(step, agent, failed);
  }
}
