// The palette's command that shows what was spent: of an agent and its branch, or of everything, day by day and model by
// model.

import * as vscode from 'vscode';
import type { AgentRow } from '../sidecar/protocol/agent.ts';
import type { CostReport, DaySpent } from '../sidecar/protocol/cost.ts';
import type { Ctx } from './ctx.ts';
import { limits } from './limits.ts';
import { escaped, tableOf } from './pages.ts';
import type { Pages } from './pages.ts';
import { pickAgent } from './pick.ts';
import { formatMoney } from './status.ts';
import { agentOf, field } from './targets.ts';

const { t } = vscode.l10n;

export function registerCostCommands(ctx: Ctx, pages: Pages): void {
  ctx.command('roost.showCost', async (given: unknown) => {
    const named = agentOf(given);
    const row =
      named !== undefined
        ? await ctx.connection.call('agent/get', { agent: named })
        : await choose(ctx, given);
    if (row === undefined) return;
    const name = row?.name ?? t('All Agents');
    await pages.show(t('Cost of {0}', name), String(row?.id ?? ''), () => page(ctx, row));
  });
}

/** Null: of all. */
async function choose(ctx: Ctx, given: unknown): Promise<AgentRow | null | undefined> {
  if (field(given, 'all') === true) return null;
  const all = t('All Agents');
  const one = t('An Agent and Its Branch…');
  // A webview that had the focus takes it back when the palette goes, and would close this.
  const how = { title: t('The cost of what?'), ignoreFocusOut: true };
  const chosen = await vscode.window.showQuickPick([all, one], how);
  if (chosen === undefined) return undefined;
  return chosen === all ? null : pickAgent(ctx, t('The cost of which agent and its branch?'));
}

async function page({ connection }: Ctx, row: AgentRow | null): Promise<string> {
  const offsetMinutes = -new Date().getTimezoneOffset();
  const ask = (agent: AgentRow['id'] | null): Promise<CostReport> =>
    connection.call('cost/get', { agent, days: limits.costDays, offsetMinutes });
  if (row === null) return text(t('All Agents'), await ask(null), null);
  const report = await ask(row.id);
  // Days are kept of roots.
  if (row.id === row.root) return text(row.name, report, null);
  const root = await connection.call('agent/get', { agent: row.root });
  return text(row.name, { ...report, days: (await ask(row.root)).days }, root.name);
}

function text(name: string, { agent, days }: CostReport, daysOf: string | null): string {
  const lines = [`# ${t('Cost of {0}', escaped(name))}`, ''];
  if (agent !== null) {
    const { own, branch } = agent;
    lines.push(
      t('Of the agent itself: **{0}**, {1} tokens', formatMoney(own.microUsd), shown(own.tokens)),
      '',
    );
    const sums = [shown(branch.agents), formatMoney(branch.microUsd), shown(branch.tokens)];
    if (1 < branch.agents)
      lines.push(t('With all {0} agents of its branch: **{1}**, {2} tokens', ...sums), '');
  }
  const title =
    daysOf === null
      ? t('The last {0} days', limits.costDays)
      : t('The last {0} days of {1}, whose branch it is in', limits.costDays, escaped(daysOf));
  return [...lines, `## ${title}`, '', ...table(days ?? []), ''].join('\n');
}

function table(days: readonly DaySpent[]): string[] {
  if (days.length === 0) return [t('Nothing was spent.')];
  const counts = [t('Requests'), t('Input'), t('of it cached'), t('Output'), t('Lost'), t('Cost')];
  const heads = [t('Day'), t('Model'), ...counts];
  const sum = (of: (day: DaySpent) => number): number => days.reduce((total, day) => total + of(day), 0);
  const numbers = (of: (field: (day: DaySpent) => number) => number): string[] => [
    shown(of((day) => day.requests)),
    shown(of((day) => day.input)),
    shown(of((day) => day.cacheRead)),
    shown(of((day) => day.output)),
    shown(of((day) => day.lost)),
    formatMoney(of((day) => day.microUsd)),
  ];
  const rows = days.map((day) => [day.day, escaped(day.model), ...numbers((field) => field(day))]);
  return tableOf(heads, [...rows, [`**${t('Sum')}**`, '', ...numbers(sum)]], new Set([2, 3, 4, 5, 6, 7]));
}

const shown = (count: number): string => count.toLocaleString();
