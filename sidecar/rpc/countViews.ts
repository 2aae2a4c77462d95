// Channels `fleet` and `requests`: a few counts, and what waits for a person. Small, so each is told whole when
// any of it has changed, and read once however many follow it.

import type { AttentionState } from '../protocol/attention.ts';
import type { FleetState } from '../protocol/fleet.ts';
import { limits } from '../runtime/limits.ts';
import type { Shared, View } from './view.ts';

export function fleetView(shared: Shared): View {
  let told = '';
  const look = (): FleetState => {
    const state = shared.fleet();
    told = JSON.stringify(state);
    return state;
  };
  return {
    everyMs: limits.listFrameMs,
    paged: false,
    unfinished: () => false,
    snapshot: () => ({ kind: 'fleet', state: look() }),
    hear: (news) => 0 < news.agents.size + news.requests.size + news.changes.size,
    step: () => {
      const before = told;
      const state = look();
      return { actions: before === told ? [] : [{ kind: 'fleet/set', state }] };
    },
  };
}

export function attentionView(shared: Shared): View {
  let told = '';
  const look = (): AttentionState => {
    const state = shared.attention();
    told = JSON.stringify(state);
    return state;
  };
  return {
    everyMs: limits.listFrameMs,
    paged: false,
    unfinished: () => false,
    snapshot: () => ({ kind: 'requests', state: look() }),
    hear: (news) => 0 < news.agents.size + news.requests.size + news.changes.size,
    step: () => {
      const before = told;
      const state = look();
      return { actions: before === told ? [] : [{ kind: 'attention/set', state }] };
    },
  };
}
