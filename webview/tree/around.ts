// What stands around the tree's rows: the filter line, the line that says what holds everything up, and what
// is shown instead of rows. Loading, empty, no match and failed are four different sights (case 230).

import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import type { FleetState } from '../../sidecar/protocol/fleet.ts';
import type { PanelCommand } from '../../sidecar/protocol/panel.ts';
import { icon } from '../icons.ts';
import { noticeTemplate } from '../notices.ts';
import type { Notice } from '../notices.ts';
import { say, sayCount } from '../strings.ts';

export interface TopState {
  readonly filter: string;
  readonly order: 'attention' | 'created';
  readonly searching: boolean;
  readonly notices: readonly Notice[];
}

export interface TopActs {
  readonly filtered: (event: InputEvent) => void;
  readonly filterKey: (event: KeyboardEvent) => void;
  readonly clear: () => void;
  readonly toggleOrder: () => void;
  readonly run: (command: PanelCommand) => void;
}

export function topTemplate(state: TopState, acts: TopActs): TemplateResult {
  const order = say(state.order === 'attention' ? 'tree.orderAttention' : 'tree.orderCreated');
  return html`
    <div class="filterline">
      <label class="filter" data-busy=${state.searching}>
        ${icon('search')}
        <input
          type="text"
          spellcheck="false"
          autocomplete="off"
          placeholder=${say('tree.filter')}
          aria-label=${say('tree.filter')}
          aria-controls="tree"
          .value=${state.filter}
          @input=${acts.filtered}
          @keydown=${acts.filterKey}
        />
        ${
          state.filter === ''
            ? nothing
            : html`<button
                class="quiet"
                title=${say('tree.filterClear')}
                aria-label=${say('tree.filterClear')}
                @click=${acts.clear}
              >
                ${icon('close')}
              </button>`
        }
      </label>
      <button class="quiet" title=${order} aria-label=${order} @click=${acts.toggleOrder}>
        ${icon(state.order === 'attention' ? 'sortAttention' : 'sortCreated')}
      </button>
    </div>
    ${state.notices.map((notice) => noticeTemplate(notice, acts.run))}
  `;
}

export type Sight = 'loading' | 'empty' | 'noMatch' | 'failed' | 'rows';

/** Which of the five sights there is: an empty list is only said to be empty when it is known to be. */
export function sightOf(
  isFailed: boolean,
  known: { readonly total: number; readonly partial: boolean } | null,
  filter: string,
): Sight {
  if (known === null) return isFailed ? 'failed' : 'loading';
  if (0 < known.total) return 'rows';
  if (known.partial) return 'loading';
  return filter === '' ? 'empty' : 'noMatch';
}

export function sightTemplate(
  sight: Sight,
  filter: string,
  run: (command: PanelCommand) => void,
): TemplateResult | typeof nothing {
  switch (sight) {
    case 'rows':
    case 'failed': // its notice says what happened and what to do
      return nothing;
    case 'loading':
      return html`<p class="sight" data-sight="loading">
        ${say(filter === '' ? 'tree.loading' : 'tree.searching')}
      </p>`;
    case 'noMatch':
      return html`<p class="sight" data-sight="noMatch">${say('tree.noMatch', filter)}</p>`;
    case 'empty':
      return html`<div class="sight" data-sight="empty">
        <p>${say('tree.empty')}</p>
        <p class="hint">${say('tree.emptyHint')}</p>
        <button class="primary" @click=${() => run('roost.newAgent')}>${say('tree.newAgent')}</button>
        <button class="secondary" @click=${() => run('roost.askSwarm')}>${say('tree.askSwarm')}</button>
      </div>`;
  }
}

/** The fleet in one sentence, for the live region. */
export function digestWords(fleet: FleetState): string {
  const parts: string[] = [];
  if (0 < fleet.decisions) parts.push(sayCount('count.needs', fleet.decisions));
  if (0 < fleet.failed) parts.push(say('count.failed', fleet.failed));
  if (0 < fleet.running) parts.push(say('count.running', fleet.running));
  if (0 < fleet.waiting) parts.push(say('count.waiting', fleet.waiting));
  if (0 < fleet.done) parts.push(say('count.done', fleet.done));
  return parts.length === 0 ? '' : say('tree.digest', parts.join(', '));
}
