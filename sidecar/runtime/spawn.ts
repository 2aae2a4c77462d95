// Starting agents: one by a client, or many by an agent in slices, each slice whole in one transaction.

import { must } from '../core/assert.ts';
import { modeBelow } from '../core/knowledge.ts';
import type { AgentRecord, CallRecord } from '../core/rows.ts';
import { firstLine } from '../core/text.ts';
import { parseVerb, type SpawnTasks, type SpawnVerb } from '../core/verbs.ts';
import type { Isolation, Mode } from '../protocol/agent.ts';
import { callId } from '../protocol/ids.ts';
import { openCall } from './calls.ts';
import { inputOf } from './jobs.ts';
import { isFresh } from './knowledge.ts';
import { limits } from './limits.ts';
import { childModelProblem, modelFor } from './models.ts';
import { landing, pinProfile, profileNames } from './profiles.ts';
import { finishCall, setCall } from './results.ts';
import type { Step } from './step.ts';
import { addTask, insertTurn, openTurn } from './turns.ts';
import { pinSchema } from './typed.ts';

export interface Birth {
  /** 0: a root. */
  readonly parent: number;
  readonly name: string;
  readonly text: string;
  /** Blob of the schema that the result of its first turn must fit; 0: none. */
  readonly schema: number;
  /** Who gives it its first task: 0 a person, else an agent, most often the parent. */
  readonly sender: number;
  readonly profile: number;
  readonly model: string;
  readonly isolation: Isolation;
  readonly mode: Mode;
  readonly place: number;
  readonly key: string | null;
  /** The turn of its parent that starts it; 0: a person does. */
  readonly born: number;
  /** The prefix that it shares with the agent it was forked from. */
  readonly fork?: Pick<
    AgentRecord,
    'forkAgent' | 'forkEntry' | 'forkStretch' | 'bytes' | 'context' | 'attempts'
  >;
}

/**
 * Makes an agent with its first turn open. Its row is written last, with everything that its turn and first entry
 * make of it: one insert instead of an insert and an update.
 */
export function bear(step: Step, birth: Birth): { readonly agent: AgentRecord; readonly turn: number } {
  const { text, schema, sender, fork, ...fields } = birth;
  const parent = birth.parent === 0 ? null : step.agent(birth.parent);
  const id = step.store.nextId('agent');
  const task = firstLine(text, limits.taskChars);
  const agent: AgentRecord = {
    id,
    ...blank,
    ...fields,
    root: parent?.root ?? id,
    depth: parent === null ? 0 : parent.depth + 1,
    task,
    doing: task,
    since: step.nowMs,
    created: step.nowMs,
    noticeGap: limits.noticeFirstMs,
    ...fork,
  };
  const cause = sender === 0 ? 'message' : 'spawn';
  const { revision } = agent;
  const opening = {
    agent: id,
    state: 'open',
    cause,
    sender,
    text: null,
    key: null,
    revision,
    schema,
  } as const;
  const turn = insertTurn(step, opening);
  addTask(step, agent, turn, { sender, text, schema });
  openTurn(step, agent, { turn, urgency: sender === 0 ? 0 : 1, schema });
  step.insertAgent(agent);
  if (parent !== null) parent.children += 1;
  return { agent, turn };
}

/** Why an agent may not start `count` more; null when it may. */
export function spawnProblem(step: Step, agent: AgentRecord, count: number): string | null {
  if (agent.depth + 1 > limits.depth)
    return `Agents may be nested ${limits.depth} deep, and you are at that depth. Do the work yourself.`;
  for (const each of step.lineage(agent.id)) {
    if (each.halted !== 0)
      return `${each.name} was stopped by a person, so nothing new starts under it. End your turn.`;
    if (each.closed !== 0) return `${each.name} is closed. End your turn.`;
    if (each.trash !== 0) return `${each.name} was deleted by a person. End your turn.`;
    if (each.maxAgents !== null && each.bAgents + count > each.maxAgents) {
      return `The budget of ${each.name} is ${each.maxAgents} agents and ${each.bAgents} are there, so ${count} more may not start. Do the work yourself or start fewer.`;
    }
    if (each.maxDepth !== null && agent.depth + 1 - each.depth > each.maxDepth) {
      return `The budget of ${each.name} allows agents ${each.maxDepth} deep below it. Do the work yourself.`;
    }
  }
  return null;
}

/** Begins a batch, on a look at the folder that is young enough: its people may have changed what agents are told. */
export function startSpawn(step: Step, agent: AgentRecord, call: CallRecord, verb: SpawnVerb): void {
  setCall(step, call, { evidence: JSON.stringify(noProgress(agent.children)) });
  if (isFresh(step, agent.place)) return spawnSlice(step, agent, call, verb);
  const { rt } = step;
  const { path: workspace } = must(
    step.store.get('place', agent.place),
    'the folder of an agent is in the store',
    {
      agent: agent.id,
    },
  );
  step.unsettled.add(agent.id);
  step.after(() => {
    if (step.closedCalls.has(call.id)) return;
    rt.batches.set(call.id, verb);
    rt.scout.look(workspace, (knowledge) => rt.post({ kind: 'looked', workspace, knowledge, call: call.id }));
  });
}

function batchProblem(step: Step, agent: AgentRecord, verb: SpawnVerb): string | null {
  if (verb.tasks.length > limits.spawnTasks)
    return `One call starts at most ${limits.spawnTasks} agents; this asks for ${verb.tasks.length}.`;
  const { place } = agent;
  const pin = pinProfile(step, { place, name: verb.profile });
  if (pin === null)
    return `There is no profile "${verb.profile ?? ''}". There are: ${profileNames(step, place)}.`;
  if (pin.revision.choices !== undefined) {
    return `The profile "${pin.revision.name}" is in a file that the person has not trusted yet. Use another one, or ask them.`;
  }
  const names = new Set<string>();
  for (const name of verb.tasks.names) {
    if (names.has(name)) return `Two tasks are named "${name}". Names must differ.`;
    names.add(name);
  }
  const model = modelFor(step, { named: verb.model, revision: pin.revision, parent: agent }) ?? agent.model;
  return childModelProblem(step, model) ?? spawnProblem(step, agent, verb.tasks.length);
}

/** The next slice of a batch whose call is still open. */
export function onSpawnMore(step: Step, id: number): void {
  const call = openCall(step, id);
  if (call === null) return;
  const verb = step.rt.batches.get(id) ?? parseVerb(call.tool, inputOf(step, call));
  if (verb.kind === 'spawn_agent') spawnSlice(step, step.agent(call.agent), call, verb);
}

interface SpawnProgress {
  readonly next: number;
  /** Children that the agent had before the batch: generated names go on from there. */
  readonly before: number;
  /** Blob of the schema of their results; 0: none. Not there in a batch of a build that knew of none. */
  readonly schema?: number;
  /** Names that were taken, by the index of their task: what the agent is called instead. */
  readonly instead: Readonly<Record<number, string>>;
}

const noProgress = (before: number): SpawnProgress => ({ next: 0, before, instead: {} });

function spawnSlice(step: Step, agent: AgentRecord, call: CallRecord, verb: SpawnVerb): void {
  const progress: SpawnProgress =
    call.evidence === null ? noProgress(agent.children) : JSON.parse(call.evidence);
  const end = Math.min(verb.tasks.length, progress.next + limits.slice);
  // Between two slices a branch above may have been stopped, its budget of agents used up by others, or a file
  // changed that the profile is in.
  const first = progress.next === 0;
  const pinned = pinProfile(step, { place: agent.place, name: verb.profile });
  const schema =
    first && pinned !== null ? pinSchema(step, verb.schema, pinned.blob) : (progress.schema ?? 0);
  const problem = first
    ? (batchProblem(step, agent, verb) ?? (typeof schema === 'string' ? schema : null))
    : pinned === null
      ? `The profile "${verb.profile ?? ''}" is gone.`
      : spawnProblem(step, agent, verb.tasks.length - progress.next);
  if (problem !== null || pinned === null || typeof schema === 'string') {
    step.after(() => void step.rt.batches.delete(call.id));
    const started = first ? '' : `${namesText(verb.tasks, progress.next, progress)} Then no more: `;
    finishCall(step, agent, call, { status: 'error', text: `${started}${problem ?? ''}` });
    return;
  }
  const { revision } = pinned;
  const common = {
    parent: agent.id,
    sender: agent.id,
    born: agent.turn,
    profile: pinned.blob,
    model: modelFor(step, { named: verb.model, revision, parent: agent }) ?? agent.model,
    isolation: verb.isolation ?? landing(step, agent, { place: agent.place, revision }),
    mode: modeBelow(agent.mode, revision.mode),
    place: agent.place,
    schema,
    key: null,
  };
  const instead: Record<number, string> = { ...progress.instead };
  for (let i = progress.next; i < end; i++) {
    const task = verb.tasks.at(i);
    const wanted = task.name ?? generatedName(progress, i);
    const name = freeName(step, agent.id, wanted);
    if (name !== wanted) instead[i] = name;
    bear(step, { ...common, name, text: task.task });
  }
  const done: SpawnProgress = { ...progress, next: end, schema, instead };
  if (end < verb.tasks.length) {
    setCall(step, call, { evidence: JSON.stringify(done) });
    step.unsettled.add(agent.id);
    step.after(() => {
      step.rt.batches.set(call.id, verb);
      step.rt.post({ kind: 'spawnMore', call: callId(call.id) });
    });
    return;
  }
  step.after(() => void step.rt.batches.delete(call.id));
  finishCall(step, agent, call, { status: 'ok', text: namesText(verb.tasks, end, done) });
}

const generatedName = (progress: SpawnProgress, index: number): string =>
  `agent-${progress.before + index + 1}`;

/** What the model is told of the first `count` tasks, which were started. */
function namesText(tasks: SpawnTasks, count: number, progress: SpawnProgress): string {
  const nameAt = (index: number): string =>
    progress.instead[index] ?? tasks.at(index).name ?? generatedName(progress, index);
  const started = `Started ${count} agent${count === 1 ? '' : 's'}: `;
  const names = (most: number): string =>
    Array.from({ length: Math.min(most, count) }, (_, index) => nameAt(index)).join(', ');
  if (count <= limits.namesListed) return `${started}${names(count)}.`;
  return `${started}${names(3)}, … ${nameAt(count - 1)}. Use list_agents for all names.`;
}

/** A name that no child of the parent has: the wanted one, or the wanted one with the first free number. */
export function freeName(step: Step, parent: number, wanted: string): string {
  const taken = (name: string): boolean =>
    step.store.range('agent.named', [parent, name], { limit: 1 }).length > 0;
  if (!taken(wanted)) return wanted;
  for (let n = 2; n < 10; n++) if (!taken(`${wanted}-${n}`)) return `${wanted}-${n}`;
  // Many want this name: the id that comes next names one that nobody has, without a look at all of them.
  for (let n = step.store.nextId('agent'); ; n++) if (!taken(`${wanted}-${n}`)) return `${wanted}-${n}`;
}

/** What a new agent is before anything has happened to it. */
export const blank = {
  phase: 'idle',
  why: null,
  turn: 0,
  homeModel: null,
  handed: 0,
  effort: null,
  head: 0,
  bytes: 0,
  context: 0,
  seenTokens: 0,
  seenBytes: 0,
  compacting: 0,
  forkAgent: 0,
  forkEntry: 0,
  forkStretch: 0,
  stretch: 0,
  outcome: null,
  nextProfile: 0,
  queued: 0,
  children: 0,
  openChildren: 0,
  heard: 0,
  unheard: 0,
  requests: 0,
  changes: 0,
  commands: 0,
  rank: 5,
  crashes: 0,
  restarted: 0,
  urgency: 0,
  attempts: 0,
  heldMicroUsd: 0,
  heldTokens: 0,
  rounds: 0,
  tries: 0,
  empties: 0,
  schema: 0,
  misses: 0,
  result: 0,
  last: 0,
  microUsd: 0,
  tokens: 0,
  cacheable: 0,
  cacheRead: 0,
  bAgents: 0,
  bRunning: 0,
  bWaiting: 0,
  bNeeds: 0,
  bFailed: 0,
  bDone: 0,
  bMicroUsd: 0,
  bTokens: 0,
  bCacheable: 0,
  bCacheRead: 0,
  bHeldMicroUsd: 0,
  bHeldTokens: 0,
  maxMicroUsd: null,
  maxTokens: null,
  maxAgents: null,
  maxDepth: null,
  endBy: null,
  closed: 0,
  trash: 0,
  detached: 0,
  revision: 1,
  halted: 0,
} as const satisfies Partial<AgentRecord>;
