// Transcripts, blobs and turns, in pages.
//
// Promises: a page is at most `limit` entries and 256 KB, and at least one entry when there is one. A fork's
// transcript begins with the shared prefix of the agent it came from, by reference, at any depth of forks.
// Not here: what goes to a model (the runtime reads its own pages through the Store port).

import type DatabaseConstructor from 'better-sqlite3';
import type { BlobRecord, EntryRecord, TurnRecord } from '../core/rows.ts';
import type { Entry, EntryBody } from '../protocol/entry.ts';
import { agentId, blobId, entryId, turnId } from '../protocol/ids.ts';
import type { JsonObject } from '../protocol/json.ts';
import type { TurnResult } from '../protocol/methods.ts';
import { limits } from '../runtime/limits.ts';
import { characterEnd, unpackBlob } from './blobs.ts';

type Database = DatabaseConstructor.Database;
type Statement<Row> = DatabaseConstructor.Statement<unknown[], Row>;

/** Entries of one agent that belong to a transcript: those with an id at most `last`. */
interface Segment {
  readonly agent: number;
  readonly last: number;
}

interface StoredTurn extends TurnRecord {
  readonly name: string | null;
  /** Number of the newest task that its agent was given. */
  readonly newest: number | null;
}

const turnSelect = `SELECT *, (SELECT name FROM agent WHERE agent.id = turn.agent) AS name,
  (SELECT revision FROM agent WHERE agent.id = turn.agent) AS newest FROM turn`;

export class EntryReads {
  readonly #fork: Statement<{ forkAgent: number; forkEntry: number }>;
  readonly #forwards: Statement<EntryRecord>;
  readonly #backwards: Statement<EntryRecord>;
  readonly #log: Statement<EntryRecord>;
  readonly #entry: Statement<EntryRecord>;
  readonly #blob: Statement<BlobRecord>;
  readonly #blobHead: Statement<{ form: string; size: number }>;
  readonly #blobPart: Statement<Uint8Array>;
  readonly #turn: Statement<StoredTurn>;
  readonly #turnsOf: Statement<{ turn: number; last: number }>;
  readonly #late: Statement<{ id: number; key: string | null }>;

  constructor(database: Database) {
    const own = 'SELECT * FROM entry INDEXED BY "entry.agent" WHERE agent = +?';
    this.#fork = database.prepare('SELECT forkAgent, forkEntry FROM agent WHERE id = ?');
    this.#forwards = database.prepare(`${own} AND id > ? AND id <= ? ORDER BY id LIMIT ? + 0`);
    this.#backwards = database.prepare(`${own} AND id < ? AND id <= ? ORDER BY id DESC LIMIT ? + 0`);
    this.#log = database.prepare('SELECT * FROM entry WHERE id > ? ORDER BY id LIMIT ? + 0');
    this.#entry = database.prepare('SELECT * FROM entry WHERE id = ?');
    this.#blob = database.prepare('SELECT * FROM blob WHERE id = ?');
    this.#blobHead = database.prepare('SELECT form, size FROM blob WHERE id = ?');
    this.#blobPart = database
      .prepare<unknown[], Uint8Array>('SELECT substr(bytes, ?, ?) FROM blob WHERE id = ?')
      .pluck();
    this.#turn = database.prepare(`${turnSelect} WHERE turn.id = +?`);
    this.#turnsOf = database.prepare('SELECT turn, last FROM agent WHERE id = ?');
    this.#late = database.prepare(
      'SELECT id, key FROM turn INDEXED BY "turn.late" WHERE late IS NOT NULL AND late = +? ORDER BY id LIMIT ? + 0',
    );
  }

  /** A page of a transcript, ascending. `after` pages forwards, else backwards from `before` or from the newest. */
  entries(
    agent: number,
    page: { readonly before?: number; readonly after?: number; readonly limit: number },
  ): { readonly entries: readonly Entry[]; readonly more: boolean } {
    const segments = this.#segments(agent);
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
    const { turn, last } = this.#turnsOf.get(agent) ?? { turn: 0, last: 0 };
    return this.turn(turn === 0 ? last : turn);
  }

  /** `wanted` bytes from an offset and a few more, so that the caller sees whether a character goes on. */
  #blobBytes(id: number, form: string, from: number, wanted: number): Uint8Array {
    if (form === 'raw') return this.#blobPart.get(from + 1, wanted + 4, id) ?? new Uint8Array();
    return (this.blobBytes(id) ?? new Uint8Array()).subarray(from, from + wanted + 4);
  }

  /** The parts of a transcript, newest first: the agent's own entries, then prefix after prefix. */
  #segments(agent: number): readonly Segment[] {
    const segments: Segment[] = [];
    let at: Segment = { agent, last: Number.MAX_SAFE_INTEGER };
    while (segments.length < limits.forkChain) {
      segments.push(at);
      const fork = this.#fork.get(at.agent);
      if (fork === undefined || fork.forkAgent === 0) break;
      at = { agent: fork.forkAgent, last: Math.min(fork.forkEntry, at.last) };
    }
    return segments;
  }

  #ascending(oldestFirst: readonly Segment[], after: number, limit: number): readonly EntryRecord[] {
    const rows: EntryRecord[] = [];
    for (const segment of oldestFirst) {
      if (rows.length >= limit) break;
      if (segment.last <= after) continue;
      rows.push(...this.#forwards.all(segment.agent, after, segment.last, limit - rows.length));
    }
    return rows;
  }

  #descending(newestFirst: readonly Segment[], before: number, limit: number): readonly EntryRecord[] {
    const rows: EntryRecord[] = [];
    for (const segment of newestFirst) {
      if (rows.length >= limit) break;
      rows.push(...this.#backwards.all(segment.agent, before, segment.last, limit - rows.length));
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
      superseded: stored.revision < (stored.newest ?? 0),
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
