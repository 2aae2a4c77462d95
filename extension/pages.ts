// Pages of Markdown that the editor previews: made anew each time one is opened, and never a file.

import * as vscode from 'vscode';
import type { Ctx } from './ctx.ts';

const scheme = 'roost-page';

/** Makes the text of a page. Rejects with words for the person when it cannot. */
type Make = () => Promise<string>;

export class Pages implements vscode.TextDocumentContentProvider {
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.#changed.event;
  /** How each page is made that was opened, by its address. */
  readonly #made = new Map<string, Make>();

  constructor(ctx: Ctx) {
    ctx.own(this.#changed);
    ctx.own(vscode.workspace.registerTextDocumentContentProvider(scheme, this));
    ctx.own(
      vscode.workspace.onDidCloseTextDocument(({ uri }) => {
        if (uri.scheme === scheme) this.#made.delete(uri.toString());
      }),
    );
  }

  /** Opens a page. `about` tells pages with the same title apart. */
  async show(title: string, about: string, make: Make): Promise<void> {
    const uri = vscode.Uri.from({ scheme, path: `/${title.replaceAll('/', '-')}.md`, query: about });
    this.#made.set(uri.toString(), make);
    this.#changed.fire(uri);
    try {
      await vscode.commands.executeCommand('markdown.showPreview', uri);
    } catch {
      // The editor's Markdown is switched off: the page can be read as it is.
      await vscode.window.showTextDocument(uri, { preview: true });
    }
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    // A page that an earlier window left open.
    const gone = vscode.l10n.t('Open this page again from the palette.');
    return (await this.#made.get(uri.toString())?.()) ?? gone;
  }
}

/** Names and answers are people's and models' words: they make no table, link or HTML of their own. */
export const escaped = (text: string): string =>
  text.replaceAll(/[\\`*_{}[\]()<>#+!|~&-]/g, '\\$&').replaceAll(/\r?\n/g, '<br>');

/** A table of cells that are Markdown already. `right`: columns of numbers. */
export function tableOf(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
  right: ReadonlySet<number> = new Set(),
): string[] {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const rule = heads.map((_, column) => (right.has(column) ? '--:' : '---'));
  return [line(heads), line(rule), ...rows.map(line)];
}
