// What a follow shows: the contract of a view, one kind a channel.
//
// A view knows which news concern it, and rebuilds from the store what it shows and no more (I13): the rows of its
// window, the entries after its cursor. It keeps what the comparison with what it told last needs, and no text of
// agents. Not here: when to look, sequence numbers, slow clients (follow.ts).

import type { AttentionState } from '../protocol/attention.ts';
import type { FleetState } from '../protocol/fleet.ts';
import type { Action, Snapshot } from '../protocol/frame.ts';
import type { AgentId } from '../protocol/ids.ts';
import type { News, Reads } from '../ports.ts';

/** `reset`: the state cannot be reached by actions, or a snapshot says it shorter. */
export interface Step {
  readonly actions: readonly Action[];
  readonly reset?: Snapshot;
}

export interface View {
  /** Shortest time between two frames. */
  readonly everyMs: number;
  /** A log: nothing is lost by waiting, so it has no resets and gets on as fast as its client reads. */
  readonly paged: boolean;
  /** Throws a RoostError when what is to be shown is not there. */
  snapshot(): Snapshot;
  /** Remembers what to look at; false when these news do not concern what is shown. */
  hear(news: News): boolean;
  /** There is more to tell than was told, without any news. */
  unfinished(): boolean;
  step(): Step;
}

/** What views of all follows share: counts that are read once however many look at them. */
export interface Shared {
  readonly reads: Reads;
  fleet(): FleetState;
  attention(): AttentionState;
  /** What streams in for this agent right now. */
  live(agent: AgentId): Live;
}

/** What a model and its commands have said since somebody looks, never stored. */
export interface Live {
  text: string;
  thinking: string;
  readonly outputs: Map<number, string>;
}
