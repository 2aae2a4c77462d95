// First answers to client keys of methods whose rows have no key of their own: asked again, a method answers the same
// for ever and does nothing.

import type { Step } from './step.ts';

/** The answer that was kept under a key; null: it is a new one. It was written by `keepAnswer`, so its form is known. */
export function answerTo<T>(step: Step, key: string): T | null {
  const row = step.store.range('answered.key', [key], { limit: 1 })[0];
  if (row === undefined) return null;
  const answer: T = JSON.parse(row.answer);
  return answer;
}

/** Keeps the first answer to a key. */
export function keepAnswer(step: Step, key: string, answer: object): void {
  step.store.insert('answered', { key, answer: JSON.stringify(answer), at: step.nowMs });
}
