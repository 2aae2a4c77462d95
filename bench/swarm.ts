// One run of the swarm in this process, measured: what `million`, `hundredk`, `grow` and `perchild` share.

import { existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Entry } from '../sidecar/protocol/entry.ts';
import { startInProcess, storeBytes, storeFolder, type InProcess } from './inProcess.ts';
import { swarmScript } from './swarmScript.ts';
import { median } from './workload.ts';

export interface SwarmOptions {
  readonly roots: number;
  /** Children of each root. */
  readonly children: number;
  readonly slots: number;
  readonly latencyMs: number;
  readonly say: (line: string) => void;
  /** Where the store is made, and kept afterwards; none: a temporary one. */
  readonly directory?: string;
}

export interface SwarmResult {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly agents: number;
  readonly done: number;
  /** Model requests in flight, median of samples every 100 ms. */
  readonly inFlight: number;
  readonly peakRssMB: number;
  readonly storeBytes: number;
  /** Bytes that this process had written to disk, by /proc/self/io. */
  readonly writtenBytes: number;
  readonly loopMaxMs: number;
  readonly loopP99Ms: number;
  readonly commits: number;
  /** Of the first root. */
  readonly rootTurns: number;
  readonly noticeBytes: number;
}

/**
 * Runs roots × children to completion. The store is closed and measured afterwards, and removed unless it has a place
 * of its own or `keep` takes the world over.
 */
export async function runSwarm(
  options: SwarmOptions,
  keep?: (world: InProcess) => void,
): Promise<SwarmResult> {
  const { roots, children, slots, latencyMs, say } = options;
  const directory = options.directory ?? storeFolder();
  const script = swarmScript(children);
  const world = startInProcess({ script, modelSlots: slots, latencyMs, directory });
  const samples: number[] = [];
  let peakRss = 0;
  const sampler = setInterval(() => {
    samples.push(world.inFlight());
    peakRss = Math.max(peakRss, process.memoryUsage.rss());
  }, 100);
  const startMs = performance.now();
  const cpu = process.cpuUsage();
  const written = writtenBytes();
  const report = setInterval(() => {
    const seconds = Math.round((performance.now() - startMs) / 1000);
    say(
      `${seconds} s: ${world.answered()} answers, ${world.inFlight()} in flight, ${Math.round(peakRss / 2 ** 20)} MB`,
    );
  }, 5_000);
  await startRoots(world, roots);
  clearInterval(sampler);
  clearInterval(report);
  const seconds = (performance.now() - startMs) / 1000;
  const used = process.cpuUsage(cpu);
  const rows = world.open.reads.agents(0, 0, roots).rows;
  const entries = rows[0] === undefined ? [] : transcriptOf(world, rows[0].id);
  const told = entries.flatMap(({ body }) =>
    body.kind === 'notice' || body.kind === 'result' ? [body.text.length] : [0],
  );
  const loop = world.host.loop();
  const result: SwarmResult = {
    seconds,
    cpuSeconds: (used.user + used.system) / 1e6,
    agents: rows.reduce((sum, row) => sum + row.branch.agents, 0),
    done: rows.reduce((sum, row) => sum + row.branch.done, 0),
    inFlight: median(samples),
    peakRssMB: Math.round(peakRss / 2 ** 20),
    storeBytes: storeBytes(world.directory),
    writtenBytes: writtenBytes() - written,
    loopMaxMs: loop.maxMs,
    loopP99Ms: loop.p99Ms,
    commits: world.commits(),
    rootTurns: entries.filter((entry) => entry.body.kind === 'end').length,
    noticeBytes: Math.max(0, ...told),
  };
  say(`${result.done} of ${result.agents} agents done`);
  if (keep !== undefined) {
    keep(world);
    return result;
  }
  await world.close();
  // The last connection folds the log into the database, the worker's perhaps: then the file is what the agents cost
  // and not how long the log happens to be.
  const log = path.join(directory, 'roost.db-wal');
  for (const endMs = performance.now() + 10_000; existsSync(log) && performance.now() < endMs;)
    await sleep(10);
  const closed = { ...result, storeBytes: storeBytes(directory) };
  if (options.directory === undefined) rmSync(directory, { recursive: true, force: true });
  return closed;
}

/** The whole transcript of a root: a page ends at 256 KB, and its first answer holds the whole batch. */
function transcriptOf(world: InProcess, agent: number): Entry[] {
  const entries: Entry[] = [];
  for (let more = true; more;) {
    const page = world.open.reads.entries(agent, { after: entries.at(-1)?.id ?? 0, limit: 100 });
    entries.push(...page.entries);
    more = page.more && page.entries.length > 0;
  }
  return entries;
}

/** Starts the roots and resolves when the turns of all have ended. */
async function startRoots(world: InProcess, roots: number): Promise<void> {
  const ended = new Set<number>();
  const turns: number[] = [];
  let check = (): void => undefined;
  world.onNews((news) => {
    for (const turn of news.ended) ended.add(turn);
    if (ended.size > 100_000) for (const turn of ended) if (!turns.includes(turn)) ended.delete(turn);
    check();
  });
  for (let root = 0; root < roots; root++) {
    const name = `root-${root}`;
    const start = { name, text: `root ${root}`, workspace: '/bench', profile: 'planner', key: name };
    turns.push((await world.call('agent/start', start)).turn);
  }
  await new Promise<void>((resolve) => {
    check = () => {
      if (turns.every((turn) => ended.has(turn))) resolve();
    };
    check();
  });
}

function writtenBytes(): number {
  try {
    return Number(/^write_bytes: (\d+)/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1] ?? 0);
  } catch {
    return 0; // not Linux
  }
}
