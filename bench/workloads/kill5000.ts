// The sidecar is killed while thousands of requests wait on the model: how long from the start of the next process
// until all of them wait there again.
//
// The clock starts when the process is started, Node's own start included, and stops when the provider has read the
// last byte of the last request. The store is told nothing in between: all that is asked again comes from its rows.

import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { allWaiting, startFleet, useFixture, type Fleet, type Seen } from '../fleet.ts';
import { startFixtureProcess, startSidecarProcess } from '../sidecar.ts';
import { median, round, type Workload } from '../workload.ts';

const withinMs = 60_000;

export const workload: Workload = {
  title: 'kill5000: from the start after SIGKILL until all requests wait on the model again',
  options: { agents: 5_000, conversation: 4_096, runs: 3 },
  run: async ({ agents = 1, conversation = 0, runs = 1 }, say) => {
    const seconds: number[] = [];
    for (let run = 1; run <= runs; run++) {
      const { tookMs, doorMs } = await killedRun({ agents, bytes: conversation });
      seconds.push(tookMs / 1_000);
      say(`run ${run}: ${round(tookMs)} ms, its door was open after ${round(doorMs)} ms`);
    }
    return {
      seconds: round(median(seconds), 3),
      worstSeconds: round(Math.max(...seconds), 3),
      waiting: agents,
    };
  },
};

/** On a store of its own: a turn that is in flight at a third crash waits for a person instead. */
async function killedRun(fleet: Fleet): Promise<{ readonly tookMs: number; readonly doorMs: number }> {
  const store = mkdtempSync(path.join(os.tmpdir(), 'roost-bench-'));
  const fixture = await startFixtureProcess(['--silent']);
  const args = ['--model-slots', String(fleet.agents)];
  let sidecar = await startSidecarProcess({ store, args });
  try {
    await useFixture(sidecar.wire, fixture);
    await startFleet(sidecar.wire, fleet);
    expectAll(fleet, await allWaiting(fixture, fleet, { withinMs, lookEveryMs: 50 }));
    await sidecar.kill();
    const { requestBytes: before = 0 } = await fixture.stats();
    sidecar = await startSidecarProcess({ store, args });
    const doorMs = performance.now() - sidecar.beganMs;
    const seen = await allWaiting(fixture, fleet, { before, withinMs, lookEveryMs: 10 });
    const tookMs = performance.now() - sidecar.beganMs;
    expectAll(fleet, seen);
    return { tookMs, doorMs };
  } finally {
    await sidecar.close();
    fixture.close();
    rmSync(store, { recursive: true, force: true });
  }
}

function expectAll({ agents }: Fleet, { inFlight }: Seen): void {
  if (inFlight < agents) throw new Error(`only ${inFlight} of ${agents} requests wait on the model`);
}
