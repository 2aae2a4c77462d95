// Lines for people about whole branches: stopped, closed, in the trash, deleted for good, exported, imported.

import type { PrintedLine } from './lines.ts';

type BranchLine = Extract<
  PrintedLine,
  {
    readonly type:
      | 'interrupted'
      | 'closed'
      | 'deleted'
      | 'restored'
      | 'trash'
      | 'emptied'
      | 'trashKept'
      | 'exported'
      | 'imported';
  }
>;

export function prettyBranch(line: BranchLine): string {
  switch (line.type) {
    case 'interrupted':
      return `stopped ${counted(line.stopped)}\n`;
    case 'closed':
      return `${line.name} is closed; ${line.stopped} ${line.stopped === 1 ? 'agent was' : 'agents were'} at work\n`;
    case 'deleted':
      return `${line.name} is in the trash (${counted(line.agents)}). Bring it back with: roost restore ${line.agent}\n`;
    case 'restored':
      return `${line.name} is back (${counted(line.agents)})\n`;
    case 'trash':
      return prettyTrash(line);
    case 'emptied':
      return line.branches === 0 ? 'The trash is empty.\n' : `deleted for good: ${counted(line.agents)}\n`;
    case 'trashKept':
      return `what is deleted stays in the trash ${untilWhen(line.keptMs)}\n`;
    case 'exported':
      return `${line.file}: ${line.bytes} bytes\n`;
    case 'imported':
      return `${line.name} (${line.agent}) is here: ${counted(line.agents)}, at rest\n`;
  }
}

function untilWhen(keptMs: number | null): string {
  if (keptMs === null) return 'until it is emptied';
  const days = keptMs / (24 * 60 * 60_000);
  return `for ${days} ${days === 1 ? 'day' : 'days'}`;
}

const counted = (agents: number): string => `${agents} ${agents === 1 ? 'agent' : 'agents'}`;

const trashWords = {
  moving: ', on its way in',
  kept: '',
  leaving: ', on its way back',
  emptying: ', being deleted for good',
  arriving: ', being imported',
} as const;

function prettyTrash(row: Extract<PrintedLine, { type: 'trash' }>): string {
  const until =
    row.untilMs === null ? '' : `, kept until ${new Date(row.untilMs).toISOString().slice(0, 10)}`;
  const state = row.state === 'kept' ? until : trashWords[row.state];
  return `${row.path} (${row.agent.id})  ${counted(row.agents)}${state}  ${row.agent.task}\n`;
}
