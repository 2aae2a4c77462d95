// What a person should look at: requests, changes, failures, and the few numbers of the status bar.
//
// Promises: each list is bounded, each count is one stored number; nothing here grows with the fleet (I13).
// Not here: hunks of a change (the review adapter adds them).

import type DatabaseConstructor from 'better-sqlite3';
import { meet } from '../core/overlap.ts';
import type { CallRecord, ChangeRecord, RequestRecord } from '../core/rows.ts';
import type { ReviewFile } from '../ports.ts';
import { sectionRows } from '../protocol/attention.ts';
import type { AttentionState } from '../protocol/attention.ts';
import type { ChangeRow, Overlap } from '../protocol/change.ts';
import type { FleetState } from '../protocol/fleet.ts';
import { agentId, callId, changeId, requestId, turnId } from '../protocol/ids.ts';
import type { RequestRow } from '../protocol/request.ts';
import type { OpenCall } from '../protocol/transcript.ts';
import { limits } from '../runtime/limits.ts';
import type { AgentReads } from './agentReads.ts';
import type { EntryReads } from './entryReads.ts';
import type { TotalRow } from './totals.ts';

type Database = DatabaseConstructor.Database;
type Statement<Row> = DatabaseConstructor.Statement<unknown[], Row>;

interface StoredRequest extends RequestRecord {
  readonly agentName: string | null;
}

interface StoredChange extends ChangeRecord {
  readonly agentName: string | null;
}

const named = (table: 'request' | 'change', index: string): string =>
  `SELECT *, (SELECT name FROM agent WHERE agent.id = "${table}".agent) AS agentName FROM "${table}"
    ${index === '' ? '' : `INDEXED BY "${index}"`}`;

export class AttentionReads {
  readonly #agents: AgentReads;
  readonly #entries: EntryReads;
  readonly #total: Statement<TotalRow>;
  readonly #requests: Statement<StoredRequest>;
  readonly #requestsOf: Statement<StoredRequest>;
  readonly #calls: Statement<CallRecord>;
  readonly #openChanges: Statement<StoredChange>;
  readonly #changesOf: Statement<StoredChange>;
  readonly #change: Statement<StoredChange>;
  readonly #sameFile: Statement<StoredChange>;
  readonly #waits: Statement<number>;
  readonly #scripted: Statement<number>;

  constructor(database: Database, agents: AgentReads, entries: EntryReads) {
    this.#agents = agents;
    this.#entries = entries;
    this.#total = database.prepare('SELECT * FROM total WHERE id = 1');
    this.#requests = database.prepare(
      `${named('request', 'request.allOpen')} WHERE request.state = 'open' AND request.id > ? ORDER BY request.id LIMIT ? + 0`,
    );
    this.#requestsOf = database.prepare(
      `${named('request', 'request.open')}
        WHERE request.state = 'open' AND request.agent = +? ORDER BY request.id LIMIT ? + 0`,
    );
    this.#calls = database.prepare(
      'SELECT * FROM call INDEXED BY "call.open" WHERE open = 1 AND agent = +? ORDER BY id LIMIT ? + 0',
    );
    this.#openChanges = database.prepare(
      `${named('change', 'change.open')} WHERE change.state = 'open' AND change.trash = 0 AND change.id > ? ORDER BY change.id LIMIT ? + 0`,
    );
    this.#changesOf = database.prepare(
      `${named('change', 'change.agent')} WHERE change.agent = +? AND change.id > ? ORDER BY change.id LIMIT ? + 0`,
    );
    this.#change = database.prepare(`${named('change', '')} WHERE change.id = +?`);
    this.#sameFile = database.prepare(
      `${named('change', 'change.file')} WHERE change.state = 'open' AND change.trash = 0 AND change.path = +? ORDER BY change.id LIMIT ? + 0`,
    );
    this.#waits = database
      .prepare<unknown[], number>(
        `SELECT id FROM agent INDEXED BY "agent.waiting" WHERE phase = 'waiting' AND why = +? LIMIT 1`,
      )
      .pluck();
    this.#scripted = database
      .prepare<unknown[], number>(
        [
          ...['asking', 'calling'].map(
            (phase) => `SELECT model FROM agent INDEXED BY "agent.${phase}"
              WHERE phase = '${phase}' ORDER BY id LIMIT ? + 0`,
          ),
          // Who is ready and not in the queue has a request on its way.
          `SELECT (SELECT model FROM agent WHERE agent.id = ready.agent) AS model
            FROM ready INDEXED BY "ready.root" WHERE slot = 'model' LIMIT ? + 0`,
        ]
          .map((models) => `SELECT 1 FROM (${models}) WHERE substr(model, 1, 9) = 'scripted/'`)
          .join(' UNION ALL ') + ' LIMIT 1',
      )
      .pluck();
  }

  /** Open requests of all agents, oldest first. */
  requests(after: number, limit: number): { readonly rows: readonly RequestRow[]; readonly more: boolean } {
    const wanted = Math.min(limit, limits.pageRows);
    const stored = this.#requests.all(after, wanted + 1);
    return { rows: stored.slice(0, wanted).map(requestRow), more: stored.length > wanted };
  }

  /** Open requests of one agent. */
  requestsOf(agent: number): readonly RequestRow[] {
    return this.#requestsOf.all(agent, limits.pageRows).map(requestRow);
  }

  /** Calls of one agent that have no result yet. */
  openCalls(agent: number): readonly OpenCall[] {
    return this.#calls.all(agent, limits.pageRows).map(openCall);
  }

  /** Changes of one agent, decided ones too; `agent` 0: open changes of all. */
  changes(
    agent: number,
    after: number,
    limit: number,
  ): { readonly rows: readonly ChangeRow[]; readonly more: boolean } {
    const wanted = Math.min(limit, limits.pageRows);
    const stored =
      agent === 0 ? this.#openChanges.all(after, wanted + 1) : this.#changesOf.all(agent, after, wanted + 1);
    return { rows: stored.slice(0, wanted).map((row) => this.#changeRow(row)), more: stored.length > wanted };
  }

  change(id: number): { readonly row: ChangeRow; readonly file: ReviewFile } | undefined {
    const stored = this.#change.get(id);
    if (stored === undefined) return undefined;
    const bytes = (blob: number): Uint8Array | null => (blob === 0 ? null : this.#entries.blobBytes(blob));
    const { path, written, isolation } = stored;
    return {
      row: this.#changeRow(stored),
      file: { path, written, isolation, base: bytes(stored.base), after: bytes(stored.after) },
    };
  }

  #changeRow(stored: StoredChange): ChangeRow {
    return { ...changeRow(stored), overlaps: stored.state === 'open' ? this.#overlaps(stored) : [] };
  }

  /** Others with an undecided change of the same file. */
  #overlaps(stored: StoredChange): readonly Overlap[] {
    return this.#sameFile
      .all(stored.path, limits.overlapsLooked)
      .filter((other) => other.agent !== stored.agent)
      .slice(0, limits.overlapsShown)
      .map((other) => ({
        change: changeId(other.id),
        agent: agentId(other.agent),
        agentName: other.agentName ?? '',
        lines: meet(stored, other),
      }));
  }

  attention(): AttentionState {
    const total = this.total();
    return {
      requests: this.requests(0, sectionRows.requests).rows,
      requestsTotal: total.requests,
      reviews: this.changes(0, 0, sectionRows.reviews).rows,
      reviewsTotal: total.reviews,
      failed: this.#agents.failed(sectionRows.failed),
      failedTotal: total.failed,
      running: total.running,
      done: total.done,
    };
  }

  fleet(): FleetState {
    const total = this.total();
    const looked = limits.scriptedLook;
    return {
      agents: total.agents,
      running: total.running,
      waiting: total.waiting,
      decisions: total.requests,
      reviews: total.reviews,
      failed: total.failed,
      done: total.done,
      microUsd: total.microUsd,
      scripted: this.#scripted.get(looked, looked, looked) !== undefined,
      trouble: this.#trouble(),
    };
  }

  total(): TotalRow {
    return this.#total.get() ?? emptyTotal;
  }

  #trouble(): string | null {
    if (this.#waits.get('disk') !== undefined)
      return 'The disk is full, so agents wait. Free some space; they go on by themselves.';
    if (this.#waits.get('key') !== undefined)
      return 'Agents wait for a key of their model’s provider. Run “Roost: Set Key”.';
    return null;
  }
}

const emptyTotal: TotalRow = {
  roots: 0,
  agents: 0,
  running: 0,
  waiting: 0,
  needs: 0,
  failed: 0,
  done: 0,
  microUsd: 0,
  tokens: 0,
  requests: 0,
  reviews: 0,
  moves: 0,
};

function requestRow(stored: StoredRequest): RequestRow {
  const choices: readonly string[] = JSON.parse(stored.choices);
  return {
    id: requestId(stored.id),
    agent: agentId(stored.agent),
    agentName: stored.agentName ?? '',
    turn: turnId(stored.turn),
    call: stored.call === 0 ? null : callId(stored.call),
    kind: stored.kind,
    title: stored.title,
    detail: stored.detail,
    choices,
    cluster: stored.cluster,
    state: stored.state,
    atMs: stored.at,
  };
}

function changeRow(stored: StoredChange): Omit<ChangeRow, 'overlaps'> {
  return {
    id: changeId(stored.id),
    agent: agentId(stored.agent),
    agentName: stored.agentName ?? '',
    path: stored.path,
    label: stored.label,
    isolation: stored.isolation,
    kind: stored.kind,
    state: stored.state === 'open' && stored.conflict === 1 ? 'conflict' : stored.state,
    added: stored.added,
    removed: stored.removed,
    baseHash: stored.baseHash,
    afterHash: stored.afterHash,
    atMs: stored.at,
    doubt: stored.doubt === '' ? null : stored.doubt,
  };
}

function openCall(stored: CallRecord): OpenCall {
  const state = stored.state === 'planned' || stored.state === 'asking' ? stored.state : 'started';
  return { call: callId(stored.id), key: stored.key, tool: stored.tool, state, output: '' };
}
