// `turn/wait`: clients that wait for turns to end, as small records and one timer for all of them.
//
// Whether a turn has ended is read from the store when a wait begins and when the runtime says that a turn ended;
// so a wait survives nothing and needs not to: a client that lost its connection asks again.

import { RoostError } from '../protocol/errors.ts';
import type { TurnId } from '../protocol/ids.ts';
import type { Params, Result, TurnResult } from '../protocol/methods.ts';
import type { Clock, Reads } from '../ports.ts';
import { limits } from '../runtime/limits.ts';
import { cutText } from './fit.ts';
import type { Peer } from './peer.ts';

type WaitResult = Result<'turn/wait'>;

interface Wait {
  readonly peer: Peer;
  readonly turns: readonly TurnId[];
  readonly open: Set<number>;
  readonly any: boolean;
  readonly untilMs: number;
  readonly resolve: (result: WaitResult) => void;
}

export interface WaitsOptions {
  readonly reads: Pick<Reads, 'turn'>;
  /** A clock whose alarm is this one's alone. */
  readonly clock: Clock;
}

export class Waits {
  readonly #options: WaitsOptions;
  readonly #waits = new Set<Wait>();
  readonly #byTurn = new Map<number, Set<Wait>>();

  constructor(options: WaitsOptions) {
    this.#options = options;
  }

  /** Waits in flight. */
  get size(): number {
    return this.#waits.size;
  }

  /** Resolves as `turn/wait` promises. Throws `turn/unknown` for a turn that never was. */
  wait(peer: Peer, params: Params<'turn/wait'>): WaitResult | Promise<WaitResult> {
    const turns = [...new Set(params.turns)];
    const open = new Set(turns.filter((turn) => this.#read(turn).outcome === null));
    const any = params.mode === 'any';
    const over = open.size === 0 || (any && open.size < turns.length) || params.timeoutMs === 0;
    if (over) return this.#result(turns);
    const untilMs = this.#options.clock.monotonicMs() + Math.min(params.timeoutMs, limits.waitMs);
    return new Promise((resolve) => {
      const wait: Wait = { peer, turns, open, any, untilMs, resolve };
      this.#waits.add(wait);
      for (const turn of open) {
        const waits = this.#byTurn.get(turn) ?? new Set();
        this.#byTurn.set(turn, waits.add(wait));
      }
      this.#arm();
    });
  }

  /** These turns have ended, and the store says so. */
  ended(turns: readonly number[]): void {
    if (this.#waits.size === 0) return;
    for (const turn of turns) {
      for (const wait of this.#byTurn.get(turn) ?? []) {
        wait.open.delete(turn);
        if (wait.any || wait.open.size === 0) this.#finish(wait);
      }
      this.#byTurn.delete(turn);
    }
  }

  /** The client is gone: nobody waits. */
  drop(peer: Peer): void {
    for (const wait of this.#waits) if (wait.peer === peer) this.#forget(wait);
  }

  #finish(wait: Wait): void {
    this.#forget(wait);
    wait.resolve(this.#result(wait.turns));
  }

  #forget(wait: Wait): void {
    this.#waits.delete(wait);
    for (const turn of wait.open) {
      const waits = this.#byTurn.get(turn);
      waits?.delete(wait);
      if (waits?.size === 0) this.#byTurn.delete(turn);
    }
    if (this.#waits.size === 0) this.#options.clock.alarm(null, () => undefined);
  }

  #arm(): void {
    const firstMs = Math.min(...[...this.#waits].map((wait) => wait.untilMs));
    const { clock } = this.#options;
    clock.alarm(clock.nowMs() + Math.max(0, firstMs - clock.monotonicMs()), () => this.#ring());
  }

  #ring(): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const wait of this.#waits) if (wait.untilMs <= nowMs) this.#finish(wait);
    if (this.#waits.size !== 0) this.#arm();
  }

  #result(turns: readonly TurnId[]): WaitResult {
    const read = turns.map((turn) => this.#read(turn));
    // Many long answers and results share one message; each is whole in `turn/result`.
    const each = Math.floor(limits.frameBytes / turns.length);
    const done = read.filter((result) => result.outcome !== null);
    return {
      done: done.map((result) => {
        const { text, result: given, resultBytes } = result;
        return { ...result, text: cutText(text, each / 2), result: resultBytes <= each / 2 ? given : null };
      }),
      open: read.filter((result) => result.outcome === null).map((result) => result.turn),
    };
  }

  #read(turn: TurnId): TurnResult {
    const result = this.#options.reads.turn(turn);
    if (result !== undefined) return result;
    throw new RoostError('turn/unknown', `There is no turn ${turn} in this store.`, { turn });
  }
}
