// A large store after SIGKILL with a full log and a cold page cache: from the start of the process until the first
// window of the tree is served through the socket. Afterwards the doctor recounts all.
//
//   npm run bench -- million --keep DIR      makes the store of the issue
//   npm run bench -- reopen --store DIR      measures on it; without, on a smaller one that is made first
//
// The log is filled by changing agents all over the store until it is as long as it gets before it is copied, and
// the process is killed at that moment.

import { rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { storeFolder } from '../inProcess.ts';
import { dropCaches } from '../pageCache.ts';
import { startSidecarProcess, type SidecarProcess } from '../sidecar.ts';
import { runSwarm } from '../swarm.ts';
import { median, round, type Workload } from '../workload.ts';
import { agentId } from '../../sidecar/protocol/ids.ts';
import type { TreeQuery } from '../../sidecar/protocol/tree.ts';
import { limits } from '../../sidecar/runtime/limits.ts';

const changesAtOnce = 64;
/** Bytes of a page in the log (https://sqlite.org/fileformat2.html#walformat): a header of 24 and the page. */
const frameBytes = limits.pageBytes + 24;

export const workload: Workload = {
  title: 'reopen: after SIGKILL with a full log, from the start until the first tree window is served',
  options: { roots: 10, children: 10_000, runs: 3 },
  folders: { store: 'a store that `million --keep` has left' },
  run: async ({ roots = 1, children = 1, runs = 1 }, say, { store: given }) => {
    const store = given ?? storeFolder();
    try {
      if (given === undefined) {
        await runSwarm({ roots, children, slots: 5_000, latencyMs: 200, say, directory: store });
      }
      const seconds: number[] = [];
      for (let run = 1; run <= runs; run++) {
        await killWithFullLog(store);
        const cold = dropCaches(store);
        const { tookMs, doorMs, rows } = await reopened(store);
        seconds.push(tookMs / 1_000);
        say(`run ${run}: ${round(tookMs)} ms, the door after ${round(doorMs)} ms, ${rows} rows; ${cold}`);
      }
      const { findings, agents, tookMs } = await examined(store);
      say(`the doctor looked at ${agents} agents in ${round(tookMs / 1_000)} s`);
      for (const finding of findings) say(finding);
      return { seconds: round(median(seconds), 3), agents, findings: findings.length };
    } finally {
      if (given === undefined) rmSync(store, { recursive: true, force: true });
    }
  },
};

/** Leaves the store as a process does that is killed just before its log would be copied. */
async function killWithFullLog(store: string): Promise<void> {
  const sidecar = await startSidecarProcess({ store });
  const { agents } = await sidecar.wire.call('store/info', {});
  const log = path.join(store, 'roost.db-wal');
  const fullBytes = (limits.walLongFrames - 2 * changesAtOnce) * frameBytes;
  const first = (await sidecar.wire.call('agent/get', { agent: agentId(1) })).mode;
  // Far from each other: every change is a page of its own.
  const stride = Math.max(1, Math.floor(agents / limits.walLongFrames));
  let next = 1;
  const changeSome = async (): Promise<void> => {
    while (statSync(log).size < fullBytes) {
      const key = `${sidecar.pid}-${next}`;
      const place = next * stride;
      next += 1;
      const agent = agentId(1 + (place % agents));
      // Every time round the store the other mode, or nothing would change.
      const mode = (Math.floor(place / agents) % 2 === 0) === (first === 'ask') ? 'edits' : 'ask';
      await sidecar.wire.call('agent/configure', { agent, mode, key });
    }
  };
  await Promise.all(Array.from({ length: changesAtOnce }, changeSome));
  await sidecar.kill();
}

interface Reopened {
  readonly tookMs: number;
  readonly doorMs: number;
  readonly rows: number;
}

async function reopened(store: string): Promise<Reopened> {
  const sidecar = await startSidecarProcess({ store });
  const doorMs = performance.now() - sidecar.beganMs;
  const window: TreeQuery = {
    expanded: [agentId(1)],
    order: 'attention',
    filter: '',
    top: 0,
    height: 50,
  };
  const { rows } = await sidecar.wire.call('tree/window', window);
  const tookMs = performance.now() - sidecar.beganMs;
  // In order, so that the next run begins with an empty log.
  await sidecar.close();
  return { tookMs, doorMs, rows: rows.length };
}

interface Examined {
  readonly findings: readonly string[];
  readonly agents: number;
  readonly tookMs: number;
}

async function examined(store: string): Promise<Examined> {
  const sidecar: SidecarProcess = await startSidecarProcess({ store });
  const beginMs = performance.now();
  const { findings } = await sidecar.wire.call('store/doctor', {});
  const tookMs = performance.now() - beginMs;
  const { agents } = await sidecar.wire.call('store/info', {});
  await sidecar.close();
  return { findings: findings.map(({ invariant, message }) => `${invariant}: ${message}`), agents, tookMs };
}
