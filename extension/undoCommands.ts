// The palette's commands that can be taken back: delete a branch and restore it, rewind an agent. And those that
// end that: empty the trash, say how long it keeps.

import * as vscode from 'vscode';
import { turnId } from '../sidecar/protocol/ids.ts';
import type { AgentId } from '../sidecar/protocol/ids.ts';
import type { Ctx } from './ctx.ts';
import { pickTurn } from './lifeCommands.ts';
import { limits } from './limits.ts';
import { pickAgentRow, sure } from './pick.ts';
import { agentOf, field, numberField } from './targets.ts';
import { counted } from './words.ts';

const { t } = vscode.l10n;

export function registerUndoCommands(ctx: Ctx): void {
  ctx.command('roost.delete', (given: unknown) => deleteBranch(ctx, given));
  ctx.command('roost.restore', (given: unknown) => restoreBranch(ctx, given));
  ctx.command('roost.emptyTrash', (given: unknown) => emptyTrash(ctx, given));
  ctx.command('roost.keepTrash', (given: unknown) => keepTrash(ctx, given));
  ctx.command('roost.rewind', (given: unknown) => rewind(ctx, given));
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
  sayDone(text, { command: 'roost.restore', given: { agent: row.id } });
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

/** For good, so it always asks. What is deleted while the question is open is not meant. */
async function emptyTrash(ctx: Ctx, given: unknown): Promise<unknown> {
  const { rows, more } = await ctx.connection.call('trash/list', { after: null, limit: limits.pickRows });
  const kept = rows.filter((row) => row.state === 'kept');
  if (kept.length === 0) {
    void vscode.window.showInformationMessage(t('The trash is empty.'));
    return undefined;
  }
  const agents = kept.reduce((sum, row) => sum + row.agents, 0);
  const question = more
    ? t('Delete everything in the trash for good? It cannot be undone.')
    : counted(
        agents,
        t('Delete {0} for good? It cannot be undone.', kept[0]?.path ?? ''),
        t('Delete the {0} agents in the trash for good? It cannot be undone.', agents),
      );
  if (field(given, 'sure') !== true && !(await sure(question, t('Delete for Good')))) return undefined;
  const what = more ? null : kept.map((row) => row.agent.id);
  const done = await ctx.connection.call('trash/empty', { agents: what, key: ctx.key() });
  const text = counted(done.agents, t('1 agent is deleted.'), t('{0} agents are deleted.', done.agents));
  vscode.window.setStatusBarMessage(`Roost: ${text}`, limits.sayMs);
  return done;
}

const dayMs = 24 * 60 * 60_000;

/** How long what is deleted can be restored: a setting of the store, the same for all its windows. */
async function keepTrash(ctx: Ctx, given: unknown): Promise<unknown> {
  const keptMs = field(given, 'keptMs');
  const wanted = typeof keptMs === 'number' || keptMs === null ? keptMs : await chooseTime();
  if (wanted === undefined) return undefined;
  const done = await ctx.connection.call('trash/keep', { keptMs: wanted, key: ctx.key() });
  const text =
    wanted === null
      ? t('What is deleted stays in the trash until you empty it.')
      : t('What is deleted stays in the trash for {0} days, and then goes for good.', wanted / dayMs);
  void vscode.window.showInformationMessage(text);
  return done;
}

async function chooseTime(): Promise<number | null | undefined> {
  const items = [
    ...[1, 7, 30, 90, 365].map((days) => ({
      label: days === 1 ? t('1 day') : t('{0} days', days),
      ...(days === 30 ? { description: t('unless another time was set') } : {}),
      keptMs: days * dayMs,
    })),
    { label: t('Until I empty it'), keptMs: null },
  ];
  const title = t('How long can what is deleted be restored? It is meant for all that is in the trash.');
  return (await vscode.window.showQuickPick(items, { title, ignoreFocusOut: true }))?.keptMs;
}

async function pickFromTrash(ctx: Ctx): Promise<AgentId | undefined> {
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
  return (await vscode.window.showQuickPick(items, { title: t('Restore which branch?') }))?.id;
}

/** The agent goes on from the end of an earlier turn; what came after stays readable, and going to it undoes this. */
async function rewind(ctx: Ctx, given: unknown): Promise<unknown> {
  const row = await pickAgentRow(ctx, given, t('Rewind which agent?'));
  if (row === undefined) return undefined;
  const named = numberField(given, 'turn');
  const title = t('{0} goes on from the end of which turn?', row.name);
  const turn = named === undefined ? await pickTurn(ctx, row, title) : turnId(named);
  if (turn === undefined) return undefined;
  if (turn === null) {
    void vscode.window.showInformationMessage(t('{0} has no earlier turn to go back to.', row.name));
    return undefined;
  }
  const isBusy = row.phase !== 'idle';
  const question = t('{0} is at work. Stop it, and leave the turn that it is in?', row.name);
  if (isBusy && field(given, 'sure') !== true && !(await sure(question, t('Stop and Rewind'))))
    return undefined;
  const params = { agent: row.id, turn, ...(isBusy ? { stop: true } : {}) };
  const done = await ctx.connection.call('agent/rewind', { ...params, key: ctx.key() });
  const { from } = done;
  const text = t('{0} goes on from there with its next message. Files are as they are.', row.name);
  sayDone(text, from === null ? null : { command: 'roost.rewind', given: { agent: row.id, turn: from } });
  return done;
}

/** Says what was done, with a button for the command that takes it back; null: nothing does. */
function sayDone(text: string, undo: { readonly command: string; readonly given: object } | null): void {
  const label = t('Undo');
  void vscode.window.showInformationMessage(text, ...(undo === null ? [] : [label])).then((choice) => {
    if (choice === label && undo !== null) void vscode.commands.executeCommand(undo.command, undo.given);
  });
}
