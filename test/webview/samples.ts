// Rows, entries and changes as the sidecar would send them, for the webview's tests: each function gives a whole
// one and takes only what a story is about.
import type { AgentRow, Rollup } from '../../sidecar/protocol/agent.ts';
import type { ChangeDetail, Hunk } from '../../sidecar/protocol/change.ts';
import type { Block, Entry, EntryBody } from '../../sidecar/protocol/entry.ts';
import { agentId, callId, changeId, entryId, requestId, turnId } from '../../sidecar/protocol/ids.ts';
import type { RequestRow } from '../../sidecar/protocol/request.ts';
import type { OpenCall, TranscriptState } from '../../sidecar/protocol/transcript.ts';
import type { TreeQuery, TreeRow, TreeWindow } from '../../sidecar/protocol/tree.ts';

/** A fixed moment, so that pictures do not change by the hour: 21 November 2026, 14:32 UTC. */
export const noonMs = Date.UTC(2026, 10, 21, 14, 32);

export function rollup(part: Partial<Rollup> = {}): Rollup {
  return { agents: 1, running: 0, waiting: 0, needs: 0, failed: 0, done: 0, microUsd: 0, tokens: 0, ...part };
}

export function agent(id: number, part: Partial<AgentRow> = {}): AgentRow {
  return {
    id: agentId(id),
    parent: null,
    root: agentId(id),
    depth: 0,
    name: `agent-${id}`,
    task: `Task of agent ${id}`,
    profile: 'implementer',
    model: 'anthropic/claude-sonnet',
    isolation: 'shared',
    mode: 'ask',
    workspace: '/home/me/shop',
    phase: 'idle',
    why: null,
    sinceMs: noonMs,
    turn: null,
    last: null,
    outcome: null,
    doing: '',
    queued: 0,
    children: 0,
    changes: 0,
    commands: 0,
    trashed: false,
    branch: rollup(),
    budget: { microUsd: null, tokens: null, agents: null, depth: null, wallMs: null },
    ...part,
  };
}

export function entry(id: number, body: EntryBody, agentNumber = 1): Entry {
  return { id: entryId(id), agent: agentId(agentNumber), turn: turnId(1), atMs: noonMs + id * 1000, body };
}

export function said(id: number, text: string): Entry {
  return entry(id, { kind: 'user', from: 'person', text, delivery: 'turn' });
}

export function answer(id: number, ...blocks: Block[]): Entry {
  const usage = { input: 100, output: 20, cacheRead: 0, cacheWrite: 0 };
  return entry(id, { kind: 'answer', model: 'anthropic/claude-sonnet', blocks, stop: 'end', usage });
}

export function text(words: string): Block {
  return { kind: 'text', text: words };
}

export function call(key: string, tool: string, input: unknown): Block {
  return { kind: 'call', key, tool, input: typeof input === 'string' ? input : JSON.stringify(input) };
}

export function result(
  id: number,
  key: string,
  part: Partial<Extract<EntryBody, { kind: 'result' }>> = {},
): Entry {
  return entry(id, {
    kind: 'result',
    call: callId(id),
    key,
    tool: 'shell',
    status: 'ok',
    text: 'ok',
    ...part,
  });
}

export function openCall(call_: number, key: string, part: Partial<OpenCall> = {}): OpenCall {
  return { call: callId(call_), key, tool: 'shell', state: 'started', output: '', ...part };
}

export function request(id: number, part: Partial<RequestRow> = {}): RequestRow {
  return {
    id: requestId(id),
    agent: agentId(1),
    agentName: 'agent-1',
    turn: turnId(1),
    call: null,
    kind: 'approval',
    title: 'npm test',
    detail: 'npm test\nin /home/me/shop',
    choices: [],
    cluster: null,
    state: 'open',
    atMs: noonMs,
    ...part,
  };
}

export function transcript(
  row: AgentRow,
  entries: readonly Entry[],
  part: Partial<TranscriptState> = {},
): TranscriptState {
  return {
    agent: row,
    entries,
    older: false,
    streaming: '',
    thinking: '',
    calls: [],
    commands: [],
    requests: [],
    ...part,
  };
}

export function hunk(id: string, start: number, removed: readonly string[], added: readonly string[]): Hunk {
  return {
    id,
    base: { start, count: removed.length },
    after: { start, count: added.length },
    now: { start, count: added.length },
    removed,
    added,
  };
}

export function change(id: number, part: Partial<ChangeDetail> = {}): ChangeDetail {
  const hunks = part.hunks ?? [];
  return {
    id: changeId(id),
    agent: agentId(1),
    agentName: 'agent-1',
    path: `/home/me/shop/src/file${id}.ts`,
    label: `src/file${id}.ts`,
    isolation: 'shared',
    kind: 'edit',
    state: 'open',
    added: hunks.reduce((sum, each) => sum + each.added.length, 0),
    removed: hunks.reduce((sum, each) => sum + each.removed.length, 0),
    baseHash: `base-${id}`,
    afterHash: `after-${id}`,
    doubt: null,
    atMs: noonMs,
    overlaps: [],
    hunks,
    baseText: null,
    afterText: null,
    ...part,
  };
}

/**
 * A forest of any size that answers windows without holding rows: `roots` roots with `children` children each.
 * Root n has id n × (children + 1) + 1, its children follow.
 */
export function forest(
  roots: number,
  children: number,
  look: (id: number) => Partial<AgentRow> = () => ({}),
) {
  const size = children + 1;
  const rowOf = (id: number, level: number, expanded: boolean): TreeRow => {
    const isRoot = level === 0;
    const root = agentId(id - ((id - 1) % size));
    const branch = rollup({ agents: isRoot ? size : 1 });
    const base = {
      root,
      parent: isRoot ? null : root,
      depth: level,
      children: isRoot ? children : 0,
      branch,
    };
    return { agent: agent(id, { ...base, ...look(id) }), level, expanded };
  };
  const window = (query: TreeQuery): TreeWindow => {
    const open = [...new Set(query.expanded.map(Number))]
      .filter((id) => (id - 1) % size === 0)
      .sort((a, b) => a - b);
    const opened = children === 0 ? [] : open.map((id) => (id - 1) / size).filter((index) => index < roots);
    const total = roots + opened.length * children;
    const top = Math.min(query.top, Math.max(0, total - 1));
    const rows: TreeRow[] = [];
    for (let index = top; index < Math.min(total, top + query.height); index += 1)
      rows.push(at(index, opened));
    return { rows, top, total, partial: false };
  };
  const at = (index: number, opened: readonly number[]): TreeRow => {
    let before = 0;
    for (const root of opened) {
      const rootRow = root + before;
      if (index <= rootRow) break;
      if (index <= rootRow + children) return rowOf(root * size + 1 + (index - rootRow), 1, false);
      before += children;
    }
    const root = index - before;
    return rowOf(root * size + 1, 0, opened.includes(root));
  };
  return { window };
}
