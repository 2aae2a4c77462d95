// How long the loop was held: the longest step and the 99th percentile, over a ring of recent steps (I18).

import type { Clock } from '../ports.ts';

const ringSteps = 1024;

export class LoopMeter {
  private readonly clock: Clock;
  private readonly recentMs: number[] = [];
  private at = 0;
  private startedMs = 0;
  private maxMs = 0;
  private events = 0;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  start(): void {
    this.startedMs = this.clock.monotonicMs();
  }

  end(events: number): void {
    const tookMs = this.clock.monotonicMs() - this.startedMs;
    this.recentMs[this.at] = tookMs;
    this.at = (this.at + 1) % ringSteps;
    this.maxMs = Math.max(this.maxMs, tookMs);
    this.events += events;
  }

  /** Milliseconds; `maxMs` and `events` since the process started. */
  read(): { p99Ms: number; maxMs: number; events: number } {
    const sorted = [...this.recentMs].sort((a, b) => a - b);
    return { p99Ms: sorted[Math.floor(sorted.length * 0.99)] ?? 0, maxMs: this.maxMs, events: this.events };
  }
}
