// Calls of adapter tools: planned, prepared, asked about, started, done. The started row with its evidence is
// committed before the tool runs, so a crash finds either no start or enough to judge by (I1, I3).

import { mustAsk } from '../core/policy.ts';
import type { AgentRecord, CallRecord } from '../core/rows.ts';
import { firstLine } from '../core/text.ts';
import { agentId, callId } from '../protocol/ids.ts';
import type { Json } from '../protocol/json.ts';
import type { Ask, Prepared, ToolEvent, ToolJob, ToolOutcome, Touched } from '../ports.ts';
import { beginBackground, heardEnd, refuseBackground } from './background.ts';
import { recordTouched } from './changes.ts';
import { jobOf } from './jobs.ts';
import { limits } from './limits.ts';
import type { Runtime } from './memory.ts';
import { tellAgain } from './notices.ts';
import { enqueue } from './queue.ts';
import { openRequest, saidBefore } from './requests.ts';
import { finishCall, setCall } from './results.ts';
import type { Step } from './step.ts';
import { setPhase } from './turns.ts';

/** What the runtime adds to an adapter's evidence: whether the call holds a command slot. */
interface Evidence {
  readonly slot: boolean;
  readonly data: Json;
}

/** Reads the evidence of a call that was prepared. */
export function evidenceOf(call: CallRecord): Evidence {
  const evidence: Evidence = JSON.parse(call.evidence ?? '{"slot":false,"data":null}');
  return evidence;
}

/** The open call of an event that names it; null when it was answered meanwhile (a late result, case 45). */
export function openCall(step: Step, id: number): CallRecord | null {
  const call = step.store.get('call', id);
  return call === undefined || call.open === 0 ? null : call;
}

/** Lets the adapter look at a planned call. */
export function prepareCall(step: Step, agent: AgentRecord, call: CallRecord): void {
  const job = jobOf(step, agent, call);
  const { rt } = step;
  step.unsettled.add(agent.id);
  step.callsChanged(agent.id);
  // While recovery still counts the slots that are taken, nothing starts in a step that it does not expect.
  const known = step.slots.recovering ? null : rt.tools.prepareNow(job);
  if (known !== null) return actOn(step, agent, call, known);
  step.takenUp.add(call.id);
  step.after(() => {
    if (step.closedCalls.has(call.id)) return;
    const cancel = rt.tools.prepare(job, (prepared) =>
      rt.post({ kind: 'prepared', call: callId(call.id), prepared }),
    );
    rt.calling.set(call.id, cancel);
  });
}

/** The adapter has looked: refuse, ask a person, wait for a slot, or start. */
export function onPrepared(step: Step, id: number, prepared: Prepared): void {
  const call = openCall(step, id);
  if (call === null || call.state !== 'planned') return;
  step.after(() => void step.rt.calling.delete(id));
  actOn(step, step.agent(call.agent), call, prepared);
}

function actOn(step: Step, agent: AgentRecord, call: CallRecord, prepared: Prepared): void {
  if (prepared.kind === 'refuse') {
    finishCall(step, agent, call, { status: 'error', text: prepared.text });
    return;
  }
  const { ask } = prepared;
  if (ask !== null && mustAsk(ask, agent.mode, agent.isolation) && !approved(step, agent, call, ask)) return;
  setCall(step, call, {
    evidence: JSON.stringify({ slot: prepared.usesCommandSlot, data: prepared.evidence }),
  });
  if (!prepared.usesCommandSlot) return startCall(step, agent, call);
  const { slots, rt } = step;
  // Also of a command that waits for a slot the tree says what it will be.
  agent.doing = doingOf(call, jobOf(step, agent, call));
  if (!slots.commandQueue && slots.commandUsed < rt.options.commandSlots) {
    slots.commandUsed += 1;
    return startCall(step, agent, call);
  }
  enqueue(step, {
    slot: 'command',
    urgency: agent.urgency,
    root: agent.root,
    agent: agent.id,
    call: call.id,
  });
}

/** Whether a person has allowed exactly this. If not, they are asked, or their earlier denial holds. */
function approved(step: Step, agent: AgentRecord, call: CallRecord, ask: Ask): boolean {
  const said = saidBefore(step, call, ask);
  if (said?.kind === 'allow') return true;
  if (said?.kind === 'deny') {
    const text = `The person denied this before in this turn${said.reason === '' ? '.' : `: ${said.reason}`} Do not ask again; find another way or stop.`;
    finishCall(step, agent, call, { status: 'error', text });
    return false;
  }
  const { title, detail, cluster } = ask;
  openRequest(step, agent, { kind: 'approval', title, detail, cluster, call: call.id, choices: [] });
  setCall(step, call, { state: 'asking' });
  step.callsChanged(agent.id);
  step.unsettled.add(agent.id);
  return false;
}

/** A command slot is free for a call that waited. */
export function startCommand(step: Step, id: number): void {
  const call = openCall(step, id);
  if (call === null || call.state !== 'planned') return;
  step.slots.commandUsed += 1;
  startCall(step, step.agent(call.agent), call);
}

/** Commits the started row, then lets the tool run. */
function startCall(step: Step, agent: AgentRecord, call: CallRecord): void {
  const job = jobOf(step, agent, call);
  const { data } = evidenceOf(call);
  const { rt } = step;
  setCall(step, call, { state: 'started', started: step.nowMs });
  step.takenUp.add(call.id);
  agent.doing = doingOf(call, job);
  step.callsChanged(agent.id);
  step.unsettled.add(agent.id);
  step.after(() => {
    // An interrupt in the same step comes first: a call that has its result must not act.
    if (step.closedCalls.has(call.id)) return;
    rt.calling.set(call.id, rt.tools.run(job, data, hearTool(rt, call)));
  });
}

/** The tool and the first text of its input: a path, a command, a pattern. */
function doingOf(call: CallRecord, job: ToolJob): string {
  const first = Object.values(job.input).find((value) => typeof value === 'string') ?? '';
  return firstLine(`${call.tool}: ${first}`, limits.taskChars);
}

/** Looks after a call that the last process started: what became of it is told, or it is given up in this step. */
export function takeUp(step: Step, agent: AgentRecord, call: CallRecord): void {
  const job = jobOf(step, agent, call);
  const { slot, data } = evidenceOf(call);
  const { rt } = step;
  step.takenUp.add(call.id);
  if (slot && !isLent(step, call.id)) step.slots.commandUsed += 1;
  step.after(() => {
    const cancel = rt.tools.recover(job, data, hearTool(rt, call));
    if (step.closedCalls.has(call.id)) cancel();
    else rt.calling.set(call.id, cancel);
  });
}

/** Where a running tool posts. */
export function hearTool(rt: Runtime, call: CallRecord): (event: ToolEvent) => void {
  const { id, agent } = call;
  return (event) => {
    if (event.kind === 'output') rt.publish.output(agentId(agent), callId(id), event.text);
    else postEnd(rt, id, event.outcome);
  };
}

/** A command may change hundreds of files: they are recorded in events of a few, before the one that ends the call. */
function postEnd(rt: Runtime, id: number, outcome: ToolOutcome): void {
  const call = callId(id);
  const rest = [...(outcome.touched ?? [])];
  for (let slice = sliceOf(rest); slice.length < rest.length; slice = sliceOf(rest)) {
    rt.post({ kind: 'touched', call, touched: slice });
    rest.splice(0, slice.length);
  }
  rt.post({ kind: 'callEnd', call, outcome: rest.length === 0 ? outcome : { ...outcome, touched: rest } });
}

/** Those that one event records. */
function sliceOf(touched: readonly Touched[]): readonly Touched[] {
  let bytes = 0;
  const end = touched.findIndex(({ before, after }, i) => {
    bytes += (before?.length ?? 0) + (after?.length ?? 0);
    return i > 0 && (limits.touchedFiles <= i || limits.touchedBytes < bytes);
  });
  return end < 0 ? touched : touched.slice(0, end);
}

/** Files that a call has changed; its end follows. After a crash in between they come again. */
export function onTouched(step: Step, id: number, touched: readonly Touched[]): void {
  const call = step.store.get('call', id);
  if (call?.state !== 'started' && call?.state !== 'interrupted') return;
  for (const each of touched) recordTouched(step, step.agent(call.agent), each);
}

/** A tool has ended: its result, its files and its slot, in one transaction. */
export function onCallEnd(step: Step, id: number, outcome: ToolOutcome): void {
  const call = step.store.get('call', id);
  if (call?.state !== 'started' && call?.state !== 'interrupted') return;
  const { tools } = step.rt;
  step.after(() => tools.settled(call.tool, callId(id)));
  // What a call wrote before it was interrupted is on the disk: the person is shown it all the same.
  if (call.state === 'interrupted') {
    if (outcome.background !== undefined) refuseBackground(step, call, outcome.background);
    return void recordAll(step, call, outcome);
  }
  const agent = step.agent(call.agent);
  releaseCall(step, call);
  const { status, whole, background, ended } = outcome;
  if (ended !== undefined) heardEnd(step, agent, ended);
  if (background !== undefined) beginBackground(step, call, background);
  if (status === 'unknown') tellAgain(step, agent, call.id);
  const text = [outcome.text, ...recordAll(step, call, outcome)].join('\n');
  finishCall(step, agent, call, whole === undefined ? { status, text } : { status, text, whole });
}

/** Records the files of a call; returns what its agent should know of others at the same files. */
function recordAll(step: Step, call: CallRecord, outcome: ToolOutcome): string[] {
  const agent = step.agent(call.agent);
  return (outcome.touched ?? [])
    .map((touched) => recordTouched(step, agent, touched))
    .filter((note) => note !== null)
    .slice(0, limits.overlapsShown);
}

/** Gives back what a started call holds: its command slot, unless that is lent out already, and its place in memory. */
export function releaseCall(step: Step, call: CallRecord): void {
  const { rt } = step;
  const holds = isOurs(step, call.id) && call.state === 'started' && evidenceOf(call).slot;
  if (holds && !isLent(step, call.id)) step.slots.commandUsed -= 1;
  step.after(() => {
    rt.lent.delete(call.id);
    rt.calling.delete(call.id);
  });
}

/** Whether this process looks after a call. Calls of a turn in quarantine are left as the last process left them. */
export const isOurs = (step: Step, call: number): boolean =>
  step.takenUp.has(call) || step.rt.calling.has(call);

/** Whether the slot of a command is lent out, as this step will leave it. */
export const isLent = (step: Step, call: number): boolean => step.lends.get(call) ?? step.rt.lent.has(call);

/** The command of a call waits inside Roost, or no longer does: its slot is lent out meanwhile (I5). */
export function onLend(step: Step, id: number, lent: boolean): void {
  const { rt } = step;
  const call = openCall(step, id);
  if (call === null || call.state !== 'started' || !evidenceOf(call).slot || isLent(step, id) === lent)
    return;
  // A command of a turn in quarantine runs on, but this process holds no slot for it yet.
  if (isOurs(step, id)) step.slots.commandUsed += lent ? -1 : 1;
  step.lends.set(id, lent);
  step.after(() => void (lent ? rt.lent.add(id) : rt.lent.delete(id)));
}

/**
 * The phase of an agent follows from its open calls. Returns true when none is open: the next round may start.
 */
export function settleCalls(step: Step, agent: AgentRecord): boolean {
  const open = step.store.range('call.open', [agent.id], { limit: limits.slice });
  if (open.length === 0) return true;
  const waits = (call: CallRecord): boolean => call.state === 'started' && call.tool === 'wait_agent';
  const asking = open.find((call) => call.state === 'asking');
  if (open.some((call) => call.state !== 'asking' && !waits(call))) setPhase(step, agent, 'calling');
  else if (asking !== undefined)
    setPhase(step, agent, 'waiting', asking.tool === 'ask_user' ? 'answer' : 'approval');
  else setPhase(step, agent, 'waiting', 'child');
  return false;
}
