// Deleting for good: the rows of branches whose trash was emptied, of what is left of them, and old rows of the ledger
// go in slices, behind the work of agents.
//
// Promises
//  - A slice removes limits.purgeRows rows or a few more (I18), and others go first while they have events.
//  - Each slice is a transaction after which all rows that are left agree, so a crash costs nothing and a restart goes
//    on. Deepest first: an agent goes when all below it are gone.
//  - What a fork begins with outlives its owner (`remains`): entries up to the last fork point, and what they name.
//  - Money that was spent stays with those above (Step.removeAgent).
// Not here: what is emptied and when (trash.ts).

import type { RemainsRecord } from '../core/branchRows.ts';
import type { IndexName, RowOf } from '../core/indexes.ts';
import type { AgentRecord, TableName, TurnRecord } from '../core/rows.ts';
import { endBackground } from './background.ts';
import { verdictOnItsWay } from './changes.ts';
import { interruptAgent } from './interrupt.ts';
import { bodyOf } from './jobs.ts';
import { limits } from './limits.ts';
import { addedUpTo, onFold } from './spend.ts';
import type { Step } from './step.ts';

/** Takes rows out of the store until a slice is full. */
class Slice {
  readonly #step: Step;
  #left: number = limits.purgeRows;

  constructor(step: Step) {
    this.#step = step;
  }

  get isFull(): boolean {
    return this.#left <= 0;
  }

  /** Counts a row that is removed elsewhere, or looked at. */
  count(): void {
    this.#left -= 1;
  }

  remove(table: TableName, id: number): void {
    this.#left -= 1;
    this.#step.store.remove(table, id);
  }

  removeBlobs(...ids: readonly number[]): void {
    for (const id of ids) if (id !== 0) this.remove('blob', id);
  }
}

/** Removes each of a range's rows, page by page. False: the slice is full, and there may be more. */
function removeAll<I extends IndexName>(
  { step, slice }: Job,
  range: { readonly index: I; readonly of: number },
  remove: (row: RowOf<I>) => boolean,
): boolean {
  for (;;) {
    const rows = step.store.range(range.index, [range.of], { limit: limits.slice });
    for (const row of rows) if (slice.isFull || !remove(row)) return false;
    if (rows.length < limits.slice) return true;
  }
}

interface Job {
  readonly step: Step;
  readonly slice: Slice;
}

/** The next slice; while others wait it lets them pass, up to limits.purgePasses times. */
export function onPurge(step: Step, chain: number, passes: number): void {
  const { rt } = step;
  if (chain !== rt.chains.purge) return;
  // What was written in worktrees stays when a person has not decided on it; the rest goes with its agent.
  if (passes === 0 && !purgeSlice(step)) return step.after(() => rt.trees.sweep());
  step.after(() => {
    const most = passes === 0 ? limits.purgePasses : passes - 1;
    rt.post({ kind: 'purge', chain, passes: rt.backlog() === 0 ? 0 : most });
  });
}

/** Removes a slice of rows. Returns whether there may be more. */
function purgeSlice(step: Step): boolean {
  const job: Job = { step, slice: new Slice(step) };
  while (!job.slice.isFull) {
    const due = step.store.range('remains.due', [1], { limit: 1 })[0];
    const trash =
      due === undefined ? step.store.range('trash.state', ['emptying'], { limit: 1 })[0] : undefined;
    if (due !== undefined) trimRemains(job, due);
    else if (trash === undefined) return trimLedger(job);
    else if (!purgeDeepest(job, trash.agent)) return false;
  }
  return true;
}

/**
 * Removes rows of the deepest agent of a branch. False: it has to wait for a verdict that is on its way to a file, or
 * for the end of a command in the background.
 */
function purgeDeepest(job: Job, top: number): boolean {
  const { step } = job;
  let at = top;
  for (let below = firstBelow(step, at); below !== undefined; below = firstBelow(step, at)) at = below.id;
  step.lookingAt = at;
  const agent = step.agent(at);
  if (agent.phase !== 'idle') interruptAgent(step, agent, 'Deleted by a person.');
  endBackground(step, agent);
  if (agent.commands > 0 || onItsWay(step, at)) return false;
  purgeAgent(job, agent);
  return true;
}

const firstBelow = (step: Step, id: number): AgentRecord | undefined =>
  step.store.range('agent.children', [id], { limit: 1 })[0] ??
  step.store.range('agent.detached', [id], { limit: 1 })[0];

/** Whether a verdict of a person is being written to a file: its row says so after a crash, so it stays until then. */
function onItsWay(step: Step, agent: number): boolean {
  for (let after = 0; ;) {
    const rows = step.store.range('change.agent', [agent], { after, limit: limits.slice });
    const last = rows.at(-1);
    if (rows.some((change) => verdictOnItsWay(step, change.id))) return true;
    if (last === undefined || rows.length < limits.slice) return false;
    after = last.id;
  }
}

/** Removes rows of an agent, and the agent when nothing else of it is left. */
function purgeAgent(job: Job, agent: AgentRecord): void {
  const { step, slice } = job;
  forget(step, agent);
  const keep = keptUpTo(step, agent.id);
  const others = ['inbox', 'outcome', 'timer'] as const;
  const index = { inbox: 'inbox.agent', outcome: 'outcome.parent', timer: 'timer.agent' } as const;
  const done =
    purgeTurns(job, { agent: agent.id, keep }, agent) &&
    others.every((table) =>
      removeAll(job, { index: index[table], of: agent.id }, (row) => gone(slice, table, row.id)),
    ) &&
    purgeChanges(job, agent) &&
    purgeSums(job, agent) &&
    purgeLine(job, { agent: agent.id, keep });
  if (!done || slice.isFull) return;
  const { id, forkAgent, forkEntry, forkStretch } = agent;
  if (agent.detached === 1) slice.remove('trash', agent.trash);
  step.removeAgent(agent);
  slice.count();
  const fork = { forkAgent, forkEntry, forkStretch };
  if (keep > 0) step.store.insert('remains', { agent: id, ...fork, upTo: keep, due: 0 });
  else lessNeeded(step, forkAgent);
}

/** What is added up of a root by hour goes with it; it stays in the sums of all (spend.ts). */
function purgeSums(job: Job, { id, parent }: AgentRecord): boolean {
  const { slice } = job;
  const own = { index: 'spend.root', of: id } as const;
  return parent !== 0 || removeAll(job, own, (row) => gone(slice, 'spend', row.id));
}

function gone(slice: Slice, table: TableName, id: number): boolean {
  slice.remove(table, id);
  return true;
}

/** What an agent's row says of rows that go before it. */
function forget(step: Step, agent: AgentRecord): void {
  const newest = step.store.range('outcome.parent', [agent.id], { newest: true, limit: 1 })[0];
  agent.heard = newest?.id ?? agent.heard;
  agent.unheard = 0;
  agent.head = 0;
  agent.last = 0;
  agent.stretch = 0;
  agent.born = 0;
}

/** Entries of an agent up to `keep` are what forks of it begin with; 0: none are. */
interface Kept {
  readonly agent: number;
  readonly keep: number;
}

/**
 * Turns, what was asked of a person in them, and how the parent was told of them, once it has heard. Turns that forks
 * begin with stay: their agents can be taken back to them.
 */
function purgeTurns(job: Job, { agent: id, keep }: Kept, agent: AgentRecord | null): boolean {
  const { step, slice } = job;
  for (let before = Number.MAX_SAFE_INTEGER; ;) {
    const turns = step.store.range('turn.agent', [id], { after: before, newest: true, limit: limits.slice });
    for (const turn of turns) {
      before = turn.id;
      if (slice.isFull) return false;
      const asked = { index: 'request.turn', of: turn.id } as const;
      if (!removeAll(job, asked, (row) => gone(slice, 'request', row.id))) return false;
      const outcome = turn.told === 0 ? undefined : step.store.get('outcome', turn.told);
      // One that the parent has not heard stays, and is told without its words.
      if (outcome !== undefined && outcome.id <= step.agent(outcome.parent).heard)
        slice.remove('outcome', outcome.id);
      if (turn.state === 'queued' && agent !== null) agent.queued -= 1;
      const begins = turn.last !== 0 && turn.last <= keep;
      if (!begins) slice.remove('turn', turn.id);
      else if (turn.told !== 0) unname(step, turn);
    }
    if (turns.length < limits.slice) return true;
  }
}

/** A turn that stays without its agent is no child's any more. */
function unname(step: Step, turn: TurnRecord): void {
  step.store.update('turn', turn.id, { told: 0 });
  if (step.store.get('outcome', turn.told) !== undefined)
    step.store.update('outcome', turn.told, { turn: 0 });
}

/** Changes with their verdicts, and the versions of files that these have kept. */
function purgeChanges(job: Job, agent: AgentRecord): boolean {
  const { slice } = job;
  return removeAll(job, { index: 'change.agent', of: agent.id }, (change) => {
    const verdicts = removeAll(job, { index: 'verdict.of', of: change.id }, (verdict) => {
      // The newest ones may be the change's own as well: removing a blob twice is removing it once.
      slice.removeBlobs(verdict.base, verdict.after);
      return gone(slice, 'verdict', verdict.id);
    });
    if (!verdicts) return false;
    slice.removeBlobs(change.base, change.after);
    if (change.state === 'open') agent.changes -= 1;
    return gone(slice, 'change', change.id);
  });
}

/** Entries behind `keep`, newest first: a result, and the call that it closes, go before the answer that asked for it. */
function purgeEntries({ step, slice }: Job, agent: number, keep: number): boolean {
  for (;;) {
    const page = step.store.range('entry.agent', [agent], { newest: true, limit: limits.slice });
    for (const entry of page) {
      if (entry.id <= keep) return true;
      if (slice.isFull) return false;
      const body = entry.kind === 'result' ? bodyOf(step.store, entry) : null;
      if (body?.kind === 'result') {
        slice.remove('call', body.call);
        slice.removeBlobs(body.blob ?? 0);
      }
      slice.removeBlobs(entry.blob);
      slice.remove('entry', entry.id);
    }
    if (page.length < limits.slice) return true;
  }
}

/** Entries that no fork begins with, and the stretches that they are in. */
function purgeLine(job: Job, { agent, keep }: Kept): boolean {
  const { step, slice } = job;
  if (!purgeEntries(job, agent, keep)) return false;
  for (let before = Number.MAX_SAFE_INTEGER; ;) {
    const page = { after: before, newest: true, limit: limits.slice };
    const stretches = step.store.range('stretch.agent', [agent], page);
    for (const stretch of stretches) {
      before = stretch.id;
      if (slice.isFull) return false;
      if (keep < stretch.first) slice.remove('stretch', stretch.id);
    }
    if (stretches.length < limits.slice) return true;
  }
}

/** The newest entry of an agent that a fork begins with; 0: there is no fork. */
function keptUpTo(step: Step, agent: number): number {
  const last = { newest: true, limit: 1 } as const;
  const fork = step.store.range('agent.forks', [agent], last)[0];
  const ended = step.store.range('remains.forks', [agent], last)[0];
  return Math.max(fork?.forkEntry ?? 0, ended?.forkEntry ?? 0);
}

/** A fork of an agent is gone: of one that is gone itself, less may be needed now. */
function lessNeeded(step: Step, agent: number): void {
  if (agent === 0) return;
  const remains = step.store.range('remains.agent', [agent], { limit: 1 })[0];
  if (remains !== undefined) step.store.update('remains', remains.id, { due: 1 });
}

function trimRemains(job: Job, remains: RemainsRecord): void {
  const { step, slice } = job;
  const keep = keptUpTo(step, remains.agent);
  const kept: Kept = { agent: remains.agent, keep };
  slice.count();
  if (!purgeTurns(job, kept, null) || !purgeLine(job, kept)) return;
  if (keep > 0) return step.store.update('remains', remains.id, { upTo: keep, due: 0 });
  slice.remove('remains', remains.id);
  lessNeeded(step, remains.forkAgent);
}

/**
 * Rows of the ledger go by age, whether their agent lives or not: what was spent is in the agents' rows and added up by
 * hour. A row that is not added up yet is, and goes with the next slice.
 */
function trimLedger({ step, slice }: Job): boolean {
  const upTo = addedUpTo(step);
  const oldest = step.store.range('ledger.all', [], { limit: limits.slice });
  for (const row of oldest) {
    if (slice.isFull) return true;
    if (step.nowMs - limits.ledgerKeptMs <= row.at) return false;
    if (upTo < row.id) {
      onFold(step);
      return true;
    }
    slice.remove('ledger', row.id);
  }
  return oldest.length === limits.slice;
}
