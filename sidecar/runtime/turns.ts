// Turns: how one opens, goes to its next round, parks and ends.

import { schemaWords } from '../core/context.ts';
import { head, firstLine, utf8Bytes } from '../core/text.ts';
import type { AgentRecord, TurnRecord } from '../core/rows.ts';
import type { Phase, WaitReason } from '../protocol/agent.ts';
import type { Outcome, Sender } from '../protocol/entry.ts';
import { agentId, blobId } from '../protocol/ids.ts';
import { pinTo } from './estimate.ts';
import { limits } from './limits.ts';
import { isOrphan } from './line.ts';
import { leaveQueues } from './queue.ts';
import type { Step } from './step.ts';
import { clearTimers } from './timers.ts';
import { schemaIn } from './transcript.ts';
import { resultOf } from './typed.ts';

/** Moves an agent to a phase. `why` is set exactly when it waits (I16). */
export function setPhase(step: Step, agent: AgentRecord, phase: Phase, why: WaitReason | null = null): void {
  if (agent.phase === phase && agent.why === why) return;
  agent.phase = phase;
  agent.why = why;
  agent.since = step.nowMs;
}

/** Who wrote, as transcripts say it. */
export const senderOf = (sender: number): Sender => (sender === 0 ? 'person' : agentId(sender));

type TurnStart = Pick<TurnRecord, 'agent' | 'state' | 'cause' | 'sender' | 'text' | 'key' | 'revision'> &
  Partial<Pick<TurnRecord, 'schema' | 'late' | 'model'>>;

/** Adds a turn that has not begun; returns its id. */
export function insertTurn(step: Step, start: TurnStart): number {
  const none = {
    schema: 0,
    late: null,
    model: null,
    outcome: null,
    brief: '',
    answer: 0,
    last: 0,
    bytes: 0,
    result: null,
    told: 0,
    stretch: 0,
    ended: 0,
  };
  return step.store.insert('turn', { ...none, ...start, started: step.nowMs });
}

/** The agent wants a model slot for its next round. */
export function startRound(step: Step, agent: AgentRecord): void {
  setPhase(step, agent, 'ready');
  step.wanting.add(agent.id);
}

/** The task that a turn begins with, as the first entry of the turn; the model reads its schema behind it. */
export function addTask(
  step: Step,
  agent: AgentRecord,
  turn: number,
  { sender, text, schema }: { sender: number; text: string; schema: number },
): void {
  const body = { kind: 'user', from: senderOf(sender), text, delivery: 'turn' } as const;
  if (schema === 0) step.addEntry(agent, turn, body);
  else {
    const more = utf8Bytes(schemaWords(schemaIn(step.store, schema)));
    step.addEntry(agent, turn, { ...body, schema: blobId(schema) }, more);
  }
}

interface Opening {
  readonly turn: number;
  /** 0 a person's, 1 an agent's. */
  readonly urgency: number;
  /** Blob of the schema of its result; 0: none. */
  readonly schema: number;
}

/** Begins a turn whose first entry is written already. Its parent counts it as at work. */
export function openTurn(step: Step, agent: AgentRecord, { turn, urgency, schema }: Opening): void {
  if (agent.phase === 'idle' && agent.parent !== 0) step.agent(agent.parent).openChildren += 1;
  agent.turn = turn;
  if (agent.nextProfile !== 0) pinTo(agent, agent.nextProfile);
  agent.nextProfile = 0;
  agent.urgency = urgency;
  agent.crashes = 0;
  agent.restarted = 0;
  agent.rounds = 0;
  agent.tries = 0;
  agent.empties = 0;
  agent.schema = schema;
  agent.misses = 0;
  agent.result = 0;
  agent.halted = 0;
  startRound(step, agent);
}

/** Begins the oldest queued turn, if there is one. Returns whether it did. */
export function openQueued(step: Step, agent: AgentRecord): boolean {
  const turn = step.store.range('turn.queued', [agent.id], { limit: 1 })[0];
  if (turn === undefined) return false;
  const text = turn.text ?? '';
  agent.queued -= 1;
  step.store.update('turn', turn.id, { state: 'open', text: null, started: step.nowMs });
  const { id, sender, schema } = turn;
  addTask(step, agent, id, { sender, text, schema });
  agent.doing = firstLine(text, limits.taskChars);
  openTurn(step, agent, { turn: id, urgency: sender === 0 ? 0 : 1, schema });
  return true;
}

/** A message that becomes a turn of its own when those before it have ended. Returns the turn's id. */
export function queueTurn(
  step: Step,
  agent: AgentRecord,
  message: Pick<TurnRecord, 'text' | 'sender' | 'key'> & Partial<Pick<TurnRecord, 'schema' | 'late'>>,
): number {
  agent.queued += 1;
  const { id, revision } = agent;
  return insertTurn(step, { agent: id, state: 'queued', cause: 'message', revision, ...message });
}

export interface Ending {
  readonly outcome: Outcome;
  /** What it said last, or why it failed. */
  readonly text: string;
  /** The entry that holds the whole of it; 0: none. */
  readonly answer: number;
}

/**
 * Ends the open turn: row, last entry, and the parent's outcome and counts, in one transaction (I9). Calls and attempts of the turn must be settled before. Then the next queued turn begins, unless halted.
 */
export function endTurn(step: Step, agent: AgentRecord, ending: Ending): void {
  const turn = agent.turn;
  const isDone = ending.outcome === 'done';
  const said = head(ending.text, limits.briefChars);
  const last = step.addEntry(agent, turn, { kind: 'end', outcome: ending.outcome, text: isDone ? '' : said });
  const isQuiet = endCompacting(step, agent, turn);
  const told = agent.parent === 0 || isQuiet ? 0 : addOutcome(step, agent, turn, ending.outcome);
  if (agent.parent !== 0) leaveWork(step, agent, turn, isQuiet ? 'done' : ending.outcome);
  const result = resultOf(step, agent);
  step.store.update('turn', turn, {
    state: 'ended',
    outcome: ending.outcome,
    told,
    stretch: agent.stretch,
    ...(result === null ? {} : { result }),
    brief: isDone && ending.answer !== 0 ? '' : said,
    answer: ending.answer,
    last,
    bytes: agent.bytes,
    ended: step.nowMs,
  });
  if (agent.phase === 'ready') leaveQueues(step, agent.id);
  if (agent.phase === 'waiting') clearTimers(step, agent.id, 'rate');
  agent.turn = 0;
  if (!isQuiet) {
    agent.last = turn;
    agent.outcome = ending.outcome;
    agent.doing = firstLine(ending.text, limits.taskChars);
  }
  agent.schema = 0;
  agent.result = 0;
  setPhase(step, agent, 'idle');
  step.turnEnded(turn);
  queueSteers(step, agent, turn);
  if (agent.halted !== 0 || !openQueued(step, agent)) step.looks.set(agent.id, false);
}

/**
 * A steer that came too late for its turn, however that ended, becomes a turn of its own: no user text is lost (I11).
 * Who sent it finds it by the turn that it was for, and by the key.
 */
function queueSteers(step: Step, agent: AgentRecord, late: number): void {
  for (let after = 0; ;) {
    const rows = step.store.range('inbox.agent', [agent.id], { after, limit: limits.slice });
    for (const row of rows) {
      after = row.id;
      if (row.kind !== 'steer') continue;
      step.store.remove('inbox', row.id);
      queueTurn(step, agent, { text: row.text, sender: row.sender, key: row.key, late });
    }
    if (rows.length < limits.slice) return;
  }
}

/**
 * How a child's turn ended, for its parent to hear once (I8), if that has not gone back to before it started the child
 * and so knows of none. A queued turn that opens next counts the child again. Returns the id of its row.
 */
function addOutcome(step: Step, child: AgentRecord, turn: number, outcome: Outcome): number {
  const parent = step.agent(child.parent);
  const orphan = isOrphan(step.store, parent, child);
  if (!orphan) parent.unheard += 1;
  return step.store.insert('outcome', {
    parent: parent.id,
    child: child.id,
    turn,
    outcome,
    revision: step.turn(turn).revision,
    via: orphan ? 0 : null,
  });
}

/** Its parent counts it as at work no longer; waits for this turn, or for all, look again. */
function leaveWork(step: Step, child: AgentRecord, turn: number, outcome: Outcome): void {
  const parent = step.agent(child.parent);
  parent.openChildren -= 1;
  step.untold.push({ parent: parent.id, turn, outcome });
}

/**
 * A summary that was being made is given up with its turn; one that is only due stays due. Returns whether the turn
 * was for nothing else: then what the agent did before it still stands, and its parent hears of nothing.
 */
function endCompacting(step: Step, agent: AgentRecord, turn: number): boolean {
  if (agent.compacting === 0) return false;
  const isQuiet = step.turn(turn).cause === 'compact';
  if (isQuiet || agent.compacting > 1) agent.compacting = 0;
  return isQuiet;
}
