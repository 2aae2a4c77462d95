// Compaction: the model's own summary takes the place of a conversation that no longer fits, or that a person wants
// shorter. All entries stay; requests begin with the summary from then on.
//
// The summary is a request of the open turn like any other: it waits for its slot, pace, key and budget, is lost and
// asked again like any other (I7), and over the same prefix, so that a prompt cache serves it. While it is due
// `agent.compacting` says so, and messages wait behind it. An idle agent is given a turn for it, of which nobody is told.

import { textOf } from '../core/answer.ts';
import { conductorProvider } from '../core/conductor.ts';
import { bytesFrom, keptMessages } from '../core/room.ts';
import type { AgentRecord } from '../core/rows.ts';
import { utf8Bytes, wellFormed } from '../core/text.ts';
import type { Block, ContextView, StopReason, Usage } from '../protocol/entry.ts';
import { turnId } from '../protocol/ids.ts';
import type { Result } from '../protocol/methods.ts';
import type { Item } from '../ports.ts';
import { refuse } from './agents.ts';
import type { ClientEvent } from './event.ts';
import { limits } from './limits.ts';
import { factsOf, goOn, trim, writeView } from './room.ts';
import { standingProblem } from './standing.ts';
import type { Step } from './step.ts';
import { viewOf } from './transcript.ts';
import { insertTurn, openTurn, startRound } from './turns.ts';

/** Summarises a conversation now, or before its next request when the agent is at work. The same key asks once. */
export function onCompact(step: Step, event: Extract<ClientEvent, { kind: 'agent/compact' }>): void {
  const { params, reply } = event;
  const agent = step.findAgent(params.agent);
  if (agent === undefined) return refuse(step, reply, 'agent/unknown', `There is no agent ${params.agent}.`);
  const again = askedBefore(step, params.key);
  if (again !== null) return void step.after(() => reply({ ok: true, value: again }));
  const standing = standingProblem(step, agent);
  if (standing !== null) return refuse(step, reply, standing.code, standing.message);
  const value = begin(step, agent, params);
  step.after(() => reply({ ok: true, value }));
}

function begin(
  step: Step,
  agent: AgentRecord,
  { key, focus }: { readonly key: string; readonly focus?: string },
): Result<'agent/compact'> {
  // A conductor reads its own plan in every request, and no model has to take that in.
  const isConductor = agent.model.startsWith(`${conductorProvider}/`);
  if (isConductor || agent.bytes < limits.compactLeastBytes) return { turn: null, state: 'nothing' };
  const text = focus ?? null;
  if (agent.phase !== 'idle') {
    if (agent.compacting === 0) agent.compacting = 1;
    if (text !== null) step.store.update('turn', agent.turn, { text });
    const value: Result<'agent/compact'> = { turn: turnId(agent.turn), state: 'queued' };
    step.store.insert('answered', { key, answer: JSON.stringify(value), at: step.nowMs });
    return value;
  }
  const { halted } = agent;
  const { id, revision } = agent;
  const start = { agent: id, state: 'open', cause: 'compact', sender: 0, text, key, revision } as const;
  const turn = insertTurn(step, start);
  agent.compacting = 1;
  openTurn(step, agent, { turn, urgency: 0, schema: 0 });
  // A stopped agent stays stopped: this is no message to it.
  agent.halted = halted;
  return { turn: turnId(turn), state: 'started' };
}

function askedBefore(step: Step, key: string): Result<'agent/compact'> | null {
  const turn = step.store.range('turn.key', [key], { limit: 1 })[0];
  if (turn !== undefined) return { turn: turnId(turn.id), state: 'started' };
  const queued = step.store.range('answered.key', [key], { limit: 1 })[0];
  if (queued === undefined) return null;
  const answer: Result<'agent/compact'> = JSON.parse(queued.answer);
  return answer;
}

/** What is sent behind the conversation to ask for its summary. */
export function summaryWish(step: Step, agent: AgentRecord): Item {
  const { text } = step.turn(agent.turn);
  const focus = text === null ? '' : `\n\nThe person wants this stressed: ${wellFormed(text)}`;
  return { kind: 'user', text: `${wish}${focus}` };
}

const wish = `[roost] This conversation is about to be replaced by a summary of it, which you write now and go on from. Call no tool: no call is carried out. Write the summary and nothing else, with these parts:
1. What the person wants: every requirement, limit and correction, in their own words where the words matter.
2. What was done: files, functions, commands and what came out, with exact names and paths.
3. What was found out and decided, and why; what was tried and did not work.
4. Agents that you have started: their names, their tasks, what they reported.
5. What is under way at this moment, and the next step.
6. What is left to do, and what is doubtful.
Leave out what a look at the files tells as well. Be exact rather than long.`;

interface Summary {
  readonly model: string;
  readonly blocks: readonly Block[];
  readonly stop: StopReason;
  readonly usage: Usage;
  readonly tail: number;
}

/** The summary of what is before entry `tail` has come, or something that is none. */
export function onSummary(step: Step, agent: AgentRecord, answer: Summary): void {
  // One that was cut at its limit begins with what matters most; half of a paused one is none.
  const isSummary = answer.stop !== 'refusal' && answer.stop !== 'pause';
  const text = isSummary ? wellFormed(textOf(answer.blocks)).trim() : '';
  if (text === '') return withoutSummary(step, agent);
  const { before, after } = putInPlace(step, agent, answer, text);
  const said = `The conversation was compacted: ${kilobytes(before)} of it became ${kilobytes(after)}.`;
  if (goOn(step, agent, said).kind === 'round') startRound(step, agent);
}

/** No text came. It is asked for again, a few times; then the oldest part is left out without one. */
function withoutSummary(step: Step, agent: AgentRecord): void {
  agent.compacting += 1;
  const isOver = agent.compacting > limits.summaryTries + 1;
  if (!isOver || trim(step, agent).kind === 'round') startRound(step, agent);
}

/** Puts the summary in the place of what it was made of. What was asked in the open turn is sent beside it, whole. */
function putInPlace(
  step: Step,
  agent: AgentRecord,
  { model, usage, tail }: Summary,
  text: string,
): { readonly before: number; readonly after: number } {
  const before = agent.bytes;
  const facts = factsOf(step, agent);
  const id = step.store.nextId('entry');
  // Without a tail it begins with this very entry, whose text is the summary.
  const from = agent.head < tail ? id : tail;
  const kept = keptMessages(facts, limits.keptMessageBytes).filter((row) => row.id < from);
  const view: ContextView = {
    ...viewOf(step.store, agent.context),
    from,
    kept: kept.map((row) => row.id),
    summary: id,
    // Of messages only the first may be longer than all are allowed to be.
    cutTo: kept[0]?.id ?? 0,
    cutBytes: limits.keptMessageBytes,
    plain: id,
  };
  const keptBytes = kept.reduce((sum, row) => sum + Math.min(row.bytes, limits.keptMessageBytes), 0);
  const after = utf8Bytes(text) + keptBytes + bytesFrom(facts.rows, from, view);
  writeView(step, agent, { how: 'compacted', view, bytes: after, tokens: 0, text, made: { model, usage } });
  return { before, after };
}

const kilobytes = (bytes: number): string => `${Math.max(1, Math.round(bytes / 1024))} KB`;
