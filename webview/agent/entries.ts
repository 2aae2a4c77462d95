// How each kind of item is drawn. Nothing here keeps state: what is opened comes from folds.ts, and clicks are
// found by `data-act` on their way up (acts.ts), so an item that scrolls away leaves no listener behind.

import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import type { Sender } from '../../sidecar/protocol/entry.ts';
import { icon, lookIcon } from '../icons.ts';
import { limits } from '../limits.ts';
import { markdown } from '../markdown.ts';
import { say, sayCount } from '../strings.ts';
import { clockWords } from '../words.ts';
import { drawCall } from './callItem.ts';
import type { Item } from './items.ts';
import { bounded, spinner } from './pieces.ts';
import type { DrawParts } from './pieces.ts';

export function drawItem(item: Item, parts: DrawParts): unknown {
  switch (item.kind) {
    case 'user':
      return drawUser(item, parts);
    case 'text':
      return drawText(item, parts);
    case 'thinking':
      return drawThinking(item, parts);
    case 'call':
      return drawCall(item, parts);
    case 'notice':
      return drawFolded(item, parts, { icon: 'bell', title: sayCount('transcript.notice', item.outcomes) });
    case 'note':
      return drawFolded(item, parts, { icon: 'info', title: say('transcript.note') });
    case 'context':
      return drawFolded(item, parts, { icon: 'info', title: contextTitle(item) });
    case 'stop':
      return html`<p class="aside" data-tone="warning">
        ${icon('warning')} ${say(item.stop === 'refusal' ? 'transcript.refusal' : 'transcript.length')}
      </p>`;
    case 'end':
      return drawEnd(item, parts);
    case 'request':
      return parts.drawRequest(item);
    case 'asking':
      return html`<p class="aside busy">${spinner} ${say('transcript.thinking')}</p>`;
  }
}

function drawUser(item: Extract<Item, { kind: 'user' }>, parts: DrawParts): TemplateResult {
  const how =
    item.delivery === 'steer'
      ? say('transcript.steered')
      : item.delivery === 'message'
        ? say('transcript.message')
        : '';
  return html`<article class="said" data-from=${item.from === 'person' ? 'person' : 'agent'}>
    <header>
      ${drawSender(item.from, parts)}${how === '' ? nothing : html`<span class="chip">${how}</span>`}
      <time>${clockWords(item.atMs, parts.nowMs)}</time>
    </header>
    <div class="plain">${bounded(`${item.key}/text`, item.text, parts.folds)}</div>
  </article>`;
}

function drawSender(from: Sender, { nameOf }: DrawParts): TemplateResult {
  if (from === 'person') return html`<strong>${say('transcript.you')}</strong>`;
  return html`<button class="link" data-act="showAgent" data-agent=${from}>
    ${nameOf(from) ?? say('transcript.fromAgent', from)}
  </button>`;
}

function drawText(item: Extract<Item, { kind: 'text' }>, parts: DrawParts): TemplateResult {
  const { text, key, live } = item;
  const long = limits.markdownChars < text.length;
  const shown = long ? text.slice(0, cutAt(text, limits.markdownChars)) : text;
  const restKey = `${key}/rest`;
  const rest = text.slice(shown.length);
  return html`<article class="answer" data-live=${live}>
    <div class="md" ${markdown(shown, live)}></div>
    ${
      !long
        ? nothing
        : parts.folds.isOpen(restKey)
          ? html`<pre class="plain" tabindex="0">${rest}</pre>`
          : html`<button class="link" data-act="toggle" data-key=${restKey}>
              ${sayCount('transcript.showAll', rest.length)}
            </button>`
    }
    ${live ? nothing : html`<button class="quiet copy" data-act="copyItem" data-key=${key} aria-label=${say('transcript.copy')} title=${say('transcript.copy')}>${icon('copy')}</button>`}
  </article>`;
}

/** The last line end before a bound, so that no word is cut; the bound itself in a text of one line. */
function cutAt(text: string, chars: number): number {
  const lineEnd = text.lastIndexOf('\n', chars);
  return lineEnd < chars / 2 ? chars : lineEnd + 1;
}

function drawThinking(item: Extract<Item, { kind: 'thinking' }>, parts: DrawParts): TemplateResult {
  const title = item.live ? say('transcript.thinking') : say('transcript.thought');
  return drawFolded(item, parts, { icon: 'thought', title, busy: item.live });
}

interface FoldedLook {
  readonly icon: 'bell' | 'info' | 'thought';
  readonly title: string;
  readonly busy?: boolean;
}

/** A line that opens: its title and the beginning of its text. */
function drawFolded(
  item: Extract<Item, { text: string }>,
  { folds }: DrawParts,
  look: FoldedLook,
): TemplateResult {
  const open = folds.isOpen(item.key);
  const hint = item.text.slice(0, 300).replace(/\s+/g, ' ').trim();
  return html`<div class="fold" data-kind=${item.kind}>
    <button class="foldline" data-act="toggle" data-key=${item.key} aria-expanded=${open}>
      <span class="twist" data-open=${open}>${icon('chevron')}</span
      >${look.busy === true ? spinner : icon(look.icon)}
      <span class="title">${look.title}</span>${open ? nothing : html`<span class="hint">${hint}</span>`}
    </button>
    ${open ? html`<div class="foldbody plain">${bounded(`${item.key}/text`, item.text, folds)}</div>` : nothing}
  </div>`;
}

/** What the model is sent less from here on. */
function contextTitle({ how, bytesBefore, bytesAfter }: Extract<Item, { kind: 'context' }>): string {
  if (how === 'plain' || how === 'handed') return say(`transcript.context.${how}`);
  const kilobytes = (bytes: number): number => Math.max(1, Math.round(bytes / 1024));
  return say(`transcript.context.${how}`, kilobytes(bytesBefore), kilobytes(bytesAfter));
}

function drawEnd(item: Extract<Item, { kind: 'end' }>, parts: DrawParts): TemplateResult {
  const look = item.outcome === 'done' ? 'done' : item.outcome === 'failed' ? 'failed' : 'stopped';
  return html`<div class="end" data-outcome=${item.outcome}>
    ${lookIcon(look)}<span class="words">${endWords(item)}</span
    ><time>${clockWords(item.atMs, parts.nowMs)}</time>
  </div>`;
}

export function endWords(item: {
  readonly outcome: Extract<Item, { kind: 'end' }>['outcome'];
  readonly text: string;
}): string {
  switch (item.outcome) {
    case 'done':
      return say('end.done');
    case 'failed':
      return item.text === '' ? say('end.failedBare') : say('end.failed', item.text);
    case 'interrupted':
      return say('end.interrupted');
    case 'superseded':
      return say('end.superseded');
  }
}
