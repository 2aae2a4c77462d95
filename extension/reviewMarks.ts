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
  const own = (look: vscode.DecorationRenderOptions): vscode.TextEditorDecorationType =>
    ctx.own(vscode.window.createTextEditorDecorationType(look));
  const added = own(addedLook());
  const removedAbove = own(removedLook('2px 0 0 0'));
  const removedBelow = own(removedLook('0 0 2px 0'));
  const proposed = own(removedLook('0 0 0 2px'));
  const draw = (): void => {
    for (const editor of vscode.window.visibleTextEditors) {
      if (editor.document.uri.scheme !== 'file') continue;
      const placed = standsAlone(editor) ? reviews.placed(editor.document) : [];
      const here = placed.filter(({ proposal }) => !proposal);
      const deletions = here.filter(({ hunk }) => 0 < hunk.removed.length);
      const end = editor.document.lineCount;
      editor.setDecorations(added, here.filter(({ count }) => 0 < count).map(lines));
      editor.setDecorations(removedAbove, deletions.filter((each) => !atEnd(each, end)).map(withHover));
      editor.setDecorations(removedBelow, deletions.filter((each) => atEnd(each, end)).map(withHover));
      editor.setDecorations(proposed, placed.filter(({ proposal }) => proposal).map(withHover));
    }
  };
  const redraw = ctx.own(throttled(limits.redrawMs, draw));
  ctx.own(reviews.onChange(redraw));
  ctx.own(vscode.window.onDidChangeVisibleTextEditors(redraw));
  ctx.own(vscode.window.tabGroups.onDidChangeTabs(redraw));
}

/** True for an editor of its own: a diff editor and the peek have their own colours for what changed. */
function standsAlone(editor: vscode.TextEditor): boolean {
  const group = vscode.window.tabGroups.all.find((each) => each.viewColumn === editor.viewColumn);
  return group?.activeTab?.input instanceof vscode.TabInputText;
}

function lines({ line, count }: Placed): vscode.Range {
  return new vscode.Range(line, 0, line + Math.max(1, count) - 1, 0);
}

/** A deletion behind the last line has no line below it to be drawn above of. */
function atEnd({ hunk, count, line }: Placed, lineCount: number): boolean {
  return count === 0 && hunk.now !== null && lineCount <= hunk.now.start - 1 && line === lineCount - 1;
}

/** A deletion is one line to look at, a proposal all the lines that it would replace. */
function withHover(placed: Placed): vscode.DecorationOptions {
  const { line } = placed;
  const range = placed.proposal ? lines(placed) : new vscode.Range(line, 0, line, 0);
  return { range, hoverMessage: hover(placed) };
}

/** What was removed, and the verbs. The text is a model's: it stands in a code block, only our commands are links. */
function hover({ change, hunk, proposal }: Placed): vscode.MarkdownString {
  const text = new vscode.MarkdownString(undefined, true);
  text.isTrusted = { enabledCommands: ['roost.acceptHunk', 'roost.rejectHunk'] };
  const removed = hunk.removed.map((line) => `-${line}`);
  const all = proposal ? [...removed, ...hunk.added.map((line) => `+${line}`)] : removed;
  const shown = all.slice(0, limits.hoverLines);
  const rest = all.length - shown.length;
  text.appendText(proposal ? t('{0} proposes:', change.agentName) : t('{0} removed:', change.agentName));
  text.appendCodeblock([...shown, ...(0 < rest ? [`… ${rest}`] : [])].join('\n'), 'diff');
  const argument = encodeURIComponent(JSON.stringify([{ change: change.id, hunk: hunk.id }]));
  text.appendMarkdown(
    `[$(check) ${t('Accept')}](command:roost.acceptHunk?${argument}) &nbsp; ` +
      `[$(discard) ${proposal ? t('Dismiss') : t('Reject')}](command:roost.rejectHunk?${argument})`,
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
