// Admission: free slots are given away, to those who want one now and then to those who wait (DESIGN §8). Who may
// not ask yet waits in the lane of its model, and takes no slot while it does (I5).

import type { AgentRecord } from '../core/rows.ts';
import { startCommand } from './calls.ts';
import { limits } from './limits.ts';
import { closeLane, holdBack, isLongPause, laneOf, leaveAtMs, parkForPause, waitForPace } from './pacing.ts';
import { enqueue, nextIn, take, takeNext } from './queue.ts';
import { startAttempt } from './rounds.ts';
import type { Step } from './step.ts';

/** Gives free slots away. Notes when the first of a lane may leave, for the alarm. */
export function admit(step: Step): void {
  const { slots, rt } = step;
  for (const id of step.wanting) {
    step.wanting.delete(id);
    step.lookingAt = id;
    const agent = step.agent(id);
    if (agent.phase !== 'ready') continue; // interrupted within the same step
    const free = slots.modelUsed < rt.options.modelSlots;
    if (free && (!slots.modelQueue || goesOn(step, agent))) start(step, agent);
    else enqueue(step, { slot: 'model', urgency: agent.urgency, root: agent.root, agent: id, call: 0 });
  }
  const free = rt.options.modelSlots - slots.modelUsed;
  let started = serveLanes(step, slots.modelQueue ? shareOfLanes(step, free) : limits.slice);
  while (slots.modelQueue && slots.modelUsed < rt.options.modelSlots && started < limits.slice) {
    const row = takeNext(step, 'model');
    if (row === undefined) break;
    step.lookingAt = row.agent;
    const agent = step.agent(row.agent);
    if (agent.phase === 'ready') start(step, agent);
    started += 1;
  }
  if (step.slots.lanes.length > 0) started += serveLanes(step, limits.slice - started);
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
  if (limits.slice <= started) step.after(() => rt.post({ kind: 'admit' }));
}

/** Half of the free slots; of a single one every other time, or the turns of one side would wait for all of the other. */
function shareOfLanes(step: Step, free: number): number {
  if (free !== 1) return Math.ceil(free / 2);
  step.slots.lanesFirst = !step.slots.lanesFirst;
  return step.slots.lanesFirst ? 1 : 0;
}

/** A slot is free: the agent asks, behind those who wait for the pace of its model, and when that allows it. */
function start(step: Step, agent: AgentRecord): void {
  const paced = step.rt.model.ready(agent.model);
  const waits = step.slots.lanes.includes(agent.model) || step.nowMs < leaveAtMs(step, agent);
  if (paced && waits) waitForPace(step, agent);
  else startAttempt(step, agent);
}

/** Returns how many it served, at most `most`: at first lanes leave half of the slots to turns that wait for no pace. */
function serveLanes(step: Step, most: number): number {
  step.paceAtMs = null;
  let served = 0;
  for (const model of step.slots.lanes) served += serveLane(step, model, most - served);
  return served;
}

function serveLane(step: Step, model: string, most: number): number {
  const { slots, rt } = step;
  let served = 0;
  while (slots.modelUsed < rt.options.modelSlots && served < most) {
    const row = nextIn(step, laneOf(model));
    if (row === undefined) {
      closeLane(step, model);
      break;
    }
    step.lookingAt = row.agent;
    const agent = step.agent(row.agent);
    const isLong = isLongPause(step, agent.model);
    const atMs = rt.model.ready(agent.model) ? leaveAtMs(step, agent) : step.nowMs;
    if (step.nowMs < atMs && !isLong) {
      holdBack(step, agent.model);
      const soonestMs = Math.max(atMs, step.nowMs + limits.paceTickMs);
      step.paceAtMs = Math.min(step.paceAtMs ?? soonestMs, soonestMs);
      break;
    }
    take(step, row);
    served += 1;
    if (agent.phase !== 'ready') continue;
    if (isLong) parkForPause(step, agent);
    else startAttempt(step, agent);
  }
  return served;
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
