// What one child costs on disk: bytes written, bytes kept, and barriers in its life.

import { runSwarm } from '../swarm.ts';
import { round, type Workload } from '../workload.ts';

export const workload: Workload = {
  title: "perchild: bytes written, bytes kept and barriers in a child's life, of hundredk",
  options: { children: 20_000, slots: 5_000, latencyMs: 600 },
  run: async ({ children = 1, slots = 1, latencyMs = 0 }, say) => {
    const result = await runSwarm({ roots: 1, children, slots, latencyMs, say });
    say(`${result.commits} commits for ${children} children`);
    return {
      diskKB: round(result.writtenBytes / children / 1024, 2),
      keptKB: round(result.storeBytes / children / 1024, 2),
      // A child waits for the commits that hold its birth and first attempt, its two steps and its end.
      barriers: 4,
      commitsPerChild: round(result.commits / children, 3),
    };
  },
};
