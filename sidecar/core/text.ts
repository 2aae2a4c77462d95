// Cutting text to a bound without breaking it.

/** The first line of a text, at most `chars` UTF-16 units, never half a surrogate pair. */
export function firstLine(text: string, chars: number): string {
  const line = text.trimStart().split('\n', 1)[0] ?? '';
  return head(line.trimEnd(), chars);
}

/** At most `chars` UTF-16 units of a text; an ellipsis stands for what is missing. */
export function head(text: string, chars: number): string {
  if (text.length <= chars) return text;
  const cut = text.slice(0, Math.max(0, chars - 1));
  const last = cut.charCodeAt(cut.length - 1);
  const half = last >= 0xd800 && last <= 0xdbff;
  return (half ? cut.slice(0, -1) : cut) + '…';
}

/**
 * Lone surrogates become U+FFFD: a provider answers 400 to a body that holds one, and then to every later
 * request of the conversation.
 */
export function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\uFFFD');
}

/** UTF-8 bytes of a text. */
export function utf8Bytes(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code > 0x7ff) bytes += code >= 0xd800 && code <= 0xdfff ? 1 : 2;
    else if (code > 0x7f) bytes += 1;
  }
  return bytes;
}

/** A number and what it counts: `1 file`, `2 files`. */
export const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;
