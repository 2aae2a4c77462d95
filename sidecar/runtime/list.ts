// list_agents: what a model is told of its children, a page at a time, and the whole of what they handed in.

import type { AgentRecord } from '../core/rows.ts';
import { head, utf8Bytes } from '../core/text.ts';
import type { Verb } from '../core/verbs.ts';
import { answerOf } from './jobs.ts';
import { limits } from './limits.ts';
import type { Step } from './step.ts';

type ListVerb = Extract<Verb, { kind: 'list_agents' }>;

/** One page as text of at most limits.resultBytes. With `results` a page is as many agents as fit, at least one. */
export function listAgents(step: Step, agent: AgentRecord, { after, results }: ListVerb): string {
  const from =
    after === null ? undefined : step.store.range('agent.named', [agent.id, after], { limit: 1 })[0];
  const rows = step.store.range('agent.children', [agent.id], {
    after: from?.id ?? 0,
    limit: limits.listAgents + 1,
  });
  if (rows.length === 0) return after === null ? 'You have no agents.' : `There are none after "${after}".`;
  const lines: string[] = [];
  // Room for the line that says how to go on.
  let room = limits.resultBytes - 200;
  let last = '';
  for (const row of rows.slice(0, limits.listAgents)) {
    const child = step.agent(row.id);
    const line = lineOf(step, child, results);
    const bytes = utf8Bytes(line) + 1;
    if (room < bytes && lines.length > 0) break;
    lines.push(bytes <= room ? line : head(line, Math.floor(room / 3)));
    room -= bytes;
    last = child.name;
  }
  const asked = results ? '"results": true and ' : '';
  if (lines.length < rows.length) lines.push(`More: list_agents with ${asked}after "${last}".`);
  return lines.join('\n');
}

function lineOf(step: Step, child: AgentRecord, results: boolean): string {
  const state =
    child.phase === 'idle'
      ? (child.outcome ?? 'new')
      : child.phase === 'waiting'
        ? `waits (${child.why})`
        : 'at work';
  if (!results || child.last === 0) return `- ${child.name}: ${state}. ${child.doing}`;
  const turn = step.turn(child.last);
  const late =
    turn.revision < child.revision ? ', superseded: it answers an earlier task than your newest' : '';
  const ended = `last turn ${turn.outcome ?? ''}${late}`;
  return `- ${child.name}: ${state}. ${ended}:\n${turn.result ?? answerOf(step.store, turn)}`;
}
