// Where the person writes. Enter sends, Shift+Enter makes a line, an input method keeps its Enter (case 235).
// A text leaves the box only when it is acknowledged; what could not be sent is still there (I11).

import { html, nothing, render } from 'lit-html';
import { live } from 'lit-html/directives/live.js';
import type { TemplateResult } from 'lit-html';
import type { AgentRow } from '../../sidecar/protocol/agent.ts';
import type { Announcer } from '../announce.ts';
import type { Bridge } from '../bridge.ts';
import { icon } from '../icons.ts';
import type { BusyDelivery, Memory } from '../saved.ts';
import { withDraft } from '../saved.ts';
import { say } from '../strings.ts';
import { isBusy } from '../words.ts';

export interface ComposerParts {
  readonly root: HTMLElement;
  readonly bridge: Bridge;
  readonly memory: Memory;
  readonly announcer: Announcer;
  readonly stop: () => void;
  /** A message was accepted: the person wants to see what comes of it. */
  readonly sent: () => void;
}

export class Composer {
  readonly #parts: ComposerParts;
  #agent: AgentRow;
  #text: string;
  #sending: { readonly text: string; readonly key: string } | null = null;
  /** A text that could not be sent, with its key: sent again unchanged, it is the same message. */
  #failed: { readonly text: string; readonly key: string } | null = null;
  #message = '';
  #tone: 'info' | 'error' = 'info';
  #closed = false;

  constructor(parts: ComposerParts, agent: AgentRow) {
    this.#parts = parts;
    this.#agent = agent;
    this.#text = parts.memory.saved.drafts.find(([id]) => id === agent.id)?.[1] ?? '';
    this.draw();
  }

  setAgent(agent: AgentRow): void {
    this.#agent = agent;
    this.draw();
  }

  focus(): void {
    this.#parts.root.querySelector('textarea')?.focus();
  }

  close(): void {
    this.#closed = true;
  }

  draw(): void {
    if (this.#closed) return;
    const { name } = this.#agent;
    const busy = isBusy(this.#agent);
    const empty = this.#text.trim() === '';
    render(
      html`<div class="box">
          <textarea
            rows="1"
            aria-label=${say('composer.label', name)}
            placeholder=${say('composer.placeholder', name)}
            .value=${live(this.#text)}
            @input=${this.#typed}
            @keydown=${this.#keyDown}
          ></textarea>
          <div class="tools">
            ${busy ? this.#drawDelivery() : nothing}<span class="push"></span>
            ${
              busy
                ? html`<button
                    class="quiet"
                    title=${say('agent.stopHint')}
                    aria-label=${say('agent.stop')}
                    @click=${this.#parts.stop}
                  >
                    ${icon('stopped')}
                  </button>`
                : nothing
            }
            <button
              class="primary send"
              title=${say('composer.sendHint')}
              ?disabled=${empty || this.#sending !== null}
              @click=${() => this.#send(this.#delivery)}
            >
              ${icon('send')}${say(busy ? `composer.${this.#delivery}` : 'composer.send')}
            </button>
          </div>
        </div>
        ${this.#message === '' ? nothing : html`<p class="message" data-tone=${this.#tone}>${this.#message}</p>`}`,
      this.#parts.root,
    );
  }

  #drawDelivery(): TemplateResult {
    const choice = (delivery: BusyDelivery): TemplateResult =>
      html`<button
        role="radio"
        aria-checked=${this.#delivery === delivery}
        title=${say(`composer.${delivery}Hint`)}
        @click=${() => this.#choose(delivery)}
      >
        ${say(`composer.${delivery}`)}
      </button>`;
    return html`<div class="segments" role="radiogroup" aria-label=${say('composer.delivery')}>
      ${choice('queue')}${choice('steer')}
    </div>`;
  }

  get #delivery(): BusyDelivery {
    return this.#parts.memory.saved.delivery;
  }

  #choose(delivery: BusyDelivery): void {
    this.#parts.memory.update({ delivery });
    this.draw();
  }

  readonly #typed = (event: InputEvent): void => {
    if (event.target instanceof HTMLTextAreaElement) this.#setText(event.target.value);
    this.#message = '';
    this.draw();
  };

  readonly #keyDown = (event: KeyboardEvent): void => {
    // 229: the key belongs to an input method that is still composing (case 235).
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key !== 'Enter' || event.shiftKey || event.altKey) return;
    event.preventDefault();
    const other: BusyDelivery = this.#delivery === 'queue' ? 'steer' : 'queue';
    this.#send(event.ctrlKey || event.metaKey ? other : this.#delivery);
  };

  #setText(text: string): void {
    this.#text = text;
    const { memory } = this.#parts;
    memory.update({ drafts: withDraft(memory.saved.drafts, this.#agent.id, text) });
  }

  #send(delivery: BusyDelivery): void {
    const text = this.#text;
    if (text.trim() === '' || this.#sending !== null) return;
    const sending =
      this.#failed !== null && this.#failed.text === text ? this.#failed : { text, key: crypto.randomUUID() };
    this.#sending = sending;
    this.#message = '';
    this.draw();
    const { bridge } = this.#parts;
    void bridge
      .call('agent/send', { agent: this.#agent.id, text, delivery, key: sending.key })
      .then((answer) => {
        this.#sending = null;
        if (answer.ok) this.#accepted(text, answer.result.state);
        else this.#refused(sending, answer.message);
      });
  }

  #accepted(text: string, state: 'started' | 'queued' | 'steered'): void {
    this.#failed = null;
    // What was typed behind it while it was on its way stays.
    if (this.#text.startsWith(text)) this.#setText(this.#text.slice(text.length).trimStart());
    this.#message = state === 'started' ? '' : say(`composer.sent.${state}`);
    this.#tone = 'info';
    this.#parts.announcer.answer(say(`composer.sent.${state}`));
    this.#parts.sent();
    this.draw();
  }

  #refused(sending: { readonly text: string; readonly key: string }, reason: string): void {
    this.#failed = sending;
    this.#message = say('composer.failed', reason);
    this.#tone = 'error';
    this.#parts.announcer.answer(this.#message);
    this.draw();
  }
}
