// The palette's commands about the life of an agent that is there: fork it, do its turn again, name it, give it another
// model or budget, close it. Like all commands they take an argument object instead of asking.

import * as vscode from 'vscode';
import type { AgentRow, Budget } from '../sidecar/protocol/agent.ts';
import type { Outcome } from '../sidecar/protocol/entry.ts';
import { turnId } from '../sidecar/protocol/ids.ts';
import type { TurnId } from '../sidecar/protocol/ids.ts';
import type { Result } from '../sidecar/protocol/methods.ts';
import type { Ctx } from './ctx.ts';
import { limits } from './limits.ts';
import type { Panels } from './panels.ts';
import { pickAgentRow, sure } from './pick.ts';
import { formatMoney } from './status.ts';
import { field, numberField, textField } from './targets.ts';
import { counted } from './words.ts';

const { t } = vscode.l10n;

export function registerLifeCommands(ctx: Ctx, panels: Panels): void {
  ctx.command('roost.fork', (given: unknown) => fork(ctx, panels, given));
  ctx.command('roost.retry', (given: unknown) => retry(ctx, given));
  ctx.command('roost.rename', (given: unknown) => rename(ctx, given));
  ctx.command('roost.setModel', (given: unknown) => setModel(ctx, given));
  ctx.command('roost.setBudget', (given: unknown) => setBudget(ctx, given));
  ctx.command('roost.close', (given: unknown) => close(ctx, given));
}

/** Begins another conversation with what was said until the end of a turn; the agent itself goes on as it was. */
async function fork(ctx: Ctx, panels: Panels, given: unknown): Promise<unknown> {
  const row = await pickAgentRow(ctx, given, t('Fork which agent?'));
  if (row === undefined) return undefined;
  const named = numberField(given, 'turn');
  const turn =
    named !== undefined
      ? turnId(named)
      : textField(given, 'text') === undefined
        ? await pickTurn(ctx, row, t('Fork {0} after which turn?', row.name))
        : null;
  if (turn === undefined) return undefined;
  const text =
    textField(given, 'text') ?? (await askText(t('Fork of {0}', row.name), t('What should it do?')));
  if (text === undefined) return undefined;
  const forked = await ctx.connection.call('agent/fork', { agent: row.id, turn, text, key: ctx.key() });
  if (field(given, 'open') !== false) panels.showAgent(forked.agent, { focus: true });
  return forked;
}

type TurnItem = vscode.QuickPickItem & { readonly turn: TurnId };

/** One of the newest ended turns, null when there is no choice; undefined when the person chose none. */
export async function pickTurn(ctx: Ctx, row: AgentRow, title: string): Promise<TurnId | null | undefined> {
  const { rows } = await ctx.connection.call('turn/list', {
    agent: row.id,
    before: null,
    limit: limits.pickRows,
  });
  const items = rows.flatMap((each): TurnItem[] => {
    if (each.endedAtMs === null || each.outcome === null) return [];
    const left = each.left ? [t('left by a rewind')] : [];
    const about = [outcomeWord(each.outcome), new Date(each.endedAtMs).toLocaleString(), ...left];
    return [{ label: each.asked, description: about.join(' · '), detail: each.said, turn: each.turn }];
  });
  if (items.length <= 1) return null;
  return (await vscode.window.showQuickPick(items, { title }))?.turn;
}

function outcomeWord(outcome: Outcome): string {
  switch (outcome) {
    case 'done':
      return t('done');
    case 'failed':
      return t('failed');
    case 'interrupted':
      return t('stopped');
    case 'superseded':
      return t('taken back');
  }
}

async function retry(ctx: Ctx, given: unknown): Promise<unknown> {
  const row = await pickAgentRow(ctx, given, t('Try the last turn of which agent again?'));
  return row && ctx.connection.call('turn/retry', { agent: row.id, key: ctx.key() });
}

async function rename(ctx: Ctx, given: unknown): Promise<unknown> {
  const row = await pickAgentRow(ctx, given, t('Rename which agent?'));
  if (row === undefined) return undefined;
  const name = textField(given, 'name') ?? (await askText(t('Rename {0}', row.name), t('Name'), row.name));
  if (name === undefined || name === row.name) return undefined;
  return ctx.connection.call('agent/rename', { agent: row.id, name, key: ctx.key() });
}

/** From its next request on. What is said so far stays; what only the old provider understands is left out. */
async function setModel(ctx: Ctx, given: unknown): Promise<unknown> {
  const row = await pickAgentRow(ctx, given, t('Set the model of which agent?'));
  if (row === undefined) return undefined;
  const model = textField(given, 'model') ?? (await pickModel(ctx, row));
  if (model === undefined || model === row.model) return undefined;
  const result = await ctx.connection.call('agent/configure', { agent: row.id, model, key: ctx.key() });
  vscode.window.setStatusBarMessage(t('Roost: {0} goes on with {1}', row.name, model), limits.sayMs);
  return result;
}

async function pickModel(ctx: Ctx, row: AgentRow): Promise<string | undefined> {
  const { models } = await ctx.connection.call('model/list', {});
  const other: vscode.QuickPickItem = { label: t('Another model…') };
  const items: vscode.QuickPickItem[] = models.map(({ id }) =>
    id === row.model ? { label: id, description: t('now') } : { label: id },
  );
  const picked = await vscode.window.showQuickPick([...items, other], {
    title: t('Model of {0}', row.name),
    matchOnDescription: true,
  });
  if (picked !== other) return picked?.label;
  return askText(t('Model of {0}', row.name), t('provider/model'), row.model);
}

const budgets = ['microUsd', 'tokens', 'agents'] as const;
type BudgetName = (typeof budgets)[number];

/** One limit of a branch: what was spent is shown, nothing typed takes the limit away. */
async function setBudget(ctx: Ctx, given: unknown): Promise<unknown> {
  const row = await pickAgentRow(ctx, given, t('Set the budget of which agent?'));
  if (row === undefined) return undefined;
  const wanted = givenBudget(given) ?? (await askBudget(ctx, row));
  if (wanted === undefined) return undefined;
  return ctx.connection.call('budget/set', { agent: row.id, budget: wanted, key: ctx.key() });
}

function givenBudget(given: unknown): Partial<Budget> | undefined {
  const found = budgets.flatMap((name): [BudgetName, number | null][] => {
    const value = field(given, name);
    return value === null || typeof value === 'number' ? [[name, value]] : [];
  });
  return found.length === 0 ? undefined : Object.fromEntries(found);
}

async function askBudget(ctx: Ctx, row: AgentRow): Promise<Partial<Budget> | undefined> {
  const state = await ctx.connection.call('budget/get', { agent: row.id });
  const items = budgets.map((name) => ({
    label: budgetWord(name),
    description: spentWord(state, name),
    name,
  }));
  const picked = await vscode.window.showQuickPick(items, {
    title: t('Budget of {0} and its branch', row.name),
  });
  if (picked === undefined) return undefined;
  const limit = state.limits[picked.name];
  const isMoney = picked.name === 'microUsd';
  const text = await vscode.window.showInputBox({
    title: `${row.name}: ${picked.label}`,
    prompt: t('{0}. Empty takes the limit away.', spentWord(state, picked.name)),
    value: limit === null ? '' : String(isMoney ? limit / 1_000_000 : limit),
    validateInput: (value) =>
      readAmount(value, isMoney) === undefined ? t('A number that is not negative.') : undefined,
  });
  if (text === undefined) return undefined;
  const amount = readAmount(text, isMoney);
  return amount === undefined ? undefined : { [picked.name]: amount };
}

/** Null for nothing, undefined for what is no amount. Money is typed in dollars and counted in millionths. */
function readAmount(text: string, isMoney: boolean): number | null | undefined {
  const typed = text.trim().replace(/^\$/, '');
  if (typed === '') return null;
  const amount = Math.round(Number(typed) * (isMoney ? 1_000_000 : 1));
  return Number.isSafeInteger(amount) && 0 <= amount ? amount : undefined;
}

function budgetWord(name: BudgetName): string {
  switch (name) {
    case 'microUsd':
      return t('Money');
    case 'tokens':
      return t('Tokens');
    case 'agents':
      return t('Agents');
  }
}

function spentWord({ limits: most, spent }: Result<'budget/get'>, name: BudgetName): string {
  const show = (value: number): string => (name === 'microUsd' ? formatMoney(value) : String(value));
  const limit = most[name];
  return limit === null
    ? t('{0} spent, no limit', show(spent[name]))
    : t('{0} of {1} spent', show(spent[name]), show(limit));
}

/** Ends an agent and its branch for good; its changes stay for review and its transcript stays to be read. */
async function close(ctx: Ctx, given: unknown): Promise<unknown> {
  const row = await pickAgentRow(ctx, given, t('Close which agent and all below it?'));
  if (row === undefined) return undefined;
  const active = row.branch.running + row.branch.waiting;
  const question = counted(
    active,
    t('Close {0}? It is at work and will be stopped.', row.name),
    t('Close {0} and its branch? {1} agents are at work and will be stopped.', row.name, active),
  );
  if (0 < active && field(given, 'sure') !== true && !(await sure(question, t('Close')))) return undefined;
  return ctx.connection.call('agent/close', { agent: row.id, key: ctx.key() });
}

async function askText(title: string, prompt: string, value = ''): Promise<string | undefined> {
  const text = await vscode.window.showInputBox({ title, prompt, value, ignoreFocusOut: true });
  return text === undefined || text.trim() === '' ? undefined : text.trim();
}
