// The two sides of a change that are no files, and the diff editors made of them.
//
// For a change in the workspace: base on the left, the person's own file, which can be edited, on the right (case
// 75). For one in an agent's worktree: the person's file on the left, what is proposed on the right. The text
// of a side never stands in its address; a document asks for it when it is opened.

import * as vscode from 'vscode';
import type { ChangeDetail, ChangeRow } from '../sidecar/protocol/change.ts';
import type { ChangeId } from '../sidecar/protocol/ids.ts';
import type { Ctx } from './ctx.ts';
import { limits } from './limits.ts';
import { afterScheme, baseScheme, changeOfUri, sideUri } from './reviews.ts';
import type { Reviews } from './reviews.ts';

const { t } = vscode.l10n;

export class ReviewDocs implements vscode.TextDocumentContentProvider {
  readonly #reviews: Reviews;
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.#changed.event;
  /** Hash of the side that each open document shows, so that a document is asked again only when it moved. */
  readonly #shown = new Map<string, string>();

  constructor(ctx: Ctx, reviews: Reviews) {
    this.#reviews = reviews;
    ctx.own(this.#changed);
    for (const scheme of [baseScheme, afterScheme]) {
      ctx.own(vscode.workspace.registerTextDocumentContentProvider(scheme, this));
    }
    ctx.own(reviews.onChange(() => this.#refresh()));
    ctx.own(vscode.workspace.onDidCloseTextDocument(({ uri }) => this.#shown.delete(uri.toString())));
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const id = changeOfUri(uri);
    if (id === undefined) return '';
    const detail = await this.#reviews.detail(id);
    this.#shown.set(uri.toString(), hashOfSide(uri.scheme, detail));
    return (uri.scheme === baseScheme ? detail.baseText : detail.afterText) ?? '';
  }

  /** Opens the diff editor of a change, at a hunk when one is named. */
  async open(id: ChangeId, hunk?: string): Promise<void> {
    const detail = await this.#reviews.detail(id);
    const [left, right] = this.sides(detail);
    if (detail.kind !== 'delete' && detail.baseText === null && detail.afterText === null) {
      await vscode.commands.executeCommand('vscode.open', this.#reviews.fileOf(detail));
      void vscode.window.showInformationMessage(
        t('{0} is not text, or too large for a diff. Accept or reject it as a whole.', detail.label),
      );
      return;
    }
    const chosen = detail.hunks.find((each) => each.id === hunk) ?? detail.hunks[0];
    const range = detail.isolation === 'worktree' ? chosen?.after : chosen?.now;
    const line = Math.max(0, (range?.start ?? 1) - 1);
    const options = { preview: true, selection: new vscode.Range(line, 0, line, 0) };
    await vscode.commands.executeCommand('vscode.diff', left, right, this.#title(detail), options);
  }

  /** Opens many changes in one editor, a page of them (case 23). */
  async openMany(changes: readonly ChangeRow[]): Promise<void> {
    const page = changes.slice(0, limits.diffPage);
    const resources = page.map((change) => {
      const [left, right] = this.sides(change);
      // A side that has no file is left out: an empty document would be drawn as one empty line.
      return [
        this.#reviews.fileOf(change),
        change.kind === 'create' ? undefined : left,
        change.kind === 'delete' ? undefined : right,
      ];
    });
    const title =
      page.length < changes.length
        ? t('Roost: first {0} of {1} changes', page.length, changes.length)
        : t('Roost: {0} changes', changes.length);
    await vscode.commands.executeCommand('vscode.changes', title, resources);
  }

  /** What stands left and right of a change. */
  sides(change: ChangeRow): readonly [vscode.Uri, vscode.Uri] {
    const file = this.#reviews.fileOf(change);
    if (change.isolation === 'worktree') {
      // A new file has nothing of the person's on the left.
      return [change.kind === 'create' ? sideUri(baseScheme, change) : file, sideUri(afterScheme, change)];
    }
    return [sideUri(baseScheme, change), change.kind === 'delete' ? sideUri(afterScheme, change) : file];
  }

  #title(change: ChangeRow): string {
    return `${change.label} (${change.agentName} −${change.removed} +${change.added})`;
  }

  #refresh(): void {
    for (const { uri } of vscode.workspace.textDocuments) {
      const shown = this.#shown.get(uri.toString());
      const id = shown === undefined ? undefined : changeOfUri(uri);
      const detail = id === undefined ? undefined : this.#reviews.known(id);
      if (detail !== undefined && hashOfSide(uri.scheme, detail) !== shown) this.#changed.fire(uri);
    }
  }
}

function hashOfSide(scheme: string, detail: ChangeDetail): string {
  return scheme === baseScheme ? detail.baseHash : detail.afterHash;
}
