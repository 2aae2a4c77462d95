// 10 roots × 100,000 children to completion: seconds, memory, disk.

import { runSwarm } from '../swarm.ts';
import { round, type Workload } from '../workload.ts';

export const workload: Workload = {
  title: 'million: roots × children to completion in one process, SQLite, durable acknowledgements',
  options: { roots: 10, children: 100_000, slots: 5_000, latencyMs: 200 },
  folders: { keep: 'where the store is left, for `reopen --store`' },
  run: async ({ roots = 1, children = 1, slots = 1, latencyMs = 0 }, say, { keep }) => {
    const kept = keep === undefined ? {} : { directory: keep };
    const result = await runSwarm({ roots, children, slots, latencyMs, say, ...kept });
    return {
      seconds: round(result.seconds),
      cpuSeconds: round(result.cpuSeconds),
      peakRssMB: result.peakRssMB,
      storeGB: round(result.storeBytes / 2 ** 30, 2),
      agents: result.agents,
      done: result.done,
      inFlight: result.inFlight,
      loopMaxMs: round(result.loopMaxMs, 2),
    };
  },
};
