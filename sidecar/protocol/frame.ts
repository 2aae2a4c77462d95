// Channels, snapshots and frames: how a client follows. It opens a channel, gets a snapshot at a sequence
// number and then frames with the next numbers. A number that is not the next one means: take a new snapshot.

import type { AttentionAction, AttentionState } from './attention.ts';
import type { ChangesAction, ChangesState } from './changes.ts';
import type { FleetAction, FleetState } from './fleet.ts';
import type { AgentId } from './ids.ts';
import type { LogAction, LogState } from './log.ts';
import type { TranscriptAction, TranscriptState } from './transcript.ts';
import type { TreeAction, TreeQuery, TreeWindow } from './tree.ts';

export type Channel =
  | { readonly kind: 'fleet' }
  | { readonly kind: 'tree'; readonly query: TreeQuery }
  | { readonly kind: 'agent'; readonly agent: AgentId }
  | { readonly kind: 'changes'; readonly agent: AgentId | null }
  | { readonly kind: 'requests' }
  | { readonly kind: 'log'; readonly agent: AgentId | null };

export type Snapshot =
  | { readonly kind: 'fleet'; readonly state: FleetState }
  | { readonly kind: 'tree'; readonly state: TreeWindow }
  | { readonly kind: 'agent'; readonly state: TranscriptState }
  | { readonly kind: 'changes'; readonly state: ChangesState }
  | { readonly kind: 'requests'; readonly state: AttentionState }
  | { readonly kind: 'log'; readonly state: LogState };

export type Action =
  FleetAction | TreeAction | TranscriptAction | ChangesAction | AttentionAction | LogAction;

/** Frames of one follow carry seq, seq + 1, … A frame with `reset` replaces the state: the client was too slow to be told every step. */
export interface Frame {
  readonly follow: number;
  readonly seq: number;
  readonly actions: readonly Action[];
  readonly reset?: Snapshot;
}

/** The protocol's minor version that brought each action in. Typed so that forgetting one does not compile. */
export const introducedIn: Record<Action['kind'], number> = {
  'fleet/set': 0,
  'tree/rows': 0,
  'tree/window': 0,
  'agent/row': 0,
  'agent/entries': 0,
  'agent/delta': 0,
  'agent/streamEnd': 0,
  'agent/calls': 0,
  'agent/commands': 0,
  'agent/requests': 0,
  'changes/rows': 0,
  'attention/set': 0,
  'log/entries': 0,
  'log/caughtUp': 0,
};
