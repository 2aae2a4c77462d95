// What kind of world a seed is: sizes, limits and how likely each fault is, all drawn from the seed. In each run
// about half of the faults never happen, so that what the others meet is not drowned by them.
//
// Not here: when a fault happens (world, store and ports ask `Chance` at the place where it would).

import { limits } from '../../sidecar/runtime/limits.ts';
import type { Chance } from './chance.ts';

/** How likely each fault is, each time that it could happen. */
export interface Odds {
  readonly commitFull: number;
  readonly commitIo: number;
  readonly crashBeforeCommit: number;
  readonly crashAfterCommit: number;
  readonly callFull: number;
  /** The process dies between two effects of a commit. */
  readonly crashAtEffect: number;
  readonly refused: number;
  readonly cut: number;
  readonly rejected: number;
  readonly wrongKey: number;
  readonly emptyAnswer: number;
  readonly oddStop: number;
  readonly slow: number;
  /** A cancelled request or call ends all the same, later. */
  readonly late: number;
  readonly toolFails: number;
  readonly toolHangs: number;
  readonly exitLost: number;
  readonly launcherSurvives: number;
  readonly replyLost: number;
  readonly conflict: number;
  /** The runtime itself throws in the middle of a transaction. */
  readonly bug: number;
}

/** How likely a scripted turn does each thing in a round. */
export interface Habits {
  readonly tools: number;
  readonly verbs: number;
  readonly broken: number;
  readonly refuses: number;
  readonly asksUser: number;
}

type Bounds = Partial<Record<keyof typeof limits, number>>;

export interface Swarm {
  readonly roots: number;
  /** Descendants of a root, at most. */
  readonly size: number;
  readonly sends: number;
  readonly interrupts: number;
  /** Forks, renames, closings and the like. */
  readonly manages: number;
  /** Changes of the files that agents are told; 0: there are none. */
  readonly edits: number;
  readonly rewinds: number;
  readonly jumps: number;
  readonly crashes: number;
  /** Ends in order. */
  readonly restarts: number;
  /** Faults stop here, milliseconds into the run. */
  readonly calmMs: number;
  readonly modelSlots: number;
  readonly commandSlots: number;
  readonly modelMs: number;
  readonly toolMs: number;
  readonly personMs: number;
  /** Time that the loop takes before its next group: events pile up and share a step. */
  readonly loopMs: number;
  readonly priced: boolean;
  /** A script is never held back before it refuses; of a real model nothing is known, so it starts slowly. */
  readonly scripted: boolean;
  /** How often an answer's head tells the state of the provider's limits. */
  readonly tells: number;
  readonly budgets: number;
  /** How often a person's task comes with a schema. */
  readonly typed: number;
  /** Words of a long result, at most. */
  readonly resultWords: number;
  /** Room of the model as it is known, and what it really takes of that; whether its refusals say so. */
  readonly contextTokens: number;
  readonly contextTruth: number;
  readonly contextNamed: boolean;
  readonly needsKey: boolean;
  /** Whether models are lent by a window of an editor that comes and goes; and how many requests a pool takes. */
  readonly needsWindow: boolean;
  readonly poolSize: number | null;
  readonly odds: Odds;
  readonly habits: Habits;
  readonly bounds: Bounds;
}

const sometimes = (chance: Chance, most: number): number =>
  chance.hits(0.5) ? most * chance.next() ** 2 : 0;

export function drawSwarm(chance: Chance): Swarm {
  const calm = chance.hits(0.15);
  const odds = drawOdds(chance);
  return {
    roots: chance.int(1, 4),
    size: chance.pick([0, 1, 3, 8, 20, 40]),
    sends: chance.pick([0, 2, 10]),
    interrupts: chance.hits(0.5) ? 0 : chance.int(1, 5),
    manages: chance.pick([0, 0, 5, 20]),
    edits: chance.pick([0, 0, 1, 6]),
    rewinds: chance.pick([0, 0, 3, 20]),
    jumps: chance.hits(0.7) ? 0 : chance.int(1, 3),
    crashes: calm || chance.hits(0.4) ? 0 : chance.int(1, 6),
    restarts: chance.pick([0, 0, 1, 3]),
    calmMs: chance.pick([2_000, 20_000, 200_000]),
    modelSlots: chance.pick([1, 1, 2, 3, 8, 100]),
    commandSlots: chance.pick([1, 1, 2, 4, 100]),
    modelMs: chance.pick([1, 50, 2_000]),
    toolMs: chance.pick([1, 50, 5_000]),
    personMs: chance.pick([10, 1_000, 20_000]),
    loopMs: chance.pick([0, 0, 1, 20, 1_000]),
    priced: chance.hits(0.8),
    scripted: chance.hits(0.5),
    tells: chance.pick([0, 0, 0.2, 1]),
    budgets: chance.pick([0, 0, 0.3, 1]),
    typed: chance.pick([0, 0.3, 1]),
    ...drawContext(chance),
    contextTruth: chance.pick([1, 1, 1, 0.7]),
    contextNamed: chance.hits(0.5),
    needsKey: chance.hits(0.2),
    needsWindow: chance.hits(0.2),
    poolSize: chance.hits(0.3) ? chance.int(1, 3) : null,
    odds: calm ? quiet : odds,
    habits: drawHabits(chance),
    bounds: drawBounds(chance),
  };
}

/** Long results belong to models with room: what never fits tells nothing. */
function drawContext(chance: Chance): Pick<Swarm, 'contextTokens' | 'resultWords'> {
  const contextTokens = chance.pick([200_000, 200_000, 20_000, 10_000, 6_000]);
  const words = chance.pick([0, 0, 100, 800, 4_000]);
  return { contextTokens, resultWords: Math.min(words, Math.floor(contextTokens / 20)) };
}

function drawOdds(chance: Chance): Odds {
  return {
    commitFull: sometimes(chance, 0.05),
    commitIo: chance.hits(0.2) ? 0.002 : 0,
    crashBeforeCommit: sometimes(chance, 0.01),
    crashAfterCommit: sometimes(chance, 0.01),
    callFull: sometimes(chance, 0.005),
    crashAtEffect: sometimes(chance, 0.01),
    refused: sometimes(chance, 0.3),
    cut: sometimes(chance, 0.2),
    rejected: sometimes(chance, 0.05),
    wrongKey: sometimes(chance, 0.05),
    emptyAnswer: sometimes(chance, 0.2),
    oddStop: sometimes(chance, 0.2),
    slow: sometimes(chance, 0.2),
    late: sometimes(chance, 0.8),
    toolFails: sometimes(chance, 0.5),
    toolHangs: sometimes(chance, 0.05),
    exitLost: sometimes(chance, 0.5),
    launcherSurvives: sometimes(chance, 1),
    replyLost: sometimes(chance, 0.3),
    conflict: sometimes(chance, 0.3),
    bug: chance.hits(0.2) ? 0.003 * chance.next() : 0,
  };
}

/** No fault at all: then every outcome is known in advance. */
export const quiet: Odds = {
  commitFull: 0,
  commitIo: 0,
  crashBeforeCommit: 0,
  crashAfterCommit: 0,
  callFull: 0,
  crashAtEffect: 0,
  refused: 0,
  cut: 0,
  rejected: 0,
  wrongKey: 0,
  emptyAnswer: 0,
  oddStop: 0,
  slow: 0,
  late: 0,
  toolFails: 0,
  toolHangs: 0,
  exitLost: 0,
  launcherSurvives: 0,
  replyLost: 0,
  conflict: 0,
  bug: 0,
};

function drawHabits(chance: Chance): Habits {
  return {
    tools: chance.next(),
    verbs: chance.next(),
    broken: sometimes(chance, 0.3),
    refuses: sometimes(chance, 0.2),
    asksUser: sometimes(chance, 0.4),
  };
}

/** Small bounds, so that every slice, page and refusal is met by runs of a hundred agents. */
function drawBounds(chance: Chance): Bounds {
  if (chance.hits(0.3)) return {};
  const slice = chance.pick([10, 20, 200]);
  return {
    slice,
    answerCalls: slice === 200 ? 128 : slice - 4,
    groupEvents: chance.pick([1, 2, 5, 50]),
    crowdEvents: chance.pick([1, 3, 16]),
    pageEntries: chance.pick([1, 3, 16]),
    listAgents: chance.pick([1, 2, 50]),
    namesListed: chance.pick([1, 200]),
    noticeOutcomes: chance.pick([1, 3, 100]),
    noticeBytes: chance.pick([400, 8192]),
    foldRows: chance.pick([1, 3, 500]),
    queuedTurns: chance.pick([1, 3, 1000]),
    resultTries: chance.pick([1, 2, 5]),
    schemasKept: chance.pick([1, 64]),
    inboxMessages: chance.pick([1, 3, 200]),
    inboxSteers: chance.pick([1, 50]),
    queuedEvents: chance.pick([20, 100_000]),
    depth: chance.pick([2, 32]),
    entryInlineBytes: chance.pick([100, 4096]),
    compactLeastBytes: chance.pick([200, 2048]),
    contextRows: chance.pick([20, 3_000]),
    anchorBytes: chance.pick([0, 1_000, 16_384]),
    keptMessageBytes: chance.pick([300, 16_384]),
    cutLeastBytes: chance.pick([400, 1024]),
    noticeFirstMs: chance.pick([10, 30_000]),
    rounds: chance.pick([20, 500]),
  };
}

/** Puts a run's bounds in force; the returned function puts the product's back. */
export function useBounds(bounds: Bounds): () => void {
  const before = { ...limits };
  const target: Record<string, number> = limits;
  Object.assign(target, bounds);
  return () => void Object.assign(target, before);
}
