// A swarm that is killed in the middle: 600 children of one root with 310 slots, three rounds each, of exactly one
// second at the provider. Killed when the 310th has finished; from the start of the next process until the last
// child is done, less the floor: a second for each round that the child with the most of them has to go, which is
// three when children get slots one after the other.
//
// The provider tells in its headers that its limits are far away, as providers do, so 310 really ask at once.

import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { startFixtureProcess, startSidecarProcess } from '../sidecar.ts';
import { median, round, wideTokens, type Workload } from '../workload.ts';
import type { Wire } from '../../sidecar/cli/connect.ts';
import type { AgentId } from '../../sidecar/protocol/ids.ts';

const roundMs = 1_000;
const rounds = 3;
const withinMs = 60_000;
const farLimits = ['--per-second', '100000', '--burst', '100000'];

export const workload: Workload = {
  title: 'kill600: a swarm killed in the middle, from the next start until its last child is done',
  options: { children: 600, slots: 310, finished: 310, runs: 3 },
  run: async ({ children = 1, slots = 1, finished = 0, runs = 1 }, say) => {
    const seconds: number[] = [];
    for (let run = 1; run <= runs; run++) {
      const { tookMs, floorMs } = await killedRun({ children, slots, finished });
      seconds.push((tookMs - floorMs) / 1_000);
      say(`run ${run}: ${round(tookMs)} ms, ${round(tookMs - floorMs)} over the floor of ${floorMs} ms`);
    }
    return { seconds: round(median(seconds), 3), worstSeconds: round(Math.max(...seconds), 3) };
  },
};

interface Swarm {
  readonly children: number;
  readonly slots: number;
  readonly finished: number;
}

interface Took {
  readonly tookMs: number;
  readonly floorMs: number;
}

async function killedRun({ children, slots, finished }: Swarm): Promise<Took> {
  const store = mkdtempSync(path.join(os.tmpdir(), 'roost-bench-'));
  const fixture = await startFixtureProcess(['--first-byte-ms', String(roundMs), ...farLimits]);
  // One more: in the first second the root asks for its own next round, which waits for the children.
  const args = ['--model-slots', String(slots + 1)];
  let sidecar = await startSidecarProcess({ store, args });
  try {
    const { tlsUrl, caFile } = fixture;
    const place = { baseUrl: `${tlsUrl}/v1`, keyless: true, caFile };
    await sidecar.wire.call('provider/set', {
      name: 'bench',
      dialect: 'chat',
      ...place,
      contextTokens: wideTokens,
    });
    const agent = await startRoot(sidecar.wire, children);
    await untilDone(sidecar.wire, agent, finished);
    await sidecar.kill();
    const floorMs = roundsToGo(store, agent) * roundMs;
    sidecar = await startSidecarProcess({ store, args });
    // Looking costs the sidecar time, so nobody looks before it can be done.
    await sleep(Math.max(0, sidecar.beganMs + floorMs - performance.now()));
    await untilDone(sidecar.wire, agent, children);
    return { tookMs: performance.now() - sidecar.beganMs, floorMs };
  } finally {
    await sidecar.close();
    fixture.close();
    rmSync(store, { recursive: true, force: true });
  }
}

/** Rounds that the child with the most of them has before it: its answers so far are in its row. */
function roundsToGo(store: string, root: AgentId): number {
  const database = new Database(path.join(store, 'roost.db'), { readonly: true });
  try {
    const sql = `SELECT min(rounds) FROM agent WHERE parent = ? AND phase <> 'idle'`;
    return rounds - (database.prepare<[number], number>(sql).pluck().get(root) ?? rounds);
  } finally {
    database.close();
  }
}

async function startRoot(wire: Wire, children: number): Promise<AgentId> {
  const texts = Array.from({ length: children }, (_, index) => taskOf(index));
  const start = { workspace: '/', profile: 'planner', model: 'bench/any', key: randomUUID() };
  const { agent } = await wire.call('agent/start', {
    text: `@spawn ${JSON.stringify(texts)}\n@wait`,
    ...start,
  });
  return agent;
}

/** A look around, a typed result, and a last word: as many answers as rounds. */
function taskOf(index: number): string {
  return [`Part ${index}.`, '@call list_agents {}', `@submit {"part":${index}}`, `@say ${index} done`].join(
    '\n',
  );
}

async function untilDone(wire: Wire, root: AgentId, count: number): Promise<void> {
  for (const endMs = performance.now() + withinMs; performance.now() < endMs;) {
    if (count <= (await wire.call('agent/get', { agent: root })).branch.done) return;
    await sleep(5);
  }
  throw new Error(`not ${count} children were done within ${withinMs / 1_000} s`);
}
