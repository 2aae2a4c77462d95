// The palette's commands about folders that agents work in: bring files back to a checkpoint, look after worktrees.

import * as vscode from 'vscode';
import type { CheckpointPreview, CheckpointRestored, CheckpointRow } from '../sidecar/protocol/checkpoint.ts';
import { checkpointId } from '../sidecar/protocol/ids.ts';
import type { CheckpointId } from '../sidecar/protocol/ids.ts';
import type { WorktreeRow } from '../sidecar/protocol/worktree.ts';
import type { Ctx } from './ctx.ts';
import { limits } from './limits.ts';
import { pickWorkspace, sure } from './pick.ts';
import { agentOf, field, numberField } from './targets.ts';
import { counted } from './words.ts';

const { t } = vscode.l10n;

export function registerFolderCommands(ctx: Ctx): void {
  ctx.command('roost.restoreFiles', (given: unknown) => restoreFiles(ctx, given));
  ctx.command('roost.worktrees', (given: unknown) => worktrees(ctx, given));
}

/** The files of a folder as they were before a turn wrote there. What that does is shown first; it can be undone. */
async function restoreFiles(ctx: Ctx, given: unknown): Promise<unknown> {
  const named = numberField(given, 'checkpoint');
  const checkpoint = named === undefined ? await pickCheckpoint(ctx, given) : checkpointId(named);
  if (checkpoint === undefined) return undefined;
  const preview = await ctx.connection.call('checkpoint/preview', { checkpoint });
  const moved = preview.files.filter((file) => file.action !== 'leave').length + preview.more;
  if (moved === 0) {
    void vscode.window.showInformationMessage(nothingMoves(preview));
    return undefined;
  }
  if (field(given, 'sure') !== true && !(await sure(restoreQuestion(preview, moved), t('Restore'))))
    return undefined;
  const done = await ctx.connection.call('checkpoint/restore', { checkpoint, paths: 'all', key: ctx.key() });
  sayRestored(done);
  return done;
}

function nothingMoves({ files }: CheckpointPreview): string {
  const [first] = files;
  if (first === undefined) return t('Nothing would change: the files are as they were then.');
  return t('Nothing can be brought back. {0}: {1}', first.label, first.reason ?? '');
}

function restoreQuestion({ files, atWork }: CheckpointPreview, moved: number): string {
  const names = files
    .filter((file) => file.action !== 'leave')
    .slice(0, limits.restoreNames)
    .map((file) => (file.action === 'remove' ? t('{0} (removed)', file.label) : file.label));
  const lines = [
    counted(moved, t('Bring 1 file back?'), t('Bring {0} files back?', moved)),
    names.join('\n') + (names.length < moved ? '\n…' : ''),
    ...(atWork.length === 0 ? [] : [t('At work in this folder: {0}', atWork.join(', '))]),
    t('It can be undone.'),
  ];
  return lines.join('\n\n');
}

function sayRestored({ written, removed, left, undo }: CheckpointRestored): void {
  const changed = written + removed;
  const text = counted(changed, t('1 file is as it was.'), t('{0} files are as they were.', changed));
  const more =
    left.length === 0
      ? ''
      : ` ${counted(left.length, t('1 was left as it is.'), t('{0} were left as they are.', left.length))}`;
  const back = t('Undo');
  void vscode.window.showInformationMessage(text + more, ...(undo === null ? [] : [back])).then((choice) => {
    if (choice === back && undo !== null)
      void vscode.commands.executeCommand('roost.restoreFiles', { checkpoint: undo, sure: true });
  });
}

async function pickCheckpoint(ctx: Ctx, given: unknown): Promise<CheckpointId | undefined> {
  const agent = agentOf(given) ?? null;
  const folder = agent === null ? await pickWorkspace() : undefined;
  if (agent === null && folder === undefined) return undefined;
  const workspace = folder === undefined ? null : ctx.paths.toReal(folder);
  const { rows } = await ctx.connection.call('checkpoint/list', {
    ...{ agent, workspace, before: null },
    limit: limits.pickRows,
  });
  if (rows.length === 0) {
    void vscode.window.showInformationMessage(t('There is no checkpoint: no agent has written here yet.'));
    return undefined;
  }
  const items = rows.map((row) => ({ ...checkpointWords(row), id: row.id }));
  return (await vscode.window.showQuickPick(items, { title: t('Bring files back to how they were …') }))?.id;
}

function checkpointWords(row: CheckpointRow): vscode.QuickPickItem {
  const label =
    row.kind === 'restore'
      ? t('before files were brought back')
      : t('before {0} wrote', row.agentName ?? t('an agent'));
  return { label, description: new Date(row.atMs).toLocaleString(), detail: row.problems.join(' ') };
}

/** The worktrees of all agents, with what is in each; the chosen one is opened in a terminal or removed. */
async function worktrees(ctx: Ctx, given: unknown): Promise<unknown> {
  const { rows } = await ctx.connection.call('worktree/list', {
    ...{ agent: agentOf(given) ?? null, after: null },
    limit: limits.worktreeRows,
  });
  if (rows.length === 0) {
    void vscode.window.showInformationMessage(t('No agent has a worktree.'));
    return undefined;
  }
  const items = rows.map((row) => ({ ...worktreeWords(row), row }));
  const title = t('Worktrees of agents');
  const picked =
    rows.length === 1 && agentOf(given) !== undefined
      ? items[0]
      : await vscode.window.showQuickPick(items, { title, matchOnDetail: true });
  if (picked === undefined) return undefined;
  const { row } = picked;
  const terminal = { label: t('Open a Terminal There'), act: () => openTerminal(row) };
  const remove = { label: t('Remove'), detail: row.reason, act: () => removeWorktree(ctx, row) };
  const offered = row.state === 'working' ? [terminal] : [terminal, remove];
  return (await vscode.window.showQuickPick(offered, { title: worktreeWords(row).label }))?.act();
}

function worktreeWords(row: WorktreeRow): vscode.QuickPickItem {
  const files = counted(row.changedFiles, t('1 changed file'), t('{0} changed files', row.changedFiles));
  return {
    label: row.agentName ?? row.path,
    description: `${stateWord(row)} · ${files}`,
    detail: row.reason,
  };
}

function stateWord({ state }: WorktreeRow): string {
  switch (state) {
    case 'working':
      return t('at work');
    case 'review':
      return t('to review');
    case 'kept':
      return t('kept');
    case 'done':
      return t('can go');
    case 'broken':
      return t('broken');
    case 'stray':
      return t('of no agent');
  }
}

function openTerminal({ path, agentName }: WorktreeRow): undefined {
  vscode.window.createTerminal({ cwd: path, name: agentName ?? t('Worktree') }).show();
}

/** What would be lost is asked about first; nothing that is at work goes. */
async function removeWorktree(ctx: Ctx, { agent, reason, advice }: WorktreeRow): Promise<unknown> {
  const force = advice !== 'remove';
  if (force && !(await sure(t('{0} Remove the worktree all the same?', reason), t('Remove'))))
    return undefined;
  const done = await ctx.connection.call('worktree/remove', { agent, force });
  void vscode.window.showInformationMessage(done.reason);
  return done;
}
