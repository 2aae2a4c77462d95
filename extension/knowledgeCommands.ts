// The palette's commands about what agents of a folder are told and may call: its profiles, instructions and skills, and
// its servers of tools (MCP), with what nobody has decided on yet. Like all commands they take an argument object.

import * as vscode from 'vscode';
import type { KnownFileRow, ProfileRow, TrustState } from '../sidecar/protocol/profile.ts';
import type { ServerRow } from '../sidecar/protocol/server.ts';
import type { Ctx } from './ctx.ts';
import { limits } from './limits.ts';
import { pickWorkspace } from './pick.ts';
import { profileWords } from './profilePick.ts';
import { textField } from './targets.ts';
import { counted } from './words.ts';

const { t } = vscode.l10n;

export function registerKnowledgeCommands(ctx: Ctx): void {
  ctx.command('roost.servers', (given: unknown) => servers(ctx, given));
  ctx.command('roost.profiles', (given: unknown) => profiles(ctx, given));
}

/** A line of a list, and what choosing it does. */
interface Choice extends vscode.QuickPickItem {
  readonly act?: () => unknown;
}

async function choose(items: readonly Choice[], title: string): Promise<unknown> {
  const picked = await vscode.window.showQuickPick(items, {
    title,
    matchOnDescription: true,
    matchOnDetail: true,
  });
  return picked?.act?.();
}

const heading = (label: string): Choice => ({ label, kind: vscode.QuickPickItemKind.Separator });

async function folderOf(ctx: Ctx, given: unknown): Promise<string | undefined> {
  const workspace = textField(given, 'workspace') ?? (await pickWorkspace());
  return workspace === undefined ? undefined : ctx.paths.toReal(workspace);
}

// ---------------------------------------------------------------- servers of tools

/** All servers that a folder and the person define: how each is, and what can be done about it. */
async function servers(ctx: Ctx, given: unknown): Promise<unknown> {
  const workspace = await folderOf(ctx, given);
  if (workspace === undefined) return undefined;
  const list = await ctx.connection.call('mcp/list', { workspace, connect: false });
  const named = textField(given, 'server');
  if (named !== undefined) {
    const row = list.servers.find(({ name, hidden }) => name === named && !hidden);
    if (row !== undefined) return aboutServer(ctx, workspace, row, textField(given, 'deed'));
  }
  if (list.servers.length === 0 && list.problems.length === 0) {
    void vscode.window.showInformationMessage(
      t('No servers of tools are defined. Name some in .roost/mcp.json, .mcp.json or .vscode/mcp.json.'),
    );
    return undefined;
  }
  const rows = list.servers.map((row): Choice => ({
    ...serverWords(row),
    act: () => aboutServer(ctx, workspace, row, undefined),
  }));
  return choose([...rows, ...problemChoices(list.problems)], t('MCP Servers'));
}

function serverWords(row: ServerRow): vscode.QuickPickItem {
  const { tools, dropped } = row;
  const offered = tools === null ? [] : [counted(tools.length, t('1 tool'), t('{0} tools', tools.length))];
  const left =
    dropped.length === 0 ? [] : [counted(dropped.length, t('1 left out'), t('{0} left out', dropped.length))];
  const about = [stateWord(row), ...offered, ...left];
  return {
    label: `$(${iconOf(row)}) ${row.name}`,
    description: about.join(' · '),
    detail: row.problem ?? `${row.line} (${row.label})`,
  };
}

function iconOf({ trust, state, hidden }: ServerRow): string {
  if (hidden || trust === 'denied') return 'circle-slash';
  if (trust === 'pending') return 'question';
  return state === 'failed' ? 'error' : state === 'running' ? 'pass' : 'circle-outline';
}

function stateWord({ trust, state, hidden }: ServerRow): string {
  if (hidden) return t('another of this name goes before it');
  if (trust !== 'trusted') return trustWord(trust);
  switch (state) {
    case 'idle':
      return t('starts when it is called');
    case 'starting':
      return t('starting');
    case 'running':
      return t('running');
    case 'failed':
      return t('failed');
  }
}

function trustWord(trust: TrustState): string {
  switch (trust) {
    case 'trusted':
      return t('trusted');
    case 'denied':
      return t('not trusted');
    case 'pending':
      return t('not decided');
  }
}

async function aboutServer(
  ctx: Ctx,
  workspace: string,
  row: ServerRow,
  deed: string | undefined,
): Promise<unknown> {
  const start = (): Promise<unknown> => restart(ctx, workspace, row);
  const deeds: Readonly<Record<string, Choice>> = {
    ...(row.trust === 'trusted' && !row.hidden
      ? { restart: { label: row.state === 'running' ? t('Restart') : t('Start'), act: start } }
      : {}),
    ...(row.tools === null ? {} : { tools: { label: t('Show Tools'), act: () => showTools(row) } }),
    ...trustDeeds(ctx, workspace, { ...row, state: row.trust }),
    open: { label: t('Open Its Definition'), detail: row.label, act: () => openFile(ctx, row.path) },
  };
  const wanted = deed === undefined ? undefined : deeds[deed];
  return wanted === undefined ? choose(Object.values(deeds), row.name) : wanted.act?.();
}

/** Ends it where it runs, starts it and says how that went. */
async function restart(ctx: Ctx, workspace: string, { name, hash }: ServerRow): Promise<unknown> {
  const options = { location: vscode.ProgressLocation.Notification, title: t('Starting {0}…', name) };
  const list = await vscode.window.withProgress(options, async () => {
    await ctx.connection.call('mcp/restart', { workspace, hash });
    return ctx.connection.call('mcp/list', { workspace, connect: true });
  });
  const row = list.servers.find((each) => each.hash === hash);
  if (row === undefined) return undefined;
  const count = row.tools?.length ?? 0;
  if (row.problem === null)
    void vscode.window.showInformationMessage(
      counted(
        count,
        t('{0} runs and offers 1 tool.', name),
        t('{0} runs and offers {1} tools.', name, count),
      ),
    );
  else void vscode.window.showErrorMessage(row.problem);
  return row;
}

function showTools({ name, tools, dropped }: ServerRow): Promise<unknown> {
  const offered = (tools ?? []).map((tool): Choice => ({
    label: tool.name,
    ...(tool.reading ? { description: t('only reads') } : {}),
    detail: tool.description,
  }));
  const left = dropped.map(({ name: label, reason }): Choice => ({ label, detail: reason }));
  return choose(left.length === 0 ? offered : [...offered, heading(t('left out')), ...left], name);
}

// ---------------------------------------------------------------- profiles and files

/** What agents of a folder are told: profiles to start one with, and the files, with what is to be decided. */
async function profiles(ctx: Ctx, given: unknown): Promise<unknown> {
  const workspace = await folderOf(ctx, given);
  if (workspace === undefined) return undefined;
  const list = await ctx.connection.call('profile/list', { workspace });
  const starts = list.profiles
    .filter((row) => !row.hidden && row.state !== 'denied')
    .map((row): Choice => ({ ...profileWords(row, null), act: () => startWith(workspace, row) }));
  const files = list.files.map((file): Choice => ({
    label: file.label,
    description: `${kindWord(file)} · ${trustWord(file.state)}`,
    act: () => aboutFile(ctx, workspace, file, textField(given, 'deed')),
  }));
  const wanted = files.find(({ label }) => label === textField(given, 'file'));
  if (wanted !== undefined) return wanted.act?.();
  return choose(
    [
      heading(t('start an agent with')),
      ...starts,
      ...(files.length === 0 ? [] : [heading(t('files that agents are told'))]),
      ...files,
      ...problemChoices(list.problems),
    ],
    t('Profiles and Instructions'),
  );
}

const startWith = (workspace: string, { name }: ProfileRow): unknown =>
  vscode.commands.executeCommand('roost.newAgent', { workspace, profile: name });

function kindWord({ kind }: KnownFileRow): string {
  switch (kind) {
    case 'instructions':
      return t('instructions');
    case 'skill':
      return t('skill');
    case 'profile':
      return t('profile');
    case 'server':
      return t('server of tools');
  }
}

function aboutFile(ctx: Ctx, workspace: string, file: KnownFileRow, deed: string | undefined): unknown {
  const deeds: Readonly<Record<string, Choice>> = {
    open: { label: t('Open'), act: () => openFile(ctx, file.path) },
    ...trustDeeds(ctx, workspace, file),
  };
  const wanted = deed === undefined ? undefined : deeds[deed];
  return wanted === undefined ? choose(Object.values(deeds), file.label) : wanted.act?.();
}

/** What a person may decide about a file or a server that has not been decided so already. */
function trustDeeds(
  ctx: Ctx,
  workspace: string,
  { label, hash, state }: { readonly label: string; readonly hash: string; readonly state: TrustState },
): Readonly<Record<string, Choice>> {
  const decide = async (trusted: boolean): Promise<unknown> => {
    const done = await ctx.connection.call('trust/set', {
      workspace,
      hashes: [hash],
      trusted,
      key: ctx.key(),
    });
    const text = trusted ? t('{0} is trusted.', label) : t('{0} is not trusted.', label);
    vscode.window.setStatusBarMessage(`Roost: ${text}`, limits.sayMs);
    return done;
  };
  return {
    ...(state === 'trusted' ? {} : { trust: { label: t('Trust'), act: () => decide(true) } }),
    ...(state === 'denied' ? {} : { deny: { label: t('Do Not Trust'), act: () => decide(false) } }),
  };
}

function problemChoices(problems: readonly { readonly label: string; readonly message: string }[]): Choice[] {
  const rows = problems.map(({ label, message }): Choice => ({
    label: `$(warning) ${label}`,
    detail: message,
  }));
  return rows.length === 0 ? [] : [heading(t('cannot be used')), ...rows];
}

const openFile = (ctx: Ctx, path: string): Thenable<unknown> =>
  vscode.window.showTextDocument(vscode.Uri.file(ctx.paths.toShown(path)));
