// How high an item probably is before it was seen. Only the scroll bar needs it; once drawn, items are measured.

import type { Item } from './items.ts';

/** Line height and width of a character of the usual 13 px font. */
const linePx = 20;
const charPx = 7;

export function estimatePx(item: Item, widthPx: number): number {
  switch (item.kind) {
    case 'user':
      return 52 + textPx(item.text, widthPx);
    case 'text':
      return 16 + textPx(item.text, widthPx);
    case 'request':
      return 120 + textPx(item.request.detail, widthPx);
    case 'call':
    case 'thinking':
    case 'notice':
    case 'note':
    case 'context':
      return 26;
    case 'stop':
    case 'end':
    case 'asking':
      return 34;
  }
}

function textPx(text: string, widthPx: number): number {
  const perLine = Math.max(20, Math.floor(Math.min(widthPx, 860) / charPx));
  // Only the first characters are looked at line by line: an estimate may be wrong, it may not be slow.
  const head = text.slice(0, 4_000);
  const lines = head
    .split('\n')
    .reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / perLine)), 0);
  return linePx * lines * (head.length === 0 ? 1 : text.length / head.length);
}
