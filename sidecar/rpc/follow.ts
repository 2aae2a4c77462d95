// Who follows what. The runtime tells this hub what each commit changed; it finds the follows that show any of
// it, lets each rebuild what it shows from the store, and sends that as frames with the next sequence numbers.
//
// Promises
//  - Nobody follows: `committed` and `delta` return at once.
//  - Frames of one follow are at least View.everyMs apart, so a burst is one frame and the first one is quick.
//  - A client that does not read costs limits.clientBufferBytes and no more: it is told nothing until it has read,
//    then one snapshot (`reset`); a log goes on where it was. Nothing queues here.
//  - The loop is given back after limits.publishMs; the other follows have their turn in the next one (I18).
// Not here: what a channel shows (views.ts). A follow survives nothing: a client that comes back opens anew.

import { RoostError } from '../protocol/errors.ts';
import type { Channel, Frame, Snapshot } from '../protocol/frame.ts';
import type { AgentId, CallId, EntryId } from '../protocol/ids.ts';
import type { AttentionState } from '../protocol/attention.ts';
import type { FleetState } from '../protocol/fleet.ts';
import type { Clock, News, Publish, Reads } from '../ports.ts';
import { limits } from '../runtime/limits.ts';
import { fitAttention } from './fit.ts';
import type { Peer } from './peer.ts';
import { AgentView } from './agentView.ts';
import { Batch, pack } from './frames.ts';
import type { Live, Shared, View } from './view.ts';
import { createView } from './views.ts';

/** The part of a client that a follow needs. */
export type Follower = Pick<Peer, 'backlogBytes' | 'notify'>;

export interface FollowsOptions {
  readonly reads: Reads;
  /** A clock whose alarm is this hub's alone. */
  readonly clock: Clock;
  /** What has come so far of an agent's answer, for the first who looks; null when none is coming. */
  readonly said: (agent: AgentId) => { readonly text: string; readonly thinking: string } | null;
  /** Why nothing is committed, for the fleet channel; null when all is well. */
  readonly trouble: () => string | null;
  readonly failed: (error: unknown) => void;
}

export interface Opened {
  readonly follow: number;
  readonly snapshot: Snapshot;
  readonly seq: number;
}

interface Follow {
  readonly id: number;
  readonly peer: Follower;
  channel: Channel;
  view: View;
  seq: number;
  /** When it may be told something next, on the monotonic clock. */
  dueMs: number;
  /** Its client has too much unread: nothing is told until the socket drains. */
  waiting: boolean;
  /** What its client has cannot be brought up to date by actions: the next frame is a snapshot. */
  stale: boolean;
}

export class Follows implements Publish {
  readonly #options: FollowsOptions;
  readonly #follows = new Map<number, Follow>();
  readonly #byAgent = new Map<AgentId, Set<Follow>>();
  readonly #live = new Map<AgentId, Live>();
  readonly #dirty = new Set<Follow>();
  readonly #shared: Shared;
  #lastId = 0;
  #soon = false;
  /** Counts read in the present flush, so that ten windows cost one read. */
  #fleet: FleetState | null = null;
  #attention: AttentionState | null = null;

  constructor(options: FollowsOptions) {
    this.#options = options;
    this.#shared = {
      reads: options.reads,
      fleet: () => (this.#fleet ??= { ...options.reads.fleet(), trouble: options.trouble() }),
      attention: () => (this.#attention ??= fitAttention(options.reads.attention())),
      live: (agent) => this.#liveOf(agent),
    };
  }

  /** Follows of a client. */
  countOf(peer: Follower): number {
    let count = 0;
    for (const follow of this.#follows.values()) if (follow.peer === peer) count += 1;
    return count;
  }

  /** Throws `overloaded` beyond limits.followsPerClient, `agent/unknown` for an agent that is not there. */
  open(peer: Follower, channel: Channel, after: EntryId | undefined): Opened {
    if (limits.followsPerClient <= this.countOf(peer)) {
      throw new RoostError(
        'overloaded',
        `A client may have ${limits.followsPerClient} follows. Close one first.`,
      );
    }
    const view = createView(channel, after, this.#shared);
    const snapshot = this.#snapshot(view);
    const nowMs = this.#options.clock.monotonicMs();
    const id = this.#lastId + 1;
    const follow = { id, peer, channel, view, seq: 0, dueMs: nowMs, waiting: false, stale: false };
    this.#lastId = id;
    this.#follows.set(follow.id, follow);
    this.#look(follow);
    if (view.unfinished()) this.#mark(follow);
    return { follow: follow.id, snapshot, seq: 0 };
  }

  /** Shows another window or agent under the same id; frames go on from the returned number. */
  move(peer: Follower, id: number, channel: Channel): Omit<Opened, 'follow'> {
    const follow = this.#find(peer, id);
    if (channel.kind !== follow.channel.kind) {
      throw new RoostError(
        'request/invalid',
        `Follow ${id} shows ${follow.channel.kind}; open another for ${channel.kind}.`,
      );
    }
    const view = createView(channel, undefined, this.#shared);
    const snapshot = this.#snapshot(view);
    this.#unlook(follow);
    Object.assign(follow, { channel, view, stale: false });
    this.#look(follow);
    this.#dirty.delete(follow);
    if (view.unfinished()) this.#mark(follow);
    return { snapshot, seq: follow.seq };
  }

  close(peer: Follower, id: number): void {
    this.#remove(this.#find(peer, id));
  }

  /** The client is gone. */
  drop(peer: Follower): void {
    for (const follow of this.#follows.values()) if (follow.peer === peer) this.#remove(follow);
  }

  /** The client has read what waited for it. */
  drained(peer: Follower): void {
    for (const follow of this.#follows.values()) {
      if (follow.peer !== peer || !follow.waiting) continue;
      follow.waiting = false;
      this.#mark(follow);
    }
  }

  fleetIsFollowed(): boolean {
    for (const follow of this.#follows.values()) if (follow.channel.kind === 'fleet') return true;
    return false;
  }

  /** Something that no commit says has changed for the fleet channel (the disk is full, or has room again). */
  fleetChanged(): void {
    for (const follow of this.#follows.values()) if (follow.channel.kind === 'fleet') this.#mark(follow);
  }

  committed(news: News): void {
    for (const follow of this.#follows.values()) if (follow.view.hear(news)) this.#mark(follow);
  }

  delta(agent: AgentId, text: string, thinking: string): void {
    const follows = this.#byAgent.get(agent);
    if (follows === undefined) return;
    const live = this.#liveOf(agent);
    live.text = keepTail(live.text + text, limits.streamChars);
    live.thinking = keepTail(live.thinking + thinking, limits.streamChars);
    for (const follow of follows) {
      // A stale one gets all of it with its snapshot.
      if (!follow.stale && follow.view instanceof AgentView) follow.view.delta(text, thinking);
      this.#mark(follow);
    }
  }

  streamEnd(agent: AgentId): void {
    const follows = this.#byAgent.get(agent);
    if (follows === undefined) return;
    Object.assign(this.#liveOf(agent), { text: '', thinking: '' });
    for (const follow of follows) {
      if (follow.view instanceof AgentView) follow.view.streamEnd();
      this.#mark(follow);
    }
  }

  output(agent: AgentId, call: CallId, text: string): void {
    const follows = this.#byAgent.get(agent);
    if (follows === undefined) return;
    const { outputs } = this.#liveOf(agent);
    outputs.set(call, keepTail(text, limits.outputChars));
    for (const follow of follows) {
      if (follow.view instanceof AgentView) follow.view.output();
      this.#mark(follow);
    }
  }

  #find(peer: Follower, id: number): Follow {
    const follow = this.#follows.get(id);
    if (follow !== undefined && follow.peer === peer) return follow;
    throw new RoostError(
      'follow/unknown',
      `This client has no follow ${id}. Open one again after a lost connection.`,
    );
  }

  #snapshot(view: View): Snapshot {
    this.#fleet = null;
    this.#attention = null;
    return view.snapshot();
  }

  #look(follow: Follow): void {
    if (follow.channel.kind !== 'agent') return;
    const { agent } = follow.channel;
    this.#byAgent.set(agent, (this.#byAgent.get(agent) ?? new Set()).add(follow));
  }

  #unlook(follow: Follow): void {
    if (follow.channel.kind !== 'agent') return;
    const { agent } = follow.channel;
    const follows = this.#byAgent.get(agent);
    follows?.delete(follow);
    if (follows?.size !== 0) return;
    this.#byAgent.delete(agent);
    this.#live.delete(agent);
  }

  #remove(follow: Follow): void {
    this.#follows.delete(follow.id);
    this.#dirty.delete(follow);
    this.#unlook(follow);
  }

  #liveOf(agent: AgentId): Live {
    const known = this.#live.get(agent);
    if (known !== undefined) return known;
    const { text, thinking } = this.#options.said(agent) ?? { text: '', thinking: '' };
    const live: Live = { text, thinking, outputs: new Map() };
    // Of an agent that nobody follows any more, or yet, nothing is kept here.
    if (this.#byAgent.has(agent)) this.#live.set(agent, live);
    return live;
  }

  #mark(follow: Follow): void {
    if (follow.waiting || this.#dirty.has(follow)) return;
    this.#dirty.add(follow);
    this.#schedule();
  }

  /** One flush soon when something is due, else one alarm for what is due first. */
  #schedule(): void {
    if (this.#soon || this.#dirty.size === 0) return;
    const { clock } = this.#options;
    let firstMs = Number.POSITIVE_INFINITY;
    for (const follow of this.#dirty) firstMs = Math.min(firstMs, follow.dueMs);
    const waitMs = firstMs - clock.monotonicMs();
    if (0 < waitMs) {
      clock.alarm(clock.nowMs() + waitMs, () => this.#flush());
      return;
    }
    this.#soon = true;
    clock.soon(() => {
      this.#soon = false;
      this.#flush();
    }, 0);
  }

  #flush(): void {
    const { clock } = this.#options;
    const startMs = clock.monotonicMs();
    this.#fleet = null;
    this.#attention = null;
    const batches = new Map<Follower, Batch>();
    for (const follow of [...this.#dirty]) {
      const nowMs = clock.monotonicMs();
      if (startMs + limits.publishMs < nowMs) break;
      if (nowMs < follow.dueMs) continue;
      this.#dirty.delete(follow);
      const batch = batches.get(follow.peer) ?? new Batch();
      if (limits.clientBufferBytes < follow.peer.backlogBytes() + batch.sizeBytes) {
        follow.waiting = true;
        follow.stale = !follow.view.paged;
        continue;
      }
      batches.set(follow.peer, batch);
      this.#tell(follow, batch);
    }
    for (const [peer, batch] of batches) batch.send(peer);
    this.#schedule();
  }

  #tell(follow: Follow, batch: Batch): void {
    const { view } = follow;
    try {
      const step = follow.stale ? { actions: [], reset: view.snapshot() } : view.step();
      follow.stale = false;
      const frames = step.reset === undefined ? pack(step.actions) : [{ actions: [], reset: step.reset }];
      for (const frame of frames) {
        follow.seq += 1;
        batch.add(JSON.stringify({ follow: follow.id, seq: follow.seq, ...frame } satisfies Frame));
      }
    } catch (error) {
      // What it showed is gone, or a read failed: this follow ends, the others go on.
      this.#remove(follow);
      // An agent that a person deleted for good is no failure.
      if (!(error instanceof RoostError && error.code === 'agent/unknown')) this.#options.failed(error);
      return;
    }
    const nowMs = this.#options.clock.monotonicMs();
    follow.dueMs = view.paged && view.unfinished() ? nowMs : nowMs + view.everyMs;
    if (view.unfinished()) this.#dirty.add(follow);
  }
}

function keepTail(text: string, chars: number): string {
  // Half goes at once, so that a long stream is not copied for every word.
  return text.length <= chars ? text : text.slice(-chars / 2);
}
