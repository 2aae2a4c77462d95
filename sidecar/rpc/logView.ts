// Channel `log`: entries from a cursor on, page by page from the store and then as they come. Live entries are read
// behind the same cursor, so there is no seam at which one could be missed or told twice.

import type { Entry } from '../protocol/entry.ts';
import type { Action, Snapshot } from '../protocol/frame.ts';
import type { AgentId } from '../protocol/ids.ts';
import type { News, Reads } from '../ports.ts';
import { limits } from '../runtime/limits.ts';
import { fitEntry, roomBytes, takeFitting } from './fit.ts';
import type { Step, View } from './view.ts';

export class LogView implements View {
  readonly everyMs = limits.panelFrameMs;
  readonly paged = true;
  readonly #agent: number;
  readonly #reads: Reads;
  /** Entry ids ascend in the order of commits, so "after the cursor" misses nothing and repeats nothing. */
  #cursor: number;
  #caughtUp = false;
  /** The last page was not the last. */
  #more = true;

  constructor(agent: AgentId | null, after: number, reads: Reads) {
    this.#agent = agent ?? 0;
    this.#cursor = after;
    this.#reads = reads;
  }

  snapshot(): Snapshot {
    return { kind: 'log', state: { caughtUp: this.#caughtUp } };
  }

  hear(news: News): boolean {
    return this.#cursor < news.lastEntry && (this.#agent === 0 || news.spoke.has(this.#agent));
  }

  unfinished(): boolean {
    return this.#more;
  }

  step(): Step {
    const page: readonly Entry[] = this.#reads.entriesAfter(this.#cursor, this.#agent, limits.logEntries);
    const entries = takeFitting(
      page.map((entry) => fitEntry(entry)),
      roomBytes,
    );
    this.#cursor = entries.at(-1)?.id ?? this.#cursor;
    // A short page is not the end, an empty one is.
    this.#more = 0 < page.length;
    const actions: Action[] = entries.length === 0 ? [] : [{ kind: 'log/entries', entries }];
    if (!this.#more && !this.#caughtUp) {
      this.#caughtUp = true;
      actions.push({ kind: 'log/caughtUp' });
    }
    return { actions };
  }
}
