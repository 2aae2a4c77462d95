// Requests as cards in the transcript: what an agent asks of the person, answered where it stands, by button or
// by key. Only the person's own act answers; an answer is sent until it is acknowledged, under one key, so that
// it is applied once (I15). Text typed into a card survives its scrolling away.

import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import type { RequestId } from '../../sidecar/protocol/ids.ts';
import type { Answer, RequestRow } from '../../sidecar/protocol/request.ts';
import type { Announcer } from '../announce.ts';
import type { Bridge } from '../bridge.ts';
import { inNextFrame } from '../frames.ts';
import { icon } from '../icons.ts';
import type { IconName } from '../icons.ts';
import { say } from '../strings.ts';
import type { Folds } from './folds.ts';
import { bounded, spinner } from './pieces.ts';

export interface CardParts {
  readonly bridge: Bridge;
  readonly announcer: Announcer;
  readonly folds: Folds;
  readonly changed: () => void;
}

type CardState = {
  readonly phase: 'open' | 'denying' | 'sending' | 'answered';
  readonly text: string;
  readonly message: string;
};

const fresh: CardState = { phase: 'open', text: '', message: '' };

const kindIcons: Readonly<Record<RequestRow['kind'], IconName>> = {
  approval: 'shield',
  question: 'question',
  budget: 'info',
  conflict: 'diff',
  trust: 'shield',
  quarantine: 'warning',
};

export class Cards {
  readonly #parts: CardParts;
  readonly #states = new Map<RequestId, CardState>();
  /** Key of an answer on its way; kept when sending failed, so that the same answer again is the same answer. */
  readonly #keys = new Map<string, string>();
  #requests: readonly RequestRow[] = [];

  constructor(parts: CardParts) {
    this.#parts = parts;
  }

  /** Takes the open requests; what was typed for others is forgotten. */
  take(requests: readonly RequestRow[]): void {
    this.#requests = requests;
    const open = new Set(requests.map((request) => request.id));
    for (const id of this.#states.keys()) if (!open.has(id)) this.#states.delete(id);
    if (open.size === 0) this.#keys.clear();
  }

  draw(request: RequestRow): TemplateResult {
    const state = this.#states.get(request.id) ?? fresh;
    const keys = request.choices.length === 0 ? say('request.keys') : say('request.keysChoices');
    return html`<section
      class="card"
      data-kind=${request.kind}
      tabindex="0"
      data-request=${request.id}
      aria-label=${`${say(`request.${request.kind}`)}: ${request.title}`}
      aria-description=${isFreeText(request) ? nothing : keys}
      @keydown=${(event: KeyboardEvent) => this.#keyDown(event, request)}
    >
      <header>${icon(kindIcons[request.kind])}<span>${say(`request.${request.kind}`)}</span></header>
      ${request.detail.startsWith(request.title) ? nothing : html`<p class="title">${request.title}</p>`}
      ${request.detail === '' ? nothing : drawDetail(request, this.#parts.folds)}
      ${this.#drawAnswers(request, state)}
      ${state.message === '' ? nothing : html`<p class="message">${state.message}</p>`}
    </section>`;
  }

  #drawAnswers(request: RequestRow, state: CardState): TemplateResult | typeof nothing {
    if (state.phase === 'answered') return nothing;
    if (state.phase === 'sending') return html`<p class="aside">${spinner} ${say('request.sending')}</p>`;
    if (isFreeText(request)) return this.#drawText(request, state, 'request.answer');
    if (state.phase === 'denying') return this.#drawText(request, state, 'request.reason');
    if (0 < request.choices.length) return this.#drawChoices(request);
    // What is asked about is done or not; all else is about whether the turn goes on.
    const decides = request.kind === 'approval' || request.kind === 'trust';
    const alike = this.#alike(request);
    return html`<div class="buttons">
      <button class="primary" @click=${() => this.#send(request, { kind: 'allow' })}>
        ${say(decides ? 'request.allow' : 'request.goOn')}
      </button>
      <button class="secondary" @click=${() => this.#send(request, { kind: 'deny', reason: '' })}>
        ${say(decides ? 'request.deny' : 'request.giveUp')}
      </button>
      <button class="secondary" @click=${() => this.#startDenying(request)}>
        ${say('request.denyWith')}
      </button>
      ${
        1 < alike.length
          ? html`<button class="secondary" @click=${() => this.#sendMany(alike, { kind: 'allow' })}>
              ${say('request.allowAll', alike.length)}
            </button>`
          : nothing
      }
    </div>`;
  }

  #drawChoices(request: RequestRow): TemplateResult {
    return html`<ol class="choices">
      ${request.choices.map(
        (choice, index) =>
          html`<li>
            <button class="secondary" @click=${() => this.#send(request, { kind: 'text', text: choice })}>
              ${index < 9 ? html`<kbd>${index + 1}</kbd>` : nothing}${choice}
            </button>
          </li>`,
      )}
    </ol>`;
  }

  #drawText(
    request: RequestRow,
    state: CardState,
    label: 'request.answer' | 'request.reason',
  ): TemplateResult {
    return html`<div class="textanswer">
      <textarea
        rows="2"
        aria-label=${say(label)}
        placeholder=${say(label)}
        .value=${state.text}
        @input=${(event: InputEvent) => this.#typed(event, request)}
        @keydown=${(event: KeyboardEvent) => this.#textKey(event, request)}
      ></textarea>
      <div class="buttons">
        <button class="primary" @click=${() => this.#sendText(request)}>
          ${say(label === 'request.reason' ? 'request.deny' : 'request.send')}
        </button>
        ${
          label === 'request.reason'
            ? html`<button class="secondary" @click=${() => this.#put(request, { ...fresh })}>
                ${say('request.cancel')}
              </button>`
            : nothing
        }
      </div>
    </div>`;
  }

  #keyDown(event: KeyboardEvent, request: RequestRow): void {
    if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return;
    const state = this.#states.get(request.id) ?? fresh;
    if (state.phase !== 'open' || isFreeText(request)) return;
    const choice = request.choices[Number(event.key) - 1];
    if (choice !== undefined) this.#send(request, { kind: 'text', text: choice });
    else if (0 < request.choices.length) return;
    else if (event.key === 'a') this.#send(request, { kind: 'allow' });
    else if (event.key === 'd') this.#send(request, { kind: 'deny', reason: '' });
    else if (event.key === 'r') this.#startDenying(request);
    else return;
    event.preventDefault();
  }

  #textKey(event: KeyboardEvent, request: RequestRow): void {
    // 229: the key belongs to an input method that is still composing (case 235).
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key === 'Escape' && !isFreeText(request)) this.#put(request, { ...fresh });
    else if (event.key === 'Enter' && !event.shiftKey) this.#sendText(request);
    else return;
    event.preventDefault();
  }

  #typed(event: InputEvent, request: RequestRow): void {
    if (!(event.target instanceof HTMLTextAreaElement)) return;
    const state = this.#states.get(request.id) ?? fresh;
    this.#states.set(request.id, { ...state, text: event.target.value });
  }

  #startDenying(request: RequestRow): void {
    this.#put(request, { ...fresh, phase: 'denying' });
    // Behind the draw that was just asked for, in the same frame: the box is there by then.
    inNextFrame(() => {
      document.querySelector<HTMLTextAreaElement>(`[data-request="${request.id}"] textarea`)?.focus();
    });
  }

  #sendText(request: RequestRow): void {
    const { text } = this.#states.get(request.id) ?? fresh;
    if (!isFreeText(request)) this.#send(request, { kind: 'deny', reason: text.trim() });
    else if (text.trim() !== '') this.#send(request, { kind: 'text', text });
  }

  #send(request: RequestRow, answer: Answer): void {
    const { bridge, announcer } = this.#parts;
    const before = this.#states.get(request.id) ?? fresh;
    this.#put(request, { ...before, phase: 'sending', message: '' });
    const key = this.#keyOf(String(request.id), answer);
    void bridge.call('request/answer', { request: request.id, answer, key }).then((answered) => {
      if (!answered.ok) {
        const phase = before.phase === 'sending' ? 'open' : before.phase;
        this.#put(request, { ...before, phase, message: say('request.failed', answered.message) });
        announcer.answer(say('request.failed', answered.message));
        return;
      }
      const words = say(answered.result.state === 'applied' ? 'request.applied' : 'request.stale');
      this.#put(request, { ...before, phase: 'answered', message: words });
      announcer.answer(words);
    });
  }

  #sendMany(requests: readonly RequestRow[], answer: Answer): void {
    const { bridge, announcer } = this.#parts;
    const key = this.#keyOf(requests.map(({ id }) => id).join(), answer);
    for (const request of requests) this.#put(request, { ...fresh, phase: 'sending' });
    void bridge
      .call('request/answerMany', { requests: requests.map(({ id }) => id), answer, key })
      .then((answered) => {
        const message = answered.ok
          ? say(answered.result.stale === 0 ? 'request.applied' : 'request.stale')
          : say('request.failed', answered.message);
        for (const request of requests)
          this.#put(request, { ...fresh, phase: answered.ok ? 'answered' : 'open', message });
        announcer.answer(message);
      });
  }

  #keyOf(requests: string, answer: Answer): string {
    const what = `${requests}:${JSON.stringify(answer)}`;
    const key = this.#keys.get(what) ?? crypto.randomUUID();
    this.#keys.set(what, key);
    return key;
  }

  #alike(request: RequestRow): readonly RequestRow[] {
    if (request.cluster === null) return [request];
    return this.#requests.filter((other) => other.cluster === request.cluster && other.state === 'open');
  }

  #put(request: RequestRow, state: CardState): void {
    this.#states.set(request.id, state);
    this.#parts.changed();
  }
}

/** Any text will do: a question without choices. */
function isFreeText(request: RequestRow): boolean {
  return request.kind === 'question' && request.choices.length === 0;
}

/** The whole of a request. Lines of a diff get the colours of one. */
function drawDetail(request: RequestRow, folds: Folds): TemplateResult {
  const key = `request.${request.id}/detail`;
  if (!/^@@ /m.test(request.detail))
    return html`<pre class="io" tabindex="0">${bounded(key, request.detail, folds)}</pre>`;
  const shown = request.detail.slice(0, folds.shownChars(key));
  return html`<pre class="io patch" tabindex="0">
${shown
        .replace(/\n$/, '')
        .split('\n')
        .map((line) => html`<span data-line=${lineKind(line)}>${`${line}\n`}</span>`)}</pre>
    ${
      shown.length < request.detail.length
        ? html`<button class="link" data-act="more" data-key=${key}>${say('call.more')}</button>`
        : nothing
    }`;
}

function lineKind(line: string): 'added' | 'removed' | 'head' | 'same' {
  if (line.startsWith('@@') || line.startsWith('+++') || line.startsWith('---')) return 'head';
  if (line.startsWith('+')) return 'added';
  return line.startsWith('-') ? 'removed' : 'same';
}
