// A person at a window: allows whatever agents ask, and comes back when another sidecar has been started.

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type Wire } from '../../sidecar/cli/connect.ts';

/** How often the person looks. */
const lookEveryMs = 20;

export class Person {
  private readonly store: string;
  private readonly done: Promise<void>;
  private left = false;
  private wire: Wire | null = null;

  constructor(store: string) {
    this.store = store;
    this.done = this.stay();
  }

  /** Leaves, and resolves when nothing is asked any more. */
  async leave(): Promise<void> {
    this.left = true;
    await this.done;
  }

  private async stay(): Promise<void> {
    while (!this.left) {
      try {
        await this.look();
      } catch {
        this.wire = null; // killed; a later look connects again
      }
      await sleep(lookEveryMs);
    }
    this.wire?.close();
  }

  private async look(): Promise<void> {
    if (this.wire?.lost !== false) {
      this.wire = await connect({ store: this.store, start: false, secrets: false, call: null });
    }
    const { rows } = await this.wire.call('request/list', { after: null, limit: 100 });
    if (rows.length === 0) return;
    const requests = rows.map((row) => row.id);
    await this.wire.call('request/answerMany', { requests, answer: { kind: 'allow' }, key: randomUUID() });
  }
}
