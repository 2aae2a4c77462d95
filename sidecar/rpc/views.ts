// What a follow shows, one view a kind of channel: its snapshot, which news concern it, and the actions that
// bring a client from what it was told last to what the store says now.
//
// A view reads only what it shows (I13): the rows of its window, the entries after its cursor. It keeps what the
// comparison needs and no text of agents. Not here: when to look, sequence numbers, slow clients (follow.ts).

import type { AgentRow } from '../protocol/agent.ts';
import type { ChangeRow } from '../protocol/change.ts';
import type { Action, Channel, Snapshot } from '../protocol/frame.ts';
import { changeId, type AgentId, type EntryId } from '../protocol/ids.ts';
import type { Entry } from '../protocol/entry.ts';
import type { FleetState } from '../protocol/fleet.ts';
import type { AttentionState } from '../protocol/attention.ts';
import type { TreeQuery, TreeWindow } from '../protocol/tree.ts';
import { tailEntries, type OpenCall, type TranscriptState } from '../protocol/transcript.ts';
import type { News, Reads } from '../ports.ts';
import { limits } from '../runtime/limits.ts';
import { findAgent } from './found.ts';
import { fitEntry, fitRequests, roomBytes, sizeBytes, takeFitting, takeNewest } from './fit.ts';

/** `reset`: the state cannot be reached by actions, or a snapshot says it shorter. */
export interface Step {
  readonly actions: readonly Action[];
  readonly reset?: Snapshot;
}

export interface View {
  /** Shortest time between two frames. */
  readonly everyMs: number;
  /** A log: nothing is lost by waiting, so it has no resets and gets on as fast as its client reads. */
  readonly paged: boolean;
  /** Throws a RoostError when what is to be shown is not there. */
  snapshot(): Snapshot;
  /** Remembers what to look at; false when these news do not concern what is shown. */
  hear(news: News): boolean;
  /** There is more to tell than was told, without any news. */
  unfinished(): boolean;
  step(): Step;
}

/** What views of all follows share: counts that are read once however many look at them. */
export interface Shared {
  readonly reads: Reads;
  fleet(): FleetState;
  attention(): AttentionState;
  /** What streams in for this agent right now. */
  live(agent: AgentId): Live;
}

/** What a model and its commands have said since somebody looks, never stored. */
export interface Live {
  text: string;
  thinking: string;
  readonly outputs: Map<number, string>;
}

export function createView(channel: Channel, after: EntryId | undefined, shared: Shared): View {
  switch (channel.kind) {
    case 'fleet':
      return fleetView(shared);
    case 'requests':
      return attentionView(shared);
    case 'tree':
      return new TreeView(channel.query, shared.reads);
    case 'agent':
      return new AgentView(channel.agent, shared);
    case 'changes':
      return new ChangesView(channel.agent, shared.reads);
    case 'log':
      return new LogView(channel.agent, after ?? 0, shared.reads);
  }
}

function fleetView(shared: Shared): View {
  let told = '';
  const look = (): FleetState => {
    const state = shared.fleet();
    told = JSON.stringify(state);
    return state;
  };
  return {
    everyMs: limits.listFrameMs,
    paged: false,
    unfinished: () => false,
    snapshot: () => ({ kind: 'fleet', state: look() }),
    hear: (news) => 0 < news.agents.size + news.requests.size + news.changes.size,
    step: () => {
      const before = told;
      const state = look();
      return { actions: before === told ? [] : [{ kind: 'fleet/set', state }] };
    },
  };
}

function attentionView(shared: Shared): View {
  let told = '';
  const look = (): AttentionState => {
    const state = shared.attention();
    told = JSON.stringify(state);
    return state;
  };
  return {
    everyMs: limits.listFrameMs,
    paged: false,
    unfinished: () => false,
    snapshot: () => ({ kind: 'requests', state: look() }),
    hear: (news) => 0 < news.agents.size + news.requests.size + news.changes.size,
    step: () => {
      const before = told;
      const state = look();
      return { actions: before === told ? [] : [{ kind: 'attention/set', state }] };
    },
  };
}

/** A window that fits into a frame: fewer rows when they are long; the client asks on from where they end. */
export function fitWindow(window: TreeWindow): TreeWindow {
  return { ...window, rows: takeFitting(window.rows, roomBytes) };
}

class TreeView implements View {
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

/** Streamed text in one action: a character is at most six bytes of JSON. More than this at once is said by a snapshot. */
const deltaChars = Math.floor(roomBytes / 6);

/** Pages of new entries read in one step. A page is at most 256 KB; the state keeps no more than fits into two. */
const stepPages = 4;

export class AgentView implements View {
  readonly everyMs = limits.panelFrameMs;
  readonly paged = false;
  readonly #agent: AgentId;
  readonly #shared: Shared;
  /** Newest entry that the client has. */
  #cursor = 0;
  #look = { row: false, entries: false, calls: false, requests: false, ended: false };
  #text = '';
  #thinking = '';

  constructor(agent: AgentId, shared: Shared) {
    this.#agent = agent;
    this.#shared = shared;
  }

  snapshot(): Snapshot {
    const { reads } = this.#shared;
    const agent = findAgent(reads, this.#agent);
    const page = reads.entries(this.#agent, { limit: tailEntries });
    const live = this.#shared.live(this.#agent);
    // Three eighths of a frame for entries, one for each of the rest and for the row.
    const entries = takeNewest(
      page.entries.map((entry) => fitEntry(entry, roomBytes / 4)),
      (roomBytes * 3) / 8,
    );
    this.#cursor = entries.at(-1)?.id ?? 0;
    this.#forget();
    const state: TranscriptState = {
      agent,
      entries,
      older: page.more || entries.length < page.entries.length,
      streaming: takeTail(live.text, roomBytes / 8),
      thinking: takeTail(live.thinking, roomBytes / 8),
      calls: takeFitting(this.#calls(), roomBytes / 8),
      requests: fitRequests(reads.requestsOf(this.#agent), roomBytes / 8),
    };
    return { kind: 'agent', state };
  }

  hear(news: News): boolean {
    const look = this.#look;
    const row = news.agents.has(this.#agent);
    const entries = news.spoke.has(this.#agent);
    const calls = news.calls.has(this.#agent);
    const requests = news.requests.has(this.#agent);
    look.row ||= row;
    look.entries ||= entries;
    look.calls ||= calls;
    look.requests ||= requests;
    return row || entries || calls || requests;
  }

  unfinished(): boolean {
    return false;
  }

  /** More of the answer that streams in. */
  delta(text: string, thinking: string): void {
    this.#text += text;
    this.#thinking += thinking;
  }

  /** The answer is stored or abandoned: what was not told of it need not be. */
  streamEnd(): void {
    this.#text = '';
    this.#thinking = '';
    this.#look.ended = true;
  }

  output(): void {
    this.#look.calls = true;
  }

  step(): Step {
    const { reads } = this.#shared;
    const look = this.#look;
    if (deltaChars < this.#text.length + this.#thinking.length)
      return { actions: [], reset: this.snapshot() };
    const actions: Action[] = [];
    if (look.ended) actions.push({ kind: 'agent/streamEnd' });
    const entries = look.entries ? this.#newEntries() : [];
    if (entries === null) return { actions: [], reset: this.snapshot() };
    actions.push(...entryActions(entries));
    if (look.calls) actions.push({ kind: 'agent/calls', calls: takeFitting(this.#calls(), roomBytes) });
    if (look.requests) {
      actions.push({ kind: 'agent/requests', requests: fitRequests(reads.requestsOf(this.#agent)) });
    }
    const row = look.row ? reads.agent(this.#agent) : undefined;
    if (row !== undefined) actions.push({ kind: 'agent/row', agent: row });
    if (this.#text !== '' || this.#thinking !== '') {
      actions.push({ kind: 'agent/delta', text: this.#text, thinking: this.#thinking });
    }
    this.#forget();
    return { actions };
  }

  /** Entries that the client does not have; null when there are so many that a snapshot says it shorter. */
  #newEntries(): readonly Entry[] | null {
    const entries: Entry[] = [];
    for (let pages = 0; pages < stepPages; pages++) {
      const page = this.#shared.reads.entriesAfter(this.#cursor, this.#agent, tailEntries);
      this.#cursor = page.at(-1)?.id ?? this.#cursor;
      entries.push(...page.map((entry) => fitEntry(entry)));
      if (page.length === 0) return entries;
      if (tailEntries <= entries.length) return null;
    }
    return null;
  }

  #forget(): void {
    this.#look = { row: false, entries: false, calls: false, requests: false, ended: false };
    this.#text = '';
    this.#thinking = '';
  }

  #calls(): readonly OpenCall[] {
    const { outputs } = this.#shared.live(this.#agent);
    const calls = this.#shared.reads.openCalls(this.#agent);
    const open = new Set<number>(calls.map((call) => call.call));
    for (const call of outputs.keys()) if (!open.has(call)) outputs.delete(call);
    return calls.map((call) => ({ ...call, output: outputs.get(call.call) ?? call.output }));
  }
}

/** Entries in actions that each fit into a frame. */
function entryActions(entries: readonly Entry[]): Action[] {
  const actions: Action[] = [];
  for (let rest = entries; 0 < rest.length;) {
    const part = takeFitting(rest, roomBytes);
    actions.push({ kind: 'agent/entries', entries: part });
    rest = rest.slice(part.length);
  }
  return actions;
}

/** The newest part of a text whose JSON has at most so many bytes. */
function takeTail(text: string, bytes: number): string {
  return sizeBytes(text) <= bytes ? text : text.slice(-Math.floor(bytes / 6));
}

class ChangesView implements View {
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

class LogView implements View {
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

function overlaps(some: ReadonlySet<number>, others: ReadonlySet<number>): boolean {
  const [few, many] = some.size < others.size ? [some, others] : [others, some];
  for (const each of few) if (many.has(each)) return true;
  return false;
}
