// Recovery: what was in flight when the last process ended, by the table of DESIGN §7. Its cost is the work in
// flight and not the number of agents: parked agents are not looked at.

import type { AgentRecord, CallRecord } from '../core/rows.ts';
import { isVerb } from '../core/verbs.ts';
import { callId } from '../protocol/ids.ts';
import { recoverBackground } from './background.ts';
import { isOurs, prepareCall, takeUp } from './calls.ts';
import { dropArrivals } from './arrivals.ts';
import { goOnPurging, goOnWalking } from './chains.ts';
import { recoverVerdicts } from './verdicts.ts';
import type { RecoverStage, RuntimeEvent } from './event.ts';
import { inputOf } from './jobs.ts';
import { settle } from './ledger.ts';
import { limits } from './limits.ts';
import { findLanes, resume } from './pacing.ts';
import { quarantine } from './parking.ts';
import { leaveQueues } from './queue.ts';
import type { Step } from './step.ts';
import { startRound } from './turns.ts';
import { runVerb } from './verbs.ts';

const next: Record<RecoverStage, RecoverStage | null> = {
  background: 'asking',
  asking: 'calling',
  calling: 'verdicts',
  verdicts: null,
};

type Recover = Extract<RuntimeEvent, { kind: 'recover' }>;

/** One slice of recovery; posts the next. */
export function onRecover(step: Step, event: Recover): void {
  const { stage, after } = event;
  const crashed = event.crashed ?? beginProcess(step);
  const { count, last } = recoverSlice(step, { stage, after }, crashed);
  const more = count < limits.slice ? null : last;
  const following = more === null ? next[stage] : stage;
  if (following === null) return recovered(step);
  step.after(() => step.rt.post({ kind: 'recover', stage: following, after: more ?? 0, crashed }));
}

/** This process is the store's from now on. Returns whether the last one ended otherwise than in order. */
function beginProcess(step: Step): boolean {
  const last = step.store.range('process.started', [], { newest: true, limit: 1 })[0];
  if (last !== undefined) step.store.remove('process', last.id);
  step.store.insert('process', { started: step.nowMs, ended: 0 });
  return last !== undefined && last.ended === 0;
}

/** The last row of an end in order: what it leaves in flight is no crash of anybody. */
export function onLeaving(step: Step): void {
  const own = step.store.range('process.started', [], { newest: true, limit: 1 })[0];
  if (own !== undefined) step.store.update('process', own.id, { ended: step.nowMs });
}

interface Slice<S extends RecoverStage = RecoverStage> {
  readonly stage: S;
  readonly after: number;
}

/** Recovers at most a slice; where the next one begins. */
function recoverSlice(
  step: Step,
  { stage, after }: Slice,
  crashed: boolean,
): { readonly count: number; readonly last: number } {
  if (stage === 'background') {
    const rows = recoverBackground(step, after);
    return { count: rows.length, last: rows.at(-1)?.call ?? 0 };
  }
  const rows =
    stage === 'verdicts' ? recoverVerdicts(step, after) : recoverAgents(step, { stage, after }, crashed);
  return { count: rows.length, last: rows.at(-1)?.id ?? 0 };
}

function recoverAgents(
  step: Step,
  { stage, after }: Slice<'asking' | 'calling'>,
  crashed: boolean,
): readonly AgentRecord[] {
  const index = stage === 'asking' ? 'agent.asking' : 'agent.calling';
  const rows = step.store.range(index, [stage], { after, limit: limits.slice });
  for (const row of rows) {
    step.lookingAt = row.id;
    const agent = step.agent(row.id);
    // A turn that met a bug while it was taken up has ended, and the next one of its agent is this process's own.
    if (agent.phase !== stage || step.rt.asking.has(row.id)) continue;
    agent.restarted = 1;
    if (crashed) agent.crashes += 1;
    if (stage === 'asking') recoverAttempt(step, agent);
    else recoverCalls(step, agent);
  }
  return rows;
}

/**
 * All that was in flight is taken up. What would have woken those who wait for budget or for a key may have been
 * an event of the process that is gone, so they look again.
 */
function recovered(step: Step): void {
  step.slots.recovering = false;
  step.budgetFreed = true;
  findLanes(step);
  // All of them, whatever their time: the clock may have been set back meanwhile.
  dropArrivals(step, Number.POSITIVE_INFINITY);
  goOnWalking(step);
  goOnPurging(step);
  step.after(() => {
    step.rt.post({ kind: 'keysMore', after: 0 });
    step.rt.post({ kind: 'trustMore', after: 0 });
    step.rt.post({ kind: 'editors', after: 0 });
    step.rt.post({ kind: 'fold' });
    step.rt.post({ kind: 'offersMore', after: 0 });
  });
}

/** A request without an answer is asked again, as a second attempt; what it may have cost counts. */
function recoverAttempt(step: Step, agent: AgentRecord): void {
  settle(step, agent, { model: agent.model, used: null });
  if (tooOften(step, agent)) return;
  resume(step, agent);
  startRound(step, agent);
}

function recoverCalls(step: Step, agent: AgentRecord): void {
  // Its calls stay as they are, untouched, until the person has decided.
  if (tooOften(step, agent)) leaveQueues(step, agent.id);
  else takeUpCalls(step, agent);
}

/** Goes on with the open calls of a process that is gone. */
export function takeUpCalls(step: Step, agent: AgentRecord): void {
  for (const call of step.store.range('call.open', [agent.id], { limit: limits.slice }))
    recoverCall(step, agent, call);
  step.unsettled.add(agent.id);
}

/** Planned calls start, verbs go on, pure calls run again, started ones are judged by their evidence; none is silently run twice (I3). */
function recoverCall(step: Step, agent: AgentRecord, call: CallRecord): void {
  const { rt } = step;
  if (isOurs(step, call.id)) return;
  if (call.state === 'planned') {
    const queued = step.store.range('ready.agent', [agent.id], { limit: limits.slice });
    if (!queued.some((place) => place.call === call.id)) prepareCall(step, agent, call);
    return;
  }
  if (call.state !== 'started') return;
  if (isVerb(call.tool)) {
    if (call.tool === 'spawn_agent') step.after(() => rt.post({ kind: 'spawnMore', call: callId(call.id) }));
    if (call.tool === 'interrupt_agent') runVerb(step, agent, call, inputOf(step, call));
    return;
  }
  takeUp(step, agent, call);
}

/** A turn that was in flight at three crashes may be what crashes the process: a person decides. */
function tooOften(step: Step, agent: AgentRecord): boolean {
  if (agent.crashes < limits.crashes) return false;
  quarantine(step, agent, `Roost crashed ${agent.crashes} times while ${agent.name} was at work.`);
  return true;
}
