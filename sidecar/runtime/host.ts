// The Host owns every running turn of this process. It takes events from one queue, handles a group of them in
// one transaction and finishes it before the next, so nothing here needs a lock.
//
// Invariants
//  - Effects run after the commit of the step that made them, and only then (I1): `runGroup` is the one place
//    that runs them.
//  - A group whose transaction fails leaves rows, slots and queue as they were.
//  - There is no await here, and no promise: what takes time is a port's business, its end is an event.
// Not here: time, randomness, files, sockets. They arrive through ports.ts.

import { RoostError } from '../protocol/errors.ts';
import type { AgentId } from '../protocol/ids.ts';
import { limits } from './limits.ts';
import type { RuntimeEvent } from './event.ts';
import { handle } from './handle.ts';
import type { Ports, Runtime, RuntimeOptions, Said } from './memory.ts';
import { LoopMeter } from './meter.ts';
import { settleStep } from './settle.ts';
import { Step } from './step.ts';
import { nextAlarm } from './timers.ts';

export interface Host {
  /** Puts an event into the queue. False: too many wait; the client is told to try again. */
  post(event: RuntimeEvent): boolean;
  /** Whether a turn or a call is in flight, or an event waits. */
  busy(): boolean;
  /** Time of the earliest timer, null when none is set. */
  nextTimerMs(): number | null;
  loop(): { readonly p99Ms: number; readonly maxMs: number; readonly events: number };
  slots(): {
    readonly modelUsed: number;
    readonly modelLimit: number;
    readonly commandUsed: number;
    readonly commandLimit: number;
  };
  /** What has come so far of the answer that an agent is given right now; null when none is coming. */
  said(agent: AgentId): Said | null;
  /** Why nothing is committed at the moment, in words for a person; null when all is well. */
  trouble(): string | null;
  /** Stops taking client events, calls back when the queue is committed, and does nothing any more: work in flight is left to recovery. */
  drain(done: () => void): void;
}

/** Makes the runtime over its ports and lets it take up what was in flight when the last process ended. */
export function createHost(ports: Ports, options: RuntimeOptions): Host {
  const host = new Loop(ports, options);
  host.post({ kind: 'recover', stage: 'asking', after: 0 });
  return host;
}

class Loop implements Host {
  private readonly rt: Runtime;
  private readonly meter: LoopMeter;
  private queue: RuntimeEvent[] = [];
  private scheduled = false;
  private alarmAt: number | null = null;
  private full: string | null = null;
  private onDrained: (() => void) | null = null;
  private stopped = false;

  constructor(ports: Ports, options: RuntimeOptions) {
    this.meter = new LoopMeter(ports.clock);
    this.rt = {
      ...ports,
      options,
      slots: {
        modelUsed: 0,
        commandUsed: 0,
        modelQueue: true,
        commandQueue: true,
        lastRoot: 0,
        recovering: true,
      },
      asking: new Map(),
      calling: new Map(),
      batches: new Map(),
      lent: new Set(),
      profiles: new Map(),
      cooling: new Map(),
      askingKey: new Set(),
      verdicts: new Map(),
      post: (event) => void this.post(event),
    };
  }

  post(event: RuntimeEvent): boolean {
    if (this.stopped) return false;
    // Only clients are turned away: an event with a reply but no parameters goes on with work that was accepted.
    if ('params' in event && (this.queue.length >= limits.queuedEvents || this.onDrained !== null))
      return false;
    // Recovery goes first: what clients ask about an agent is answered on what recovery has made of it.
    if (event.kind === 'recover') this.queue.unshift(event);
    else this.queue.push(event);
    this.schedule();
    return true;
  }

  busy(): boolean {
    return (
      this.queue.length > 0 || this.rt.asking.size > 0 || this.rt.calling.size > 0 || this.rt.slots.modelQueue
    );
  }

  nextTimerMs(): number | null {
    return this.alarmAt;
  }

  loop(): { p99Ms: number; maxMs: number; events: number } {
    return this.meter.read();
  }

  slots(): { modelUsed: number; modelLimit: number; commandUsed: number; commandLimit: number } {
    const { modelUsed, commandUsed } = this.rt.slots;
    const { modelSlots, commandSlots } = this.rt.options;
    return { modelUsed, modelLimit: modelSlots, commandUsed, commandLimit: commandSlots };
  }

  said(agent: AgentId): Said | null {
    return this.rt.asking.get(agent)?.said ?? null;
  }

  trouble(): string | null {
    return this.full;
  }

  drain(done: () => void): void {
    this.onDrained = done;
    this.schedule();
  }

  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    this.rt.clock.soon(() => this.turn());
  }

  private turn(): void {
    this.scheduled = false;
    if (this.queue.length > 0) this.runGroup();
    if (this.full !== null) return; // the alarm tries again
    if (this.queue.length > 0) this.schedule();
    else if (this.onDrained !== null) {
      this.stopped = true;
      this.rt.clock.alarm(null, () => undefined);
      this.onDrained();
    }
  }

  /** One transaction: as many events as fit the group, then the slots, then the rows; then the effects. */
  private runGroup(): void {
    this.meter.start();
    const taken: RuntimeEvent[] = [];
    let step = new Step(this.rt);
    let broken: RuntimeEvent | null = null;
    const startMs = this.rt.clock.monotonicMs();
    try {
      const result = this.rt.store.transact(() => {
        while (this.queue.length > taken.length && taken.length < limits.groupEvents) {
          const event = this.queue[taken.length];
          if (event === undefined) break;
          broken = event;
          taken.push(event);
          handle(step, event);
          // Nothing else is handled before all that was in flight is taken up: an event that met an attempt or a
          // call of the last process would give back a slot that this one never took.
          if (event.kind === 'recover') break;
          if (this.rt.clock.monotonicMs() - startMs >= limits.groupMs) break;
        }
        broken = null;
        settleStep(step);
        step.flush();
        return nextAlarm(step);
      });
      if (result.kind === 'full') return this.pause(result.message);
      this.full = null;
      this.queue.splice(0, taken.length);
      this.rt.slots = { ...step.slots };
      this.arm(result.value);
    } catch (error) {
      // What is committed is only known by opening the store anew: the process must end, and say nothing any more.
      if (error instanceof RoostError && error.code === 'store/failed') throw error;
      // A bug. The transaction is gone; the event that met it is taken out, the others go again without it.
      this.dropBroken(broken ?? taken[0], error);
      step = new Step(this.rt);
    }
    for (const effect of step.effects) effect();
    const news = step.news();
    this.rt.publish.committed(news);
    this.meter.end(taken.length);
  }

  private dropBroken(event: RuntimeEvent | undefined, error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    this.rt.log('an event failed', {
      event: event?.kind ?? 'none',
      message,
      stack: error instanceof Error ? (error.stack ?? '') : '',
    });
    if (event === undefined) return;
    this.queue.splice(this.queue.indexOf(event), 1);
    if ('reply' in event)
      event.reply({
        ok: false,
        code: 'internal',
        message: `Roost met a bug in ${event.kind}: ${message}. Nothing was changed.`,
      });
    else if (event.kind !== 'broken') this.post({ kind: 'broken', event, message });
  }

  private pause(message: string): void {
    this.full = message;
    const atMs = this.rt.clock.nowMs() + limits.diskRetryMs;
    this.rt.clock.alarm(atMs, () => {
      this.alarmAt = null;
      // It took the place of the alarm for the earliest timer, so it also looks at those.
      this.post({ kind: 'alarm' });
    });
    this.alarmAt = atMs;
    this.meter.end(0);
  }

  private arm(atMs: number | null): void {
    if (atMs === this.alarmAt) return;
    this.alarmAt = atMs;
    this.rt.clock.alarm(atMs, () => {
      this.alarmAt = null;
      this.post({ kind: 'alarm' });
    });
  }
}
