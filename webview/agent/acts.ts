// Clicks and keys in the transcript, found on their way up by `data-act` and `data-href`. One listener for all
// items: those that scroll away leave nothing behind.

import { agentId, blobId } from '../../sidecar/protocol/ids.ts';
import type { Bridge } from '../bridge.ts';
import { safeLink } from '../markdown.ts';
import { say } from '../strings.ts';
import type { Announcer } from '../announce.ts';
import type { Folds } from './folds.ts';

export interface ActParts {
  readonly bridge: Bridge;
  readonly announcer: Announcer;
  readonly folds: Folds;
  /** The text of an item, for copying. */
  readonly textOf: (key: string) => string;
  readonly retryPage: () => void;
  /** Something opens or closes below the pointer. */
  readonly hold: () => void;
}

/** Listens below an element. Returns how to stop. */
export function listen(root: HTMLElement, parts: ActParts): () => void {
  const click = (event: Event): void => {
    if (!(event.target instanceof Element)) return;
    const link = event.target.closest<HTMLElement>('[data-href]');
    if (link !== null) return openLink(link, parts);
    const button = event.target.closest<HTMLElement>('[data-act]');
    if (button !== null) act(button, parts);
  };
  const key = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || event.isComposing || !(event.target instanceof HTMLElement)) return;
    if (event.target.dataset['href'] !== undefined) openLink(event.target, parts);
  };
  root.addEventListener('click', click);
  root.addEventListener('keydown', key);
  return () => {
    root.removeEventListener('click', click);
    root.removeEventListener('keydown', key);
  };
}

function openLink(link: HTMLElement, { bridge }: ActParts): void {
  // Checked when drawn, and again here: this is what leaves the page (case 222).
  const href = safeLink(link.dataset['href'] ?? '');
  if (href !== null) bridge.post({ kind: 'openLink', href });
}

function act(button: HTMLElement, parts: ActParts): void {
  const { dataset } = button;
  const key = dataset['key'] ?? '';
  switch (dataset['act'] ?? '') {
    case 'toggle':
      parts.hold();
      return parts.folds.toggle(key);
    case 'more':
      return parts.folds.showMore(key);
    case 'blob':
      void parts.folds.loadBlob(key, blobId(Number(dataset['blob'])));
      return;
    case 'openFile':
      return parts.bridge.post({
        kind: 'openFile',
        path: dataset['path'] ?? '',
        line: Number(dataset['line']),
      });
    case 'showAgent':
      return parts.bridge.post({ kind: 'showAgent', agent: agentId(Number(dataset['agent'])) });
    case 'copyItem':
      return copy(parts, parts.textOf(key));
    case 'copyCode':
      return copy(parts, button.closest('.code')?.querySelector('code')?.textContent ?? '');
    case 'retryPage':
      return parts.retryPage();
    default:
      return; // not one of ours
  }
}

function copy({ bridge, announcer }: ActParts, text: string): void {
  bridge.post({ kind: 'copy', text });
  announcer.answer(say('transcript.copied'));
}
