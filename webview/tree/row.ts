// One row of the tree: glyph, name, what it needs or does, counts of its branch, cost. Drawn into an element
// of the pool; every state is an icon and a word.

import { html, nothing, render } from 'lit-html';
import type { TreeRow } from '../../sidecar/protocol/tree.ts';
import { icon, lookIcon } from '../icons.ts';
import { say, sayCount } from '../strings.ts';
import {
  branchCounts,
  isBusy,
  isScripted,
  lookOf,
  moneyWords,
  phaseWords,
  rowLabel,
  shortCount,
} from '../words.ts';

export interface RowPlace {
  readonly index: number;
  readonly total: number;
  readonly selected: boolean;
}

/** Draws a row, or the space of one that is not known yet. */
export function drawRow(element: HTMLElement, row: TreeRow | undefined, place: RowPlace): void {
  element.id = `row-${place.index}`;
  element.dataset['index'] = String(place.index);
  element.setAttribute('aria-posinset', String(place.index + 1));
  element.setAttribute('aria-setsize', String(place.total));
  element.setAttribute('aria-selected', String(place.selected));
  if (row === undefined) drawUnknown(element);
  else drawKnown(element, row);
}

/** Takes back what would make an unused element pass for a row: its name, and being selected. */
export function eraseRow(element: HTMLElement): void {
  element.removeAttribute('id');
  element.removeAttribute('data-index');
  element.setAttribute('aria-selected', 'false');
}

function drawUnknown(element: HTMLElement): void {
  element.setAttribute('aria-label', say('tree.loading'));
  element.setAttribute('aria-level', '1');
  element.removeAttribute('aria-expanded');
  element.removeAttribute('data-vscode-context');
  element.style.paddingLeft = `${indentPx(0)}px`;
  element.title = '';
  render(html`<span class="skeleton"></span>`, element);
}

function drawKnown(element: HTMLElement, row: TreeRow): void {
  const { agent } = row;
  const hasChildren = 0 < agent.children;
  element.setAttribute('aria-label', rowLabel(agent));
  element.setAttribute('aria-level', String(row.level + 1));
  if (hasChildren) element.setAttribute('aria-expanded', String(row.expanded));
  else element.removeAttribute('aria-expanded');
  element.setAttribute('data-vscode-context', menuContext(row));
  element.style.paddingLeft = `${indentPx(row.level)}px`;
  element.title = tooltip(row);
  render(rowContent(row), element);
}

function rowContent(row: TreeRow): unknown {
  const { agent } = row;
  const look = lookOf(agent);
  const money = moneyWords(agent.branch.microUsd);
  return html`<span
      class="twistie"
      data-act=${0 < agent.children ? 'toggle' : nothing}
      data-open=${row.expanded}
      >${0 < agent.children ? icon('chevron') : nothing}</span
    >${lookIcon(look)}<span class="name">${agent.name}</span>${
      isScripted(agent.model) ? html`<span class="chip">${say('model.scripted')}</span>` : nothing
    }<span class="does"
      ><span class="word" data-look=${look}>${phaseWords(agent)}</span
      >${agent.doing === '' ? nothing : html` · ${agent.doing}`}</span
    >${counts(row)}${money === '' ? nothing : html`<span class="cost">${money}</span>`}${
      isBusy(agent)
        ? html`<span class="act" data-act="stop" title=${say('agent.stopHint')}>${icon('stopped')}</span>`
        : nothing
    }`;
}

/** Counts of a branch, and files to review of the agent itself. */
function counts({ agent }: TreeRow): unknown {
  const below = 1 < agent.branch.agents ? branchCounts(agent.branch) : [];
  if (below.length === 0 && agent.changes === 0) return nothing;
  const review = sayCount('count.reviews', agent.changes);
  return html`<span class="counts"
    >${
      agent.changes === 0
        ? nothing
        : html`<span class="count" data-look="review" title=${review}
            >${icon('diff')}${shortCount(agent.changes)}</span
          >`
    }${below.map(
      ({ look, count, words }) =>
        html`<span class="count" data-look=${look} title=${words}>${icon(look)}${shortCount(count)}</span>`,
    )}</span
  >`;
}

/** What `webview/context` menus are chosen by, and what their commands are given. */
function menuContext(row: TreeRow): string {
  return JSON.stringify({
    webviewSection: 'agent',
    agent: row.agent.id,
    agentName: row.agent.name,
    agentBusy: isBusy(row.agent),
    agentHasChildren: 0 < row.agent.children,
    preventDefaultContextMenuItems: true,
  });
}

function tooltip(row: TreeRow): string {
  const { agent } = row;
  const counted = 1 < agent.branch.agents ? branchCounts(agent.branch).map((count) => count.words) : [];
  const lines = [
    agent.name,
    agent.task,
    `${phaseWords(agent)}${agent.doing === '' ? '' : `: ${agent.doing}`}`,
  ];
  return [...lines, counted.join(', '), isScripted(agent.model) ? say('model.scriptedLong') : agent.model]
    .filter((line) => line !== '')
    .join('\n');
}

/** 8 px a level as in the editor's own trees; past ten levels 2 px, or 32 levels would push the name out. */
function indentPx(level: number): number {
  return 4 + 8 * Math.min(level, 10) + 2 * Math.max(0, level - 10);
}
