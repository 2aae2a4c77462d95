// All worktrees of a store: what state each is in, and their removal (cases 130, 146, 253).
//
// A worktree goes by itself when its agent is closed, everything was decided, and it has no file and no commit that
// would be lost. With anything of that it stays until a person says that it may go. It is moved aside before it is
// deleted, so that a crash leaves either all of it or nothing that anybody looks at.

import { mkdir, rename, rm, statfs } from 'node:fs/promises';
import path from 'node:path';
import { counted } from '../core/text.ts';
import type { TreeAgent } from '../ports.ts';
import type { AgentId } from '../protocol/ids.ts';
import { agentId } from '../protocol/ids.ts';
import type { Params, Result } from '../protocol/methods.ts';
import type { WorktreeRemoved, WorktreeRow } from '../protocol/worktree.ts';
import { limits } from '../runtime/limits.ts';
import { git } from './git.ts';
import { lookInto, unreviewed } from './worktreeLook.ts';
import type { WorktreeRecord } from './worktreeRecord.ts';
import { firstPortOf } from './worktreeRoom.ts';
import type { Worktrees } from './worktree.ts';

export interface TreesOptions {
  readonly worktrees: Worktrees;
  /** What the store knows of an agent. */
  readonly agent: (id: AgentId) => TreeAgent | undefined;
  /** Tells the log of what could not be removed. */
  readonly warn: (message: string, fields: Readonly<Record<string, string | number>>) => void;
}

export interface TreeService {
  list(params: Params<'worktree/list'>): Promise<Result<'worktree/list'>>;
  remove(params: Params<'worktree/remove'>): Promise<WorktreeRemoved>;
  /** Removes what nobody needs any more, soon. */
  sweep(): void;
}

/** The worktrees under the root of `worktrees`. */
export function createTrees(options: TreesOptions): TreeService {
  let sweeping: Promise<void> | null = null;
  let again = false;
  const sweepAll = async (): Promise<void> => {
    do {
      again = false;
      await sweep(options);
    } while (again);
    sweeping = null;
  };
  return {
    list: (params) => list(options, params),
    remove: ({ agent, force }) => remove(options, agent, (row) => mayGo(row, force)),
    sweep: () => {
      again = true;
      sweeping ??= sweepAll().catch((error: unknown) => {
        sweeping = null;
        options.warn('worktrees could not be looked at', { message: String(error) });
      });
    },
  };
}

async function list(
  options: TreesOptions,
  { agent, after, limit }: Params<'worktree/list'>,
): Promise<Result<'worktree/list'>> {
  const { worktrees } = options;
  const all = (await worktrees.records.all()).filter(
    (record) => (agent === null || record.agent === agent) && (after ?? 0) < record.agent,
  );
  const wanted = all.slice(0, Math.min(limit, limits.worktreeRows));
  const rows = await Promise.all(wanted.map((record) => rowOf(options, record)));
  const disk = await statfs(worktrees.root).catch(() => null);
  return {
    rows,
    more: wanted.length < all.length,
    freeBytes: disk === null ? null : disk.bavail * disk.bsize,
  };
}

type Judged = Pick<WorktreeRow, 'state' | 'advice' | 'reason' | 'changedFiles' | 'unreviewed' | 'commits'>;

async function rowOf(options: TreesOptions, record: WorktreeRecord): Promise<WorktreeRow> {
  const agent = options.agent(agentId(record.agent)) ?? null;
  return {
    agent: agentId(record.agent),
    agentName: agent?.name ?? null,
    path: options.worktrees.folderOf(record.agent),
    workspace: record.workspace,
    base: record.base,
    setup: record.setup?.state ?? 'none',
    firstPort: firstPortOf(record),
    sizeBytes: record.sizeBytes,
    madeAtMs: record.madeAtMs,
    ...(await judge(options, record, agent)),
  };
}

async function judge(
  { worktrees }: TreesOptions,
  record: WorktreeRecord,
  agent: TreeAgent | null,
): Promise<Judged> {
  const none = { changedFiles: 0, unreviewed: [], commits: 0 };
  const there = await worktrees.standing(record.agent);
  const gone = agent === null || agent.closed;
  if (there === 'missing') {
    const reason = gone
      ? 'Its folder is gone.'
      : 'Its folder is gone; the next write of its agent makes it anew.';
    return { ...none, state: 'broken', advice: gone ? 'remove' : 'adopt', reason };
  }
  if (there === 'unregistered') {
    const reason = gone
      ? 'Git does not know it any more, so nobody can say what in it was decided. Look at its files, then remove it with force.'
      : 'Git does not know it any more; the next write of its agent registers it again.';
    return { ...none, state: 'broken', advice: gone ? 'leave' : 'adopt', reason };
  }
  const folder = worktrees.folderOf(record.agent);
  const found = await lookInto(folder, record);
  if (typeof found === 'string') {
    return { ...none, state: 'broken', advice: 'leave', reason: `It cannot be looked into: ${found}` };
  }
  const decided = agent === null ? () => false : agent.decided;
  const open = await unreviewed(folder, record, { files: found.files, decided });
  const { commits } = found;
  const facts = {
    changedFiles: found.files.length,
    unreviewed: open.slice(0, limits.unreviewedNamed),
    commits,
  };
  return { ...facts, ...verdictOn(agent, open, commits) };
}

function verdictOn(
  agent: TreeAgent | null,
  open: readonly string[],
  commits: number,
): Pick<WorktreeRow, 'state' | 'advice' | 'reason'> {
  if (agent?.busy === true)
    return { state: 'working', advice: 'leave', reason: `${agent.name} is at work in it.` };
  if (agent !== null && 0 < agent.undecided) {
    const reason = `${counted(agent.undecided, 'change')} of ${agent.name} without a verdict.`;
    return { state: 'review', advice: 'leave', reason };
  }
  const lost = [
    open.length === 0 ? null : `${counted(open.length, 'file')} that nobody has reviewed`,
    commits === 0 ? null : `${counted(commits, 'commit')} that no branch has`,
  ].filter((part) => part !== null);
  const state = agent === null ? 'stray' : 0 < lost.length ? 'kept' : 'done';
  if (0 < lost.length) return { state, advice: 'leave', reason: `It has ${lost.join(' and ')}.` };
  return { state, advice: 'remove', reason: 'Everything in it was decided: nothing would be lost.' };
}

/** Null: it may. Else why not, and what to do. */
function mayGo(row: WorktreeRow, force: boolean): string | null {
  if (row.state === 'working') return `${row.reason} Stop it first.`;
  if (row.advice === 'remove' || force) return null;
  return `${row.reason} Review it, or remove it with force: then that is gone.`;
}

async function remove(
  options: TreesOptions,
  agent: AgentId,
  refusal: (row: WorktreeRow) => string | null,
): Promise<WorktreeRemoved> {
  const { worktrees } = options;
  return await worktrees.alone(agent, async () => {
    const record = await worktrees.records.read(agent);
    if (record === null) return { removed: false, reason: 'There is no worktree of this agent.' };
    const row = await rowOf(options, record);
    const refused = refusal(row);
    if (refused !== null) return { removed: false, reason: refused };
    await take(options, record);
    return { removed: true, reason: `The worktree of ${row.agentName ?? `agent ${agent}`} was removed.` };
  });
}

async function take({ worktrees, warn }: TreesOptions, record: WorktreeRecord): Promise<void> {
  const folder = worktrees.folderOf(record.agent);
  const removed = path.join(worktrees.root, 'removed');
  const aside = path.join(removed, `${record.agent}-${Date.now()}`);
  await mkdir(removed, { recursive: true });
  await rename(folder, aside).catch(() => undefined);
  await worktrees.records.remove(record.agent);
  // Of a repository that is gone nothing has to be taken out.
  await git(record.repository, ['worktree', 'remove', '--force', '--force', folder]);
  await rm(aside, { recursive: true, force: true, maxRetries: 3 }).catch((error: unknown) => {
    warn('a removed worktree could not be deleted', { folder: aside, message: String(error) });
  });
}

/** Closed or deleted agents whose work was all decided, and what a crash has left half deleted. */
async function sweep(options: TreesOptions): Promise<void> {
  const { worktrees } = options;
  const records = await worktrees.records.all();
  if (records.length === 0) return;
  await rm(path.join(worktrees.root, 'removed'), { recursive: true, force: true, maxRetries: 3 });
  for (const record of records) {
    const id = agentId(record.agent);
    const agent = options.agent(id);
    if (agent !== undefined && (!agent.closed || agent.busy || 0 < agent.undecided)) continue;
    await remove(options, id, (row) => (row.advice === 'remove' ? null : row.reason));
  }
}
