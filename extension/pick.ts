// Choosing: an agent by name and what it does, a workspace folder. The list of agents is asked of the sidecar as
// the person types, so it serves a fleet of any size.

import * as vscode from 'vscode';
import type { AgentRow } from '../sidecar/protocol/agent.ts';
import type { Ctx } from './ctx.ts';
import { limits } from './limits.ts';
import { describe } from './log.ts';
import { agentOf } from './targets.ts';
import { counted, scriptedLabel } from './words.ts';

const { t } = vscode.l10n;

type AgentItem = vscode.QuickPickItem & { readonly agent: AgentRow };

/** Undefined when the person chose none. */
export function pickAgent(ctx: Ctx, title: string): Promise<AgentRow | undefined> {
  const pick = vscode.window.createQuickPick<AgentItem>();
  pick.title = title;
  pick.placeholder = t('Name or task of an agent');
  pick.matchOnDescription = true;
  pick.matchOnDetail = true;
  // A webview that had the focus takes it back when the palette goes, and would close this.
  pick.ignoreFocusOut = true;
  let round = 0;
  const ask = async (): Promise<void> => {
    const mine = (round += 1);
    pick.busy = true;
    const query = {
      expanded: [],
      order: 'attention',
      filter: pick.value,
      top: 0,
      height: limits.pickRows,
    } as const;
    try {
      const { rows } = await ctx.connection.call('tree/window', query);
      if (mine === round) pick.items = rows.map((row) => agentItem(row.agent));
    } catch (error) {
      ctx.log.warn(`list of agents: ${describe(error)}`);
    }
    if (mine === round) pick.busy = false;
  };
  return new Promise((resolve) => {
    let pause: NodeJS.Timeout | undefined;
    pick.onDidChangeValue(() => {
      clearTimeout(pause);
      pause = setTimeout(() => void ask(), limits.pickPauseMs);
    });
    pick.onDidAccept(() => {
      resolve(pick.selectedItems[0]?.agent);
      pick.hide();
    });
    pick.onDidHide(() => {
      clearTimeout(pause);
      round += 1;
      resolve(undefined);
      pick.dispose();
    });
    pick.show();
    void ask();
  });
}

function agentItem(agent: AgentRow): AgentItem {
  const below = agent.branch.agents - 1;
  const about = [
    agent.why ?? agent.phase,
    ...(0 < below ? [counted(below, t('1 agent below'), t('{0} agents below', below))] : []),
    ...(agent.model.startsWith('scripted/') ? [scriptedLabel()] : []),
  ];
  return { label: agent.name, description: about.join(' · '), detail: agent.doing || agent.task, agent };
}

/** The folder that new work is about; undefined when there is none or the person chose none. */
export async function pickWorkspace(): Promise<string | undefined> {
  const folders = (vscode.workspace.workspaceFolders ?? []).filter((folder) => folder.uri.scheme === 'file');
  if (folders.length === 0) {
    void vscode.window.showErrorMessage(t('Roost works in a folder. Open one, then try again.'));
    return undefined;
  }
  const [only] = folders;
  if (folders.length === 1 && only !== undefined) return only.uri.fsPath;
  const items = folders.map((folder) => ({ label: folder.name, description: folder.uri.fsPath, folder }));
  const picked = await vscode.window.showQuickPick(items, { placeHolder: t('In which folder?') });
  return picked?.folder.uri.fsPath;
}

/** The agent that a command is about, as it stands now: the one that its argument names, else one that is picked. */
export async function pickAgentRow(ctx: Ctx, given: unknown, title: string): Promise<AgentRow | undefined> {
  const agent = agentOf(given);
  return agent === undefined ? pickAgent(ctx, title) : ctx.connection.call('agent/get', { agent });
}

/** Asks before something that stops or ends work. */
export async function sure(question: string, verb: string): Promise<boolean> {
  return (await vscode.window.showWarningMessage(question, { modal: true }, verb)) === verb;
}
