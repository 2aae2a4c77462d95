// The queues for slots: rows of `ready`. People go before agents, roots take turns, and within a root the
// oldest goes first (DESIGN §8). Turns that wait for the pace of a model are in a lane of it. Nothing is refused because of a cap.

import type { ReadyRecord } from '../core/rows.ts';
import { limits } from './limits.ts';
import type { Step } from './step.ts';

/** A place in the queue for a slot. */
export function enqueue(step: Step, row: Omit<ReadyRecord, 'id'>): void {
  step.store.insert('ready', row);
  if (row.slot === 'model') step.slots.modelQueue = true;
  else if (row.slot === 'command') step.slots.commandQueue = true;
}

/** Takes an agent's places out of both queues: its turn ended or was interrupted. */
export function leaveQueues(step: Step, agent: number): void {
  for (const row of step.store.range('ready.agent', [agent], { limit: limits.slice }))
    step.store.remove('ready', row.id);
}

/** The next in turn, still in its place. */
export function nextIn(step: Step, slot: ReadyRecord['slot']): ReadyRecord | undefined {
  for (const urgency of [0, 1] as const) {
    // Each queue has its own turn, and in it people and agents have each: two that shared one would send each other to
    // the same root again and again.
    const above = step.slots.lastRoots[`${slot}/${urgency}`] ?? 0;
    const row =
      step.store.range('ready.root', [slot, urgency], { above, limit: 1 })[0] ??
      step.store.range('ready.root', [slot, urgency], { above: 0, limit: 1 })[0];
    if (row !== undefined) return row;
  }
  return undefined;
}

/** Takes a place out of its queue; its root has been served. */
export function take(step: Step, row: ReadyRecord): void {
  step.store.remove('ready', row.id);
  step.slots.lastRoots = { ...step.slots.lastRoots, [`${row.slot}/${row.urgency}`]: row.root };
}

/** The next in turn, taken out of the queue; remembers that the queue is empty when it is. */
export function takeNext(step: Step, slot: 'model' | 'command'): ReadyRecord | undefined {
  const row = nextIn(step, slot);
  if (row !== undefined) take(step, row);
  else if (slot === 'model') step.slots.modelQueue = false;
  else step.slots.commandQueue = false;
  return row;
}
