// The palette's commands about groups: the same task for each of a list, the same task by several, and which one is kept.
// Like all commands they take an argument object instead of asking.

import * as vscode from 'vscode';
import type { GroupMember, Runner } from '../sidecar/protocol/group.ts';
import type { Result } from '../sidecar/protocol/methods.ts';
import { agentId } from '../sidecar/protocol/ids.ts';
import type { Ctx } from './ctx.ts';
import { limits } from './limits.ts';
import { chooseModel } from './models.ts';
import type { Panels } from './panels.ts';
import { pickAgentRow, pickWorkspace, sure } from './pick.ts';
import { settings } from './settings.ts';
import { field, numberField, textField } from './targets.ts';
import { counted, scriptedLabel } from './words.ts';

const { t } = vscode.l10n;

export function registerGroupCommands(ctx: Ctx, panels: Panels): void {
  ctx.command('roost.fanOut', (given: unknown) => fanOut(ctx, panels, given));
  ctx.command('roost.race', (given: unknown) => race(ctx, panels, given));
  ctx.command('roost.pickOfGroup', (given: unknown) => pickOfGroup(ctx, given));
}

interface Ground {
  /** As the sidecar names it. */
  readonly workspace: string;
  readonly model: string;
  readonly note: string;
}

/** Where and with which model; undefined when the person left, or was told what is missing. */
async function groundOf(ctx: Ctx, given: unknown): Promise<Ground | undefined> {
  const shown = textField(given, 'workspace') ?? (await pickWorkspace());
  if (shown === undefined) return undefined;
  const workspace = ctx.paths.toReal(shown);
  const named = textField(given, 'model');
  if (named !== undefined) return { workspace, model: named, note: named };
  const chosen = await chooseModel(ctx);
  if (chosen === null) return undefined;
  return { workspace, model: chosen.model, note: chosen.scripted ? scriptedLabel() : chosen.model };
}

function ask(title: string, prompt: string, problem: (text: string) => string | undefined) {
  return vscode.window.showInputBox({ title, prompt, ignoreFocusOut: true, validateInput: problem });
}

const notEmpty = (text: string): string | undefined =>
  text.trim() === '' ? t('Say what to do.') : undefined;

async function fanOut(ctx: Ctx, panels: Panels, given: unknown): Promise<unknown> {
  const ground = await groundOf(ctx, given);
  if (ground === undefined) return undefined;
  const { workspace, model, note } = ground;
  const prompt = t('What should be done with each? Write {item} where it goes.');
  const template =
    textField(given, 'template') ??
    (await ask(`${t('Fan Out')} (${note})`, prompt, (text) =>
      text.includes('{item}') ? undefined : t('Say with {item} where each item goes.'),
    ));
  if (template === undefined) return undefined;
  const items = texts(field(given, 'items')) ?? (await askItems());
  if (items === undefined) return undefined;
  const [first] = items;
  if (first === undefined)
    return void vscode.window.showInformationMessage(t('There is nothing in that list.'));
  const question = counted(
    items.length,
    t('Start 1 agent, for {0}?', first),
    t('Start {0} agents, one for each? The first is for {1}.', items.length, first),
  );
  if (field(given, 'sure') !== true && !(await sure(question, t('Start')))) return undefined;
  const params = { template, items, workspace, model, mode: settings.mode(), key: ctx.key() };
  return show(panels, given, await ctx.connection.call('fan/start', params));
}

function show(panels: Panels, given: unknown, started: Result<'fan/start'>): Result<'fan/start'> {
  if (field(given, 'open') !== false) panels.showAgent(started.agent, { focus: true });
  return started;
}

function texts(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) && value.every((each) => typeof each === 'string') ? value : undefined;
}

async function askItems(): Promise<readonly string[] | undefined> {
  const sources = [
    { label: t('Files…'), description: t('that match a pattern'), read: filesOfPattern },
    { label: t('Files with Problems'), description: t('of the Problems panel'), read: filesWithProblems },
    { label: t('Lines of the Open File'), read: linesOfEditor },
  ];
  return (
    await vscode.window.showQuickPick(sources, { title: t('One agent for each of which list?') })
  )?.read();
}

const shownPath = (uri: vscode.Uri): string => vscode.workspace.asRelativePath(uri, false);

async function filesOfPattern(): Promise<readonly string[] | undefined> {
  const pattern = await ask(t('Files'), t('A pattern, such as src/**/*.ts'), notEmpty);
  if (pattern === undefined) return undefined;
  const found = await vscode.workspace.findFiles(pattern, undefined, limits.fanFiles);
  return found.map(shownPath).sort();
}

function filesWithProblems(): readonly string[] {
  return vscode.languages
    .getDiagnostics()
    .filter(([uri, problems]) => uri.scheme === 'file' && problems.length > 0)
    .map(([uri]) => shownPath(uri))
    .slice(0, limits.fanFiles);
}

function linesOfEditor(): readonly string[] {
  const text = vscode.window.activeTextEditor?.document.getText() ?? '';
  return text
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '')
    .slice(0, limits.fanFiles);
}

async function race(ctx: Ctx, panels: Panels, given: unknown): Promise<unknown> {
  const ground = await groundOf(ctx, given);
  if (ground === undefined) return undefined;
  const { workspace, model } = ground;
  const text =
    textField(given, 'text') ?? (await ask(t('Race'), t('What should each of them do?'), notEmpty));
  if (text === undefined) return undefined;
  const runners = runnersOf(field(given, 'runners')) ?? (await pickRunners(ctx, workspace));
  if (runners === undefined) return undefined;
  if (runners.length < 2) return void vscode.window.showInformationMessage(t('A race has two or more.'));
  const params = { text, runners, workspace, model, mode: settings.mode(), key: ctx.key() };
  return show(panels, given, await ctx.connection.call('race/start', params));
}

function runnersOf(value: unknown): readonly Runner[] | undefined {
  if (!Array.isArray(value)) return undefined;
  return value.map((each: unknown) => {
    const [profile, model] = [textField(each, 'profile'), textField(each, 'model')];
    return { ...(profile === undefined ? {} : { profile }), ...(model === undefined ? {} : { model }) };
  });
}

/** Models, and profiles with the model of everybody. */
async function pickRunners(ctx: Ctx, workspace: string): Promise<readonly Runner[] | undefined> {
  const [{ models }, { profiles }] = await Promise.all([
    ctx.connection.call('model/list', {}),
    ctx.connection.call('profile/list', { workspace }),
  ]);
  interface Item extends vscode.QuickPickItem {
    readonly runner: Runner;
  }
  const usable = profiles.filter((row) => !row.hidden && row.state !== 'denied');
  const items: readonly Item[] = [
    ...models.map(({ id }) => ({ label: id, description: t('model'), runner: { model: id } })),
    ...usable.map(({ name, description }) => ({
      ...{ label: name, description: t('profile'), detail: description, runner: { profile: name } },
    })),
  ];
  const title = t('Who races? Each works in a worktree of its own.');
  const picked = await vscode.window.showQuickPick(items, { title, canPickMany: true });
  return picked?.map(({ runner }) => runner);
}

/** Those of a group side by side; all changes of the chosen one are accepted, and the others go to the trash. */
async function pickOfGroup(ctx: Ctx, given: unknown): Promise<unknown> {
  const group = await pickAgentRow(ctx, given, t('Pick the best of which group?'));
  if (group === undefined) return undefined;
  const named = numberField(given, 'winner');
  const winner = named === undefined ? await pickMember(ctx, group.id) : agentId(named);
  if (winner === undefined) return undefined;
  const question = t('Accept all that it has changed, and take the others to the trash?');
  if (field(given, 'sure') !== true && !(await sure(question, t('Accept')))) return undefined;
  const done = await ctx.connection.call('group/pick', { agent: group.id, winner, key: ctx.key() });
  const [conflict] = done.conflicts;
  if (conflict !== undefined)
    void vscode.window.showWarningMessage(
      t('{0}: {1} The others are kept. Decide, and pick again.', conflict.label, conflict.message),
    );
  else
    void vscode.window.showInformationMessage(
      counted(
        done.discarded.length,
        t('Its changes are accepted ({0}); the other one is in the trash.', done.accepted),
        t(
          'Its changes are accepted ({0}); {1} others are in the trash.',
          done.accepted,
          done.discarded.length,
        ),
      ),
    );
  return done;
}

async function pickMember(ctx: Ctx, agent: GroupMember['agent']['id']) {
  const { rows } = await ctx.connection.call('group/compare', { agent, after: null, limit: limits.pickRows });
  if (rows.length === 0) return void vscode.window.showInformationMessage(t('It has started nobody.'));
  const items = rows.map((row) => ({ ...memberWords(row), id: row.agent.id }));
  return (await vscode.window.showQuickPick(items, { title: t('Keep which one?'), matchOnDetail: true }))?.id;
}

function memberWords({ agent, outcome, text, added, removed }: GroupMember): vscode.QuickPickItem {
  const files = counted(agent.changes, t('1 changed file'), t('{0} changed files', agent.changes));
  const about = [outcome ?? agent.why ?? agent.phase, files, `+${added} −${removed}`, agent.model];
  return { label: agent.name, description: about.join(' · '), detail: text.split('\n')[0] ?? '' };
}
