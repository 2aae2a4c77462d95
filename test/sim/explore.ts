// Many seeds in a row: to find new failures, and to see how soon a known-bad switch is caught.

import { performance } from 'node:perf_hooks';
import { seenByFollowers, type Canary } from './canaries.ts';
import { simulate, type Report, type SimOptions } from './sim.ts';

export interface Exploration {
  /** Seeds are this text, a slash and a number from 1. */
  readonly base: string;
  readonly most: number;
  /** Wall time; the seed that is under way is finished. */
  readonly seconds: number;
  readonly stopAtFailure: boolean;
  readonly options: SimOptions;
}

export interface Found {
  readonly first: Report | null;
  /** Seeds by kind of failure: the message without its numbers. */
  readonly kinds: ReadonlyMap<string, readonly string[]>;
  readonly seeds: number;
  readonly steps: number;
  readonly crashes: number;
  readonly agents: number;
  readonly seconds: number;
}

export function explore(plan: Exploration): Found {
  const startMs = performance.now();
  const spent = (): number => (performance.now() - startMs) / 1000;
  const kinds = new Map<string, string[]>();
  let first: Report | null = null;
  let [seeds, steps, crashes, agents] = [0, 0, 0, 0];
  while (seeds < plan.most && spent() < plan.seconds) {
    seeds += 1;
    const report = simulate(`${plan.base}/${seeds}`, plan.options);
    steps += report.steps;
    crashes += report.crashes;
    agents += report.agents;
    const { failure } = report;
    if (failure === null) continue;
    first ??= report;
    const kind = `${failure.check} ${failure.message.replaceAll(/\d+/g, 'N')}`.slice(0, 200);
    kinds.set(kind, [...(kinds.get(kind) ?? []), report.seed]);
    if (plan.stopAtFailure) break;
  }
  return { first, kinds, seeds, steps, crashes, agents, seconds: spent() };
}

/** Worlds in which what a switch breaks comes about: a branch that is deleted in slices has more agents than one takes. */
const worlds: Partial<Record<Canary, SimOptions['change']>> = {
  walkForgotten: (swarm) => ({
    ...{ ...swarm, size: 40, manages: 20 },
    bounds: { ...swarm.bounds, slice: 10, answerCalls: 6 },
  }),
};

/** How many seeds it takes to catch a known-bad switch, and by which promise; null: not within `most`. */
export function catchCanary(
  canary: Canary,
  most: number,
): { seeds: number; check: string; message: string } | null {
  for (let n = 1; n <= most; n += 1) {
    const change = worlds[canary];
    const sqlite = seenByFollowers.has(canary);
    const { failure } = simulate(`canary/${n}`, {
      canary,
      sqlite,
      ...(change === undefined ? {} : { change }),
    });
    if (failure !== null)
      return { seeds: n, check: failure.check, message: failure.message.split('\n')[0] ?? '' };
  }
  return null;
}
