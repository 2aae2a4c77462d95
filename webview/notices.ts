// A line across the top of a view: what is wrong, and the command that helps.

import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import type { Connection, PanelCommand } from '../sidecar/protocol/panel.ts';
import { icon } from './icons.ts';
import type { IconName } from './icons.ts';
import { say } from './strings.ts';

export interface Notice {
  readonly icon: IconName;
  readonly tone: 'info' | 'warning' | 'error';
  readonly text: string;
  /** More of it, for whoever points at it. */
  readonly title?: string;
  readonly commands: readonly { readonly command: PanelCommand; readonly label: string }[];
}

export function noticeTemplate(notice: Notice, run: (command: PanelCommand) => void): TemplateResult {
  return html`<div class="notice" data-tone=${notice.tone} title=${notice.title ?? nothing}>
    ${icon(notice.icon)}<span>${notice.text}</span>${notice.commands.map(
      ({ command, label }) => html`<button class="secondary" @click=${() => run(command)}>${label}</button>`,
    )}
  </div>`;
}

/** What to say about the connection; null when all is well. */
export function connectionNotice(connection: Connection): Notice | null {
  switch (connection.kind) {
    case 'connected':
    case 'connecting':
      return null;
    case 'restarting':
      return { icon: 'info', tone: 'warning', text: say('connection.restarting'), commands: [] };
    case 'untrusted':
      return { icon: 'info', tone: 'info', text: say('connection.untrusted'), commands: [] };
    case 'failed':
      return {
        icon: 'warning',
        tone: 'error',
        text: connection.message === '' ? say('connection.failed') : connection.message,
        commands: [
          { command: 'roost.restart', label: say('connection.restart') },
          { command: 'roost.showLog', label: say('connection.log') },
        ],
      };
  }
}
