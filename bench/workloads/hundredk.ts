// 1 root × 100,000 children, 5,000 at once: seconds, concurrency reached, the longest step of the loop.

import { runSwarm } from '../swarm.ts';
import { round, type Workload } from '../workload.ts';

export const workload: Workload = {
  title:
    'hundredk: one root, its children with a sibling message and a typed result each, durable acknowledgements',
  options: { children: 100_000, slots: 5_000, latencyMs: 600 },
  run: async ({ children = 1, slots = 1, latencyMs = 0 }, say) => {
    const result = await runSwarm({ roots: 1, children, slots, latencyMs, say });
    return {
      seconds: round(result.seconds),
      cpuSeconds: round(result.cpuSeconds),
      inFlight: result.inFlight,
      rootTurns: result.rootTurns,
      noticeKB: round(result.noticeBytes / 1024, 2),
      loopMaxMs: round(result.loopMaxMs, 2),
      loopP99Ms: round(result.loopP99Ms, 2),
      peakRssMB: result.peakRssMB,
      storeGB: round(result.storeBytes / 2 ** 30, 2),
      done: result.done,
    };
  },
};
