// Commands in the background of the world outside: they run on when their call has its result, whatever becomes of
// the process, until they end by themselves or somebody ends them.

import type { Cancel, ToolJob, ToolOutcome } from '../../sidecar/ports.ts';
import type { Sim } from './sim.ts';
import type { Process } from './world.ts';

interface Behind {
  readonly call: number;
  readonly agent: number;
  isRunning: boolean;
  isStopped: boolean;
  /** The process that looks after it, and where it posts. */
  watcher: { readonly process: Process; readonly post: (outcome: ToolOutcome) => void } | null;
}

export class BehindWorld {
  readonly commands = new Map<number, Behind>();

  /** A call leaves its command running. */
  begin(sim: Sim, { call, agent }: ToolJob): void {
    if (this.commands.has(call)) return;
    this.commands.set(call, { call, agent, isRunning: true, isStopped: false, watcher: null });
    if (sim.chance.hits(0.3)) return; // never ends by itself
    sim.world.later(sim.chance.around(sim.swarm.toolMs * 4), () => this.#end(sim, call));
  }

  attend(
    sim: Sim,
    process: Process,
    watched: { job: ToolJob; post: (outcome: ToolOutcome) => void },
  ): Cancel {
    const { job, post } = watched;
    const command = this.commands.get(job.call);
    if (command === undefined) {
      sim.fail('S12', `call ${job.call} has nothing in the background, and is looked after`);
      return () => undefined;
    }
    if (command.watcher?.process === process)
      sim.fail('S12', `the command of call ${job.call} is looked after twice`);
    command.watcher = { process, post };
    if (!command.isRunning) sim.world.later(sim.chance.around(1), () => this.#tell(sim, command), process);
    return () => {
      if (sim.canary === 'commandKept') return;
      command.isStopped = true;
      sim.world.later(sim.chance.around(5), () => this.#end(sim, job.call));
    };
  }

  /** Killed from outside, with its record, or by the tools before anybody heard of it. */
  lose(call: number): void {
    const command = this.commands.get(call);
    if (command !== undefined) command.isRunning = false;
  }

  #end(sim: Sim, call: number): void {
    const command = this.commands.get(call);
    if (command?.isRunning !== true) return;
    command.isRunning = false;
    this.#tell(sim, command);
  }

  #tell(sim: Sim, command: Behind): void {
    const { watcher } = command;
    command.watcher = null;
    if (watcher?.process.alive !== true) return;
    sim.trace('tool', `${command.call} ends in the background`);
    watcher.post({ status: command.isStopped ? 'error' : 'ok', text: 'exit code 0' });
  }

  /** What is wrong at rest; null: nothing. */
  wrong(sim: Sim): string | null {
    const rows = sim.disk.rows('background');
    for (const { call, isRunning } of this.commands.values()) {
      const row = rows.find((each) => each.call === call);
      const known = row !== undefined || sim.disk.row('call', call)?.open === 1;
      if (isRunning && !known) return `the command of call ${call} runs, and no row says so`;
      if (isRunning && row?.state === 'stopping')
        return `the command of call ${call} is to be ended, and runs`;
      if (!isRunning && row !== undefined)
        return `the command of call ${call} has ended, and a row says that it runs`;
    }
    return null;
  }
}
