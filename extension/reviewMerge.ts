// A change that does not fit because the person's file moved on: VS Code's three-way merge editor with the base, the
// person's text and the agent's, and the person's own file as its result. What the person saves there is what they
// want of it, so once they say so the change is accepted without anything being written.
//
// The merge editor has no API: its command is looked for, and without it the two versions are compared.

import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as vscode from 'vscode';
import type { ChangeDetail, ChangeRow } from '../sidecar/protocol/change.ts';
import type { ChangeId } from '../sidecar/protocol/ids.ts';
import type { Ctx } from './ctx.ts';
import { limits } from './limits.ts';
import { describe } from './log.ts';
import type { ReviewDocs } from './reviewDocs.ts';
import { afterScheme, baseScheme, sideUri } from './reviews.ts';
import type { Reviews } from './reviews.ts';
import { changesOf, field } from './targets.ts';

const { t } = vscode.l10n;

/** Scheme of the person's text as it was when a merge began. */
const yoursScheme = 'roost-yours';

const openMerge = '_open.mergeEditor';
const autoMerge = 'mergeEditor.resetResultToBaseAndAutoMerge';

interface Merge {
  readonly change: ChangeDetail;
  readonly yours: vscode.Uri;
  readonly file: vscode.Uri;
  readonly text: string;
  /** The file was saved since: there is something to be done with. */
  isSaved: boolean;
}

export function registerMerge(ctx: Ctx, reviews: Reviews, docs: ReviewDocs): void {
  const merging = new Merging(ctx, reviews, docs);
  reviews.onConflict = (change) => merging.begin(change);
  ctx.command('roost.merge', async (given: unknown) => {
    const id = await chosen(reviews, given);
    // After a verdict of a panel, which may have had many.
    if (id !== undefined && field(given, 'unasked') === true)
      return void merging.begin(await reviews.detail(id));
    if (id !== undefined) await merging.open(id);
  });
  ctx.command('roost.completeMerge', () => merging.complete());
  ctx.command('roost.merged', async (given: unknown) => {
    const id = await chosen(reviews, given);
    if (id !== undefined) await reviews.decide(id, 'accept', 'all', { merged: true });
  });
}

/** The change that is meant, or one of those that do not fit. */
async function chosen(reviews: Reviews, given: unknown): Promise<ChangeId | undefined> {
  const [named] = changesOf(given);
  if (named !== undefined) return named;
  const rows = reviews.all.filter((row) => row.state === 'conflict' && row.isolation === 'worktree');
  const [only] = rows;
  if (only === undefined) {
    void vscode.window.showInformationMessage(t('Every change fits: there is nothing to merge.'));
    return undefined;
  }
  if (rows.length === 1) return only.id;
  const items = rows.map((row) => ({ label: row.label, description: row.agentName, id: row.id }));
  return (await vscode.window.showQuickPick(items, { placeHolder: t('Which change?') }))?.id;
}

class Merging implements vscode.TextDocumentContentProvider {
  readonly #ctx: Ctx;
  readonly #reviews: Reviews;
  readonly #docs: ReviewDocs;
  /** Merges whose editor is open, by the name of the person's text. */
  readonly #open = new Map<string, Merge>();
  #count = 0;

  constructor(ctx: Ctx, reviews: Reviews, docs: ReviewDocs) {
    this.#ctx = ctx;
    this.#reviews = reviews;
    this.#docs = docs;
    ctx.own(vscode.workspace.registerTextDocumentContentProvider(yoursScheme, this));
    ctx.own(vscode.workspace.onDidSaveTextDocument(({ uri }) => this.#saved(uri)));
    ctx.own(vscode.workspace.onDidCloseTextDocument(({ uri }) => void this.#closed(uri)));
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.#open.get(uri.toString())?.text ?? '';
  }

  /** For a verdict that did not fit. False: as many are open as a person can look at. */
  begin(change: ChangeRow): boolean {
    if (change.isolation !== 'worktree' || limits.mergeEditors <= this.#open.size) return false;
    this.open(change.id).catch((error: unknown) => {
      this.#ctx.log.warn(`merge of change ${change.id}: ${describe(error)}`);
      void vscode.window.showErrorMessage(t('{0} could not be opened: {1}', change.label, describe(error)));
    });
    return true;
  }

  async open(id: ChangeId): Promise<void> {
    const change = await this.#reviews.detail(id);
    const document = await this.#document(change);
    const commands = await vscode.commands.getCommands();
    if (document === null || !commands.includes(openMerge)) return this.#compare(change);
    this.#count += 1;
    const yours = vscode.Uri.file(change.path).with({ scheme: yoursScheme, query: String(this.#count) });
    const file = document.uri;
    this.#remember({ change, yours, file, text: document.getText(), isSaved: false });
    const wasDirty = document.isDirty;
    await vscode.commands.executeCommand(openMerge, {
      base: sideUri(baseScheme, change),
      input1: { uri: yours, title: t('Yours'), description: t('your file'), detail: '' },
      input2: {
        uri: sideUri(afterScheme, change),
        title: change.agentName,
        description: t('agent'),
        detail: '',
      },
      output: file,
    });
    if (!wasDirty && commands.includes(autoMerge)) await mergeWhatFits(document);
  }

  /** The person's file, when all three versions are texts. */
  async #document(change: ChangeDetail): Promise<vscode.TextDocument | null> {
    if (change.afterText === null || (change.baseText === null && change.kind !== 'create')) return null;
    return vscode.workspace.openTextDocument(this.#reviews.fileOf(change)).then(
      (document) => document,
      () => null,
    );
  }

  async #compare(change: ChangeDetail): Promise<void> {
    await this.#docs.open(change.id);
    await this.#ask(
      change,
      t(
        '{0} and you changed the same lines of {1}. Take what you want by hand.',
        change.agentName,
        change.label,
      ),
    );
  }

  /** The merge in front is done: saved, closed, and its change accepted as the person has merged it. */
  async complete(): Promise<void> {
    const result: unknown = field(vscode.window.tabGroups.activeTabGroup.activeTab?.input, 'result');
    const named = result instanceof vscode.Uri ? result.toString() : null;
    const open = [...this.#open.values()];
    const merge =
      open.find(({ file }) => file.toString() === named) ?? (open.length === 1 ? open[0] : undefined);
    if (merge === undefined) return;
    // Before it is closed: then nobody is asked what this answers.
    this.#forget(merge);
    // It asks first when conflicts are left, and says what came of it.
    const said: unknown = await vscode.commands.executeCommand('mergeEditor.acceptMerge');
    if (field(said, 'successful') !== true) return this.#remember(merge);
    await this.#reviews.decide(merge.change.id, 'accept', 'all', { merged: true });
  }

  #remember(merge: Merge): void {
    this.#open.set(merge.yours.toString(), merge);
    this.#tell();
  }

  #forget(merge: Merge): void {
    this.#open.delete(merge.yours.toString());
    this.#tell();
  }

  /** For the button in the title of the merge editor. */
  #tell(): void {
    void vscode.commands.executeCommand('setContext', 'roost.merging', this.#open.size !== 0);
  }

  #saved(uri: vscode.Uri): void {
    for (const merge of this.#open.values()) {
      if (merge.file.toString() === uri.toString()) merge.isSaved = true;
    }
  }

  /** The merge editor has let go of the person's text: it was closed, by "Complete Merge" or by hand. */
  async #closed(uri: vscode.Uri): Promise<void> {
    const merge = this.#open.get(uri.toString());
    if (merge === undefined) return;
    this.#forget(merge);
    const { change } = merge;
    if (!merge.isSaved) return;
    const name = path.basename(change.label);
    await this.#ask(change, t('{0} is saved. Has it what you want of {1}’s change?', name, change.agentName));
  }

  async #ask(change: ChangeDetail, question: string): Promise<void> {
    const merged = t('It Is Merged');
    const drop = t('Drop Their Change');
    const answer = await vscode.window.showInformationMessage(question, merged, drop);
    if (answer === merged) await this.#reviews.decide(change.id, 'accept', 'all', { merged: true });
    if (answer === drop) await this.#reviews.decide(change.id, 'reject', 'all');
  }
}

/**
 * Has the merge editor merge what does not collide, so that only conflicts are left to decide. Not over work that is not
 * saved. The editor opens behind its command's back (VS Code 1.139), and until it has read all texts this one does
 * nothing: it is done when the result is another text than the person's.
 */
async function mergeWhatFits(document: vscode.TextDocument): Promise<void> {
  const text = document.getText();
  for (let look = 0; look < limits.mergeLooks && document.getText() === text; look++) {
    await sleep(limits.mergeLookMs);
    await vscode.commands.executeCommand(autoMerge);
  }
}
