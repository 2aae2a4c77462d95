// 1 root × 100,000 children, many at once; also the root's turns, the largest notice and the longest loop turn.

import process from 'node:process';
import { startInProcess, storeBytes } from '../inProcess.ts';
import { swarmScript } from '../swarmScript.ts';
import { median, round, type Workload } from '../workload.ts';

export const workload: Workload = {
  title:
    'hundredk: one root, its children all with a sibling message and a typed result, durable acknowledgements',
  options: { roots: 1, children: 100_000, slots: 5_000, latencyMs: 600 },
  run: async (options, say) => {
    const { roots = 1, children = 1, slots = 1, latencyMs = 0 } = options;
    const world = startInProcess({ script: swarmScript(children), modelSlots: slots, latencyMs });
    const inFlight: number[] = [];
    const sampler = setInterval(() => inFlight.push(world.inFlight()), 100);
    const startMs = performance.now();
    const cpu = process.cpuUsage();
    const turns: number[] = [];
    for (let root = 0; root < roots; root++) {
      const started = await world.call('agent/start', {
        name: `root-${root}`,
        text: `root ${root}`,
        workspace: '/bench',
        profile: 'planner',
        key: `root-${root}`,
      });
      turns.push(started.turn);
    }
    let peakRss = 0;
    await new Promise<void>((resolve) => {
      const left = new Set<number>(turns);
      world.onNews((news) => {
        for (const turn of news.ended) left.delete(turn);
        if (left.size === 0) resolve();
      });
      const watch = setInterval(() => {
        peakRss = Math.max(peakRss, process.memoryUsage.rss());
        if (left.size === 0) clearInterval(watch);
      }, 250);
      const report = setInterval(() => {
        const seconds = round((performance.now() - startMs) / 1000);
        say(
          `${seconds} s: ${world.answered()} answers, ${world.inFlight()} in flight, loop ${JSON.stringify(world.host.loop())}`,
        );
        if (left.size === 0) clearInterval(report);
      }, 5_000);
    });
    clearInterval(sampler);
    const seconds = (performance.now() - startMs) / 1000;
    const used = process.cpuUsage(cpu);
    const rows = world.open.reads.agents(0, 0, roots).rows;
    const done = rows.reduce((sum, row) => sum + row.branch.done, 0);
    const total = rows.reduce((sum, row) => sum + row.branch.agents, 0);
    const first = rows[0];
    const entries =
      first === undefined ? [] : world.open.reads.entries(first.id, { after: 0, limit: 100 }).entries;
    const notices = entries.flatMap((entry) =>
      entry.body.kind === 'notice' || entry.body.kind === 'result' ? [entry.body.text.length] : [],
    );
    const rootTurns = entries.filter((entry) => entry.body.kind === 'end').length;
    const loop = world.host.loop();
    say(`${done} of ${total} agents done`);
    const bytes = storeBytes(world.directory);
    world.close();
    return {
      seconds: round(seconds),
      cpuSeconds: round((used.user + used.system) / 1e6),
      done,
      agents: total,
      inFlight: median(inFlight),
      rootTurns,
      noticeKB: round(Math.max(...notices, 0) / 1024, 2),
      loopMaxMs: round(loop.maxMs, 2),
      loopP99Ms: round(loop.p99Ms, 2),
      peakRssMB: Math.round(peakRss / 2 ** 20),
      storeGB: round(bytes / 2 ** 30, 2),
    };
  },
};
