// How actions travel: as many to a frame, and as many frames to a message, as limits.frameBytes allows.

import type { Action } from '../protocol/frame.ts';
import { limits } from '../runtime/limits.ts';
import { roomBytes, sizeBytes } from './fit.ts';
import type { Peer } from './peer.ts';

/** Actions in order, as many to a frame as fit; none, no frame. */
export function pack(actions: readonly Action[]): readonly { readonly actions: readonly Action[] }[] {
  const frames: { actions: Action[] }[] = [];
  let used = 0;
  for (const action of actions) {
    const bytes = sizeBytes(action) + 1;
    const last = frames.at(-1);
    if (last !== undefined && used + bytes <= roomBytes) {
      last.actions.push(action);
      used += bytes;
    } else {
      frames.push({ actions: [action] });
      used = bytes;
    }
  }
  return frames;
}

/** Frames for one client that travel together: a client takes one message a tick (DESIGN §9). */
export class Batch {
  sizeBytes = 0;
  readonly #frames: string[] = [];

  add(frame: string): void {
    this.#frames.push(frame);
    this.sizeBytes += Buffer.byteLength(frame) + 1;
  }

  /** As few messages as fit limits.frameBytes each. */
  send(peer: Pick<Peer, 'notify'>): void {
    let part: string[] = [];
    let partBytes = 0;
    const flush = (): void => {
      if (part.length !== 0) peer.notify('follow/frames', `{"frames":[${part.join(',')}]}`);
      part = [];
      partBytes = 0;
    };
    for (const frame of this.#frames) {
      const bytes = Buffer.byteLength(frame) + 1;
      if (limits.frameBytes < partBytes + bytes) flush();
      part.push(frame);
      partBytes += bytes;
    }
    flush();
  }
}
