// The ports: all that the runtime knows of the world. Each is implemented once by an adapter and once by the
// simulator.
//
// The rule of every port: a call returns at once; what happens later is posted through the callback it was
// given, never before the call has returned. So the runtime needs no promise, and a step is one synchronous call.

import type { BranchPlace, PlacedLine } from './core/branchRows.ts';
import type { Knowledge, PinnedSkill } from './core/knowledge.ts';
import type { IndexName, RowOf } from './core/indexes.ts';
import type { RestoreEvent, RestoreJob, ReviewDone, ReviewFile, ReviewJob, ReviewPlan } from './core/jobs.ts';
import type { Offer, OfferAnswer, RemoteCall, ServerRef } from './core/offers.ts';
import type { TableName, Tables } from './core/rows.ts';
import type { Ask, Item, LimitReading, ModelOutcome, ToolSpec } from './core/terms.ts';
import type { AgentRow, Isolation, Mode } from './protocol/agent.ts';
import type { AttentionState } from './protocol/attention.ts';
import type { AgentCost, DaySpent, LedgerEntry, ModelPrice } from './protocol/cost.ts';
import type { CommandRow } from './protocol/command.ts';
import type { Entry } from './protocol/entry.ts';
import type { FleetState } from './protocol/fleet.ts';
import type { AgentId, AttemptId, CallId, TurnId } from './protocol/ids.ts';
import type { Json, JsonObject } from './protocol/json.ts';
import type { ChangeDetail, ChangeRow } from './protocol/change.ts';
import type {
  BudgetState,
  DoctorFinding,
  QueuedTurn,
  StoreInfo,
  TurnResult,
  TurnRow,
} from './protocol/methods.ts';
import type { RequestRow } from './protocol/request.ts';
import type { ModelInfo, ProviderSpec } from './protocol/settings.ts';
import type { OpenCall } from './protocol/transcript.ts';
import type { TrashRow } from './protocol/trash.ts';
import type { TreeQuery, TreeWindow } from './protocol/tree.ts';

/** Gives up on what a port was asked. Safe to call twice and after the end; at most one more post may follow. */
export type Cancel = () => void;

export type { Ask, Item, ModelOutcome, ToolSpec } from './core/terms.ts';
export type { OfferAnswer, RemoteCall, ServerRef } from './core/offers.ts';
export type { RestoreEvent, RestoreJob, ReviewDone, ReviewFile, ReviewJob, ReviewPlan } from './core/jobs.ts';

// ---------------------------------------------------------------- store

/**
 * Rows and ranges over declared indexes, and one transaction at a time. Everything the runtime decides is
 * written here before anybody hears of it (I1).
 */
export interface Store {
  /** Runs `work`; commits when it returns, rolls all of it back when it throws, and throws that on. */
  transact<T>(work: () => T): CommitResult<T>;
  /** A part of the running transaction that rolls back alone when it throws. */
  attempt<T>(work: () => T): T;
  get<T extends TableName>(table: T, id: number): Tables[T] | undefined;
  /** Inserts and returns the new id, larger than every id the table ever had. */
  insert<T extends TableName>(table: T, row: Omit<Tables[T], 'id'>): number;
  /** The id that the next insert into a table returns: for rows that are named by others before they are inserted. */
  nextId(table: TableName): number;
  update<T extends TableName>(table: T, id: number, patch: Partial<Omit<Tables[T], 'id'>>): void;
  remove(table: TableName, id: number): void;
  /** Stores content as a blob (compressed when that pays) and returns its id; text is UTF-8. */
  putBlob(content: string | Uint8Array): number;
  /** The content of a blob; undefined when there is none with this id. */
  blobText(id: number): string | undefined;
  blobBytes(id: number): Uint8Array | undefined;
  /**
   * Rows whose index columns start with `equals`, by id ascending within them (descending with `newest`),
   * with an id above `after` (below it with `newest`), at most `limit`.
   */
  range<I extends IndexName>(index: I, equals: readonly (string | number | null)[], page: Page): RowOf<I>[];
}

export interface Page {
  readonly after?: number;
  readonly limit: number;
  readonly newest?: boolean;
  /**
   * Compare the index column after `equals` too: rows whose value is above this one, or at most `upTo`,
   * in the order of the index: by that column, those after it, and then by id. Not together with `after` or `newest`.
   */
  readonly above?: number | string;
  readonly upTo?: number;
}

/** `full`: the disk has no room. Nothing of the transaction remains; it may be tried again. */
export type CommitResult<T> =
  { readonly kind: 'committed'; readonly value: T } | { readonly kind: 'full'; readonly message: string };

// ---------------------------------------------------------------- model

export interface ModelRequest {
  readonly attempt: AttemptId;
  readonly agent: AgentId;
  /** provider/model. */
  readonly model: string;
  readonly system: string;
  readonly tools: readonly ToolSpec[];
  /** The same for all agents that share the prefix (profile revision): providers route their prompt cache by it. */
  readonly cacheKey: string;
  readonly maxOutputTokens: number;
  /**
   * The conversation in pages of at most 64 KB, read from the store when called; null after the last. Nothing is
   * kept between calls but a cursor, and a second `pages()` gives the same bytes (I6).
   */
  pages(): () => readonly Item[] | null;
}

export type ModelEvent =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'thinking'; readonly text: string }
  /** What the head of the answer, or of a refusal, says about the provider's limits; `sinceMs` after the request went out. */
  | { readonly kind: 'limits'; readonly limits: readonly LimitReading[]; readonly sinceMs: number }
  /** Last, exactly once unless cancelled. */
  | { readonly kind: 'end'; readonly outcome: ModelOutcome };

export interface Model {
  ask(request: ModelRequest, post: (event: ModelEvent) => void): Cancel;
  /** What is known of a model; null when its provider was never set. */
  info(model: string): ModelInfo | null;
  /** Price in millionths of a US dollar per million tokens; null when nobody knows it. */
  price(model: string): ModelPrice | null;
  /** A person's price for a model, in place of the table's; null takes it away. */
  setPrice(model: string, price: ModelPrice | null): void;
  setProvider(spec: ProviderSpec): void;
  /** Asks every provider that can be asked what models it has; those that do not answer are left out. */
  list(post: (models: readonly ModelInfo[]) => void): void;
  /** Gives a provider its key, in memory only. Null takes it away. `baseUrl` moves with the key (case 54). */
  setKey(provider: string, key: string | null, baseUrl?: string): void;
  /** What a request for this model would lack: a key that nobody gave, or a window of the editor that has it. */
  lacks(model: string): 'key' | 'editor' | null;
  /** Models that share a provider's limits are one pool: they are paced together. */
  pool(model: string): ModelPool;
}

export interface ModelPool {
  /** The same for as long as its credential is; at most a few a provider. */
  readonly name: string;
  /** Requests that it takes at a time; null: as many as there are slots. */
  readonly atOnce: number | null;
  /** Whether it is asked slowly at first, because nothing is known of it. A script is never too fast by itself. */
  readonly ramp: boolean;
}

// ---------------------------------------------------------------- tools

/** `pure` is run again after a crash, `idempotent` is judged by its evidence, `effect` is never run twice (I3). */
export type CallClass = 'pure' | 'idempotent' | 'effect';

export interface Place {
  /** Absolute, links resolved. */
  readonly workspace: string;
  readonly isolation: Isolation;
  readonly mode: Mode;
}

export interface ToolJob {
  readonly call: CallId;
  readonly agent: AgentId;
  /** Ids of the ancestors, parent first. */
  readonly parent: AgentId | null;
  readonly turn: TurnId;
  readonly tool: string;
  /** Parsed from complete JSON; still to be checked against the tool's schema by the tool. */
  readonly input: JsonObject;
  readonly place: Place;
  /** The tool of a server that this call means; only for calls of those. */
  readonly remote?: RemoteCall;
  /** What the agent may read with the tool `skill`; only for calls of that one. */
  readonly skills?: readonly PinnedSkill[];
}

export type Prepared =
  /** `evidence` is committed with the started row: what recovery needs to judge what happened. */
  | {
      readonly kind: 'run';
      readonly evidence: Json;
      readonly ask: Ask | null;
      readonly usesCommandSlot: boolean;
    }
  /** An error that the model can use. */
  | { readonly kind: 'refuse'; readonly text: string };

/** A file that a tool wrote: bytes before and after, null when it did not or does not exist. */
export interface Touched {
  /** The person's file, absolute, links resolved; and the file that was written (in a worktree: another). */
  readonly path: string;
  readonly written: string;
  readonly before: Uint8Array | null;
  readonly after: Uint8Array | null;
  /** Agents whose commands ran in the folder at the same time: it may be their work. */
  readonly others?: readonly AgentId[];
  /** The file was written after the command had ended, while nobody looked: it may be somebody else's work. */
  readonly isLate?: boolean;
}

/** A command that runs on after its call has its result. */
export interface Background {
  /** The command in one line. */
  readonly title: string;
  /** What `attend` needs to find it again. */
  readonly evidence: Json;
}

export interface ToolOutcome {
  readonly status: 'ok' | 'error' | 'unknown';
  /** What the model is told, at most limits.resultBytes. */
  readonly text: string;
  /** The whole output when `text` is only a part. */
  readonly whole?: Uint8Array;
  /** The command of this call runs on in the background. */
  readonly background?: Background;
  /** The command in the background, by the call that started it, whose end `text` tells. */
  readonly ended?: CallId;
  readonly touched?: readonly Touched[];
}

export type ToolEvent =
  /** The tail of a running command's output as it stands, in place of what was posted before. Never stored. */
  | { readonly kind: 'output'; readonly text: string }
  | { readonly kind: 'done'; readonly outcome: ToolOutcome };

export interface Tools {
  /** In the order in which models are offered them; the same array for ever, so that prompts are byte-stable. */
  readonly specs: readonly ToolSpec[];
  classOf(tool: string): CallClass | null;
  /** Looks, decides what would be done and what must be asked. Changes nothing. */
  prepare(job: ToolJob, post: (prepared: Prepared) => void): Cancel;
  /**
   * Looks after a command in the background, started by the call of this job in this process or an earlier one.
   * Posts once, when it has ended; `text` says how, in a few lines. Cancelling ends the command.
   */
  attend(job: ToolJob, evidence: Json, post: (outcome: ToolOutcome) => void): Cancel;
  /**
   * What `prepare` would post, for a tool that only has to read the arguments (a command line); null: ask `prepare`.
   * The started row is then in the commit of the answer, which saves a barrier a step.
   */
  prepareNow(job: ToolJob): Prepared | null;
  /** Does it. Called once per started row, after its commit. */
  run(job: ToolJob, evidence: Json, post: (event: ToolEvent) => void): Cancel;
  /** Starts or reaches a server and asks what it offers. Posts once, within limits.serverStartMs. */
  offer(server: ServerRef, post: (answer: OfferAnswer) => void): void;
  /** After a crash: what became of a started call (DESIGN §7). Never starts an `effect` again. */
  recover(job: ToolJob, evidence: Json, post: (event: ToolEvent) => void): Cancel;
  /**
   * The end of a call, which the tool has posted, is committed: `recover` will not be called for it, and what was kept
   * to judge it by may go.
   */
  settled(tool: string, call: CallId): void;
}

// ---------------------------------------------------------------- review

export interface Review {
  /** Adds hunks and texts to a change, as the file stands now (unsaved buffers win). */
  detail(row: ChangeRow, file: ReviewFile, post: (detail: ChangeDetail) => void): void;
  plan(job: ReviewJob, post: (plan: ReviewPlan) => void): void;
  /** Brings the file to what the plan's evidence says; done already: says so. Also what recovery calls. */
  write(job: ReviewJob, evidence: Json, post: (done: ReviewDone) => void): void;
  /** Lines added and removed, and the hash that names these bytes; cheap enough for the loop (bounded by limits.diffBytes). */
  measure(
    before: Uint8Array | null,
    after: Uint8Array | null,
  ): {
    readonly added: number;
    readonly removed: number;
    readonly beforeHash: string;
    readonly afterHash: string;
    /** Lines of the earlier version that were replaced (core/overlap.ts). */
    readonly ranges: string;
  };
  /**
   * The base of an open change whose agent found the file as `found` (Touched.before) at its next write: the same
   * base when that is what the agent had left, else with what others wrote in between taken in, so that their
   * lines are nobody's hunk. Cheap enough for the loop.
   */
  rebase(
    file: { readonly base: Uint8Array | null; readonly after: Uint8Array | null },
    found: Uint8Array | null,
  ): Uint8Array | null;
}

// ---------------------------------------------------------------- worktrees

/** What the store knows of an agent, as far as the fate of its worktree hangs on it. */
export interface TreeAgent {
  readonly name: string;
  /** It or an ancestor is closed: it never works again. Or it is in the trash, and after a restore its worktree is made anew. */
  readonly closed: boolean;
  /** A turn of it is open or queued. */
  readonly busy: boolean;
  /** Its changes without a verdict. */
  readonly undecided: number;
  /** Whether a change of it to this file of the person's has its verdict, and left the agent's version with this hash. */
  decided(path: string, hash: string): boolean;
}

export interface Trees {
  /** Some agents may not need their worktrees any more: closed or deleted, and everything decided. Nothing is posted. */
  sweep(): void;
}

// ---------------------------------------------------------------- scout

/** Looks at what a folder tells agents. */
export interface Scout {
  /** `workspace`: absolute, links resolved. Never older than the call; what cannot be read is among its problems. */
  look(workspace: string, post: (knowledge: Knowledge) => void): void;
  /** Files of servers that are the person's own, absolute. */
  setServerFiles(files: readonly string[]): void;
}

// ---------------------------------------------------------------- checkpoints

export interface Checkpoints {
  /** Brings files back as they were. Asked twice it finds nothing left to do. */
  restore(job: RestoreJob, post: (event: RestoreEvent) => void): void;
}

// ---------------------------------------------------------------- clock, random, clients

export interface Clock {
  /** Wall time, milliseconds since 1970. */
  nowMs(): number;
  /** Never goes back; for durations. */
  monotonicMs(): number;
  /** One alarm at a time: the newest call replaces the one before. Null: none. */
  alarm(atMs: number | null, ring: () => void): void;
  /** Runs `work` soon, after what is queued in the process already, and not before `afterMs` have passed. */
  soon(work: () => void, afterMs: number): void;
}

export interface Random {
  /** At least 0, below 1. */
  next(): number;
}

/** Asks connected clients for what only they have. */
export interface Clients {
  /** Asks every client that offers secrets; the first that has the key wins. Null: none has it. */
  secret(
    provider: string,
    post: (key: { readonly key: string; readonly baseUrl?: string } | null) => void,
  ): void;
}

// ---------------------------------------------------------------- publish

/** What a commit changed, handed over after it: who follows is told, nobody else pays. */
export interface News {
  /** Agents whose row changed, ancestors with new counts included. */
  readonly agents: ReadonlySet<number>;
  /** Parents whose list of children changed (0: the roots). */
  readonly lists: ReadonlySet<number>;
  /** First and last new entry ids of this commit; 0: none. Entries are read from the store by those who follow. */
  readonly firstEntry: number;
  readonly lastEntry: number;
  /** Agents with new entries. */
  readonly spoke: ReadonlySet<number>;
  /** Agents whose transcript has become another: what they said last may be left. */
  readonly rewound: ReadonlySet<number>;
  /** Agents whose calls changed, whose requests changed, whose changes changed. */
  readonly calls: ReadonlySet<number>;
  readonly requests: ReadonlySet<number>;
  readonly changes: ReadonlySet<number>;
  /** Turns that ended. */
  readonly ended: readonly number[];
}

export interface Publish {
  committed(news: News): void;
  /** Text that a model streams. Lost when nobody looks. */
  delta(agent: AgentId, text: string, thinking: string): void;
  streamEnd(agent: AgentId): void;
  output(agent: AgentId, call: CallId, text: string): void;
}

// ---------------------------------------------------------------- reads

export interface DoctorReport {
  readonly findings: readonly DoctorFinding[];
  /** What was looked at, in words. */
  readonly checked: readonly string[];
}

/**
 * What clients are shown, read on a connection of its own that sees the last commit. Every list is paged and
 * every query has an index (I13). A method that finds nothing returns undefined; the caller words the error.
 */
export interface Reads {
  agent(id: number): AgentRow | undefined;
  /** By path of names from a root: `lead`, `lead/tests`. */
  agentByName(path: string): AgentRow | undefined;
  agents(
    parent: number,
    after: number,
    limit: number,
  ): { readonly rows: readonly AgentRow[]; readonly more: boolean };
  tree(query: TreeQuery): TreeWindow;
  /** A fork's shared prefix included, as of now or of the end of `turn`. At most `limit` entries and 256 KB. */
  entries(
    agent: number,
    page: {
      readonly before?: number;
      readonly after?: number;
      readonly turn?: number;
      readonly limit: number;
    },
  ): { readonly entries: readonly Entry[]; readonly more: boolean };
  /** Ascending from the cursor; `agent` 0: of all agents. */
  entriesAfter(cursor: number, agent: number, limit: number): readonly Entry[];
  blob(
    id: number,
    offset: number,
    limit: number,
  ): { readonly text: string; readonly nextOffset: number | null; readonly totalBytes: number } | undefined;
  blobBytes(id: number): Uint8Array | null;
  turn(id: number): TurnResult | undefined;
  lastTurn(agent: number): TurnResult | undefined;
  /** Turns of an agent, newest first, with an id below `before` (0: all). */
  turns(
    agent: number,
    before: number,
    limit: number,
  ): { readonly rows: readonly TurnRow[]; readonly more: boolean };
  /** Queued turns of an agent, oldest first. */
  queue(
    agent: number,
    after: number,
    limit: number,
  ): { readonly rows: readonly QueuedTurn[]; readonly more: boolean };
  budget(agent: number): BudgetState | undefined;
  agentCost(agent: number): AgentCost | undefined;
  /** By day and model, newest day first; `root` 0: all. `offsetMinutes` east of UTC is where days begin. */
  spent(root: number, sinceHour: number, offsetMinutes: number): readonly DaySpent[];
  /** `agent` 0: all. Looks at a bounded number of rows; `next` leads on. */
  ledger(
    agent: number,
    after: number,
    limit: number,
  ): { readonly rows: readonly LedgerEntry[]; readonly next: number | null };
  /** Models of profiles. */
  roles(): Readonly<Record<string, string>>;
  /** What a person has decided about the file of this hash; undefined: nothing. */
  trust(hash: string): 'trusted' | 'denied' | undefined;
  /** Lines of the file of a branch, from a place in it on (protocol/branchFile.ts); the header and the end are not these. */
  branchLines(top: number, from: BranchPlace): Iterable<PlacedLine>;
  /** Branches in the trash, newest first; `after` 0: from the newest on. */
  trash(after: number, limit: number): { readonly rows: readonly TrashRow[]; readonly more: boolean };
  /** What the server of this definition offered when it was asked last; undefined: it never was. */
  offer(server: string): Offer | undefined;
  requests(after: number, limit: number): { readonly rows: readonly RequestRow[]; readonly more: boolean };
  requestsOf(agent: number): readonly RequestRow[];
  openCalls(agent: number): readonly OpenCall[];
  /** Commands in the background of one agent, and of all by the call that started them. */
  commandsOf(agent: number): readonly CommandRow[];
  commands(after: number, limit: number): { readonly rows: readonly CommandRow[]; readonly more: boolean };
  /** `agent` 0: open changes of all agents. */
  changes(
    agent: number,
    after: number,
    limit: number,
  ): { readonly rows: readonly ChangeRow[]; readonly more: boolean };
  change(id: number): { readonly row: ChangeRow; readonly file: ReviewFile } | undefined;
  /** Names of agents at work that share a folder with the person; a few of them. */
  atWork(workspace: string): readonly string[];
  /** Whether an agent made this file at or after a time, and whether one has an undecided change of it in place. */
  madeByAgent(path: string, sinceMs: number): boolean;
  isOpenInPlace(path: string): boolean;
  /** Of an agent, for its worktree. */
  treeAgent(agent: number): TreeAgent | undefined;
  attention(): AttentionState;
  fleet(): FleetState;
  sizes(): Pick<StoreInfo, 'schema' | 'storeBytes' | 'freeBytes' | 'walBytes' | 'agents'>;
  doctor(): DoctorReport;
  /**
   * The same in slices that each hold the loop a few milliseconds and see one commit; the last value is the
   * report. For a process that serves others meanwhile.
   */
  examine(): Iterator<undefined, DoctorReport>;
  close(): void;
}
