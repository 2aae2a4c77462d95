// Commands in the background: the call that started one has its result, the command runs on. A row says so for as
// long as it runs, so the next process finds it again; it holds no slot, and ends with its agent's work.

import type { BackgroundRecord } from '../core/commandRows.ts';
import type { AgentRecord, CallRecord } from '../core/rows.ts';
import { must } from '../core/assert.ts';
import { head } from '../core/text.ts';
import type { Background, ToolOutcome } from '../ports.ts';
import { goOnPurging } from './chains.ts';
import { recordTouched } from './changes.ts';
import { jobOf } from './jobs.ts';
import { limits } from './limits.ts';
import type { Step } from './step.ts';

/** A call has left its command running: from the commit on that says so it is looked after. */
export function beginBackground(step: Step, call: CallRecord, background: Background): void {
  addCommand(step, call, background, { state: 'running', told: 0 });
}

/** The turn was interrupted while its command went into the background: it is ended, also over a crash, untold. */
export function refuseBackground(step: Step, call: CallRecord, background: Background): void {
  addCommand(step, call, background, { state: 'stopping', told: 1 });
}

function addCommand(
  step: Step,
  call: CallRecord,
  background: Background,
  as: Pick<BackgroundRecord, 'state' | 'told'>,
): void {
  const row = {
    agent: call.agent,
    call: call.id,
    turn: call.turn,
    title: head(background.title, limits.askTitleChars),
    evidence: JSON.stringify(background.evidence),
    started: step.nowMs,
    ...as,
  };
  const id = step.store.insert('background', row);
  step.agent(call.agent).commands += 1;
  attend(step, { id, ...row });
}

/** Lets the tools look after a command, and end it if that is what its row says. */
function attend(step: Step, row: BackgroundRecord): void {
  const { rt } = step;
  const call = must(step.store.get('call', row.call), 'the call of a command is in the store', {
    call: row.call,
  });
  const job = jobOf(step, step.agent(row.agent), call);
  step.callsChanged(row.agent);
  step.after(() => {
    const cancel = rt.tools.attend(job, JSON.parse(row.evidence), (outcome) =>
      rt.post({ kind: 'commandEnd', command: row.id, outcome }),
    );
    rt.attending.set(row.id, cancel);
    if (row.state === 'stopping') cancel();
  });
}

/** A command in the background has ended: its agent reads so at its next round, if it has not heard it already. */
export function onCommandEnd(step: Step, id: number, outcome: ToolOutcome): void {
  const row = step.store.get('background', id);
  step.after(() => void step.rt.attending.delete(id));
  if (row === undefined) return;
  const agent = step.agent(row.agent);
  step.store.remove('background', id);
  agent.commands -= 1;
  step.callsChanged(agent.id);
  if (agent.trash !== 0) goOnPurging(step); // which may wait for it
  for (const touched of outcome.touched ?? []) recordTouched(step, agent, touched);
  if (row.told === 1) return;
  const text = `[roost] Command ${row.call} in the background (${row.title}) has ended: ${outcome.text}`;
  step.store.insert('inbox', {
    agent: agent.id,
    sender: agent.id,
    kind: 'note',
    text,
    key: noteKey(row.call),
    at: step.nowMs,
  });
}

const noteKey = (call: number): string => `command ${call}`;

/** An agent was told by a call that its command has ended: it need not read it again. */
export function heardEnd(step: Step, agent: AgentRecord, call: number): void {
  const row = step.store.range('background.call', [call], { limit: 1 })[0];
  if (row?.agent === agent.id) step.store.update('background', row.id, { told: 1 });
  const note = step.store.range('inbox.key', [noteKey(call)], { limit: 1 })[0];
  if (note?.agent === agent.id) step.store.remove('inbox', note.id);
}

/** Ends the commands that an agent has in the background. */
export function endBackground(step: Step, agent: AgentRecord): void {
  if (agent.commands === 0) return;
  for (const row of step.store.range('background.agent', [agent.id], { limit: limits.slice }))
    stopCommand(step, row);
}

/** The same for all agents of a branch. */
export function endBackgroundBelow(step: Step, top: AgentRecord): void {
  if (top.children === 0) return endBackground(step, top);
  endBackgroundOf(step, (lineage) => lineage.some((agent) => agent.id === top.id));
}

/** The same for those whose lineage, themselves first, is wanted: there are at most `limits.backgroundCommands` rows. */
export function endBackgroundOf(step: Step, isWanted: (lineage: readonly AgentRecord[]) => boolean): void {
  for (let above = 0; ;) {
    const rows = step.store.range('background.call', [], { above, limit: limits.slice });
    for (const row of rows) {
      above = row.call;
      if (isWanted(step.lineage(row.agent))) stopCommand(step, row);
    }
    if (rows.length < limits.slice) return;
  }
}

/** What an agent has in the background, in a line for it; null: nothing. */
export function backgroundOf(step: Step, agent: AgentRecord): string | null {
  if (agent.commands === 0) return null;
  const rows = step.store.range('background.agent', [agent.id], { limit: limits.slice });
  const names = rows.map(({ call, title, state }) =>
    state === 'running' ? `${call} (${title})` : `${call} (${title}, is being ended)`,
  );
  return `Your commands in the background: ${names.join(', ')}.`;
}

/** Ends one of them, also over the end of this process. */
export function stopCommand(step: Step, row: BackgroundRecord): void {
  if (row.state === 'running') step.store.update('background', row.id, { state: 'stopping' });
  step.callsChanged(row.agent);
  step.after(() => step.rt.attending.get(row.id)?.());
}

/** A slice of the commands that the last process looked after; returns them. */
export function recoverBackground(step: Step, above: number): readonly BackgroundRecord[] {
  const rows = step.store.range('background.call', [], { above, limit: limits.slice });
  for (const row of rows) {
    step.lookingAt = row.agent;
    attend(step, row);
  }
  return rows;
}
