// A person's answers to requests: recorded once, applied in the same transaction (I15).

import { giveAgain, ownerOfSpent } from '../core/budget.ts';
import type { AgentRecord, RequestRecord } from '../core/rows.ts';
import type { Answer, AnswerState } from '../protocol/request.ts';
import { refuse } from './agents.ts';
import { openCall, prepareCall } from './calls.ts';
import type { ClientEvent } from './event.ts';
import { stopWork } from './interrupt.ts';
import { takeUpCalls } from './recover.ts';
import { pricedModel, priceProblem } from './priceQuestion.ts';
import { applyPrice } from './prices.ts';
import { closeRequest } from './requests.ts';
import { finishCall, setCall } from './results.ts';
import type { Step } from './step.ts';
import { applyTrust } from './trust.ts';
import { endTurn, setPhase, startRound } from './turns.ts';

export function onAnswer(step: Step, event: Extract<ClientEvent, { kind: 'request/answer' }>): void {
  const { params, reply } = event;
  const request = step.store.get('request', params.request);
  if (request === undefined) {
    const message = `There is no request ${params.request}. List the open ones again.`;
    return void step.after(() => reply({ ok: false, code: 'request/unknown', message }));
  }
  const problem = priceProblem(request, params.answer);
  if (problem !== null) return refuse(step, reply, 'request/invalid', problem);
  const state = applyAnswer(step, request, params);
  step.after(() => reply({ ok: true, value: { state } }));
}

/** One answer for many requests, as that many durable decisions. */
export function onAnswerMany(step: Step, event: Extract<ClientEvent, { kind: 'request/answerMany' }>): void {
  const { params, reply } = event;
  let applied = 0;
  for (const id of params.requests) {
    const request = step.store.get('request', id);
    if (request === undefined || priceProblem(request, params.answer) !== null) continue;
    if (applyAnswer(step, request, params) === 'applied') applied += 1;
  }
  const stale = params.requests.length - applied;
  step.after(() => reply({ ok: true, value: { applied, stale } }));
}

/**
 * Applies an answer to a request that is still open and whose turn is still there (cases 206, 207, 246). A client
 * that lost the connection before it heard asks again with its key, and is told what it was told then.
 */
function applyAnswer(
  step: Step,
  request: RequestRecord,
  { answer, key }: { readonly answer: Answer; readonly key: string },
): AnswerState {
  if (request.state !== 'open') return request.key === key ? 'applied' : 'stale';
  const agent = step.agent(request.agent);
  closeRequest(step, agent, request, { answer, key });
  switch (request.kind) {
    case 'approval':
      applyApproval(step, agent, request, answer);
      break;
    case 'question':
      applyText(step, agent, request, answer);
      break;
    case 'quarantine':
      applyRetry(step, agent, answer);
      break;
    case 'budget':
      applyBudget(step, agent, request, answer);
      break;
    case 'trust':
      applyTrust(step, agent, request, answer);
      break;
    case 'conflict':
      break;
  }
  return 'applied';
}

function applyApproval(step: Step, agent: AgentRecord, request: RequestRecord, answer: Answer): void {
  const call = openCall(step, request.call);
  if (call === null || call.state !== 'asking') return;
  if (answer.kind === 'allow') {
    // Looked at again: what was allowed is exactly what was shown, or the person is asked again.
    setCall(step, call, { state: 'planned' });
    prepareCall(step, agent, call);
    return;
  }
  const reason = answer.kind === 'deny' ? answer.reason : answer.text;
  const text = `The person denied this${reason === '' ? '.' : `: ${reason}`}`;
  finishCall(step, agent, call, { status: 'error', text });
}

function applyText(step: Step, agent: AgentRecord, request: RequestRecord, answer: Answer): void {
  const call = openCall(step, request.call);
  if (call === null) return;
  switch (answer.kind) {
    case 'text':
      return finishCall(step, agent, call, { status: 'ok', text: answer.text });
    case 'allow':
      return finishCall(step, agent, call, { status: 'ok', text: 'Yes.' });
    case 'deny':
      return finishCall(step, agent, call, {
        status: 'error',
        text: `The person did not answer. ${answer.reason}`.trim(),
      });
  }
}

function applyRetry(step: Step, agent: AgentRecord, answer: Answer): void {
  if (agent.phase !== 'waiting' || agent.why !== 'quarantine') return;
  if (answer.kind === 'deny') {
    stopWork(step, agent, 'The turn was ended by a person.');
    endTurn(step, agent, {
      outcome: 'failed',
      text: `Ended by a person. ${answer.reason}`.trim(),
      answer: 0,
    });
    return;
  }
  agent.crashes = 0;
  agent.tries = 0;
  agent.empties = 0;
  setPhase(step, agent, 'calling');
  takeUpCalls(step, agent);
}

function applyBudget(step: Step, agent: AgentRecord, request: RequestRecord, answer: Answer): void {
  if (agent.phase !== 'waiting' || agent.why !== 'budget') return;
  const priced = pricedModel(request);
  // Who waits for a price looks again when it is set, which is after this commit.
  if (priced !== null && applyPrice(step, priced, answer)) return;
  if (answer.kind === 'deny') {
    const what = priced === null ? 'The budget is spent.' : `${priced} has no price.`;
    return endTurn(step, agent, {
      outcome: 'failed',
      text: `${what} ${answer.reason}`.trim(),
      answer: 0,
    });
  }
  const owner = step.findAgent(ownerOfSpent(request.cluster) ?? 0);
  if (owner !== undefined && request.cluster !== null) giveAgain(owner, request.cluster, step.nowMs);
  startRound(step, agent);
}
