// Waits: an agent inside wait_agent is a row with a count of the turns it still waits for. It holds no slot (I5)
// and nothing in memory (I4).

import type { AgentRecord, CallRecord, WaitRecord } from '../core/rows.ts';
import { finishCall } from './results.ts';
import { hear } from './notices.ts';
import { limits } from './limits.ts';
import type { Step } from './step.ts';
import { setTimer } from './timers.ts';
import type { Verb } from '../core/verbs.ts';

type WaitVerb = Extract<Verb, { kind: 'wait_agent' }>;

/** Begins a wait, or answers at once when there is nothing to wait for. */
export function startWait(step: Step, agent: AgentRecord, call: CallRecord, verb: WaitVerb): void {
  const turns: number[] = [];
  for (const name of verb.agents ?? []) {
    const child = step.store.range('agent.named', [agent.id, name], { limit: 1 })[0];
    if (child === undefined) {
      finishCall(step, agent, call, {
        status: 'error',
        text: `You have no agent named "${name}". Use list_agents to see their names.`,
      });
      return;
    }
    const turn = workOf(step, child.id);
    if (turn !== 0) turns.push(turn);
  }
  const everyChild = verb.agents === null;
  const named = verb.agents?.length ?? 0;
  const over = everyChild
    ? agent.openChildren === 0 || (verb.mode === 'any' && agent.unheard > 0)
    : turns.length === 0 || (verb.mode === 'any' && turns.length < named);
  if (over) {
    answer(step, agent, call, '');
    return;
  }
  const timeoutMs = verb.timeoutMs === null ? null : Math.min(Math.ceil(verb.timeoutMs), limits.agentWaitMs);
  const deadline = timeoutMs === null ? 0 : step.nowMs + timeoutMs;
  const wait = step.store.insert('wait', {
    agent: agent.id,
    call: call.id,
    mode: verb.mode,
    remaining: turns.length,
    everyChild: everyChild ? 1 : 0,
    deadline,
  });
  for (const turn of turns) step.store.insert('waiting', { wait, turn });
  if (deadline !== 0) setTimer(step, { due: deadline, kind: 'wait', agent: agent.id, ref: wait });
}

/** A turn ended: the parent's waits that it completes end too. */
export function turnEndedForWaits(step: Step, parent: AgentRecord, turn: number): void {
  for (const row of step.store.range('waiting.turn', [turn], { limit: limits.slice })) {
    step.store.remove('waiting', row.id);
    const wait = step.store.get('wait', row.wait);
    if (wait === undefined) continue;
    step.store.update('wait', wait.id, { remaining: wait.remaining - 1 });
    if (wait.mode === 'any' || wait.remaining <= 1) endWait(step, wait, '');
  }
  for (const wait of step.store.range('wait.agent', [parent.id], { limit: limits.slice })) {
    if (wait.everyChild === 0) continue;
    const hasNews = wait.mode === 'any' && parent.unheard > 0;
    if (hasNews || parent.openChildren === 0) endWait(step, wait, '');
  }
}

/** The time of a wait is over. */
export function waitOver(step: Step, waitId: number): void {
  const wait = step.store.get('wait', waitId);
  if (wait !== undefined) endWait(step, wait, 'The time is over. ');
}

/** A message arrived for an agent that waits: it reads it now and may wait again. */
export function interruptWaits(step: Step, agent: AgentRecord): boolean {
  const waits = step.store.range('wait.agent', [agent.id], { limit: limits.slice });
  for (const wait of waits) endWait(step, wait, 'The wait ended early: a message arrived for you. ');
  return waits.length > 0;
}

/** Takes an agent's waits away without an answer: their calls are answered otherwise. */
export function dropWaits(step: Step, agent: number): void {
  for (const wait of step.store.range('wait.agent', [agent], { limit: limits.slice }))
    removeWait(step, wait.id);
}

function removeWait(step: Step, wait: number): void {
  for (;;) {
    const rows = step.store.range('waiting.wait', [wait], { limit: limits.slice });
    for (const row of rows) step.store.remove('waiting', row.id);
    if (rows.length < limits.slice) break;
  }
  step.store.remove('wait', wait);
}

function endWait(step: Step, wait: WaitRecord, prefix: string): void {
  removeWait(step, wait.id);
  const call = step.store.get('call', wait.call);
  if (call === undefined || call.open === 0) return;
  answer(step, step.agent(wait.agent), call, prefix);
}

function answer(step: Step, agent: AgentRecord, call: CallRecord, prefix: string): void {
  const heard = hear(step, agent);
  const ended =
    heard === null ? 'None has ended since you last looked.' : `${heard.count} ended:\n${heard.text}`;
  const left =
    agent.openChildren === 0 ? 'None is at work any more.' : `${agent.openChildren} still at work.`;
  finishCall(step, agent, call, { status: 'ok', text: `${prefix}${ended}\n${left}` });
}

/** The turn that an agent works on, or the oldest it will; 0: it rests. */
function workOf(step: Step, id: number): number {
  const agent = step.agent(id);
  if (agent.turn !== 0) return agent.turn;
  if (agent.halted !== 0) return 0;
  return step.store.range('turn.queued', [id], { limit: 1 })[0]?.id ?? 0;
}
