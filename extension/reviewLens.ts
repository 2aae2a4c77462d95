// The row of verbs above each hunk: Accept, Reject, Comment, and who made it. In the person's file, in the right
// side of a diff, and in the agent's version of a file. A file for which an agent only proposes something gets
// one row at its top.

import * as vscode from 'vscode';
import type { ChangeDetail } from '../sidecar/protocol/change.ts';
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
    const lenses = this.#reviews
      .placed(document)
      .flatMap((each) => (each.proposal ? proposalLenses(each) : hunkLenses(each)));
    if (document.uri.scheme === afterScheme) return lenses;
    // What has no place: lines that the person has changed since, and files too large for hunks.
    const rest = this.#reviews
      .detailsOf(document.uri)
      .filter((change) => change.hunks.length === 0 || change.hunks.some((hunk) => hunk.now === null));
    return [...rest.flatMap(fileLenses), ...lenses];
  }
}

function hunkLenses({ change, hunk, line }: Placed): vscode.CodeLens[] {
  const range = new vscode.Range(line, 0, line, 0);
  const target = { change: change.id, hunk: hunk.id };
  const about = `−${hunk.removed.length} +${hunk.added.length} · ${change.agentName}`;
  return [
    lens(range, verb('check', t('Accept')), 'roost.acceptHunk', target),
    lens(range, verb('discard', t('Reject')), 'roost.rejectHunk', target),
    lens(range, verb('comment', t('Comment')), 'roost.comment', { ...target, line }),
    lens(range, about, 'roost.openAgent', { agent: change.agent }),
  ];
}

function proposalLenses({ change, hunk, line }: Placed): vscode.CodeLens[] {
  const range = new vscode.Range(line, 0, line, 0);
  const target = { change: change.id, hunk: hunk.id };
  const about = t('{0} proposes −{1} +{2}', change.agentName, hunk.removed.length, hunk.added.length);
  return [
    lens(range, verb('robot', about), 'roost.openAgent', { agent: change.agent }),
    lens(range, verb('check', t('Accept')), 'roost.acceptHunk', target),
    lens(range, verb('discard', t('Dismiss')), 'roost.rejectHunk', target),
    lens(range, verb('diff', t('Compare')), 'roost.review', target),
  ];
}

function fileLenses(change: ChangeDetail): vscode.CodeLens[] {
  const target = { change: change.id };
  const top = new vscode.Range(0, 0, 0, 0);
  if (change.hunks.length === 0) {
    const about = t('Changed by {0}: −{1} +{2}', change.agentName, change.removed, change.added);
    return [
      lens(top, verb('robot', about), 'roost.openAgent', { agent: change.agent }),
      lens(top, verb('check-all', t('Accept All')), 'roost.acceptFile', target),
      lens(top, verb('discard', t('Reject All')), 'roost.rejectFile', target),
      lens(top, verb('diff', t('Compare')), 'roost.review', target),
    ];
  }
  const title = t('You changed lines that {0} changed too: compare', change.agentName);
  const compare = lens(top, verb('warning', title), 'roost.review', target);
  if (change.isolation !== 'worktree') return [compare];
  return [
    compare,
    lens(top, verb('git-merge', t('Merge')), 'roost.merge', target),
    lens(top, verb('check', t('It Is Merged')), 'roost.merged', target),
    lens(top, verb('discard', t('Dismiss')), 'roost.rejectFile', target),
  ];
}

/** A lens swallows an ordinary blank after an icon. */
function verb(icon: string, words: string): string {
  return `$(${icon})\u00a0${words}`;
}

function lens(range: vscode.Range, title: string, command: string, argument: object): vscode.CodeLens {
  return new vscode.CodeLens(range, { title, command, arguments: [argument] });
}
