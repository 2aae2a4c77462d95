// The palette's commands that can be taken back: delete a branch, and restore it.

import * as vscode from 'vscode';
import type { AgentId } from '../sidecar/protocol/ids.ts';
import type { Ctx } from './ctx.ts';
import { limits } from './limits.ts';
import { pickAgentRow, sure } from './pick.ts';
import { agentOf, field } from './targets.ts';
import { counted } from './words.ts';

const { t } = vscode.l10n;

export function registerUndoCommands(ctx: Ctx): void {
  ctx.command('roost.delete', (given: unknown) => deleteBranch(ctx, given));
  ctx.command('roost.restore', (given: unknown) => restoreBranch(ctx, given));
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
