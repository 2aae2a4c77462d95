// One hunk as a person reads it: line numbers of both sides, a sign, the text with its changed words marked,
// and the two verdicts. Colour is never the only sign: removed lines carry −, added lines +.

import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import type { Verdict } from '../../sidecar/protocol/change.ts';
import { icon } from '../icons.ts';
import { limits } from '../limits.ts';
import { say } from '../strings.ts';
import type { DiffLine, Piece } from './diff.ts';

export interface HunkLook {
  readonly place: string;
  /** The person has changed these lines since. */
  readonly moved: boolean;
  readonly busy: boolean;
  /** null when nothing is left to decide. */
  readonly decide: ((verdict: Verdict) => void) | null;
  readonly open: () => void;
}

const signs: Readonly<Record<DiffLine['kind'], string>> = { same: ' ', removed: '−', added: '+' };

export function drawHunk(lines: readonly DiffLine[], look: HunkLook): TemplateResult {
  return html`<div class="hunk" role="group" aria-label=${look.place}>
    <div class="hunkhead">
      <button class="link" title=${say('changes.open')} @click=${look.open}>${look.place}</button>
      ${look.moved ? html`<span class="word" data-look="needs">${icon('warning')}${say('changes.moved')}</span>` : nothing}
      <span class="push"></span>
      ${look.decide === null ? nothing : verdicts(look.decide, look.busy)}
    </div>
    ${drawLines(lines)}
  </div>`;
}

/** Lines with their numbers and signs; they scroll sideways as one. */
export function drawLines(lines: readonly DiffLine[]): TemplateResult {
  return html`<div class="lines" tabindex="0">
    ${lines.map(
      (line) =>
        html`<div class="line" data-line=${line.kind}>
          <span class="no">${line.baseLine ?? ''}</span><span class="no">${line.afterLine ?? ''}</span
          ><span class="sign">${signs[line.kind]}</span><span class="text">${drawPieces(line.pieces)}</span>
        </div>`,
    )}
  </div>`;
}

function verdicts(decide: (verdict: Verdict) => void, busy: boolean): TemplateResult {
  return html`<button
      class="secondary"
      data-verdict="accept"
      ?disabled=${busy}
      @click=${() => decide('accept')}
    >
      ${icon('done')}${say('changes.accept')}
    </button>
    <button class="secondary" data-verdict="reject" ?disabled=${busy} @click=${() => decide('reject')}>
      ${icon('close')}${say('changes.reject')}
    </button>`;
}

function drawPieces(pieces: readonly Piece[]): unknown {
  let room: number = limits.diffLineChars;
  let missing = 0;
  const drawn = pieces.map(({ text, changed }) => {
    const shown = text.slice(0, Math.max(0, room));
    room -= text.length;
    missing += text.length - shown.length;
    return changed ? html`<mark>${shown}</mark>` : shown;
  });
  return 0 < missing ? html`${drawn}<span class="cut">${say('changes.cutLine', missing)}</span>` : drawn;
}
