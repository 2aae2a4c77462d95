// What several kinds of items are drawn with: the sign of something going on, and a long text in parts.

import { html } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import type { AgentId } from '../../sidecar/protocol/ids.ts';
import { say } from '../strings.ts';
import type { Folds } from './folds.ts';
import type { Item } from './items.ts';

/** What drawing an item needs to know besides the item. */
export interface DrawParts {
  readonly folds: Folds;
  readonly nowMs: number;
  /** Folder of the agent, for paths that its calls name. */
  readonly workspace: string;
  /** Name of another agent; null when it is not known here. */
  readonly nameOf: (agent: AgentId) => string | null;
  readonly drawRequest: (item: Extract<Item, { kind: 'request' }>) => TemplateResult;
}

export const spinner = html`<span class="spinner" aria-hidden="true"></span>`;

/** The first part of a long text, with a button for more of it. */
export function bounded(key: string, text: string, folds: Folds): TemplateResult {
  const shown = folds.shownChars(key);
  if (text.length <= shown) return html`${text}`;
  return html`${text.slice(0, shown)}<span class="cut">…</span>
    <button class="link" data-act="more" data-key=${key}>${say('call.more')}</button>`;
}
