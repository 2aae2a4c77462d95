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
import type { Reply, RuntimeEvent } from './event.ts';
import { agentOf, handle } from './handle.ts';
import type { Ports, Runtime, RuntimeOptions, Said } from './memory.ts';
import { LoopMeter } from './meter.ts';
import { settleStep } from './settle.ts';
import { Step } from './step.ts';
import { earliest, nextAlarm } from './timers.ts';
import { nextExpiry } from './trash.ts';
import { failVerdict, failWriting } from './verdicts.ts';

export interface Host {
  /** Puts an event into the queue. False: too many wait; the client is told to try again. */
  post(event: RuntimeEvent): boolean;
  /** Whether a turn, a call or a command in the background is in flight, or an event waits. */
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
  /**
   * Stops taking client events, calls back when the queue is committed, and does nothing any more: work in flight is
   * left to recovery. `inOrder`: to end is no crash, and counts as none for the turns that it interrupts.
   */
  drain(done: () => void, inOrder: boolean): void;
}

/** Makes the runtime over its ports and lets it take up what was in flight when the last process ended. */
export function createHost(ports: Ports, options: RuntimeOptions): Host {
  const host = new Loop(ports, options);
  host.post({ kind: 'recover', stage: 'background', after: 0, crashed: null });
  return host;
}

interface Found {
  /** The event that was being handled; null: the end of the step. */
  readonly at: RuntimeEvent | null;
  readonly lookingAt: number;
  readonly taken: number;
}

const factsOf = (error: unknown): { readonly message: string; readonly stack: string } =>
  error instanceof Error
    ? { message: error.message, stack: error.stack ?? '' }
    : { message: String(error), stack: '' };

class Loop implements Host {
  private readonly rt: Runtime;
  private readonly meter: LoopMeter;
  private queue: RuntimeEvent[] = [];
  /** What will take the next group, and which one it is: a gathering may be overtaken. */
  private scheduled: 'soon' | 'gathering' | null = null;
  private serial = 0;
  /** The last group was a crowd, so the next is worth waiting for: commits write whole pages. */
  private crowded = false;
  private alarmAt: number | null = null;
  private full: string | null = null;
  private onDrained: (() => void) | null = null;
  /** The row that says so is still to be written. */
  private saysGoodbye = false;
  private stopped = false;
  /** Groups that take one event only, after one that failed without saying whose fault it was. */
  private alone = 0;
  /** The agent whose turn was ended last for a bug. When that does not help, the event is taken out. */
  private blamed = 0;
  /** Events that met a bug and are tried again. */
  private readonly tries = new WeakMap<RuntimeEvent, number>();

  constructor(ports: Ports, options: RuntimeOptions) {
    this.meter = new LoopMeter(ports.clock);
    this.rt = {
      ...ports,
      options,
      slots: {
        modelUsed: 0,
        commandUsed: 0,
        modelQueue: true,
        inPool: {},
        lanes: [],
        lanesFirst: false,
        commandQueue: true,
        lastRoots: {},
        recovering: true,
      },
      asking: new Map(),
      calling: new Map(),
      attending: new Map(),
      batches: new Map(),
      lent: new Set(),
      profiles: new Map(),
      knowledge: new Map(),
      lookedMs: new Map(),
      schemas: new Map(),
      offers: new Map(),
      failedOffers: new Map(),
      offering: new Set(),
      paces: new Map(),
      unfolded: [],
      foldedOld: false,
      learned: new Map(),
      askingKey: new Set(),
      verdicts: new Map(),
      walks: new Map(),
      arrivals: new Map(),
      chains: { walk: 0, purge: 0 },
      backlog: () => this.queue.length,
      post: (event) => void this.post(event),
    };
  }

  post(event: RuntimeEvent): boolean {
    if (this.stopped) return false;
    // What goes on by itself for long is left to the next process: its rows say where it stands.
    if (this.onDrained !== null && (event.kind === 'walk' || event.kind === 'purge')) return false;
    // Only clients are turned away: an event with a reply but no parameters goes on with work that was accepted.
    if ('params' in event && (this.queue.length >= limits.queuedEvents || this.onDrained !== null))
      return false;
    // Recovery goes first: what clients ask about an agent is answered on what recovery has made of it.
    if (event.kind === 'recover') this.queue.unshift(event);
    else this.queue.push(event);
    this.schedule('reply' in event);
    return true;
  }

  busy(): boolean {
    const { asking, calling, attending, slots } = this.rt;
    if (this.queue.length > 0 || asking.size > 0 || calling.size > 0 || attending.size > 0) return true;
    return slots.modelQueue || slots.lanes.length > 0;
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

  drain(done: () => void, inOrder: boolean): void {
    this.onDrained = done;
    this.saysGoodbye = inOrder;
    this.schedule(true);
  }

  /** A client does not wait for others; nor does anybody once a group is full. */
  private schedule(atOnce = false): void {
    const gathers = this.crowded && !atOnce && this.queue.length < limits.groupEvents;
    if (this.scheduled === 'soon' || (gathers && this.scheduled === 'gathering')) return;
    this.scheduled = gathers ? 'gathering' : 'soon';
    const serial = ++this.serial;
    this.rt.clock.soon(
      () => {
        if (serial === this.serial) this.turn();
      },
      gathers ? limits.gatherMs : 0,
    );
  }

  private turn(): void {
    this.scheduled = null;
    if (this.queue.length === 0 && this.saysGoodbye) {
      this.saysGoodbye = false;
      this.queue.push({ kind: 'leaving' });
    }
    if (this.queue.length > 0) this.runGroup();
    if (this.full !== null) return; // the alarm tries again
    if (this.queue.length > 0 || this.saysGoodbye) this.schedule();
    else if (this.onDrained !== null) {
      this.stopped = true;
      this.rt.clock.alarm(null, () => undefined);
      this.onDrained();
    }
  }

  /** One transaction: as many events as fit the group, then the slots, then the rows; then the effects. */
  private runGroup(): void {
    this.meter.start();
    let taken = 0;
    let at: RuntimeEvent | null = null;
    let step = new Step(this.rt);
    const most = this.alone > 0 ? 1 : limits.groupEvents;
    const startMs = this.rt.clock.monotonicMs();
    try {
      const result = this.rt.store.transact(() => {
        for (const event of this.queue.slice(0, most)) {
          taken += 1;
          at = event;
          step.lookingAt = 0;
          handle(step, event);
          // Nothing else is handled before all that was in flight is taken up: an event that met an attempt or a
          // call of the last process would give back a slot that this one never took.
          if (event.kind === 'recover') break;
          if (this.rt.clock.monotonicMs() - startMs >= limits.groupMs) break;
        }
        at = null;
        settleStep(step);
        step.flush();
        return earliest(earliest(nextAlarm(step), nextExpiry(step)), step.paceAtMs);
      });
      if (result.kind === 'full') return this.pause(result.message);
      this.full = null;
      if (!this.queue.splice(0, taken).some((event) => event.kind === 'broken')) this.blamed = 0;
      this.rt.slots = { ...step.slots };
      this.arm(result.value);
    } catch (error) {
      // What is committed is only known by opening the store anew: the process must end, and say nothing any more.
      if (error instanceof RoostError && error.code === 'store/failed') throw error;
      this.failed(error, { at, lookingAt: step.lookingAt, taken });
      step = new Step(this.rt);
    }
    this.alone = Math.max(0, this.alone - 1);
    this.crowded = taken >= limits.crowdEvents;
    for (const effect of step.effects) this.run(effect);
    this.rt.publish.committed(step.news());
    this.meter.end(taken);
  }

  /** An effect that throws is a bug of an adapter; those after it are owed to others. */
  private run(effect: () => void): void {
    try {
      effect();
    } catch (error) {
      this.rt.log('an effect failed', factsOf(error));
    }
  }

  /**
   * A bug, and the transaction is gone. Work that was looking at one agent of many ends that agent's turn and is
   * done again. An event that failed by itself is taken out, and the turn that it belongs to ends. When neither is
   * known the events go again one at a time, so that no other pays for it.
   */
  private failed(error: unknown, found: Found): void {
    const message = error instanceof Error ? error.message : String(error);
    this.rt.log('an event failed', { event: found.at?.kind ?? 'the end of a step', ...factsOf(error) });
    if (found.lookingAt !== 0 && found.lookingAt !== this.blamed) {
      this.blamed = found.lookingAt;
      this.queue.unshift({ kind: 'broken', agent: found.lookingAt, message });
      return;
    }
    if (found.at === null && found.taken > 1) {
      this.alone = found.taken + 1;
      return;
    }
    const event = found.at ?? this.queue[0];
    if (event === undefined) return;
    // Without what is in flight nothing can go on: the next process takes it up.
    if (event.kind === 'recover') throw error;
    this.takeOut(event, message);
  }

  private takeOut(event: RuntimeEvent, message: string): void {
    this.queue.splice(this.queue.indexOf(event), 1);
    const said = `Roost met a bug in ${event.kind}: ${message}. Nothing was changed.`;
    const agent = agentOf(this.rt.store, event);
    if (agent !== 0) this.blame(agent, message, event);
    else if ('reply' in event) sayNo(event, said);
    else if (event.kind === 'verdictPlanned') failVerdict(this.rt, event.verdict, said);
    else this.again(event, said);
    // It may have been the alarm: timers are looked at again soon.
    this.arm(this.rt.clock.nowMs() + limits.diskRetryMs);
  }

  /** The turn of an agent ends. What its tools have changed on the disk is recorded all the same, if it can be. */
  private blame(agent: number, message: string, event: RuntimeEvent): void {
    const tellsOfFiles = event.kind === 'touched' || event.kind === 'callEnd';
    const tries = (this.tries.get(event) ?? 0) + 1;
    if (tellsOfFiles && tries <= limits.brokenTries) {
      this.tries.set(event, tries);
      this.queue.unshift(event);
    }
    this.queue.unshift({ kind: 'broken', agent, message });
  }

  /** What wakes others or ends something must not be lost, or they would wait for ever: it is tried some times more. */
  private again(event: RuntimeEvent, said: string): void {
    const tries = (this.tries.get(event) ?? 0) + 1;
    this.tries.set(event, tries);
    if (tries <= limits.brokenTries) this.queue.push(event);
    else if (event.kind === 'verdictWritten') failWriting(this.rt, event.verdict, said);
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

/** Whoever asked hears that it met a bug. (Called at the place, the union of all replies is too large to check.) */
function sayNo({ reply }: { readonly reply: Reply<never> }, message: string): void {
  reply({ ok: false, code: 'internal', message });
}
