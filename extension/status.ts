// The status bar: decisions, running, waiting, money; a click goes to the next decision. And the digest: at most
// one notification a minute while the window is in the background (cases 223, 227). Neither takes the focus.

import * as vscode from 'vscode';
import type { FleetState } from '../sidecar/protocol/fleet.ts';
import { throttled } from './ctx.ts';
import type { Ctx } from './ctx.ts';
import { limits } from './limits.ts';
import { counted, scriptedLabel } from './words.ts';

const { t } = vscode.l10n;

export function registerStatus(ctx: Ctx): void {
  const item = ctx.own(vscode.window.createStatusBarItem('roost.status', vscode.StatusBarAlignment.Left, 20));
  item.name = 'Roost';
  const draw = ctx.own(throttled(limits.redrawMs, () => drawItem(item, ctx)));
  ctx.onFleet(draw);
  ctx.own(ctx.connection.onState.on(draw));
  digest(ctx);
}

function drawItem(item: vscode.StatusBarItem, ctx: Ctx): void {
  const { state } = ctx.connection;
  const fleet = ctx.fleetOrNull;
  item.backgroundColor = undefined;
  if (state.kind === 'failed') {
    item.text = `$(error) Roost`;
    item.tooltip = state.message;
    item.command = 'roost.restart';
    item.backgroundColor = new vscode.ThemeColor('statusBarItem.errorBackground');
    item.show();
  } else if (state.kind === 'restarting') {
    item.text = `$(sync~spin) Roost`;
    item.tooltip = t(
      'The sidecar ended and is being started again. Nothing is lost: agents are rows on disk.',
    );
    item.command = 'roost.showLog';
    item.show();
  } else if (fleet === null || fleet.agents === 0) {
    item.hide();
  } else {
    item.text = statusText(fleet, ctx.scripted);
    item.tooltip = tooltip(fleet, ctx.scripted);
    item.command = 'roost.nextDecision';
    item.accessibilityInformation = { label: `Roost: ${parts(fleet).join(', ')}` };
    if (0 < fleet.decisions) item.backgroundColor = new vscode.ThemeColor('statusBarItem.warningBackground');
    item.show();
  }
}

/** Icons with numbers, zeros left out, money with cents; and the label that no script may go without. */
export function statusText(fleet: FleetState, isScripted: boolean): string {
  const counts: readonly (readonly [string, number])[] = [
    ['$(bell-dot)', fleet.decisions],
    ['$(play)', fleet.running],
    ['$(watch)', fleet.waiting],
    ['$(git-pull-request)', fleet.reviews],
  ];
  const shown = counts.filter(([, count]) => 0 < count).map(([icon, count]) => `${icon} ${count}`);
  const money = fleet.microUsd === 0 ? [] : [formatMoney(fleet.microUsd)];
  const scripted = isScripted ? [scriptedLabel()] : [];
  const trouble = fleet.trouble === null ? [] : ['$(warning)'];
  return ['Roost', ...trouble, ...shown, ...money, ...scripted].join('  ');
}

/** Dollars; below ten cents with as many digits as show that it is not nothing. */
export function formatMoney(microUsd: number): string {
  const usd = microUsd / 1_000_000;
  return `$${usd.toFixed(0 < usd && usd < 0.1 ? 4 : 2)}`;
}

function parts(fleet: FleetState): string[] {
  return [
    counted(fleet.decisions, t('1 decision for you'), t('{0} decisions for you', fleet.decisions)),
    t('{0} running', fleet.running),
    t('{0} waiting', fleet.waiting),
    counted(fleet.reviews, t('1 change to review'), t('{0} changes to review', fleet.reviews)),
    t('{0} failed', fleet.failed),
    t('{0} spent', formatMoney(fleet.microUsd)),
  ];
}

function tooltip(fleet: FleetState, isScripted: boolean): vscode.MarkdownString {
  const lines = [
    counted(fleet.agents, t('1 agent'), t('{0} agents', fleet.agents)),
    ...parts(fleet),
    ...(isScripted ? [scriptedLabel()] : []),
    ...(fleet.trouble === null ? [] : [fleet.trouble]),
    t('Click: next decision'),
  ];
  const text = new vscode.MarkdownString();
  // Appended as text: what a server said about trouble must not become a link.
  for (const line of lines) text.appendText(line).appendMarkdown('  \n');
  return text;
}

/** Tells of new decisions when nobody looks at this window. */
function digest(ctx: Ctx): void {
  let known = 0;
  let lastMs = 0;
  ctx.onFleet(() => {
    const { decisions } = ctx.fleet;
    const grew = known < decisions;
    known = decisions;
    const now = Date.now();
    if (!grew || vscode.window.state.focused || now - lastMs < limits.digestMs) return;
    lastMs = now;
    const show = t('Next Decision');
    const text = counted(
      decisions,
      t('Roost: a decision waits for you.'),
      t('Roost: {0} decisions wait for you.', decisions),
    );
    void vscode.window
      .showInformationMessage(text, show)
      .then((choice) => (choice === show ? vscode.commands.executeCommand('roost.nextDecision') : undefined));
  });
}
