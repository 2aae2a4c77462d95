// The tree's state without its drawing: what is expanded, which window is known and which is wanted, and where
// the selection is. The selection is an agent, not a place, so it stays when rows move.
//
// One question at a time: while a window is asked for, further wishes wait and only the last is asked.

import type { AgentId } from '../../sidecar/protocol/ids.ts';
import type { TreeQuery, TreeRow, TreeWindow } from '../../sidecar/protocol/tree.ts';
import { limits } from '../limits.ts';

export interface Seen {
  readonly first: number;
  readonly count: number;
}

export interface TreeStart {
  readonly expanded: readonly AgentId[];
  readonly order: TreeQuery['order'];
  readonly filter: string;
  readonly selected: AgentId | null;
  readonly topRow: number;
}

export class TreeModel {
  readonly #expanded: Set<AgentId>;
  #order: TreeQuery['order'];
  #filter: string;
  #window: TreeWindow | null = null;
  #asked: TreeQuery;
  #asking = true;
  /** Expansion, order or filter are not yet those that were asked for. */
  #changed = false;
  #selected: AgentId | null;
  /** Where the selection was last seen; the place to go on from when its agent is gone. */
  #selectedRow = 0;
  /** A row that is to be selected as soon as its window is here. */
  #wantedRow: number | null = null;
  /** An ancestor above the window that is looked for, window by window. */
  #sought: AgentId | null = null;

  constructor(start: TreeStart) {
    this.#expanded = new Set(start.expanded);
    this.#order = start.order;
    this.#filter = start.filter;
    this.#selected = start.selected;
    this.#asked = this.#queryFor({ first: start.topRow, count: 0 }, limits.overscanRows);
  }

  /** The question that the follow is opened with. */
  get query(): TreeQuery {
    return this.#asked;
  }
  get window(): TreeWindow | null {
    return this.#window;
  }
  get total(): number {
    return this.#window?.total ?? 0;
  }
  get filter(): string {
    return this.#filter;
  }
  get order(): TreeQuery['order'] {
    return this.#order;
  }
  get expanded(): readonly AgentId[] {
    return [...this.#expanded];
  }
  get selected(): AgentId | null {
    return this.#selected;
  }
  get selectedRow(): number {
    return this.#selectedRow;
  }
  get seeking(): boolean {
    return this.#sought !== null;
  }
  /** The list shown answers an older filter or expansion. */
  get isStale(): boolean {
    return this.#changed || this.#asking;
  }

  rowAt(index: number): TreeRow | undefined {
    return this.#window?.rows[index - this.#window.top];
  }

  selectedAgent(): TreeRow | undefined {
    const row = this.rowAt(this.#selectedRow);
    return row !== undefined && row.agent.id === this.#selected ? row : undefined;
  }

  /**
   * Takes a window. Returns by how many rows the selected agent has moved, so that the view can keep it under
   * the person's eye.
   */
  take(window: TreeWindow): number {
    this.#window = window;
    const before = this.#selectedRow;
    const at = window.rows.findIndex((row) => row.agent.id === this.#selected);
    if (0 <= at) this.#selectedRow = window.top + at;
    this.#selectWanted();
    return 0 <= at ? this.#selectedRow - before : 0;
  }

  /** Says that what was asked for has arrived. */
  answered(): void {
    this.#asking = false;
  }

  /** The next question, or null when what is known suffices or an answer is still awaited. */
  ask(seen: Seen): TreeQuery | null {
    if (this.#asking) return null;
    if (!this.#changed && this.#covers(seen)) return null;
    // Long rows may not all fit into a frame: an answer that ended early is asked on from what is seen.
    const query = this.#queryFor(seen, this.#endedEarly() ? 0 : limits.overscanRows);
    if (!this.#changed && query.top === this.#asked.top && query.height === this.#asked.height) return null;
    this.#asked = query;
    this.#asking = true;
    this.#changed = false;
    return query;
  }

  setFilter(filter: string): void {
    const cut = filter.slice(0, limits.filterChars);
    if (cut === this.#filter) return;
    this.#filter = cut;
    this.#changed = true;
  }

  setOrder(order: TreeQuery['order']): void {
    this.#order = order;
    this.#changed = true;
  }

  setExpanded(agent: AgentId, expanded: boolean): void {
    this.#expanded.delete(agent);
    if (expanded) this.#expanded.add(agent);
    const oldest = this.#expanded.values().next().value;
    if (limits.expanded < this.#expanded.size && oldest !== undefined) this.#expanded.delete(oldest);
    this.#changed = true;
  }

  /** Selects the row at an index, now or when its window arrives. Returns the index after clamping. */
  selectRow(index: number): number {
    this.#sought = null;
    const row = Math.min(Math.max(index, 0), Math.max(0, this.total - 1));
    this.#wantedRow = row;
    this.#selectedRow = row;
    this.#selected = null;
    this.#selectWanted();
    return row;
  }

  /** Selects the first row of the list that was asked for, which a filter may have made another one. */
  selectFirst(): void {
    this.#sought = null;
    this.#wantedRow = 0;
    this.#selectedRow = 0;
    this.#selected = null;
    if (!this.isStale) this.#selectWanted();
  }

  /** Selects the parent of the selected row. Returns its index, or null when it lies above the window and is looked for. */
  selectParent(): number | null {
    const from = this.selectedAgent();
    if (from === undefined || from.agent.parent === null) return null;
    const parent = from.agent.parent;
    const at = this.#window?.rows.findIndex((row) => row.agent.id === parent) ?? -1;
    if (0 <= at) return this.selectRow((this.#window?.top ?? 0) + at);
    this.#sought = parent;
    return null;
  }

  /** One step of the search for a parent above: the row found, the row to look at next, or null when there is none. */
  seek(): { readonly found: boolean; readonly row: number } | null {
    const window = this.#window;
    if (this.#sought === null || window === null) return null;
    const at = window.rows.findIndex((row) => row.agent.id === this.#sought);
    if (0 <= at) return { found: true, row: this.selectRow(window.top + at) };
    if (window.top === 0) {
      this.#sought = null;
      return null;
    }
    return { found: false, row: Math.max(0, window.top - limits.overscanRows) };
  }

  #selectWanted(): void {
    if (this.#wantedRow === null) return;
    const row = this.rowAt(this.#wantedRow);
    if (row === undefined) return;
    this.#selected = row.agent.id;
    this.#selectedRow = this.#wantedRow;
    this.#wantedRow = null;
  }

  /** Whether the known rows reach half the overscan beyond what is seen, or to the end of the list. */
  #covers(seen: Seen): boolean {
    const window = this.#window;
    if (window === null) return true;
    const margin = limits.overscanRows / 2;
    const first = Math.max(0, seen.first - margin);
    const last = Math.min(window.total, seen.first + seen.count + margin);
    return window.top <= first && last <= window.top + window.rows.length;
  }

  #endedEarly(): boolean {
    const window = this.#window;
    if (window === null || window.partial) return false;
    return window.rows.length < Math.min(this.#asked.height, window.total - window.top);
  }

  #queryFor(seen: Seen, overscan: number): TreeQuery {
    const top = Math.max(0, seen.first - overscan);
    const height = Math.min(limits.windowRows, Math.max(seen.count, limits.overscanRows) + 2 * overscan);
    return { expanded: [...this.#expanded], order: this.#order, filter: this.#filter, top, height };
  }
}
