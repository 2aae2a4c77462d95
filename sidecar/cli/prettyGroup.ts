// Lines for people about groups.

import type { PrintedLine } from './lines.ts';
import { clean, indent } from './prettyText.ts';

type GroupLine = Extract<PrintedLine, { readonly type: 'member' | 'picked' }>;

export function prettyGroup(line: GroupLine): string {
  return clean(line.type === 'member' ? prettyMember(line) : prettyPicked(line));
}

function prettyMember(line: Extract<GroupLine, { type: 'member' }>): string {
  const { agent, outcome, text, result, files, added, removed } = line;
  const how = outcome ?? `${agent.phase}${agent.why === null ? '' : ` (${agent.why})`}`;
  const cost = agent.branch.microUsd === 0 ? '' : `, $${(agent.branch.microUsd / 1e6).toFixed(4)}`;
  const changed = agent.changes === 0 ? 'no changes' : `${agent.changes} files, +${added} -${removed}`;
  const names = files.map((file) => `${file.label}  +${file.added} -${file.removed}`).join('\n');
  const said = result === null ? text : JSON.stringify(result);
  return `${agent.name} (agent ${agent.id}, ${agent.model}): ${how}, ${changed}${cost}\n${indent(names)}${indent(said)}`;
}

function prettyPicked(line: Extract<GroupLine, { type: 'picked' }>): string {
  const { winner, accepted, conflicts, discarded } = line;
  const refused = conflicts.map(({ change, label, message }) => `change ${change}, ${label}: ${message}`);
  const others =
    conflicts.length === 0
      ? `${discarded.length} others are in the trash`
      : 'the others are kept: decide about these, then pick again';
  return `${winner}: ${accepted} changes accepted; ${others}\n${indent(refused.join('\n'))}`;
}
