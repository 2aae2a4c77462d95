// The strip of an agent's commands in the background: what runs, since when, what it says, and a way to end it. There
// are at most eight of one agent (limits.backgroundOfAgent of the sidecar), so all are listed.

import { html, nothing, render } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { repeat } from 'lit-html/directives/repeat.js';
import type { CommandRow } from '../../sidecar/protocol/command.ts';
import type { CallId } from '../../sidecar/protocol/ids.ts';
import type { Announcer } from '../announce.ts';
import type { Bridge } from '../bridge.ts';
import { icon } from '../icons.ts';
import { limits } from '../limits.ts';
import { say, sayCount } from '../strings.ts';
import { clockWords } from '../words.ts';

export interface CommandStripParts {
  readonly root: HTMLElement;
  readonly bridge: Pick<Bridge, 'call'>;
  readonly announcer: Pick<Announcer, 'answer'>;
}

export class CommandStrip {
  readonly #parts: CommandStripParts;
  #rows: readonly CommandRow[] = [];
  /** The command whose output is shown, with the end of it. */
  #open: { readonly command: CallId; readonly text: string; readonly next: number } | null = null;
  #timer = 0;
  #closed = false;

  constructor(parts: CommandStripParts) {
    this.#parts = parts;
  }

  draw(rows: readonly CommandRow[]): void {
    this.#rows = rows;
    const { root } = this.#parts;
    root.hidden = rows.length === 0;
    const open = rows.find((row) => row.command === this.#open?.command);
    if (open === undefined) this.#open = null;
    const title = sayCount('commands.title', rows.length);
    render(
      html`<section aria-label=${title}>
        <div class="striphead">${icon('terminal')}<span class="title">${title}</span></div>
        <div class="commands">
          ${repeat(
            rows,
            (row) => row.command,
            (row) => this.#drawRow(row),
          )}
        </div>
      </section>`,
      root,
    );
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #drawRow(row: CommandRow): TemplateResult {
    const isOpen = this.#open?.command === row.command;
    return html`<div class="commandhead">
        <button
          class="foldline"
          aria-expanded=${isOpen}
          title=${say('commands.show', row.title)}
          @click=${() => this.#toggle(row)}
        >
          <span class="twist" data-open=${isOpen}>${icon('chevron')}</span>
          <code class="path">${row.title}</code>
        </button>
        <span class="hint">${say('since', clockWords(row.startedAtMs, Date.now()))}</span>
        <button
          class="secondary"
          title=${say('commands.killHint', row.title)}
          ?disabled=${row.stopping}
          @click=${() => void this.#kill(row)}
        >
          ${icon('stopped')}${row.stopping ? say('commands.stopping') : say('commands.kill')}
        </button>
      </div>
      ${
        isOpen
          ? html`<pre class="commandout" tabindex="0" aria-label=${say('call.output')}>
${this.#open?.text === '' ? say('call.noOutput') : this.#open?.text}</pre>`
          : nothing
      }`;
  }

  #toggle(row: CommandRow): void {
    clearTimeout(this.#timer);
    this.#open = this.#open?.command === row.command ? null : { command: row.command, text: '', next: 0 };
    this.draw(this.#rows);
    if (this.#open !== null) void this.#read(row.command);
  }

  /** What it has printed since, again and again for as long as it is looked at. */
  async #read(command: CallId): Promise<void> {
    const after = this.#open?.next ?? 0;
    const answer = document.hidden
      ? null
      : await this.#parts.bridge.call('command/output', { command, after });
    const open = this.#open;
    if (this.#closed || open?.command !== command) return;
    if (answer?.ok === true && answer.result.text !== '') {
      const text = (open.text + answer.result.text).slice(-limits.outputChars);
      this.#open = { command, text, next: answer.result.next };
      this.draw(this.#rows);
      const shown = this.#parts.root.querySelector('.commandout');
      shown?.scrollTo({ top: shown.scrollHeight });
    }
    this.#timer = window.setTimeout(() => void this.#read(command), limits.commandLookMs);
  }

  async #kill({ command, title }: CommandRow): Promise<void> {
    const { bridge, announcer } = this.#parts;
    const answer = await bridge.call('command/kill', { command, key: crypto.randomUUID() });
    if (this.#closed) return;
    if (!answer.ok) announcer.answer(answer.message);
    else announcer.answer(say(answer.result.killed ? 'commands.killed' : 'commands.ended', title));
  }
}
