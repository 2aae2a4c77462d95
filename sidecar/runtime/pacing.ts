// Pacing: what the runtime keeps of core/pace.ts, one value a model, and the lanes in which turns wait for it.
//
// A turn that may not ask yet stays `ready`, as a row of the queue in the lane of its model, in its order; the
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
import { limits } from './limits.ts';
import type { Runtime } from './memory.ts';
import { parkUntil } from './parking.ts';
import { pinnedProfile } from './profiles.ts';
import { enqueue } from './queue.ts';
import type { Step } from './step.ts';

const lanePrefix = 'pace:';

export const laneOf = (model: string): ReadyRecord['slot'] => `${lanePrefix}${model}`;

/** When the agent's next request may leave; now or earlier: at once. */
export function leaveAtMs(step: Step, agent: AgentRecord): number {
  const pace = paceOf(step, agent.model);
  return mayLeaveAtMs(pace, costOf(step, agent, pace), step.nowMs, limits);
}

/** The agent's request leaves. */
export function leave(step: Step, agent: AgentRecord): Ticket {
  const pace = paceOf(step, agent.model);
  const next = leaves(pace, costOf(step, agent, pace), step.nowMs, limits);
  keep(step, agent.model, next);
  return next.sent;
}

/** The agent waits for the pace of its model: in its lane, or parked when the pause is long. */
export function waitForPace(step: Step, agent: AgentRecord): void {
  const { lanes } = step.slots;
  if (isLongPause(step, agent.model)) return parkForPause(step, agent);
  if (!lanes.includes(agent.model)) step.slots.lanes = [...lanes, agent.model];
  const { model, urgency, root, id } = agent;
  enqueue(step, { slot: laneOf(model), urgency, root, agent: id, call: 0 });
  holdBack(step, model);
}

/** Nobody waits in a lane any more. */
export function closeLane(step: Step, model: string): void {
  step.slots.lanes = step.slots.lanes.filter((each) => each !== model);
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
 * of the model a limit was felt, and the ramp finds it again.
 */
export function resume(step: Step, model: string): void {
  const isHeld = step.store.range('ready.root', [laneOf(model)], { above: -1, limit: 1 }).length > 0;
  if (!isHeld) keep(step, model, resumed(paceOf(step, model), limits));
}

/** Somebody waits for the pace of this model. */
export function holdBack(step: Step, model: string): void {
  const pace = paceOf(step, model);
  if (!pace.held) keep(step, model, heldBack(pace));
}

/** Whether the provider asked for a pause that is worth showing. */
export const isLongPause = (step: Step, model: string): boolean =>
  paceOf(step, model).pauseUntilMs - step.nowMs >= limits.paceParkMs;

export function parkForPause(step: Step, agent: AgentRecord): void {
  parkUntil(step, agent, 'rate', paceOf(step, agent.model).pauseUntilMs);
}

/** An attempt was answered. */
export function paceAnswered(step: Step, model: string, ticket: Ticket, outputTokens: number): void {
  keep(step, model, answered(paceOf(step, model), ticket, outputTokens));
}

/** An attempt was refused: a pause of all who use the model. */
export function paceRefused(step: Step, model: string, refusal: Refusal): void {
  keep(step, model, refused(paceOf(step, model), refusal, step.nowMs, limits));
}

/** Headers told the state of limits, outside of a step: nothing durable hangs on it. */
export function hearLimits(rt: Runtime, model: string, reading: Told): void {
  const pace = rt.paces.get(model);
  if (pace !== undefined) rt.paces.set(model, told(pace, reading, rt.clock.nowMs(), limits));
}

function paceOf(step: Step, model: string): Pace {
  const known = step.paces.get(model) ?? step.rt.paces.get(model);
  if (known !== undefined && step.nowMs < known.atMs) {
    keep(step, model, setBack(known, step.nowMs));
    return paceOf(step, model);
  }
  // A script is never too fast by itself.
  return known ?? newPace(step.nowMs, step.rt.model.info(model)?.scripted === false, limits);
}

function keep(step: Step, model: string, pace: Pace): void {
  if (step.paces.size === 0) {
    step.after(() => {
      for (const [each, next] of step.paces) step.rt.paces.set(each, next);
    });
  }
  step.paces.set(model, pace);
}

function costOf(step: Step, agent: AgentRecord, pace: Pace): Cost {
  const bytes = agent.bytes + pinnedProfile(step, agent.profile).bytes;
  return { input: Math.ceil(bytes / limits.bytesPerToken), output: pace.output };
}
