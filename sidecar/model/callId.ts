// Ids of calls across providers. A provider accepts only ids of its own form in a history, and a conversation
// may have been begun elsewhere, so an id that does not fit is replaced by a hash of itself: the same every time.

import { createHash } from 'node:crypto';

export interface IdForm {
  readonly pattern: RegExp;
  /** Characters of a replacement. */
  readonly length: number;
}

/** The id itself when it fits the form; else letters and digits made from it. */
export function callId(key: string, form: IdForm): string {
  if (form.pattern.test(key)) return key;
  return createHash('sha256').update(key).digest('hex').slice(0, form.length);
}
