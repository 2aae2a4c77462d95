// Pacing: what the runtime keeps of core/pace.ts, one value a pool, and the lanes in which turns wait for it. Models
// that share a provider's limits are one pool and share its lane.
//
// A turn that may not ask yet stays `ready`, as a row of the queue in the lane of its pool, in its order; the
// first of each lane decides when the one alarm rings. So ten thousand turns wait without a timer of their own and
// come one by one. A pause of more than `paceParkMs` parks them instead, so that it is seen until when.
// What a step changes is kept when it commits. Not here: who gets the slot (admit.ts).

import {
  answered,
  heldBack,
  leaves,
  mayLeaveAtMs,
  newPace,
  refused,
  resumed,
  setBack,
  told,
} from '../core/pace.ts';
import type { Cost, Pace, Refusal, Ticket, Told } from '../core/pace.ts';
import type { AgentRecord, ReadyRecord } from '../core/rows.ts';
import type { ModelPool } from '../ports.ts';
import { requestTokens } from './estimate.ts';
import { limits } from './limits.ts';
import type { Runtime } from './memory.ts';
import { parkUntil } from './parking.ts';
import { enqueue } from './queue.ts';
import type { Step } from './step.ts';

const lanePrefix = 'pace:';

export const laneOf = (pool: string): ReadyRecord['slot'] => `${lanePrefix}${pool}`;

export const poolOf = (step: Step, agent: AgentRecord): ModelPool => step.rt.model.pool(agent.model);

/** When the agent's next request may leave; now or earlier: at once. */
export function leaveAtMs(step: Step, agent: AgentRecord): number {
  const pace = paceOf(step, poolOf(step, agent));
  return mayLeaveAtMs(pace, costOf(step, agent, pace), step.nowMs, limits);
}

/** Whether the pool has as many requests in flight as it takes; the end of one of them is an event. */
export const isFull = (step: Step, { name, atOnce }: ModelPool): boolean =>
  atOnce !== null && atOnce <= (step.slots.inPool[name] ?? 0);

/** The agent's request leaves, and takes a slot until `comesBack`. */
export function leave(step: Step, agent: AgentRecord, pool: ModelPool): Ticket {
  const pace = paceOf(step, pool);
  const next = leaves(pace, costOf(step, agent, pace), step.nowMs, limits);
  keep(step, pool, next);
  step.slots.modelUsed += 1;
  count(step, pool, 1);
  return next.sent;
}

/** A request has ended or was given up: its slot is free. */
export function comesBack(step: Step, pool: ModelPool): void {
  step.slots.modelUsed -= 1;
  count(step, pool, -1);
}

function count(step: Step, { name, atOnce }: ModelPool, by: 1 | -1): void {
  if (atOnce === null) return;
  step.slots.inPool = { ...step.slots.inPool, [name]: (step.slots.inPool[name] ?? 0) + by };
}

/** The agent waits for the pace of its pool, or for room in it: in its lane, or parked when the pause is long. */
export function waitForPace(step: Step, agent: AgentRecord): void {
  const pool = poolOf(step, agent);
  const { lanes } = step.slots;
  if (isLongPause(step, pool)) return parkForPause(step, agent);
  if (!lanes.includes(pool.name)) step.slots.lanes = [...lanes, pool.name];
  const { urgency, root, id } = agent;
  enqueue(step, { slot: laneOf(pool.name), urgency, root, agent: id, call: 0 });
  holdBack(step, pool);
}

/** Nobody waits in a lane any more. */
export function closeLane(step: Step, pool: string): void {
  step.slots.lanes = step.slots.lanes.filter((each) => each !== pool);
}

/**
 * Opens the lanes that the last process has left. The queue is sorted by lane, so the first place behind those of
 * one lane names the next: as many looks as there are lanes, however many turns wait in them.
 */
export function findLanes(step: Step): void {
  const found = new Set(step.slots.lanes);
  for (let above: string = lanePrefix; ;) {
    const row = step.store.range('ready.root', [], { above, limit: 1 })[0];
    if (row === undefined || !row.slot.startsWith(lanePrefix)) break;
    found.add(row.slot.slice(lanePrefix.length));
    above = row.slot;
  }
  step.slots.lanes = [...found];
}

/**
 * A request that the last process had in flight is asked again. Its provider had let it in, so it waits for no ramp:
 * 5,000 that were in flight wait on the model again after one second instead of five. Where turns wait in the lane
 * of the pool a limit was felt, and the ramp finds it again.
 */
export function resume(step: Step, agent: AgentRecord): void {
  const pool = poolOf(step, agent);
  const isHeld = step.store.range('ready.root', [laneOf(pool.name)], { above: -1, limit: 1 }).length > 0;
  if (!isHeld) keep(step, pool, resumed(paceOf(step, pool), limits));
}
/** Somebody waits for the pace of this pool. */
export function holdBack(step: Step, pool: ModelPool): void {
  const pace = paceOf(step, pool);
  if (!pace.held) keep(step, pool, heldBack(pace));
}

/** Whether the provider asked for a pause that is worth showing. */
export const isLongPause = (step: Step, pool: ModelPool): boolean =>
  paceOf(step, pool).pauseUntilMs - step.nowMs >= limits.paceParkMs;

export function parkForPause(step: Step, agent: AgentRecord): void {
  parkUntil(step, agent, 'rate', paceOf(step, poolOf(step, agent)).pauseUntilMs);
}

/** An attempt was answered. */
export function paceAnswered(step: Step, pool: ModelPool, ticket: Ticket, outputTokens: number): void {
  keep(step, pool, answered(paceOf(step, pool), ticket, outputTokens));
}

/** An attempt was refused: a pause of all who use the pool. */
export function paceRefused(step: Step, pool: ModelPool, refusal: Refusal): void {
  keep(step, pool, refused(paceOf(step, pool), refusal, step.nowMs, limits));
}

/** Headers told the state of limits, outside of a step: nothing durable hangs on it. */
export function hearLimits(rt: Runtime, pool: ModelPool, reading: Told): void {
  const pace = rt.paces.get(pool.name);
  if (pace !== undefined) rt.paces.set(pool.name, told(pace, reading, rt.clock.nowMs(), limits));
}

function paceOf(step: Step, pool: ModelPool): Pace {
  const known = step.paces.get(pool.name) ?? step.rt.paces.get(pool.name);
  if (known !== undefined && step.nowMs < known.atMs) {
    keep(step, pool, setBack(known, step.nowMs));
    return paceOf(step, pool);
  }
  return known ?? newPace(step.nowMs, pool.ramp, limits);
}

function keep(step: Step, pool: ModelPool, pace: Pace): void {
  if (step.paces.size === 0) {
    step.after(() => {
      for (const [each, next] of step.paces) step.rt.paces.set(each, next);
    });
  }
  step.paces.set(pool.name, pace);
}

function costOf(step: Step, agent: AgentRecord, pace: Pace): Cost {
  return { input: requestTokens(step, agent), output: pace.output };
}
