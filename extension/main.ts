// The extension's entry: what VS Code calls. It makes the context object and registers the parts, and starts
// nothing: a sidecar is asked for when a view is seen or a command is used, or when one is alive already.
//
// Promises: no work at load; nothing runs in a workspace that is not trusted (I17).

import * as vscode from 'vscode';
import { agentId } from '../sidecar/protocol/ids.ts';
import { Attention } from './attention.ts';
import { Comments } from './comments.ts';
import { registerCommands } from './commands.ts';
import { registerContexts } from './contexts.ts';
import { Ctx } from './ctx.ts';
import { registerDecisions } from './decide.ts';
import { registerGroupCommands } from './groupCommands.ts';
import { registerGroupPage } from './groupPage.ts';
import { registerKnowledgeCommands } from './knowledgeCommands.ts';
import { registerLifeCommands } from './lifeCommands.ts';
import { describe } from './log.ts';
import { sendProviders } from './models.ts';
import { Pages } from './pages.ts';
import { Panels } from './panels.ts';
import { registerBranchCommands } from './branchCommands.ts';
import { registerCostCommands } from './costCommands.ts';
import { registerReviewCommands } from './reviewCommands.ts';
import { ReviewDocs } from './reviewDocs.ts';
import { ReviewGutter } from './reviewGutter.ts';
import { ReviewLens } from './reviewLens.ts';
import { registerMerge } from './reviewMerge.ts';
import { registerMarks } from './reviewMarks.ts';
import { Reviews } from './reviews.ts';
import { settings } from './settings.ts';
import { readDiscovery } from './sidecar.ts';
import { registerStatus } from './status.ts';
import { registerFolderCommands } from './folderCommands.ts';
import { registerUndoCommands } from './undoCommands.ts';

export function activate(extension: vscode.ExtensionContext): void {
  const ctx = new Ctx(extension);
  const attention = new Attention(ctx);
  const panels = new Panels(ctx);
  registerStatus(ctx);
  registerCommands(ctx, panels);
  registerGroupCommands(ctx, panels);
  registerKnowledgeCommands(ctx);
  registerLifeCommands(ctx, panels);
  registerUndoCommands(ctx);
  registerBranchCommands(ctx, panels);
  const pages = new Pages(ctx);
  registerCostCommands(ctx, pages);
  registerGroupPage(ctx, pages);
  registerFolderCommands(ctx);
  registerDecisions(ctx, attention);
  const reviews = new Reviews(ctx);
  const docs = new ReviewDocs(ctx, reviews);
  new ReviewLens(ctx, reviews);
  new ReviewGutter(ctx, reviews);
  new Comments(ctx, reviews);
  registerMarks(ctx, reviews);
  registerMerge(ctx, reviews, docs);
  registerReviewCommands({ ctx, reviews, docs, attention });
  registerContexts(ctx, reviews);
  ctx.own(vscode.window.registerUriHandler({ handleUri: (uri) => openLink(uri) }));
  void ctx.paths.setFolders(folders());
  keepUp(ctx);
  if (vscode.workspace.isTrusted) void begin(ctx);
  else ctx.own(vscode.workspace.onDidGrantWorkspaceTrust(() => void begin(ctx)));
}

/** Attaches to a sidecar that is alive, or that was killed with work; else waits until somebody wants one. */
async function begin(ctx: Ctx): Promise<void> {
  try {
    // The file of one that ended in order is gone: this one small read is all that happens at start-up.
    if ((await readDiscovery(settings.store())) !== null) ctx.connection.start();
  } catch (error) {
    ctx.log.error(`start: ${describe(error)}`);
  }
}

/** Tells the sidecar what changes in this window: folders and settings. */
function keepUp(ctx: Ctx): void {
  ctx.own(
    vscode.workspace.onDidChangeWorkspaceFolders(async () => {
      await ctx.paths.setFolders(folders());
      ctx.connection.greetAgain();
    }),
  );
  ctx.own(
    ctx.connection.onState.on((state) => {
      if (state.kind === 'connected') {
        void sendProviders(ctx);
        void ctx.editorModels.tell();
      } else ctx.editorModels.disconnected();
      if (state.kind === 'failed') void ctx.complain(state.message);
    }),
  );
  ctx.own(vscode.lm.onDidChangeChatModels(() => ctx.connected && void ctx.editorModels.tell()));
  ctx.own(
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration('roost.sidecar.node')) ctx.launcher.forget();
      if (event.affectsConfiguration('roost.providers') && ctx.connected) void sendProviders(ctx);
    }),
  );
}

function folders(): readonly string[] {
  const all = vscode.workspace.workspaceFolders ?? [];
  return all.filter((folder) => folder.uri.scheme === 'file').map((folder) => folder.uri.fsPath);
}

/** `…/agent/7`: a link from elsewhere shows an agent, after a person has said yes, and does nothing else. */
async function openLink(uri: vscode.Uri): Promise<void> {
  const id = /^\/agent\/(\d{1,15})$/.exec(uri.path)?.[1];
  if (id === undefined || !vscode.workspace.isTrusted) return;
  const open = vscode.l10n.t('Open');
  const choice = await vscode.window.showInformationMessage(
    vscode.l10n.t('A link wants to show agent {0} in Roost.', id),
    { modal: true },
    open,
  );
  if (choice === open)
    await vscode.commands.executeCommand('roost.openAgent', { agent: agentId(Number(id)) });
}
