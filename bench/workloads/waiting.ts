// What an agent costs while its model thinks: the built sidecar with N agents, each with a conversation of its
// own, all asking a provider that reads every request and never answers. HTTP/2 over TLS, in another process.
//
// Memory is that of the sidecar's whole process tree after it has settled, against the same sidecar before the
// first agent. The slope between two runs is (privateMB₂ − privateMB₁) / (N₂ − N₁).

import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { memoryOf, settledMemory } from '../memory.ts';
import { startFixtureProcess, startSidecarProcess } from '../sidecar.ts';
import type { Wire } from '../../sidecar/cli/connect.ts';
import { round, type Workload } from '../workload.ts';

/** Starts that wait for their acknowledgement at a time: 8 conversations are under way at most. */
const startsAtOnce = 8;

export const workload: Workload = {
  title: 'waiting: private memory with N agents that wait for a silent model',
  options: { agents: 100, conversation: 65_536, withinS: 150 },
  run: async ({ agents = 1, conversation = 0, withinS = 0 }, say) => {
    const endMs = performance.now() + withinS * 1_000;
    const fixture = await startFixtureProcess(['--silent']);
    const sidecar = await startSidecarProcess({ args: ['--model-slots', String(agents)] });
    try {
      await sidecar.wire.call('provider/set', {
        name: 'bench',
        dialect: 'anthropic',
        baseUrl: fixture.tlsUrl,
        keyless: true,
        caFile: fixture.caFile,
      });
      const before = memoryOf(sidecar.pid);
      say(`before the first agent: ${round(before.privateMB)} MB private, ${round(before.pssMB)} MB PSS`);
      await startAll(sidecar.wire, agents, conversation);
      say(`${agents} agents started`);
      // Each request is read to its last byte before it counts as waiting.
      const bytes = agents * conversation;
      let stats = await fixture.stats();
      while (performance.now() < endMs) {
        if ((stats['inFlight'] ?? 0) >= agents && (stats['requestBytes'] ?? 0) >= bytes) break;
        await sleep(200);
        stats = await fixture.stats();
      }
      say(
        `${stats['inFlight'] ?? 0} requests wait, ${round((stats['requestBytes'] ?? 0) / 2 ** 20)} MB were read`,
      );
      const after = await settledMemory(sidecar.pid, Math.max(0, endMs - performance.now()));
      stats = await fixture.stats();
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

/** Starts the agents, each with a text of its own that no compression makes small. */
async function startAll(wire: Wire, agents: number, bytes: number): Promise<void> {
  let next = 0;
  const startSome = async (): Promise<void> => {
    while (next < agents) {
      const name = `agent-${next++}`;
      const text = randomBytes(Math.ceil((bytes * 3) / 4))
        .toString('base64')
        .slice(0, bytes);
      await wire.call('agent/start', {
        name,
        text,
        workspace: '/',
        model: 'bench/any',
        key: randomUUID(),
      });
    }
  };
  await Promise.all(Array.from({ length: startsAtOnce }, startSome));
}
