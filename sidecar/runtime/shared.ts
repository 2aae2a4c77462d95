// Texts that many agents share: stored once, found by their hash.

import { hashText } from '../core/hash.ts';
import { limits } from './limits.ts';
import type { Step } from './step.ts';

/** The blob that holds this text, for all who share it. The hash only finds it; the text itself is compared. */
export function sharedBlob(step: Step, text: string): number {
  const hash = hashText(text);
  for (const { blob } of step.store.range('shared.hash', [hash], { limit: limits.slice }))
    if (step.store.blobText(blob) === text) return blob;
  const blob = step.store.putBlob(text);
  step.store.insert('shared', { hash, blob });
  return blob;
}
