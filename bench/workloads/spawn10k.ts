// How long until the ids of a batch of 10,000 agents are acknowledged durably.

import { startInProcess } from '../inProcess.ts';
import { swarmScript } from '../swarmScript.ts';
import { median, round, type Workload } from '../workload.ts';

export const workload: Workload = {
  title: "spawn10k: a batch of 10,000 agents, from the model's answer until all are committed",
  options: { children: 10_000, runs: 5 },
  run: async ({ children = 1, runs = 1 }, say) => {
    const seconds: number[] = [];
    for (let run = 0; run < runs; run++) {
      // One slot for the root and none for its children: only the spawning is measured.
      const world = startInProcess({ script: swarmScript(children), modelSlots: 1, latencyMs: 1 });
      let startMs = 0;
      const done = new Promise<void>((resolve) => {
        world.onNews((news) => {
          if (startMs === 0 && news.calls.size > 0) startMs = performance.now();
          const root = world.open.reads.agents(0, 0, 1).rows[0];
          if (root !== undefined && root.children === children) resolve();
        });
      });
      const askedMs = performance.now();
      await world.call('agent/start', {
        name: 'root',
        text: 'root',
        workspace: '/bench',
        profile: 'planner',
        key: 'k',
      });
      await done;
      const total = (performance.now() - askedMs) / 1000;
      seconds.push(total);
      say(`run ${run + 1}: ${round(total, 3)} s, root's own turn included`);
      await world.close();
    }
    return { seconds: round(median(seconds), 3) };
  },
};
