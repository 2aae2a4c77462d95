// Rounds: one model request inside a turn, and what its answer asks for.
//
// The attempt's row, with what it may cost, is committed before the request leaves (I7); the answer and the plan
// of its calls are committed before any call is looked at.

import { invariant } from '../core/assert.ts';
import { judge, storable, type PlannedCall } from '../core/answer.ts';
import { reserve } from '../core/budget.ts';
import { afterLoss } from '../core/retry.ts';
import type { AgentRecord, CallRecord } from '../core/rows.ts';
import { isVerb } from '../core/verbs.ts';
import type { Block, StopReason, Usage } from '../protocol/entry.ts';
import { agentId, attemptId, type AgentId } from '../protocol/ids.ts';
import type { ModelOutcome, ModelRequest, ToolSpec } from '../ports.ts';
import { prepareCall } from './calls.ts';
import { onSummary, summaryWish } from './compact.ts';
import { answerTokens, learnFrom, requestTokens } from './estimate.ts';
import { openAttempt, settle } from './ledger.ts';
import { limits } from './limits.ts';
import { providerOf, type Asking, type Runtime, type Said } from './memory.ts';
import { comesBack, hearLimits, leave, paceAnswered, paceRefused, poolOf } from './pacing.ts';
import { cannotPay, parkUntil, quarantine, waitForKey } from './parking.ts';
import { pinnedProfile } from './profiles.ts';
import { finishCall } from './results.ts';
import { isCompacting, leaveOutReasoning, makeMoreRoom, makeRoom } from './room.ts';
import type { Step } from './step.ts';
import { pagesOf } from './transcript.ts';
import { settleRevision } from './trust.ts';
import { endTurn, senderOf, setPhase, startRound } from './turns.ts';
import { missingResult, noResult, supersedeResult } from './typed.ts';
import { runVerb } from './verbs.ts';

/** A slot is free for this agent: reserve, remember, ask. Or park it with the reason why not. */
export function startAttempt(step: Step, agent: AgentRecord): void {
  const { rt } = step;
  const pinned = pinnedProfile(step, agent.profile);
  if (pinned.revision.provisional) return settleRevision(step, agent, pinned.revision);
  const lacks = rt.model.lacks(agent.model);
  if (lacks === 'key') return waitForKey(step, agent, providerOf(agent.model));
  // A window that comes with what is missing is an event of its own.
  if (lacks === 'editor') return setPhase(step, agent, 'waiting', 'editor');
  // What comes while a summary is due is read after it, whole.
  if (agent.compacting === 0) takeIn(step, agent);
  const purpose = makeRoom(step, agent);
  if (purpose.kind === 'ended') return;
  const answer = answerTokens(step, agent.model);
  const outputTokens = purpose.kind === 'summary' ? Math.min(limits.summaryTokens, answer) : answer;
  const price = rt.model.price(agent.model);
  const held = reserve(step.lineage(agent.id), {
    input: requestTokens(step, agent),
    outputTokens,
    outputFloor: Math.min(limits.outputTokensFloor, outputTokens),
    price,
    nowMs: step.nowMs,
  });
  if (held.kind !== 'held') return cannotPay(step, agent, held);
  const attempt = openAttempt(step, agent, held);
  const instead = purpose.kind === 'summary' ? { tail: purpose.tail, item: summaryWish(step, agent) } : null;
  setPhase(step, agent, 'asking');
  const request: ModelRequest = {
    attempt: attemptId(attempt),
    agent: agentId(agent.id),
    model: agent.model,
    system: pinned.system,
    tools: pinned.tools,
    cacheKey: `roost-${agent.profile}-${agent.root}`,
    maxOutputTokens: held.outputTokens,
    pages: pagesOf(rt.store, agent, instead),
  };
  const pool = poolOf(step, agent);
  const ticket = leave(step, agent, pool);
  step.after(() => ask(rt, request, { price, pool, ticket, tail: instead?.tail ?? 0 }));
}

function ask(
  rt: Runtime,
  request: ModelRequest,
  asked: Pick<Asking, 'price' | 'pool' | 'ticket' | 'tail'>,
): void {
  const { agent, attempt, model } = request;
  const cancel = rt.model.ask(request, (event) => {
    if (event.kind === 'end') rt.post({ kind: 'modelEnd', agent, attempt, outcome: event.outcome });
    else if (event.kind === 'limits') hearLimits(rt, asked.pool, { ...event, ticket: asked.ticket });
    else if (event.kind === 'text') hearSaid(rt, agent, { text: event.text, thinking: '' });
    else hearSaid(rt, agent, { text: '', thinking: event.text });
  });
  rt.asking.set(agent, { attempt, model, cancel, ...asked, said: null });
}

/** Tells and keeps a piece of an answer. The pieces are the model's own strings; joined here they are not copied. */
function hearSaid(rt: Runtime, agent: AgentId, piece: Said): void {
  // Told first: who looks for the first time at this moment is given what was kept, and then this.
  rt.publish.delta(agent, piece.text, piece.thinking);
  const asking = rt.asking.get(agent);
  if (asking === undefined) return;
  const { text, thinking } = asking.said ?? { text: '', thinking: '' };
  asking.said = {
    text: newest(text + piece.text, limits.streamChars),
    thinking: newest(thinking + piece.thinking, limits.streamChars),
  };
}

/** Half goes at once, so that a long stream is not copied for every word. */
const newest = (text: string, chars: number): string =>
  text.length <= chars ? text : text.slice(-chars / 2);

/**
 * Messages that came meanwhile enter the transcript before the request that reads them. Outcomes of children do
 * not: a wait tells them, or a notice once the turn has ended, so that what a turn reads does not hang on timing.
 */
function takeIn(step: Step, agent: AgentRecord): void {
  let steered = false;
  for (const row of step.store.range('inbox.agent', [agent.id], { limit: limits.slice })) {
    step.store.remove('inbox', row.id);
    if (row.kind === 'note') {
      step.addEntry(agent, agent.turn, { kind: 'note', text: row.text });
      continue;
    }
    const from = senderOf(row.sender);
    const name = row.sender === 0 ? '' : (step.findAgent(row.sender)?.name ?? 'an agent that was deleted');
    const text = row.kind === 'steer' ? row.text : `[roost] Message from ${name}:\n${row.text}`;
    step.addEntry(agent, agent.turn, { kind: 'user', from, text, delivery: row.kind });
    steered ||= row.kind === 'steer';
  }
  if (steered) supersedeResult(step, agent);
  if (agent.restarted === 0) return;
  agent.restarted = 0;
  const text =
    '[roost] The runtime restarted while you were at work. What you had in flight was taken up again; results say what is not known.';
  step.addEntry(agent, agent.turn, { kind: 'note', text });
}

/** A model request has ended. Late ends of attempts that were settled otherwise change nothing. */
export function onModelEnd(
  step: Step,
  ended: { agent: number; attempt: number; outcome: ModelOutcome },
): void {
  const { attempt, outcome } = ended;
  const agent = step.findAgent(ended.agent);
  if (agent?.phase !== 'asking' || agent.attempts !== attempt) return;
  const asking = step.rt.asking.get(agent.id);
  const ticket = asking?.ticket;
  // The agent may have been given another model while this one was at work.
  const model = asking?.model ?? agent.model;
  const pool = asking?.pool ?? poolOf(step, agent);
  comesBack(step, pool);
  step.turnsUnderWay.add(agent.id);
  step.after(() => {
    step.rt.asking.delete(agent.id);
    step.rt.publish.streamEnd(agentId(agent.id));
  });
  agent.crashes = 0;
  if (outcome.kind === 'answer') {
    if (ticket !== undefined) paceAnswered(step, pool, ticket, outcome.usage.output);
    settle(step, agent, { model, used: { usage: outcome.usage, price: asking?.price ?? null } });
    if (isCompacting(agent)) onSummary(step, agent, { model, tail: asking?.tail ?? 0, ...outcome });
    else onAnswer(step, agent, { attempt, model, ...outcome });
    return;
  }
  const nothing: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  const isCut = outcome.kind === 'cut' && outcome.receivedBytes > 0;
  settle(step, agent, { model, used: isCut ? null : { usage: nothing, price: null } });
  if (outcome.kind !== 'refused') return onLoss(step, agent, outcome);
  // The pool's business: the agent waits with all others, and is not the one that counts.
  const { retryAtMs } = outcome;
  if (ticket !== undefined) paceRefused(step, pool, { ticket, retryAtMs, random: step.rt.random.next() });
  startRound(step, agent);
}

type Loss = Exclude<ModelOutcome, { kind: 'answer' | 'refused' }>;

function onLoss(step: Step, agent: AgentRecord, outcome: Loss): void {
  const { rt } = step;
  if (outcome.kind === 'rejected' && mend(step, agent, outcome)) return;
  const provider = providerOf(agent.model);
  const random = rt.random.next();
  const facts = { nowMs: step.nowMs, tries: agent.tries, random, model: agent.model };
  const next = afterLoss(outcome, facts, limits);
  if (outcome.kind === 'rejected' && outcome.code === 'wrongKey')
    step.after(() => rt.model.setKey(provider, null));
  switch (next.kind) {
    case 'again':
      agent.tries += 1;
      return parkUntil(step, agent, 'timer', next.atMs);
    case 'key':
      return waitForKey(step, agent, provider);
    case 'editor':
      // Another window may have it; without one the agent waits.
      return startRound(step, agent);
    case 'quarantine':
      return quarantine(step, agent, next.message);
    case 'failed':
      return endTurn(step, agent, { outcome: 'failed', text: next.message, answer: 0 });
  }
}

/** Whether a conversation that was not taken is sent otherwise: its history must not make an agent unable to go on. */
function mend(step: Step, agent: AgentRecord, outcome: Extract<Loss, { kind: 'rejected' }>): boolean {
  if (outcome.code === 'contextTooLong') return makeMoreRoom(step, agent, outcome.limitTokens ?? null);
  if (outcome.code !== 'staleReasoning' || !leaveOutReasoning(step, agent)) return false;
  startRound(step, agent);
  return true;
}

interface Answered {
  readonly attempt: number;
  /** The model that was asked. */
  readonly model: string;
  readonly blocks: readonly Block[];
  readonly stop: StopReason;
  readonly usage: Usage;
}

function onAnswer(step: Step, agent: AgentRecord, answer: Answered): void {
  const turn = agent.turn;
  const { model, stop, usage } = answer;
  const blocks = storable(answer.blocks, answer.attempt);
  const judgement = judge(blocks, stop, limits);
  const bytes = agent.bytes;
  const entry =
    blocks.length === 0 ? 0 : step.addEntry(agent, turn, { kind: 'answer', model, blocks, stop, usage });
  learnFrom(step, agent, { model, usage, answerBytes: agent.bytes - bytes });
  const empties = judgement.kind === 'again' && judgement.empty ? agent.empties + 1 : 0;
  agent.rounds += 1;
  agent.tries = 0;
  agent.empties = empties;
  switch (judgement.kind) {
    case 'calls':
      return plan(step, agent, entry, judgement.calls);
    case 'final': {
      const missing = missingResult(agent);
      if (missing === null)
        return endTurn(step, agent, { outcome: 'done', text: judgement.text, answer: entry });
      step.addEntry(agent, turn, { kind: 'note', text: missing });
      return nextRound(step, agent);
    }
    case 'failed':
      return endTurn(step, agent, { outcome: 'failed', text: judgement.text, answer: entry });
    case 'again': {
      if (empties > limits.emptyAnswers) {
        const text = `${agent.model} gave no usable answer ${empties} times in a row. Send the task again, or choose another model.`;
        return endTurn(step, agent, { outcome: 'failed', text, answer: entry });
      }
      if (judgement.note !== null) step.addEntry(agent, turn, { kind: 'note', text: judgement.note });
      return nextRound(step, agent);
    }
  }
}

/** Commits the plan: a row for each call; the runtime's own tools act at once, the others are looked at after the commit. */
function plan(step: Step, agent: AgentRecord, entry: number, calls: readonly PlannedCall[]): void {
  const offered = pinnedProfile(step, agent.profile).tools;
  setPhase(step, agent, 'calling');
  for (const planned of calls) {
    const { block, key, tool } = planned;
    const fields = { agent: agent.id, turn: agent.turn, entry, block, key, tool };
    const id = step.store.nextId('call');
    const call: CallRecord = {
      id,
      ...fields,
      state: 'planned',
      evidence: null,
      started: 0,
      result: 0,
      open: 1,
    };
    step.planning = call;
    planCall(step, agent, call, { planned, offered });
    step.planning = null;
    const { id: _next, ...row } = call;
    invariant(step.store.insert('call', row) === id, 'a call gets the id that its rows name', { id });
  }
  step.unsettled.add(agent.id);
  step.callsChanged(agent.id);
}

interface Plan {
  readonly planned: PlannedCall;
  readonly offered: readonly ToolSpec[];
}

function planCall(step: Step, agent: AgentRecord, call: CallRecord, { planned, offered }: Plan): void {
  const known = offered.some((tool) => tool.name === planned.tool);
  if (!known || planned.input === null) {
    const names = offered.map((tool) => tool.name).join(', ');
    const text = known ? planned.problem : `There is no tool "${planned.tool}". There are: ${names}.`;
    finishCall(step, agent, call, { status: 'error', text });
  } else if (isVerb(planned.tool)) runVerb(step, agent, call, planned.input);
  else prepareCall(step, agent, call);
}

/** The turn goes on, unless it has gone on too long, or has tried too often to hand in its result. */
export function nextRound(step: Step, agent: AgentRecord): void {
  const failed = noResult(agent);
  if (failed !== null) return endTurn(step, agent, { outcome: 'failed', text: failed, answer: 0 });
  if (agent.rounds >= limits.rounds) {
    const text = `The turn was ended after ${limits.rounds} rounds without a final answer. Send a smaller task.`;
    return endTurn(step, agent, { outcome: 'failed', text, answer: 0 });
  }
  startRound(step, agent);
}
