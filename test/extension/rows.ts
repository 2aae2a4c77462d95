// Rows of agents, requests and changes for tests; a test states what matters to it.
import type { AgentRow } from '../../sidecar/protocol/agent.ts';
import type { ChangeDetail, ChangeRow, Hunk } from '../../sidecar/protocol/change.ts';
import { agentId, changeId, requestId, turnId } from '../../sidecar/protocol/ids.ts';
import type { RequestRow } from '../../sidecar/protocol/request.ts';

export function agentRow(id: number, over: Partial<AgentRow> = {}): AgentRow {
  return {
    id: agentId(id),
    parent: null,
    root: agentId(id),
    depth: 0,
    name: `agent${id}`,
    task: 'a task',
    profile: 'implementer',
    model: 'anthropic/m',
    isolation: 'shared',
    mode: 'ask',
    workspace: '/project',
    phase: 'idle',
    why: null,
    sinceMs: 0,
    turn: null,
    last: null,
    outcome: null,
    doing: '',
    queued: 0,
    children: 0,
    changes: 0,
    commands: 0,
    trashed: false,
    branch: { agents: 1, running: 0, waiting: 0, needs: 0, failed: 0, done: 0, microUsd: 0, tokens: 0 },
    budget: { microUsd: null, tokens: null, agents: null, depth: null, wallMs: null },
    ...over,
  };
}

export function requestRow(id: number, over: Partial<RequestRow> = {}): RequestRow {
  return {
    id: requestId(id),
    agent: agentId(id),
    agentName: `agent${id}`,
    turn: turnId(1),
    call: null,
    kind: 'approval',
    title: 'npm test',
    detail: 'npm test\nin /project',
    choices: [],
    cluster: null,
    state: 'open',
    atMs: 0,
    ...over,
  };
}

export function changeRow(id: number, over: Partial<ChangeRow> = {}): ChangeRow {
  return {
    id: changeId(id),
    agent: agentId(id),
    agentName: `agent${id}`,
    path: `/project/src/f${id}.ts`,
    label: `src/f${id}.ts`,
    isolation: 'shared',
    kind: 'edit',
    state: 'open',
    added: 1,
    removed: 1,
    baseHash: `b${id}`,
    afterHash: `a${id}`,
    doubt: null,
    atMs: 0,
    overlaps: [],
    ...over,
  };
}

export function hunk(id: string, start: number, over: Partial<Hunk> = {}): Hunk {
  const range = { start, count: 1 };
  return { id, base: range, after: range, now: range, removed: ['old'], added: ['new'], ...over };
}

export function changeDetail(row: ChangeRow, hunks: readonly Hunk[]): ChangeDetail {
  return { ...row, hunks, baseText: 'base\n', afterText: 'after\n' };
}
