// A warm one-word reply through the socket, over the model's own time.
//
// One client, one agent, the built sidecar and the fixture as processes of their own, HTTP/2 over TLS, durable
// acknowledgements. The model's own time is what the same provider takes to answer the same client over a warm
// HTTP/2 session, asked directly, in turn with the measured replies.

import { randomUUID } from 'node:crypto';
import { askDirectly, openDirect } from '../direct.ts';
import { startFixtureProcess, startSidecarProcess } from '../sidecar.ts';
import { median, round, type Workload } from '../workload.ts';

export const workload: Workload = {
  title: "reply: a warm one-word reply through the socket, over the model's own time",
  options: { replies: 300, warmUp: 30 },
  run: async ({ replies = 1, warmUp = 0 }, say) => {
    const fixture = await startFixtureProcess(['--no-check']);
    const sidecar = await startSidecarProcess();
    const session = openDirect(fixture);
    try {
      const { wire } = sidecar;
      await wire.call('provider/set', {
        name: 'bench',
        dialect: 'chat',
        baseUrl: `${fixture.tlsUrl}/v1`,
        keyless: true,
        caFile: fixture.caFile,
      });
      const started = await wire.call('agent/start', {
        name: 'reply',
        text: '@say hello',
        workspace: '/',
        model: 'bench/any',
        key: randomUUID(),
      });
      await wire.call('turn/wait', { turns: [started.turn], mode: 'all', timeoutMs: 30_000 });
      const through: number[] = [];
      const direct: number[] = [];
      for (let i = 0; i < warmUp + replies; i++) {
        const beginMs = performance.now();
        const key = randomUUID();
        const { turn } = await wire.call('agent/send', {
          agent: started.agent,
          text: '@say hello',
          delivery: 'queue',
          key,
        });
        await wire.call('turn/wait', { turns: [turn], mode: 'all', timeoutMs: 30_000 });
        const tookMs = performance.now() - beginMs;
        const aloneMs = await askDirectly(session);
        if (i < warmUp) continue;
        through.push(tookMs);
        direct.push(aloneMs);
      }
      const p90 = [...through].sort((a, b) => a - b)[Math.floor(through.length * 0.9)] ?? 0;
      say(
        `through the sidecar: median ${round(median(through), 2)} ms, p90 ${round(p90, 2)} ms; the provider alone: median ${round(median(direct), 2)} ms`,
      );
      return {
        overheadMs: round(median(through) - median(direct), 2),
        throughMs: round(median(through), 2),
        modelMs: round(median(direct), 2),
      };
    } finally {
      session.close();
      await sidecar.close();
      fixture.close();
    }
  },
};
