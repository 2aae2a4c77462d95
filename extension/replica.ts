// What this window follows of the sidecar: channels, each with the snapshot it began with and the frames after.
//
// Promises: frames are applied in order of their numbers and a gap leads to a new snapshot; after a lost
// connection every follow is opened again and begins with a fresh snapshot (cases 187, 247); a follow that was
// closed hears nothing more. Follows hold no state of their own: a Replica does, a webview keeps it itself.

import type { Action, Channel, Frame, Snapshot } from '../sidecar/protocol/frame.ts';
import { reduce } from '../sidecar/protocol/reduce.ts';
import type { Connection } from './connection.ts';
import { toRoostError } from './wire.ts';
import { describe } from './log.ts';
import type { Log } from './log.ts';
import type { RoostError } from '../sidecar/protocol/errors.ts';
import { Signal } from './signal.ts';

/** Who is told. `snapshot` replaces all that was told before. */
export interface Sink {
  snapshot(snapshot: Snapshot): void;
  actions(actions: readonly Action[]): void;
  /** The sidecar refused to follow this, such as an agent that is not there. */
  refused(error: RoostError): void;
}

/** The part of a connection that follows need. */
export type Wire = Pick<Connection, 'call' | 'onFrames' | 'onState' | 'state'>;

/** All follows of this window, by the number that the sidecar gave each. */
export class Follows {
  readonly #wire: Wire;
  readonly #log: Log;
  readonly #open = new Set<Follow>();

  constructor(wire: Wire, log: Log) {
    this.#wire = wire;
    this.#log = log;
    wire.onFrames.on((frames) => {
      for (const frame of frames) this.#find(frame.follow)?.frame(frame);
    });
    wire.onState.on((state) => {
      for (const follow of this.#open) {
        if (state.kind === 'connected') follow.sync();
        else follow.lost();
      }
    });
  }

  /** Begins to follow. The first snapshot comes when the sidecar has answered; it is never asked for a start. */
  open(channel: Channel, sink: Sink): Follow {
    const follow = new Follow({
      wire: this.#wire,
      log: this.#log,
      channel,
      sink,
      forget: (f) => this.#open.delete(f),
    });
    this.#open.add(follow);
    follow.sync();
    return follow;
  }

  /** How many are open: what a test of leaks looks at. */
  get count(): number {
    return this.#open.size;
  }

  #find(id: number): Follow | undefined {
    for (const follow of this.#open) if (follow.id === id) return follow;
    return undefined;
  }
}

interface FollowSetup {
  readonly wire: Wire;
  readonly log: Log;
  readonly channel: Channel;
  readonly sink: Sink;
  readonly forget: (follow: Follow) => void;
}

export class Follow {
  readonly #setup: FollowSetup;
  #channel: Channel;
  #id: number | null = null;
  #seq = 0;
  #busy = false;
  #again = false;
  #closed = false;

  constructor(setup: FollowSetup) {
    this.#setup = setup;
    this.#channel = setup.channel;
  }

  get id(): number | null {
    return this.#id;
  }

  /** Shows another channel or window instead; what was asked last wins. */
  move(channel: Channel): void {
    this.#channel = channel;
    this.sync();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#setup.forget(this);
    this.#end();
  }

  /** The connection is gone and with it the sidecar's number for this follow. */
  lost(): void {
    this.#id = null;
  }

  /** Takes the next frame: applies it, or asks for a snapshot when one is missing. */
  frame(frame: Frame): void {
    if (this.#closed) return;
    if (frame.reset !== undefined) {
      this.#seq = frame.seq;
      this.#setup.sink.snapshot(frame.reset);
      if (0 < frame.actions.length) this.#setup.sink.actions(frame.actions);
      return;
    }
    if (frame.seq <= this.#seq) return;
    if (frame.seq !== this.#seq + 1) {
      this.#setup.log.debug(`follow ${frame.follow}: frame ${frame.seq} after ${this.#seq}`);
      this.sync();
      return;
    }
    this.#seq = frame.seq;
    this.#setup.sink.actions(frame.actions);
  }

  /** Asks for a snapshot of the channel; one request at a time, the newest channel last. */
  sync(): void {
    if (this.#closed || this.#setup.wire.state.kind !== 'connected') return;
    if (this.#busy) {
      this.#again = true;
      return;
    }
    this.#busy = true;
    void this.#ask().finally(() => {
      this.#busy = false;
      if (this.#again) {
        this.#again = false;
        this.sync();
      }
    });
  }

  async #ask(): Promise<void> {
    const { wire, sink, log } = this.#setup;
    try {
      const answer =
        this.#id === null
          ? await wire.call('follow/open', { channel: this.#channel })
          : {
              follow: this.#id,
              ...(await wire.call('follow/move', { follow: this.#id, channel: this.#channel })),
            };
      // No frame can come between the answer and this line: the wire hands over one message per turn of the loop.
      this.#id = answer.follow;
      this.#seq = answer.seq;
      if (this.#closed) this.#end();
      else sink.snapshot(answer.snapshot);
    } catch (error) {
      const known = toRoostError(error);
      if (known.code === 'follow/unknown' && this.#id !== null) {
        this.#id = null;
        this.#again = true;
      } else if (known.code !== 'sidecar/lost' && known.code !== 'sidecar/failed') {
        log.warn(`follow ${this.#channel.kind}: ${describe(known)}`);
        if (!this.#closed) sink.refused(known);
      }
    }
  }

  #end(): void {
    const id = this.#id;
    this.#id = null;
    if (id === null || this.#setup.wire.state.kind !== 'connected') return;
    this.#setup.wire.call('follow/close', { follow: id }).catch((error: unknown) => {
      this.#setup.log.debug(`follow/close: ${describe(error)}`);
    });
  }
}

/** A channel's state, kept up to date by the protocol's reducer. Null until the first snapshot. */
export class Replica {
  readonly onChange = new Signal<Snapshot | null>();
  #snapshot: Snapshot | null = null;
  readonly #follow: Follow;

  constructor(follows: Follows, channel: Channel) {
    this.#follow = follows.open(channel, {
      snapshot: (snapshot) => this.#set(snapshot),
      actions: (actions) => {
        if (this.#snapshot !== null) this.#set(actions.reduce(reduce, this.#snapshot));
      },
      refused: () => this.#set(null),
    });
  }

  get snapshot(): Snapshot | null {
    return this.#snapshot;
  }

  close(): void {
    this.#follow.close();
  }

  #set(snapshot: Snapshot | null): void {
    this.#snapshot = snapshot;
    this.onChange.fire(snapshot);
  }
}
