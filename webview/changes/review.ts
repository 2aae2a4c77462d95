// The changes of one agent under review: its rows from channel `changes`, the details of those that are opened,
// and verdicts on their way. A verdict names the state it was given on, so a change that moved meanwhile
// refuses it as stale, and the words of that refusal are shown (I11). No DOM.

import type { ChangeDetail, ChangeRow, Verdict } from '../../sidecar/protocol/change.ts';
import type { ChangesState } from '../../sidecar/protocol/changes.ts';
import type { AgentId, ChangeId } from '../../sidecar/protocol/ids.ts';
import type { Announcer } from '../announce.ts';
import type { Bridge } from '../bridge.ts';
import { limits } from '../limits.ts';
import { say } from '../strings.ts';
import { drawHunks } from './diff.ts';
import type { DrawnHunk } from './diff.ts';

export interface OpenChange {
  /** null while it is read. */
  readonly detail: ChangeDetail | null;
  readonly hunks: readonly DrawnHunk[];
  readonly error: string;
  readonly shownLines: number;
}

export interface ChangeNote {
  readonly tone: 'info' | 'error';
  readonly text: string;
}

export interface ReviewParts {
  readonly agent: AgentId;
  readonly bridge: Pick<Bridge, 'call'>;
  readonly announcer: Pick<Announcer, 'answer'>;
  readonly changed: () => void;
}

const opening: OpenChange = { detail: null, hunks: [], error: '', shownLines: limits.diffLines };

export class Review {
  readonly #parts: ReviewParts;
  #rows: readonly ChangeRow[] = [];
  #more = false;
  /** Rows paged beyond those that the channel tells about. */
  #paged: readonly ChangeRow[] = [];
  #shownRows: number = limits.changeRows;
  readonly #open = new Map<ChangeId, OpenChange>();
  readonly #notes = new Map<ChangeId, ChangeNote>();
  readonly #working = new Set<ChangeId>();
  #closed = false;

  constructor(parts: ReviewParts) {
    this.#parts = parts;
  }

  /** Changes that can be seen, those of the channel first. */
  get rows(): readonly ChangeRow[] {
    return this.#all().slice(0, this.#shownRows);
  }
  get hasMore(): boolean {
    return this.#more || this.#shownRows < this.#all().length;
  }
  /** Changes without a verdict, of those that are known. */
  get undecided(): readonly ChangeRow[] {
    return this.#all().filter(isUndecided);
  }

  opened(change: ChangeId): OpenChange | undefined {
    return this.#open.get(change);
  }
  note(change: ChangeId): ChangeNote | undefined {
    return this.#notes.get(change);
  }
  isWorking(change: ChangeId): boolean {
    return this.#working.has(change);
  }
  get anyWorking(): boolean {
    return 0 < this.#working.size;
  }

  take(state: ChangesState): void {
    const known = new Set(state.rows.map((row) => row.id));
    this.#rows = state.rows;
    this.#paged = this.#paged.filter((row) => !known.has(row.id));
    if (this.#paged.length === 0) this.#more = state.more;
    for (const row of state.rows) this.#reread(row);
    const all = new Set(this.#all().map((row) => row.id));
    for (const id of this.#open.keys()) if (!all.has(id)) this.#open.delete(id);
    for (const id of this.#notes.keys()) if (!all.has(id)) this.#notes.delete(id);
    this.#parts.changed();
  }

  toggle(row: ChangeRow): void {
    if (this.#open.delete(row.id)) return this.#parts.changed();
    this.#open.set(row.id, opening);
    const oldest = this.#open.keys().next().value;
    if (limits.openChanges < this.#open.size && oldest !== undefined) this.#open.delete(oldest);
    this.#parts.changed();
    void this.#read(row.id);
  }

  showMoreLines(change: ChangeId): void {
    const open = this.#open.get(change);
    if (open === undefined) return;
    this.#open.set(change, { ...open, shownLines: open.shownLines + limits.diffLines });
    this.#parts.changed();
  }

  async showMoreRows(): Promise<void> {
    this.#shownRows += limits.changeRows;
    const after = this.#all().at(-1)?.id ?? null;
    this.#parts.changed();
    if (!this.#more || this.#shownRows <= this.#all().length) return;
    const answer = await this.#parts.bridge.call('change/list', {
      agent: this.#parts.agent,
      after,
      limit: limits.changeRows,
    });
    if (this.#closed || !answer.ok) return;
    const known = new Set(this.#all().map((row) => row.id));
    this.#paged = [...this.#paged, ...answer.result.rows.filter((row) => !known.has(row.id))];
    this.#more = answer.result.more;
    this.#parts.changed();
  }

  /** Gives a verdict on hunks of a change, or on all of it that is left. */
  async decide(row: ChangeRow, verdict: Verdict, hunks: readonly string[] | 'all'): Promise<void> {
    if (this.#working.has(row.id)) return;
    this.#working.add(row.id);
    this.#notes.delete(row.id);
    this.#parts.changed();
    // What the person has seen is what the verdict is about: the opened detail, which the row may have left behind.
    const seen = this.#open.get(row.id)?.detail ?? row;
    const answer = await this.#parts.bridge.call('change/verdict', {
      change: row.id,
      verdict,
      hunks,
      baseHash: seen.baseHash,
      afterHash: seen.afterHash,
      key: crypto.randomUUID(),
    });
    this.#working.delete(row.id);
    if (this.#closed) return;
    if (!answer.ok) this.#say(row.id, 'error', answer.message);
    else {
      const { state, message, change } = answer.result;
      if (state === 'applied') this.#parts.announcer.answer(say('changes.applied'));
      else this.#say(row.id, 'error', message === '' ? say(`changes.${state}`) : message);
      this.#replace(change);
      if (this.#open.has(change.id)) await this.#read(change.id);
    }
    this.#parts.changed();
  }

  /** One verdict on everything that is undecided, one change after the other. */
  async decideAll(verdict: Verdict): Promise<void> {
    for (const row of this.undecided) {
      if (this.#closed) return;
      await this.decide(row, verdict, 'all');
    }
  }

  close(): void {
    this.#closed = true;
    this.#open.clear();
  }

  #all(): readonly ChangeRow[] {
    return [...this.#rows, ...this.#paged];
  }

  #say(change: ChangeId, tone: 'info' | 'error', text: string): void {
    this.#notes.set(change, { tone, text });
    this.#parts.announcer.answer(text);
  }

  #replace(change: ChangeRow): void {
    const swap = (row: ChangeRow): ChangeRow => (row.id === change.id ? change : row);
    this.#rows = this.#rows.map(swap);
    this.#paged = this.#paged.map(swap);
  }

  /** An opened change whose row says that it moved is read again. */
  #reread(row: ChangeRow): void {
    const detail = this.#open.get(row.id)?.detail ?? null;
    if (detail === null || this.#working.has(row.id)) return;
    if (detail.baseHash !== row.baseHash || detail.afterHash !== row.afterHash) void this.#read(row.id);
  }

  async #read(change: ChangeId): Promise<void> {
    const answer = await this.#parts.bridge.call('change/get', { change });
    const open = this.#open.get(change);
    if (this.#closed || open === undefined) return;
    this.#open.set(
      change,
      answer.ok
        ? { ...open, detail: answer.result, hunks: drawHunks(answer.result), error: '' }
        : { ...open, error: say('changes.failed', answer.message) },
    );
    this.#parts.changed();
  }
}

export function isUndecided(row: ChangeRow): boolean {
  return row.state === 'open' || row.state === 'conflict';
}
