// One reducer for all channels: the same code keeps a client's replica and the server's copy of it.

import { attentionReducer } from './attention.ts';
import { changesReducer } from './changes.ts';
import { fleetReducer } from './fleet.ts';
import type { Action, Snapshot } from './frame.ts';
import { logReducer } from './log.ts';
import { transcriptReducer } from './transcript.ts';
import { treeReducer } from './tree.ts';

/** Applies one action. An action of another channel, or of a newer protocol, changes nothing. */
export function reduce(snapshot: Snapshot, action: Action): Snapshot {
  switch (action.kind) {
    case 'fleet/set':
      return snapshot.kind === 'fleet'
        ? { kind: 'fleet', state: fleetReducer(snapshot.state, action) }
        : snapshot;
    case 'tree/rows':
    case 'tree/window':
      return snapshot.kind === 'tree'
        ? { kind: 'tree', state: treeReducer(snapshot.state, action) }
        : snapshot;
    case 'agent/row':
    case 'agent/entries':
    case 'agent/delta':
    case 'agent/streamEnd':
    case 'agent/calls':
    case 'agent/commands':
    case 'agent/requests':
      return snapshot.kind === 'agent'
        ? { kind: 'agent', state: transcriptReducer(snapshot.state, action) }
        : snapshot;
    case 'changes/rows':
      return snapshot.kind === 'changes'
        ? { kind: 'changes', state: changesReducer(snapshot.state, action) }
        : snapshot;
    case 'attention/set':
      return snapshot.kind === 'requests'
        ? { kind: 'requests', state: attentionReducer(snapshot.state, action) }
        : snapshot;
    case 'log/entries':
    case 'log/caughtUp':
      return snapshot.kind === 'log' ? { kind: 'log', state: logReducer(snapshot.state, action) } : snapshot;
    default:
      return snapshot;
  }
}
