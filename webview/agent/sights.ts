// What the panel shows in place of a transcript, and the way back to its end.

import { html } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { icon } from '../icons.ts';
import { say } from '../strings.ts';

/** Until the agent is known, and when it cannot be: two sights, not one (case 230). */
export function beforeFirst(refusal: string | null): TemplateResult {
  return refusal === null
    ? html`<p class="sight" data-sight="loading">${say('agent.loading')}</p>`
    : html`<p class="sight" data-sight="failed">${refusal}</p>`;
}

export function emptyLine(): TemplateResult {
  return html`<p class="sight" data-sight="empty">${say('transcript.empty')}</p>`;
}

export function latestButton(act: () => void): TemplateResult {
  return html`<button class="secondary latest" title=${say('transcript.latestHint')} @click=${act}>
    ${icon('down')}${say('transcript.latest')}
  </button>`;
}
