// Real time, as the Clock port: wall and monotonic milliseconds, and one alarm.
//
// The alarm follows the wall clock, because deadlines are rows with wall times. Node's timers do not run while
// a laptop sleeps, so a long wait is cut into pieces of limits.clockCheckMs; at each the two clocks are compared,
// and when they went apart (sleep, or somebody set the clock) `jumped` hears by how much (case 125). Without an
// alarm there is no timer: an idle sidecar costs nothing. A clock made for short waits counts time that passed
// instead, so that setting the wall clock neither rings nor silences it.

import { performance } from 'node:perf_hooks';

import type { Clock } from '../ports.ts';
import { limits } from '../runtime/limits.ts';

export interface ClockOptions {
  /** `wall` (the default): the alarm rings when it is that late. `elapsed`: when that much time has passed. */
  readonly alarm?: 'wall' | 'elapsed';
  /** The wall clock moved this much more (sleep, set ahead) or less (set back) than time passed. */
  readonly jumped?: (byMs: number) => void;
  /** For tests. */
  readonly wallMs?: () => number;
}

/** A clock with an alarm of its own. Whoever needs an alarm makes one: two users would replace each other's. */
export function createClock(options: ClockOptions = {}): Clock {
  const nowMs = options.wallMs ?? Date.now;
  const monotonicMs = (): number => performance.now();
  let timer: NodeJS.Timeout | undefined;

  const arm = (leftMs: () => number, ring: () => void): void => {
    const wallBefore = nowMs();
    const monotonicBefore = monotonicMs();
    const waitMs = Math.max(0, Math.min(leftMs(), limits.clockCheckMs));
    timer = setTimeout(() => {
      timer = undefined;
      const jumpMs = nowMs() - wallBefore - (monotonicMs() - monotonicBefore);
      if (limits.clockJumpMs < Math.abs(jumpMs)) options.jumped?.(Math.round(jumpMs));
      if (timer !== undefined) return; // the listener set the alarm anew
      if (0 < leftMs()) arm(leftMs, ring);
      else ring();
    }, waitMs);
    // The sidecar lives by its socket, not by its timers.
    timer.unref();
  };

  return {
    nowMs,
    monotonicMs,
    alarm: (atMs, ring) => {
      clearTimeout(timer);
      timer = undefined;
      if (atMs === null) return;
      const untilMs = monotonicMs() + atMs - nowMs();
      arm(options.alarm === 'elapsed' ? () => untilMs - monotonicMs() : () => atMs - nowMs(), ring);
    },
    soon: (work, afterMs) => void (afterMs === 0 ? setImmediate(work) : setTimeout(work, afterMs)),
  };
}
