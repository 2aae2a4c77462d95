// One simulated run: the real core and runtime on simulated ports, from a seed to a verdict.
//
// Promises
//  - The run is a function of the seed and the options: the same trace on every machine.
//  - Until `calmMs` everything may fail; then nothing fails any more, every request gets its answer, and the run
//    goes on until nothing is left to happen. What is not at rest then has lost its wake-up.
// Not here: what must hold (checks.ts, atRest.ts), what people do (workload.ts).

import type { News } from '../../sidecar/ports.ts';
import type { RuntimeEvent } from '../../sidecar/runtime/event.ts';
import { createHost, type Host } from '../../sidecar/runtime/host.ts';
import type { Ports } from '../../sidecar/runtime/memory.ts';
import { atRest, pending } from './atRest.ts';
import { openStore, type OpenStore } from '../../sidecar/store/open.ts';
import { arm, type Canary } from './canaries.ts';
import { Chance } from './chance.ts';
import { Checks } from './checks.ts';
import { Contexts } from './contexts.ts';
import { FakeCheckpoints } from './fakeCheckpoints.ts';
import { FakeDisk } from './fakeDisk.ts';
import { FakeModel } from './fakeModel.ts';
import { FakeReview } from './fakeReview.ts';
import { FakeScout, Folder } from './fakeScout.ts';
import { FakeStore, SimulatedCrash, type Faults } from './fakeStore.ts';
import { FakeTools, OutsideWorld } from './fakeTools.ts';
import { Followers } from './followers.ts';
import { MirrorStore } from './mirrorStore.ts';
import { drawSwarm, quiet, useBounds, type Odds, type Swarm } from './swarm.ts';
import { SimulatedBug, WatchedStore, type Spoil } from './watchedStore.ts';
import { Workload } from './workload.ts';
import { World, type Process } from './world.ts';

export interface Failure {
  /** Which promise is broken: S1 … S12, `bug`, `rest`, `livelock`. */
  readonly check: string;
  readonly message: string;
  readonly step: number;
}

export interface Report {
  readonly seed: string;
  readonly failure: Failure | null;
  readonly steps: number;
  readonly commits: number;
  readonly crashes: number;
  readonly agents: number;
  readonly turns: number;
  readonly virtualMs: number;
  readonly swarm: Swarm;
}

export interface SimOptions {
  readonly canary?: Canary;
  /** Changes what the seed has drawn: for shrinking and for stories. */
  readonly change?: (swarm: Swarm) => Swarm;
  readonly trace?: (line: string) => void;
  /** Real SQLite beside the maps, call by call, and clients that follow through the real hub. */
  readonly sqlite?: boolean;
  /** Commits between two looks at everything. */
  readonly dearEvery?: number;
}

/** A run longer than this has not found its rest: the largest ones need a tenth of it. */
const mostSteps = 100_000;

export class Sim {
  readonly seed: string;
  readonly options: SimOptions;
  readonly chance: Chance;
  readonly world: World;
  readonly swarm: Swarm;
  readonly outside = new OutsideWorld();
  readonly folder: Folder;
  readonly disk = new FakeDisk();
  readonly check: Checks;
  readonly contexts: Contexts;
  readonly workload: Workload;
  readonly canary: Canary | null;
  /** What may fail at this moment; nothing after the calm. */
  odds: Odds;
  calm = false;
  /** Whether a window of an editor lends its models. */
  windowOpen: boolean;
  failure: Failure | null = null;
  process: Process = { number: 0, alive: false };
  host: Host | null = null;
  model: FakeModel | null = null;
  store: WatchedStore | null = null;
  crashes = 0;
  /** Ends that were not in order: no turn may count more of them. */
  unsound = 0;
  commits = 0;
  /** Agents that met a fault which may end a turn badly, and which. */
  readonly excused = new Map<number, Set<string>>();
  /** Agents that were deleted for good, and those that had one of them as a child. */
  readonly purged = new Set<number>();
  readonly bereft = new Set<number>();
  spoil: Spoil = {};
  followers: Followers | null = null;
  /** Last entry that the log of a client has shown. */
  logCursor = 0;
  readonly #sqlite: OpenStore | null;
  #inner: FakeStore | MirrorStore | null = null;

  constructor(seed: string, options: SimOptions) {
    this.seed = seed;
    this.options = options;
    this.chance = new Chance(seed);
    const drawn = drawSwarm(this.chance);
    this.swarm = options.change?.(drawn) ?? drawn;
    this.odds = this.swarm.odds;
    this.folder = new Folder(seed, this.swarm.edits > 0);
    this.windowOpen = !this.swarm.needsWindow;
    this.world = new World(this.chance);
    this.check = new Checks(this);
    this.contexts = new Contexts(this);
    this.workload = new Workload(this);
    this.canary = options.canary ?? null;
    const memory = { directory: '', durability: 'process', mode: 'memory' } as const;
    this.#sqlite = options.sqlite === true ? openStore(memory) : null;
  }

  run(): Report {
    const restore = useBounds(this.swarm.bounds);
    const disarm = this.canary === null ? null : arm(this.canary, this);
    try {
      this.#boot();
      this.workload.begin();
      this.world.later(this.swarm.calmMs, () => this.#calmDown());
      for (let n = 0; n < this.swarm.crashes; n += 1) {
        this.world.later(this.chance.next() * this.swarm.calmMs, () => this.die('killed'));
      }
      for (let n = 0; n < this.swarm.restarts; n += 1) {
        this.world.later(this.chance.next() * this.swarm.calmMs, () => this.leave());
      }
      while (this.failure === null && this.#step());
      if (this.failure === null) atRest(this);
    } finally {
      this.#sqlite?.close();
      disarm?.();
      restore();
    }
    return this.#report();
  }

  /** Notes the first promise that is broken; the run ends after this step. */
  fail(check: string, message: string): void {
    if (this.failure !== null) return;
    this.failure = { check, message, step: this.world.steps };
    this.trace('FAILED', `${check} ${message}`);
  }

  trace(what: string, detail: string): void {
    const { trace } = this.options;
    if (trace === undefined) return;
    const slots = this.host?.slots();
    const use =
      slots === undefined
        ? '-'
        : `${slots.modelUsed}/${slots.modelLimit} ${slots.commandUsed}/${slots.commandLimit}`;
    const at = this.world.nowMs.toFixed(3).padStart(12);
    trace(`${at} p${this.process.number} #${this.disk.commits} ${use} ${what.padEnd(8)} ${detail}`);
  }

  /** Every effect of the runtime passes here: it must not come before its commit (I1), and the process may die at it. */
  effect(label: string): void {
    if (this.store?.open === true) this.fail('S1', `effect before its commit: ${label}`);
    if (!this.process.alive) throw new SimulatedCrash(); // what comes after the moment of death
    this.trace('effect', label);
    if (!this.calm && this.chance.hits(this.odds.crashAtEffect)) throw this.#killed(`at effect ${label}`);
  }

  excuse(agent: number, why: string): void {
    const known = this.excused.get(agent) ?? new Set<string>();
    known.add(why);
    this.excused.set(agent, known);
  }

  /** Posts an event as a client's connection would. False: refused or nobody there. */
  post(event: RuntimeEvent): boolean {
    if (this.host === null || !this.process.alive) return false;
    return this.host.post(event);
  }

  /** Ends the process at a moment between two steps of it. */
  die(why: string): void {
    if (!this.process.alive || this.calm) return;
    this.#killed(why);
  }

  /** Ends the process in order: it takes no more, commits what it has, and goes. Too slow, and it is killed. */
  leave(): void {
    const { host, process } = this;
    if (host === null || !process.alive || this.calm) return;
    this.trace('LEAVE', 'the process is asked to end');
    host.drain(() => {
      this.unsound -= 1;
      this.#killed('left in order');
    }, true);
    this.world.later(5_000, () => {
      if (process.alive) this.#killed('left too slowly');
    });
  }

  #killed(why: string): SimulatedCrash {
    this.#dies(why);
    return this.#inner?.crash() ?? new SimulatedCrash();
  }

  #step(): boolean {
    try {
      if (!this.world.step()) return false;
    } catch (error) {
      this.#threw(error);
    }
    if (this.process.alive) this.followers?.lookForTrouble();
    if (!this.process.alive) this.#buried();
    else if (this.disk.commits !== this.commits) this.#committed();
    if (this.world.steps > mostSteps)
      this.fail('livelock', `no rest after ${mostSteps} steps. ${pending(this)}`);
    return true;
  }

  /** The process has ended by an error: as it should, or by a bug. */
  #threw(error: unknown): void {
    if (!this.process.alive && error instanceof SimulatedCrash) return;
    if (error instanceof Error && Reflect.get(error, 'code') === 'store/failed') {
      this.#killed('the store failed');
      return;
    }
    if (error instanceof SimulatedBug) {
      this.#killed('a bug that nothing could go on with');
      return;
    }
    this.fail('bug', error instanceof Error ? (error.stack ?? error.message) : String(error));
  }

  #buried(): void {
    if (this.host === null) return;
    this.host = null;
    this.followers = null;
    if (this.canary === 'ackBeforeCommit') this.store?.loseLast(this.disk);
    this.check.died();
    this.workload.disconnected();
    this.world.later(this.calm ? 1 : this.chance.around(500), () => this.#boot());
  }

  #committed(): void {
    this.commits = this.disk.commits;
    this.check.committed();
  }

  #boot(): void {
    this.process = { number: this.process.number + 1, alive: true };
    this.trace('BOOT', `process ${this.process.number}`);
    const { process } = this;
    this.#inner = this.#openStore();
    this.store = new WatchedStore(
      this.#inner,
      this.spoil,
      () => !this.calm && this.chance.hits(this.odds.bug),
      this.canary === 'ackBeforeCommit' ? this.disk : null,
    );
    this.model = new FakeModel(this, process);
    this.check.booted();
    this.contexts.forget();
    if (this.#sqlite !== null) this.followers = new Followers(this, process, this.#sqlite.reads);
    this.host = createHost(this.#ports(process, this.store, this.model), {
      modelSlots: this.swarm.modelSlots,
      commandSlots: this.swarm.commandSlots,
      defaultModel: 'sim/model',
    });
    if (this.canary === 'wakeUpLost') forget(this.host, 'budgetsMore');
    if (this.canary === 'commandEndLost') forget(this.host, 'commandEnd');
    if (this.canary === 'touchedLost') forget(this.host, 'touched');
    if (this.canary === 'walkForgotten') forget(this.host, 'walk');
    this.workload.connected();
  }

  #openStore(): FakeStore | MirrorStore {
    if (this.#sqlite === null) return new FakeStore(this.disk, this.#faults());
    const stores = { maps: new FakeStore(this.disk), real: this.#sqlite.store };
    return new MirrorStore(stores, this.#faults(), (what) => this.fail('differs', what));
  }

  #ports(process: Process, store: WatchedStore, model: FakeModel): Ports {
    return {
      store,
      model,
      tools: new FakeTools(this, process),
      review: new FakeReview(this, process),
      trees: { sweep: () => undefined },
      checkpoints: new FakeCheckpoints(this, process),
      scout: new FakeScout(this, process),
      clock: this.world.clock(process, this.swarm.loopMs),
      random: this.chance,
      clients: {
        secret: (_provider, post) => {
          const has = this.calm || this.chance.hits(0.5);
          this.world.later(this.chance.around(50), () => post(has ? { key: 'sesame' } : null), process);
        },
      },
      publish: {
        committed: (news) => this.#published(process, news),
        delta: (...args) => this.followers?.publish.delta(...args),
        streamEnd: (...args) => this.followers?.publish.streamEnd(...args),
        output: (...args) => this.followers?.publish.output(...args),
      },
      log: (message, facts) => {
        if (!process.alive) return;
        if (facts['message'] === 'simulated bug') this.trace('bug', `in ${String(facts['event'])}`);
        else this.fail('bug', `${message}: ${JSON.stringify(facts)}`);
      },
    };
  }

  #published(process: Process, news: News): void {
    if (!process.alive) return;
    if (this.canary === 'sequenceSkipped' && this.chance.hits(0.01)) return;
    if (this.store?.open === true) this.fail('S9', 'news before their commit');
    this.check.published(news);
    if (this.followers?.loses('newsLost') !== true) this.followers?.publish.committed(news);
    this.workload.heard(news);
  }

  #faults(): Faults {
    const { chance } = this;
    return {
      commit: (count) => {
        if (this.calm) return null;
        const { odds } = this;
        if (chance.hits(odds.commitFull)) return this.#noted('full', count);
        if (chance.hits(odds.commitIo)) return this.#noted('io', count);
        if (chance.hits(odds.crashBeforeCommit)) return this.#dies('crashBefore');
        if (chance.hits(odds.crashAfterCommit)) return this.#dies('crashAfter');
        return null;
      },
      call: () => (!this.calm && chance.hits(this.odds.callFull) ? 'full' : null),
    };
  }

  #noted<F extends string>(fault: F, count: number): F {
    this.trace('fault', `${fault} at commit ${count}`);
    return fault;
  }

  #dies<W extends string>(why: W): W {
    this.trace('CRASH', why);
    this.process.alive = false;
    this.crashes += 1;
    this.unsound += 1;
    return why;
  }

  #calmDown(): void {
    this.calm = true;
    this.odds = quiet;
    this.trace('CALM', 'nothing fails any more');
    this.workload.calmDown();
    for (const call of this.outside.calls.values()) {
      if (call.life === 'running') this.world.later(this.chance.around(100), () => call.end?.());
    }
  }

  #report(): Report {
    return {
      seed: this.seed,
      failure: this.failure,
      steps: this.world.steps,
      commits: this.disk.commits,
      crashes: this.crashes,
      agents: this.disk.table('agent').rows.size,
      turns: this.disk.table('turn').rows.size,
      virtualMs: Math.round(this.world.nowMs),
      swarm: this.swarm,
    };
  }
}

/** Lets a host lose what it posts to itself. */
function forget(host: Host, kind: RuntimeEvent['kind']): void {
  const post = host.post.bind(host);
  host.post = (event) => event.kind === kind || post(event);
}

/** Runs one seed. */
export const simulate = (seed: string, options: SimOptions = {}): Report => new Sim(seed, options).run();
