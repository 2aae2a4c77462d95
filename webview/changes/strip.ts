// The strip above the composer: which files the agent changed, each opened to its diff, with a verdict for a
// hunk, a file, or all. Closed it is one line.

import { html, nothing, render } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { repeat } from 'lit-html/directives/repeat.js';
import type { ChangeRow, Hunk, Verdict } from '../../sidecar/protocol/change.ts';
import type { Bridge } from '../bridge.ts';
import { icon } from '../icons.ts';
import { say, sayCount } from '../strings.ts';
import { drawHunk } from './hunk.ts';
import { isUndecided } from './review.ts';
import type { OpenChange, Review } from './review.ts';

export class Strip {
  readonly #root: HTMLElement;
  readonly #bridge: Pick<Bridge, 'post'>;
  readonly #review: Review;
  #open = false;
  #sure = false;

  constructor(root: HTMLElement, bridge: Pick<Bridge, 'post'>, review: Review) {
    this.#root = root;
    this.#bridge = bridge;
    this.#review = review;
  }

  draw(): void {
    const { rows, undecided } = this.#review;
    this.#root.hidden = rows.length === 0;
    if (undecided.length === 0) this.#sure = false;
    render(
      html`<div class="striphead">
          <button class="foldline" aria-expanded=${this.#open} @click=${() => this.#toggle()}>
            <span class="twist" data-open=${this.#open}>${icon('chevron')}</span>${icon('diff')}
            <span class="title">${say('changes.title')}</span>
            ${
              undecided.length === 0
                ? html`<span class="hint">${say('changes.allDecided')}</span>`
                : html`<span class="hint">${sayCount('count.files', undecided.length)}</span> ${lineCounts(
                      sum(undecided, 'added'),
                      sum(undecided, 'removed'),
                    )}`
            }
          </button>
          ${0 < undecided.length ? this.#drawAll(undecided) : nothing}
        </div>
        ${this.#open ? this.#drawRows(rows) : nothing}`,
      this.#root,
    );
  }

  #toggle(): void {
    this.#open = !this.#open;
    this.draw();
  }

  #drawAll(undecided: readonly ChangeRow[]): TemplateResult {
    if (this.#sure) {
      return html`<span class="sure" role="group">
        ${sayCount('changes.rejectSure', undecided.length)}
        <button class="secondary" @click=${() => this.#decideAll('reject')}>
          ${say('changes.rejectYes')}
        </button>
        <button class="secondary" @click=${() => this.#setSure(false)}>${say('changes.rejectNo')}</button>
      </span>`;
    }
    const busy = this.#review.anyWorking;
    return html`<button class="secondary" ?disabled=${busy} @click=${() => this.#decideAll('accept')}>
        ${icon('done')}${say('changes.acceptAll')}
      </button>
      <button class="secondary" ?disabled=${busy} @click=${() => this.#setSure(true)}>
        ${icon('close')}${say('changes.rejectAll')}
      </button>`;
  }

  #decideAll(verdict: Verdict): void {
    this.#sure = false;
    void this.#review.decideAll(verdict);
  }

  #setSure(sure: boolean): void {
    this.#sure = sure;
    this.draw();
  }

  #drawRows(rows: readonly ChangeRow[]): TemplateResult {
    return html`<div class="changes">
      ${repeat(
        rows,
        (row) => row.id,
        (row) => this.#drawRow(row),
      )}
      ${
        this.#review.hasMore
          ? html`<button class="link" @click=${() => void this.#review.showMoreRows()}>
              ${say('changes.more')}
            </button>`
          : nothing
      }
    </div>`;
  }

  #drawRow(row: ChangeRow): TemplateResult {
    const open = this.#review.opened(row.id);
    const note = this.#review.note(row.id);
    const state = row.state === 'open' ? row.kind : null;
    return html`<section class="change" data-state=${row.state} aria-label=${row.label}>
      <div class="changehead">
        <button
          class="foldline"
          aria-expanded=${open !== undefined}
          aria-label=${say('changes.expand', row.label)}
          title=${row.path}
          @click=${() => this.#review.toggle(row)}
        >
          <span class="twist" data-open=${open !== undefined}>${icon('chevron')}</span>${icon('file')}
          <span class="title path"><bdi>${row.label}</bdi></span>
          <span class="word" data-state=${row.state}
            >${state === null ? say(`changes.state.${row.state}`) : state === 'edit' ? nothing : say(`changes.kind.${state}`)}</span
          >
          ${isUndecided(row) ? lineCounts(row.added, row.removed) : nothing}
        </button>
        ${this.#drawFileActs(row)}
      </div>
      ${note === undefined ? nothing : html`<p class="message" data-tone=${note.tone}>${note.text}</p>`}
      ${open === undefined ? nothing : this.#drawOpen(row, open)}
    </section>`;
  }

  #drawFileActs(row: ChangeRow): TemplateResult {
    const busy = this.#review.isWorking(row.id);
    const open = html`<button
      class="quiet"
      title=${say('changes.open')}
      aria-label=${say('changes.open')}
      @click=${() => this.#bridge.post({ kind: 'reviewChange', change: row.id })}
    >
      ${icon('open')}
    </button>`;
    if (!isUndecided(row)) return open;
    return html`${verdictButton('accept', 'changes.acceptFile', busy, () => void this.#review.decide(row, 'accept', 'all'))}
    ${verdictButton('reject', 'changes.rejectFile', busy, () => void this.#review.decide(row, 'reject', 'all'))}
    ${open}`;
  }

  #drawOpen(row: ChangeRow, open: OpenChange): TemplateResult {
    if (open.error !== '') return html`<p class="message" data-tone="error">${open.error}</p>`;
    if (open.detail === null) return html`<p class="aside">${say('changes.loading')}</p>`;
    if (open.hunks.length === 0) {
      return html`<p class="aside">${say(isUndecided(row) ? 'changes.noText' : 'changes.allDecided')}</p>`;
    }
    let room = open.shownLines;
    const shown = open.hunks.map(({ hunk, lines }) => {
      const drawn = lines.slice(0, Math.max(0, room));
      room -= lines.length;
      return { hunk, lines: drawn };
    });
    return html`<div class="diff" role="group" aria-label=${say('changes.lines', row.added, row.removed)}>
      ${shown
        .filter(({ lines }) => 0 < lines.length)
        .map(({ hunk, lines }, index) =>
          drawHunk(lines, {
            place: say('changes.hunk', index + 1, open.hunks.length, hunk.after.start),
            moved: hunk.now === null,
            busy: this.#review.isWorking(row.id),
            decide: isUndecided(row) ? (verdict) => void this.#review.decide(row, verdict, [hunk.id]) : null,
            open: () => this.#openHunk(row, hunk),
          }),
        )}
      ${
        room < 0
          ? html`<button class="link" @click=${() => this.#review.showMoreLines(row.id)}>
              ${sayCount('changes.moreLines', -room)}
            </button>`
          : nothing
      }
    </div>`;
  }

  #openHunk(row: ChangeRow, hunk: Hunk): void {
    this.#bridge.post({ kind: 'reviewChange', change: row.id, hunk: hunk.id });
  }
}

function verdictButton(
  verdict: Verdict,
  label: 'changes.acceptFile' | 'changes.rejectFile',
  busy: boolean,
  act: () => void,
): TemplateResult {
  return html`<button
    class="quiet"
    data-verdict=${verdict}
    title=${say(label)}
    aria-label=${say(label)}
    ?disabled=${busy}
    @click=${act}
  >
    ${icon(verdict === 'accept' ? 'done' : 'close')}
  </button>`;
}

function lineCounts(added: number, removed: number): TemplateResult {
  return html`<span class="linecounts" aria-label=${say('changes.lines', added, removed)}
    ><span class="plus">+${added}</span> <span class="minus">−${removed}</span></span
  >`;
}

function sum(rows: readonly ChangeRow[], side: 'added' | 'removed'): number {
  return rows.reduce((total, row) => total + row[side], 0);
}
