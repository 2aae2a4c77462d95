// Timers are rows. The runtime arms one alarm for the earliest of them; an agent that waits for a time holds
// nothing in memory (I4), and a restart re-arms by looking at the first row.

import type { TimerRecord } from '../core/rows.ts';
import { limits } from './limits.ts';
import type { Step } from './step.ts';

/** Sets a timer. `ref` is the wait or turn that it belongs to. */
export function setTimer(step: Step, timer: Omit<TimerRecord, 'id'>): void {
  step.store.insert('timer', timer);
}

/** Whether an agent has a timer of this kind. */
export function hasTimer(step: Step, agent: number, kind: TimerRecord['kind']): boolean {
  return step.store.range('timer.agent', [agent], { limit: limits.slice }).some((row) => row.kind === kind);
}

/** Takes away an agent's timers of one kind. */
export function clearTimers(step: Step, agent: number, kind: TimerRecord['kind']): void {
  for (const row of step.store.range('timer.agent', [agent], { limit: limits.slice })) {
    if (row.kind === kind) step.store.remove('timer', row.id);
  }
}

/** Time of the earliest timer, null when there is none. */
export function nextAlarm(step: Step): number | null {
  return step.store.range('timer.due', [], { above: 0, limit: 1 })[0]?.due ?? null;
}

/** Timers that are due, a slice at a time, taken out. What is left is the next alarm, which is then already due. */
export function takeDue(step: Step): TimerRecord[] {
  const due = step.store.range('timer.due', [], { upTo: step.nowMs, limit: limits.slice });
  for (const timer of due) step.store.remove('timer', timer.id);
  return due;
}

/** The earlier of two times; null is none. */
export const earliest = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? (one ?? other) : Math.min(one, other);
