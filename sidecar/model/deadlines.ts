// One timer for everything in the model that must not wait for ever: requests in their phases, connection
// attempts, sessions. A timer each would cost 200 bytes and a heap entry for every waiting agent; walking ten
// thousand numbers once a second costs 0.1 ms.
//
// The timer does not keep the process alive, and stands still while nothing waits. Deadlines are met to within
// one tick. It also notices that the machine slept: the wall clock has then moved and the steady one has not.

import { limits } from '../runtime/limits.ts';

/** Something that waits. `dueMs` is in steady milliseconds (`Deadlines.nowMs`); it may change at any time. */
export interface Due {
  dueMs: number;
  /** The deadline has passed. Called again at the next tick unless `dueMs` was moved or it was removed. */
  expire(nowMs: number): void;
  /** The machine slept: connections that look alive may be dead. */
  woke?(nowMs: number): void;
}

export class Deadlines {
  private readonly waiting = new Set<Due>();
  private readonly tickMs: number;
  private timer: NodeJS.Timeout | null = null;
  private driftMs = 0;

  constructor(tickMs: number) {
    this.tickMs = tickMs;
  }

  /** Steady milliseconds: they do not go back, and do not count sleep. */
  nowMs(): number {
    return performance.now();
  }

  add(due: Due): void {
    this.waiting.add(due);
    if (this.timer !== null) return;
    this.driftMs = drift();
    this.timer = setInterval(() => this.tick(), this.tickMs);
    this.timer.unref();
  }

  remove(due: Due): void {
    this.waiting.delete(due);
    if (this.waiting.size > 0 || this.timer === null) return;
    clearInterval(this.timer);
    this.timer = null;
  }

  private tick(): void {
    const nowMs = this.nowMs();
    const slept = drift() - this.driftMs > limits.sleepJumpMs;
    this.driftMs = drift();
    // A copy is not needed: a Set may lose and gain members while it is walked, and new ones are not yet due.
    for (const due of this.waiting) {
      if (slept) due.woke?.(nowMs);
      if (due.dueMs <= nowMs) due.expire(nowMs);
    }
  }
}

const drift = (): number => Date.now() - performance.now();
