// The file that a branch is exported to: JSON Lines, one object a line. The first line is the header, then each agent
// stands before those below it, with its turns and their entries in order; the last line says how many lines there
// are before it, and the SHA-256 of their bytes.
//
// Promises
//  - An agent stands by itself: a transcript that a fork shares is written whole, and what a rewind left is not.
//  - Ids mean something within the file only: agents are numbered, and whoever sends is named by how it is related.
//  - Nothing of a provider's keys is in it, and nothing that decides what may be spent or done unasked, but limits.
// A field that is not known is an error. What changes the meaning of a line gets another version.

import type { Isolation } from './agent.ts';
import type { Block, Outcome, StopReason, Usage } from './entry.ts';
import type { AgentId } from './ids.ts';
import type { JsonObject } from './json.ts';

/** The version that this build writes, and the only one that it reads. */
export const branchFileVersion = 1;

/** Who sends: a person, the agent above, or some other agent. */
export type FileSender = 'person' | 'parent' | 'agent';

/** Bodies of entries as in entry.ts, but nothing in them is named by an id. */
export type FileBody =
  | {
      readonly kind: 'user';
      readonly from: FileSender;
      readonly text: string;
      readonly delivery: 'turn' | 'steer' | 'message';
      readonly schema?: JsonObject;
    }
  | { readonly kind: 'notice'; readonly text: string; readonly outcomes: number }
  | {
      readonly kind: 'answer';
      readonly model: string;
      readonly blocks: readonly Block[];
      readonly stop: StopReason;
      readonly usage: Usage;
    }
  | {
      readonly kind: 'result';
      readonly key: string;
      readonly tool: string;
      readonly status: 'ok' | 'error' | 'unknown' | 'interrupted';
      readonly text: string;
      /** The whole output, when `text` is only its head and tail. */
      readonly whole?: string;
    }
  | { readonly kind: 'note'; readonly text: string }
  | { readonly kind: 'end'; readonly outcome: Outcome; readonly text: string };

/** The first line. Times are milliseconds since 1970. */
export interface BranchHeader {
  readonly type: 'branch';
  readonly version: typeof branchFileVersion;
  readonly build: string;
  readonly name: string;
  readonly atMs: number;
}

export interface AgentLine {
  readonly type: 'agent';
  /** Its number in this file, and that of the agent above; null: the top. */
  readonly id: number;
  readonly parent: number | null;
  readonly name: string;
  readonly task: string;
  readonly model: string;
  /** Name of its profile. */
  readonly profile: string;
  readonly isolation: Isolation;
  readonly closed: boolean;
  readonly createdAtMs: number;
  /** What its branch may still spend, and how large and deep it may be; null: no limit. */
  readonly budget: {
    readonly microUsd: number | null;
    readonly tokens: number | null;
    readonly agents: number | null;
    readonly depth: number | null;
  };
}

export interface TurnLine {
  readonly type: 'turn';
  readonly cause: 'message' | 'spawn' | 'notice' | 'timer' | 'followup' | 'retry' | 'compact';
  readonly from: FileSender;
  /** Null: it was open. An import ends it as interrupted. */
  readonly outcome: Outcome | null;
  readonly brief: string;
  /** JSON that was given to submit_result; null: none. */
  readonly result: string | null;
  readonly startedAtMs: number;
  readonly endedAtMs: number | null;
}

export interface EntryLine {
  readonly type: 'entry';
  readonly atMs: number;
  /** Set on the one that holds what the turn has ended with. */
  readonly answer?: true;
  readonly body: FileBody;
}

/** What an agent did to a file. For who reads the file: an import leaves it out, it belongs to the folder. */
export interface ChangeLine {
  readonly type: 'change';
  readonly label: string;
  readonly kind: 'edit' | 'create' | 'delete';
  readonly state: 'open' | 'accepted' | 'rejected' | 'mixed';
  readonly added: number;
  readonly removed: number;
  readonly atMs: number;
}

/** What the sidecar writes and reads. */
export type BranchLine = BranchHeader | AgentLine | TurnLine | EntryLine | ChangeLine;

/** The last line, which the client writes and checks. */
export interface BranchEnd {
  readonly type: 'end';
  readonly lines: number;
  readonly sha256: string;
}

/** Calls about the files of branches. */
export interface BranchFileMethods {
  /**
   * The file of a branch (protocol/branchFile.ts) from a place on; null: from its header on. The text may end within a
   * line. The line behind the last is the client's. Keys of providers are taken out of what is read.
   */
  'agent/export': {
    params: { readonly agent: AgentId; readonly cursor: string | null };
    result: { readonly text: string; readonly next: string | null };
  };
  /**
   * Lines of a branch's file, part after part from its header on, `after` so many. The branch is there when the last part is, at rest, below
   * nobody, in `workspace`, under permission mode `ask`; until then it is nowhere. The same key gives the same branch
   * for ever: `agent` is set when it is there, and nothing more is sent then. `import/stale`: begin again with the header.
   */
  'agent/import': {
    params: {
      readonly key: string;
      readonly workspace: string;
      readonly after: number;
      readonly lines: readonly BranchLine[];
      readonly last: boolean;
    };
    result: { readonly agent: AgentId | null; readonly name: string; readonly agents: number };
  };
}
