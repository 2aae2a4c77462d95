// Those of a group side by side, as a page: of a few a column each, of many a line each. Choosing is the palette's
// (groupCommands.ts).

import * as vscode from 'vscode';
import type { GroupMember } from '../sidecar/protocol/group.ts';
import type { Ctx } from './ctx.ts';
import { limits } from './limits.ts';
import { escaped, tableOf } from './pages.ts';
import type { Pages } from './pages.ts';
import { pickAgentRow } from './pick.ts';
import { formatMoney } from './status.ts';

const { t } = vscode.l10n;

export function registerGroupPage(ctx: Ctx, pages: Pages): void {
  ctx.command('roost.compareGroup', async (given: unknown) => {
    const group = await pickAgentRow(ctx, given, t('Compare those of which group?'));
    if (group === undefined) return;
    await pages.show(t('Those of {0}', group.name), String(group.id), async () => {
      const asked = { agent: group.id, after: null, limit: limits.pickRows };
      const { rows, more } = await ctx.connection.call('group/compare', asked);
      return text(group.name, rows, more);
    });
  });
}

function text(name: string, rows: readonly GroupMember[], more: boolean): string {
  const lines = [`# ${t('Those of {0}', escaped(name))}`, ''];
  if (rows.length === 0) return [...lines, t('It has started nobody.')].join('\n');
  const cells = rows.map(cellsOf);
  const names = rows.map(({ agent }) => escaped(agent.name));
  const heads = [t('Outcome'), t('Model'), t('Spent'), t('Changes'), t('Files'), t('Says')];
  const table =
    rows.length <= limits.groupColumns
      ? tableOf(
          ['', ...names],
          heads.map((head, row) => [`**${head}**`, ...cells.map((each) => each[row] ?? '')]),
        )
      : tableOf(
          [t('Name'), ...heads],
          cells.map((each, row) => [names[row] ?? '', ...each]),
        );
  const how = t('**Roost: Pick the Best of a Group** keeps one of them and takes the others to the trash.');
  const rest = more ? [t('Only the first {0} are shown.', rows.length), ''] : [];
  return [...lines, ...table, '', ...rest, how, ''].join('\n');
}

function cellsOf({ agent, outcome, text: said, files, added, removed }: GroupMember): string[] {
  const named = files
    .slice(0, limits.groupFiles)
    .map((file) => `${escaped(file.label)} +${file.added} −${file.removed}`);
  const left = files.length - named.length;
  const cut =
    said.length <= limits.groupSaidChars ? said : `${said.slice(0, limits.groupSaidChars).trimEnd()} …`;
  return [
    escaped(outcome ?? agent.why ?? agent.phase),
    escaped(agent.model),
    formatMoney(agent.branch.microUsd),
    agent.changes === 0 ? t('none') : `${agent.changes} (+${added} −${removed})`,
    [...named, ...(left === 0 ? [] : [t('and {0} more', left)])].join('<br>'),
    escaped(cut),
  ];
}
