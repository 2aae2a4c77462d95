// Commands that wait inside Roost lend their slot: else agents that delegate by command would hold all slots while
// they wait for agents that need one (I5).

import type { CallId } from '../protocol/ids.ts';
import type { Peer } from './peer.ts';

/** Counts, for each client that runs inside a command, its waits and follows; above 0 the command's slot is lent. */
export class Lending {
  readonly #counts = new Map<Peer, number>();
  readonly #tell: (call: CallId, lent: boolean) => void;

  constructor(tell: (call: CallId, lent: boolean) => void) {
    this.#tell = tell;
  }

  /** One more wait or follow of this client. */
  more(peer: Peer): void {
    const call = peer.hello?.call;
    if (call === undefined) return;
    const before = this.#counts.get(peer) ?? 0;
    this.#counts.set(peer, before + 1);
    if (before === 0) this.#tell(call, true);
  }

  /** One less; of a client that was dropped meanwhile: nothing. */
  less(peer: Peer): void {
    const before = this.#counts.get(peer);
    if (before === undefined) return;
    if (before === 1) this.drop(peer);
    else this.#counts.set(peer, before - 1);
  }

  /** The client is gone, or waits for nothing any more. */
  drop(peer: Peer): void {
    const call = peer.hello?.call;
    if (call !== undefined && this.#counts.delete(peer)) this.#tell(call, false);
  }
}
