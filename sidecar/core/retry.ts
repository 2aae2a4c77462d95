// What follows from a model request that gave no answer.

import type { ModelOutcome } from './terms.ts';

export type AfterLoss =
  /** Park and ask again at this time. */
  | { readonly kind: 'again'; readonly atMs: number }
  /** A person decides whether to go on. */
  | { readonly kind: 'quarantine'; readonly message: string }
  /** Wait until the provider has a key that works. */
  | { readonly kind: 'key'; readonly message: string }
  /** Ask again as soon as an editor's window can carry it; not the request's fault, so it is not counted. */
  | { readonly kind: 'editor' }
  | { readonly kind: 'failed'; readonly message: string };

export interface RetryFacts {
  readonly nowMs: number;
  /** Lost attempts of this round so far. */
  readonly tries: number;
  /** At least 0, below 1. */
  readonly random: number;
  readonly model: string;
}

export interface RetryBounds {
  readonly lostAttempts: number;
  readonly retryFirstMs: number;
  readonly retryLongestMs: number;
}

/** Doubling from the first delay, then up to half as much again at random, so that many do not come back at once (case 165). */
export function backoffMs(tries: number, random: number, bounds: RetryBounds): number {
  const base = Math.min(bounds.retryLongestMs, bounds.retryFirstMs * 2 ** Math.min(tries, 20));
  return Math.round(base * (1 + random / 2));
}

/** Decides by the kind of loss. Answers never come here, nor refusals: those are the pool's (pace.ts). */
export function afterLoss(
  outcome: Exclude<ModelOutcome, { kind: 'answer' | 'refused' }>,
  facts: RetryFacts,
  bounds: RetryBounds,
): AfterLoss {
  switch (outcome.kind) {
    case 'cut':
      if (facts.tries + 1 >= bounds.lostAttempts) {
        return {
          kind: 'quarantine',
          message: `The connection to ${facts.model} broke ${facts.tries + 1} times in this step: ${outcome.message}`,
        };
      }
      return { kind: 'again', atMs: facts.nowMs + backoffMs(facts.tries, facts.random, bounds) };
    case 'rejected':
      return rejected(outcome, facts.model);
  }
}

function rejected(outcome: Extract<ModelOutcome, { kind: 'rejected' }>, model: string): AfterLoss {
  switch (outcome.code) {
    case 'noKey':
      return { kind: 'key', message: outcome.message };
    case 'noEditor':
      return { kind: 'editor' };
    case 'wrongKey':
      return {
        kind: 'failed',
        message: `The provider of ${model} refused the key: ${outcome.message} Set another key, then send the task again.`,
      };
    case 'noCredit':
      return {
        kind: 'failed',
        message: `The provider of ${model} says that its account has no credit: ${outcome.message} Add credit or choose another model.`,
      };
    case 'modelUnknown':
      return {
        kind: 'failed',
        message: `The provider does not know ${model}: ${outcome.message} Choose another model.`,
      };
    case 'contextTooLong':
      return {
        kind: 'failed',
        message: `The conversation does not fit into ${model}, even with most of it left out: ${outcome.message} Choose a model with a larger context.`,
      };
    case 'staleReasoning':
    case 'badRequest':
      return { kind: 'failed', message: `${model} did not accept the request: ${outcome.message}` };
  }
}
