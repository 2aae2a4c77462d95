// 50 shell steps in one turn, over the provider's own time: answer, plan, started row, command, result, next request.
//
// The command is `true`, which nobody is asked about. The provider's own time is what it says it took, from each
// request read whole to its answer written, and a round trip of one client directly for each request.

import { randomUUID } from 'node:crypto';
import os from 'node:os';
import { askDirectly, openDirect } from '../direct.ts';
import { startFixtureProcess, startSidecarProcess, type FixtureProcess } from '../sidecar.ts';
import { median, round, type Workload } from '../workload.ts';

export const workload: Workload = {
  title: "steps: shell steps in one turn, over the provider's own time",
  options: { steps: 50, runs: 7 },
  run: async ({ steps = 1, runs = 1 }, say) => {
    const fixture = await startFixtureProcess(['--no-check']);
    const sidecar = await startSidecarProcess();
    const direct = openDirect(fixture);
    try {
      const { wire } = sidecar;
      const { caFile, tlsUrl } = fixture;
      const provider = {
        name: 'bench',
        dialect: 'chat' as const,
        baseUrl: `${tlsUrl}/v1`,
        keyless: true,
        caFile,
      };
      await wire.call('provider/set', provider);
      const text = Array.from({ length: steps }, () => '@shell true').join('\n');
      const through: number[] = [];
      const alone: number[] = [];
      // One run more than is counted: the first starts the launcher and the connection.
      for (let run = 0; run <= runs; run++) {
        const beforeMs = await busyOf(fixture);
        const beginMs = performance.now();
        const start = { text, workspace: os.tmpdir(), model: 'bench/any', key: randomUUID() };
        const { turn } = await wire.call('agent/start', start);
        const { done } = await wire.call('turn/wait', { turns: [turn], mode: 'all', timeoutMs: 60_000 });
        const tookMs = performance.now() - beginMs;
        if (done[0]?.outcome !== 'done')
          throw new Error(`the turn ended ${done[0]?.outcome ?? 'not at all'}`);
        const busyMs = await busyOf(fixture);
        let tripsMs = 0;
        for (let step = 0; step <= steps; step++) tripsMs += await askDirectly(direct);
        // Of those trips too the provider's own part is known; what is left is the way there and back.
        const ownMs = busyMs - beforeMs + Math.max(0, tripsMs - ((await busyOf(fixture)) - busyMs));
        if (run === 0) continue;
        through.push(tookMs);
        alone.push(ownMs);
        say(`run ${run}: ${round(tookMs)} ms, the provider alone ${round(ownMs)} ms`);
      }
      const overheadMs = median(through) - median(alone);
      return {
        overheadMs: round(overheadMs),
        perStepMs: round(overheadMs / steps, 2),
        throughMs: round(median(through)),
      };
    } finally {
      direct.close();
      await sidecar.close();
      fixture.close();
    }
  },
};

const busyOf = async (fixture: FixtureProcess): Promise<number> => (await fixture.stats())['busyMs'] ?? 0;
