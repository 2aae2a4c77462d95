// The palette's command that shows what was spent: of an agent and its branch, or of everything, day by day and model by
// model, as a page of Markdown that is made anew each time it is opened.

import * as vscode from 'vscode';
import type { CostReport, DaySpent } from '../sidecar/protocol/cost.ts';
import type { AgentRow } from '../sidecar/protocol/agent.ts';
import { agentId } from '../sidecar/protocol/ids.ts';
import type { Ctx } from './ctx.ts';
import { limits } from './limits.ts';
import { pickAgent } from './pick.ts';
import { formatMoney } from './status.ts';
import { agentOf, field, numberField } from './targets.ts';

const { t } = vscode.l10n;

const scheme = 'roost-cost';

export function registerCostCommands(ctx: Ctx): void {
  const pages = new CostPages(ctx);
  ctx.own(vscode.workspace.registerTextDocumentContentProvider(scheme, pages));
  ctx.command('roost.showCost', (given: unknown) => pages.show(given));
}

class CostPages implements vscode.TextDocumentContentProvider {
  readonly #ctx: Ctx;
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.#changed.event;

  constructor(ctx: Ctx) {
    this.#ctx = ctx;
    ctx.own(this.#changed);
  }

  async show(given: unknown): Promise<void> {
    const named = agentOf(given);
    const row =
      named !== undefined
        ? await this.#ctx.connection.call('agent/get', { agent: named })
        : await this.#choose(given);
    if (row === undefined) return;
    const name = row === null ? t('All Agents') : row.name;
    const uri = vscode.Uri.from({
      scheme,
      path: `/${t('Cost of {0}', name)}.md`,
      query: String(row?.id ?? ''),
    });
    this.#changed.fire(uri);
    try {
      await vscode.commands.executeCommand('markdown.showPreview', uri);
    } catch {
      // The editor's Markdown is switched off: the page can be read as it is.
      await vscode.window.showTextDocument(uri, { preview: true });
    }
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const { connection } = this.#ctx;
    const id = numberField({ id: Number(uri.query) }, 'id') ?? 0;
    const offsetMinutes = -new Date().getTimezoneOffset();
    const ask = (agent: AgentRow['id'] | null): Promise<CostReport> =>
      connection.call('cost/get', { agent, days: limits.costDays, offsetMinutes });
    if (id === 0) return page(t('All Agents'), await ask(null), null);
    const row = await connection.call('agent/get', { agent: agentId(id) });
    const report = await ask(row.id);
    // Days are kept of roots.
    if (row.id === row.root) return page(row.name, report, null);
    const root = await connection.call('agent/get', { agent: row.root });
    return page(row.name, { ...report, days: (await ask(row.root)).days }, root.name);
  }

  /** Null: of all. */
  async #choose(given: unknown): Promise<AgentRow | null | undefined> {
    if (field(given, 'all') === true) return null;
    const all = t('All Agents');
    const one = t('An Agent and Its Branch…');
    const chosen = await vscode.window.showQuickPick([all, one], { title: t('The cost of what?') });
    if (chosen === undefined) return undefined;
    return chosen === all ? null : pickAgent(this.#ctx, t('The cost of which agent and its branch?'));
  }
}

function page(name: string, { agent, days }: CostReport, daysOf: string | null): string {
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
  const title = t('The last {0} days', limits.costDays);
  lines.push(
    `## ${daysOf === null ? title : t('The last {0} days of {1}, whose branch it is in', limits.costDays, escaped(daysOf))}`,
    '',
  );
  return [...lines, ...table(days ?? []), ''].join('\n');
}

function table(days: readonly DaySpent[]): string[] {
  if (days.length === 0) return [t('Nothing was spent.')];
  const heads = [
    t('Day'),
    t('Model'),
    t('Requests'),
    t('Input'),
    t('of it cached'),
    t('Output'),
    t('Lost'),
    t('Cost'),
  ];
  const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const sum = (of: (day: DaySpent) => number): number => days.reduce((total, day) => total + of(day), 0);
  const numbers = (of: (field: (day: DaySpent) => number) => number): string[] => [
    shown(of((day) => day.requests)),
    shown(of((day) => day.input)),
    shown(of((day) => day.cacheRead)),
    shown(of((day) => day.output)),
    shown(of((day) => day.lost)),
    formatMoney(of((day) => day.microUsd)),
  ];
  return [
    row(heads),
    row(['---', '---', '--:', '--:', '--:', '--:', '--:', '--:']),
    ...days.map((day) => row([day.day, escaped(day.model), ...numbers((field) => field(day))])),
    row([`**${t('Sum')}**`, '', ...numbers(sum)]),
  ];
}

const shown = (count: number): string => count.toLocaleString();

/** Names are people's and models' words: they make no table, link or HTML of their own. */
const escaped = (text: string): string => text.replaceAll(/[\\`*_{}[\]()<>#+!|~-]/g, '\\$&');
