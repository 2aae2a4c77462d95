// What a parked agent costs in memory: a process in which many wait for a person, against one in which few do after
// at least as many events, each after a forced collection. What is left of the difference is what an agent holds.

import { execFile } from 'node:child_process';
import path from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { sidecarEnvironment, sidecarFlags } from '../../sidecar/protocol/discovery.ts';
import type { Parked } from '../parkedWorld.ts';
import { round, type Workload } from '../workload.ts';

const run = promisify(execFile);
const program = path.join(import.meta.dirname, '..', 'parkedWorld.ts');

export const workload: Workload = {
  title: 'parked: private memory of many parked agents against few, after as many events and a collection',
  options: { roots: 10, children: 100_000, few: 1_000 },
  run: async ({ roots = 1, children = 1, few = 1 }, say) => {
    const many = await parkedWorld(roots, children, children);
    say(`${many.parked} parked, ${many.events} events: ${round(many.privateMB)} MB private`);
    const less = await parkedWorld(roots, children, Math.ceil(few / roots));
    say(`${less.parked} parked, ${less.events} events: ${round(less.privateMB)} MB private`);
    const bytes = (many.privateMB - less.privateMB) * 2 ** 20;
    return {
      bytesPerAgent: round(bytes / (many.parked - less.parked)),
      manyMB: round(many.privateMB),
      fewMB: round(less.privateMB),
      agents: many.parked,
      events: less.events,
    };
  },
};

/** One world in a process of its own, with the memory settings of the sidecar. */
async function parkedWorld(roots: number, children: number, asking: number): Promise<Parked> {
  const args = [...sidecarFlags, '--expose-gc', program, String(roots), String(children), String(asking)];
  const { stdout } = await run(process.execPath, args, { env: sidecarEnvironment(process.env) });
  const told: Parked = JSON.parse(stdout);
  return told;
}
