// The trash: what is emptied, when a person says so or by age, and how long things stay in it. The rows go behind that
// in slices (purge.ts).

import { keptMsOf } from '../core/trash.ts';
import type { TrashRecord } from '../core/branchRows.ts';
import type { Result } from '../protocol/methods.ts';
import { refuse } from './agents.ts';
import { dropArrivals, nextIdle } from './arrivals.ts';
import { answerTo, keepAnswer } from './answered.ts';
import type { ClientEvent, RuntimeEvent } from './event.ts';
import { limits } from './limits.ts';
import { goOnPurging } from './chains.ts';
import type { Step } from './step.ts';
import { earliest } from './timers.ts';

type Event<K extends ClientEvent['kind']> = Extract<ClientEvent, { kind: K }>;

/** Empties the trash, or takes named branches out of it for good. Answered when that is decided; the rows go behind it. */
export function onEmpty(step: Step, event: Event<'trash/empty'>): void {
  const { params, reply } = event;
  const first = answerTo<Result<'trash/empty'>>(step, params.key);
  if (first !== null) return void step.after(() => reply({ ok: true, value: first }));
  if (params.agents === null) {
    const upTo = step.store.nextId('trash') - 1;
    return onEmptyMore(step, { kind: 'emptyMore', upTo, branches: 0, agents: 0, key: params.key, reply });
  }
  const rows: TrashRecord[] = [];
  for (const id of new Set(params.agents)) {
    const agent = step.findAgent(id);
    const row = agent === undefined ? undefined : step.store.get('trash', agent.trash);
    if (agent === undefined) return refuse(step, reply, 'agent/unknown', `There is no agent ${id}.`);
    if (row?.agent !== id || row.state === 'moving' || row.state === 'leaving' || row.state === 'arriving') {
      const message = `${agent.name} is not a branch in the trash. "roost trash" lists what is there.`;
      return refuse(step, reply, 'trash/none', message);
    }
    if (row.state === 'kept') rows.push(row);
  }
  let agents = 0;
  for (const row of rows) agents += empty(step, row);
  answer(step, { branches: rows.length, agents, key: params.key, reply });
}

/** The next page of a trash that is emptied whole: of what was in it when the person said so. */
export function onEmptyMore(step: Step, event: Extract<RuntimeEvent, { kind: 'emptyMore' }>): void {
  const rows = step.store
    .range('trash.state', ['kept'], { limit: limits.slice })
    .filter((row) => row.id <= event.upTo);
  const branches = event.branches + rows.length;
  let { agents } = event;
  for (const row of rows) agents += empty(step, row);
  if (rows.length < limits.slice) return answer(step, { ...event, branches, agents });
  step.after(() => step.rt.post({ ...event, branches, agents }));
}

type Emptied = Pick<Extract<RuntimeEvent, { kind: 'emptyMore' }>, 'branches' | 'agents' | 'key' | 'reply'>;

function answer(step: Step, { branches, agents, key, reply }: Emptied): void {
  const value: Result<'trash/empty'> = { branches, agents };
  keepAnswer(step, key, value);
  goOnPurging(step);
  step.after(() => reply({ ok: true, value }));
}

/** From here on it cannot be restored. Returns the number of agents in it. */
function empty(step: Step, row: TrashRecord): number {
  step.store.update('trash', row.id, { state: 'emptying' });
  return row.agents;
}

/** Sets how long branches stay in the trash; null: until it is emptied by hand. */
export function onTrashKeep(step: Step, event: Event<'trash/keep'>): void {
  const { params, reply } = event;
  const value = JSON.stringify(params.keptMs);
  const known = settingOf(step);
  if (known === undefined) step.store.insert('setting', { name: 'trashKeptMs', value });
  else if (known.value !== value) step.store.update('setting', known.id, { value });
  expire(step);
  step.after(() => reply({ ok: true, value: {} }));
}

const settingOf = (step: Step) => step.store.range('setting.name', ['trashKeptMs'], { limit: 1 })[0];

/** What has been in the trash for its time is emptied, a slice at a time: what is left is the next alarm. */
export function expire(step: Step): void {
  dropArrivals(step, step.nowMs - limits.arrivalIdleMs);
  const keptMs = keptMsOf(settingOf(step)?.value, limits.trashKeptMs);
  if (keptMs === null) return;
  const rows = step.store
    .range('trash.state', ['kept'], { limit: limits.slice })
    .filter((row) => row.at + keptMs <= step.nowMs);
  for (const row of rows) empty(step, row);
  if (rows.length > 0) goOnPurging(step);
}

/** When something in the trash has been there for its time; null: nothing is, or it stays. */
export function nextExpiry(step: Step): number | null {
  return earliest(nextKept(step), nextIdle(step));
}

function nextKept(step: Step): number | null {
  const oldest = step.store.range('trash.state', ['kept'], { limit: 1 })[0];
  if (oldest === undefined) return null;
  const keptMs = keptMsOf(settingOf(step)?.value, limits.trashKeptMs);
  return keptMs === null ? null : oldest.at + keptMs;
}
