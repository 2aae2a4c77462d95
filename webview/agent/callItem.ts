// A tool call: one line with its state, opened to its input and output. A running command shows the newest of
// what it prints. Long outputs are drawn in parts; what the row does not hold is read as a blob.

import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { drawLines } from '../changes/hunk.ts';
import { icon, toolIcon } from '../icons.ts';
import type { IconName } from '../icons.ts';
import { say } from '../strings.ts';
import { bytesWords } from '../words.ts';
import { callLine, callWord, editLines, inWorkspace, opensFile, prettyInput } from './calls.ts';
import type { CallWord } from './calls.ts';
import { outputPart } from './folds.ts';
import type { Folds } from './folds.ts';
import type { CallItem } from './items.ts';
import { bounded, spinner } from './pieces.ts';
import type { DrawParts } from './pieces.ts';

/** Lines of a running command's output under its folded line. */
const tailLines = 8;

const statusIcons: Readonly<Record<CallWord, IconName>> = {
  planned: 'ready',
  asking: 'needs',
  started: 'running',
  ok: 'done',
  error: 'failed',
  unknown: 'question',
  interrupted: 'stopped',
  open: 'idle',
};

export function drawCall(item: CallItem, parts: DrawParts): TemplateResult {
  const open = parts.folds.isOpen(item.key);
  const word = callWord(item);
  const line = callLine(item.input);
  const status = say(`call.${word}`);
  return html`<div class="call fold" data-status=${word}>
    <button class="foldline" data-act="toggle" data-key=${item.key} aria-expanded=${open}>
      <span class="twist" data-open=${open}>${icon('chevron')}</span>
      <span class="status">${word === 'started' ? spinner : icon(statusIcons[word])}</span>
      ${icon(toolIcon(item.tool))}<span class="title">${item.tool}</span
      ><code class="hint">${line.summary}</code>
      <span class=${word === 'ok' ? 'hidden' : 'word'}>${status}</span>
    </button>
    ${open ? drawInside(item, parts) : drawTail(item)}
  </div>`;
}

function drawTail(item: CallItem): TemplateResult | typeof nothing {
  const output = item.open?.output ?? '';
  if (output === '' || item.result !== null) return nothing;
  return html`<pre class="tail">${output.trimEnd().split('\n').slice(-tailLines).join('\n')}</pre>`;
}

function drawInside(item: CallItem, { folds, workspace }: DrawParts): TemplateResult {
  const { path, line } = callLine(item.input);
  const file =
    path === null || !opensFile(item.tool)
      ? nothing
      : html`<button
          class="link"
          data-act="openFile"
          data-path=${inWorkspace(workspace, path)}
          data-line=${line}
        >
          ${say('call.openFile', path)}
        </button>`;
  return html`<div class="foldbody">${file} ${drawInput(item, folds)} ${drawOutput(item, folds)}</div>`;
}

function drawInput(item: CallItem, folds: Folds): TemplateResult | typeof nothing {
  if (item.input === null) return nothing;
  const edit = editLines(item);
  if (edit !== null) return html`<div class="edit">${drawLines(edit)}</div>`;
  return part('call.input', html`${bounded(`${item.key}/in`, prettyInput(item.input), folds)}`);
}

function drawOutput(item: CallItem, folds: Folds): TemplateResult {
  const { result, key } = item;
  if (result === null)
    return part('call.output', html`${item.open?.output === '' ? say('call.noOutput') : item.open?.output}`);
  const loaded = folds.blob(key);
  const text = loaded === undefined || loaded.text === '' ? result.text : loaded.text;
  return html`${part('call.output', text === '' ? html`${say('call.noOutput')}` : bounded(outputPart(key), text, folds))}
  ${result.blob === undefined ? nothing : drawBlobLine(key, result.blob, folds)}`;
}

function drawBlobLine(key: string, blob: number, folds: Folds): TemplateResult | typeof nothing {
  const loaded = folds.blob(key);
  const button = (label: string): TemplateResult =>
    html`<button class="link" data-act="blob" data-key=${key} data-blob=${blob}>${label}</button>`;
  if (loaded === undefined) return button(say('call.whole'));
  switch (loaded.state) {
    case 'loading':
      return html`<p class="aside">${spinner} ${say('call.loading')}</p>`;
    case 'failed':
      return html`<p class="aside" data-tone="error">
        ${loaded.message} ${button(say('transcript.retry'))}
      </p>`;
    case 'bound':
      return html`<p class="aside">${say('call.wholeBound', bytesWords(loaded.next ?? 0))}</p>`;
    case 'here':
      if (loaded.next === null) return nothing;
      return button(say('call.wholeMore', bytesWords(loaded.next), bytesWords(loaded.totalBytes)));
  }
}

function part(title: 'call.input' | 'call.output', content: TemplateResult): TemplateResult {
  return html`<div class="label">${say(title)}</div>
    <pre class="io" tabindex="0" aria-label=${say(title)}>${content}</pre>`;
}
