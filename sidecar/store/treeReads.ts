// The windowed tree: some rows of a forest of any size, found without walking it (DESIGN §6).
//
// Promises: a window costs a row lookup for each expanded agent, one pass over index entries that are skipped
// (5 ms for 100,000, half of it when the window is nearer the end), and one row lookup a row shown. A filter
// looks at 2,000 agents a call and remembers where it stopped; until it has seen all, windows are `partial`.
// Not here: what a row looks like (agentReads.ts).

import type DatabaseConstructor from 'better-sqlite3';
import type { TreeQuery, TreeRow, TreeWindow } from '../protocol/tree.ts';
import { limits } from '../runtime/limits.ts';
import type { AgentReads } from './agentReads.ts';

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

/** A place between two siblings: all rows up to and with this one are before it. */
interface Key {
  readonly rank: number;
  readonly id: number;
}

interface Found extends Key {
  readonly name: string;
  readonly task: string;
}

/** A search as far as it has come. */
interface Search {
  readonly filter: string;
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

const start: Key = { rank: -1, id: 0 };

interface OrderStatements {
  /** Siblings after a key and up to another, at most so many. */
  readonly count: Statement<number>;
  /** Ids after a key, some passed over. */
  readonly forwards: Statement<number>;
  /** Ids from the end, some passed over. */
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
    this.#node = database.prepare('SELECT id, parent, rank, children FROM agent WHERE id = ?');
    this.#slice = database.prepare(
      'SELECT id, rank, name, task FROM agent WHERE id > ? ORDER BY id LIMIT ? + 0',
    );
    this.#orders = {
      attention: prepareOrder(database, {
        index: 'agent.ranked',
        after: '(rank, id) > (?, ?)',
        upTo: '(rank, id) <= (?, ?)',
        columns: ['rank', 'id'],
      }),
      created: prepareOrder(database, {
        index: 'agent.children',
        // The rank is bound and not asked, so that both orders take the same parameters.
        after: 'id > max(0 * ?, ?)',
        upTo: 'id <= max(0 * ?, ?)',
        columns: ['id'],
      }),
    };
  }

  /** The rows of a window. `roots` is the number of agents without a parent. */
  tree(query: TreeQuery, roots: number): TreeWindow {
    const height = Math.min(Math.max(0, query.height), limits.windowRows);
    const filter = query.filter.trim().toLowerCase();
    return filter === '' ? this.#expanded(query, height, roots) : this.#filtered(query, height, filter);
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
      if (walk.wanted <= 0) return;
      left -= this.#pass(walk, parent.id, level, { from, to: node });
      if (walk.wanted <= 0) return;
      const size = walk.sizes.get(node.id) ?? 0;
      if (size <= walk.skip) walk.skip -= size;
      else this.#walk(walk, node, level + 1);
      from = node;
    }
    if (walk.wanted > 0) this.#tail(walk, parent.id, level, { from, left });
  }

  /** Takes or passes over the siblings after `from` up to and with `to`. Returns how many there are, as far as it matters. */
  #pass(
    walk: Walk,
    parent: number,
    level: number,
    between: { readonly from: Key; readonly to: Key },
  ): number {
    const { from, to } = between;
    const { count, forwards } = this.#orders[walk.order];
    const there = count.get(parent, from.rank, from.id, to.rank, to.id, walk.skip + walk.wanted) ?? 0;
    if (there <= walk.skip) {
      walk.skip -= there;
      return there;
    }
    const take = Math.min(there - walk.skip, walk.wanted);
    for (const id of forwards.all(parent, from.rank, from.id, take, walk.skip))
      walk.found.push({ id, level });
    walk.skip = 0;
    walk.wanted -= take;
    return there;
  }

  /** Takes the siblings after the last expanded one, from whichever end is nearer. */
  #tail(
    walk: Walk,
    parent: number,
    level: number,
    rest: { readonly from: Key; readonly left: number },
  ): void {
    if (rest.left <= walk.skip) {
      walk.skip -= Math.max(0, rest.left);
      return;
    }
    const take = Math.min(rest.left - walk.skip, walk.wanted);
    const behind = rest.left - walk.skip - take;
    const { forwards, backwards } = this.#orders[walk.order];
    const { from } = rest;
    const ids =
      behind < walk.skip
        ? backwards.all(parent, from.rank, from.id, take, behind).reverse()
        : forwards.all(parent, from.rank, from.id, take, walk.skip);
    for (const id of ids) walk.found.push({ id, level });
    walk.skip = 0;
    walk.wanted -= take;
  }

  #filtered(query: TreeQuery, height: number, filter: string): TreeWindow {
    const search = this.#searchOf(filter);
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

  #searchOf(filter: string): Search {
    const known = this.#searches.find((search) => search.filter === filter);
    const search = known ?? { filter, cursor: 0, matches: [], finished: false };
    this.#searches = [...this.#searches.filter((other) => other !== search), search].slice(-limits.searches);
    return search;
  }

  /** Looks at the next slice of agents. A finished search goes on with agents that came since. */
  #advance(search: Search): void {
    if (search.matches.length >= limits.searchMatches) {
      search.finished = true;
      return;
    }
    const slice = this.#slice.all(search.cursor, limits.searchSlice);
    for (const { id, rank, name, task } of slice) {
      search.cursor = id;
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

interface OrderSpec {
  readonly index: string;
  readonly after: string;
  readonly upTo: string;
  readonly columns: readonly string[];
}

function prepareOrder(database: Database, spec: OrderSpec): OrderStatements {
  const from = `FROM agent INDEXED BY "${spec.index}" WHERE parent = +? AND ${spec.after}`;
  const order = (way: string): string => spec.columns.map((column) => `${column} ${way}`).join(', ');
  return {
    count: database
      .prepare<unknown[], number>(`SELECT count(*) FROM (SELECT 1 ${from} AND ${spec.upTo} LIMIT ? + 0)`)
      .pluck(),
    forwards: database
      .prepare<unknown[], number>(`SELECT id ${from} ORDER BY ${order('ASC')} LIMIT ? + 0 OFFSET ? + 0`)
      .pluck(),
    backwards: database
      .prepare<unknown[], number>(`SELECT id ${from} ORDER BY ${order('DESC')} LIMIT ? + 0 OFFSET ? + 0`)
      .pluck(),
  };
}
