// The end of a step: what handlers left to do follows from the rows, and free slots are given away.

import type { AgentRecord } from '../core/rows.ts';
import { limits } from './limits.ts';
import { settleCalls, startCommand } from './calls.ts';
import { lookAtNotice } from './notices.ts';
import { enqueue, takeNext } from './queue.ts';
import { nextRound, startAttempt } from './rounds.ts';
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
    const parent = step.agent(id);
    if (parent.phase === 'waiting' || parent.phase === 'calling') turnEndedForWaits(step, parent, turn);
    else step.looks.set(id, (step.looks.get(id) ?? false) || outcome === 'failed');
  }
}

function settleAgents(step: Step): void {
  for (const id of step.unsettled) {
    step.unsettled.delete(id);
    step.lookingAt = id;
    const agent = step.agent(id);
    if (agent.turn === 0 || agent.phase === 'asking' || agent.phase === 'ready') continue;
    if (agent.why === 'quarantine') continue; // a person decides first
    if (settleCalls(step, agent)) nextRound(step, agent);
  }
}

function look(step: Step): void {
  for (const [id, failed] of step.looks) {
    step.looks.delete(id);
    step.lookingAt = id;
    lookAtNotice(step, step.agent(id), failed);
  }
}

/**
 * Whether a turn that is under way goes on before turns of its own root that have not begun: it is the older one,
 * and its rows are warm. Not when a person waits, and not when another root does: roots take turns.
 */
function goesOn(step: Step, agent: AgentRecord): boolean {
  if (step.turnsUnderWay.has(agent.id)) {
    step.others ??= otherRoots(step);
    return step.others.every((root) => root === agent.root);
  }
  return false;
}

/** Two roots that wait, or one; -1 stands for a person. Enough to know whether any but one's own does. */
function otherRoots(step: Step): readonly number[] {
  if (step.store.range('ready.root', ['model', 0], { above: 0, limit: 1 }).length > 0) return [-1];
  const first = step.store.range('ready.root', ['model', 1], { above: 0, limit: 1 })[0];
  if (first === undefined) return [];
  const second = step.store.range('ready.root', ['model', 1], { above: first.root, limit: 1 })[0];
  return second === undefined ? [first.root] : [first.root, second.root];
}

/** Gives free slots to those who want one now and then to those who wait in the queue. */
function admit(step: Step): void {
  const { slots, rt } = step;
  for (const id of step.wanting) {
    step.wanting.delete(id);
    step.lookingAt = id;
    const agent = step.agent(id);
    if (agent.phase !== 'ready') continue; // interrupted within the same step
    const free = slots.modelUsed < rt.options.modelSlots;
    if (free && (!slots.modelQueue || goesOn(step, agent))) startAttempt(step, agent);
    else enqueue(step, { slot: 'model', urgency: agent.urgency, root: agent.root, agent: id, call: 0 });
  }
  let started = 0;
  while (slots.modelQueue && slots.modelUsed < rt.options.modelSlots && started < limits.slice) {
    const row = takeNext(step, 'model');
    if (row === undefined) break;
    step.lookingAt = row.agent;
    const agent = step.agent(row.agent);
    if (agent.phase === 'ready') startAttempt(step, agent);
    started += 1;
  }
  while (
    slots.commandQueue &&
    !slots.recovering &&
    slots.commandUsed < rt.options.commandSlots &&
    started < limits.slice
  ) {
    const row = takeNext(step, 'command');
    if (row === undefined) break;
    step.lookingAt = row.agent;
    startCommand(step, row.call);
    started += 1;
  }
  if (started === limits.slice) step.after(() => rt.post({ kind: 'admit' }));
}
