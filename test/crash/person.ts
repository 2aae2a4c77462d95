// A person at a window: allows whatever agents ask and answers their questions, and comes back when another sidecar
// has been started.

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type Wire } from '../../sidecar/cli/connect.ts';
import type { Answer, RequestRow } from '../../sidecar/protocol/request.ts';

/** How often the person looks. */
const lookEveryMs = 20;

export class Person {
  private readonly store: string;
  private readonly decides: (request: RequestRow) => boolean;
  private readonly done: Promise<void>;
  private left = false;
  private wire: Wire | null = null;

  /** `decides`: which requests are answered by now; all when it is not given. */
  constructor(store: string, decides: (request: RequestRow) => boolean = () => true) {
    this.store = store;
    this.decides = decides;
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
    const decided = rows.filter((row) => this.decides(row));
    await this.answer(
      decided.filter((row) => row.kind !== 'question'),
      { kind: 'allow' },
    );
    await this.answer(
      decided.filter((row) => row.kind === 'question'),
      { kind: 'text', text: 'left' },
    );
  }

  private async answer(rows: readonly RequestRow[], answer: Answer): Promise<void> {
    const requests = rows.map((row) => row.id);
    if (requests.length === 0) return;
    await this.wire?.call('request/answerMany', { requests, answer, key: randomUUID() });
  }
}
