// The changes that wait for a verdict, as this window needs them: rows by file, details of the files that are on
// screen, and verdicts. What is drawn from it is in reviewMarks.ts, reviewLens.ts and reviewGutter.ts.
//
// Promises: verdicts of one change are given one after the other, each on the state that the person saw; a hunk
// that was decided disappears at once and comes back if the verdict was refused; nothing opens an editor.

import * as vscode from 'vscode';
import type { ChangeDetail, ChangeRow, Verdict, VerdictResult } from '../sidecar/protocol/change.ts';
import type { ChangeId } from '../sidecar/protocol/ids.ts';
import type { Ctx } from './ctx.ts';
import { limits } from './limits.ts';
import { describe } from './log.ts';
import { isReverted, placedInAfter, placedInFile, shiftHunks } from './placing.ts';
import type { LineEdit, Placed } from './placing.ts';
import { numberField } from './targets.ts';
import { changeId } from '../sidecar/protocol/ids.ts';

/** Schemes of the two documents that are not files: the base of a change and the agent's version. */
export const baseScheme = 'roost-base';
export const afterScheme = 'roost-after';

/** What a verdict is besides its hunks: told when it cannot be done, or not; of hunks that were merged by hand. */
export interface Manner {
  readonly quietly?: boolean;
  readonly merged?: boolean;
}

export class Reviews {
  readonly #ctx: Ctx;
  /** Tells which file's review changed, by key; null: any. */
  readonly #changed = new vscode.EventEmitter<string | null>();
  readonly onChange = this.#changed.event;
  #rows = new Map<string, ChangeRow[]>();
  readonly #details = new Map<ChangeId, ChangeDetail>();
  readonly #loading = new Map<ChangeId, Promise<ChangeDetail>>();
  /** The request after the one that is on its way. */
  readonly #next = new Map<ChangeId, Promise<ChangeDetail>>();
  readonly #verdicts = new Map<ChangeId, Promise<unknown>>();
  readonly #pauses = new Map<string, NodeJS.Timeout>();
  /** What is done about an accepted change that does not fit; false: nothing, so the person is told. */
  onConflict: (change: ChangeRow) => boolean = () => false;

  constructor(ctx: Ctx) {
    this.#ctx = ctx;
    ctx.own(this.#changed);
    ctx.onChanges(() => this.#takeRows());
    ctx.own(vscode.window.onDidChangeVisibleTextEditors(() => this.#loadVisible()));
    ctx.own(vscode.workspace.onDidChangeTextDocument((event) => this.#shift(event)));
    // Saved: the sidecar sees the file instead of the buffer from now on.
    ctx.own(vscode.workspace.onDidSaveTextDocument(({ uri }) => this.#askAgain(uri)));
    ctx.own({ dispose: () => this.#pauses.forEach((timer) => clearTimeout(timer)) });
  }

  /** Equal for two names of one file; null for what is not a file of the disk. */
  keyOf(uri: vscode.Uri): string | null {
    const { paths } = this.#ctx;
    return uri.scheme === 'file' ? paths.key(paths.toReal(uri.fsPath)) : null;
  }

  /** The file of a change, as the editor names it. */
  fileOf(change: ChangeRow): vscode.Uri {
    return vscode.Uri.file(this.#ctx.paths.toShown(change.path));
  }

  /** Open changes of a file, oldest first. */
  rowsOf(uri: vscode.Uri): readonly ChangeRow[] {
    const key = this.keyOf(uri);
    return key === null ? [] : (this.#rows.get(key) ?? []);
  }

  /** All open changes, by file. */
  get all(): readonly ChangeRow[] {
    return [...this.#rows.values()].flat();
  }

  /** What is known of the changes of a file right now; the rest is on its way. */
  detailsOf(uri: vscode.Uri): readonly ChangeDetail[] {
    return this.rowsOf(uri).flatMap((row) => this.#details.get(row.id) ?? []);
  }

  /** The hunks to draw in a document: a file, or an agent's version of one. */
  placed(document: vscode.TextDocument): readonly Placed[] {
    if (document.uri.scheme !== afterScheme)
      return placedInFile(this.detailsOf(document.uri), document.lineCount);
    const id = changeOfUri(document.uri);
    const detail = id === undefined ? undefined : this.#details.get(id);
    return detail === undefined ? [] : placedInAfter(detail, document.lineCount);
  }

  /** A change with its hunks, as far as it was asked for. */
  known(id: ChangeId): ChangeDetail | undefined {
    return this.#details.get(id);
  }

  /** A change with its hunks; asks for it when it is not at hand. Rejects when there is no such change. */
  async detail(id: ChangeId): Promise<ChangeDetail> {
    return this.#details.get(id) ?? this.#load(id);
  }

  /** Decides hunks of a change. Says in words what kept it from being done, unless it is done quietly. */
  async decide(
    id: ChangeId,
    verdict: Verdict,
    hunks: readonly string[] | 'all',
    { quietly = false, merged = false }: Manner = {},
  ): Promise<void> {
    const before = this.#verdicts.get(id) ?? Promise.resolve();
    const given = before.then(() => this.#give(id, { verdict, hunks, ...(merged ? { merged } : {}) }));
    const settled = given.catch(() => null);
    this.#verdicts.set(id, settled);
    try {
      const { state, message, change } = await given;
      if (state === 'applied' || quietly) return;
      if (state === 'conflict' && verdict === 'accept' && this.onConflict(change)) return;
      void vscode.window.showWarningMessage(message);
    } finally {
      if (this.#verdicts.get(id) === settled) this.#verdicts.delete(id);
    }
  }

  async #give(id: ChangeId, given: Given): Promise<VerdictResult> {
    const { hunks } = given;
    const seen = await this.detail(id);
    this.#put({
      ...seen,
      hunks: hunks === 'all' ? [] : seen.hunks.filter((hunk) => !hunks.includes(hunk.id)),
    });
    try {
      const { baseHash, afterHash } = seen;
      const params = { change: id, ...given, baseHash, afterHash, key: this.#ctx.key() };
      const result = await this.#ctx.connection.call('change/verdict', params);
      const left = this.#details.get(id) ?? seen;
      this.#put({ ...left, ...result.change });
      return result;
    } finally {
      // Also after a refusal: the hunks that were taken away come back where they are.
      await this.#load(id).catch((error: unknown) => this.#ctx.log.debug(`change ${id}: ${describe(error)}`));
    }
  }

  #takeRows(): void {
    const { paths, changes } = this.#ctx;
    const rows = new Map<string, ChangeRow[]>();
    for (const row of changes.slice(0, limits.reviewRows)) {
      if (row.state === 'accepted' || row.state === 'rejected') continue;
      const key = paths.key(row.path);
      const list = rows.get(key);
      if (list === undefined) rows.set(key, [row]);
      else if (list.length < limits.changesPerFile) list.push(row);
    }
    for (const list of rows.values()) list.sort((a, b) => a.id - b.id);
    this.#rows = rows;
    const open = new Set(this.all.map((row) => row.id));
    for (const id of this.#details.keys()) if (!open.has(id)) this.#details.delete(id);
    this.#changed.fire(null);
    this.#loadVisible();
  }

  /** Asks for the details of what is on screen and not known in its newest state. */
  #loadVisible(): void {
    const visible = new Set<ChangeId>();
    for (const { document } of vscode.window.visibleTextEditors) {
      for (const row of this.rowsOf(document.uri)) {
        visible.add(row.id);
        const known = this.#details.get(row.id);
        const fresh = known?.afterHash === row.afterHash && known.baseHash === row.baseHash;
        if (!fresh && !this.#verdicts.has(row.id)) this.#loadQuietly(row.id);
      }
    }
    for (const id of this.#details.keys()) {
      if (this.#details.size <= limits.detailsKept) break;
      if (!visible.has(id)) this.#details.delete(id);
    }
  }

  #loadQuietly(id: ChangeId): void {
    this.#load(id).catch((error: unknown) => this.#ctx.log.debug(`change ${id}: ${describe(error)}`));
  }

  /**
   * One request at a time for a change. Who asks while one is on its way gets the answer of another one after it:
   * the first may have looked before what made this one ask.
   */
  #load(id: ChangeId): Promise<ChangeDetail> {
    const running = this.#loading.get(id);
    if (running === undefined) return this.#request(id);
    const next = this.#next.get(id);
    if (next !== undefined) return next;
    const after = running.then(
      () => undefined,
      () => undefined,
    );
    const queued = after.then(() => {
      this.#next.delete(id);
      return this.#load(id);
    });
    this.#next.set(id, queued);
    return queued;
  }

  #request(id: ChangeId): Promise<ChangeDetail> {
    const loading = this.#ctx.connection
      .call('change/get', { change: id })
      .then((detail) => {
        // What is typed meanwhile has moved the lines; the pause after it asks again.
        const typing = this.#pauses.has(this.#ctx.paths.key(detail.path)) && this.#details.has(id);
        if (!typing) this.#put(detail);
        return detail;
      })
      .finally(() => this.#loading.delete(id));
    this.#loading.set(id, loading);
    return loading;
  }

  #put(detail: ChangeDetail): void {
    this.#details.set(detail.id, detail);
    this.#changed.fire(this.#ctx.paths.key(detail.path));
  }

  /** Moves hunks with what is typed, and asks the sidecar where they are once the typing pauses. */
  #shift({ document, contentChanges }: vscode.TextDocumentChangeEvent): void {
    const key = this.keyOf(document.uri);
    const rows = this.rowsOf(document.uri);
    if (key === null || rows.length === 0 || contentChanges.length === 0) return;
    const edits = contentChanges.map(({ range, text }) => ({
      first: range.start.line,
      firstColumn: range.start.character,
      last: range.end.line,
      lastColumn: range.end.character,
      text,
    }));
    for (const { id } of rows) {
      const known = this.#details.get(id);
      if (known === undefined) continue;
      this.#details.set(id, { ...known, hunks: shiftHunks(known.hunks, edits) });
      this.#noteReverts(known, edits, document);
    }
    this.#changed.fire(key);
    clearTimeout(this.#pauses.get(key));
    const ask = (): void => {
      this.#pauses.delete(key);
      this.#askAgain(document.uri);
    };
    this.#pauses.set(key, setTimeout(ask, limits.placePauseMs));
  }

  /** Lines that were taken back by hand are a hunk that was rejected: nobody should have to say so again. */
  #noteReverts(change: ChangeDetail, edits: readonly LineEdit[], document: vscode.TextDocument): void {
    const [edit, ...others] = edits;
    // A document that was read from the disk again is not dirty: then an agent wrote, not a person.
    if (edit === undefined || 0 < others.length || !document.isDirty) return;
    if (change.isolation === 'worktree') return;
    const lineAt = (line: number): string | undefined =>
      line < document.lineCount ? document.lineAt(line).text : undefined;
    const reverted = change.hunks.filter((hunk) => isReverted(hunk, edit, lineAt)).map((hunk) => hunk.id);
    if (reverted.length === 0) return;
    this.decide(change.id, 'reject', reverted, { quietly: true }).catch((error: unknown) => {
      this.#ctx.log.warn(`change ${change.id}, taken back by hand: ${describe(error)}`);
    });
  }

  #askAgain(uri: vscode.Uri): void {
    for (const { id } of this.rowsOf(uri)) if (!this.#verdicts.has(id)) this.#loadQuietly(id);
  }
}

interface Given {
  readonly verdict: Verdict;
  readonly hunks: readonly string[] | 'all';
  readonly merged?: boolean;
}

/** The document that shows one side of a change. Its name keeps the file's, so that its language is known. */
export function sideUri(scheme: typeof baseScheme | typeof afterScheme, change: ChangeRow): vscode.Uri {
  return vscode.Uri.file(change.path).with({ scheme, query: `change=${change.id}` });
}

/** The change that such a document belongs to. */
export function changeOfUri(uri: vscode.Uri): ChangeId | undefined {
  const id = numberField({ id: Number(new URLSearchParams(uri.query).get('change') ?? NaN) }, 'id');
  return id === undefined ? undefined : changeId(id);
}
