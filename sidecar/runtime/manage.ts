// What people do with agents besides talking to them: fork, rename, configure, retry, take a message back.
// Not here: what is done to a whole branch (branches.ts).

import { must } from '../core/assert.ts';
import type { AgentRecord, TurnRecord } from '../core/rows.ts';
import { agentId, turnId } from '../protocol/ids.ts';
import { refuse, textProblem } from './agents.ts';
import { stopCommand } from './background.ts';
import { callerOf, modeFrom, reachProblem, turnOfCaller } from './callers.ts';
import { forgetCounts, pinTo } from './estimate.ts';
import type { ClientEvent } from './event.ts';
import { pinProfile, profileNames } from './profiles.ts';
import { goalOf, newestTurn } from './rewind.ts';
import { bear, freeName, spawnProblem } from './spawn.ts';
import { standingProblem } from './standing.ts';
import type { Step } from './step.ts';
import { contextAt } from './transcript.ts';
import { insertTurn, openTurn } from './turns.ts';
import { pinSchema } from './typed.ts';

type Event<K extends ClientEvent['kind']> = Extract<ClientEvent, { kind: K }>;

const unknown = (id: number): string => `There is no agent ${id}.`;

/** Forks an agent at the end of a turn: the prefix is shared by reference, so it costs the same at any length. */
export function onFork(step: Step, event: Event<'agent/fork'>): void {
  const { params, reply } = event;
  const known = step.store.range('agent.key', [params.key], { limit: 1 })[0];
  if (known !== undefined) {
    const first = must(step.store.range('turn.agent', [known.id], { limit: 1 })[0], 'an agent has a turn', {
      id: known.id,
    });
    const value = { agent: agentId(known.id), turn: turnId(first.id), name: known.name };
    return void step.after(() => reply({ ok: true, value }));
  }
  const source = step.findAgent(params.agent);
  if (source === undefined) return refuse(step, reply, 'agent/unknown', unknown(params.agent));
  const reach = reachProblem(step, event, source.parent);
  if (reach !== null) return refuse(step, reply, reach.code, reach.message);
  const at = goalOf(step, source, params.turn ?? newestTurn(step, source));
  if ('code' in at) return refuse(step, reply, at.code, at.message);
  const problem = textProblem(params.text);
  if (problem !== null) return refuse(step, reply, problem.code, problem.message);
  // A closed one may be forked: the fork is another agent.
  const standing = standingProblem(step, source);
  if (standing?.code === 'agent/trashed') return refuse(step, reply, standing.code, standing.message);
  const limit = source.parent === 0 ? null : spawnProblem(step, step.agent(source.parent), 1);
  if (limit !== null) return refuse(step, reply, 'budget/spent', limit);
  const { parent, profile, model, isolation, place } = source;
  const schema = pinSchema(step, params.schema, profile);
  if (typeof schema === 'string') return refuse(step, reply, 'request/invalid', schema);
  const name = freeName(step, parent, params.name ?? `${source.name}-fork`);
  // Keys of calls are made of the attempt's number: those of the prefix are taken.
  const context = contextAt(step.store, at);
  const fork = { ...prefixAt(at), context, attempts: source.attempts };
  const { agent, turn } = bear(step, {
    parent,
    name,
    profile,
    model,
    isolation,
    mode: modeFrom(step, event, source.mode),
    place,
    fork,
    text: params.text,
    sender: callerOf(step, event),
    born: turnOfCaller(step, event, parent),
    schema,
    key: params.key,
  });
  const value = { agent: agentId(agent.id), turn: turnId(turn), name };
  step.after(() => reply({ ok: true, value }));
}

const prefixAt = ({ agent, last, stretch, bytes }: TurnRecord) => ({
  forkAgent: agent,
  forkEntry: last,
  forkStretch: stretch,
  bytes,
});

/** Gives an agent another name, the wanted one or that with the first free number. */
export function onRename(step: Step, event: Event<'agent/rename'>): void {
  const { params, reply } = event;
  const agent = step.findAgent(params.agent);
  if (agent === undefined) return refuse(step, reply, 'agent/unknown', unknown(params.agent));
  if (!/^[\w.-]{1,60}$/.test(params.name)) {
    return refuse(
      step,
      reply,
      'request/invalid',
      `"${params.name}" cannot be a name: use 1 to 60 letters, digits, dots, - or _.`,
    );
  }
  if (agent.name !== params.name) {
    agent.name = freeName(step, agent.parent, params.name);
    // At once, so that the next to want this name in the same step finds it taken.
    step.writeNow(agent.id);
    // Lists of decisions show whose they are.
    step.requestsChanged(agent.id);
    step.changesChanged(agent.id);
  }
  const { name } = agent;
  step.after(() => reply({ ok: true, value: { name } }));
}

/** Another model, mode or isolation, from the next round on; another profile from the next turn on. */
export function onConfigure(step: Step, event: Event<'agent/configure'>): void {
  const { params, reply } = event;
  const agent = step.findAgent(params.agent);
  if (agent === undefined) return refuse(step, reply, 'agent/unknown', unknown(params.agent));
  if (params.model !== undefined && step.rt.model.info(params.model) === null) {
    return refuse(
      step,
      reply,
      'model/unknown',
      `"${params.model}" names no model that Roost can reach. Set its provider first.`,
    );
  }
  if (params.isolation !== undefined && agent.changes > 0 && params.isolation !== agent.isolation) {
    return refuse(
      step,
      reply,
      'agent/busy',
      `${agent.name} has changes without a verdict. Review them before its isolation changes.`,
    );
  }
  const model = agent.model;
  if (params.model !== undefined && params.model !== agent.model) forgetCounts(agent);
  agent.model = params.model ?? agent.model;
  agent.mode = params.mode ?? agent.mode;
  agent.isolation = params.isolation ?? agent.isolation;
  const pinned = params.profile === undefined ? null : pinAnew(step, agent, params.profile);
  if (pinned === 'unknown') {
    const message = `There is no profile "${params.profile ?? ''}". There are: ${profileNames(step, agent.place)}.`;
    return refuse(step, reply, 'profile/unknown', message);
  }
  const breaks = pinned === 'another' || model !== agent.model;
  step.after(() => reply({ ok: true, value: { prefix: breaks ? 'breaks' : 'kept' } }));
}

/**
 * Pins an agent to the present revision of a profile, from its next turn on. What it works with otherwise (model,
 * mode, isolation) stays: those are chosen by their own names.
 */
function pinAnew(step: Step, agent: AgentRecord, name: string): 'same' | 'another' | 'unknown' {
  const { place, isolation, model, mode } = agent;
  const pin = pinProfile(step, { place, name, choices: { isolation, model, mode } });
  if (pin === null) return 'unknown';
  if (pin.blob === agent.profile) {
    agent.nextProfile = 0;
    return 'same';
  }
  if (agent.turn === 0) pinTo(agent, pin.blob);
  else agent.nextProfile = pin.blob;
  return 'another';
}

/** Opens the last turn's work once more, as a turn of its own. */
export function onRetry(step: Step, event: Event<'turn/retry'>): void {
  const { params, reply } = event;
  const agent = step.findAgent(params.agent);
  if (agent === undefined) return refuse(step, reply, 'agent/unknown', unknown(params.agent));
  const known = step.store.range('turn.key', [params.key], { limit: 1 })[0];
  if (known !== undefined)
    return void step.after(() => reply({ ok: true, value: { turn: turnId(known.id) } }));
  const standing = standingProblem(step, agent);
  if (standing !== null) return refuse(step, reply, standing.code, standing.message);
  if (agent.phase !== 'idle' || agent.outcome === null || agent.outcome === 'done') {
    return refuse(
      step,
      reply,
      'turn/none',
      `${agent.name} has no turn that ended badly. Send it a message instead.`,
    );
  }
  const { schema, revision } = step.turn(agent.last);
  const turn = insertTurn(step, {
    agent: agent.id,
    state: 'open',
    cause: 'retry',
    sender: 0,
    text: null,
    key: params.key,
    schema,
    revision,
  });
  step.addEntry(agent, turn, { kind: 'note', text: '[roost] A person asks you to try again.' });
  openTurn(step, agent, { turn, urgency: 0, schema });
  step.after(() => reply({ ok: true, value: { turn: turnId(turn) } }));
}

/** Takes a queued message back. One that has begun stays: `removed` says which. */
export function onQueueRemove(step: Step, event: Event<'queue/remove'>): void {
  const { params, reply } = event;
  const turn = step.store.get('turn', params.turn);
  if (turn?.state === 'queued') {
    step.store.update('turn', turn.id, {
      state: 'ended',
      outcome: 'superseded',
      brief: 'Taken back.',
      ended: step.nowMs,
    });
    step.agent(turn.agent).queued -= 1;
    step.turnEnded(turn.id);
  }
  // Doing it twice is doing it once: a turn that never began and has ended was taken back.
  const removed =
    turn !== undefined && (turn.state === 'queued' || (turn.state === 'ended' && turn.last === 0));
  step.after(() => reply({ ok: true, value: { removed } }));
}

/** A person ends a command. */
export function onCommandKill(step: Step, event: Event<'command/kill'>): void {
  const { params, reply } = event;
  const row = step.store.range('background.call', [params.command], { limit: 1 })[0];
  if (row === undefined) {
    // Asked twice, or it has ended by itself: there is nothing to end.
    if (step.store.get('call', params.command) === undefined) {
      return refuse(step, reply, 'call/unknown', `There is no command ${params.command}.`);
    }
    return void step.after(() => reply({ ok: true, value: { killed: false } }));
  }
  stopCommand(step, row);
  step.after(() => reply({ ok: true, value: { killed: true } }));
}
