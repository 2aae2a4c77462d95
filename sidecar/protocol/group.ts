// Groups: one text for each of a list (a fan-out), and the same task by several (a race). Both are an agent that asks no
// model: it starts the others, waits for them, and ends when all have ended, so a group is followed, waited for,
// stopped, budgeted and deleted like any branch.

import type { AgentRow, Budget, Isolation, Mode } from './agent.ts';
import type { Outcome } from './entry.ts';
import type { AgentId, ChangeId, TurnId } from './ids.ts';
import type { JsonObject } from './json.ts';

/** One of those that race. What it does not name is as for any agent that is started. */
export interface Runner {
  /** Letters, digits, - and _; absent: after its profile and model. */
  readonly name?: string;
  readonly profile?: string;
  readonly model?: string;
}

/** What a fan-out and a race have in common. */
interface GroupStart {
  readonly name?: string;
  /** Absent: a root. */
  readonly parent?: AgentId;
  readonly workspace: string;
  /** Of those that name none. It may only be absent below a parent, whose model they get then. */
  readonly model?: string;
  readonly isolation?: Isolation;
  readonly mode?: Mode;
  /** Of the whole group. */
  readonly budget?: Partial<Budget>;
  /** JSON Schema that each of them must hand in a result for. */
  readonly schema?: JsonObject;
  readonly key: string;
}

/** `turn` ends when all of the group have ended: `turn/wait` and `turn/result` are its join. */
interface GroupStarted {
  readonly agent: AgentId;
  readonly turn: TurnId;
  readonly name: string;
}

/** How far one of a group is, for putting them side by side. */
export interface GroupMember {
  readonly agent: AgentRow;
  /** Of its last turn; null: it is at work. */
  readonly outcome: Outcome | null;
  /** What it said last, or handed in, at most 2,000 characters: `turn/result` has the whole. */
  readonly text: string;
  /** What it handed in, when it has at most 4 KB. */
  readonly result: JsonObject | null;
  /** Its files without a verdict, at most 50 named; what they add and remove is of all. */
  readonly files: readonly { readonly label: string; readonly added: number; readonly removed: number }[];
  readonly added: number;
  readonly removed: number;
}

export interface GroupPicked {
  /** Changes of the winner that were accepted. */
  readonly accepted: number;
  /** Changes that could not be; the others of the group are still there then. Nothing is lost: decide, and pick again. */
  readonly conflicts: readonly {
    readonly change: ChangeId;
    readonly label: string;
    readonly message: string;
  }[];
  /** Others of the group, which are in the trash now: `agent/restore` brings one back. */
  readonly discarded: readonly AgentId[];
}

/** The part of the wire's table (methods.ts) that is about groups. */
export interface GroupMethods {
  /** Starts one agent for each item, with `{item}` of the template in its place. */
  'fan/start': {
    params: GroupStart & {
      readonly template: string;
      readonly items: readonly string[];
      readonly profile?: string;
      /** Agents at a time; the next ones begin when all of these have ended. Absent: all at once, as slots allow. */
      readonly atOnce?: number;
    };
    result: GroupStarted;
  };
  /** Gives the same task to several, each in a worktree of its own unless `isolation` says otherwise. */
  'race/start': {
    params: GroupStart & { readonly text: string; readonly runners: readonly Runner[] };
    result: GroupStarted;
  };
  /** Those of a group side by side, in the order in which they were started. */
  'group/compare': {
    params: { readonly agent: AgentId; readonly after: AgentId | null; readonly limit: number };
    result: { readonly rows: readonly GroupMember[]; readonly more: boolean };
  };
  /**
   * Accepts all that one of a group has changed, then takes the others to the trash, those at work included. Asking again
   * with the same key, after a conflict or a crash, does what is left. `agent/busy`: the winner is at work.
   */
  'group/pick': {
    params: { readonly agent: AgentId; readonly winner: AgentId; readonly key: string };
    result: GroupPicked;
  };
}
