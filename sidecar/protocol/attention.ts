// Channel `requests`: what a person should look at, as the sidebar's Attention view shows it. Sections are
// bounded; what does not fit is a count.

import type { AgentRow } from './agent.ts';
import type { ChangeRow } from './change.ts';
import type { RequestRow } from './request.ts';

/** Rows of one section. 100 requests, 100 changes and 50 failures keep the native tree under its 300 nodes. */
export const sectionRows = { requests: 100, reviews: 100, failed: 50 } as const;

export interface AttentionState {
  readonly requests: readonly RequestRow[];
  readonly requestsTotal: number;
  readonly reviews: readonly ChangeRow[];
  readonly reviewsTotal: number;
  readonly failed: readonly AgentRow[];
  readonly failedTotal: number;
  readonly running: number;
  readonly done: number;
}

export const emptyAttention: AttentionState = {
  requests: [],
  requestsTotal: 0,
  reviews: [],
  reviewsTotal: 0,
  failed: [],
  failedTotal: 0,
  running: 0,
  done: 0,
};

export type AttentionAction = { readonly kind: 'attention/set'; readonly state: AttentionState };

export function attentionReducer(state: AttentionState, action: AttentionAction): AttentionState {
  switch (action.kind) {
    case 'attention/set':
      return action.state;
    default:
      return state;
  }
}
