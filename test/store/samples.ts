// Rows for tests of the store: complete rows in which a test names only what it is about.

import type { LedgerRecord } from '../../sidecar/core/moneyRows.ts';
import type {
  AgentRecord,
  CallRecord,
  ChangeRecord,
  EntryRecord,
  RequestRecord,
  TurnRecord,
} from '../../sidecar/core/rows.ts';
import type { EntryBody } from '../../sidecar/protocol/entry.ts';

type New<Row> = Omit<Row, 'id'>;

export function agentRow(own: Partial<New<AgentRecord>> = {}): New<AgentRecord> {
  return {
    parent: 0,
    root: 1,
    depth: 0,
    name: 'lead',
    task: 'look around',
    profile: 0,
    nextProfile: 0,
    model: 'scripted/test',
    homeModel: null,
    handed: 0,
    effort: null,
    isolation: 'shared',
    mode: 'ask',
    place: 0,
    phase: 'idle',
    why: null,
    since: 1_790_000_000_000,
    turn: 0,
    head: 0,
    bytes: 0,
    context: 0,
    seenTokens: 0,
    seenBytes: 0,
    compacting: 0,
    forkAgent: 0,
    forkEntry: 0,
    forkStretch: 0,
    stretch: 0,
    born: 0,
    outcome: null,
    doing: '',
    queued: 0,
    children: 0,
    openChildren: 0,
    heard: 0,
    unheard: 0,
    noticeGap: 0,
    requests: 0,
    changes: 0,
    commands: 0,
    rank: 5,
    crashes: 0,
    restarted: 0,
    urgency: 0,
    attempts: 0,
    heldMicroUsd: 0,
    heldTokens: 0,
    rounds: 0,
    tries: 0,
    empties: 0,
    schema: 0,
    misses: 0,
    result: 0,
    last: 0,
    microUsd: 0,
    tokens: 0,
    cacheable: 0,
    cacheRead: 0,
    bAgents: 1,
    bRunning: 0,
    bWaiting: 0,
    bNeeds: 0,
    bFailed: 0,
    bDone: 0,
    bMicroUsd: 0,
    bTokens: 0,
    bCacheable: 0,
    bCacheRead: 0,
    bHeldMicroUsd: 0,
    bHeldTokens: 0,
    maxMicroUsd: null,
    maxTokens: null,
    maxAgents: null,
    maxDepth: null,
    endBy: null,
    closed: 0,
    trash: 0,
    detached: 0,
    revision: 0,
    halted: 0,
    created: 1_790_000_000_000,
    key: null,
    ...own,
  };
}

export function turnRow(own: Partial<New<TurnRecord>> = {}): New<TurnRecord> {
  return {
    agent: 1,
    state: 'queued',
    cause: 'message',
    sender: 0,
    text: 'look around',
    outcome: null,
    brief: '',
    answer: 0,
    last: 0,
    bytes: 0,
    result: null,
    stretch: 0,
    schema: 0,
    revision: 0,
    late: null,
    told: 0,
    model: null,
    started: 0,
    ended: 0,
    key: null,
    ...own,
  };
}

/** An entry of a user's message, or of the body that is given. */
export function entryRow(agent: number, body: string | EntryBody): New<EntryRecord> {
  const whole: EntryBody =
    typeof body === 'string' ? { kind: 'user', from: 'person', text: body, delivery: 'turn' } : body;
  const json = JSON.stringify(whole);
  return {
    agent,
    turn: 1,
    at: 1_790_000_000_000,
    kind: whole.kind,
    body: json,
    blob: 0,
    bytes: Buffer.byteLength(json),
  };
}

export function callRow(own: Partial<New<CallRecord>> = {}): New<CallRecord> {
  return {
    agent: 1,
    turn: 1,
    entry: 1,
    block: 0,
    key: 'call_1',
    tool: 'read',
    state: 'planned',
    evidence: null,
    started: 0,
    result: 0,
    open: 1,
    ...own,
  };
}

export function requestRow(own: Partial<New<RequestRecord>> = {}): New<RequestRecord> {
  return {
    agent: 1,
    turn: 1,
    call: 0,
    kind: 'approval',
    title: 'npm test',
    detail: 'npm test in /w',
    choices: '[]',
    cluster: null,
    state: 'open',
    answer: null,
    at: 1_790_000_000_000,
    answered: 0,
    key: null,
    ...own,
  };
}

export function changeRow(own: Partial<New<ChangeRecord>> = {}): New<ChangeRecord> {
  return {
    agent: 1,
    path: '/w/a.ts',
    written: '/w/a.ts',
    label: 'a.ts',
    isolation: 'shared',
    kind: 'edit',
    state: 'open',
    base: 0,
    after: 0,
    baseHash: 'b',
    afterHash: 'a',
    added: 1,
    removed: 0,
    at: 1_790_000_000_000,
    trash: 0,
    accepted: 0,
    doubt: '',
    rejected: 0,
    conflict: 0,
    ranges: '',
    ...own,
  };
}

export function ledgerRow(own: Partial<New<LedgerRecord>> = {}): New<LedgerRecord> {
  return {
    agent: 1,
    root: 1,
    turn: 1,
    attempt: 1,
    round: 1,
    state: 'settled',
    model: 'scripted/test',
    microUsd: 0,
    input: 0,
    output: 0,
    cacheRead: 0,
    cacheWrite: 0,
    at: 1_790_000_000_000,
    ...own,
  };
}
