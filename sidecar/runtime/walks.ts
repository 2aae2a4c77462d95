// Walks: what is done to every agent of a branch, deepest first: close it, take it to the trash, bring it back.
//
// Promises
//  - An agent is visited after all below it, so nobody at work has a parent that was ended before it.
//  - A slice visits limits.slice agents (I18). Between slices the walk is a row, and a restart goes on with it.
//  - While it goes on no work starts in the branch, and nobody in it is woken by the end of another (standing.ts).
// Not here: what may be walked at all (branches.ts).

import type { WalkRecord } from '../core/branchRows.ts';
import type { AgentRecord } from '../core/rows.ts';
import { must } from '../core/assert.ts';
import type { BranchDone } from '../protocol/methods.ts';
import { keepAnswer } from './answered.ts';
import { goOnWalking } from './chains.ts';
import { endBackgroundBelow } from './background.ts';
import { undecided } from './changes.ts';
import type { Reply } from './event.ts';
import { interruptAgent } from './interrupt.ts';
import { limits } from './limits.ts';
import { tellOthers } from './overlaps.ts';
import { freeName } from './spawn.ts';
import type { Step } from './step.ts';

/** A walk as far as it has come; without an id while it has no row. */
type Walk = Omit<WalkRecord, 'id'>;

/** Siblings read at a time while those at rest are passed over. */
const passedAtOnce = 32;

/** Begins a walk. A small branch is done within this step, and then there is no row. */
export function startWalk(
  step: Step,
  task: Pick<Walk, 'kind' | 'agent' | 'key'>,
  reply: Reply<BranchDone>,
): void {
  const walk: Walk = { ...task, cursor: 0, stopped: 0 };
  // Those who rest are passed over or stay as they are, and a command in the background may be theirs.
  if (task.kind !== 'restore') endBackgroundBelow(step, step.agent(task.agent));
  if (walkOn(step, walk)) return finish(step, walk, [reply]);
  const id = step.store.insert('walk', walk);
  step.after(() => step.rt.walks.set(id, [reply]));
  goOnWalking(step);
}

/** Another client asked for what a walk does already, or the same one again. */
export function joinWalk(step: Step, walk: WalkRecord, reply: Reply<BranchDone>): void {
  const { walks } = step.rt;
  step.after(() => void walks.set(walk.id, [...(walks.get(walk.id) ?? []), reply]));
}

/** The next slice of the first walk there is. */
export function onWalk(step: Step, chain: number): void {
  if (chain !== step.rt.chains.walk) return;
  const row = step.store.range('walk.agent', [], { limit: 1 })[0];
  if (row === undefined) return;
  const { id, ...walk } = row;
  if (walkOn(step, walk)) {
    step.store.remove('walk', id);
    finish(step, walk, step.rt.walks.get(id) ?? []);
    step.after(() => void step.rt.walks.delete(id));
  } else step.store.update('walk', id, { cursor: walk.cursor, stopped: walk.stopped });
  step.after(() => step.rt.post({ kind: 'walk', chain }));
}

/** Visits at most a slice of agents. Returns whether that was all of the branch. */
function walkOn(step: Step, walk: Walk): boolean {
  if (step.findAgent(walk.agent) === undefined) return true;
  // Somebody may have been given work earlier in this step.
  step.countAllNow();
  let at = positionOf(step, walk);
  for (let room = limits.slice; room > 0;) {
    const passes = walk.kind === 'close';
    const page = { after: at.after, limit: passes ? passedAtOnce : 1 };
    const rows = step.store.range('agent.children', [at.parent], page);
    const found = passes ? rows.findIndex((row) => isAtWork(step.asHeld(row))) : rows.length - 1;
    const passed = found === -1 ? rows : rows.slice(0, found);
    room -= passed.length;
    walk.cursor = passed.at(-1)?.id ?? walk.cursor;
    const child = rows[found];
    if (child !== undefined) at = { parent: child.id, after: 0 };
    else if (rows.length === page.limit) at = { parent: at.parent, after: walk.cursor };
    else {
      step.lookingAt = at.parent;
      const agent = step.agent(at.parent);
      room -= 1;
      if (!visit(step, walk, agent)) return false;
      walk.cursor = agent.id;
      if (agent.id === walk.agent) return true;
      at = { parent: agent.parent, after: agent.id };
    }
  }
  return false;
}

/** Where to go on: behind the agent that was visited or passed over last. One that is gone meanwhile: from the start. */
function positionOf(step: Step, walk: Walk): { readonly parent: number; readonly after: number } {
  const last = walk.cursor === 0 ? undefined : step.findAgent(walk.cursor);
  return last === undefined || last.id === walk.agent
    ? { parent: walk.agent, after: 0 }
    : { parent: last.parent, after: last.id };
}

const isAtWork = (row: AgentRecord): boolean => row.bRunning + row.bWaiting > 0;

const words = { close: 'Closed by a person.', delete: 'Deleted by a person.', restore: '' } as const;

/** Does to one agent what the walk is for. False: it has more changes than a slice may mark, and is visited again. */
function visit(step: Step, walk: Walk, agent: AgentRecord): boolean {
  // One that rests and has nothing to hear stays as it is: after a restore it is not one that a person has stopped.
  const rests = agent.phase === 'idle' && agent.unheard === 0 && agent.queued === 0;
  if (walk.kind !== 'restore' && !rests && interruptAgent(step, agent, words[walk.kind])) walk.stopped += 1;
  if (walk.kind === 'close') return true;
  const trash = walk.kind === 'delete' ? step.agent(walk.agent).trash : 0;
  if (!markChanges(step, agent, trash)) return false;
  if (agent.id !== walk.agent) agent.trash = trash;
  return true;
}

/** Undecided changes go where their agent goes. False: there are more than a slice. */
function markChanges(step: Step, agent: AgentRecord, trash: number): boolean {
  if (agent.changes === 0) return true;
  step.changesChanged(agent.id);
  let marked = 0;
  for (let after = 0; ;) {
    const rows = step.store.range('change.agent', [agent.id], { after, limit: limits.slice });
    for (const change of rows) {
      after = change.id;
      if (change.trash === trash || !undecided(change)) continue;
      step.store.update('change', change.id, { trash });
      tellOthers(step, agent.id, change.path);
      marked += 1;
    }
    if (rows.length < limits.slice) return true;
    if (marked >= limits.slice) return false;
  }
}

/** All of the branch was visited: the top is closed, leaves the tree or comes back to it, and who asked is told. */
function finish(step: Step, walk: Walk, replies: readonly Reply<BranchDone>[]): void {
  const top = step.findAgent(walk.agent);
  if (top !== undefined && walk.kind === 'delete') intoTrash(step, top);
  if (top !== undefined && walk.kind === 'restore') outOfTrash(step, top);
  const agents = top?.bAgents ?? 0;
  const value: BranchDone = { agents, stopped: walk.stopped, name: top?.name ?? '' };
  keepAnswer(step, walk.key, value);
  // Worktrees of what is closed or deleted go when nothing of them would be lost.
  if (walk.kind !== 'restore') step.after(() => step.rt.trees.sweep());
  step.after(() => {
    for (const reply of replies) reply({ ok: true, value });
  });
}

function intoTrash(step: Step, top: AgentRecord): void {
  step.setDetached(top, 1);
  // At once, so that a deletion of an agent above in the same step does not find it among those that it takes along.
  step.writeNow(top.id);
  step.store.update('trash', top.trash, { state: 'kept', agents: top.bAgents });
}

/** Its name may have been given to another meanwhile: then it gets one that is free. */
function outOfTrash(step: Step, top: AgentRecord): void {
  top.name = freeName(step, top.parent, top.name);
  step.setDetached(top, 0);
  // At once, so that the next to want this name in the same step finds it taken.
  step.writeNow(top.id);
  step.store.remove('trash', must(step.store.get('trash', top.trash), 'a trash that is left is there').id);
  top.trash = 0;
  step.requestsChanged(top.id);
  step.changesChanged(top.id);
}
