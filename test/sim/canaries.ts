// Known-bad switches: each breaks one promise in one place, by lying through a port or by changing what a step
// does, and the simulator must notice. They test the tester; the product has no seam for them.
//
// A lie keeps the rows consistent where it can, so that it is found by the promise that it breaks and not by a
// count that happens to disagree.

import type { TableName } from '../../sidecar/core/rows.ts';
import { Step } from '../../sidecar/runtime/step.ts';
import type { Sim } from './sim.ts';
import type { AnyRow, Spoil } from './watchedStore.ts';

export const canaries = {
  ackBeforeCommit: 'the last commit before a crash was never on the disk',
  effectBeforeCommit: 'effects run before their transaction is committed',
  startedRowForgotten: 'a call runs while its row still says planned',
  unknownRunAgain: 'recovery starts a command again whose end nobody saw',
  judgedBeforeClaim: 'recovery says that a command never started without taking its claim',
  outcomeTwice: 'what was told of children is not remembered as told',
  outcomeLost: 'an outcome counts as told and was not',
  reservationLeaked: 'what an attempt held is not given back',
  reservationNotTaken: 'attempts hold nothing of their budget',
  slotLeaked: 'a request that ended keeps its slot',
  slotKeptInWait: 'an agent in wait_agent holds a model slot',
  timerLost: 'a timer is not set',
  wakeUpLost: 'agents that wait for budget are not told that some came free',
  touchedLost: 'some of the files that a command has changed are not recorded',
  commandEndLost: 'nobody hears that a command in the background has ended',
  commandKept: 'a command in the background is not ended with its agent',
  sequenceSkipped: 'a commit is not told to those who follow',
  interruptedWithoutResult: 'a call of an interrupted turn gets no result',
  countDrift: 'an ancestor misses a change of its counts',
  trashCounted: 'those above a deleted branch go on counting it',
  prefixFreed: 'what a fork begins with goes with the agent that it was forked from',
  arrivalKept: 'what is left of an import that was given up stays for ever',
  walkForgotten: 'a branch that is deleted in slices is forgotten after the first',
  keyForgotten: 'a message is taken without its key',
  unfair: 'the first root always goes first',
  frameSkipped: 'a frame never reaches its client',
  newsLost: 'the hub of the follows does not hear of a commit',
  denialForgotten: 'a file that a person refused is kept as trusted',
  leftTurnsSent: 'a model is sent what a rewind has left',
  wrongResultTaken: 'a result is taken that does not fit its schema',
  supersededResultTaken: 'a result stays that was handed in before a message of its turn',
  foldForgotten: 'what was added up by hour is not remembered as added up',
  poolForgotten: 'requests in flight of a pool are not counted against what it takes',
  compactionLosesEntry: 'the first entry after a summary is left out with what the summary stands for',
  summaryForgotten: 'requests begin with a summary that was never committed',
  unreadElided: 'results are left out that the model has not read',
  placeTwice: 'an agent gets two places in the queue for a slot',
} as const;

export type Canary = keyof typeof canaries;

/** Those that only clients can notice: they need the run with real reads. */
export const seenByFollowers: ReadonlySet<Canary> = new Set(['frameSkipped', 'newsLost']);

type Switch = (sim: Sim) => { readonly spoil?: Spoil; readonly flush?: (step: Step) => void };

const without = (row: AnyRow, ...columns: readonly string[]): AnyRow =>
  Object.fromEntries(Object.entries(row).filter(([name]) => !columns.includes(name)));

const onUpdate = (
  table: TableName,
  lie: (patch: AnyRow, id: number) => AnyRow | null,
): { readonly spoil: Spoil } => ({
  spoil: { update: (at, id, patch) => (at === table ? lie(patch, id) : patch) },
});

const onInsert = (table: TableName, lie: (row: AnyRow) => AnyRow | null): { readonly spoil: Spoil } => ({
  spoil: { insert: (at, row) => (at === table ? lie(row) : row) },
});

/** Changes what an entry says of what is sent from it on, where its body is in its row. */
const onView = (how: string, lie: (view: AnyRow) => AnyRow): { readonly spoil: Spoil } =>
  onInsert('entry', (row) => {
    if (row['kind'] !== 'context' || typeof row['body'] !== 'string') return row;
    const body = JSON.parse(row['body']) as { readonly how: string; readonly view: AnyRow };
    return body.how === how ? { ...row, body: JSON.stringify({ ...body, view: lie(body.view) }) } : row;
  });

/** Those that are not here are asked about where they happen: in sim.ts, fakeTools.ts, followers.ts. */
const switches: Partial<Record<Canary, Switch>> = {
  effectBeforeCommit: () => ({
    flush: (step) => {
      if (!step.slots.recovering) for (const effect of step.effects.splice(0)) effect();
    },
  }),
  startedRowForgotten: () =>
    onUpdate('call', (patch) => (patch['state'] === 'started' ? without(patch, 'state', 'started') : patch)),
  outcomeTwice: (sim) =>
    onUpdate('agent', (patch) =>
      'heard' in patch && sim.chance.hits(0.2) ? without(patch, 'heard', 'unheard') : patch,
    ),
  outcomeLost: (sim) =>
    onUpdate('agent', (patch) => {
      if (!(Number(patch['unheard']) > 0) || !sim.chance.hits(0.1)) return patch;
      return { ...patch, unheard: 0, heard: sim.disk.table('outcome').next - 1 };
    }),
  reservationLeaked: (sim) =>
    onUpdate('agent', (patch, id) => {
      const before = sim.disk.row('agent', id)?.bHeldTokens ?? 0;
      return Number(patch['bHeldTokens'] ?? before) < before && sim.chance.hits(0.1)
        ? without(patch, 'bHeldTokens', 'bHeldMicroUsd')
        : patch;
    }),
  reservationNotTaken: () => ({
    spoil: {
      update: (table, _id, patch) =>
        table === 'agent'
          ? without(patch, 'heldTokens', 'heldMicroUsd', 'bHeldTokens', 'bHeldMicroUsd')
          : patch,
    },
  }),
  slotLeaked: (sim) => ({
    flush: (step) => {
      if (step.turnsUnderWay.size > 0 && sim.chance.hits(0.05)) step.slots.modelUsed += 1;
    },
  }),
  slotKeptInWait: () => {
    let taken = 0;
    return {
      ...onInsert('wait', (row) => {
        taken += 1;
        return row;
      }),
      flush: (step) => {
        step.slots.modelUsed += taken;
        taken = 0;
      },
    };
  },
  unfair: () => ({
    flush: (step) => {
      step.slots.lastRoots = {};
    },
  }),
  timerLost: (sim) => onInsert('timer', (row) => (sim.chance.hits(0.1) ? null : row)),
  interruptedWithoutResult: () =>
    onInsert('entry', (row) => {
      if (row['kind'] !== 'result' || !String(row['body']).includes('"interrupted"')) return row;
      return { ...row, kind: 'note', body: JSON.stringify({ kind: 'note', text: 'gone' }) };
    }),
  countDrift: (sim) =>
    onUpdate('agent', (patch) => (sim.chance.hits(0.02) ? without(patch, 'bDone') : patch)),
  trashCounted: (sim) =>
    onUpdate('agent', (patch, id) =>
      Number(patch['children']) < (sim.disk.row('agent', id)?.children ?? 0)
        ? without(patch, 'bAgents')
        : patch,
    ),
  arrivalKept: (sim) =>
    onUpdate('trash', (patch, id) =>
      patch['state'] === 'emptying' && sim.disk.row('trash', id)?.state === 'arriving' ? null : patch,
    ),
  prefixFreed: () => ({ spoil: { hides: (index) => index === 'agent.forks' } }),
  keyForgotten: (sim) => onInsert('turn', (row) => (sim.chance.hits(0.5) ? { ...row, key: null } : row)),
  denialForgotten: () => onInsert('trust', (row) => ({ ...row, verdict: 'trusted' })),
  leftTurnsSent: (sim) =>
    onInsert('stretch', (row) => {
      const agent = Number(row['agent']);
      const fromStretch = sim.disk.row('agent', agent)?.stretch ?? 0;
      return { ...row, fromAgent: agent, fromEntry: Number(row['first']) - 1, fromStretch };
    }),
  wrongResultTaken: () => ({
    flush: (step) => {
      const { schemas } = step.rt;
      for (const blob of schemas.keys()) schemas.set(blob, { problemOf: () => null });
    },
  }),
  supersededResultTaken: (sim) =>
    onUpdate('agent', (patch, id) => {
      const before = sim.disk.row('agent', id);
      // Of an agent that goes on with its turn; at the end of one it is forgotten in any case.
      return patch['result'] === 0 && patch['turn'] === undefined && before?.turn !== 0
        ? without(patch, 'result')
        : patch;
    }),
  foldForgotten: () => onUpdate('folded', (patch) => without(patch, 'upTo')),
  poolForgotten: () => ({
    flush: (step) => {
      step.slots.inPool = {};
    },
  }),
  compactionLosesEntry: () => onView('compacted', (view) => ({ ...view, from: Number(view['from']) + 1 })),
  summaryForgotten: () =>
    onInsert('entry', (row) => {
      if (row['kind'] !== 'context' || !String(row['body']).includes('"compacted"')) return row;
      return { ...row, kind: 'note', body: JSON.stringify({ kind: 'note', text: 'gone' }) };
    }),
  unreadElided: () => onView('elided', (view) => ({ ...view, elided: Number.MAX_SAFE_INTEGER })),
  placeTwice: (sim) => ({
    flush: (step) => {
      const row = step.store.range('ready.root', ['model'], { limit: 1 })[0];
      if (row === undefined || !sim.chance.hits(0.05)) return;
      const { id: _id, ...place } = row;
      step.store.insert('ready', place);
    },
  }),
};

/** Turns a bad switch on for one run; returns what turns it off again. */
export function arm(canary: Canary, sim: Sim): () => void {
  const { spoil, flush } = switches[canary]?.(sim) ?? {};
  if (spoil !== undefined) sim.spoil = spoil;
  const real = Step.prototype.flush;
  if (flush !== undefined) {
    Step.prototype.flush = function (this: Step) {
      real.call(this);
      flush(this);
    };
  }
  return () => {
    Step.prototype.flush = real;
  };
}
