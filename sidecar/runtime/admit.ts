// Admission: free slots are given away, to those who want one now and then to those who wait (DESIGN §8). Who may
// not ask yet waits in the lane of its pool, and takes no slot while it does (I5).

import type { AgentRecord } from '../core/rows.ts';
import { startCommand } from './calls.ts';
import { limits } from './limits.ts';
import {
  closeLane,
  holdBack,
  isFull,
  isLongPause,
  laneOf,
  leaveAtMs,
  parkForPause,
  poolOf,
  waitForPace,
} from './pacing.ts';
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

/** A slot is free: the agent asks, behind those who wait for the pace of its pool, and when that allows it. */
function start(step: Step, agent: AgentRecord): void {
  if (step.rt.model.lacks(agent.model) === null && mustWait(step, agent)) waitForPace(step, agent);
  else startAttempt(step, agent);
}

function mustWait(step: Step, agent: AgentRecord): boolean {
  const pool = poolOf(step, agent);
  const { lanes } = step.slots;
  return lanes.includes(pool.name) || isFull(step, pool) || step.nowMs < leaveAtMs(step, agent);
}

/** Returns how many it served, at most `most`: at first lanes leave half of the slots to turns that wait for no pace. */
function serveLanes(step: Step, most: number): number {
  step.paceAtMs = null;
  let served = 0;
  for (const lane of step.slots.lanes) served += serveLane(step, lane, most - served);
  return served;
}

function serveLane(step: Step, lane: string, most: number): number {
  const { slots, rt } = step;
  let served = 0;
  while (slots.modelUsed < rt.options.modelSlots && served < most) {
    const row = nextIn(step, laneOf(lane));
    if (row === undefined) {
      closeLane(step, lane);
      break;
    }
    step.lookingAt = row.agent;
    const agent = step.agent(row.agent);
    if (agent.phase === 'ready' && isHeld(step, agent, lane)) break;
    take(step, row);
    served += 1;
    if (agent.phase !== 'ready') continue;
    const pool = poolOf(step, agent);
    // It was given another model since, or its provider another key: it goes to the lane of its pool.
    if (pool.name !== lane) step.wanting.add(agent.id);
    else if (isLongPause(step, pool)) parkForPause(step, agent);
    else startAttempt(step, agent);
  }
  return served;
}

/** Whether the first of a lane must stay in it; notes when it may be looked at again. */
function isHeld(step: Step, agent: AgentRecord, lane: string): boolean {
  const pool = poolOf(step, agent);
  if (pool.name !== lane || step.rt.model.lacks(agent.model) !== null) return false;
  const atMs = leaveAtMs(step, agent);
  const waits = step.nowMs < atMs && !isLongPause(step, pool);
  if (waits) {
    holdBack(step, pool);
    const soonestMs = Math.max(atMs, step.nowMs + limits.paceTickMs);
    step.paceAtMs = Math.min(step.paceAtMs ?? soonestMs, soonestMs);
  }
  // The end of one of those in flight is an event, and the end of each event looks here again.
  return waits || isFull(step, pool);
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
