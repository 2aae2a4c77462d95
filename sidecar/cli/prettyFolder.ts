// Lines for people about folders: worktrees of agents, checkpoints.

import type { PrintedLine } from './lines.ts';
import { clean, indent } from './prettyText.ts';

type FolderLine = Extract<
  PrintedLine,
  { readonly type: 'checkpoint' | 'checkpointFile' | 'checkpointRestored' | 'worktree' | 'worktreeRemoved' }
>;

export function prettyFolder(line: FolderLine): string {
  switch (line.type) {
    case 'checkpoint':
      return clean(prettyCheckpoint(line));
    case 'checkpointFile':
      return clean(
        `    ${line.action.padEnd(6)} ${line.label}${line.reason === null ? '' : `  (${line.reason})`}\n`,
      );
    case 'checkpointRestored':
      return `${line.written} written, ${line.removed} removed${line.undo === null ? '' : `. Undo with: roost checkpoint restore ${line.undo}`}\n`;
    case 'worktree':
      return clean(
        `${line.agentName ?? 'no agent'} (${line.agent})  ${line.state}  ${line.reason}\n    ${line.path}\n${indent(line.unreviewed.join('\n'))}`,
      );
    case 'worktreeRemoved':
      return clean(`${line.removed ? '' : 'not removed: '}${line.reason}\n`);
  }
}

function prettyCheckpoint(line: Extract<PrintedLine, { type: 'checkpoint' }>): string {
  const what =
    line.kind === 'turn'
      ? `before ${line.agentName ?? 'an agent'} wrote (turn ${line.turn})`
      : 'before a restore';
  const at = new Date(line.atMs).toISOString().replace('T', ' ').slice(0, 19);
  return `${line.id}  ${at}  ${what}  ${line.workspace}\n${indent(line.problems.join('\n'))}`;
}
