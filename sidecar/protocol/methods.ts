// The wire as one table: `noun/verb`, params and result by method. The server, the extension, the CLI and the
// tests share it, so a field that one side invents does not compile on the other.
//
// Rules: every method that starts work takes a `key`; the same key returns the first answer for ever. Lists
// are paged by the last id seen. A method answers only after the commit that makes its answer true (I1).

import type { AgentRow, Budget, Isolation, Mode } from './agent.ts';
import type { BranchFileMethods } from './branchFile.ts';
import type { ChangeDetail, ChangeRow, Verdict, VerdictResult } from './change.ts';
import type { CheckpointPreview, CheckpointRestored, CheckpointRow } from './checkpoint.ts';
import type { MoneyMethods } from './cost.ts';
import type { EditorAbility } from './editorMethods.ts';
import type { ModelOffer } from './editorModel.ts';
import type { CommandOutput, CommandRow } from './command.ts';
import type { Channel, Frame, Snapshot } from './frame.ts';
import type { GroupMethods } from './group.ts';
import type { AgentId, BlobId, CallId, ChangeId, CheckpointId, EntryId, RequestId, TurnId } from './ids.ts';
import type { Entry, Outcome, Sender } from './entry.ts';
import type { JsonObject } from './json.ts';
import type { ProfileList } from './profile.ts';
import type { Answer, AnswerState, RequestRow } from './request.ts';
import type { ServerMethods } from './server.ts';
import type { ProviderSpec, ModelInfo } from './settings.ts';
import type { TrashMethods } from './trash.ts';
import type { TreeWindow, TreeQuery } from './tree.ts';
import type { WorktreeRemoved, WorktreeRow } from './worktree.ts';

export type ClientKind = 'extension' | 'cli' | 'test' | 'bench';

/** How a message reaches a busy agent. An idle agent starts a turn whatever this says. */
export type Delivery = 'queue' | 'steer' | 'reject';

export interface TurnResult {
  readonly turn: TurnId;
  readonly agent: AgentId;
  readonly name: string;
  /** null while it runs or waits in the queue. */
  readonly outcome: Outcome | null;
  /** What it said last, or what it submitted, at most 64 KB; the whole in `blob` when longer. */
  readonly text: string;
  readonly blob: BlobId | null;
  /** What `submit_result` was given, when it was used. Null in an answer about many when it is too long for it. */
  readonly result: JsonObject | null;
  /** Bytes of the result as JSON; 0: there is none. */
  readonly resultBytes: number;
  /** The number of the task that it answers, counted by those that its agent's parent gave it; 1 is the first. */
  readonly revision: number;
  /** Its parent has given its agent a newer task since, which this does not answer, or a rewind has left it. */
  readonly superseded: boolean;
  /** Turns that steers to this one became which came too late for it, with the keys that they were sent with. */
  readonly late: readonly { readonly turn: TurnId; readonly key: string | null }[];
}

export interface TurnRow {
  readonly turn: TurnId;
  readonly state: 'queued' | 'open' | 'ended';
  readonly outcome: Outcome | null;
  readonly from: Sender;
  /** First line of what it began with, and of what it said last or why it failed; at most 120 characters each. */
  readonly asked: string;
  readonly said: string;
  /** When it began, or was queued; null until it has ended. */
  readonly startedAtMs: number;
  readonly endedAtMs: number | null;
  /** A rewind has left it: the agent does not know of it. A rewind to it brings it back. */
  readonly left: boolean;
}

export interface QueuedTurn {
  readonly turn: TurnId;
  readonly text: string;
  readonly atMs: number;
}

/** A branch's limits and what it has spent; what is held by requests in flight comes on top. */
export interface BudgetState {
  readonly limits: Budget;
  readonly spent: { readonly microUsd: number; readonly tokens: number; readonly agents: number };
  readonly held: { readonly microUsd: number; readonly tokens: number };
}

export interface StoreInfo {
  readonly directory: string;
  readonly pid: number;
  readonly build: string;
  readonly schema: number;
  readonly durability: 'power' | 'process';
  readonly startedAtMs: number;
  readonly agents: number;
  readonly running: number;
  readonly waiting: number;
  /** Commands that run in the background. */
  readonly commands: number;
  readonly slots: {
    readonly modelUsed: number;
    readonly modelLimit: number;
    readonly commandUsed: number;
    readonly commandLimit: number;
  };
  readonly loop: { readonly p99Ms: number; readonly maxMs: number; readonly events: number };
  readonly clients: number;
  readonly storeBytes: number;
  /** Of `storeBytes`, what deletions have left: new rows fill it before the file grows. */
  readonly freeBytes: number;
  readonly walBytes: number;
  readonly privateBytes: number;
}

export interface DoctorFinding {
  readonly invariant: string;
  readonly message: string;
  readonly rows: readonly number[];
}

/** What was done to a whole branch. */
export interface BranchDone {
  /** Agents in it, the one that was named included. */
  readonly agents: number;
  /** Agents whose turn was stopped. */
  readonly stopped: number;
  /** The name of the one that was named: a restored one has another when its own was given away meanwhile. */
  readonly name: string;
}

/** Calls that a client makes and the sidecar answers. */
export interface Methods extends MoneyMethods, ServerMethods, GroupMethods, BranchFileMethods, TrashMethods {
  /** First on every connection; anything else before it closes the connection. */
  hello: {
    params: {
      readonly protocol: { readonly major: number; readonly minor: number };
      readonly build: string;
      readonly nonce: string;
      readonly client: { readonly kind: ClientKind; readonly name: string };
      readonly can: readonly EditorAbility[];
      /** Workspace folders of the window, absolute; the editor is asked about paths below them. */
      readonly workspaces: readonly string[];
      /** The call whose command this client runs in (`ROOST_CALL`): what it waits for lends that call's slot back. */
      readonly call?: CallId;
    };
    result: {
      readonly protocol: { readonly major: number; readonly minor: number };
      readonly build: string;
      readonly pid: number;
      readonly store: string;
    };
  };
  ping: { params: Record<string, never>; result: Record<string, never> };

  'agent/start': {
    params: {
      readonly name?: string;
      /** Absent: a root. */
      readonly parent?: AgentId;
      readonly text: string;
      readonly workspace: string;
      readonly profile?: string;
      readonly model?: string;
      readonly isolation?: Isolation;
      readonly mode?: Mode;
      readonly budget?: Partial<Budget>;
      /**
       * JSON Schema, `"type": "object"` at its top, that the result of the turn must fit: the turn is done only with one.
       * Refused with the reason when it holds what is not carried out, such as `pattern`.
       */
      readonly schema?: JsonObject;
      readonly key: string;
    };
    result: { readonly agent: AgentId; readonly turn: TurnId; readonly name: string };
  };
  'agent/send': {
    params: {
      readonly agent: AgentId;
      readonly text: string;
      readonly delivery: Delivery;
      /** As of `agent/start`. A steer to a busy agent has none: it is part of a turn that began without it. */
      readonly schema?: JsonObject;
      readonly key: string;
    };
    /** `turn` is the one that will answer: the running one for a steer, a queued one for a queue. */
    result: { readonly turn: TurnId; readonly state: 'started' | 'queued' | 'steered' };
  };
  /** By id or by name (names of roots are unique; `parent/child` names a descendant). */
  'agent/get': { params: { readonly agent: AgentId | string }; result: AgentRow };
  'agent/list': {
    /** `parent` null lists roots. */
    params: { readonly parent: AgentId | null; readonly after: AgentId | null; readonly limit: number };
    result: { readonly rows: readonly AgentRow[]; readonly more: boolean };
  };
  'agent/interrupt': {
    params: { readonly agent: AgentId; readonly branch: boolean; readonly key: string };
    /** Agents whose turn was stopped. */
    result: { readonly stopped: number };
  };

  /**
   * A new agent beside this one that shares its transcript up to the end of `turn` (null: its newest turn) and goes
   * on with `text`. Nothing is copied.
   */
  'agent/fork': {
    params: {
      readonly agent: AgentId;
      readonly turn: TurnId | null;
      readonly name?: string;
      readonly text: string;
      /** As of `agent/start`. */
      readonly schema?: JsonObject;
      readonly key: string;
    };
    result: { readonly agent: AgentId; readonly turn: TurnId; readonly name: string };
  };
  /**
   * Takes an agent back to the end of `turn`: it goes on from there as if nothing had come after. Nothing is deleted:
   * what is left stays readable (`entry/page` with `turn`), and going to a turn that was left undoes it. Queued
   * messages are kept. Files are as they are. Agents that were started in turns that are left are stopped, with all
   * below them; they rest, and go on when they are sent a message. `agent/busy` when a turn is open and `stop` is not set.
   */
  'agent/rewind': {
    params: {
      readonly agent: AgentId;
      /** One that has ended: its own, or of the transcript that it was forked with. */
      readonly turn: TurnId;
      /** Stops the turn that is open, which is left then. */
      readonly stop?: boolean;
      readonly key: string;
    };
    /** `from`: its last turn before; a rewind to it undoes this one. `stopped`: agents that were at work. */
    result: { readonly turn: TurnId; readonly from: TurnId | null; readonly stopped: number };
  };
  'agent/rename': {
    params: { readonly agent: AgentId; readonly name: string; readonly key: string };
    result: { readonly name: string };
  };
  /**
   * Model, mode and isolation from the next round on; a profile from the next turn on, in its present revision (the
   * name that it has already: what its files say by now).
   */
  'agent/configure': {
    params: {
      readonly agent: AgentId;
      readonly profile?: string;
      readonly model?: string;
      readonly mode?: Mode;
      readonly isolation?: Isolation;
      readonly key: string;
    };
    /** `breaks`: the next request begins with other bytes, so the provider's prompt cache does not serve it. */
    result: { readonly prefix: 'kept' | 'breaks' };
  };
  /**
   * Has an agent summarise its conversation, so that its requests are short again; all entries stay. At rest it does so
   * now, in a turn of its own of which its parent hears nothing; at work before its next request, or its next turn.
   * `focus` says what the summary shall stress. `nothing`: there is next to nothing to summarise.
   */
  'agent/compact': {
    params: { readonly agent: AgentId; readonly focus?: string; readonly key: string };
    result: { readonly turn: TurnId | null; readonly state: 'started' | 'queued' | 'nothing' };
  };
  /** Ends an agent and all below it for good: what is at work is stopped, nothing starts under it any more. */
  'agent/close': {
    params: { readonly agent: AgentId; readonly key: string };
    result: BranchDone;
  };
  /**
   * Takes an agent and all below it to the trash: what is at work is stopped, deepest first, then the branch is in no
   * list, path or count any more. Nothing is lost; what it spent stays with those above it.
   */
  'agent/delete': {
    params: { readonly agent: AgentId; readonly key: string };
    result: BranchDone;
  };
  /** Brings a branch back from the trash, at rest. */
  'agent/restore': {
    params: { readonly agent: AgentId; readonly key: string };
    result: BranchDone;
  };
  /** Does the last turn once more, when it did not end well. */
  'turn/retry': {
    params: { readonly agent: AgentId; readonly key: string };
    result: { readonly turn: TurnId };
  };
  /** Messages that wait for their turn, oldest first. */
  'queue/list': {
    params: { readonly agent: AgentId; readonly after: TurnId | null; readonly limit: number };
    result: { readonly rows: readonly QueuedTurn[]; readonly more: boolean };
  };
  /** Takes a message back that has not begun. */
  'queue/remove': {
    params: { readonly turn: TurnId; readonly key: string };
    result: { readonly removed: boolean };
  };
  'budget/get': { params: { readonly agent: AgentId }; result: BudgetState };
  /** Sets the limits that are named; null takes one away. Turns that waited for budget look again. */
  'budget/set': {
    params: { readonly agent: AgentId; readonly budget: Partial<Budget>; readonly key: string };
    result: BudgetState;
  };

  /** Turns of one agent, newest first: where a fork or a rewind may go. */
  'turn/list': {
    params: { readonly agent: AgentId; readonly before: TurnId | null; readonly limit: number };
    result: { readonly rows: readonly TurnRow[]; readonly more: boolean };
  };
  'turn/result': { params: { readonly turn?: TurnId; readonly agent?: AgentId }; result: TurnResult };
  /** Resolves when any or all of the turns have ended, or after `timeoutMs` with what has ended until then. Ask again after a lost connection: turns are rows. */
  'turn/wait': {
    params: { readonly turns: readonly TurnId[]; readonly mode: 'any' | 'all'; readonly timeoutMs: number };
    result: { readonly done: readonly TurnResult[]; readonly open: readonly TurnId[] };
  };

  'entry/page': {
    /** Entries of one agent, ascending; `before` pages backwards from an id, `after` forwards, neither: the newest. */
    params: {
      readonly agent: AgentId;
      readonly before?: EntryId;
      readonly after?: EntryId;
      /** The transcript as it was at the end of this turn, which a rewind may have left; else as it is now. */
      readonly turn?: TurnId;
      readonly limit: number;
    };
    result: { readonly entries: readonly Entry[]; readonly more: boolean };
  };
  'blob/read': {
    params: { readonly blob: BlobId; readonly offset: number; readonly limit: number };
    result: { readonly text: string; readonly nextOffset: number | null; readonly totalBytes: number };
  };

  'tree/window': { params: TreeQuery; result: TreeWindow };

  'follow/open': {
    params: { readonly channel: Channel; readonly after?: EntryId };
    result: { readonly follow: number; readonly snapshot: Snapshot; readonly seq: number };
  };
  /** Changes what an open follow shows (the tree's window) without closing it; the answer is a new snapshot. */
  'follow/move': {
    params: { readonly follow: number; readonly channel: Channel };
    result: { readonly snapshot: Snapshot; readonly seq: number };
  };
  'follow/close': { params: { readonly follow: number }; result: Record<string, never> };

  'request/list': {
    params: { readonly after: RequestId | null; readonly limit: number };
    result: { readonly rows: readonly RequestRow[]; readonly more: boolean };
  };
  'request/answer': {
    params: { readonly request: RequestId; readonly answer: Answer; readonly key: string };
    result: { readonly state: AnswerState };
  };
  'request/answerMany': {
    params: { readonly requests: readonly RequestId[]; readonly answer: Answer; readonly key: string };
    result: { readonly applied: number; readonly stale: number };
  };

  /** Commands that run in the background, of one agent or of all; `after` pages by the command last seen. */
  'command/list': {
    params: { readonly agent: AgentId | null; readonly after: CallId | null; readonly limit: number };
    result: { readonly rows: readonly CommandRow[]; readonly more: boolean };
  };
  /** What such a command has printed after a place (0: its beginning); also for some minutes after its end. */
  'command/output': {
    params: { readonly command: CallId; readonly after: number };
    result: CommandOutput;
  };
  /** Ends such a command and what it has started. Not `killed`: it has ended before. */
  'command/kill': {
    params: { readonly command: CallId; readonly key: string };
    result: { readonly killed: boolean };
  };

  'change/list': {
    params: { readonly agent: AgentId | null; readonly after: ChangeId | null; readonly limit: number };
    result: { readonly rows: readonly ChangeRow[]; readonly more: boolean };
  };
  'change/get': { params: { readonly change: ChangeId }; result: ChangeDetail };
  /** A verdict on some hunks, or on all that are left. Names the state it was given on; refused as stale when that moved. */
  'change/verdict': {
    params: {
      readonly change: ChangeId;
      readonly verdict: Verdict;
      readonly hunks: readonly string[] | 'all';
      /** The person has put what they want of the hunks into their file: accepting them writes nothing. */
      readonly merged?: boolean;
      readonly baseHash: string;
      readonly afterHash: string;
      readonly key: string;
    };
    result: VerdictResult;
  };

  /** Checkpoints of an agent's turns or of a folder, newest first; `before` pages backwards. */
  'checkpoint/list': {
    params: {
      readonly agent: AgentId | null;
      readonly workspace: string | null;
      readonly before: CheckpointId | null;
      readonly limit: number;
    };
    result: { readonly rows: readonly CheckpointRow[]; readonly more: boolean };
  };
  /** What restoring it would do to each file, as the folder is now. Changes nothing. */
  'checkpoint/preview': { params: { readonly checkpoint: CheckpointId }; result: CheckpointPreview };
  /** Brings files back as they were, all or these (absolute paths of the preview). Can be undone by its own checkpoint. */
  'checkpoint/restore': {
    params: {
      readonly checkpoint: CheckpointId;
      readonly paths: readonly string[] | 'all';
      readonly key: string;
    };
    result: CheckpointRestored;
  };
  /** Worktrees of one agent or of all, by agent, each with what is best done with it; at most 50 a page. */
  'worktree/list': {
    params: { readonly agent: AgentId | null; readonly after: AgentId | null; readonly limit: number };
    result: {
      readonly rows: readonly WorktreeRow[];
      readonly more: boolean;
      /** Of the disk that they are on; null: not known. */
      readonly freeBytes: number | null;
    };
  };
  /** Removes a worktree of which nothing would be lost; with `force` also what nobody has decided on. */
  'worktree/remove': {
    params: { readonly agent: AgentId; readonly force: boolean };
    result: WorktreeRemoved;
  };

  /** What a folder tells agents, as it is now: profiles, and the files that they and all agents read. */
  'profile/list': {
    params: { readonly workspace: string };
    result: ProfileList;
  };
  /** Decides about files of a folder, by the hashes that `profile/list` gave; agents that waited for it go on. */
  'trust/set': {
    params: {
      readonly workspace: string;
      readonly hashes: readonly string[];
      readonly trusted: boolean;
      readonly key: string;
    };
    /** Files that were decided otherwise, or not at all, before. */
    result: { readonly changed: number };
  };

  'provider/set': { params: ProviderSpec; result: Record<string, never> };
  /** Tells which of its editor's models a window may be asked for; the whole of it, each time that it changes. */
  'model/offer': { params: ModelOffer; result: Record<string, never> };
  'model/list': {
    params: Record<string, never>;
    result: {
      readonly models: readonly ModelInfo[];
      readonly default: string | null;
      /** Models of profiles, as the person has set them. */
      readonly roles: Readonly<Record<string, string>>;
    };
  };

  'store/info': { params: Record<string, never>; result: StoreInfo };
  'store/doctor': {
    params: Record<string, never>;
    result: { readonly findings: readonly DoctorFinding[]; readonly checked: readonly string[] };
  };
  /** Ends the sidecar once its queue is committed; turns go on when the next client starts one. */
  shutdown: { params: Record<string, never>; result: Record<string, never> };
}

/** Notifications from a client. */
export interface ClientNotifications {
  /** A piece of the answer to `editor/modelAsk`, as it comes. */
  'editor/modelSaid': { readonly request: number; readonly text: string };
}

/** Notifications from the sidecar. */
export interface Notifications {
  'follow/frames': { readonly frames: readonly Frame[] };
}

export type MethodName = keyof Methods;
export type Params<M extends MethodName> = Methods[M]['params'];
export type Result<M extends MethodName> = Methods[M]['result'];
