// What clients do to agents: start one, send to one, stop one or a branch.

import { modeBelow, type Revision } from '../core/knowledge.ts';
import type { AgentRecord } from '../core/rows.ts';
import { utf8Bytes } from '../core/text.ts';
import type { ErrorCode } from '../protocol/errors.ts';
import { agentId, turnId } from '../protocol/ids.ts';
import type { Params, Result } from '../protocol/methods.ts';
import { answerTo, keepAnswer } from './answered.ts';
import { callerOf, modeFrom, reachProblem, turnOfCaller } from './callers.ts';
import { openCall } from './calls.ts';
import type { ClientEvent, Reply, RuntimeEvent } from './event.ts';
import { hasRoom } from './inbox.ts';
import { endBackgroundBelow } from './background.ts';
import { interruptAgent } from './interrupt.ts';
import { placeOf } from './knowledge.ts';
import { limits } from './limits.ts';
import { childModelProblem, modelFor } from './models.ts';
import { landing, pinProfile, profileNames, type PinWish } from './profiles.ts';
import { finishCall } from './results.ts';
import { bear, freeName, spawnProblem } from './spawn.ts';
import { standingProblem, type Problem } from './standing.ts';
import type { Step } from './step.ts';
import { openQueued, queueTurn } from './turns.ts';
import { pinSchema } from './typed.ts';
import { interruptWaits } from './waits.ts';

export function refuse<T>(step: Step, reply: Reply<T>, code: ErrorCode, message: string): void {
  step.after(() => reply({ ok: false, code, message }));
}

/** Starts an agent. The same key gives the same agent for ever. */
export function onStart(step: Step, event: Extract<ClientEvent, { kind: 'agent/start' }>): void {
  const { params, reply } = event;
  const known = step.store.range('agent.key', [params.key], { limit: 1 })[0];
  if (known !== undefined) {
    const first = step.store.range('turn.agent', [known.id], { limit: 1 })[0];
    return accept(step, reply, known, first?.id ?? 0);
  }
  const plan = planStart(step, params);
  if ('code' in plan) return refuse(step, reply, plan.code, plan.message);
  const { parent, place, blob, revision, model } = plan;
  const reach = reachProblem(step, event, parent?.id ?? 0);
  if (reach !== null) return refuse(step, reply, reach.code, reach.message);
  const mode = parent === null ? (revision.mode ?? 'ask') : modeBelow(parent.mode, revision.mode);
  const schema = pinSchema(step, params.schema, blob);
  if (typeof schema === 'string') return refuse(step, reply, 'request/invalid', schema);
  const wanted = params.name ?? nameFrom(params.text);
  const { agent, turn } = bear(step, {
    parent: parent?.id ?? 0,
    name: freeName(step, parent?.id ?? 0, wanted),
    text: params.text,
    sender: callerOf(step, event),
    born: turnOfCaller(step, event, parent?.id ?? 0),
    schema,
    profile: blob,
    model,
    isolation: params.isolation ?? landing(step, parent, { place, revision }),
    mode: modeFrom(step, event, params.mode ?? mode),
    place,
    key: params.key,
  });
  const { budget } = params;
  agent.maxMicroUsd = budget?.microUsd ?? null;
  agent.maxTokens = budget?.tokens ?? null;
  agent.maxAgents = budget?.agents ?? null;
  agent.maxDepth = budget?.depth ?? null;
  agent.endBy = budget?.wallMs === undefined || budget.wallMs === null ? null : step.nowMs + budget.wallMs;
  accept(step, reply, agent, turn);
}

function accept(step: Step, reply: Reply<Result<'agent/start'>>, agent: AgentRecord, turn: number): void {
  const value = { agent: agentId(agent.id), turn: turnId(turn), name: agent.name };
  step.after(() => reply({ ok: true, value }));
}

/** The profile that is asked for, with what is chosen beside it. */
function pinWish(place: number, { profile, isolation, model, mode }: Params<'agent/start'>): PinWish {
  const choices = {
    ...(isolation === undefined ? {} : { isolation }),
    ...(model === undefined ? {} : { model }),
    ...(mode === undefined ? {} : { mode }),
  };
  return { place, name: profile ?? null, choices };
}

/** What an agent that may be started is made of. */
interface StartPlan {
  readonly parent: AgentRecord | null;
  /** Row of `place`. */
  readonly place: number;
  /** Blob of its profile's revision. */
  readonly blob: number;
  readonly revision: Revision;
  readonly model: string;
}

function planStart(step: Step, params: Params<'agent/start'>): StartPlan | Problem {
  const text = textProblem(params.text);
  if (text !== null) return text;
  if (params.name !== undefined && !/^[\w.-]{1,60}$/.test(params.name)) {
    return {
      code: 'request/invalid',
      message: `"${params.name}" cannot be a name: use 1 to 60 letters, digits, dots, - or _.`,
    };
  }
  if (params.name !== undefined && params.parent === undefined) {
    const taken = step.store.range('agent.named', [0, params.name], { limit: 1 })[0];
    if (taken !== undefined) {
      return {
        code: 'agent/nameTaken',
        message: `There is an agent "${params.name}" already. Send to it, or start one with another name.`,
      };
    }
  }
  const place = placeOf(step, params.workspace);
  const pinned = pinProfile(step, pinWish(place, params));
  if (pinned === null) {
    return {
      code: 'profile/unknown',
      message: `There is no profile "${params.profile ?? ''}" for ${params.workspace}. There are: ${profileNames(step, place)}.`,
    };
  }
  const parent = params.parent === undefined ? null : step.findAgent(params.parent);
  if (parent === undefined)
    return { code: 'agent/unknown', message: `There is no agent ${params.parent} to be the parent.` };
  const above = parent === null ? null : parentProblem(step, parent);
  if (above !== null) return above;
  const { blob, revision } = pinned;
  const model = modelFor(step, { named: params.model ?? null, revision, parent });
  if (model === null) {
    return {
      code: 'model/unknown',
      message:
        'No model is chosen. Name one as provider/model: the setting roost.model, ROOST_MODEL, or --model.',
    };
  }
  const lent = parent === null ? null : childModelProblem(step, model);
  return lent === null ? { parent, place, blob, revision, model } : { code: 'model/unknown', message: lent };
}

/** Why an agent may not have one more child; null when it may. */
function parentProblem(step: Step, parent: AgentRecord): Problem | null {
  const standing = standingProblem(step, parent);
  if (standing !== null) return standing;
  const spawn = spawnProblem(step, parent, 1);
  return spawn === null ? null : { code: 'budget/spent', message: spawn };
}

export function textProblem(text: string): Problem | null {
  if (text.trim() === '')
    return { code: 'request/invalid', message: 'The text is empty. Say what is to be done.' };
  if (utf8Bytes(text) > limits.messageBytes) {
    return {
      code: 'request/invalid',
      message: `The text is longer than ${limits.messageBytes} bytes. Put it into a file and name the file.`,
    };
  }
  return null;
}

/** A name from the first words of a task. */
function nameFrom(text: string): string {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.slice(0, 3).join('-').slice(0, 40) || 'agent';
}

/** Sends a message by the table of DESIGN §5. */
export function onSend(step: Step, event: Extract<ClientEvent, { kind: 'agent/send' }>): void {
  const { params, reply } = event;
  const agent = step.findAgent(params.agent);
  if (agent === undefined) return refuse(step, reply, 'agent/unknown', `There is no agent ${params.agent}.`);
  const again = sentBefore(step, params.key);
  if (again !== null) return void step.after(() => reply({ ok: true, value: again }));
  const text = textProblem(params.text);
  if (text !== null) return refuse(step, reply, text.code, text.message);
  const standing = standingProblem(step, agent);
  if (standing !== null) return refuse(step, reply, standing.code, standing.message);
  const busy = agent.phase !== 'idle';
  if (busy && params.delivery === 'reject') {
    return refuse(
      step,
      reply,
      'agent/busy',
      `${agent.name} is at work. Send with delivery queue or steer, or wait until it rests.`,
    );
  }
  const schema = pinSchema(step, params.schema, agent.profile);
  if (typeof schema === 'string') return refuse(step, reply, 'request/invalid', schema);
  if (busy && params.delivery === 'steer') {
    if (schema !== 0) {
      const message = `${agent.name} is at work, and a steer cannot change what its turn hands in. Send with delivery queue.`;
      return refuse(step, reply, 'request/invalid', message);
    }
    if (!hasRoom(step, agent.id, limits.inboxMessages + limits.inboxSteers)) {
      const message = `${agent.name} has not read what it was sent before. Wait for its next step, or stop it first.`;
      return refuse(step, reply, 'overloaded', message);
    }
    step.store.insert('inbox', {
      agent: agent.id,
      sender: callerOf(step, event),
      kind: 'steer',
      text: params.text,
      key: params.key,
      at: step.nowMs,
    });
    interruptWaits(step, agent);
    const value: Result<'agent/send'> = { turn: turnId(agent.turn), state: 'steered' };
    keepAnswer(step, params.key, value);
    return void step.after(() => reply({ ok: true, value }));
  }
  if (agent.queued >= limits.queuedTurns) {
    return refuse(
      step,
      reply,
      'overloaded',
      `${agent.name} has ${agent.queued} messages in its queue. Wait, or remove some.`,
    );
  }
  const sender = callerOf(step, event);
  if (sender === agent.parent && sender !== 0) agent.revision += 1;
  const turn = turnId(queueTurn(step, agent, { text: params.text, sender, key: params.key, schema }));
  agent.halted = 0;
  if (!busy) openQueued(step, agent);
  const state = agent.turn === turn ? 'started' : 'queued';
  step.after(() => reply({ ok: true, value: { turn, state } }));
}

/** The answer to a key that was used before: the message is not sent twice. A steer has its own, also when it came too late. */
function sentBefore(step: Step, key: string): Result<'agent/send'> | null {
  const steered = answerTo<Result<'agent/send'>>(step, key);
  if (steered !== null) return steered;
  const turn = step.store.range('turn.key', [key], { limit: 1 })[0];
  return turn === undefined
    ? null
    : { turn: turnId(turn.id), state: turn.state === 'queued' ? 'queued' : 'started' };
}

/** Stops an agent, and with `branch` all below it; answers with how many were at work. */
export function onInterrupt(step: Step, event: Extract<ClientEvent, { kind: 'agent/interrupt' }>): void {
  const { params, reply } = event;
  const agent = step.findAgent(params.agent);
  if (agent === undefined) return refuse(step, reply, 'agent/unknown', `There is no agent ${params.agent}.`);
  const stopped = interruptAgent(step, agent) ? 1 : 0;
  if (params.branch) endBackgroundBelow(step, agent);
  if (!params.branch || agent.children === 0)
    return void step.after(() => reply({ ok: true, value: { stopped } }));
  step.after(() =>
    step.rt.post({ kind: 'interruptMore', parents: [agent.id], after: 0, stopped, call: 0, reply }),
  );
}

/** The next page of a branch that is being interrupted. */
export function onInterruptMore(step: Step, event: Extract<RuntimeEvent, { kind: 'interruptMore' }>): void {
  const [parent, ...others] = event.parents;
  if (parent === undefined) return interrupted(step, event);
  const rows = step.store.range('agent.children', [parent], { after: event.after, limit: limits.slice });
  let { stopped } = event;
  const parents = [...others];
  step.countAllNow();
  for (const row of rows) {
    const child = step.agent(row.id);
    if (interruptAgent(step, child)) stopped += 1;
    // A branch without work, queue or wait below it has nothing to stop.
    if (child.bRunning + child.bWaiting > 0 && child.children > 0) parents.push(child.id);
  }
  const last = rows.at(-1);
  const next =
    rows.length < limits.slice || last === undefined
      ? { parents, after: 0 }
      : { parents: [parent, ...parents], after: last.id };
  step.after(() => step.rt.post({ ...event, ...next, stopped }));
}

/** All of the branch is stopped: whoever asked for it hears so. */
function interrupted(step: Step, event: Extract<RuntimeEvent, { kind: 'interruptMore' }>): void {
  const { stopped, call: id } = event;
  step.after(() => event.reply({ ok: true, value: { stopped } }));
  const call = openCall(step, id);
  if (call === null) return;
  const text = `Stopped, with all below: ${stopped} were at work.`;
  finishCall(step, step.agent(call.agent), call, { status: 'ok', text });
}
