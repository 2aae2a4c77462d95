// Channel `changes`: changes that wait for a verdict, of one agent or of all.

import type { ChangeRow } from '../protocol/change.ts';
import type { Snapshot } from '../protocol/frame.ts';
import { changeId, type AgentId } from '../protocol/ids.ts';
import type { News, Reads } from '../ports.ts';
import { limits } from '../runtime/limits.ts';
import { roomBytes, takeFitting } from './fit.ts';
import type { Step, View } from './view.ts';

export class ChangesView implements View {
  readonly everyMs = limits.listFrameMs;
  readonly paged = false;
  readonly #agent: AgentId | null;
  readonly #reads: Reads;
  #told = new Map<number, string>();
  #more = false;

  constructor(agent: AgentId | null, reads: Reads) {
    this.#agent = agent;
    this.#reads = reads;
  }

  snapshot(): Snapshot {
    const { rows, more } = this.#read();
    this.#remember(rows, more);
    return { kind: 'changes', state: { rows, more } };
  }

  hear(news: News): boolean {
    return this.#agent === null ? 0 < news.changes.size : news.changes.has(this.#agent);
  }

  unfinished(): boolean {
    return false;
  }

  step(): Step {
    const before = this.#told;
    const moreBefore = this.#more;
    const { rows, more } = this.#read();
    this.#remember(rows, more);
    // No action says `more`; a snapshot does.
    if (more !== moreBefore) return { actions: [], reset: { kind: 'changes', state: { rows, more } } };
    const changed = rows.filter((row) => before.get(row.id) !== this.#told.get(row.id));
    const gone = [...before.keys()].filter((id) => !this.#told.has(id)).map(changeId);
    if (changed.length === 0 && gone.length === 0) return { actions: [] };
    return { actions: [{ kind: 'changes/rows', rows: changed, gone }] };
  }

  #read(): { rows: readonly ChangeRow[]; more: boolean } {
    const page = this.#reads.changes(this.#agent ?? 0, 0, limits.changeRows);
    const rows = takeFitting(page.rows, roomBytes);
    return { rows, more: page.more || rows.length < page.rows.length };
  }

  #remember(rows: readonly ChangeRow[], more: boolean): void {
    this.#told = new Map(rows.map((row) => [row.id, JSON.stringify(row)]));
    this.#more = more;
  }
}
