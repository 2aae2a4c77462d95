// Fetches older and newer entries for the transcript, one page at a time. A page that fails is not asked again
// by itself: scrolling would ask sixty times a second; the person is told and tries again.

import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { entryId } from '../../sidecar/protocol/ids.ts';
import type { AgentId, EntryId } from '../../sidecar/protocol/ids.ts';
import type { Bridge } from '../bridge.ts';
import { limits } from '../limits.ts';
import { say } from '../strings.ts';
import type { Page, PageEnd, TranscriptModel } from './model.ts';
import { spinner } from './pieces.ts';

export interface PagerParts {
  readonly agent: AgentId;
  readonly bridge: Pick<Bridge, 'call'>;
  readonly model: TranscriptModel;
  readonly changed: () => void;
}

export class Pager {
  readonly #parts: PagerParts;
  #asking: PageEnd | null = null;
  #failed: { readonly end: PageEnd; readonly message: string } | null = null;
  #closed = false;

  constructor(parts: PagerParts) {
    this.#parts = parts;
  }

  /** Asks for the page beyond one end, when there is one and none is on its way. */
  want(end: PageEnd): void {
    if (this.#asking === null && this.#failed === null) void this.#ask(end);
  }

  /** Loads the stretch that ends with an entry, in place of what is loaded. */
  async jump(entry: EntryId): Promise<void> {
    if (this.#asking !== null || this.#failed !== null) return;
    const page = await this.#page('before', { before: entryId(entry + 1) });
    if (page !== null) this.#parts.model.jump(page);
    this.#parts.changed();
  }

  retry(): void {
    const end = this.#failed?.end;
    this.#failed = null;
    if (end !== undefined) void this.#ask(end);
  }

  close(): void {
    this.#closed = true;
  }

  /** What to show at an end of the transcript. */
  line(end: PageEnd): TemplateResult | typeof nothing {
    if (this.#failed?.end === end) {
      return html`<p class="aside" data-tone="error">
        ${say('transcript.pageFailed', this.#failed.message)}
        <button class="link" data-act="retryPage">${say('transcript.retry')}</button>
      </p>`;
    }
    if (this.#asking !== end) return nothing;
    return html`<p class="aside">
      ${spinner} ${say(end === 'before' ? 'transcript.older' : 'transcript.newer')}
    </p>`;
  }

  async #ask(end: PageEnd): Promise<void> {
    const { model } = this.#parts;
    const from = model.pageFrom(end);
    if (from === null) return;
    const page = await this.#page(end, end === 'before' ? { before: from } : { after: from });
    if (page !== null) model.addPage(end, from, page);
    this.#parts.changed();
  }

  async #page(end: PageEnd, place: { before: EntryId } | { after: EntryId }): Promise<Page | null> {
    const { agent, bridge, changed } = this.#parts;
    this.#asking = end;
    changed();
    const answer = await bridge.call('entry/page', { agent, ...place, limit: limits.pageEntries });
    this.#asking = null;
    if (this.#closed) return null;
    if (answer.ok) return answer.result;
    this.#failed = { end, message: answer.message };
    return null;
  }
}
