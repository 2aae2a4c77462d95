// The palette's commands about a whole conversation or branch: summarise it, write it to a file, bring one in, and what
// it has cost.
//
// Files of branches are written and read by `roost`, which is beside this bundle: how a file is checked is in one place
// (cli/branchFile.ts). It runs on the editor's own runtime and talks to the sidecar of this window.

import { execFile } from 'node:child_process';
import path from 'node:path';
import * as vscode from 'vscode';
import { RoostError } from '../sidecar/protocol/errors.ts';
import type { Ctx } from './ctx.ts';
import { limits } from './limits.ts';
import type { Panels } from './panels.ts';
import { pickAgentRow, pickWorkspace } from './pick.ts';
import { agentOf, field, numberField, textField } from './targets.ts';
import { counted } from './words.ts';

const { t } = vscode.l10n;

export function registerBranchCommands(ctx: Ctx, panels: Panels): void {
  ctx.command('roost.compact', (given: unknown) => compact(ctx, given));
  ctx.command('roost.export', (given: unknown) => exportBranch(ctx, given));
  ctx.command('roost.import', (given: unknown) => importBranch(ctx, panels, given));
}

/** Has an agent summarise what was said, so that its requests are short again. Nothing of the conversation is lost. */
async function compact(ctx: Ctx, given: unknown): Promise<unknown> {
  const row = await pickAgentRow(ctx, given, t('Compact the conversation of which agent?'));
  if (row === undefined) return undefined;
  const focus = agentOf(given) === undefined ? await askFocus(row.name) : (textField(given, 'focus') ?? '');
  if (focus === undefined) return undefined;
  const done = await ctx.connection.call('agent/compact', {
    agent: row.id,
    ...(focus === '' ? {} : { focus }),
    key: ctx.key(),
  });
  const said = {
    started: t('{0} is summarising its conversation. All of it can still be read.', row.name),
    queued: t('{0} will summarise its conversation before its next request.', row.name),
    nothing: t('The conversation of {0} is too short to be worth a summary.', row.name),
  };
  void vscode.window.showInformationMessage(said[done.state]);
  return done;
}

/** Empty: nothing in particular. */
async function askFocus(name: string): Promise<string | undefined> {
  const text = await vscode.window.showInputBox({
    title: t('Compact {0}', name),
    prompt: t('What should the summary stress? Empty for nothing in particular.'),
    ignoreFocusOut: true,
  });
  return text?.trim();
}

const filters = { 'Roost branches': ['jsonl'] };

async function exportBranch(ctx: Ctx, given: unknown): Promise<unknown> {
  const row = await pickAgentRow(ctx, given, t('Export which agent and all below it?'));
  if (row === undefined) return undefined;
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const name = `${row.name.replaceAll(/[^\w.-]+/g, '-')}.jsonl`;
  const file =
    textField(given, 'file') ??
    (
      await vscode.window.showSaveDialog({
        title: t('Export {0}', row.name),
        filters,
        ...(folder === undefined ? {} : { defaultUri: vscode.Uri.joinPath(folder, name) }),
      })
    )?.fsPath;
  if (file === undefined) return undefined;
  // The dialog has asked whether a file that is there may go.
  const args = ['export', String(row.id), file, '--force'];
  const done = await roost(ctx, t('Exporting {0}', row.name), args);
  const text = t(
    '{0} is exported to {1}. Keys that Roost knows are not in it; what was said is.',
    row.name,
    path.basename(file),
  );
  const open = t('Open');
  void vscode.window.showInformationMessage(text, open).then((choice) => {
    if (choice === open) void vscode.commands.executeCommand('vscode.open', vscode.Uri.file(file));
  });
  return done;
}

/** At rest, in a folder of this window, under mode `ask`: whatever the file's agents were allowed. */
async function importBranch(ctx: Ctx, panels: Panels, given: unknown): Promise<unknown> {
  const file =
    textField(given, 'file') ??
    (await vscode.window.showOpenDialog({ title: t('Import a Branch'), filters }))?.[0]?.fsPath;
  if (file === undefined) return undefined;
  const workspace = textField(given, 'workspace') ?? (await pickWorkspace());
  if (workspace === undefined) return undefined;
  const args = ['import', file, '--workspace', ctx.paths.toReal(workspace)];
  const done = await roost(ctx, t('Importing {0}', path.basename(file)), args);
  const agent = agentOf(done);
  const agents = numberField(done, 'agents') ?? 1;
  const name = textField(done, 'name') ?? path.basename(file);
  if (agent !== undefined && field(given, 'open') !== false) panels.showAgent(agent, { focus: true });
  const text = counted(
    agents,
    t('{0} is imported. It is at rest, and asks before it acts.', name),
    t('{0} and its branch are imported: {1} agents, at rest. They ask before they act.', name, agents),
  );
  void vscode.window.showInformationMessage(text);
  return done;
}

/** Runs the command on this window's store, and gives what it prints last. Rejects with its words. */
async function roost(ctx: Ctx, title: string, args: readonly string[]): Promise<unknown> {
  // It must be there: the command only finds it.
  await ctx.connection.call('store/info', {});
  const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
  return vscode.window.withProgress(options, (_progress, token) => run(ctx, args, token));
}

function run(ctx: Ctx, args: readonly string[], token: vscode.CancellationToken): Promise<unknown> {
  const cli = path.join(ctx.extension.extensionPath, 'dist', 'cli.cjs');
  const store = ctx.connection.store;
  const all = [cli, ...args, '--json-errors', ...(store === null ? [] : ['--store', store])];
  // The editor's binary is Node when it is told so.
  const env = { ...process.env, ELECTRON_RUN_AS_NODE: '1' };
  return new Promise((resolve, reject) => {
    const ended = (error: Error | null, stdout: string, stderr: string): void => {
      if (error === null) resolve(lastLine(stdout));
      else if (token.isCancellationRequested) resolve(undefined);
      else
        reject(
          new RoostError('internal', textField(field(lastLine(stderr), 'error'), 'message') ?? error.message),
        );
    };
    const child = execFile(
      process.execPath,
      all,
      { env, maxBuffer: limits.cliBytes, windowsHide: true },
      ended,
    );
    token.onCancellationRequested(() => child.kill());
  });
}

function lastLine(text: string): unknown {
  try {
    return JSON.parse(text.trim().split('\n').at(-1) ?? '');
  } catch {
    return undefined;
  }
}
