// The editor's own gutter bars and peek for what agents changed, through a source control whose originals are the
// bases of the changes. It exists only while a folder has changes in its files: nobody else's Source Control view
// gets a row from it.

import * as vscode from 'vscode';
import type { ChangeRow } from '../sidecar/protocol/change.ts';
import type { Ctx } from './ctx.ts';
import { baseScheme, sideUri } from './reviews.ts';
import type { Reviews } from './reviews.ts';

const { t } = vscode.l10n;

interface Control {
  readonly source: vscode.SourceControl;
  readonly group: vscode.SourceControlResourceGroup;
}

export class ReviewGutter implements vscode.QuickDiffProvider {
  readonly #reviews: Reviews;
  readonly #controls = new Map<string, Control>();

  constructor(ctx: Ctx, reviews: Reviews) {
    this.#reviews = reviews;
    ctx.own(reviews.onChange((key) => key === null && this.#update()));
    ctx.own(vscode.workspace.onDidChangeWorkspaceFolders(() => this.#update()));
    ctx.own({ dispose: () => this.#controls.forEach(({ source }) => source.dispose()) });
  }

  provideOriginalResource(uri: vscode.Uri): vscode.Uri | undefined {
    // Of several agents the first: its base is what the person had.
    const first = this.#reviews.rowsOf(uri).find((row) => row.isolation !== 'worktree');
    return first === undefined ? undefined : sideUri(baseScheme, first);
  }

  #update(): void {
    const byFolder = new Map<string, ChangeRow[]>();
    for (const row of this.#reviews.all) {
      const folder = vscode.workspace.getWorkspaceFolder(this.#reviews.fileOf(row));
      if (folder === undefined || row.isolation === 'worktree') continue;
      const key = folder.uri.toString();
      const rows = byFolder.get(key);
      if (rows === undefined) byFolder.set(key, [row]);
      else rows.push(row);
    }
    for (const [key, { source }] of this.#controls) {
      if (byFolder.has(key)) continue;
      source.dispose();
      this.#controls.delete(key);
    }
    for (const [key, rows] of byFolder)
      this.#control(key).group.resourceStates = rows.map((row) => this.#state(row));
  }

  #control(key: string): Control {
    const known = this.#controls.get(key);
    if (known !== undefined) return known;
    // Without the folder the editor draws no bars.
    const source = vscode.scm.createSourceControl('roost', t('Roost review'), vscode.Uri.parse(key));
    source.inputBox.visible = false;
    source.quickDiffProvider = this;
    // Zero, so that git's number in the activity bar stays git's.
    source.count = 0;
    const group = source.createResourceGroup('changes', t('Changes of agents'));
    group.hideWhenEmpty = true;
    const control = { source, group };
    this.#controls.set(key, control);
    return control;
  }

  #state(row: ChangeRow): vscode.SourceControlResourceState {
    return {
      resourceUri: this.#reviews.fileOf(row),
      command: { command: 'roost.review', title: t('Review'), arguments: [{ change: row.id }] },
      decorations: {
        tooltip: `${row.agentName} −${row.removed} +${row.added}`,
        strikeThrough: row.kind === 'delete',
      },
      contextValue: 'change',
    };
  }
}
