// What an agent costs while its model thinks: the built sidecar with N agents, each with a conversation of its
// own, all asking a provider that reads every request and never answers. HTTP/2 over TLS, in another process.
//
// Memory is that of the sidecar's whole process tree after it has settled, against the same sidecar before the
// first agent. The slope between two runs is (privateMB₂ − privateMB₁) / (N₂ − N₁).

import { allWaiting, startFleet, useFixture } from '../fleet.ts';
import { memoryOf, settledMemory } from '../memory.ts';
import { startFixtureProcess, startSidecarProcess } from '../sidecar.ts';
import { round, type Workload } from '../workload.ts';

export const workload: Workload = {
  title: 'waiting: private memory with N agents that wait for a silent model',
  options: { agents: 100, conversation: 65_536, withinS: 150 },
  run: async ({ agents = 1, conversation = 0, withinS = 0 }, say) => {
    const endMs = performance.now() + withinS * 1_000;
    const fixture = await startFixtureProcess(['--silent']);
    const sidecar = await startSidecarProcess({ args: ['--model-slots', String(agents)] });
    try {
      await useFixture(sidecar.wire, fixture);
      const before = memoryOf(sidecar.pid);
      say(`before the first agent: ${round(before.privateMB)} MB private, ${round(before.pssMB)} MB PSS`);
      const fleet = { agents, bytes: conversation };
      await startFleet(sidecar.wire, fleet);
      say(`${agents} agents started`);
      const withinMs = endMs - performance.now();
      const seen = await allWaiting(fixture, fleet, { withinMs, lookEveryMs: 200 });
      say(`${seen.inFlight} requests wait, ${round(seen.requestBytes / 2 ** 20)} MB were read`);
      const after = await settledMemory(sidecar.pid, Math.max(0, endMs - performance.now()));
      const stats = await fixture.stats();
      return {
        privateMB: round(after.privateMB),
        kbPerAgent: round(((after.privateMB - before.privateMB) * 1024) / agents),
        waiting: stats['inFlight'] ?? 0,
        pssMB: round(after.pssMB),
        emptyMB: round(before.privateMB),
        processes: after.processes,
        readMB: round((stats['requestBytes'] ?? 0) / 2 ** 20),
      };
    } finally {
      await sidecar.close();
      fixture.close();
    }
  },
};
