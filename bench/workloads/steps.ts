// 50 shell steps in one turn, over the provider's own time: answer, plan, started row, command, result, next request.
//
// The command is `true`, which nobody is asked about. The provider's own time is what it takes to answer the same
// number of requests of one client directly, over a warm HTTP/2 session.

import { randomUUID } from 'node:crypto';
import os from 'node:os';
import { askDirectly, openDirect } from '../direct.ts';
import { startFixtureProcess, startSidecarProcess } from '../sidecar.ts';
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
        const beginMs = performance.now();
        const start = { text, workspace: os.tmpdir(), model: 'bench/any', key: randomUUID() };
        const { turn } = await wire.call('agent/start', start);
        const { done } = await wire.call('turn/wait', { turns: [turn], mode: 'all', timeoutMs: 60_000 });
        const tookMs = performance.now() - beginMs;
        if (done[0]?.outcome !== 'done')
          throw new Error(`the turn ended ${done[0]?.outcome ?? 'not at all'}`);
        let ownMs = 0;
        for (let step = 0; step <= steps; step++) ownMs += await askDirectly(direct);
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
