// The view of each kind of channel.

import type { Channel } from '../protocol/frame.ts';
import type { EntryId } from '../protocol/ids.ts';
import { AgentView } from './agentView.ts';
import { ChangesView } from './changesView.ts';
import { attentionView, fleetView } from './countViews.ts';
import { LogView } from './logView.ts';
import { TreeView } from './treeView.ts';
import type { Shared, View } from './view.ts';

/** `after` is the cursor of a log; the others begin at the present state. */
export function createView(channel: Channel, after: EntryId | undefined, shared: Shared): View {
  switch (channel.kind) {
    case 'fleet':
      return fleetView(shared);
    case 'requests':
      return attentionView(shared);
    case 'tree':
      return new TreeView(channel.query, shared.reads);
    case 'agent':
      return new AgentView(channel.agent, shared);
    case 'changes':
      return new ChangesView(channel.agent, shared.reads);
    case 'log':
      return new LogView(channel.agent, after ?? 0, shared.reads);
  }
}
