// What people do with whole branches: close one for good, delete it to the trash, restore it.
//
// Each is asked for with a key and done by a walk (walks.ts); the same key gives the first answer for ever. What
// cannot be walked is refused with what to do instead.

import type { WalkRecord } from '../core/branchRows.ts';
import type { AgentRecord } from '../core/rows.ts';
import { agentId } from '../protocol/ids.ts';
import type { BranchDone } from '../protocol/methods.ts';
import { refuse } from './agents.ts';
import { answerTo } from './answered.ts';
import type { ClientEvent } from './event.ts';
import { limits } from './limits.ts';
import { topOfTrash, type Problem } from './standing.ts';
import type { Step } from './step.ts';
import { joinWalk, startWalk } from './walks.ts';

type Event<K extends ClientEvent['kind']> = Extract<ClientEvent, { kind: K }>;
type BranchEvent = Event<'agent/close' | 'agent/delete' | 'agent/restore'>;

/** Closes a branch: nothing starts in it any more, and what is at work is ended, deepest first. */
export function onClose(step: Step, event: Event<'agent/close'>): void {
  const agent = begin(step, event, 'close');
  if (agent === null) return;
  agent.closed = 1;
  startWalk(step, { kind: 'close', agent: agent.id, key: event.params.key }, event.reply);
}

/** Deletes a branch to the trash: ended deepest first, then out of lists, paths and counts in one step. Nothing is lost. */
export function onDelete(step: Step, event: Event<'agent/delete'>): void {
  const agent = begin(step, event, 'delete');
  if (agent === null) return;
  const kept = agent.trash === 0 ? undefined : step.store.get('trash', agent.trash);
  if (kept?.agent === agent.id && kept.state === 'kept') {
    const value: BranchDone = { agents: kept.agents, stopped: 0, name: agent.name };
    return void step.after(() => event.reply({ ok: true, value }));
  }
  const problem = deleteProblem(step, agent);
  if (problem !== null) return refuse(step, event.reply, problem.code, problem.message);
  const trash = { agent: agent.id, state: 'moving', at: step.nowMs, agents: agent.bAgents } as const;
  agent.trash = step.store.insert('trash', trash);
  startWalk(step, { kind: 'delete', agent: agent.id, key: event.params.key }, event.reply);
}

function deleteProblem(step: Step, agent: AgentRecord): Problem | null {
  const above = step.lineage(agent.id).find((each) => each.trash !== 0);
  if (above !== undefined) {
    const top = topOfTrash(step, above);
    return { code: 'agent/trashed', message: `${agent.name} is in the trash already, with ${top.name}.` };
  }
  // Two walks that mark the same agents would leave some of them with the one and some with the other.
  for (const walk of step.store.range('walk.agent', [], { limit: limits.slice })) {
    if (walk.kind === 'close' || !step.lineage(walk.agent).includes(agent)) continue;
    const message = `${step.agent(walk.agent).name} below ${agent.name} is just being moved. Try again in a moment.`;
    return { code: 'agent/busy', message };
  }
  return null;
}

/** Brings a branch back from the trash to where it was, at rest as it was stopped. */
export function onRestore(step: Step, event: Event<'agent/restore'>): void {
  const agent = begin(step, event, 'restore');
  if (agent === null) return;
  const problem = restoreProblem(step, agent);
  if (problem !== null) return refuse(step, event.reply, problem.code, problem.message);
  const deleting = step.store.range('walk.agent', [agent.id], { limit: limits.slice }).find(isDelete);
  if (deleting !== undefined) giveUp(step, deleting);
  step.store.update('trash', agent.trash, { state: 'leaving' });
  startWalk(step, { kind: 'restore', agent: agent.id, key: event.params.key }, event.reply);
}

const isDelete = (walk: WalkRecord): boolean => walk.kind === 'delete';

function restoreProblem(step: Step, agent: AgentRecord): Problem | null {
  const { name } = agent;
  const trashed = step.lineage(agent.id).filter((each) => each.trash !== 0);
  if (trashed.length === 0) return { code: 'trash/none', message: `${name} is not in the trash.` };
  const above = trashed.find((each) => each.id !== agent.id);
  if (above !== undefined) {
    const top = topOfTrash(step, above);
    const message = `${top.name}, above ${name}, is in the trash too. Restore ${top.name} first ("roost restore ${top.id}").`;
    return { code: 'agent/trashed', message };
  }
  const state = step.store.get('trash', agent.trash)?.state;
  if (state === 'arriving')
    return { code: 'agent/trashed', message: `${name} is being imported. It is there when that has ended.` };
  if (state !== 'emptying') return null;
  return {
    code: 'agent/trashed',
    message: `${name} is being deleted for good. It cannot be restored any more.`,
  };
}

/** A walk that has not ended is wanted no more: who asked for it hears so. */
function giveUp(step: Step, walk: WalkRecord): void {
  const { walks } = step.rt;
  step.store.remove('walk', walk.id);
  step.after(() => {
    const message = 'It was restored while it was being deleted.';
    for (const reply of walks.get(walk.id) ?? []) reply({ ok: false, code: 'agent/busy', message });
    walks.delete(walk.id);
  });
}

/** The agent that something new is to be done to; null: there is none, it was done before, or it is being done. */
function begin(step: Step, event: BranchEvent, kind: WalkRecord['kind']): AgentRecord | null {
  const { params, reply } = event;
  const agent = step.findAgent(params.agent);
  const value = answerTo<BranchDone>(step, params.key);
  if (value !== null) {
    step.after(() => reply({ ok: true, value }));
    return null;
  }
  if (agent === undefined) {
    refuse(step, reply, 'agent/unknown', `There is no agent ${agentId(params.agent)}.`);
    return null;
  }
  const walks = step.store.range('walk.agent', [agent.id], { limit: limits.slice });
  const same = walks.find((walk) => walk.kind === kind);
  if (same !== undefined) {
    joinWalk(step, same, reply);
    return null;
  }
  const restoring = kind === 'delete' && walks.some((walk) => walk.kind === 'restore');
  if (!restoring) return agent;
  refuse(step, reply, 'agent/busy', `${agent.name} is just being restored. Try again in a moment.`);
  return null;
}
