// The Tools port, and the world outside that its commands act on. What is outside survives every crash of the
// process: commands run on, their exit records stay, and each counts how often it was carried out.
//
// A command is a launcher's work: it starts a moment after `run` and only if it gets the claim. Recovery takes the
// claim first, and then the command will never start (DESIGN §7).
// Not here: whether a started row stood before the run (checks.ts asks).

import type {
  Cancel,
  OfferAnswer,
  Prepared,
  ServerRef,
  ToolEvent,
  ToolJob,
  ToolOutcome,
  Tools,
  Touched,
} from '../../sidecar/ports.ts';
import { callId } from '../../sidecar/protocol/ids.ts';
import type { CallId } from '../../sidecar/protocol/ids.ts';
import { limits } from '../../sidecar/runtime/limits.ts';
import type { Json } from '../../sidecar/protocol/json.ts';
import { BehindWorld } from './fakeBackground.ts';
import type { Sim } from './sim.ts';
import type { Process } from './world.ts';

export type CallLife = 'claimable' | 'running' | 'exited' | 'neverStarts';

/** One call as the world outside knows it. */
export interface Outside {
  readonly call: number;
  readonly effect: boolean;
  life: CallLife;
  /** Times that it was carried out. */
  runs: number;
  /** The process that started it, whose death may take the launcher along. */
  by: Process;
  result: ToolOutcome | null;
  /** What the runtime was told; null before that. */
  told: ToolOutcome | null;
  watcher: ((event: ToolEvent) => void) | null;
  /** Ends a command that hangs. */
  end: (() => void) | null;
  /** It is to be ended: then it does not go on in the background either. */
  isCancelled: boolean;
}

/** Files and commands. */
export class OutsideWorld {
  readonly calls = new Map<number, Outside>();
  readonly files = new Map<string, string>();
  /** Checkpoints that were restored. */
  restores = 0;
  readonly behind = new BehindWorld();
}

const specs = ['shell', 'read', 'edit', 'write', 'search'].map((name) => ({
  name,
  description: name,
  schema: { type: 'object' },
}));

const bytes = (text: string | undefined): Uint8Array | null =>
  text === undefined ? null : Buffer.from(text);

const isEffect = (job: ToolJob): boolean => job.tool === 'shell' || job.remote?.reading === false;
const lost: ToolOutcome = { status: 'unknown', text: 'Nobody saw how it ended.' };

export class FakeTools implements Tools {
  readonly specs = specs;
  readonly #sim: Sim;
  readonly #process: Process;

  constructor(sim: Sim, process: Process) {
    this.#sim = sim;
    this.#process = process;
  }

  classOf(tool: string) {
    return tool === 'shell' ? 'effect' : tool === 'write' || tool === 'edit' ? 'idempotent' : 'pure';
  }

  /** Some tools need no look: their calls start in the step that plans them. */
  prepareNow(job: ToolJob): Prepared | null {
    return job.call % 3 === 0 ? this.#prepared(job) : null;
  }

  prepare(job: ToolJob, post: (prepared: Prepared) => void): Cancel {
    const { chance, world, swarm } = this.#sim;
    this.#sim.effect(`prepare ${job.call}`);
    let cancelled = false;
    world.later(
      chance.around(swarm.toolMs) * 0.1,
      () => {
        if (!cancelled) post(this.#prepared(job));
      },
      this.#process,
    );
    return () => void (cancelled = true);
  }

  offer(server: ServerRef, post: (answer: OfferAnswer) => void): void {
    const { chance, folder, odds, world } = this.#sim;
    this.#sim.effect(`offer ${server.name}`);
    this.#sim.check.mayRun(server);
    world.later(
      chance.around(chance.hits(0.1) ? 5_000 : 50),
      () => {
        if (chance.hits(odds.toolFails)) post({ kind: 'failed', message: 'it does not start' });
        else post({ kind: 'offer', offer: folder.offer(server.hash) });
      },
      this.#process,
    );
  }

  run(job: ToolJob, _evidence: Json, post: (event: ToolEvent) => void): Cancel {
    const sim = this.#sim;
    sim.effect(`run ${job.call} ${job.tool}`);
    sim.check.started(job.call);
    if (job.remote !== undefined) sim.check.mayRun(job.remote.server);
    const outside: Outside = {
      call: job.call,
      effect: isEffect(job),
      life: 'claimable',
      runs: 0,
      by: this.#process,
      result: null,
      told: null,
      watcher: null,
      end: null,
      isCancelled: false,
    };
    sim.outside.calls.set(job.call, outside);
    // Now and then the machine is so busy that a whole restart fits in between.
    const launchMs = sim.chance.around(sim.chance.hits(0.1) ? 2_000 : 2);
    sim.world.later(launchMs, () => this.#launch(job, outside));
    return this.#watch(outside, post);
  }

  attend(job: ToolJob, evidence: Json, post: (outcome: ToolOutcome) => void): Cancel {
    const sim = this.#sim;
    sim.effect(`attend ${job.call} ${JSON.stringify(evidence)}`);
    return sim.outside.behind.attend(sim, this.#process, { job, post });
  }

  settled(tool: string, call: CallId): void {
    this.#sim.effect(`settled ${call} ${tool}`);
    this.#sim.check.settledCall(call);
  }

  recover(job: ToolJob, evidence: Json, post: (event: ToolEvent) => void): Cancel {
    const sim = this.#sim;
    sim.effect(`recover ${job.call} ${job.tool}`);
    sim.check.recovered(job.call);
    const outside = sim.outside.calls.get(job.call);
    if (outside === undefined) return this.#gone(job, post);
    const cancel = this.#watch(outside, post);
    if (job.tool !== 'shell') {
      // Judged by its evidence: what was done already is not done again, a read is simply read again.
      if (sim.canary === 'unknownRunAgain' && outside.life !== 'neverStarts') {
        outside.life = 'claimable';
        outside.by = this.#process;
        sim.world.later(1, () => this.#launch(job, outside));
        return cancel;
      }
      if (outside.life === 'claimable' || outside.effect) outside.life = 'neverStarts';
      // A server that acts is never asked twice, and nobody kept what it said.
      const outcome = job.remote !== undefined && isEffect(job) ? lost : (outside.result ?? this.#act(job));
      outside.result = outcome;
      this.#tell(outside, outcome);
      return cancel;
    }
    if (sim.canary === 'unknownRunAgain' && outside.life !== 'neverStarts') {
      outside.life = 'claimable';
      outside.by = this.#process;
      sim.world.later(1, () => this.#launch(job, outside));
      return cancel;
    }
    if (outside.life === 'claimable' || outside.life === 'neverStarts') {
      if (sim.canary !== 'judgedBeforeClaim') outside.life = 'neverStarts';
      this.#tell(outside, { status: 'error', text: 'It never started: Roost ended before.' });
    } else if (outside.life === 'exited') this.#tell(outside, this.#record(outside));
    void evidence;
    return cancel;
  }

  #gone(job: ToolJob, post: (event: ToolEvent) => void): Cancel {
    const outside: Outside = {
      call: job.call,
      effect: isEffect(job),
      life: 'neverStarts',
      runs: 0,
      by: this.#process,
      result: null,
      told: null,
      watcher: null,
      end: null,
      isCancelled: false,
    };
    this.#sim.outside.calls.set(job.call, outside);
    const cancel = this.#watch(outside, post);
    const never: ToolOutcome = { status: 'error', text: 'It never started: Roost ended before.' };
    this.#tell(
      outside,
      job.tool === 'shell' ? never : job.remote !== undefined && isEffect(job) ? lost : this.#act(job),
    );
    return cancel;
  }

  /** The launcher starts a command, unless it died with its sidecar or somebody took the claim. */
  #launch(job: ToolJob, outside: Outside): void {
    const { chance, odds, swarm, world } = this.#sim;
    if (outside.life !== 'claimable') return;
    if (!outside.by.alive && !chance.hits(odds.launcherSurvives)) return;
    outside.life = 'running';
    outside.runs += 1;
    this.#sim.check.carriedOut(outside);
    outside.end = () => this.#exit(job, outside);
    if (chance.hits(odds.toolHangs)) return; // never exits: a person or the end of the turn stops it
    const tookMs = job.tool === 'shell' ? chance.around(swarm.toolMs) : chance.around(1);
    world.later(tookMs, () => this.#exit(job, outside));
  }

  #exit(job: ToolJob, outside: Outside): void {
    if (outside.life !== 'running') return;
    outside.life = 'exited';
    if (outside.result === null) outside.result = this.#act(job, outside.isCancelled);
    // The sidecar hears of it only while it lives; the next one finds the record.
    outside.watcher?.({ kind: 'done', outcome: this.#record(outside) });
  }

  #record(outside: Outside): ToolOutcome {
    const { chance, odds } = this.#sim;
    if (outside.result !== null && !chance.hits(odds.exitLost)) return outside.result;
    this.#sim.outside.behind.lose(outside.call);
    return { status: 'unknown', text: 'Nobody saw how it ended.' };
  }

  /** Posts later, to the process that watches. */
  #tell(outside: Outside, outcome: ToolOutcome): void {
    const { world, chance } = this.#sim;
    world.later(chance.around(1), () => outside.watcher?.({ kind: 'done', outcome }), this.#process);
  }

  #watch(outside: Outside, post: (event: ToolEvent) => void): Cancel {
    const sim = this.#sim;
    const process = this.#process;
    let cancelled = false;
    // To this process: what another was told has gone with it, unless it is committed.
    let isTold = false;
    outside.watcher = (event) => {
      if (!process.alive || event.kind !== 'done') return;
      if (cancelled && !sim.chance.hits(sim.odds.late)) return;
      outside.told = event.outcome;
      isTold = true;
      outside.watcher = null;
      sim.trace('tool', `${outside.call} ${event.outcome.status}`);
      post(event);
    };
    return () => {
      cancelled = true;
      outside.isCancelled = true;
      if (outside.life === 'claimable') outside.life = 'neverStarts';
      else if (outside.life === 'running') this.#killed(outside);
      // It went into the background, and nobody was told: the tools end it themselves.
      else if (!isTold) sim.outside.behind.lose(outside.call);
    };
  }

  #killed(outside: Outside): void {
    this.#sim.world.later(this.#sim.chance.around(5), () => {
      if (outside.life !== 'running') return;
      outside.life = 'exited';
      outside.watcher?.({ kind: 'done', outcome: { status: 'error', text: 'killed' } });
    });
  }

  #prepared(job: ToolJob): Prepared {
    const { chance, odds } = this.#sim;
    if (chance.hits(odds.toolFails * 0.2)) return { kind: 'refuse', text: 'It cannot be done.' };
    const kind = job.tool === 'shell' ? 'command' : 'edit';
    const asks = job.tool === 'shell' || job.tool === 'write' || (job.remote !== undefined && isEffect(job));
    const title =
      typeof job.input['command'] === 'string' ? job.input['command'] : `write ${String(job.input['path'])}`;
    const ask = asks
      ? ({
          kind,
          title,
          detail: title,
          cluster: chance.hits(0.5) ? 'all' : null,
          always: false,
          harmless: false,
          sandboxed: false,
        } as const)
      : null;
    return { kind: 'run', evidence: { at: job.call }, ask, usesCommandSlot: job.tool === 'shell' };
  }

  #act(job: ToolJob, isCancelled = false): ToolOutcome {
    const { chance, odds, outside } = this.#sim;
    if (chance.hits(odds.toolFails)) return { status: 'error', text: 'exit 1' };
    if (job.tool !== 'write')
      return {
        status: 'ok',
        text: `ok ${job.call}${' long'.repeat(chance.int(0, this.#sim.swarm.resultWords))}`,
        ...(chance.hits(0.1) ? { whole: Buffer.alloc(300, 97) } : {}),
        ...(job.tool === 'shell' && chance.hits(0.2) ? { touched: this.#changedBy(job) } : {}),
        ...(job.tool === 'shell' && !isCancelled && chance.hits(0.15) ? this.#leftBehind(job) : {}),
        ...(job.tool === 'read' ? this.#heard(job) : {}),
      };
    const path = `/place/${String(job.input['path'])}`;
    const after = String(job.input['text']);
    const touched = { path, written: path, before: bytes(outside.files.get(path)), after: bytes(after) };
    outside.files.set(path, after);
    return { status: 'ok', text: 'written', touched: [touched] };
  }

  /** A command goes on in the background. */
  #leftBehind(job: ToolJob): Pick<ToolOutcome, 'background'> {
    this.#sim.outside.behind.begin(this.#sim, job);
    return { background: { title: `behind ${job.call}`, evidence: { call: job.call } } };
  }

  /** An agent looks after its commands in the background, and may hear that one has ended. */
  #heard({ agent }: ToolJob): Pick<ToolOutcome, 'ended'> {
    const { chance, outside } = this.#sim;
    const ended = [...outside.behind.commands.values()].filter(
      (each) => each.agent === agent && !each.isRunning,
    );
    return ended.length === 0 || chance.hits(0.5) ? {} : { ended: callId(chance.pick(ended).call) };
  }

  /** A command changes one file or many, and now and then another agent's ran beside it. */
  #changedBy(job: ToolJob): Touched[] {
    const { chance, outside } = this.#sim;
    const others = chance.hits(0.3) ? [job.agent] : [];
    const count = chance.hits(0.2) ? 2 * limits.touchedFiles + 3 : 1;
    return Array.from({ length: count }, (_, i) => {
      const path = `/place/made-${job.call % 5}-${i}`;
      const before = outside.files.get(path);
      const after = chance.hits(0.1) ? undefined : `by ${job.call}\n`;
      if (after === undefined) outside.files.delete(path);
      else outside.files.set(path, after);
      return { path, written: path, before: bytes(before), after: bytes(after), others };
    });
  }
}
