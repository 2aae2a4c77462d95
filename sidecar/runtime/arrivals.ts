// Arrivals: branches that are imported, part after part of their file (protocol/branchFile.ts).
//
// Promises
//  - Until its last part a branch is nowhere: it comes by way of the trash, as what is restored does. One that is given
//    up, by an error, a crash or a client that left, goes like what is deleted for good (trash.ts, purge.ts).
//  - Nothing starts: every turn has ended, every call has a result, and nothing was spent in this store.
//  - What a part needs of those before it are the agents above, the turn and its open calls: memory does not grow (I6).
//  - The key of a file is the key of the branch that it became, so the same file twice is one branch.
// Not here: the form of a line (rpc/branchLines.ts), and whether the file is whole, which its reader checks.

import { must } from '../core/assert.ts';
import type { AgentRecord } from '../core/rows.ts';
import { readSchema } from '../core/schema.ts';
import { utf8Bytes } from '../core/text.ts';
import type {
  AgentLine,
  BranchLine,
  EntryLine,
  FileBody,
  FileSender,
  TurnLine,
} from '../protocol/branchFile.ts';
import type { EntryBody } from '../protocol/entry.ts';
import { agentId, blobId, callId } from '../protocol/ids.ts';
import type { JsonObject } from '../protocol/json.ts';
import type { BranchDone, Result } from '../protocol/methods.ts';
import { refuse } from './agents.ts';
import { goOnPurging } from './chains.ts';
import type { ClientEvent, Reply } from './event.ts';
import { placeOf } from './knowledge.ts';
import { limits } from './limits.ts';
import type { Arrival } from './memory.ts';
import { pinProfile } from './profiles.ts';
import { sharedBlob } from './shared.ts';
import { blank, freeName } from './spawn.ts';
import type { Step } from './step.ts';
import { insertTurn, senderOf } from './turns.ts';
import { startWalk } from './walks.ts';

type Event = Extract<ClientEvent, { kind: 'agent/import' }>;

/** What is wrong with a line, in words for a person; null: nothing. */
type Wrong = string | null;

/** One part of a file. The last one lets the branch appear. */
export function onImport(step: Step, event: Event): void {
  const { params, reply } = event;
  const known = step.store.range('agent.key', [params.key], { newest: true, limit: 1 })[0];
  const state = known === undefined ? undefined : step.store.get('trash', known.trash)?.state;
  if (known !== undefined && state !== 'arriving' && state !== 'emptying') {
    const value = { agent: agentId(known.id), name: known.name, agents: known.bAgents };
    return void step.after(() => reply({ ok: true, value }));
  }
  const arrival = params.after === 0 ? begin(step, event, known) : goOn(step, event, state);
  if (arrival === null) return;
  const wrong = takeLines(step, arrival, params);
  if (wrong !== null) {
    giveUp(step, arrival);
    return refuse(step, reply, 'import/invalid', `The file cannot be imported: ${wrong}`);
  }
  if (params.last) return arrive(step, arrival, reply);
  arrival.taken += params.lines.length;
  if (arrival.trash !== 0) step.store.update('trash', arrival.trash, { at: step.nowMs });
  const value = { agent: null, name: '', agents: arrival.agents };
  step.arrivals.set(params.key, arrival);
  step.after(() => {
    step.rt.arrivals.set(params.key, arrival);
    reply({ ok: true, value });
  });
}

/** The first part. What is there of an earlier try of the same file goes. */
function begin(step: Step, { params, reply }: Event, known: AgentRecord | undefined): Arrival | null {
  const { arrivals } = step.rt;
  if (found(step, params.key) === null && limits.arrivals <= arrivals.size) {
    const message = `${arrivals.size} branches are being imported. Wait until one of them is there.`;
    refuse(step, reply, 'overloaded', message);
    return null;
  }
  if (known !== undefined) toEmpty(step, known.trash);
  return {
    ...{ key: params.key, place: placeOf(step, params.workspace), taken: 0, hasHeader: false, trash: 0 },
    ...{ agents: 0, line: [], turn: 0, begins: null, wasOpen: false, open: [], stranger: 0 },
  };
}

/** A later part, on a copy of what is remembered: a step that is rolled back leaves that as it was. */
function goOn(step: Step, { params, reply }: Event, state: string | undefined): Arrival | null {
  const known = found(step, params.key);
  const isThere = known?.trash === 0 || state === 'arriving';
  if (known !== null && known.taken === params.after && isThere) return { ...known };
  const message = 'What was imported of this file is gone, or another client imports it too. Begin again.';
  refuse(step, reply, 'import/stale', message);
  return null;
}

/** What is remembered of a file, as this step leaves it. */
function found(step: Step, key: string): Arrival | null {
  const now = step.arrivals.get(key);
  return now === undefined ? (step.rt.arrivals.get(key) ?? null) : now;
}

function forget(step: Step, key: string): void {
  step.arrivals.set(key, null);
  step.after(() => void step.rt.arrivals.delete(key));
}

/** Nothing more of it comes: what is there goes. */
function giveUp(step: Step, arrival: Arrival): void {
  if (arrival.trash !== 0) toEmpty(step, arrival.trash);
  forget(step, arrival.key);
}

function toEmpty(step: Step, trash: number): void {
  if (step.store.get('trash', trash)?.state !== 'arriving') return;
  step.store.update('trash', trash, { state: 'emptying' });
  goOnPurging(step);
}

/** After a restart nothing of an arrival is remembered, and by its age an idle one is forgotten: it goes. */
export function dropArrivals(step: Step, olderThanMs: number): void {
  for (const row of step.store.range('trash.state', ['arriving'], { limit: limits.slice })) {
    if (olderThanMs < row.at) continue;
    toEmpty(step, row.id);
    for (const [key, { trash }] of step.rt.arrivals) if (trash === row.id) forget(step, key);
  }
}

/** When the arrival that has been idle longest is forgotten; null: there is none. Of several any will do: it looks again. */
export function nextIdle(step: Step): number | null {
  if (step.rt.arrivals.size === 0) return null;
  const row = step.store.range('trash.state', ['arriving'], { limit: 1 })[0];
  return row === undefined ? null : row.at + limits.arrivalIdleMs;
}

/** The file is read: the branch comes out of the trash, as one that is restored. */
function arrive(step: Step, arrival: Arrival, reply: Reply<Result<'agent/import'>>): void {
  const top = arrival.line[0];
  if (top === undefined) {
    giveUp(step, arrival);
    return refuse(step, reply, 'import/invalid', 'The file cannot be imported: no agent is in it.');
  }
  closeTurn(step, arrival);
  step.store.update('trash', arrival.trash, { state: 'leaving', agents: arrival.agents });
  forget(step, arrival.key);
  const done: Reply<BranchDone> = (answer) => {
    if (!answer.ok) return reply(answer);
    const { name, agents } = answer.value;
    reply({ ok: true, value: { agent: agentId(top.id), name, agents } });
  };
  startWalk(step, { kind: 'restore', agent: top.id, key: `${arrival.key}/restore` }, done);
}

// ------------------------------------------------------------------ lines

function takeLines(step: Step, arrival: Arrival, { lines }: Event['params']): Wrong {
  for (const line of lines) {
    const wrong = takeLine(step, arrival, line);
    if (wrong !== null) return wrong;
  }
  return null;
}

function takeLine(step: Step, arrival: Arrival, line: BranchLine): Wrong {
  if (line.type === 'branch') {
    if (arrival.hasHeader) return 'it has a second header.';
    arrival.hasHeader = true;
    return null;
  }
  if (!arrival.hasHeader) return 'it does not begin with a header.';
  switch (line.type) {
    case 'agent':
      return takeAgent(step, arrival, line);
    case 'turn':
      return takeTurn(step, arrival, line);
    case 'entry':
      return takeEntry(step, arrival, line);
    case 'change':
      return null;
  }
}

function takeAgent(step: Step, arrival: Arrival, line: AgentLine): Wrong {
  closeTurn(step, arrival);
  const above = arrival.line.findLastIndex((each) => each.file === line.parent);
  if ((line.parent === null) !== (arrival.line.length === 0) || (line.parent !== null && above === -1))
    return `agent ${line.id} stands below none that it could be below.`;
  if (arrival.line.some((each) => each.file === line.id)) return `agent ${line.id} is below itself.`;
  const lineage = arrival.line.slice(0, above + 1);
  const parent = lineage.length === 0 ? null : step.agent(must(lineage.at(-1), 'it has a parent').id);
  if (limits.depth < lineage.length) return `agents are nested more than ${limits.depth} deep.`;
  const id = insertAgent(step, arrival, { line, parent });
  arrival.line = [...lineage, { file: line.id, id }];
  arrival.agents += 1;
  return null;
}

function insertAgent(
  step: Step,
  arrival: Arrival,
  { line, parent }: { readonly line: AgentLine; readonly parent: AgentRecord | null },
): number {
  const id = step.store.nextId('agent');
  if (parent === null) {
    const arriving = { agent: id, state: 'arriving', at: step.nowMs, agents: 0 } as const;
    arrival.trash = step.store.insert('trash', arriving);
  }
  const { place } = arrival;
  const profile =
    pinProfile(step, { place, name: line.profile }) ??
    must(pinProfile(step, { place, name: null }), 'there is a usual profile');
  step.insertAgent({
    id,
    ...blank,
    parent: parent?.id ?? 0,
    root: parent?.root ?? id,
    depth: parent === null ? 0 : parent.depth + 1,
    name: parent === null ? line.name : freeName(step, parent.id, line.name),
    task: line.task,
    doing: line.task,
    profile: profile.blob,
    model: line.model,
    isolation: line.isolation,
    // Whatever it was allowed to do unasked elsewhere, somebody else may have allowed it.
    mode: 'ask',
    place,
    since: step.nowMs,
    created: line.createdAtMs,
    noticeGap: limits.noticeFirstMs,
    maxMicroUsd: line.budget.microUsd,
    maxTokens: line.budget.tokens,
    maxAgents: line.budget.agents,
    maxDepth: line.budget.depth,
    closed: line.closed ? 1 : 0,
    trash: arrival.trash,
    detached: parent === null ? 1 : 0,
    key: parent === null ? arrival.key : null,
    born: 0,
  });
  if (parent !== null) parent.children += 1;
  return id;
}

/** The agent that is read. */
const reading = (step: Step, arrival: Arrival): AgentRecord | null => {
  const last = arrival.line.at(-1);
  return last === undefined ? null : step.agent(last.id);
};

function takeTurn(step: Step, arrival: Arrival, line: TurnLine): Wrong {
  closeTurn(step, arrival);
  if (arrival.line.length === 0) return 'a turn stands before the first agent.';
  arrival.begins = line;
  return null;
}

/** A turn is there from its first entry on: one that has ended without any was taken back (queue/remove). */
function beginTurn(step: Step, arrival: Arrival, line: TurnLine): void {
  const agent = must(reading(step, arrival), 'a turn is of an agent');
  const { cause, brief, result, startedAtMs, endedAtMs } = line;
  const outcome = line.outcome ?? 'interrupted';
  const turn = insertTurn(step, {
    ...{ agent: agent.id, state: 'ended', cause, text: null, key: null },
    sender: senderIn(step, arrival, line.from),
    revision: agent.revision,
    schema: 0,
  });
  step.store.update('turn', turn, {
    ...{ outcome, brief, result, started: startedAtMs, ended: endedAtMs ?? step.nowMs },
  });
  arrival.turn = turn;
  arrival.wasOpen = line.outcome === null;
  arrival.begins = null;
  agent.last = turn;
  agent.outcome = outcome;
}

/** Whom an id here stands for. One that is not above is nobody that could be asked, as one that was deleted. */
function senderIn(step: Step, arrival: Arrival, from: FileSender): number {
  if (from === 'person') return 0;
  const parent = reading(step, arrival)?.parent ?? 0;
  if (from === 'parent' && parent !== 0) return parent;
  if (arrival.stranger === 0) {
    const { id: _id, ...row } = must(reading(step, arrival), 'somebody reads what is sent');
    arrival.stranger = step.store.insert('agent', { ...row, parent: 0, key: null, detached: 0 });
    step.store.remove('agent', arrival.stranger);
  }
  return arrival.stranger;
}

function takeEntry(step: Step, arrival: Arrival, line: EntryLine): Wrong {
  const { body } = line;
  if (arrival.begins !== null) beginTurn(step, arrival, arrival.begins);
  if (arrival.turn === 0) return 'an entry stands before the first turn of its agent.';
  if (body.kind === 'answer' || body.kind === 'end') closeCalls(step, arrival);
  switch (body.kind) {
    case 'user':
      return takeUser(step, arrival, { line, body });
    case 'result':
      return takeResult(step, arrival, { line, body });
    case 'answer': {
      const calls = body.blocks.flatMap((block, index) =>
        block.kind === 'call' ? [{ key: block.key, tool: block.tool, block: index }] : [],
      );
      if (limits.answerCalls < calls.length)
        return `an answer asks for more than ${limits.answerCalls} calls.`;
      const entry = append(step, arrival, { line, body });
      arrival.open = calls.map((call) => ({ ...call, entry }));
      return null;
    }
    case 'end':
      arrival.wasOpen = false;
      append(step, arrival, { line, body });
      return null;
    case 'notice':
    case 'note':
      append(step, arrival, { line, body });
      return null;
  }
}

type Of<K extends FileBody['kind']> = {
  readonly line: EntryLine;
  readonly body: Extract<FileBody, { kind: K }>;
};

function takeUser(step: Step, arrival: Arrival, { line, body }: Of<'user'>): Wrong {
  const { schema, from, ...rest } = body;
  const sender = senderOf(senderIn(step, arrival, from));
  if (schema === undefined) {
    append(step, arrival, { line, body: { ...rest, from: sender } });
    return null;
  }
  const blob = schemaBlob(step, schema);
  if (typeof blob === 'string') return blob;
  append(step, arrival, { line, body: { ...rest, from: sender, schema: blobId(blob) } });
  if (body.delivery === 'turn') step.store.update('turn', arrival.turn, { schema: blob });
  return null;
}

/** The blob of a schema; a text: what is wrong with it. */
function schemaBlob(step: Step, schema: JsonObject): number | string {
  const json = JSON.stringify(schema);
  if (limits.schemaBytes < utf8Bytes(json))
    return `a result schema has more than ${limits.schemaBytes} bytes.`;
  const read = readSchema(schema, limits);
  return typeof read === 'string' ? read : sharedBlob(step, json);
}

function takeResult(step: Step, arrival: Arrival, { line, body }: Of<'result'>): Wrong {
  const at = arrival.open.findIndex((call) => call.key === body.key);
  const call = arrival.open[at];
  if (call === undefined) return `a result stands where no call "${body.key.slice(0, 60)}" is open.`;
  arrival.open = arrival.open.filter((_each, index) => index !== at);
  finish(step, arrival, { call, line, body });
  return null;
}

type Call = Arrival['open'][number];

/** The result of a call, and the row of the call: it is there from its end on. */
function finish(
  step: Step,
  arrival: Arrival,
  { call, line, body }: Of<'result'> & { readonly call: Call },
): void {
  const { whole, ...rest } = body;
  const id = step.store.nextId('call');
  const blob = whole === undefined ? {} : { blob: blobId(step.store.putBlob(whole)) };
  const result = append(step, arrival, { line, body: { ...rest, call: callId(id), ...blob } });
  const states = { ok: 'done', error: 'done', unknown: 'unknown', interrupted: 'interrupted' } as const;
  const agent = must(reading(step, arrival), 'a call is of an agent');
  step.store.insert('call', {
    ...{ agent: agent.id, turn: arrival.turn, entry: call.entry, block: call.block, key: call.key },
    ...{ tool: call.tool, state: states[body.status], evidence: null, started: 0, result, open: 0 },
  });
  step.callsChanged(agent.id);
}

/** Writes an entry of the agent and turn that are read, with the time that the file says. */
function append(
  step: Step,
  arrival: Arrival,
  { line, body }: { readonly line: Pick<EntryLine, 'atMs' | 'answer'>; readonly body: EntryBody },
): number {
  const agent = must(reading(step, arrival), 'an entry is of an agent');
  const id = step.addEntry(agent, arrival.turn, body);
  step.store.update('entry', id, { at: line.atMs });
  const answer = line.answer === true ? { answer: id } : {};
  step.store.update('turn', arrival.turn, { last: id, bytes: agent.bytes, ...answer });
  return id;
}

/** A call that has no result gets the one of an interrupted turn: a model takes no request without. */
function closeCalls(step: Step, arrival: Arrival): void {
  for (const call of arrival.open) {
    const { key, tool } = call;
    const text = 'It had no result when the branch was exported.';
    const line = { type: 'entry', atMs: step.nowMs } as const;
    const body = { kind: 'result', key, tool, status: 'interrupted', text } as const;
    finish(step, arrival, { call, line: { ...line, body }, body });
  }
  arrival.open = [];
}

/** Nothing more of the turn comes: one that was open ends. */
function closeTurn(step: Step, arrival: Arrival): void {
  arrival.begins = null;
  if (arrival.turn === 0) return;
  closeCalls(step, arrival);
  const text = 'It was at work when the branch was exported.';
  const body = { kind: 'end', outcome: 'interrupted', text } as const;
  if (arrival.wasOpen) append(step, arrival, { line: { atMs: step.nowMs }, body });
  arrival.turn = 0;
  arrival.wasOpen = false;
}
