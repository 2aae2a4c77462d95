// The palette's commands that take something back, or can be: delete a branch and restore it, bring files back to a
// checkpoint, summarise a conversation.

import * as vscode from 'vscode';
import { agentId, checkpointId } from '../sidecar/protocol/ids.ts';
import type { CheckpointId } from '../sidecar/protocol/ids.ts';
import type { CheckpointPreview, CheckpointRow } from '../sidecar/protocol/checkpoint.ts';
import type { Ctx } from './ctx.ts';
import { limits } from './limits.ts';
import { pickAgentRow, pickWorkspace, sure } from './pick.ts';
import { agentOf, field, numberField, textField } from './targets.ts';
import { counted } from './words.ts';

const { t } = vscode.l10n;

export function registerUndoCommands(ctx: Ctx): void {
  ctx.command('roost.delete', (given: unknown) => deleteBranch(ctx, given));
  ctx.command('roost.restore', (given: unknown) => restoreBranch(ctx, given));
  ctx.command('roost.restoreFiles', (given: unknown) => restoreFiles(ctx, given));
  ctx.command('roost.compact', (given: unknown) => compact(ctx, given));
}

/** To the trash, from where it can be restored; so only what is at work is worth a question. */
async function deleteBranch(ctx: Ctx, given: unknown): Promise<unknown> {
  const row = await pickAgentRow(ctx, given, t('Delete which agent and all below it?'));
  if (row === undefined) return undefined;
  const active = row.branch.running + row.branch.waiting;
  const question = t(
    'Delete {0} and its branch? {1} of its agents are at work and will be stopped.',
    row.name,
    active,
  );
  if (0 < active && field(given, 'sure') !== true && !(await sure(question, t('Delete')))) return undefined;
  const done = await ctx.connection.call('agent/delete', { agent: row.id, key: ctx.key() });
  const text = counted(
    done.agents,
    t('{0} is in the trash.', row.name),
    t('{0} and its branch are in the trash: {1} agents.', row.name, done.agents),
  );
  const undo = t('Undo');
  void vscode.window.showInformationMessage(text, undo).then((choice) => {
    if (choice === undo) void vscode.commands.executeCommand('roost.restore', { agent: row.id });
  });
  return done;
}

async function restoreBranch(ctx: Ctx, given: unknown): Promise<unknown> {
  const agent = agentOf(given) ?? (await pickFromTrash(ctx));
  if (agent === undefined) return undefined;
  const done = await ctx.connection.call('agent/restore', { agent, key: ctx.key() });
  const text = counted(
    done.agents,
    t('Restored {0}', done.name),
    t('Restored {0}: {1} agents', done.name, done.agents),
  );
  vscode.window.setStatusBarMessage(`Roost: ${text}`, limits.sayMs);
  return done;
}

async function pickFromTrash(ctx: Ctx) {
  const { rows } = await ctx.connection.call('trash/list', { after: null, limit: limits.pickRows });
  const items = rows
    .filter((row) => row.state === 'kept')
    .map((row) => ({
      label: row.path,
      description: counted(row.agents, t('1 agent'), t('{0} agents', row.agents)),
      detail: row.agent.task,
      id: row.agent.id,
    }));
  if (items.length === 0) {
    void vscode.window.showInformationMessage(t('The trash is empty.'));
    return undefined;
  }
  const picked = await vscode.window.showQuickPick(items, { title: t('Restore which branch?') });
  return picked === undefined ? undefined : agentId(picked.id);
}

/** The files of a folder as they were before a turn wrote there. What that does is shown first; it can be undone. */
async function restoreFiles(ctx: Ctx, given: unknown): Promise<unknown> {
  const named = numberField(given, 'checkpoint');
  const checkpoint = named === undefined ? await pickCheckpoint(ctx, given) : checkpointId(named);
  if (checkpoint === undefined) return undefined;
  const preview = await ctx.connection.call('checkpoint/preview', { checkpoint });
  const moved = preview.files.filter((file) => file.action !== 'leave').length + preview.more;
  if (moved === 0) {
    void vscode.window.showInformationMessage(t('Nothing would change: the files are as they were then.'));
    return undefined;
  }
  if (field(given, 'sure') !== true && !(await sure(restoreQuestion(preview, moved), t('Restore'))))
    return undefined;
  const done = await ctx.connection.call('checkpoint/restore', { checkpoint, paths: 'all', key: ctx.key() });
  sayRestored(done.written + done.removed, done.left.length, done.undo);
  return done;
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

function sayRestored(changed: number, left: number, undo: CheckpointId | null): void {
  const text = counted(changed, t('1 file is as it was.'), t('{0} files are as they were.', changed));
  const more = left === 0 ? '' : ` ${counted(left, t('1 was left.'), t('{0} were left.', left))}`;
  const back = t('Undo');
  void vscode.window.showInformationMessage(text + more, ...(undo === null ? [] : [back])).then((choice) => {
    if (choice === back) void vscode.commands.executeCommand('roost.restoreFiles', { checkpoint: undo });
  });
}

async function pickCheckpoint(ctx: Ctx, given: unknown): Promise<CheckpointId | undefined> {
  const agent = agentOf(given) ?? null;
  const folder = agent === null ? await pickWorkspace() : undefined;
  if (agent === null && folder === undefined) return undefined;
  const workspace = folder === undefined ? null : ctx.paths.toReal(folder);
  const { rows } = await ctx.connection.call('checkpoint/list', {
    agent,
    workspace,
    before: null,
    limit: limits.pickRows,
  });
  if (rows.length === 0) {
    void vscode.window.showInformationMessage(t('There is no checkpoint: no agent has written here yet.'));
    return undefined;
  }
  const items = rows.map((row) => ({ ...wordsOf(row), id: row.id }));
  return (await vscode.window.showQuickPick(items, { title: t('Bring files back to how they were …') }))?.id;
}

function wordsOf(row: CheckpointRow): vscode.QuickPickItem {
  const label =
    row.kind === 'restore'
      ? t('before files were brought back')
      : t('before {0} wrote', row.agentName ?? t('an agent'));
  return { label, description: new Date(row.atMs).toLocaleString(), detail: row.problems.join(' ') };
}

async function compact(ctx: Ctx, given: unknown): Promise<unknown> {
  const row = await pickAgentRow(ctx, given, t('Summarise the conversation of which agent?'));
  if (row === undefined) return undefined;
  const focus = textField(given, 'focus');
  const done = await ctx.connection.call('agent/compact', {
    agent: row.id,
    ...(focus === undefined ? {} : { focus }),
    key: ctx.key(),
  });
  const text =
    done.state === 'nothing'
      ? t('{0} has next to nothing to summarise.', row.name)
      : t('{0} summarises its conversation; all of it stays to be read.', row.name);
  vscode.window.setStatusBarMessage(`Roost: ${text}`, limits.sayMs);
  return done;
}
