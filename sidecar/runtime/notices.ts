// Outcomes on their way from children to their parent: told once, many in one message (I8, DESIGN §5).
//
// An outcome is a row; what the parent has heard is a cursor over them that only moves forward. Whatever tells
// first (a wait that ends or a notice) moves the cursor, and nothing is told again. What a command of the parent was
// told (`roost run` in its shell) stands in that command's result: its row names the call, and the cursor passes over
// it. When the call ends without a result that could say it, the outcome is to be told again, as a new row.

import { foldOutcomes, noticeDue, type Told } from '../core/notice.ts';
import type { AgentRecord, OutcomeRecord } from '../core/rows.ts';
import type { RuntimeEvent } from './event.ts';
import { briefOf } from './jobs.ts';
import { limits } from './limits.ts';
import { isLeft } from './line.ts';
import { stoppedAt } from './standing.ts';
import type { Step } from './step.ts';
import { clearTimers, hasTimer, setTimer } from './timers.ts';
import { insertTurn, openTurn } from './turns.ts';

/** What one outcome says. */
export function toldOf(step: Step, row: OutcomeRecord): Told {
  const turn = step.store.get('turn', row.turn);
  const child = step.findAgent(row.child);
  if (turn === undefined || child === undefined)
    return {
      name: `agent ${row.child}, which a person deleted`,
      outcome: row.outcome,
      superseded: false,
      brief: '',
    };
  return {
    name: child.name,
    outcome: row.outcome,
    superseded: row.revision < child.revision || isLeft(step.store, child, turn),
    brief: turn.result ?? briefOf(step.store, turn),
  };
}

/** Takes all outcomes that the agent has not heard, as text of at most limits.noticeBytes; null when there are none. */
export function hear(
  step: Step,
  agent: AgentRecord,
): { readonly text: string; readonly count: number } | null {
  if (agent.unheard === 0) return null;
  const rows = step.store.range('outcome.parent', [agent.id], {
    after: agent.heard,
    limit: limits.noticeOutcomes,
  });
  const newest = step.store.range('outcome.parent', [agent.id], { newest: true, limit: 1 })[0];
  const count = agent.unheard;
  const told = rows.filter((row) => row.via === null).map((row) => toldOf(step, row));
  agent.heard = newest?.id ?? agent.heard;
  agent.unheard = 0;
  return { text: foldOutcomes(told, count - told.length, limits.noticeBytes), count };
}

/** A command of the parent is about to be told of turns: what it had not heard yet is told by that call's result. */
export function onTold(step: Step, event: Extract<RuntimeEvent, { kind: 'told' }>): void {
  step.after(() => event.reply({ ok: true, value: {} }));
  const call = step.store.get('call', event.call);
  if (call === undefined || call.open === 0) return;
  const parent = step.agent(call.agent);
  for (const turn of event.turns) {
    const told = step.store.get('turn', turn)?.told ?? 0;
    const outcome = told <= parent.heard ? undefined : step.store.get('outcome', told);
    if (outcome?.parent !== parent.id || outcome.via !== null) continue;
    step.store.update('outcome', outcome.id, { via: call.id });
    parent.unheard -= 1;
  }
}

/** A call has ended without a result that says what its command was told: the agent hears of it another way. */
export function tellAgain(step: Step, agent: AgentRecord, call: number): void {
  for (;;) {
    const rows = step.store.range('outcome.via', [call], { limit: limits.slice });
    for (const { id, ...outcome } of rows) {
      step.store.remove('outcome', id);
      const told = step.store.insert('outcome', { ...outcome, via: null });
      if (step.store.get('turn', outcome.turn) !== undefined)
        step.store.update('turn', outcome.turn, { told });
      agent.unheard += 1;
    }
    if (rows.length < limits.slice) return;
  }
}

/** Puts unheard outcomes into the transcript as one notice. */
function addNotice(step: Step, agent: AgentRecord): void {
  const heard = hear(step, agent);
  if (heard === null) return;
  const text = `[roost] ${heard.count} of your agents ended a turn:\n${heard.text}`;
  step.addEntry(agent, agent.turn, { kind: 'notice', text, outcomes: heard.count });
}

/** Wakes an idle agent when its notice is due, else sees to it that the window's end will (case 189). */
export function lookAtNotice(step: Step, agent: AgentRecord, failedNow: boolean, windowOver = false): void {
  if (agent.phase !== 'idle' || agent.halted !== 0 || agent.unheard === 0) return;
  if (stoppedAt(step, agent.id) !== undefined) return;
  const { openChildren, unheard } = agent;
  if (!noticeDue({ openChildren, unheard, failedNow, windowOver })) {
    if (hasTimer(step, agent.id, 'notice')) return;
    setTimer(step, { due: step.nowMs + agent.noticeGap, kind: 'notice', agent: agent.id, ref: 0 });
    agent.noticeGap = Math.min(limits.noticeLongestMs, agent.noticeGap * 2);
    return;
  }
  clearTimers(step, agent.id, 'notice');
  if (openChildren === 0) agent.noticeGap = limits.noticeFirstMs;
  const turn = insertTurn(step, {
    agent: agent.id,
    state: 'open',
    cause: 'notice',
    sender: 0,
    text: null,
    key: null,
    revision: agent.revision,
  });
  agent.turn = turn;
  addNotice(step, agent);
  openTurn(step, agent, { turn, urgency: 1, schema: 0 });
}
