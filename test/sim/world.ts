// The world of a simulated run: one clock that only this file moves, one heap of what will happen, and the
// process that lives in it.
//
// A step takes the earliest thing from the heap and does it; things of the same time come in an order drawn by
// the seed, then in the order in which they were put there. Nothing else moves, so a run is a function of its seed.
// A process is a token: what was scheduled for one that has died is dropped when its time comes.
// Not here: what the things are.

import type { Clock } from '../../sidecar/ports.ts';
import type { Chance } from './chance.ts';

/** A life of the sidecar. All that belongs to it ends with `alive`. */
export interface Process {
  readonly number: number;
  alive: boolean;
}

interface Planned {
  readonly atMs: number;
  readonly tie: number;
  readonly order: number;
  readonly process: Process | null;
  readonly work: () => void;
}

/** Wall time at the start of every run: it shows in traces, so it is the same in all of them. */
const startMs = 1_700_000_000_000;

export class World {
  readonly chance: Chance;
  /** Milliseconds since the run began; never goes back. */
  nowMs = 0;
  /** What the wall clock shows beside that. */
  skewMs = 0;
  steps = 0;
  readonly #heap: Planned[] = [];
  #order = 0;
  readonly #alarms = new Set<WorldClock>();

  constructor(chance: Chance) {
    this.chance = chance;
  }

  wallMs(): number {
    return Math.floor(startMs + this.nowMs + this.skewMs);
  }

  /** Does `work` after a time; never when `process` has died by then. */
  later(delayMs: number, work: () => void, process: Process | null = null): void {
    const atMs = this.nowMs + Math.max(0, delayMs);
    this.#order += 1;
    this.#push({ atMs, tie: this.chance.next(), order: this.#order, process, work });
  }

  /** Does the next thing. False: nothing is left to happen. */
  step(): boolean {
    for (;;) {
      const next = this.#pop();
      if (next === undefined) return false;
      if (next.process !== null && !next.process.alive) continue;
      this.nowMs = next.atMs;
      this.steps += 1;
      next.work();
      return true;
    }
  }

  /** Moves the wall clock; alarms that wait for a wall time are set anew. */
  jump(byMs: number): void {
    this.skewMs += byMs;
    for (const clock of this.#alarms) clock.jumped();
  }

  /** `loopMs`: how long the loop of the process is busy with other things, on average, before it takes up its queue. */
  clock(process: Process, loopMs: number): Clock {
    const clock = new WorldClock(this, process, loopMs);
    for (const other of this.#alarms) if (!other.process.alive) this.#alarms.delete(other);
    this.#alarms.add(clock);
    return clock;
  }

  #push(planned: Planned): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(planned);
    while (at > 0) {
      const parent = (at - 1) >>> 1;
      const above = heap[parent];
      if (above === undefined || !before(planned, above)) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = planned;
  }

  #pop(): Planned | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      const left = heap[2 * at + 1];
      if (left === undefined) break;
      const right = heap[2 * at + 2];
      const rightIsFirst = right !== undefined && before(right, left);
      const child = rightIsFirst ? right : left;
      if (!before(child, last)) break;
      heap[at] = child;
      at = 2 * at + (rightIsFirst ? 2 : 1);
    }
    heap[at] = last;
    return first;
  }
}

function before(a: Planned, b: Planned): boolean {
  if (a.atMs !== b.atMs) return a.atMs < b.atMs;
  return a.tie !== b.tie ? a.tie < b.tie : a.order < b.order;
}

class WorldClock implements Clock {
  readonly process: Process;
  readonly #world: World;
  readonly #loopMs: number;
  #atMs: number | null = null;
  #ring: (() => void) | null = null;
  #generation = 0;

  constructor(world: World, process: Process, loopMs: number) {
    this.#world = world;
    this.process = process;
    this.#loopMs = loopMs;
  }

  nowMs(): number {
    return this.#world.wallMs();
  }

  /** Work takes time: each look is up to 0.4 ms later, so groups of events are cut in many places. */
  monotonicMs(): number {
    this.#workMs += this.#world.chance.next() * 0.4;
    return this.#world.nowMs + this.#workMs;
  }
  #workMs = 0;

  alarm(atMs: number | null, ring: () => void): void {
    this.#atMs = atMs;
    this.#ring = ring;
    this.#set();
  }

  soon(work: () => void, afterMs: number): void {
    const delayMs = afterMs + (this.#loopMs === 0 ? 0 : this.#world.chance.around(this.#loopMs));
    this.#world.later(delayMs, work, this.process);
  }

  jumped(): void {
    if (this.#atMs !== null) this.#set();
  }

  #set(): void {
    this.#generation += 1;
    const generation = this.#generation;
    if (this.#atMs === null) return;
    // Timers of real systems ring up to a millisecond early.
    const earlyMs = this.#world.chance.hits(0.1) ? 1 : 0;
    this.#world.later(
      this.#atMs - this.#world.wallMs() - earlyMs,
      () => {
        if (generation !== this.#generation) return;
        this.#atMs = null;
        this.#ring?.();
      },
      this.process,
    );
  }
}
