// The verbs of review: open a change, accept or reject a hunk, a file, a row; walk from hunk to hunk. Each takes
// what its place gives it: a lens or a hover names the hunk, a menu of the editor names a file and lines, a key
// names nothing and means the cursor.

import * as vscode from 'vscode';
import type { ChangeRow, Verdict } from '../sidecar/protocol/change.ts';
import type { ChangeId } from '../sidecar/protocol/ids.ts';
import type { Attention } from './attention.ts';
import type { Ctx } from './ctx.ts';
import { hunkAt, hunkBeside } from './placing.ts';
import type { Placed } from './placing.ts';
import type { ReviewDocs } from './reviewDocs.ts';
import { afterScheme, changeOfUri } from './reviews.ts';
import type { Reviews } from './reviews.ts';
import { agentOf, changesOf, field, numberField, textField } from './targets.ts';

const { t } = vscode.l10n;

export interface ReviewParts {
  readonly ctx: Ctx;
  readonly reviews: Reviews;
  readonly docs: ReviewDocs;
  readonly attention: Attention;
}

export function registerReviewCommands(parts: ReviewParts): void {
  const { ctx } = parts;
  ctx.command('roost.review', (given: unknown) => review(parts, given));
  ctx.command('roost.acceptHunk', (...given: unknown[]) => decideHunk(parts, 'accept', given));
  ctx.command('roost.rejectHunk', (...given: unknown[]) => decideHunk(parts, 'reject', given));
  ctx.command('roost.acceptFile', (given: unknown, selected: unknown) =>
    decideFiles(parts, 'accept', [given, selected]),
  );
  ctx.command('roost.rejectFile', (given: unknown, selected: unknown) =>
    decideFiles(parts, 'reject', [given, selected]),
  );
  ctx.command('roost.nextHunk', () => walk(parts, 1));
  ctx.command('roost.previousHunk', () => walk(parts, -1));
}

/** Opens one change, or lets the person choose among what waits. */
async function review({ ctx, reviews, docs }: ReviewParts, given: unknown): Promise<void> {
  const [named, ...others] = changesOf(given);
  if (named !== undefined && others.length === 0) return docs.open(named, textField(given, 'hunk'));
  const agent = agentOf(given);
  const waiting = await openChanges(ctx, reviews);
  const rows = waiting.filter((row) => agent === undefined || row.agent === agent);
  const [only] = rows;
  if (only === undefined) {
    void vscode.window.showInformationMessage(t('No change waits for a verdict.'));
    return;
  }
  if (rows.length === 1) return docs.open(only.id);
  const all = { label: t('$(diff-multiple) All {0} changes in one editor', rows.length), id: undefined };
  const items = rows.map((row) => ({
    label: row.label,
    description: `${row.agentName} −${row.removed} +${row.added}`,
    id: row.id,
  }));
  const picked = await vscode.window.showQuickPick<
    vscode.QuickPickItem & { readonly id: ChangeId | undefined }
  >([all, ...items], { placeHolder: t('Review which change?'), matchOnDescription: true });
  if (picked === undefined) return;
  if (picked.id === undefined) await docs.openMany(rows);
  else await docs.open(picked.id);
}

/** What this window follows; a window that has just connected asks once. */
async function openChanges(ctx: Ctx, reviews: Reviews): Promise<readonly ChangeRow[]> {
  if (0 < reviews.all.length) return reviews.all;
  return (await ctx.connection.call('change/list', { agent: null, after: null, limit: 100 })).rows;
}

/** Arguments: `{change, hunk}`; or a file, its line changes and an index, from the native peek; or nothing. */
async function decideHunk(
  { reviews }: ReviewParts,
  verdict: Verdict,
  given: readonly unknown[],
): Promise<void> {
  const [first, second, third] = given;
  const [change] = changesOf(first);
  const hunk = textField(first, 'hunk');
  if (change !== undefined && hunk !== undefined) return reviews.decide(change, verdict, [hunk]);
  const placed = first instanceof vscode.Uri ? fromPeek(reviews, first, second, third) : atCursor(reviews);
  if (placed === undefined) {
    void vscode.window.showInformationMessage(t('There is no agent\u2019s change at this place.'));
    return;
  }
  await reviews.decide(placed.change.id, verdict, [placed.hunk.id]);
}

/** The peek's hunks are the editor's own diff: ours is found by the lines, never by the index alone. */
function fromPeek(reviews: Reviews, uri: vscode.Uri, changes: unknown, index: unknown): Placed | undefined {
  const document = vscode.workspace.textDocuments.find((each) => each.uri.toString() === uri.toString());
  const change: unknown = Array.isArray(changes) && typeof index === 'number' ? changes[index] : undefined;
  const start = numberField(change, 'modifiedStartLineNumber');
  const end = numberField(change, 'modifiedEndLineNumber');
  if (document === undefined || start === undefined || end === undefined) return undefined;
  const placed = reviews.placed(document);
  // An end of 0 is a deletion below line `start`.
  if (end === 0)
    return placed.find((each) => each.count === 0 && each.line === start) ?? hunkAt(placed, start - 1);
  return placed.find((each) => each.line < end && start - 1 < each.line + Math.max(1, each.count));
}

function atCursor(reviews: Reviews): Placed | undefined {
  const editor = vscode.window.activeTextEditor;
  return editor === undefined
    ? undefined
    : hunkAt(reviews.placed(editor.document), editor.selection.active.line);
}

/** Whole changes: rows of a view, a file of the editor, or the file in front. */
async function decideFiles(
  { reviews, attention }: ReviewParts,
  verdict: Verdict,
  [given, selected]: readonly [unknown, unknown],
): Promise<void> {
  const rows: readonly unknown[] = Array.isArray(selected) && 1 < selected.length ? selected : [given];
  let changes = rows.flatMap((row) => changesOf(row));
  const uri = given instanceof vscode.Uri ? given : (field(given, 'resourceUri') ?? activeUri(given));
  if (changes.length === 0 && uri instanceof vscode.Uri) changes = [...changesOfFile(reviews, uri)];
  if (changes.length === 0 && given === undefined)
    changes = attention.selection.flatMap((row) => changesOf(row));
  if (changes.length === 0) {
    void vscode.window.showInformationMessage(t('No change of an agent waits in this file.'));
    return;
  }
  // Later changes stand on earlier ones: accepted from the first, rejected from the last.
  const ordered = [...new Set(changes)].sort((a, b) => (verdict === 'accept' ? a - b : b - a));
  for (const change of ordered) await reviews.decide(change, verdict, 'all');
}

function activeUri(given: unknown): vscode.Uri | undefined {
  return given === undefined ? vscode.window.activeTextEditor?.document.uri : undefined;
}

function changesOfFile(reviews: Reviews, uri: vscode.Uri): readonly ChangeId[] {
  if (uri.scheme !== afterScheme) return reviews.rowsOf(uri).map((row) => row.id);
  const id = changeOfUri(uri);
  return id === undefined ? [] : [id];
}

/** To the next hunk of this file; from a file without any, to the next file that has some. */
async function walk({ reviews, docs }: ReviewParts, direction: 1 | -1): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const placed = editor === undefined ? [] : reviews.placed(editor.document);
  const next = editor === undefined ? undefined : hunkBeside(placed, editor.selection.active.line, direction);
  if (editor !== undefined && next !== undefined) {
    const at = new vscode.Position(next.line, 0);
    editor.selection = new vscode.Selection(at, at);
    editor.revealRange(new vscode.Range(at, at), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
    return;
  }
  const [first] = reviews.all;
  if (first !== undefined) await docs.open(first.id);
  else void vscode.window.showInformationMessage(t('No change waits for a verdict.'));
}
