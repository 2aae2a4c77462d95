// What the runtime remembers of folders: the last look at each, as a blob that its row names, and what a person has
// decided about files, as rows by hash. Both are read when an agent is made; agents that are there keep what they
// are pinned to. Not here: reading files (the Scout port), asking the person (trust.ts).

import { noKnowledge, type Knowledge, type Trusting } from '../core/knowledge.ts';
import type { KnowledgeRecord } from '../core/rows.ts';
import type { TrustState } from '../protocol/profile.ts';
import type { RuntimeEvent } from './event.ts';
import { limits } from './limits.ts';
import { remember } from './memory.ts';
import type { Step } from './step.ts';

/** A folder's row, made when it is new. */
export function placeOf(step: Step, path: string): number {
  const known = step.store.range('place.path', [path], { limit: 1 })[0];
  return known?.id ?? step.store.insert('place', { path });
}

/** What the last look at a folder found; nothing when nobody has looked. */
export function knowledgeOf(step: Step, place: number): Knowledge {
  const { blob = 0 } = rowOf(step, place) ?? {};
  if (blob === 0) return noKnowledge;
  const known = step.rt.knowledge.get(blob) ?? step.knowledge.get(blob);
  if (known !== undefined) return known;
  const json = step.store.blobText(blob);
  if (json === undefined) return noKnowledge;
  // Written by onLooked; what an older build did not know yet is not there.
  const stored: Partial<Knowledge> = JSON.parse(json);
  const knowledge = { ...noKnowledge, ...stored };
  keep(step, blob, knowledge);
  return knowledge;
}

const rowOf = (step: Step, place: number): KnowledgeRecord | undefined =>
  step.store.range('knowledge.place', [place], { limit: 1 })[0];

function keep(step: Step, blob: number, knowledge: Knowledge): void {
  step.knowledge.set(blob, knowledge);
  step.after(() => remember(step.rt.knowledge, blob, knowledge, limits.knownPlaces));
}

/** A look at a folder has come back: it is what agents are made with from now on. */
export function onLooked(step: Step, event: Extract<RuntimeEvent, { kind: 'looked' }>): void {
  const place = placeOf(step, event.workspace);
  const known = rowOf(step, place);
  const json = JSON.stringify(event.knowledge);
  const atMs = step.rt.clock.monotonicMs();
  step.after(() => remember(step.rt.lookedMs, place, atMs, limits.knownPlaces));
  if (known !== undefined && step.store.blobText(known.blob) === json) return;
  const blob = step.store.putBlob(json);
  if (known === undefined) step.store.insert('knowledge', { place, blob });
  else {
    step.store.update('knowledge', known.id, { blob });
    step.store.remove('blob', known.blob);
  }
  keep(step, blob, event.knowledge);
  step.pins.clear();
}

/** Whether the last look at a folder is young enough for an agent that starts others. */
export function isFresh(step: Step, place: number): boolean {
  const atMs = step.rt.lookedMs.get(place);
  return atMs !== undefined && step.rt.clock.monotonicMs() - atMs < limits.knowledgeFreshMs;
}

/** What a person has decided, as this step will leave it. */
export const trustingIn =
  (step: Step): Trusting =>
  ({ hash, own }) => {
    if (own) return 'trusted';
    const known = step.trust.get(hash);
    if (known !== undefined) return known;
    const state: TrustState = step.store.range('trust.hash', [hash], { limit: 1 })[0]?.verdict ?? 'pending';
    step.trust.set(hash, state);
    return state;
  };

/** Records a person's decision about a file. Returns whether it changes anything. */
export function setTrust(
  step: Step,
  file: { readonly hash: string; readonly label: string },
  verdict: 'trusted' | 'denied',
): boolean {
  const known = step.store.range('trust.hash', [file.hash], { limit: 1 })[0];
  if (known?.verdict === verdict) return false;
  const row = { verdict, label: file.label, at: step.nowMs };
  if (known === undefined) step.store.insert('trust', { hash: file.hash, ...row });
  else step.store.update('trust', known.id, row);
  step.trust.set(file.hash, verdict);
  step.pins.clear();
  return true;
}
