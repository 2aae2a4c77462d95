// Makes a failing world smaller: the same seed with fewer agents, fewer people, fewer faults and an earlier calm,
// one change at a time, as long as the same promise is still broken.
//
// A change moves what chance is drawn for, so the smaller world is another run of the same seed and not a part of
// the first one; what counts is that it fails in the same way.

import { quiet, type Odds, type Swarm } from './swarm.ts';
import { simulate, type Report, type SimOptions } from './sim.ts';

type Change = (swarm: Swarm) => Swarm;

export interface Shrunk {
  readonly report: Report;
  readonly swarm: Swarm;
  /** The changes that were kept, in words. */
  readonly kept: readonly string[];
}

const oddNames = Object.keys(quiet) as (keyof Odds)[];

/** What is tried, larger steps first. */
function steps(): readonly (readonly [string, Change])[] {
  return [
    ['no faults', (swarm) => ({ ...swarm, odds: quiet })],
    ['no crashes', (swarm) => ({ ...swarm, crashes: 0, restarts: 0 })],
    ['no interrupts', (swarm) => ({ ...swarm, interrupts: 0 })],
    ['no forks and the like', (swarm) => ({ ...swarm, manages: 0 })],
    ['no rewinds', (swarm) => ({ ...swarm, rewinds: 0 })],
    ['no messages', (swarm) => ({ ...swarm, sends: 0 })],
    ['no clock jumps', (swarm) => ({ ...swarm, jumps: 0 })],
    ['no budgets', (swarm) => ({ ...swarm, budgets: 0 })],
    ['a key from the start', (swarm) => ({ ...swarm, needsKey: false })],
    ['a window that stays', (swarm) => ({ ...swarm, needsWindow: false })],
    ['no size of a pool', (swarm) => ({ ...swarm, poolSize: null })],
    ['one root', (swarm) => ({ ...swarm, roots: 1 })],
    ['an idle loop', (swarm) => ({ ...swarm, loopMs: 0 })],
    ['the product’s bounds', (swarm) => ({ ...swarm, bounds: {} })],
    ['half the agents', (swarm) => ({ ...swarm, size: Math.floor(swarm.size / 2) })],
    ['half the agents again', (swarm) => ({ ...swarm, size: Math.floor(swarm.size / 2) })],
    ['an earlier calm', (swarm) => ({ ...swarm, calmMs: Math.ceil(swarm.calmMs / 10) })],
    ...oddNames.map((name): readonly [string, Change] => [
      `no ${name}`,
      (swarm) => ({ ...swarm, odds: { ...swarm.odds, [name]: 0 } }),
    ]),
    ['no broken calls', (swarm) => ({ ...swarm, habits: { ...swarm.habits, broken: 0 } })],
    ['no tools', (swarm) => ({ ...swarm, habits: { ...swarm.habits, tools: 0 } })],
    ['no verbs', (swarm) => ({ ...swarm, habits: { ...swarm.habits, verbs: 0 } })],
    ['no questions', (swarm) => ({ ...swarm, habits: { ...swarm.habits, asksUser: 0 } })],
  ];
}

/** The smallest world that was found in which this seed breaks the same promise; at most some hundred runs. */
export function shrink(failed: Report, options: SimOptions = {}): Shrunk {
  let changes: readonly Change[] = [];
  let report = failed;
  const kept: string[] = [];
  for (const [name, change] of steps()) {
    const next = [...changes, change];
    const tried = simulate(failed.seed, { ...options, change: apply(next) });
    if (tried.failure?.check !== failed.failure?.check) continue;
    changes = next;
    report = tried;
    kept.push(name);
  }
  return { report, swarm: report.swarm, kept };
}

/** One change out of many, applied in order. */
export const apply =
  (changes: readonly Change[]): Change =>
  (swarm) =>
    changes.reduce((smaller, change) => change(smaller), swarm);

/** The change that a list of kept names stands for: to replay what `shrink` found. */
export function changeOf(kept: readonly string[]): Change {
  const all = new Map(steps());
  return apply(kept.flatMap((name) => all.get(name) ?? []));
}
