// Whether the cost of a child grows with the number of children.

import { runSwarm } from '../swarm.ts';
import { median, round, type Workload } from '../workload.ts';

export const workload: Workload = {
  title: 'grow: CPU seconds and bytes per child at 1,000, 10,000 and 100,000 children',
  options: { largest: 100_000, slots: 1_000, latencyMs: 100 },
  run: async ({ largest = 1, slots = 1, latencyMs = 0 }, say) => {
    const sizes = [largest / 100, largest / 10, largest];
    const cpu: number[] = [];
    const bytes: number[] = [];
    // The first run pays for compiling the code; it is not counted.
    await runSwarm({ roots: 1, children: sizes[1] ?? 1, slots, latencyMs, say });
    for (const children of sizes) {
      // A run of 1,000 takes 0.3 s: the median of many says what one cannot.
      const runs = Math.max(1, Math.min(9, Math.round(largest / 3 / children)));
      const each: number[] = [];
      for (let run = 0; run < runs; run++) {
        const result = await runSwarm({ roots: 1, children, slots, latencyMs, say });
        each.push((result.cpuSeconds * 1e6) / children);
        if (run === 0) bytes.push(result.storeBytes / children);
      }
      cpu.push(median(each));
      say(`${children} children: ${round(cpu.at(-1) ?? 0)} µs CPU and ${round(bytes.at(-1) ?? 0)} B a child`);
    }
    return {
      ratio: round(Math.max(...cpu) / Math.min(...cpu), 3),
      microsecondsAt1k: round(cpu[0] ?? 0),
      microsecondsAt10k: round(cpu[1] ?? 0),
      microsecondsAt100k: round(cpu[2] ?? 0),
      bytesAt1k: round(bytes[0] ?? 0),
      bytesAt10k: round(bytes[1] ?? 0),
      bytesAt100k: round(bytes[2] ?? 0),
    };
  },
};
