// The palette's commands about agents: start, ask a swarm, send, stop, open; and about Roost itself. Each takes an
// argument object instead of asking, so that programs and other views drive them.

import * as vscode from 'vscode';
import type { AgentRow, Isolation } from '../sidecar/protocol/agent.ts';
import { RoostError } from '../sidecar/protocol/errors.ts';
import type { AgentId } from '../sidecar/protocol/ids.ts';
import type { Delivery, Params, Result } from '../sidecar/protocol/methods.ts';
import type { Ctx } from './ctx.ts';
import { limits } from './limits.ts';
import { chooseModel, offerKey, setKey } from './models.ts';
import type { Panels } from './panels.ts';
import { pickAgent, pickAgentRow, pickWorkspace, sure } from './pick.ts';
import { askTaskAndProfile } from './profilePick.ts';
import { settings } from './settings.ts';
import { counted, scriptedLabel } from './words.ts';
import { agentOf, field, numberField, textField } from './targets.ts';

const { t } = vscode.l10n;

export function registerCommands(ctx: Ctx, panels: Panels): void {
  ctx.command('roost.newAgent', (given: unknown) => newAgent(ctx, panels, given));
  ctx.command('roost.askSwarm', (given: unknown) => askSwarm(ctx, panels, given));
  ctx.command('roost.send', (given: unknown) => send(ctx, given));
  ctx.command('roost.stop', (given: unknown) => stop(ctx, given, false));
  ctx.command('roost.stopBranch', (given: unknown) => stop(ctx, given, true));
  ctx.command('roost.stopAll', (given: unknown) => stopAll(ctx, given));
  ctx.command('roost.openAgent', async (given: unknown) => {
    const agent = agentOf(given) ?? (await pickAgent(ctx, t('Open which agent?')))?.id;
    if (agent !== undefined) panels.showAgent(agent, { focus: true });
  });
  ctx.command('roost.setKey', (given: unknown) => setKey(ctx, textField(given, 'provider')));
  ctx.command('roost.useEditorModels', () => ctx.editorModels.consent());
  ctx.command('roost.restart', () => ctx.connection.restart());
  ctx.command('roost.showLog', () => ctx.output.show());
  ctx.command('roost.doctor', () => doctor(ctx));
}

interface Task {
  readonly text: string;
  readonly profile: string;
  readonly agents?: number;
}

async function newAgent(ctx: Ctx, panels: Panels, given: unknown): Promise<unknown> {
  return start(ctx, panels, given, async (note, folder) => {
    const text = textField(given, 'text');
    const profile = textField(given, 'profile') ?? 'implementer';
    if (text !== undefined) return { text, profile };
    const title = t('New Agent');
    const workspace = ctx.paths.toReal(folder);
    return askTaskAndProfile(ctx, { title, prompt: t('What should it do?'), note, workspace, profile });
  });
}

async function askSwarm(ctx: Ctx, panels: Panels, given: unknown): Promise<unknown> {
  return start(ctx, panels, given, async (note) => {
    const prompt = t('What should the swarm do? A planner splits it among agents.');
    const text = textField(given, 'text') ?? (await askTask(t('Ask a Swarm'), prompt, note));
    if (text === undefined) return undefined;
    const agents =
      numberField(given, 'agents') ?? (textField(given, 'text') === undefined ? await askCount() : 0);
    if (agents === undefined) return undefined;
    const profile = textField(given, 'profile') ?? 'planner';
    if (agents === 0) return { text, profile };
    return { text: `${text}\n\nUse ${agents} agents.`, profile, agents };
  });
}

/** Checks what is needed, asks for the task, starts a root and shows it. Returns what the sidecar answered. */
async function start(
  ctx: Ctx,
  panels: Panels,
  given: unknown,
  task: (note: string, workspace: string) => Promise<Task | undefined>,
): Promise<unknown> {
  const workspace = textField(given, 'workspace') ?? (await pickWorkspace());
  if (workspace === undefined) return undefined;
  const named = textField(given, 'model');
  const chosen =
    named === undefined ? await chooseModel(ctx) : { model: named, scripted: named.startsWith('scripted/') };
  if (chosen === null) return undefined;
  const wanted = await task(chosen.scripted ? scriptedLabel() : chosen.model, workspace);
  if (wanted === undefined) return undefined;
  const name = textField(given, 'name');
  const params: Params<'agent/start'> = {
    text: wanted.text,
    profile: wanted.profile,
    workspace: ctx.paths.toReal(workspace),
    model: chosen.model,
    mode: settings.mode(),
    key: textField(given, 'key') ?? ctx.key(),
    ...(name === undefined ? {} : { name }),
    ...isolationOf(given),
    // The planner itself counts too.
    ...(wanted.agents === undefined ? {} : { budget: { agents: wanted.agents + 1 } }),
  };
  const started = await startRoot(ctx, params, chosen.model);
  if (started === undefined) return undefined;
  if (field(given, 'open') !== false) panels.showAgent(started.agent, { focus: true });
  return started;
}

/** Where its edits land, when a program says so; else as its profile has it. */
function isolationOf(given: unknown): { readonly isolation?: Isolation } {
  const isolation = field(given, 'isolation');
  return isolation === 'shared' || isolation === 'worktree' || isolation === 'readonly' ? { isolation } : {};
}

/** Starts it; a key that is missing is asked for, and the text that was typed is not lost over it. */
async function startRoot(
  ctx: Ctx,
  params: Params<'agent/start'>,
  model: string,
): Promise<Result<'agent/start'> | undefined> {
  try {
    return await ctx.connection.call('agent/start', params);
  } catch (error) {
    if (!(error instanceof RoostError) || error.code !== 'model/noKey') throw error;
    if (!(await offerKey(ctx, model, error.message))) return undefined;
    return ctx.connection.call('agent/start', params);
  }
}

function askTask(title: string, prompt: string, note: string): Thenable<string | undefined> {
  return vscode.window.showInputBox({
    title: `${title} (${note})`,
    prompt,
    ignoreFocusOut: true,
    validateInput: (text) => (text.trim() === '' ? t('Say what to do.') : undefined),
  });
}

/** 0: the planner decides. Undefined: the person left. */
async function askCount(): Promise<number | undefined> {
  const counts = [4, 12, 50].map((count) => ({ label: t('{0} agents', count), count }));
  const items = [
    { label: t('As many as it takes'), description: t('the planner decides'), count: 0 },
    ...counts,
    { label: t('Another number…'), count: -1 },
  ];
  const picked = await vscode.window.showQuickPick(items, {
    title: t('Ask a Swarm'),
    placeHolder: t('How many agents?'),
  });
  if (picked === undefined || 0 <= picked.count) return picked?.count;
  const text = await vscode.window.showInputBox({
    prompt: t('How many agents?'),
    validateInput: (value) => (/^[1-9]\d{0,5}$/.test(value) ? undefined : t('A number from 1 to 999999.')),
  });
  return text === undefined ? undefined : Number(text);
}

async function send(ctx: Ctx, given: unknown): Promise<void> {
  const row = await pickAgentRow(ctx, given, t('Send to which agent?'));
  if (row === undefined) return;
  const text =
    textField(given, 'text') ??
    (await vscode.window.showInputBox({ title: row.name, prompt: t('Message'), ignoreFocusOut: true }));
  if (text === undefined || text.trim() === '') return;
  const delivery =
    readDelivery(field(given, 'delivery')) ?? (row.phase === 'idle' ? 'queue' : await askDelivery());
  if (delivery === undefined) return;
  await ctx.connection.call('agent/send', { agent: row.id, text, delivery, key: ctx.key() });
}

function readDelivery(value: unknown): Delivery | undefined {
  return value === 'queue' || value === 'steer' || value === 'reject' ? value : undefined;
}

async function askDelivery(): Promise<Delivery | undefined> {
  const items: readonly (vscode.QuickPickItem & { readonly delivery: Delivery })[] = [
    { label: t('Steer'), description: t('it reads this at its next step'), delivery: 'steer' },
    { label: t('Queue'), description: t('a turn of its own, after this one'), delivery: 'queue' },
  ];
  const picked = await vscode.window.showQuickPick(items, {
    placeHolder: t('It is busy. When should it read this?'),
  });
  return picked?.delivery;
}

/** This agent, or it and all below it; a branch says how many before it stops them (case 202). */
async function stop(ctx: Ctx, given: unknown, branch: boolean): Promise<unknown> {
  const title = branch ? t('Stop which agent and all below it?') : t('Stop which agent?');
  const row = await pickAgentRow(ctx, given, title);
  if (row === undefined) return undefined;
  const active = row.branch.running + row.branch.waiting;
  if (branch && 1 < active && field(given, 'sure') !== true) {
    if (!(await sure(t('Stop {0} and its branch: {1} agents?', row.name, active), t('Stop {0}', active))))
      return undefined;
  }
  const result = await ctx.connection.call('agent/interrupt', { agent: row.id, branch, key: ctx.key() });
  sayStopped(result.stopped);
  return result;
}

async function stopAll(ctx: Ctx, given: unknown): Promise<unknown> {
  const active = ctx.fleet.running + ctx.fleet.waiting;
  if (active === 0) {
    void vscode.window.showInformationMessage(t('No agent is at work.'));
    return { stopped: 0 };
  }
  const question = t('Stop all {0} agents, in every window? Queued messages are kept.', active);
  if (field(given, 'sure') !== true && !(await sure(question, t('Stop All {0}', active)))) return undefined;
  let stopped = 0;
  let after: AgentId | null = null;
  for (;;) {
    const page: { rows: readonly AgentRow[]; more: boolean } = await ctx.connection.call('agent/list', {
      parent: null,
      after,
      limit: limits.rootsPage,
    });
    for (const root of page.rows) {
      after = root.id;
      if (root.branch.running + root.branch.waiting === 0) continue;
      stopped += (
        await ctx.connection.call('agent/interrupt', { agent: root.id, branch: true, key: ctx.key() })
      ).stopped;
    }
    if (!page.more || page.rows.length === 0) break;
  }
  sayStopped(stopped);
  return { stopped };
}

function sayStopped(stopped: number): void {
  const text = counted(stopped, t('Roost: stopped 1 agent'), t('Roost: stopped {0} agents', stopped));
  vscode.window.setStatusBarMessage(text, limits.sayMs);
}

/** The invariants of the store, checked without changing anything; the findings go to the log. */
async function doctor(ctx: Ctx): Promise<unknown> {
  const [info, report] = await Promise.all([
    ctx.connection.call('store/info', {}),
    ctx.connection.call('store/doctor', {}),
  ]);
  ctx.log.info(`store ${JSON.stringify(info)}`);
  for (const { invariant, message, rows } of report.findings) {
    ctx.log.warn(`${invariant}: ${message} (rows ${rows.slice(0, 20).join(', ')})`);
  }
  const show = t('Show Log');
  const text =
    report.findings.length === 0
      ? t('Roost: {0} checks passed. Agents in {1}: {2}.', report.checked.length, info.directory, info.agents)
      : t('Roost: findings: {0}. The log has them.', report.findings.length);
  const asked =
    report.findings.length === 0
      ? vscode.window.showInformationMessage(text, show)
      : vscode.window.showWarningMessage(text, show);
  void asked.then((choice) => choice === show && ctx.output.show());
  return report;
}
