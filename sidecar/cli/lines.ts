// The lines that commands print: what scripts read on standard output.

import type { CommandOutput, CommandRow } from '../protocol/command.ts';
import type { AgentRow } from '../protocol/agent.ts';
import type { ChangeDetail, ChangeRow } from '../protocol/change.ts';
import type { CheckpointFile, CheckpointRestored, CheckpointRow } from '../protocol/checkpoint.ts';
import type { AgentCost, DaySpent, LedgerEntry, ModelPrice } from '../protocol/cost.ts';
import type { Entry } from '../protocol/entry.ts';
import type { GroupMember, GroupPicked } from '../protocol/group.ts';
import type { AgentId, CallId, TurnId } from '../protocol/ids.ts';
import type {
  BranchDone,
  BudgetState,
  DoctorFinding,
  QueuedTurn,
  Result,
  StoreInfo,
  TurnResult,
  TurnRow,
} from '../protocol/methods.ts';
import type { KnownFileRow, ProfileRow } from '../protocol/profile.ts';
import type { RequestRow } from '../protocol/request.ts';
import type { ServerRow } from '../protocol/server.ts';
import type { ModelInfo } from '../protocol/settings.ts';
import type { TrashRow } from '../protocol/trash.ts';
import type { WorktreeRemoved, WorktreeRow } from '../protocol/worktree.ts';

/** Every line that a command can print. `type` says which; the other fields are the wire's own. */
export type PrintedLine =
  /** A handle: names the turn for `wait` and `result`, across restarts of everything. */
  | {
      readonly type: 'started';
      readonly agent: AgentId;
      readonly turn: TurnId;
      readonly name: string;
      readonly state: 'started' | 'queued' | 'steered';
    }
  | {
      readonly type: 'compacting';
      readonly agent: AgentId;
      readonly turn: TurnId | null;
      readonly name: string;
      readonly state: 'started' | 'queued' | 'nothing';
    }
  | ({ readonly type: 'entry' } & Entry)
  /** Everything stored was printed; what follows is live. */
  | { readonly type: 'caughtUp'; readonly cursor: number }
  | ({ readonly type: 'request' } & RequestRow)
  | ({ readonly type: 'result' } & TurnResult)
  | { readonly type: 'open'; readonly turns: readonly TurnId[] }
  | ({ readonly type: 'agent' } & AgentRow)
  | { readonly type: 'interrupted'; readonly agent: AgentId; readonly stopped: number }
  | ({ readonly type: 'turn'; readonly agent: AgentId } & TurnRow)
  | ({ readonly type: 'rewound'; readonly agent: AgentId } & Result<'agent/rewind'>)
  | ({ readonly type: 'closed' | 'deleted' | 'restored'; readonly agent: AgentId } & BranchDone)
  | ({ readonly type: 'trash' } & TrashRow)
  | {
      readonly type: 'exported';
      readonly agent: AgentId;
      readonly file: string;
      readonly bytes: number;
    }
  | {
      readonly type: 'imported';
      readonly agent: AgentId;
      readonly name: string;
      readonly agents: number;
    }
  | ({ readonly type: 'emptied' } & Result<'trash/empty'>)
  | { readonly type: 'trashKept'; readonly keptMs: number | null }
  | ({ readonly type: 'budget'; readonly agent: AgentId } & BudgetState)
  | ({ readonly type: 'queued'; readonly agent: AgentId } & QueuedTurn)
  | { readonly type: 'removed'; readonly turn: TurnId; readonly removed: boolean }
  | { readonly type: 'answered'; readonly applied: number; readonly stale: number }
  | ({ readonly type: 'change' } & (ChangeRow | ChangeDetail))
  | { readonly type: 'verdict'; readonly state: string; readonly message: string; readonly change: ChangeRow }
  | ({ readonly type: 'checkpoint' } & CheckpointRow)
  | ({ readonly type: 'checkpointFile' } & CheckpointFile)
  | ({ readonly type: 'checkpointRestored' } & Omit<CheckpointRestored, 'left'>)
  | ({ readonly type: 'member' } & GroupMember)
  | ({ readonly type: 'picked'; readonly winner: string } & GroupPicked)
  | ({ readonly type: 'command' } & CommandRow)
  | ({ readonly type: 'output'; readonly command: CallId } & CommandOutput)
  | { readonly type: 'killed'; readonly command: CallId; readonly killed: boolean }
  | ({ readonly type: 'worktree' } & WorktreeRow)
  | ({ readonly type: 'worktreeRemoved'; readonly agent: AgentId } & WorktreeRemoved)
  | ({ readonly type: 'profile' } & ProfileRow)
  | ({ readonly type: 'file' } & KnownFileRow)
  | ({ readonly type: 'server' } & ServerRow)
  | { readonly type: 'problem'; readonly label: string; readonly message: string }
  | { readonly type: 'trusted'; readonly changed: number; readonly trusted: boolean }
  | { readonly type: 'configured'; readonly agent: AgentId; readonly prefix: 'kept' | 'breaks' }
  | ({ readonly type: 'model'; readonly default: boolean } & ModelInfo)
  | { readonly type: 'price'; readonly model: string; readonly price: ModelPrice | null }
  | { readonly type: 'role'; readonly profile: string; readonly model: string | null }
  | ({ readonly type: 'agentCost' } & AgentCost)
  | ({ readonly type: 'dayCost' } & DaySpent)
  | ({ readonly type: 'spent' } & LedgerEntry)
  | ({ readonly type: 'info' } & StoreInfo)
  | { readonly type: 'check'; readonly name: string; readonly ok: boolean; readonly message: string }
  | ({ readonly type: 'finding' } & DoctorFinding)
  | { readonly type: 'shutdown'; readonly pid: number }
  | { readonly type: 'version'; readonly build: string }
  | { readonly type: 'text'; readonly text: string };
