// The runtime's own tools: what they do to rows. All of it happens in the step that takes the model's answer,
// so parent and child move together (I9).

import type { AgentRecord, CallRecord } from '../core/rows.ts';
import { utf8Bytes } from '../core/text.ts';
import { parseVerb, type Verb } from '../core/verbs.ts';
import type { JsonObject } from '../protocol/json.ts';
import { readHistory } from './history.ts';
import { hasRoom } from './inbox.ts';
import { endBackgroundBelow } from './background.ts';
import { interruptAgent } from './interrupt.ts';
import { limits } from './limits.ts';
import { listAgents } from './list.ts';
import { openRequest } from './requests.ts';
import { finishCall, setCall } from './results.ts';
import { spawnProblem, startSpawn } from './spawn.ts';
import type { Step } from './step.ts';
import { openQueued, queueTurn } from './turns.ts';
import { pinSchema, submitResult } from './typed.ts';
import { startWait } from './waits.ts';

/** Carries out a call of one of the runtime's tools. Its result comes now, or when what it waits for has come. */
export function runVerb(step: Step, agent: AgentRecord, call: CallRecord, input: JsonObject): void {
  const verb = parseVerb(call.tool, input);
  const done = (text: string): void => finishCall(step, agent, call, { status: 'ok', text });
  const error = (text: string): void => finishCall(step, agent, call, { status: 'error', text });
  switch (verb.kind) {
    case 'invalid':
      return error(verb.message);
    case 'spawn_agent':
      begin(step, call);
      return startSpawn(step, agent, call, verb);
    case 'wait_agent':
      begin(step, call);
      return startWait(step, agent, call, verb);
    case 'history':
      return finishCall(step, agent, call, readHistory(step, agent, verb));
    case 'list_agents':
      return done(listAgents(step, agent, verb));
    case 'send_message':
      return sendMessage(step, agent, verb, { done, error });
    case 'followup_task':
      return followUp(step, agent, verb, { done, error });
    case 'interrupt_agent':
      return interruptChild(step, agent, call, verb.agent);
    case 'submit_result':
      return submitResult(step, agent, call, verb.result);
    case 'ask_user': {
      setCall(step, call, { state: 'asking' });
      const { question, choices } = verb;
      openRequest(step, agent, {
        kind: 'question',
        title: question,
        detail: question,
        cluster: null,
        call: call.id,
        choices,
      });
      return;
    }
  }
}

function begin(step: Step, call: CallRecord): void {
  setCall(step, call, { state: 'started', started: step.nowMs });
  step.callsChanged(call.agent);
}

interface Say {
  readonly done: (text: string) => void;
  readonly error: (text: string) => void;
}

function sendMessage(
  step: Step,
  agent: AgentRecord,
  verb: Extract<Verb, { kind: 'send_message' }>,
  say: Say,
): void {
  if (utf8Bytes(verb.text) > limits.siblingMessageBytes) {
    return say.error(
      `A message has at most ${limits.siblingMessageBytes} bytes. Write the text to a file and send its path.`,
    );
  }
  const to = addressee(step, agent, verb.to);
  if (to === undefined) {
    return say.error(`There is no agent "${verb.to}" among yours or beside you. Use a name, or "parent".`);
  }
  const closed = step.lineage(to.id).find((each) => each.closed !== 0);
  if (closed !== undefined) return say.error(`${closed.name} is closed: ${to.name} will not read it.`);
  if (!hasRoom(step, to.id, limits.inboxMessages)) {
    return say.error(
      `${to.name} has ${limits.inboxMessages} messages that it has not read, so this one was not left. It reads them at its next step: try again then.`,
    );
  }
  step.store.insert('inbox', {
    agent: to.id,
    sender: agent.id,
    kind: 'message',
    text: verb.text,
    key: null,
    at: step.nowMs,
  });
  say.done(`Left for ${to.name}: ${whenRead(agent, to)}`);
}

/** When a message is read: the receipt says no more than what is true now. */
function whenRead(from: AgentRecord, to: AgentRecord): string {
  if (to.phase !== 'idle') return 'it reads it at its next step.';
  const wakes = to.parent === from.id ? ' followup_task wakes it.' : '';
  return `it rests, and reads it when it is given its next task.${wakes}`;
}

const noChild = (name: string): string =>
  `You have no agent named "${name}". Use list_agents to see their names.`;

function childOf(step: Step, agent: AgentRecord, name: string): AgentRecord | undefined {
  const row = step.store.range('agent.named', [agent.id, name], { limit: 1 })[0];
  return row === undefined ? undefined : step.agent(row.id);
}

function followUp(
  step: Step,
  agent: AgentRecord,
  verb: Extract<Verb, { kind: 'followup_task' }>,
  say: Say,
): void {
  const child = childOf(step, agent, verb.to);
  if (child === undefined) return say.error(noChild(verb.to));
  const problem = spawnProblem(step, agent, 0);
  if (problem !== null) return say.error(problem);
  if (child.closed !== 0) return say.error(`${child.name} is closed.`);
  if (child.queued >= limits.queuedTurns)
    return say.error(`${child.name} has ${child.queued} tasks in its queue. Wait for it.`);
  const schema = pinSchema(step, verb.schema, child.profile);
  if (typeof schema === 'string') return say.error(schema);
  const busy = child.phase !== 'idle';
  child.halted = 0;
  child.revision += 1;
  queueTurn(step, child, { text: verb.task, sender: agent.id, key: null, schema });
  if (!busy) openQueued(step, child);
  say.done(busy ? `${child.name} does it after what it is doing.` : `${child.name} has begun.`);
}

/** Stops a child, then page by page all below it; the call ends when that is done. Again after a crash. */
function interruptChild(step: Step, agent: AgentRecord, call: CallRecord, name: string): void {
  const child = childOf(step, agent, name);
  if (child === undefined) return finishCall(step, agent, call, { status: 'error', text: noChild(name) });
  const stopped = interruptAgent(step, child, 'Stopped by its parent.') ? 1 : 0;
  endBackgroundBelow(step, child);
  if (child.children === 0) {
    const text = stopped === 1 ? `${child.name} is stopped.` : `${child.name} was at rest.`;
    return finishCall(step, agent, call, { status: 'ok', text });
  }
  begin(step, call);
  const more = { parents: [child.id], after: 0, stopped, call: call.id, reply: () => undefined };
  step.after(() => step.rt.post({ kind: 'interruptMore', ...more }));
}

function addressee(step: Step, agent: AgentRecord, name: string): AgentRecord | undefined {
  if (name === 'parent') return agent.parent === 0 ? undefined : step.agent(agent.parent);
  const named = (parent: number): AgentRecord | undefined => {
    const row = step.store.range('agent.named', [parent, name], { limit: 1 })[0];
    return row === undefined ? undefined : step.agent(row.id);
  };
  // Roots are not beside each other: they belong to different pieces of work.
  return named(agent.id) ?? (agent.parent === 0 ? undefined : named(agent.parent));
}
