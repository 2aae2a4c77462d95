// The Attention view: a native tree of what waits for a person, with the verbs on its rows, the badge, and the
// words for the states in which there is nothing to show (loading, untrusted, failed, empty: case 230).
// What the rows are is attentionRows.ts; what the verbs do is decide.ts and review.ts.

import * as vscode from 'vscode';
import type { ChangeRow } from '../sidecar/protocol/change.ts';
import type { RequestKind, RequestRow } from '../sidecar/protocol/request.ts';
import { attentionRows, childrenOf, updateRows } from './attentionRows.ts';
import type { AttentionNode, SectionName } from './attentionRows.ts';
import { throttled } from './ctx.ts';
import type { Ctx } from './ctx.ts';
import { limits } from './limits.ts';
import { counted, scriptedLabel } from './words.ts';

const { t } = vscode.l10n;

export class Attention implements vscode.TreeDataProvider<AttentionNode> {
  readonly #ctx: Ctx;
  readonly #changed = new vscode.EventEmitter<AttentionNode[] | undefined>();
  readonly onDidChangeTreeData = this.#changed.event;
  readonly #view: vscode.TreeView<AttentionNode>;
  #roots: readonly AttentionNode[] = [];
  #parents = new Map<string, AttentionNode>();
  #nodes = new Map<string, AttentionNode>();

  constructor(ctx: Ctx) {
    this.#ctx = ctx;
    ctx.own(this.#changed);
    this.#view = ctx.own(
      vscode.window.createTreeView('roost.attention', {
        treeDataProvider: this,
        showCollapseAll: true,
        canSelectMany: true,
      }),
    );
    const redraw = ctx.own(throttled(limits.redrawMs, () => this.#redraw()));
    ctx.onAttention(redraw);
    ctx.onFleet(redraw);
    ctx.own(ctx.connection.onState.on(redraw));
    // Looking at the view is what starts a sidecar.
    ctx.own(
      this.#view.onDidChangeVisibility(
        ({ visible }) => visible && vscode.workspace.isTrusted && ctx.connection.start(),
      ),
    );
    ctx.own(vscode.workspace.onDidGrantWorkspaceTrust(() => this.#view.visible && ctx.connection.start()));
    redraw();
  }

  /** The selected rows, for keys that come without an argument. */
  get selection(): readonly AttentionNode[] {
    return this.#view.selection;
  }

  /** Selects a row without taking the focus; does nothing when the view is hidden or the row is gone. */
  async show(id: string): Promise<void> {
    const node = this.#nodes.get(id);
    if (node === undefined || !this.#view.visible) return;
    // The tree may be redrawn while it looks for the row; then there is nothing to reveal.
    await Promise.resolve(this.#view.reveal(node, { select: true, focus: false })).catch(() => undefined);
  }

  getChildren(node?: AttentionNode): AttentionNode[] {
    return [...(node === undefined ? this.#roots : childrenOf(node))];
  }

  getParent(node: AttentionNode): AttentionNode | undefined {
    return this.#parents.get(node.id);
  }

  getTreeItem(node: AttentionNode): vscode.TreeItem {
    const item = itemOf(node);
    item.id = node.id;
    item.contextValue = contextOf(node);
    return item;
  }

  #redraw(): void {
    const { connection, attention, fleet } = this.#ctx;
    const { roots, changed } = updateRows(this.#roots, attentionRows(attention));
    this.#roots = roots;
    this.#parents = new Map();
    this.#nodes = new Map();
    this.#index(this.#roots);
    this.#view.badge =
      attention.requestsTotal === 0
        ? undefined
        : {
            value: attention.requestsTotal,
            tooltip: counted(
              attention.requestsTotal,
              t('A decision waits for you'),
              t('{0} decisions wait for you', attention.requestsTotal),
            ),
          };
    this.#view.message =
      connection.state.kind === 'restarting'
        ? t('The sidecar ended and is being started again. Nothing is lost.')
        : (fleet.trouble ?? '');
    this.#view.description = this.#ctx.scripted ? scriptedLabel() : '';
    if (changed === null) this.#changed.fire(undefined);
    else if (0 < changed.length) this.#changed.fire([...changed]);
  }

  #index(nodes: readonly AttentionNode[], parent?: AttentionNode): void {
    for (const node of nodes) {
      this.#nodes.set(node.id, node);
      if (parent !== undefined) this.#parents.set(node.id, parent);
      this.#index(childrenOf(node), node);
    }
  }
}

const sectionTitle: Readonly<Record<SectionName, () => string>> = {
  needs: () => t('Needs you'),
  reviews: () => t('Ready to review'),
  conflicts: () => t('Conflicts'),
  failed: () => t('Failed'),
};

const requestIcon: Readonly<Record<RequestKind, string>> = {
  approval: 'shield',
  question: 'question',
  budget: 'credit-card',
  conflict: 'git-merge',
  trust: 'shield',
  quarantine: 'bug',
};

const warning = new vscode.ThemeColor('list.warningForeground');
const { Collapsed, Expanded, None } = vscode.TreeItemCollapsibleState;

function itemOf(node: AttentionNode): vscode.TreeItem {
  switch (node.kind) {
    case 'section':
      return described(new vscode.TreeItem(sectionTitle[node.section](), Expanded), String(node.total));
    case 'cluster':
      return clusterItem(node.requests);
    case 'request':
      return requestItem(node.request);
    case 'author':
      return authorItem(node.name, node.changes);
    case 'change':
      return changeItem(node.change);
    case 'failed': {
      const item = described(new vscode.TreeItem(node.agent.name, None), node.agent.doing);
      item.iconPath = new vscode.ThemeIcon('error', new vscode.ThemeColor('list.errorForeground'));
      item.command = open('roost.openAgent', { agent: node.agent.id });
      return item;
    }
    case 'rollup':
      return rollupItem(node.what, node.count);
    case 'more': {
      const item = new vscode.TreeItem(t('… and {0} more', node.count), None);
      item.command = open('roost.agents.focus', {});
      return item;
    }
  }
}

function requestItem(request: RequestRow): vscode.TreeItem {
  const item = described(new vscode.TreeItem(request.title, None), request.agentName);
  item.iconPath = new vscode.ThemeIcon(requestIcon[request.kind], warning);
  item.tooltip = requestTooltip(request);
  item.command = open('roost.openAgent', { agent: request.agent });
  item.accessibilityInformation = { label: t('{0} asks: {1}', request.agentName, request.title) };
  return item;
}

function clusterItem(requests: readonly RequestRow[]): vscode.TreeItem {
  const [first] = requests;
  const title = first?.title ?? '';
  // Requests of one kind may differ in what they are about, such as edits of several files.
  const titles = [...new Set(requests.map((request) => request.title))];
  const label =
    titles.length === 1
      ? t('{0} × {1}', requests.length, title)
      : t('{0} alike: {1}', requests.length, titles.slice(0, limits.clusterTitles).join(', '));
  const item = new vscode.TreeItem(label, Collapsed);
  item.iconPath = new vscode.ThemeIcon(requestIcon[first?.kind ?? 'approval'], warning);
  item.tooltip = t('{0} agents ask the same. One answer serves all of them.', requests.length);
  return item;
}

function authorItem(name: string, changes: readonly ChangeRow[]): vscode.TreeItem {
  const added = changes.reduce((sum, change) => sum + change.added, 0);
  const removed = changes.reduce((sum, change) => sum + change.removed, 0);
  const item = new vscode.TreeItem(name, Collapsed);
  item.description = t('{0} files  −{1} +{2}', changes.length, removed, added);
  item.iconPath = new vscode.ThemeIcon('robot');
  return item;
}

function changeItem(change: ChangeRow): vscode.TreeItem {
  const item = new vscode.TreeItem(change.label, None);
  item.description = `−${change.removed} +${change.added} · ${change.agentName}`;
  const icons = { edit: 'diff-modified', create: 'diff-added', delete: 'diff-removed' } as const;
  const colours = {
    edit: 'gitDecoration.modifiedResourceForeground',
    create: 'gitDecoration.addedResourceForeground',
    delete: 'gitDecoration.deletedResourceForeground',
  } as const;
  item.iconPath = new vscode.ThemeIcon(icons[change.kind], new vscode.ThemeColor(colours[change.kind]));
  item.tooltip = change.path;
  item.command = open('roost.review', { change: change.id });
  return item;
}

function rollupItem(what: 'running' | 'done', count: number): vscode.TreeItem {
  const item = described(
    new vscode.TreeItem(what === 'running' ? t('Running') : t('Done'), None),
    String(count),
  );
  item.iconPath = new vscode.ThemeIcon(what === 'running' ? 'play-circle' : 'pass');
  item.command = open('roost.agents.focus', {});
  return item;
}

function described(item: vscode.TreeItem, description: string): vscode.TreeItem {
  item.description = description;
  return item;
}

/** The whole of what would be done, as plain text in a code block: a model wrote it. */
function requestTooltip(request: RequestRow): vscode.MarkdownString {
  return new vscode.MarkdownString()
    .appendText(request.agentName)
    .appendCodeblock(request.detail.slice(0, 2_000), 'text');
}

function open(command: string, argument: object): vscode.Command {
  return { command, title: '', arguments: [argument] };
}

/** What a `when` clause of a menu sees: which verbs a row has. */
function contextOf(node: AttentionNode): string {
  switch (node.kind) {
    case 'request':
      return node.request.kind === 'question' ? 'question' : 'approval';
    case 'cluster':
      return node.requests[0]?.kind === 'question' ? 'questionCluster' : 'approvalCluster';
    case 'section':
      return `section.${node.section}`;
    case 'change':
      return node.change.state === 'conflict' ? 'conflict' : node.kind;
    case 'author':
    case 'failed':
    case 'rollup':
    case 'more':
      return node.kind;
  }
}
