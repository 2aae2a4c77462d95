// Stopping a turn: what is in flight is given up, every open call gets its result, the queue is kept (case 203).

import type { AgentRecord, CallRecord } from '../core/rows.ts';
import { isVerb } from '../core/verbs.ts';
import { agentId } from '../protocol/ids.ts';
import { endBackground } from './background.ts';
import { isOurs, releaseCall, takeUp } from './calls.ts';
import { limits } from './limits.ts';
import { tellAgain } from './notices.ts';
import { comesBack } from './pacing.ts';
import { leaveQueues } from './queue.ts';
import { withdrawRequests } from './requests.ts';
import { finishCall } from './results.ts';
import { settle } from './ledger.ts';
import type { Step } from './step.ts';
import { clearTimers } from './timers.ts';
import { endTurn } from './turns.ts';
import { dropWaits } from './waits.ts';

/** Interrupts an agent's turn; it rests until it is sent a message. Returns whether a turn was open. */
export function interruptAgent(step: Step, agent: AgentRecord, why = 'Stopped by a person.'): boolean {
  agent.halted = 1;
  clearTimers(step, agent.id, 'notice');
  endBackground(step, agent);
  if (agent.phase === 'idle') return false;
  stopWork(step, agent, `${why} It had not ended.`);
  endTurn(step, agent, { outcome: 'interrupted', text: why, answer: 0 });
  return true;
}

/** Gives up the attempt and the calls of the open turn, with a result for each call, and its requests and waits. */
export function stopWork(step: Step, agent: AgentRecord, text: string): void {
  giveUpAttempt(step, agent);
  leaveQueues(step, agent.id);
  dropWaits(step, agent.id);
  for (const call of step.store.range('call.open', [agent.id], { limit: limits.slice })) {
    if (call.state === 'started' && !isVerb(call.tool) && !isOurs(step, call.id)) endStray(step, agent, call);
    step.after(() => step.rt.calling.get(call.id)?.());
    releaseCall(step, call);
    tellAgain(step, agent, call.id);
    finishCall(step, agent, call, { status: 'interrupted', text });
  }
  withdrawRequests(step, agent);
  clearTimers(step, agent.id, 'wait');
}

/**
 * A command of the last process that nobody looks after is taken up to be ended. One that cannot even be described
 * may be why this turn is stopped, so it is left alone.
 */
function endStray(step: Step, agent: AgentRecord, call: CallRecord): void {
  try {
    takeUp(step, agent, call);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    step.rt.log('a call of the last process could not be ended', { call: call.id, message });
  }
}

function giveUpAttempt(step: Step, agent: AgentRecord): void {
  const { rt } = step;
  if (agent.phase !== 'asking') return;
  const asking = rt.asking.get(agent.id);
  settle(step, agent, { model: asking?.model ?? agent.model, used: null });
  // One of the last process that recovery has not taken up holds no slot of this one.
  if (asking?.attempt !== agent.attempts) return;
  comesBack(step, asking.pool);
  step.after(() => {
    rt.asking.get(agent.id)?.cancel();
    rt.asking.delete(agent.id);
    rt.publish.streamEnd(agentId(agent.id));
  });
}
