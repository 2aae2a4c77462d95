// Channel `tree`: a window onto the forest. Rows that changed are told one by one; the window itself again only
// when its order, its length or a list that is open in it has changed.

import type { AgentRow } from '../protocol/agent.ts';
import type { Snapshot } from '../protocol/frame.ts';
import type { TreeQuery, TreeWindow } from '../protocol/tree.ts';
import type { News, Reads } from '../ports.ts';
import { limits } from '../runtime/limits.ts';
import { roomBytes, takeFitting } from './fit.ts';
import type { Step, View } from './view.ts';

/** A window that fits into a frame: fewer rows when they are long; the client asks on from where they end. */
export function fitWindow(window: TreeWindow): TreeWindow {
  return { ...window, rows: takeFitting(window.rows, roomBytes) };
}

export class TreeView implements View {
  readonly everyMs = limits.listFrameMs;
  readonly paged = false;
  readonly #query: TreeQuery;
  readonly #reads: Reads;
  readonly #parents: ReadonlySet<number>;
  #window: TreeWindow | null = null;
  /** Rows shown, by agent, as they were told. */
  #told = new Map<number, string>();
  /** The window itself may have changed; and rows in it that have. */
  #moved = false;
  readonly #changed = new Set<number>();

  constructor(query: TreeQuery, reads: Reads) {
    this.#query = query;
    this.#reads = reads;
    this.#parents = new Set([0, ...query.expanded]);
  }

  snapshot(): Snapshot {
    return { kind: 'tree', state: this.#look() };
  }

  hear(news: News): boolean {
    // With a filter any list may hold a match; without one only lists that are open here are shown.
    const filtered = this.#query.filter !== '' && 0 < news.lists.size;
    this.#moved ||= filtered || overlaps(news.lists, this.#parents);
    if (news.agents.size < this.#told.size) {
      for (const id of news.agents) if (this.#told.has(id)) this.#changed.add(id);
    } else {
      for (const id of this.#told.keys()) if (news.agents.has(id)) this.#changed.add(id);
    }
    return this.#moved || 0 < this.#changed.size;
  }

  unfinished(): boolean {
    return this.#window?.partial === true;
  }

  step(): Step {
    const before = this.#window;
    if (before === null || this.#moved || before.partial) return this.#windowStep(before);
    const rows: AgentRow[] = [];
    for (const id of this.#changed) {
      const row = this.#reads.agent(id);
      const json = JSON.stringify(row);
      if (row === undefined || this.#told.get(id) === json) continue;
      this.#told.set(id, json);
      rows.push(row);
    }
    this.#changed.clear();
    return { actions: rows.length === 0 ? [] : [{ kind: 'tree/rows', rows }] };
  }

  #windowStep(before: TreeWindow | null): Step {
    const toldBefore = this.#told;
    const window = this.#look();
    if (before === null || shape(before) !== shape(window)) {
      return { actions: [{ kind: 'tree/window', window }] };
    }
    const rows = window.rows
      .map((row) => row.agent)
      .filter((row) => toldBefore.get(row.id) !== this.#told.get(row.id));
    return { actions: rows.length === 0 ? [] : [{ kind: 'tree/rows', rows }] };
  }

  #look(): TreeWindow {
    const window = fitWindow(this.#reads.tree(this.#query));
    this.#window = window;
    this.#told = new Map(window.rows.map(({ agent }) => [agent.id, JSON.stringify(agent)]));
    this.#moved = false;
    this.#changed.clear();
    return window;
  }
}

/** Everything of a window but what its rows say. */
function shape({ rows, ...rest }: TreeWindow): string {
  return JSON.stringify([rest, rows.map((row) => [row.agent.id, row.level, row.expanded])]);
}

function overlaps(some: ReadonlySet<number>, others: ReadonlySet<number>): boolean {
  const [few, many] = some.size < others.size ? [some, others] : [others, some];
  for (const each of few) if (many.has(each)) return true;
  return false;
}
