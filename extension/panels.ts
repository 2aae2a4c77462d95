// The webviews: the Agents view in the sidebar, and one agent panel in the editor area that is used again for
// each agent. A webview draws; this posts what it follows and does what it asks, if the table allows it.
//
// Promises: a hidden view follows nothing and costs nothing (case 22); a view that comes back says `ready` and
// gets everything anew; scripts run only from our bundle, by a nonce; nothing is loaded from elsewhere.

import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';
import type { AgentId, EntryId } from '../sidecar/protocol/ids.ts';
import { agentId } from '../sidecar/protocol/ids.ts';
import type { Connection, ToExtension, ToWebview, ViewKind } from '../sidecar/protocol/panel.ts';
import { toRoostError } from './wire.ts';
import type { State } from './connection.ts';
import type { Ctx } from './ctx.ts';
import { limits } from './limits.ts';
import { describe } from './log.ts';
import { isOpenable, isToExtension } from './panelMessages.ts';
import type { Follow } from './replica.ts';
import { field, numberField } from './targets.ts';

const { t } = vscode.l10n;
const shownAgentKey = 'roost.shownAgent';

export class Panels implements vscode.WebviewViewProvider, vscode.WebviewPanelSerializer {
  readonly #ctx: Ctx;
  #panel: vscode.WebviewPanel | null = null;
  #relay: Relay | null = null;

  constructor(ctx: Ctx) {
    this.#ctx = ctx;
    ctx.own(vscode.window.registerWebviewViewProvider('roost.agents', this));
    ctx.own(vscode.window.registerWebviewPanelSerializer('roost.agent', this));
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    const relay = new Relay(this.#ctx, view.webview, 'tree', (agent) => this.showAgent(agent));
    view.onDidChangeVisibility(() => !view.visible && relay.rest());
    view.onDidDispose(() => relay.dispose());
    prepare(this.#ctx, view.webview, 'tree', 'Roost');
  }

  /** VS Code gives back the panel that was open when the window closed. */
  deserializeWebviewPanel(panel: vscode.WebviewPanel, state: unknown): Promise<void> {
    // A page that had no time to say what it showed: the window remembers the last agent.
    const agent = numberField(state, 'agent') ?? numberField({ id: this.#remembered() }, 'id');
    this.#adopt(panel, agent === undefined ? null : agentId(agent));
    return Promise.resolve();
  }

  /** Shows an agent in the one panel; takes the focus only when a person asked for this agent. */
  showAgent(agent: AgentId, options: { readonly entry?: EntryId; readonly focus?: boolean } = {}): void {
    const preserveFocus = options.focus !== true;
    if (this.#panel === null) {
      const place = { viewColumn: vscode.ViewColumn.Active, preserveFocus };
      const looks = { enableScripts: true, enableFindWidget: true };
      this.#adopt(vscode.window.createWebviewPanel('roost.agent', t('Agent'), place, looks), agent);
    } else {
      this.#panel.reveal(undefined, preserveFocus);
    }
    const entry = options.entry === undefined ? {} : { entry: options.entry };
    this.#relay?.show({ kind: 'show', agent, ...entry });
    // One number: the editor's own storage is not for more (case 1).
    void this.#ctx.extension.workspaceState.update(shownAgentKey, agent);
    void this.#title(agent);
  }

  #remembered(): unknown {
    return this.#ctx.extension.workspaceState.get(shownAgentKey);
  }

  #adopt(panel: vscode.WebviewPanel, agent: AgentId | null): void {
    this.#panel?.dispose();
    const relay = new Relay(this.#ctx, panel.webview, 'agent', (other) => this.showAgent(other));
    const icon = (look: string): vscode.Uri =>
      vscode.Uri.joinPath(this.#ctx.extension.extensionUri, `media/icon-${look}.svg`);
    // A tab's icon is a picture: it does not take the colour of the text.
    panel.iconPath = { light: icon('light'), dark: icon('dark') };
    panel.onDidChangeViewState(() => !panel.visible && relay.rest());
    panel.onDidDispose(() => {
      relay.dispose();
      if (this.#panel !== panel) return;
      this.#panel = null;
      this.#relay = null;
    });
    this.#panel = panel;
    this.#relay = relay;
    if (agent !== null) {
      relay.show({ kind: 'show', agent });
      void this.#title(agent);
    }
    prepare(this.#ctx, panel.webview, 'agent', panel.title);
  }

  /** The tab says which agent it shows. */
  async #title(agent: AgentId): Promise<void> {
    const panel = this.#panel;
    try {
      const row = await this.#ctx.connection.call('agent/get', { agent });
      if (panel !== null && panel === this.#panel) panel.title = row.name;
    } catch (error) {
      this.#ctx.log.debug(`title of agent ${agent}: ${describe(error)}`);
    }
  }
}

/** Between one webview and the sidecar. */
class Relay {
  readonly #ctx: Ctx;
  readonly #webview: vscode.Webview;
  readonly #view: ViewKind;
  readonly #showAgent: (agent: AgentId) => void;
  readonly #follows = new Map<string, Follow>();
  readonly #listening: readonly { dispose(): void }[];
  /** False before `ready` and while hidden: what is posted then would be lost. */
  #there = false;
  #shown: Extract<ToWebview, { kind: 'show' }> | null = null;

  constructor(ctx: Ctx, webview: vscode.Webview, view: ViewKind, showAgent: (agent: AgentId) => void) {
    this.#ctx = ctx;
    this.#webview = webview;
    this.#view = view;
    this.#showAgent = showAgent;
    this.#listening = [
      webview.onDidReceiveMessage((message: unknown) => this.#receive(message)),
      // Looking at a view is what starts a sidecar, also when it was looked at before it might.
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.#there && ctx.connection.start()),
      ctx.connection.onState.on((state) => this.#post({ kind: 'connection', connection: shownState(state) })),
    ];
  }

  /** Posts now, and again each time the view comes back. */
  show(message: Extract<ToWebview, { kind: 'show' }>): void {
    this.#shown = message;
    this.#post(message);
  }

  /** The view is hidden: its page is gone and with it all that it followed. */
  rest(): void {
    this.#there = false;
    for (const follow of this.#follows.values()) follow.close();
    this.#follows.clear();
  }

  dispose(): void {
    this.rest();
    for (const each of this.#listening) each.dispose();
  }

  #post(message: ToWebview): void {
    if (this.#there) void this.#webview.postMessage(message);
  }

  #receive(message: unknown): void {
    if (!isToExtension(message)) {
      this.#ctx.log.warn(`a webview said what is not in the table: ${JSON.stringify(message).slice(0, 200)}`);
      return;
    }
    this.#handle(message).catch((error: unknown) => {
      this.#ctx.log.error(`webview ${message.kind}: ${describe(error)}`);
      void this.#ctx.complain(error instanceof Error ? error.message : String(error));
    });
  }

  async #handle(message: ToExtension): Promise<void> {
    switch (message.kind) {
      case 'ready':
        return this.#boot();
      case 'follow':
        return this.#follow(message.tag, message.channel);
      case 'unfollow':
        this.#follows.get(message.tag)?.close();
        this.#follows.delete(message.tag);
        return;
      case 'call':
        return this.#call(message);
      case 'showAgent':
        return this.#showAgent(message.agent);
      case 'openFile':
        return this.#openFile(message.path, message.line);
      case 'reviewChange':
        await vscode.commands.executeCommand('roost.review', { change: message.change, hunk: message.hunk });
        return;
      case 'openLink':
        if (isOpenable(message.href)) await vscode.env.openExternal(vscode.Uri.parse(message.href, true));
        else this.#ctx.log.warn(`a link that is not opened: ${message.href.slice(0, 200)}`);
        return;
      case 'command':
        await vscode.commands.executeCommand(message.command);
        return;
      case 'copy':
        await vscode.env.clipboard.writeText(message.text.slice(0, limits.copyChars));
        return;
    }
  }

  #boot(): void {
    this.rest();
    this.#there = true;
    if (vscode.workspace.isTrusted) this.#ctx.connection.start();
    this.#post({
      kind: 'boot',
      view: this.#view,
      // The views have their words in English; a language pack replaces them by key.
      strings: vscode.l10n.bundle ?? {},
      connection: shownState(this.#ctx.connection.state),
    });
    if (this.#shown !== null) this.#post(this.#shown);
  }

  #follow(tag: string, channel: Extract<ToExtension, { kind: 'follow' }>['channel']): void {
    const open = this.#follows.get(tag);
    if (open !== undefined) {
      open.move(channel);
      return;
    }
    if (limits.followsPerView <= this.#follows.size) {
      this.#ctx.log.warn(
        `a webview follows ${this.#follows.size} channels already; ${channel.kind} is refused`,
      );
      return;
    }
    const follow = this.#ctx.follows.open(channel, {
      snapshot: (snapshot) => this.#post({ kind: 'snapshot', tag, snapshot }),
      actions: (actions) => this.#post({ kind: 'actions', tag, actions }),
      refused: ({ code, message }) => this.#post({ kind: 'refused', tag, code, message }),
    });
    this.#follows.set(tag, follow);
  }

  async #call({ id, method, params }: Extract<ToExtension, { kind: 'call' }>): Promise<void> {
    try {
      const result = await this.#ctx.connection.call(method, params);
      this.#post({ kind: 'answer', id, ok: true, result });
      // An accepted change that does not fit: as in the editor, it is merged by hand.
      if (
        method === 'change/verdict' &&
        field(params, 'verdict') === 'accept' &&
        field(result, 'state') === 'conflict'
      )
        await vscode.commands.executeCommand('roost.merge', {
          change: field(result, 'change'),
          unasked: true,
        });
    } catch (error) {
      const { code, message } = toRoostError(error);
      this.#post({ kind: 'answer', id, ok: false, code, message });
    }
  }

  async #openFile(path: string, line: number): Promise<void> {
    const at = new vscode.Position(Math.max(0, line - 1), 0);
    const file = vscode.Uri.file(this.#ctx.paths.toShown(path));
    await vscode.window.showTextDocument(file, { selection: new vscode.Range(at, at), preview: true });
  }
}

/** Before anybody has asked for a sidecar it may say that it connects. */
function shownState(state: State): Connection {
  if (state.kind !== 'off') return state;
  return { kind: vscode.workspace.isTrusted ? 'connecting' : 'untrusted' };
}

/** The page: our bundle by nonce, our styles, no other source. */
function prepare(ctx: Ctx, webview: vscode.Webview, view: ViewKind, title: string): void {
  const dist = vscode.Uri.joinPath(ctx.extension.extensionUri, 'dist');
  webview.options = { enableScripts: true, localResourceRoots: [dist] };
  const nonce = randomBytes(16).toString('base64url');
  const source = (name: string): string => webview.asWebviewUri(vscode.Uri.joinPath(dist, name)).toString();
  const policy = [
    `default-src 'none'`,
    `script-src 'nonce-${nonce}'`,
    `style-src ${webview.cspSource}`,
    `font-src ${webview.cspSource}`,
    `img-src ${webview.cspSource} data:`,
  ].join('; ');
  webview.html = `<!DOCTYPE html>
<html lang="${vscode.env.language}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${source('webview.css')}">
<title>${title.replace(/[<>&]/g, '')}</title>
</head>
<body data-view="${view}">
<script nonce="${nonce}" src="${source('webview.js')}"></script>
</body>
</html>`;
}
