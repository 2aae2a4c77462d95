// A step is one transaction's worth of work: the rows that events read and change, and the effects that run
// once it is committed.
//
// Agents are read once and kept for the length of the step; handlers change the object, and `flush` writes
// what differs, adds the difference to the counts of every ancestor, and notes who must be told. Nothing here
// outlives the step, so a step that is rolled back leaves no trace (I1).

import {
  addToBranch,
  branchOf,
  difference,
  noShare,
  rankOf,
  shareOf,
  spendOf,
  type Share,
} from '../core/branch.ts';
import { invariant, must } from '../core/assert.ts';
import type { Knowledge } from '../core/knowledge.ts';
import type { Offer } from '../core/offers.ts';
import type { Pace } from '../core/pace.ts';
import type { AgentRecord, CallRecord, TurnRecord } from '../core/rows.ts';
import { utf8Bytes } from '../core/text.ts';
import type { EntryBody, Outcome } from '../protocol/entry.ts';
import type { TrustState } from '../protocol/profile.ts';
import type { News, Store } from '../ports.ts';
import { limits } from './limits.ts';
import type { Arrival, Pin, PinnedProfile, Runtime, Slots } from './memory.ts';

interface Held {
  readonly row: AgentRecord;
  was: AgentRecord;
  share: Share;
}

export class Step {
  readonly rt: Runtime;
  readonly store: Store;
  readonly nowMs: number;
  /** Slots and backlogs as they will be when this step is committed. */
  readonly slots: Slots;
  /** Run in order after the commit, never otherwise. */
  readonly effects: (() => void)[] = [];
  // Intents: what handlers leave for `settle` and `admit` at the end of the step, so that they call nobody back.
  /** Agents that want a model slot, in order; each gets a slot or a place in the queue. */
  readonly wanting = new Set<number>();
  /** Agents whose turn had a round before this step: they may go on with the slot that they held. */
  readonly turnsUnderWay = new Set<number>();
  /** Roots whose turns wait for a model slot, looked up once a step when somebody asks. */
  others: readonly number[] | null = null;
  /** Agents whose calls changed: their phase follows from the calls that are still open. */
  readonly unsettled = new Set<number>();
  /** Turns that ended and whose parents are still to be told. */
  readonly untold: { readonly parent: number; readonly turn: number; readonly outcome: Outcome }[] = [];
  /** Agents that may be due a notice; true: something failed, tell at once. */
  readonly looks = new Map<number, boolean>();
  /** The call that is being planned: its row is inserted when that is done, so changes to it need no update. */
  planning: CallRecord | null = null;
  /** Held budget came free: agents that wait for some look again, once a step. */
  budgetFreed = false;
  /** The agent of many that is looked at, for work that an event did not name: an error is put to its account. */
  lookingAt = 0;
  /** What was learned in this step of models' paces; kept when it commits. */
  readonly paces = new Map<string, Pace>();
  /** When the first turn of a lane may leave; null: none waits for a time. */
  paceAtMs: number | null = null;
  /** Calls that this step has prepared, started or taken up: `rt.calling` has them after the commit. */
  readonly takenUp = new Set<number>();
  /** Calls that got their result in this step: what was to be done for them after the commit is not done any more. */
  readonly closedCalls = new Set<number>();
  /** Slots of commands that were lent out (true) or taken back in this step: `rt.lent` follows after the commit. */
  readonly lends = new Map<number, boolean>();

  // What this step has read of folders and profiles: in memory after the commit, since a blob of a step that is
  // rolled back is given to another text.
  readonly knowledge = new Map<number, Knowledge>();
  readonly profiles = new Map<number, PinnedProfile>();
  readonly pins = new Map<string, Pin>();
  /** Verdicts on files by hash, as this step will leave them. */
  readonly trust = new Map<string, TrustState>();
  readonly offers = new Map<string, Offer>();

  /** Imports as this step will leave them; null: ended. The same part may come twice in one step. */
  readonly arrivals = new Map<string, Arrival | null>();

  private readonly agents = new Map<number, Held>();
  private readonly lists = new Set<number>();
  private readonly spoke = new Set<number>();
  private readonly rewound = new Set<number>();
  private readonly calls = new Set<number>();
  private readonly requests = new Set<number>();
  private readonly changes = new Set<number>();
  private readonly ended: number[] = [];
  private readonly moved = new Set<number>();
  private firstEntry = 0;
  private lastEntry = 0;

  constructor(rt: Runtime) {
    this.rt = rt;
    this.store = rt.store;
    this.nowMs = rt.clock.nowMs();
    this.slots = { ...rt.slots };
  }

  /** Remembers what to do after the commit. */
  after(effect: () => void): void {
    this.effects.push(effect);
  }

  /** The agent, to read and to change; undefined when there is none. */
  findAgent(id: number): AgentRecord | undefined {
    const held = this.agents.get(id);
    if (held !== undefined) return held.row;
    const row = this.store.get('agent', id);
    if (row !== undefined) this.agents.set(id, { row, was: { ...row }, share: shareOf(row) });
    return row;
  }

  /** The agent, which must exist. */
  agent(id: number): AgentRecord {
    return must(this.findAgent(id), 'an agent that is referred to exists', { id });
  }

  turn(id: number): TurnRecord {
    return must(this.store.get('turn', id), 'a turn that is referred to exists', { id });
  }

  /** Adds an agent, whose id is the table's next, to the forest and to the counts of its ancestors. */
  insertAgent(row: AgentRecord): void {
    const share = shareOf(row);
    addToBranch(row, share);
    row.rank = rankOf(row);
    const { id, ...columns } = row;
    invariant(this.store.insert('agent', columns) === id, 'an agent gets the id that its rows name', { id });
    this.agents.set(id, { row, was: { ...row }, share });
    this.addUp(row.parent, share);
    this.lists.add(row.parent);
    this.moved.add(id);
  }

  /**
   * Takes an agent without descendants out of the store. What it has spent becomes its parent's own spend: the branch
   * above goes on having spent it (I7).
   */
  removeAgent(row: AgentRecord): void {
    const share = shareOf(row);
    this.countNow(row.id);
    const change = difference(row.detached === 1 ? spendOf(share) : share, noShare);
    if (change !== null && row.parent !== 0) this.addUp(row.parent, change);
    const parent = row.parent === 0 ? null : this.agent(row.parent);
    if (parent !== null) {
      parent.microUsd += row.microUsd;
      parent.tokens += row.tokens;
      if (row.detached === 0) parent.children -= 1;
    }
    this.store.remove('agent', row.id);
    this.agents.delete(row.id);
    this.lists.add(row.parent);
    this.moved.add(row.id);
  }

  /** The agent and its ancestors, the agent first. Depth is bounded by limits.depth. */
  lineage(id: number): AgentRecord[] {
    const lineage: AgentRecord[] = [];
    for (let at = id; at !== 0; at = this.agent(at).parent) lineage.push(this.agent(at));
    return lineage;
  }

  /**
   * Appends to a transcript. Returns the entry's id, which is also the cursor of those who follow. `more`: bytes that
   * it adds to a request besides its own, by what it names.
   */
  addEntry(agent: AgentRecord, turn: number, body: EntryBody, more = 0): number {
    const json = JSON.stringify(body);
    const own = utf8Bytes(json);
    const inline = own <= limits.entryInlineBytes;
    const bytes = own + more;
    const id = this.store.insert('entry', {
      agent: agent.id,
      turn,
      at: this.nowMs,
      kind: body.kind,
      body: inline ? json : null,
      blob: inline ? 0 : this.store.putBlob(json),
      bytes,
    });
    agent.head = id;
    agent.bytes += bytes;
    if (this.firstEntry === 0) this.firstEntry = id;
    this.lastEntry = id;
    this.spoke.add(agent.id);
    return id;
  }

  /** The transcript of an agent goes on from somewhere else. */
  transcriptMoved(agent: number): void {
    this.rewound.add(agent);
  }

  callsChanged(agent: number): void {
    this.calls.add(agent);
  }

  requestsChanged(agent: number): void {
    this.requests.add(agent);
  }

  changesChanged(agent: number): void {
    this.changes.add(agent);
  }

  turnEnded(turn: number): void {
    this.ended.push(turn);
  }

  /** Takes a branch out of the tree, or puts it back: in one step, at any size. Its spend stays with those above. */
  setDetached(agent: AgentRecord, detached: 0 | 1): void {
    if (agent.detached === detached) return;
    this.countAllNow();
    const counted = branchOf(agent);
    const [before, after] = [counted, spendOf(counted)];
    const change = detached === 1 ? difference(before, after) : difference(after, before);
    if (change !== null) this.addUp(agent.parent, change);
    agent.detached = detached;
    this.lists.add(agent.parent);
    this.moved.add(agent.id);
    if (agent.parent === 0) return;
    const by = detached === 1 ? -1 : 1;
    const parent = this.agent(agent.parent);
    parent.children += by;
    if (agent.turn !== 0) parent.openChildren += by;
  }

  /** Adds what an agent spent or became to the counts of its branch at once, for who reads them in this step. */
  countNow(id: number): void {
    const held = this.agents.get(id);
    if (held !== undefined) this.count(held);
  }

  /** The same for every agent of this step: before counts of branches are read to decide whom to pass over. */
  countAllNow(): void {
    for (const held of [...this.agents.values()]) this.count(held);
  }

  /** A row that was read in a range, as this step has left it. */
  asHeld(row: AgentRecord): AgentRecord {
    return this.agents.get(row.id)?.row ?? row;
  }

  /** Writes what an agent is now at once: for what others look up in the store within this step, such as its name. */
  writeNow(id: number): void {
    const held = this.agents.get(id);
    if (held !== undefined) this.write(held);
  }

  /** Writes every changed agent, and its share to every ancestor. */
  flush(): void {
    this.countAllNow();
    for (const held of this.agents.values()) this.write(held);
  }

  /** Whom the commit concerns. Read after `flush`. */
  news(): News {
    return {
      agents: this.moved,
      lists: this.lists,
      firstEntry: this.firstEntry,
      lastEntry: this.lastEntry,
      spoke: this.spoke,
      rewound: this.rewound,
      calls: this.calls,
      requests: this.requests,
      changes: this.changes,
      ended: this.ended,
    };
  }

  private count(held: Held): void {
    const share = shareOf(held.row);
    const change = difference(held.share, share);
    if (change === null) return;
    held.share = share;
    this.addUp(held.row.id, change);
  }

  /** Adds to the counts of an agent and of all above it; above a branch in the trash only what was spent. */
  private addUp(from: number, change: Readonly<Share>): void {
    let left = change;
    for (let at = from; at !== 0;) {
      const agent = this.agent(at);
      addToBranch(agent, left);
      at = agent.parent;
      if (agent.detached === 1) left = spendOf(left);
    }
  }

  private write(held: Held): void {
    const { row, was } = held;
    row.rank = rankOf(row);
    const patch = changedColumns(was, row);
    if (patch === null) return;
    this.store.update('agent', row.id, patch);
    this.moved.add(row.id);
    if (row.rank !== was.rank) this.lists.add(row.parent);
    held.was = { ...row };
  }
}

/** The columns in which two versions of a row differ; null when in none. */
function changedColumns(was: AgentRecord, row: AgentRecord): Partial<Omit<AgentRecord, 'id'>> | null {
  let changed: [string, unknown][] | null = null;
  let name: keyof AgentRecord;
  for (name in row) {
    if (row[name] === was[name]) continue;
    changed ??= [];
    changed.push([name, row[name]]);
  }
  return changed === null ? null : Object.fromEntries(changed);
}
