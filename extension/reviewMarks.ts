// Hunks drawn in the person's own editor: added lines with a background, removed ones as a red line with their
// text in a hover. The colours are our own, because the editor's are empty in high contrast.

import * as vscode from 'vscode';
import { throttled } from './ctx.ts';
import type { Ctx } from './ctx.ts';
import { limits } from './limits.ts';
import type { Placed } from './placing.ts';
import type { Reviews } from './reviews.ts';

const { t } = vscode.l10n;

export function registerMarks(ctx: Ctx, reviews: Reviews): void {
  const added = ctx.own(vscode.window.createTextEditorDecorationType(addedLook()));
  const removedAbove = ctx.own(vscode.window.createTextEditorDecorationType(removedLook('2px 0 0 0')));
  const removedBelow = ctx.own(vscode.window.createTextEditorDecorationType(removedLook('0 0 2px 0')));
  const draw = (): void => {
    for (const editor of vscode.window.visibleTextEditors) {
      if (editor.document.uri.scheme !== 'file') continue;
      const placed = reviews.placed(editor.document);
      const deletions = placed.filter(({ hunk }) => 0 < hunk.removed.length);
      const end = editor.document.lineCount;
      editor.setDecorations(
        added,
        placed
          .filter(({ count }) => 0 < count)
          .map(({ line, count }) => new vscode.Range(line, 0, line + count - 1, 0)),
      );
      editor.setDecorations(removedAbove, deletions.filter((each) => !atEnd(each, end)).map(deletion));
      editor.setDecorations(removedBelow, deletions.filter((each) => atEnd(each, end)).map(deletion));
    }
  };
  const redraw = ctx.own(throttled(limits.redrawMs, draw));
  ctx.own(reviews.onChange(redraw));
  ctx.own(vscode.window.onDidChangeVisibleTextEditors(redraw));
}

/** A deletion behind the last line has no line below it to be drawn above of. */
function atEnd({ hunk, count, line }: Placed, lineCount: number): boolean {
  return count === 0 && hunk.now !== null && lineCount <= hunk.now.start - 1 && line === lineCount - 1;
}

function deletion(placed: Placed): vscode.DecorationOptions {
  return { range: new vscode.Range(placed.line, 0, placed.line, 0), hoverMessage: hover(placed) };
}

/** What was removed, and the verbs. The text is a model's: it stands in a code block, only our commands are links. */
function hover({ change, hunk }: Placed): vscode.MarkdownString {
  const text = new vscode.MarkdownString(undefined, true);
  text.isTrusted = { enabledCommands: ['roost.acceptHunk', 'roost.rejectHunk'] };
  const shown = hunk.removed.slice(0, limits.hoverLines).map((line) => `-${line}`);
  const rest = hunk.removed.length - shown.length;
  text.appendText(t('{0} removed:', change.agentName));
  text.appendCodeblock([...shown, ...(0 < rest ? [`… ${rest}`] : [])].join('\n'), 'diff');
  const argument = encodeURIComponent(JSON.stringify([{ change: change.id, hunk: hunk.id }]));
  text.appendMarkdown(
    `[$(check) ${t('Accept')}](command:roost.acceptHunk?${argument}) &nbsp; ` +
      `[$(discard) ${t('Reject')}](command:roost.rejectHunk?${argument})`,
  );
  return text;
}

function addedLook(): vscode.DecorationRenderOptions {
  return {
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor('roost.addedLineBackground'),
    borderColor: new vscode.ThemeColor('roost.addedLineBorder'),
    borderStyle: 'solid',
    borderWidth: '0 0 0 2px',
    overviewRulerColor: new vscode.ThemeColor('roost.addedLineBorder'),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
  };
}

function removedLook(borderWidth: string): vscode.DecorationRenderOptions {
  return {
    isWholeLine: true,
    borderColor: new vscode.ThemeColor('roost.removedLineBorder'),
    borderStyle: 'solid',
    borderWidth,
    overviewRulerColor: new vscode.ThemeColor('roost.removedLineBorder'),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
  };
}
