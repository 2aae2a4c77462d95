// The windowed tree: some rows of a forest of any size, found without walking it (DESIGN §6).
//
// Siblings in attention order are six lists, one a rank, each in order of id; in order of creation they are one.
// So a place among siblings is a rank and an id, and everything is counted and read between two such places.
//
// Promises: a window costs a row lookup for each expanded agent, one pass over index entries that are skipped
// (3 ms for 100,000, counted from the nearer end), and one row lookup a row shown. A filter
// looks at 2,000 agents a call and remembers where it stopped; until it has seen all, windows are `partial`.
// Not here: what a row looks like (agentReads.ts).

import type DatabaseConstructor from 'better-sqlite3';
import type { TreeQuery, TreeRow, TreeWindow } from '../protocol/tree.ts';
import { limits } from '../runtime/limits.ts';
import type { AgentReads } from './agentReads.ts';
import type { TotalRow } from './totals.ts';

type Database = DatabaseConstructor.Database;
type Statement<Row> = DatabaseConstructor.Statement<unknown[], Row>;
type Order = TreeQuery['order'];

/** An expanded agent: where it stands among its siblings, and how many rows it opens. */
interface Node {
  readonly id: number;
  readonly parent: number;
  readonly rank: number;
  readonly children: number;
}

/** A place between two siblings: behind this one. */
interface Key {
  readonly rank: number;
  readonly id: number;
}

/** A run of siblings of one rank: those with an id above `after` and at most `upTo`. */
interface Run {
  readonly rank: number;
  readonly after: number;
  readonly upTo: number;
}

interface Found extends Key {
  readonly trash: number;
  readonly name: string;
  readonly task: string;
}

/** A search as far as it has come. */
interface Search {
  readonly filter: string;
  /** Branches that had gone to the trash or come back when it began. */
  readonly moves: number;
  cursor: number;
  matches: Key[];
  finished: boolean;
}

/** A window being filled: rows still to be passed over, rows still wanted, rows found with their indentation. */
interface Walk {
  readonly order: Order;
  readonly byParent: ReadonlyMap<number, readonly Node[]>;
  readonly sizes: ReadonlyMap<number, number>;
  skip: number;
  wanted: number;
  readonly found: { readonly id: number; readonly level: number }[];
}

const start: Key = { rank: 0, id: 0 };

/** The last attention class (core/rows.ts: AgentRecord.rank). */
const lastRank = 5;

interface OrderStatements {
  /** Length of a run, as far as it matters. */
  readonly count: Statement<number>;
  /** Ids of a run from its beginning, some passed over. */
  readonly forwards: Statement<number>;
  /** Ids of a run from its end, some passed over. */
  readonly backwards: Statement<number>;
}

export class TreeReads {
  readonly #agents: AgentReads;
  readonly #node: Statement<Node>;
  readonly #slice: Statement<Found>;
  readonly #orders: Readonly<Record<Order, OrderStatements>>;
  /** Newest last. A person types one filter at a time; a few windows may each have theirs. */
  #searches: Search[] = [];

  constructor(database: Database, agents: AgentReads) {
    this.#agents = agents;
    this.#node = database.prepare(
      'SELECT id, parent, rank, children FROM agent WHERE id = ? AND detached = 0',
    );
    this.#slice = database.prepare(
      'SELECT id, rank, trash, name, task FROM agent WHERE id > ? ORDER BY id LIMIT ? + 0',
    );
    this.#orders = {
      attention: prepareOrder(database, 'agent.ranked', 'rank = +?'),
      // The rank is bound and not asked, so that both orders take the same parameters.
      created: prepareOrder(database, 'agent.children', '? >= 0'),
    };
  }

  /** The rows of a window; `total`: the present row of totals. */
  tree(query: TreeQuery, total: Pick<TotalRow, 'roots' | 'moves'>): TreeWindow {
    const height = Math.min(Math.max(0, query.height), limits.windowRows);
    const filter = query.filter.trim().toLowerCase();
    if (filter === '') return this.#expanded(query, height, total.roots);
    return this.#filtered(query, height, this.#searchOf(filter, total.moves));
  }

  #expanded(query: TreeQuery, height: number, roots: number): TreeWindow {
    const byParent = this.#visible(query);
    const sizes = new Map<number, number>();
    const total = roots + addSizes(0, byParent, sizes);
    const top = Math.max(0, Math.min(query.top, total - height));
    const walk: Walk = { order: query.order, byParent, sizes, skip: top, wanted: height, found: [] };
    this.#walk(walk, { id: 0, children: roots }, 0);
    const open = new Set(sizes.keys());
    const rows = walk.found.flatMap(({ id, level }): TreeRow[] => {
      const agent = this.#agents.agent(id);
      return agent === undefined ? [] : [{ agent, level, expanded: open.has(id) }];
    });
    return { rows, top, total, partial: false };
  }

  /** Expanded agents that are shown, because all above them are expanded too: by parent, in order. */
  #visible(query: TreeQuery): ReadonlyMap<number, readonly Node[]> {
    const all = new Map<number, Node[]>();
    for (const id of new Set(query.expanded.slice(0, limits.expandedAgents))) {
      const node = this.#node.get(id);
      if (node === undefined || node.children === 0) continue;
      const siblings = all.get(node.parent);
      if (siblings === undefined) all.set(node.parent, [node]);
      else siblings.push(node);
    }
    const shown = new Map<number, readonly Node[]>();
    const todo = [0];
    for (let parent = todo.pop(); parent !== undefined; parent = todo.pop()) {
      const siblings = all.get(parent);
      if (siblings === undefined) continue;
      siblings.sort((a, b) => (query.order === 'attention' ? a.rank - b.rank : 0) || a.id - b.id);
      shown.set(parent, siblings);
      todo.push(...siblings.map((node) => node.id));
    }
    return shown;
  }

  #walk(walk: Walk, parent: { readonly id: number; readonly children: number }, level: number): void {
    let from = start;
    let left = parent.children;
    for (const node of walk.byParent.get(parent.id) ?? []) {
      const before = { parent: parent.id, runs: runsBetween(walk.order, from, node) };
      left -= this.#take(walk, before, level);
      if (walk.wanted <= 0) return;
      const size = walk.sizes.get(node.id) ?? 0;
      if (size <= walk.skip) walk.skip -= size;
      else this.#walk(walk, node, level + 1);
      if (walk.wanted <= 0) return;
      from = node;
    }
    const rest = { parent: parent.id, runs: runsBetween(walk.order, from, null) };
    if (left <= walk.skip) walk.skip -= Math.max(0, left);
    else if (left - walk.skip - walk.wanted < walk.skip) this.#takeFromEnd(walk, rest, level, left);
    else this.#take(walk, rest, level);
  }

  /** Passes over siblings and takes those wanted. Returns how many siblings there are, as far as it was counted. */
  #take(walk: Walk, from: { readonly parent: number; readonly runs: readonly Run[] }, level: number): number {
    const { count, forwards } = this.#orders[walk.order];
    let passed = 0;
    for (const { rank, after, upTo } of from.runs) {
      if (walk.wanted <= 0) break;
      const there = count.get(from.parent, rank, after, upTo, walk.skip + walk.wanted) ?? 0;
      passed += there;
      if (there <= walk.skip) {
        walk.skip -= there;
        continue;
      }
      const ids = forwards.all(from.parent, rank, after, upTo, walk.wanted, walk.skip);
      for (const id of ids) walk.found.push({ id, level });
      walk.skip = 0;
      walk.wanted -= ids.length;
    }
    return passed;
  }

  /** The same for the `left` last siblings of a parent, counted from the end because it is nearer. */
  #takeFromEnd(
    walk: Walk,
    from: { readonly parent: number; readonly runs: readonly Run[] },
    level: number,
    left: number,
  ): void {
    const { count, backwards } = this.#orders[walk.order];
    let wanted = Math.min(walk.wanted, left - walk.skip);
    let behind = left - walk.skip - wanted;
    walk.wanted -= wanted;
    walk.skip = 0;
    const found: { readonly id: number; readonly level: number }[] = [];
    for (const { rank, after, upTo } of [...from.runs].reverse()) {
      if (wanted <= 0) break;
      const there = count.get(from.parent, rank, after, upTo, behind + wanted) ?? 0;
      if (there > behind) {
        const ids = backwards.all(from.parent, rank, after, upTo, wanted, behind);
        for (const id of ids) found.push({ id, level });
        wanted -= ids.length;
        behind = 0;
      } else {
        behind -= there;
      }
    }
    walk.found.push(...found.reverse());
  }

  #filtered(query: TreeQuery, height: number, search: Search): TreeWindow {
    this.#advance(search);
    const ordered =
      query.order === 'attention'
        ? [...search.matches].sort((a, b) => a.rank - b.rank || a.id - b.id)
        : search.matches;
    const total = ordered.length;
    const top = Math.max(0, Math.min(query.top, total - height));
    const rows = ordered.slice(top, top + height).flatMap(({ id }): TreeRow[] => {
      const agent = this.#agents.agent(id);
      return agent === undefined ? [] : [{ agent, level: 0, expanded: false }];
    });
    return { rows, top, total, partial: !search.finished };
  }

  /** The search as far as it has come; begun anew when branches have gone to the trash or come back since. */
  #searchOf(filter: string, moves: number): Search {
    const known = this.#searches.find((search) => search.filter === filter && search.moves === moves);
    const search = known ?? { filter, moves, cursor: 0, matches: [], finished: false };
    this.#searches = [...this.#searches.filter((other) => other.filter !== filter), search].slice(
      -limits.searches,
    );
    return search;
  }

  /** Looks at the next slice of agents. A finished search goes on with agents that came since. */
  #advance(search: Search): void {
    if (search.matches.length >= limits.filterMatches) {
      search.finished = true;
      return;
    }
    const slice = this.#slice.all(search.cursor, limits.searchSlice);
    for (const { id, rank, trash, name, task } of slice) {
      search.cursor = id;
      if (trash !== 0) continue;
      if (name.toLowerCase().includes(search.filter) || task.toLowerCase().includes(search.filter)) {
        search.matches.push({ id, rank });
      }
    }
    search.finished = slice.length < limits.searchSlice;
  }
}

/** Adds the number of rows that each expanded agent opens to `sizes`; returns those under `parent`. */
function addSizes(
  parent: number,
  byParent: ReadonlyMap<number, readonly Node[]>,
  sizes: Map<number, number>,
): number {
  let sum = 0;
  for (const node of byParent.get(parent) ?? []) {
    const size = node.children + addSizes(node.id, byParent, sizes);
    sizes.set(node.id, size);
    sum += size;
  }
  return sum;
}

/** The siblings behind one place up to and with another (null: all others), as runs in order. */
function runsBetween(order: Order, from: Key, to: Key | null): readonly Run[] {
  const last = Number.MAX_SAFE_INTEGER;
  if (order === 'created') return [{ rank: 0, after: from.id, upTo: to?.id ?? last }];
  const runs: Run[] = [];
  for (let rank = from.rank; rank <= (to?.rank ?? lastRank); rank += 1) {
    runs.push({ rank, after: rank === from.rank ? from.id : 0, upTo: rank === to?.rank ? to.id : last });
  }
  return runs;
}

function prepareOrder(database: Database, index: string, ranked: string): OrderStatements {
  const from = `FROM agent INDEXED BY "${index}" WHERE detached = 0 AND parent = +? AND ${ranked} AND id > ? AND id <= ?`;
  const ids = (way: string): Statement<number> =>
    database
      .prepare<unknown[], number>(`SELECT id ${from} ORDER BY id ${way} LIMIT ? + 0 OFFSET ? + 0`)
      .pluck();
  return {
    count: database.prepare<unknown[], number>(`SELECT count(*) FROM (SELECT 1 ${from} LIMIT ? + 0)`).pluck(),
    forwards: ids('ASC'),
    backwards: ids('DESC'),
  };
}
