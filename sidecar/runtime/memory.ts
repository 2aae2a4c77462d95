// What the runtime keeps in memory: the ports, the slots, and one small record for each model request and each
// call in flight. Agents that wait are not here (I4).

import type { Pace, Ticket } from '../core/pace.ts';
import type { Knowledge, Revision } from '../core/knowledge.ts';
import type { LedgerRecord } from '../core/moneyRows.ts';
import type { Offer } from '../core/offers.ts';
import type { ReadyRecord } from '../core/rows.ts';
import type { ResultSchema } from '../core/schema.ts';
import type { SpawnVerb } from '../core/verbs.ts';
import type {
  Clients,
  Cancel,
  Checkpoints,
  Clock,
  Model,
  ModelPool,
  Publish,
  Random,
  Review,
  Scout,
  Store,
  Tools,
  ToolSpec,
  Trees,
} from '../ports.ts';
import type { TurnLine } from '../protocol/branchFile.ts';
import type { ModelPrice } from '../protocol/cost.ts';
import type { BranchDone, Params, Result } from '../protocol/methods.ts';
import type { Reply, RuntimeEvent } from './event.ts';

/** Slots in use and turns queued for one. Copied at the start of a step and kept when it commits. */
export interface Slots {
  modelUsed: number;
  commandUsed: number;
  /** Whether rows of `ready` may wait for this slot; false once a look found none. A count would cost O(rows) at start. */
  modelQueue: boolean;
  commandQueue: boolean;
  /** Model requests in flight of pools that take only so many at a time. Copied when changed. */
  inPool: Readonly<Record<string, number>>;
  /** Pools in whose lanes turns wait for their pace. */
  lanes: readonly string[];
  /** Who gets a single free slot: lanes and the queue take turns. */
  lanesFirst: boolean;
  /** The root that each queue has served last, by urgency, so that the next one's turn comes (fair by root). Copied when changed. */
  lastRoots: Readonly<Partial<Record<`${ReadyRecord['slot']}/${number}`, number>>>;
  /** Commands of the last process are not all counted yet, so none is started from the queue. */
  recovering: boolean;
}

export interface Ports {
  readonly store: Store;
  readonly model: Model;
  readonly tools: Tools;
  readonly review: Review;
  readonly trees: Trees;
  readonly checkpoints: Checkpoints;
  readonly scout: Scout;
  readonly clock: Clock;
  readonly random: Random;
  readonly clients: Clients;
  readonly publish: Publish;
  /** Tells the log of a bug. Never called for what can be expected. */
  readonly log: (message: string, facts: Readonly<Record<string, unknown>>) => void;
}

export interface RuntimeOptions {
  readonly modelSlots: number;
  readonly commandSlots: number;
  /** Used when neither the client nor the profile names a model; null: none is set. */
  readonly defaultModel: string | null;
}

/** A revision of a profile, and the blob that holds it. */
export interface Pin {
  readonly blob: number;
  readonly revision: Revision;
}

/** A profile as requests use it: the same objects for all agents that are pinned to it. */
export interface PinnedProfile {
  readonly revision: Revision;
  readonly system: string;
  readonly tools: readonly ToolSpec[];
  /** Bytes of system and tools, for the estimate of a request. */
  readonly bytes: number;
}

export interface PendingVerdict {
  readonly params: Params<'change/verdict'>;
  /** Those who asked with its key: a client that lost its connection asks again. */
  readonly replies: Reply<Result<'change/verdict'>>[];
}

/** What has come of an answer so far. */
export interface Said {
  readonly text: string;
  readonly thinking: string;
}

export interface Asking {
  readonly attempt: number;
  readonly model: string;
  /** What its cost was held at; null: nobody knows one. */
  readonly price: ModelPrice | null;
  readonly cancel: Cancel;
  /** The pool that it was counted in: its key, and with it its pool, may change meanwhile. */
  readonly pool: ModelPool;
  /** What its pool had been sent when it left. */
  readonly ticket: Ticket;
  /** Of a request for a summary: the first entry that it is not of. */
  readonly tail: number;
  /** For who begins to look in the middle; null while the model is silent, as most of many agents wait. */
  said: Said | null;
}

/** How far the import of a file has come: in memory, and lost with the process. */
export interface Arrival {
  readonly key: string;
  /** Row of `place`: the folder that its agents will work in. */
  readonly place: number;
  /** Lines that were taken: what names the part that comes next, however many lines a client sends at once. */
  taken: number;
  hasHeader: boolean;
  /** Row of `trash`; 0 before the first agent. */
  trash: number;
  agents: number;
  /** The agent that is read and those above it, the top first: its number in the file, and here. */
  line: readonly { readonly file: number; readonly id: number }[];
  /** A turn whose first entry comes next. */
  begins: TurnLine | null;
  /** The turn that is read, 0: none; and whether it was open when the file was written. */
  turn: number;
  wasOpen: boolean;
  /** Calls of the newest answer that have no result yet. */
  open: readonly {
    readonly key: string;
    readonly tool: string;
    readonly entry: number;
    readonly block: number;
  }[];
  /** An id that no agent has: who has sent something and is not above its reader. 0: not needed yet. */
  stranger: number;
}

/** What providers told of a model's texts. */
export interface Learned {
  readonly bytesPerToken: number;
  /** Its room, when a refusal named one that is smaller than was known. */
  readonly windowTokens?: number;
}

export interface Runtime extends Ports {
  readonly options: RuntimeOptions;
  slots: Slots;
  /** Model requests in flight, by agent. */
  readonly asking: Map<number, Asking>;
  /** Calls in flight, by call. */
  readonly calling: Map<number, Cancel>;
  /** Commands in the background, by their row. */
  readonly attending: Map<number, Cancel>;
  /** Batches that are being started, by call: parsed once. After a crash they are parsed from the store again. */
  readonly batches: Map<number, SpawnVerb>;
  /** Commands that wait inside Roost: they hold no slot meanwhile. */
  readonly lent: Set<number>;
  /** Profiles by blob, at most `limits.profileRevisions`. */
  readonly profiles: Map<number, PinnedProfile>;
  /** What looks at folders have found, by blob; and when each folder was looked at, by its row, on the monotonic clock. */
  readonly knowledge: Map<number, Knowledge>;
  readonly lookedMs: Map<number, number>;
  /** What servers offered last, by the hash of their definition; those that failed, and until when that is believed; those being asked. */
  readonly offers: Map<string, Offer>;
  readonly failedOffers: Map<string, { readonly message: string; readonly untilMs: number }>;
  readonly offering: Set<string>;
  /** Result schemas by blob, at most limits.schemasKept. */
  readonly schemas: Map<number, ResultSchema>;
  /** What was learned of the texts of each model. Lost with the process: it is learned again. */
  readonly learned: Map<string, Learned>;
  /** What was learned of the pace of each pool. Lost with the process: it is learned again. */
  readonly paces: Map<string, Pace>;
  /** Requests that were settled since `spend` was added up last, and whether those of the last process were. */
  unfolded: Readonly<LedgerRecord>[];
  foldedOld: boolean;
  /** Providers whose key is being asked for at this moment, so that a thousand agents ask once. */
  readonly askingKey: Set<string>;
  /** Verdicts, by change, whose clients wait for an answer: being planned (nothing promised, no row yet) or written. */
  readonly verdicts: Map<number, PendingVerdict>;
  /** Clients that wait for the end of a walk, by walk. */
  readonly walks: Map<number, readonly Reply<BranchDone>[]>;
  /** Branches that are being imported, by key; at most limits.arrivals. */
  readonly arrivals: Map<string, Arrival>;
  /** The newest chain of events of each kind that goes on by posting itself. */
  readonly chains: { walk: number; purge: number };
  /** Events that wait. */
  backlog(): number;
  post(event: RuntimeEvent): void;
}

/** Keeps something in memory; past `most` the one that was kept first goes, and is read again when it is needed. */
export function remember<K, T>(kept: Map<K, T>, id: K, value: T, most: number): void {
  kept.delete(id);
  kept.set(id, value);
  for (const oldest of kept.keys()) {
    if (kept.size <= most) return;
    kept.delete(oldest);
  }
}

/** The part of a model's name before the slash. */
export const providerOf = (model: string): string => model.slice(0, Math.max(0, model.indexOf('/')));
