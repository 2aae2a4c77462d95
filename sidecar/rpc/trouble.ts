// Trouble that no commit tells: while the disk is full nothing is committed, so nobody would hear why. It is looked
// at once a second while somebody sees the fleet, and only then.

import type { Clock } from '../ports.ts';
import { limits } from '../runtime/limits.ts';
import type { Follows } from './follow.ts';

export interface TroubleOptions {
  /** A clock whose alarm is this one's alone. */
  readonly clock: Clock;
  /** Why nothing is committed; null when all is well. */
  readonly trouble: () => string | null;
  readonly follows: Pick<Follows, 'fleetIsFollowed' | 'fleetChanged'>;
}

export class TroubleWatch {
  readonly #options: TroubleOptions;
  /** As followers of the fleet were told. */
  #told: string | null = null;

  constructor(options: TroubleOptions) {
    this.#options = options;
  }

  /** Somebody follows the fleet: looks until nobody does. Safe to call at any time. */
  watch(): void {
    const { clock, follows } = this.#options;
    if (!follows.fleetIsFollowed()) return;
    const trouble = this.#options.trouble();
    if (trouble !== this.#told) follows.fleetChanged();
    this.#told = trouble;
    clock.alarm(clock.nowMs() + limits.troubleMs, () => this.watch());
  }
}
