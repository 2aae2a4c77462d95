// Requests: what a person must decide. Opened with the row that waits for it, answered once, withdrawn when the
// turn goes (I15).

import type { AgentRecord, CallRecord, RequestRecord } from '../core/rows.ts';
import { firstLine } from '../core/text.ts';
import type { Answer } from '../protocol/request.ts';
import { limits } from './limits.ts';
import type { Step } from './step.ts';

type NewRequest = Pick<RequestRecord, 'kind' | 'title' | 'detail' | 'cluster'> & {
  readonly call: number;
  readonly choices: readonly string[];
};

/** Opens a request of the agent's turn. */
export function openRequest(step: Step, agent: AgentRecord, request: NewRequest): void {
  step.store.insert('request', {
    agent: agent.id,
    turn: agent.turn,
    call: request.call,
    kind: request.kind,
    title: request.title,
    detail: request.detail,
    choices: JSON.stringify(request.choices),
    cluster: request.cluster,
    state: 'open',
    answer: null,
    at: step.nowMs,
    answered: 0,
    key: null,
  });
  agent.requests += 1;
  // Who looks at the tree sees what is asked, not what was done last.
  agent.doing = firstLine(request.title, limits.taskChars);
  step.requestsChanged(agent.id);
}

/** Records a person's answer, and under which key of their client it came. */
export function closeRequest(
  step: Step,
  agent: AgentRecord,
  request: RequestRecord,
  { answer, key }: { readonly answer: Answer; readonly key: string },
): void {
  step.store.update('request', request.id, {
    state: 'answered',
    answer: JSON.stringify(answer),
    answered: step.nowMs,
    key,
  });
  agent.requests -= 1;
  step.requestsChanged(agent.id);
}

/** Takes back the open requests of an agent: their turn is gone. */
export function withdrawRequests(step: Step, agent: AgentRecord): void {
  for (const row of step.store.range('request.open', [agent.id], { limit: limits.slice }))
    withdrawRequest(step, agent, row);
}

/** Takes back one open request: what it asks is decided otherwise, or gone. */
export function withdrawRequest(step: Step, agent: AgentRecord, { id }: RequestRecord): void {
  step.store.update('request', id, { state: 'withdrawn', answered: step.nowMs });
  agent.requests -= 1;
  step.requestsChanged(agent.id);
}

/** What a person has said in this turn to the same question: given for this very call, or denied for any (case 249). */
export function saidBefore(
  step: Step,
  call: CallRecord,
  asked: { readonly title: string; readonly detail: string },
): Answer | null {
  for (const row of step.store.range('request.turn', [call.turn], { limit: limits.slice, newest: true })) {
    if (row.state !== 'answered' || row.answer === null) continue;
    if (row.title !== asked.title || row.detail !== asked.detail) continue;
    const answer: Answer = JSON.parse(row.answer);
    if (answer.kind === 'deny' || row.call === call.id) return answer;
  }
  return null;
}
