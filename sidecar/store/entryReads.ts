// Transcripts, blobs and turns, in pages.
//
// Promises: a page is at most `limit` entries and 256 KB, and at least one entry when there is one. A fork's
// transcript begins with the shared prefix of the agent it came from, by reference, at any depth of forks; after a
// rewind it goes on behind an earlier turn, and what is left can be read as it was at the end of any turn.
// Not here: what goes to a model (the runtime reads its own pages through the Store port).

import type DatabaseConstructor from 'better-sqlite3';
import type { AgentRecord, BlobRecord, EntryRecord, StretchRecord, TurnRecord } from '../core/rows.ts';
import { firstLine } from '../core/text.ts';
import type { Entry, EntryBody } from '../protocol/entry.ts';
import { agentId, blobId, entryId, turnId } from '../protocol/ids.ts';
import type { JsonObject } from '../protocol/json.ts';
import type { TurnResult, TurnRow } from '../protocol/methods.ts';
import { limits } from '../runtime/limits.ts';
import { characterEnd, unpackBlob } from './blobs.ts';

type Database = DatabaseConstructor.Database;
type Statement<Row> = DatabaseConstructor.Statement<unknown[], Row>;

/** Entries of one agent that belong to a transcript: those with an id above `after` and at most `last`. */
interface Segment {
  readonly agent: number;
  readonly stretch: number;
  readonly after: number;
  readonly last: number;
}

/** Where a transcript ends. */
interface End {
  readonly agent: number;
  readonly entry: number;
  readonly stretch: number;
}

interface StoredTurn extends TurnRecord {
  readonly name: string | null;
  /** Number of the newest task that its agent was given. */
  readonly newest: number | null;
}

const turnSelect = `SELECT *, (SELECT name FROM agent WHERE agent.id = turn.agent) AS name,
  (SELECT revision FROM agent WHERE agent.id = turn.agent) AS newest FROM turn`;

export class EntryReads {
  readonly #agent: Statement<
    Pick<AgentRecord, 'forkAgent' | 'forkEntry' | 'forkStretch' | 'stretch' | 'turn' | 'last'>
  >;
  readonly #remains: Statement<Pick<AgentRecord, 'forkAgent' | 'forkEntry' | 'forkStretch'>>;
  readonly #stretch: Statement<StretchRecord>;
  readonly #forwards: Statement<EntryRecord>;
  readonly #backwards: Statement<EntryRecord>;
  readonly #log: Statement<EntryRecord>;
  readonly #entry: Statement<EntryRecord>;
  readonly #blob: Statement<BlobRecord>;
  readonly #blobHead: Statement<{ form: string; size: number }>;
  readonly #blobPart: Statement<Uint8Array>;
  readonly #turn: Statement<StoredTurn>;
  readonly #turns: Statement<TurnRecord>;
  readonly #first: Statement<EntryRecord>;
  readonly #late: Statement<{ id: number; key: string | null }>;

  constructor(database: Database) {
    const own = 'SELECT * FROM entry INDEXED BY "entry.agent" WHERE agent = +?';
    this.#agent = database.prepare(
      'SELECT forkAgent, forkEntry, forkStretch, stretch, turn, last FROM agent WHERE id = ?',
    );
    this.#remains = database.prepare(
      'SELECT forkAgent, forkEntry, forkStretch FROM remains INDEXED BY "remains.agent" WHERE agent = +? LIMIT 1',
    );
    this.#stretch = database.prepare('SELECT * FROM stretch WHERE id = ?');
    this.#forwards = database.prepare(`${own} AND id > ? AND id <= ? ORDER BY id LIMIT ? + 0`);
    this.#backwards = database.prepare(
      `${own} AND id > ? AND id < ? AND id <= ? ORDER BY id DESC LIMIT ? + 0`,
    );
    this.#log = database.prepare('SELECT * FROM entry WHERE id > ? ORDER BY id LIMIT ? + 0');
    this.#entry = database.prepare('SELECT * FROM entry WHERE id = ?');
    this.#blob = database.prepare('SELECT * FROM blob WHERE id = ?');
    this.#blobHead = database.prepare('SELECT form, size FROM blob WHERE id = ?');
    this.#blobPart = database
      .prepare<unknown[], Uint8Array>('SELECT substr(bytes, ?, ?) FROM blob WHERE id = ?')
      .pluck();
    this.#turn = database.prepare(`${turnSelect} WHERE turn.id = +?`);
    this.#turns = database.prepare(
      'SELECT * FROM turn INDEXED BY "turn.agent" WHERE agent = +? AND id < ? ORDER BY id DESC LIMIT ? + 0',
    );
    this.#first = database.prepare(`${own} AND id > ? AND turn = ? ORDER BY id LIMIT 1`);
    this.#late = database.prepare(
      'SELECT id, key FROM turn INDEXED BY "turn.late" WHERE late IS NOT NULL AND late = +? ORDER BY id LIMIT ? + 0',
    );
  }

  /** A page of a transcript, ascending. `after` pages forwards, else backwards from `before` or from the newest. */
  entries(
    agent: number,
    page: {
      readonly before?: number;
      readonly after?: number;
      readonly turn?: number;
      readonly limit: number;
    },
  ): { readonly entries: readonly Entry[]; readonly more: boolean } {
    const segments = this.#segments(agent, page.turn === undefined ? undefined : this.#turn.get(page.turn));
    const wanted = Math.min(page.limit, limits.pageRows);
    if (page.after !== undefined) {
      const rows = this.#ascending([...segments].reverse(), page.after, wanted + 1);
      const entries = this.#fitting(rows.slice(0, wanted));
      return { entries, more: rows.length > entries.length };
    }
    const rows = this.#descending(segments, page.before ?? Number.MAX_SAFE_INTEGER, wanted + 1);
    const entries = this.#fitting(rows.slice(0, wanted));
    return { entries: [...entries].reverse(), more: rows.length > entries.length };
  }

  /** Entries after a cursor; `agent` 0: of all agents. A short page is not the end, an empty one is. */
  entriesAfter(cursor: number, agent: number, limit: number): readonly Entry[] {
    const wanted = Math.min(limit, limits.pageRows);
    const rows =
      agent === 0
        ? this.#log.all(cursor, wanted)
        : this.#forwards.all(agent, cursor, Number.MAX_SAFE_INTEGER, wanted);
    return this.#fitting(rows);
  }

  /** Turns of an agent, newest first. */
  turns(
    agent: number,
    before: number,
    limit: number,
  ): { readonly rows: readonly TurnRow[]; readonly more: boolean } {
    const wanted = Math.min(limit, limits.pageRows);
    const stored = this.#turns.all(agent, before === 0 ? Number.MAX_SAFE_INTEGER : before, wanted + 1);
    const rows = stored.slice(0, wanted).map((row, index) => this.#turnRow(row, stored[index + 1]));
    return { rows, more: stored.length > wanted };
  }

  /** `older`: the turn before it by id. Turns do not overlap: when that one ended earlier, this one is all behind it. */
  #turnRow(stored: TurnRecord, older: TurnRecord | undefined): TurnRow {
    const { id, agent, state, outcome, sender, started, ended, last } = stored;
    const end = older?.last ?? 0;
    const from = last === 0 || end < last ? end : 0;
    const first = stored.text === null ? this.#first.get(agent, from, id) : undefined;
    const asked = first === undefined ? (stored.text ?? '') : said(JSON.parse(this.#bodyText(first)));
    const answer = stored.answer === 0 ? undefined : this.#entry.get(stored.answer);
    const words = answer === undefined ? stored.brief : said(JSON.parse(this.#bodyText(answer)));
    return {
      turn: turnId(id),
      state,
      outcome,
      from: sender === 0 ? 'person' : agentId(sender),
      asked: firstLine(asked, limits.taskChars),
      said: firstLine(words, limits.taskChars),
      startedAtMs: started,
      endedAtMs: ended === 0 ? null : ended,
      left: this.#isLeft(stored),
    };
  }

  /** Whether a rewind has left a turn: it has ended, and is no part of its agent's transcript. */
  #isLeft({ agent, last, stretch }: TurnRecord): boolean {
    if (last === 0 || (this.#agent.get(agent)?.stretch ?? 0) === 0) return false;
    return !this.#segments(agent).some(
      (part) => part.agent === agent && part.stretch === stretch && last <= part.last,
    );
  }

  /** A part of a blob as text, from a byte offset; ends between two characters. */
  blob(
    id: number,
    offset: number,
    limit: number,
  ): { readonly text: string; readonly nextOffset: number | null; readonly totalBytes: number } | undefined {
    const head = this.#blobHead.get(id);
    if (head === undefined) return undefined;
    const wanted = Math.max(4, Math.min(limit, limits.blobRangeBytes));
    const from = Math.min(Math.max(0, offset), head.size);
    const part = this.#blobBytes(id, head.form, from, wanted);
    const end = characterEnd(part, wanted);
    const text = Buffer.from(part.buffer, part.byteOffset, end).toString('utf8');
    return { text, nextOffset: from + end < head.size ? from + end : null, totalBytes: head.size };
  }

  blobBytes(id: number): Uint8Array | null {
    const stored = this.#blob.get(id);
    return stored === undefined ? null : unpackBlob(stored);
  }

  turn(id: number): TurnResult | undefined {
    return this.#result(this.#turn.get(id));
  }

  /** The turn that the agent is in, else its last one that ended. */
  lastTurn(agent: number): TurnResult | undefined {
    const { turn, last } = this.#agent.get(agent) ?? { turn: 0, last: 0 };
    return this.turn(turn === 0 ? last : turn);
  }

  /** `wanted` bytes from an offset and a few more, so that the caller sees whether a character goes on. */
  #blobBytes(id: number, form: string, from: number, wanted: number): Uint8Array {
    if (form === 'raw') return this.#blobPart.get(from + 1, wanted + 4, id) ?? new Uint8Array();
    return (this.blobBytes(id) ?? new Uint8Array()).subarray(from, from + wanted + 4);
  }

  /**
   * The parts of a transcript, newest first: stretch after stretch of the agent's own entries, then prefix after prefix.
   * `until`: up to the end of this turn, which need not be part of it any more.
   */
  #segments(agent: number, until?: TurnRecord): readonly Segment[] {
    const segments: Segment[] = [];
    let at: End | null =
      until === undefined
        ? { agent, entry: Number.MAX_SAFE_INTEGER, stretch: this.#agent.get(agent)?.stretch ?? 0 }
        : { agent: until.agent, entry: until.last, stretch: until.stretch };
    while (at !== null && segments.length < limits.forkChain) {
      const end: End = at;
      const begin: StretchRecord | undefined = end.stretch === 0 ? undefined : this.#stretch.get(end.stretch);
      const after = (begin?.first ?? 1) - 1;
      segments.push({ agent: end.agent, stretch: end.stretch, after, last: end.entry });
      const before: End | null =
        begin === undefined
          ? this.#prefix(end.agent)
          : { agent: begin.fromAgent, entry: begin.fromEntry, stretch: begin.fromStretch };
      // What ends inside of what its owner shares ends there.
      at = before === null ? null : { ...before, entry: Math.min(before.entry, end.entry) };
    }
    return segments;
  }

  #prefix(agent: number): End | null {
    // Of one that was deleted for good the prefix and where it came from itself are left.
    const fork = this.#agent.get(agent) ?? this.#remains.get(agent);
    if (fork === undefined || fork.forkAgent === 0) return null;
    return { agent: fork.forkAgent, entry: fork.forkEntry, stretch: fork.forkStretch };
  }

  #ascending(oldestFirst: readonly Segment[], after: number, limit: number): readonly EntryRecord[] {
    const rows: EntryRecord[] = [];
    for (const segment of oldestFirst) {
      if (rows.length >= limit) break;
      if (segment.last <= after) continue;
      const from = Math.max(after, segment.after);
      rows.push(...this.#forwards.all(segment.agent, from, segment.last, limit - rows.length));
    }
    return rows;
  }

  #descending(newestFirst: readonly Segment[], before: number, limit: number): readonly EntryRecord[] {
    const rows: EntryRecord[] = [];
    for (const segment of newestFirst) {
      if (rows.length >= limit) break;
      const { agent, after, last } = segment;
      rows.push(...this.#backwards.all(agent, after, before, last, limit - rows.length));
    }
    return rows;
  }

  /** The first of these rows that fit into one frame, bodies read. */
  #fitting(rows: readonly EntryRecord[]): readonly Entry[] {
    const entries: Entry[] = [];
    let bytes = 0;
    for (const row of rows) {
      const json = this.#bodyText(row);
      bytes += Buffer.byteLength(json) + entryFrameBytes;
      if (entries.length > 0 && bytes > limits.entryPageBytes) break;
      const body: EntryBody = JSON.parse(json);
      entries.push({
        id: entryId(row.id),
        agent: agentId(row.agent),
        turn: turnId(row.turn),
        atMs: row.at,
        body,
      });
    }
    return entries;
  }

  #bodyText(row: EntryRecord): string {
    if (row.body !== null) return row.body;
    const bytes = this.blobBytes(row.blob);
    return bytes === null ? missingBody : Buffer.from(bytes).toString('utf8');
  }

  #result(stored: StoredTurn | undefined): TurnResult | undefined {
    if (stored === undefined) return undefined;
    const entry = stored.answer === 0 ? undefined : this.#entry.get(stored.answer);
    const result: JsonObject | null = stored.result === null ? null : JSON.parse(stored.result);
    const whole =
      entry === undefined ? stored.brief || (stored.result ?? '') : said(JSON.parse(this.#bodyText(entry)));
    const bytes = Buffer.from(whole);
    const cut = bytes.byteLength > limits.resultTextBytes;
    const blob = cut && entry !== undefined && entry.blob !== 0 ? blobId(entry.blob) : null;
    return {
      turn: turnId(stored.id),
      agent: agentId(stored.agent),
      name: stored.name ?? '',
      outcome: stored.outcome,
      text: cut ? bytes.toString('utf8', 0, characterEnd(bytes, limits.resultTextBytes)) : whole,
      blob,
      result,
      resultBytes: stored.result === null ? 0 : Buffer.byteLength(stored.result),
      revision: stored.revision,
      superseded: stored.revision < (stored.newest ?? 0) || this.#isLeft(stored),
      late: this.#late.all(stored.id, limits.inboxSteers).map(({ id, key }) => ({ turn: turnId(id), key })),
    };
  }
}

/** What an entry adds to a frame besides its body: ids, time and punctuation as JSON. */
const entryFrameBytes = 100;

const missingBody = JSON.stringify({
  kind: 'note',
  text: 'The text of this entry is missing from the store. Run "roost doctor".',
});

/** The words of an entry, for a reader who wants the answer and nothing else. */
function said(body: EntryBody): string {
  if (body.kind !== 'answer') return body.text;
  return body.blocks.flatMap((block) => (block.kind === 'text' ? [block.text] : [])).join('\n\n');
}
