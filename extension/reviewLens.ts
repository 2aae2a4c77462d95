// The row of verbs above each hunk: Accept, Reject, Comment, and who made it. In the person's file, in the right
// side of a diff, and in the agent's version of a file. A file for which an agent only proposes something gets
// one row at its top.

import * as vscode from 'vscode';
import type { ChangeRow } from '../sidecar/protocol/change.ts';
import type { Ctx } from './ctx.ts';
import type { Placed } from './placing.ts';
import { afterScheme } from './reviews.ts';
import type { Reviews } from './reviews.ts';

const { t } = vscode.l10n;

export class ReviewLens implements vscode.CodeLensProvider {
  readonly #reviews: Reviews;
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChangeCodeLenses = this.#changed.event;

  constructor(ctx: Ctx, reviews: Reviews) {
    this.#reviews = reviews;
    ctx.own(this.#changed);
    ctx.own(vscode.languages.registerCodeLensProvider([{ scheme: 'file' }, { scheme: afterScheme }], this));
    ctx.own(reviews.onChange(() => this.#changed.fire()));
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    const lenses = this.#reviews.placed(document).flatMap(hunkLenses);
    if (document.uri.scheme === afterScheme) return lenses;
    const proposals = this.#reviews.rowsOf(document.uri).filter((row) => row.isolation === 'worktree');
    const moved = this.#reviews
      .detailsOf(document.uri)
      .filter((change) => change.isolation !== 'worktree' && change.hunks.some((hunk) => hunk.now === null));
    return [...proposals.flatMap(proposalLenses), ...moved.map(movedLens), ...lenses];
  }
}

function hunkLenses({ change, hunk, line }: Placed): vscode.CodeLens[] {
  const range = new vscode.Range(line, 0, line, 0);
  const target = { change: change.id, hunk: hunk.id };
  const about = `−${hunk.removed.length} +${hunk.added.length} · ${change.agentName}`;
  return [
    lens(range, `$(check) ${t('Accept')}`, 'roost.acceptHunk', target),
    lens(range, `$(discard) ${t('Reject')}`, 'roost.rejectHunk', target),
    lens(range, `$(comment) ${t('Comment')}`, 'roost.comment', { ...target, line }),
    lens(range, about, 'roost.openAgent', { agent: change.agent }),
  ];
}

function proposalLenses(change: ChangeRow): vscode.CodeLens[] {
  const target = { change: change.id };
  const about = t('{0} proposes −{1} +{2}', change.agentName, change.removed, change.added);
  const top = new vscode.Range(0, 0, 0, 0);
  return [
    lens(top, `$(robot) ${about}`, 'roost.review', target),
    lens(top, `$(diff) ${t('Compare')}`, 'roost.review', target),
    lens(top, `$(check) ${t('Accept')}`, 'roost.acceptFile', target),
    lens(top, `$(discard) ${t('Dismiss')}`, 'roost.rejectFile', target),
  ];
}

function movedLens(change: ChangeRow): vscode.CodeLens {
  const title = t('You changed lines that {0} changed too: compare', change.agentName);
  return lens(new vscode.Range(0, 0, 0, 0), `$(warning) ${title}`, 'roost.review', { change: change.id });
}

function lens(range: vscode.Range, title: string, command: string, argument: object): vscode.CodeLens {
  return new vscode.CodeLens(range, { title, command, arguments: [argument] });
}
