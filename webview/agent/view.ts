// The agent panel: shows one agent at a time, and says what is wrong when there is none to show.

import { html, nothing, render } from 'lit-html';
import type { AgentId, EntryId } from '../../sidecar/protocol/ids.ts';
import type { Connection, PanelCommand } from '../../sidecar/protocol/panel.ts';
import { inNextFrame } from '../frames.ts';
import { connectionNotice, noticeTemplate } from '../notices.ts';
import { say } from '../strings.ts';
import { Session } from './session.ts';
import type { SessionParts } from './session.ts';

export class AgentView {
  readonly #parts: SessionParts;
  readonly #notices = document.createElement('div');
  readonly #panel = document.createElement('div');
  #connection: Connection = { kind: 'connecting' };
  #session: Session | null = null;

  constructor(parts: SessionParts) {
    this.#parts = parts;
    this.#panel.className = 'panel';
    parts.root.append(this.#notices, this.#panel);
    window.addEventListener('focus', () => {
      if (document.activeElement === document.body) this.#session?.focusComposer();
    });
    this.#drawNone();
  }

  connection(connection: Connection): void {
    this.#connection = connection;
    inNextFrame(this.#drawNotices);
    // After a reload the page knows whom it showed; the extension may say `show` again, which changes nothing.
    const before = this.#parts.memory.saved.agent;
    if (this.#session === null && before !== null) this.show(before, null);
  }

  show(agent: AgentId, entry: EntryId | null): void {
    if (this.#session?.agent === agent) {
      if (entry !== null) this.#session.showEntry(entry);
      return;
    }
    this.#session?.close();
    this.#parts.memory.update({ agent });
    render(nothing, this.#panel);
    this.#session = new Session(agent, { ...this.#parts, root: this.#panel }, entry);
  }

  readonly #drawNotices = (): void => {
    const notice = connectionNotice(this.#connection);
    const run = (command: PanelCommand): void => this.#parts.bridge.post({ kind: 'command', command });
    render(notice === null ? nothing : noticeTemplate(notice, run), this.#notices);
  };

  #drawNone(): void {
    render(html`<p class="sight" data-sight="none">${say('agent.none')}</p>`, this.#panel);
  }
}
