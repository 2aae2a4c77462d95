// A branch as the lines of its file (protocol/branchFile.ts), from any place in it on.
//
// Promises: reads a page of entries at a time, and from each place on gives the same lines while nobody works in the
// branch. Not here: what is hidden of them, and how they are cut to fit a message (rpc/branchExport.ts).

import type DatabaseConstructor from 'better-sqlite3';
import type { AgentRecord, ChangeRecord, TurnRecord } from '../core/rows.ts';
import { RoostError } from '../protocol/errors.ts';
import type { AgentRow } from '../protocol/agent.ts';
import type { AgentLine, BranchLine, EntryLine, FileBody, FileSender } from '../protocol/branchFile.ts';
import type { Entry, EntryBody } from '../protocol/entry.ts';
import type { JsonObject } from '../protocol/json.ts';
import type { BranchPlace, PlacedLine } from '../core/branchRows.ts';
import type { AgentReads } from './agentReads.ts';
import type { EntryReads } from './entryReads.ts';

type Database = DatabaseConstructor.Database;
type Statement<Row> = DatabaseConstructor.Statement<unknown[], Row>;

/** Entries and changes read at a time: some may be large. */
const pageRows = 20;

export class BranchReads {
  readonly #agents: AgentReads;
  readonly #entries: EntryReads;
  readonly #own: Statement<Pick<AgentRecord, 'closed' | 'created'>>;
  readonly #turn: Statement<TurnRecord>;
  readonly #changes: Statement<ChangeRecord>;
  readonly #next: Statement<number>;

  constructor(database: Database, agents: AgentReads, entries: EntryReads) {
    this.#agents = agents;
    this.#entries = entries;
    this.#own = database.prepare('SELECT closed, created FROM agent WHERE id = ?');
    this.#turn = database.prepare('SELECT * FROM turn WHERE id = ?');
    this.#changes = database.prepare(
      'SELECT * FROM "change" INDEXED BY "change.agent" WHERE agent = +? AND id > ? ORDER BY id LIMIT ? + 0',
    );
    this.#next = database
      .prepare<unknown[], number>(
        'SELECT id FROM agent INDEXED BY "agent.children" WHERE detached = 0 AND parent = +? AND id > ? ORDER BY id LIMIT 1',
      )
      .pluck();
  }

  /**
   * Lines of the branch below and with `top`, from a place on.
   * @throws RoostError `agent/unknown` when the agent at that place is gone: the file would be cut.
   */
  *lines(top: number, from: BranchPlace): Generator<PlacedLine> {
    let at = from;
    for (;;) {
      const row = this.#agents.agent(at.agent);
      const own = this.#own.get(at.agent);
      if (row === undefined || own === undefined) {
        const message = 'An agent of the branch was deleted while it was exported. Export it again.';
        throw new RoostError('agent/unknown', message, { agent: at.agent });
      }
      if (at.part === 'agent') {
        at = { agent: at.agent, part: 'entries', after: 0, turn: 0 };
        yield { line: agentLine(row, own, top), next: at };
      }
      if (at.part === 'entries') {
        yield* this.#transcript(row, top, at);
        at = { agent: at.agent, part: 'changes', after: 0, turn: 0 };
      }
      yield* this.#changesOf(at);
      const next = this.#behind(top, at.agent);
      if (next === 0) return;
      at = { agent: next, part: 'agent', after: 0, turn: 0 };
    }
  }

  *#transcript(row: AgentRow, top: number, from: BranchPlace): Generator<PlacedLine> {
    const parent = row.id === top ? null : row.parent;
    const sender = (of: number): FileSender => (of === 0 ? 'person' : of === parent ? 'parent' : 'agent');
    let { after } = from;
    let turn = from.turn === 0 ? undefined : this.#turn.get(from.turn);
    for (;;) {
      const { entries, more } = this.#entries.entries(row.id, { after, limit: pageRows });
      for (const entry of entries) {
        const other = entry.turn === turn?.id ? undefined : this.#turn.get(entry.turn);
        if (other !== undefined) {
          turn = other;
          const next = { agent: row.id, part: 'entries', after, turn: turn.id } as const;
          yield { line: turnLine(turn, sender(turn.sender)), next };
        }
        after = entry.id;
        const next = { agent: row.id, part: 'entries', after, turn: turn?.id ?? 0 } as const;
        yield { line: this.#entryLine(entry, turn, sender), next };
      }
      if (!more) return;
    }
  }

  #entryLine(entry: Entry, turn: TurnRecord | undefined, sender: (of: number) => FileSender): EntryLine {
    const answer = turn !== undefined && turn.answer === entry.id;
    return {
      ...{ type: 'entry', atMs: entry.atMs },
      ...(answer ? { answer } : {}),
      body: this.#body(entry.body, sender),
    };
  }

  #body(body: EntryBody, sender: (of: number) => FileSender): FileBody {
    switch (body.kind) {
      case 'user': {
        const { schema: blob, ...rest } = body;
        const from = body.from === 'person' ? 'person' : sender(body.from);
        const json = blob === undefined ? null : this.#text(blob);
        const schema: JsonObject | null = json === null ? null : JSON.parse(json);
        return { ...rest, from, ...(schema === null ? {} : { schema }) };
      }
      case 'result': {
        const { call: _call, blob, ...rest } = body;
        const whole = blob === undefined ? null : this.#text(blob);
        return { ...rest, ...(whole === null ? {} : { whole }) };
      }
      // What it left is not in the file, so it is a word to the model and nothing more.
      case 'rewind':
      // The file has every entry; what of them was sent is found again where it is needed.
      case 'context':
        return { kind: 'note', text: body.text };
      case 'notice':
      case 'answer':
      case 'note':
      case 'end':
        return body;
    }
  }

  #text(blob: number): string | null {
    const bytes = this.#entries.blobBytes(blob);
    return bytes === null ? null : Buffer.from(bytes).toString('utf8');
  }

  *#changesOf(from: BranchPlace): Generator<PlacedLine> {
    for (let { after } = from; ;) {
      const rows = this.#changes.all(from.agent, after, pageRows);
      for (const { id, label, kind, state, added, removed, at: atMs } of rows) {
        after = id;
        yield {
          line: { type: 'change', label, kind, state, added, removed, atMs },
          next: { ...from, after },
        };
      }
      if (rows.length < pageRows) return;
    }
  }

  /** The agent that comes behind this one: the first below it, else the next beside it or beside one above; 0: none. */
  #behind(top: number, agent: number): number {
    const below = this.#next.get(agent, 0);
    if (below !== undefined) return below;
    for (let at = agent; at !== top;) {
      const parent = this.#agents.agent(at)?.parent ?? null;
      if (parent === null) return 0;
      const beside = this.#next.get(parent, at);
      if (beside !== undefined) return beside;
      at = parent;
    }
    return 0;
  }
}

function agentLine(row: AgentRow, own: Pick<AgentRecord, 'closed' | 'created'>, top: number): AgentLine {
  const { budget, branch } = row;
  const left = (limit: number | null, spent: number): number | null =>
    limit === null ? null : Math.max(0, limit - spent);
  return {
    type: 'agent',
    id: row.id,
    parent: row.id === top ? null : row.parent,
    name: row.name,
    task: row.task,
    model: row.model,
    profile: row.profile,
    isolation: row.isolation,
    closed: own.closed !== 0,
    createdAtMs: own.created,
    budget: {
      microUsd: left(budget.microUsd, branch.microUsd),
      tokens: left(budget.tokens, branch.tokens),
      agents: budget.agents,
      depth: budget.depth,
    },
  };
}

function turnLine(turn: TurnRecord, from: FileSender): BranchLine {
  const { cause, outcome, brief, result, started, ended } = turn;
  const endedAtMs = ended === 0 ? null : ended;
  return { type: 'turn', cause, from, outcome, brief, result, startedAtMs: started, endedAtMs };
}
