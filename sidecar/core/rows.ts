// The rows of the store, as the runtime reads and writes them. One interface a table; the store turns each
// into a CREATE TABLE and nothing else in the product knows SQL.
//
// Numbers are integers below 2^53, times are milliseconds since 1970, 0 stands for "none" in id columns so
// that an index holds it. Text of one agent stands where it is used; text that many agents share (prompts,
// tool schemas, profiles) is a blob named through `shared`.

import type { BackgroundRecord } from './commandRows.ts';
import type { Effort, Isolation, Mode, Phase, WaitReason } from '../protocol/agent.ts';
import type { Outcome } from '../protocol/entry.ts';
import type { RequestKind } from '../protocol/request.ts';
import type { RemainsRecord, SettingRecord, TrashRecord, WalkRecord } from './branchRows.ts';
import type { FoldedRecord, LedgerRecord, PriceRecord, RoleRecord, SpendRecord } from './moneyRows.ts';

export interface AgentRecord {
  id: number;
  /** 0: a root. */
  parent: number;
  root: number;
  depth: number;
  name: string;
  task: string;
  /** Blob of the profile revision that it is pinned to. */
  profile: number;
  /** Blob of the revision that its next turn begins with, when somebody has chosen another meanwhile; 0: the same. */
  nextProfile: number;
  model: string;
  /** The model that it has again when the open turn has ended, which was given another; null: the same. */
  homeModel: string | null;
  handed: number; // 1: it was given another model since its last answer, and what that cannot read is still to be told
  /** How much its models are asked to think; null: what the profile says. */
  effort: Effort | null;
  isolation: Isolation;
  mode: Mode;
  /** Row of `place`: the folder it works in. */
  place: number;
  phase: Phase;
  why: WaitReason | null;
  since: number;
  /** The open turn, 0 when idle. */
  turn: number;
  /** Newest entry of its transcript, 0 before the first. */
  head: number;
  /** Bytes of its conversation as it is sent, a fork's prefix included: what a request is estimated by. */
  bytes: number;
  /** The newest entry of kind `context` of its transcript, a fork's prefix included; 0: all of the transcript is sent. */
  context: number;
  /** What its provider counted of its newest request and the answer, and `bytes` then. 0: nothing, or too little to matter. */
  seenTokens: number;
  seenBytes: number;
  /** 0: no summary is due; 1: one is made before its next request; above: requests are for it, and this is the try plus 1. */
  compacting: number;
  /** A fork's prefix: the transcript of `forkAgent` up to and with entry `forkEntry`, in its `forkStretch`. 0: none. */
  forkAgent: number;
  forkEntry: number;
  forkStretch: number;
  /** The stretch of its entries that its transcript ends with; 0: the first one, of an agent that was never rewound. */
  stretch: number;
  /** The turn of its parent in which it was started; 0: a person started it, or it is a root. */
  born: number;
  outcome: Outcome | null;
  doing: string;
  /** Turns in state `queued`. */
  queued: number;
  children: number;
  /** Direct children that have a turn open or queued. */
  openChildren: number;
  /** Newest outcome of a child that was told to this agent. Each is told once: the cursor only moves forward (I8). */
  heard: number;
  /** Outcomes after `heard`. */
  unheard: number;
  /** The present length of the notice window, ms; its end is a row of `timer`. */
  noticeGap: number;
  /** Its own open requests. */
  requests: number;
  /** Its own changes without a verdict. */
  changes: number;
  /** Its commands that run in the background. */
  commands: number;
  /** Attention class, the order of the tree: 0 needs a person, 1 running, 2 waiting, 3 failed, 4 done, 5 idle. */
  rank: number;
  /** Crashes with this turn in flight, counted since it last made progress. At 3 it is quarantined. */
  crashes: number;
  /** A restart took its turn up, in order or after a crash, and its model was not told yet. 0 or 1. */
  restarted: number;
  /** Priority of its turns: 0 a person's, 1 an agent's. */
  urgency: number;
  /**
   * Requests of this agent that were ever sent, a fork's prefix included: the number of the newest attempt. With the
   * agent it names an attempt, so a late end of an older one is known as such.
   */
  attempts: number;
  /** Reserved by its own attempt in flight; 0 when there is none. */
  heldMicroUsd: number;
  heldTokens: number;
  /** Answers that the model gave in the open turn. */
  rounds: number;
  /** Attempts of the present round that were lost, in a row. A refusal is the pool's business and not counted. */
  tries: number;
  /** Answers that were empty or cut at the output limit, in a row. */
  empties: number;
  /** Blob of the JSON Schema that the open turn's result must fit; 0: none was given. */
  schema: number;
  /** Results of the open turn that did not fit, and times that it would have ended without one. */
  misses: number;
  /** The submit_result call whose result the open turn hands over when it ends; 0: none yet. */
  result: number;
  /** The last turn of its transcript that ended; 0: none has. After a rewind to a turn of its fork's prefix that one. */
  last: number;
  /** Own spend, and that of descendants that were deleted for good: what a branch has spent stays spent (I7). */
  microUsd: number;
  tokens: number;
  /** Input tokens of its requests to models with a prompt cache, and those of them that came from it. */
  cacheable: number;
  cacheRead: number;
  /** Branch counts, this agent included; see protocol/agent.ts Rollup. */
  bAgents: number;
  bRunning: number;
  bWaiting: number;
  bNeeds: number;
  bFailed: number;
  bDone: number;
  bMicroUsd: number;
  bTokens: number;
  bCacheable: number;
  bCacheRead: number;
  /** Reserved by attempts in flight anywhere in the branch. */
  bHeldMicroUsd: number;
  bHeldTokens: number;
  /** Limits of the branch; null: none. */
  maxMicroUsd: number | null;
  maxTokens: number | null;
  maxAgents: number | null;
  maxDepth: number | null;
  /** Wall time at which the branch must have ended; null: none. */
  endBy: number | null;
  /** 0 open, 1 closing or closed. */
  closed: number;
  /**
   * Row of `trash`: it is in a branch that is in the trash, or on its way there or back. 0: none. Set on the top of
   * the branch first and taken from it last, so the lineage of an agent always says whether work may start.
   */
  trash: number;
  /** 1: the top of a branch in the trash. Lists, paths and counts of those above pass it over; its spend still counts. */
  detached: number;
  /** Number of the newest task that its parent gave it: how a turn of an older one ended is told as superseded. */
  revision: number;
  /** The branch was interrupted: spawns under it are refused until it is sent a message. 0 or 1. */
  halted: number;
  created: number;
  /** Client key of `agent/start`; null when spawned by an agent. */
  key: string | null;
}

export type TurnState = 'queued' | 'open' | 'ended';

export interface TurnRecord {
  id: number;
  agent: number;
  state: TurnState;
  /** What woke the agent. */
  cause: 'message' | 'spawn' | 'notice' | 'timer' | 'followup' | 'retry' | 'compact';
  /** 0: a person; else the agent that sent it, by a tool or by a command of its own. */
  sender: number;
  /** The text that starts it, while it is queued; null once it is an entry. Of an open turn: what a summary is to stress. */
  text: string | null;
  outcome: Outcome | null;
  /**
   * Why it ended as it did, at most 2 KB. Empty when it is done: its answer says that, and to write it here too would
   * make a full page of two half ones.
   */
  brief: string;
  /** Entry that holds the whole of it; 0: none. */
  answer: number;
  /** Its last entry, and the bytes of the transcript up to it, once it has ended: where a fork may begin. */
  last: number;
  bytes: number;
  /** The stretch of its agent's entries that it is in, once it has ended. */
  stretch: number;
  /** JSON given to submit_result; null while it runs and when none was. */
  result: string | null;
  /** Blob of the JSON Schema that its result must fit; 0: none was given. */
  schema: number;
  /** Number of the newest task that its agent had been given by the parent when it was queued or begun. */
  revision: number;
  /** The turn that its text was a steer for, when it came too late for that one; null: it was none. */
  late: number | null;
  /** Row of `outcome` that tells the parent how it ended; 0: not ended, or of a root. */
  told: number;
  /** The model that answers this turn alone; null: the agent's. */
  model: string | null;
  started: number;
  ended: number;
  key: string | null;
}

export interface EntryRecord {
  id: number;
  agent: number;
  turn: number;
  at: number;
  /** Kind of the body, for queries. */
  kind: string;
  /** JSON of an EntryBody, at most `limits.entryInlineBytes`; else null and the JSON is in `blob`. */
  body: string | null;
  blob: number;
  /** Bytes that this entry adds to a request: what paging and the context budget count. */
  bytes: number;
}

export interface BlobRecord {
  id: number;
  /** 'raw' or 'deflate'. */
  form: string;
  bytes: Uint8Array;
  /** Before compression. */
  size: number;
}

export interface SharedRecord {
  id: number;
  hash: string;
  blob: number;
}

export interface PlaceRecord {
  id: number;
  /** Absolute path, links resolved. */
  path: string;
}

/** What the last look at a folder found (core/knowledge.ts): one row a folder, once somebody has looked. */
export interface KnowledgeRecord {
  id: number;
  place: number;
  /** JSON of a Knowledge. */
  blob: number;
}

/** What a server (MCP) offered when it was asked last. */
export interface OfferRecord {
  id: number;
  /** SHA-256, hex, of its definition. */
  server: string;
  /** JSON of an Offer (core/offers.ts). */
  blob: number;
  at: number;
}

/** What a person has decided about a file of instructions, a skill or a profile: for these bytes, wherever they lie. */
export interface TrustRecord {
  id: number;
  /** SHA-256, hex, of its kind and its bytes. */
  hash: string;
  verdict: 'trusted' | 'denied';
  /** How it was called when it was decided. */
  label: string;
  at: number;
}

export type CallState = 'planned' | 'asking' | 'started' | 'done' | 'unknown' | 'interrupted' | 'refused';

export interface CallRecord {
  id: number;
  agent: number;
  turn: number;
  /** The answer entry that asks for it, and which of its blocks. */
  entry: number;
  block: number;
  key: string;
  tool: string;
  state: CallState;
  /** JSON of what `prepare` found: enough to judge after a crash what happened (I3). Null until prepared. */
  evidence: string | null;
  started: number;
  /** Entry of the result; 0: none yet. */
  result: number;
  /** 1 while open: index of calls that recovery looks at. */
  open: number;
}

/** A message between agents that does not wake, or a steer that waits for the next round. */
export interface InboxRecord {
  id: number;
  agent: number;
  sender: number;
  /** `note`: of the runtime. */
  kind: 'message' | 'steer' | 'note';
  text: string;
  key: string | null;
  at: number;
}

export interface WaitRecord {
  id: number;
  /** The agent that waits, and the wait_agent call that it is in. */
  agent: number;
  call: number;
  mode: 'any' | 'all';
  /** Turns still awaited; with `everyChild` the agent's `openChildren` is the count. */
  remaining: number;
  everyChild: number;
  deadline: number;
}

/** One awaited turn of a wait. */
export interface WaitingRecord {
  id: number;
  wait: number;
  turn: number;
}

/** How a child's turn ended: written in the transaction that ends it, read once by the parent's cursor. */
export interface OutcomeRecord {
  id: number;
  parent: number;
  child: number;
  turn: number;
  outcome: Outcome;
  /** Of the turn. */
  revision: number;
  /**
   * The parent's call whose command was told of it, and whose result says it: the cursor passes over it. 0: nobody is
   * told, because the turn that started the child was left by a rewind. Null: none, so a notice or a wait tells.
   */
  via: number | null;
}

/**
 * Entries of one agent from `first` on, which go on behind entry `fromEntry` of `fromAgent` (in its stretch
 * `fromStretch`): what a rewind begins. Those in between are left, not lost.
 */
export interface StretchRecord {
  id: number;
  agent: number;
  first: number;
  fromAgent: number;
  fromEntry: number;
  fromStretch: number;
}

export interface RequestRecord {
  id: number;
  agent: number;
  turn: number;
  call: number;
  kind: RequestKind;
  title: string;
  detail: string;
  /** JSON array of choices. */
  choices: string;
  cluster: string | null;
  state: 'open' | 'answered' | 'withdrawn';
  /** JSON of the Answer. */
  answer: string | null;
  at: number;
  answered: number;
  key: string | null;
}

export interface ChangeRecord {
  id: number;
  agent: number;
  /** Absolute path of the person's file, links resolved. */
  path: string;
  /** Path of the file that the agent wrote: the same, or the one in its worktree. */
  written: string;
  label: string;
  isolation: Isolation;
  kind: 'edit' | 'create' | 'delete';
  state: 'open' | 'accepted' | 'rejected' | 'mixed';
  /** Blobs of the base and of the agent's version; 0: the file did not or does not exist. */
  base: number;
  after: number;
  baseHash: string;
  afterHash: string;
  added: number;
  removed: number;
  at: number;
  /** As its agent's: a change of an agent in the trash is in no list. */
  trash: number;
  /** Verdicts given so far, by kind: decides between accepted, rejected and mixed when nothing is left. */
  accepted: number;
  rejected: number;
  /** 1: its last verdict met what the person has written there since. The next verdict or write clears it. */
  conflict: number;
  /** Lines of the base that it replaces (core/overlap.ts). */
  ranges: string;
  /** Why it may be somebody else's work, in words for a person; empty: it is the agent's. */
  doubt: string;
}

/** A verdict on its way to the file: written before the file is touched, judged after a crash like an edit. */
export interface VerdictRecord {
  id: number;
  change: number;
  verdict: 'accept' | 'reject';
  /** JSON array of hunk ids, or "all". */
  hunks: string;
  state: 'started' | 'done' | 'conflict' | 'stale';
  /** JSON: path, hash before, hash after. */
  evidence: string;
  /** Blobs and hashes that the change moves to once the file is right. */
  base: number;
  after: number;
  baseHash: string;
  afterHash: string;
  left: number;
  added: number;
  removed: number;
  /** Hunks that it decides. */
  decided: number;
  key: string | null;
  at: number;
}

/** A turn or a call that waits for a slot: a place in a queue, in order of arrival within its root. */
export interface ReadyRecord {
  id: number;
  /** `pace:` and a model: the lane of turns that wait for its pace. */
  slot: 'model' | 'command' | `pace:${string}`;
  /** 0 a person's, 1 an agent's: people go first. */
  urgency: number;
  root: number;
  agent: number;
  /** The call that waits for a command slot; 0 for a model slot. */
  call: number;
}

/** Something that happens at a time. The runtime arms one alarm for the earliest row (I4). */
export interface TimerRecord {
  id: number;
  /** Milliseconds since 1970. */
  due: number;
  kind: 'notice' | 'wait' | 'rate' | 'wall' | 'key';
  agent: number;
  /** The wait, or the turn, that it belongs to; a timer whose object is gone does nothing. */
  ref: number;
}

export interface ProviderRecord {
  id: number;
  name: string;
  /** JSON of a ProviderSpec. */
  spec: string;
}

/** The process that owns the store, or owned it last: one row. */
export interface ProcessRecord {
  id: number;
  started: number;
  /** When it left in order; 0: it runs, or it crashed. */
  ended: number;
}

/** First answers to client keys of methods whose row has no key of its own. */
export interface AnsweredRecord {
  id: number;
  key: string;
  answer: string;
  at: number;
}

export interface Tables {
  agent: AgentRecord;
  turn: TurnRecord;
  entry: EntryRecord;
  blob: BlobRecord;
  shared: SharedRecord;
  place: PlaceRecord;
  knowledge: KnowledgeRecord;
  trust: TrustRecord;
  offer: OfferRecord;
  call: CallRecord;
  inbox: InboxRecord;
  wait: WaitRecord;
  waiting: WaitingRecord;
  outcome: OutcomeRecord;
  request: RequestRecord;
  ledger: LedgerRecord;
  change: ChangeRecord;
  verdict: VerdictRecord;
  ready: ReadyRecord;
  timer: TimerRecord;
  provider: ProviderRecord;
  answered: AnsweredRecord;
  price: PriceRecord;
  role: RoleRecord;
  spend: SpendRecord;
  folded: FoldedRecord;
  process: ProcessRecord;
  trash: TrashRecord;
  walk: WalkRecord;
  remains: RemainsRecord;
  setting: SettingRecord;
  stretch: StretchRecord;
  background: BackgroundRecord;
}

export type TableName = keyof Tables;
