// The Reads port: what clients are shown, on a connection of its own.
//
// Promises: each method sees the last commit, runs its statements to their end and leaves no read transaction
// open (I6), so the WAL can always be folded back.
// Not here: the queries, which stand in one file a noun beside this one.

import { statSync } from 'node:fs';
import type DatabaseConstructor from 'better-sqlite3';
import type { Offer } from '../core/offers.ts';
import type { BranchPlace, PlacedLine } from '../core/branchRows.ts';
import type { DoctorReport, ReviewFile, Reads, TreeAgent } from '../ports.ts';
import type { AgentRow } from '../protocol/agent.ts';
import type { AttentionState } from '../protocol/attention.ts';
import type { ChangeRow } from '../protocol/change.ts';
import type { AgentCost, DaySpent, LedgerEntry } from '../protocol/cost.ts';
import type { CommandRow } from '../protocol/command.ts';
import type { Entry } from '../protocol/entry.ts';
import type { FleetState } from '../protocol/fleet.ts';
import type { TurnResult, BudgetState, QueuedTurn } from '../protocol/methods.ts';
import type { RequestRow } from '../protocol/request.ts';
import type { TrashRow } from '../protocol/trash.ts';
import type { OpenCall } from '../protocol/transcript.ts';
import type { TreeQuery, TreeWindow } from '../protocol/tree.ts';
import { AgentReads } from './agentReads.ts';
import { AttentionReads } from './attentionReads.ts';
import { examine } from './doctor.ts';
import { EntryReads } from './entryReads.ts';
import { schemaVersion } from './schema.ts';
import { CostReads } from './costReads.ts';
import { limits } from '../runtime/limits.ts';
import { CommandReads } from './commandReads.ts';
import { ManageReads } from './manageReads.ts';
import { BranchReads } from './branchReads.ts';
import { TrashReads } from './trashReads.ts';
import { TreeReads } from './treeReads.ts';

interface Page<Row> {
  readonly rows: readonly Row[];
  readonly more: boolean;
}

export class SqliteReads implements Reads {
  readonly #database: DatabaseConstructor.Database;
  readonly #file: string;
  readonly #agents: AgentReads;
  readonly #entries: EntryReads;
  readonly #attention: AttentionReads;
  readonly #tree: TreeReads;
  readonly #manage: ManageReads;
  readonly #branch: BranchReads;
  readonly #commands: CommandReads;
  readonly #trash: TrashReads;
  readonly #cost: CostReads;

  /** `file` is the path of the database, for its size. */
  constructor(database: DatabaseConstructor.Database, file: string) {
    this.#database = database;
    this.#file = file;
    this.#agents = new AgentReads(database);
    this.#entries = new EntryReads(database);
    this.#attention = new AttentionReads(database, this.#agents, this.#entries);
    this.#tree = new TreeReads(database, this.#agents);
    this.#manage = new ManageReads(database);
    this.#branch = new BranchReads(database, this.#agents, this.#entries);
    this.#commands = new CommandReads(database);
    this.#trash = new TrashReads(database, this.#agents);
    this.#cost = new CostReads(database);
  }

  agent(id: number): AgentRow | undefined {
    return this.#agents.agent(id);
  }

  queue(agent: number, after: number, limit: number): Page<QueuedTurn> {
    return this.#manage.queue(agent, after, limit);
  }

  agentCost(agent: number): AgentCost | undefined {
    return this.#cost.agent(agent);
  }

  spent(root: number, sinceHour: number, offsetMinutes: number): readonly DaySpent[] {
    return this.#cost.days(root, sinceHour, offsetMinutes);
  }

  ledger(
    agent: number,
    after: number,
    limit: number,
  ): { readonly rows: readonly LedgerEntry[]; readonly next: number | null } {
    return this.#cost.ledger(agent, after, limit);
  }

  roles(): Readonly<Record<string, string>> {
    return this.#cost.roles();
  }

  budget(agent: number): BudgetState | undefined {
    return this.#manage.budget(agent);
  }

  trust(hash: string): 'trusted' | 'denied' | undefined {
    return this.#manage.trust(hash);
  }

  offer(server: string): Offer | undefined {
    return this.#manage.offer(server);
  }

  agentByName(path: string): AgentRow | undefined {
    return this.#agents.agentByName(path);
  }

  agents(parent: number, after: number, limit: number): Page<AgentRow> {
    return this.#agents.agents(parent, after, limit);
  }

  tree(query: TreeQuery): TreeWindow {
    return this.#tree.tree(query, this.#attention.total());
  }

  entries(
    agent: number,
    page: Parameters<EntryReads['entries']>[1],
  ): { readonly entries: readonly Entry[]; readonly more: boolean } {
    return this.#entries.entries(agent, page);
  }

  entriesAfter(cursor: number, agent: number, limit: number): readonly Entry[] {
    return this.#entries.entriesAfter(cursor, agent, limit);
  }

  blob(
    id: number,
    offset: number,
    limit: number,
  ): { readonly text: string; readonly nextOffset: number | null; readonly totalBytes: number } | undefined {
    return this.#entries.blob(id, offset, limit);
  }

  blobBytes(id: number): Uint8Array | null {
    return this.#entries.blobBytes(id);
  }

  turn(id: number): TurnResult | undefined {
    return this.#entries.turn(id);
  }

  lastTurn(agent: number): TurnResult | undefined {
    return this.#entries.lastTurn(agent);
  }

  branchLines(top: number, from: BranchPlace): Iterable<PlacedLine> {
    return this.#branch.lines(top, from);
  }

  trash(after: number, limit: number): Page<TrashRow> {
    return this.#trash.trash(after, limit);
  }

  turns(agent: number, before: number, limit: number): ReturnType<EntryReads['turns']> {
    return this.#entries.turns(agent, before, limit);
  }

  requests(after: number, limit: number): Page<RequestRow> {
    return this.#attention.requests(after, limit);
  }

  requestsOf(agent: number): readonly RequestRow[] {
    return this.#attention.requestsOf(agent);
  }

  commandsOf(agent: number): readonly CommandRow[] {
    return this.#commands.of(agent, limits.backgroundOfAgent);
  }

  commands(after: number, limit: number): { readonly rows: readonly CommandRow[]; readonly more: boolean } {
    return this.#commands.all(after, Math.min(limit, limits.pageRows));
  }

  openCalls(agent: number): readonly OpenCall[] {
    return this.#attention.openCalls(agent);
  }

  changes(agent: number, after: number, limit: number): Page<ChangeRow> {
    return this.#attention.changes(agent, after, limit);
  }

  change(id: number): { readonly row: ChangeRow; readonly file: ReviewFile } | undefined {
    return this.#attention.change(id);
  }

  atWork(workspace: string): readonly string[] {
    return this.#manage.atWork(workspace);
  }

  madeByAgent(path: string, sinceMs: number): boolean {
    return this.#manage.madeByAgent(path, sinceMs);
  }

  isOpenInPlace(path: string): boolean {
    return this.#manage.isOpenInPlace(path);
  }

  treeAgent(agent: number): TreeAgent | undefined {
    return this.#manage.treeAgent(agent);
  }

  attention(): AttentionState {
    return this.#attention.attention();
  }

  fleet(): FleetState {
    return this.#attention.fleet();
  }

  sizes(): {
    readonly schema: number;
    readonly storeBytes: number;
    readonly freeBytes: number;
    readonly walBytes: number;
    readonly agents: number;
  } {
    return {
      schema: schemaVersion,
      storeBytes: bytesOf(this.#file),
      freeBytes: freeBytes(this.#database),
      walBytes: bytesOf(`${this.#file}-wal`),
      agents: this.#attention.total().agents,
    };
  }

  doctor(): DoctorReport {
    const slices = this.examine();
    for (let slice = slices.next(); ; slice = slices.next()) if (slice.done === true) return slice.value;
  }

  examine(): Iterator<undefined, DoctorReport> {
    return examine(this.#database);
  }

  close(): void {
    this.#database.close();
  }
}

/** Bytes of a file, 0 when there is none. */
function bytesOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/** Bytes of pages that no row is in. SQLite knows their number without looking at them. */
function freeBytes(database: DatabaseConstructor.Database): number {
  const pragma = (name: string): number => Number(database.pragma(name, { simple: true }));
  return pragma('freelist_count') * pragma('page_size');
}
