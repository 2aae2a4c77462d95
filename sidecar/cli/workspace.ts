// Commands about folders: worktrees of agents, checkpoints.

import path from 'node:path';
import process from 'node:process';

import { agentId, checkpointId, type AgentId, type CheckpointId } from '../protocol/ids.ts';
import type { Result } from '../protocol/methods.ts';
import type { WorktreeRow } from '../protocol/worktree.ts';
import type { Command } from './args.ts';
import type { Context } from './context.ts';
import { newKey } from '../platform/random.ts';
import { findAgent } from './work.ts';
import type { WorkspaceCommand } from './workspaceArgs.ts';

type Of<K extends Command['kind']> = Extract<Command, { kind: K }>;

export function dispatch(context: Context, command: WorkspaceCommand): Promise<number> {
  switch (command.kind) {
    case 'worktrees':
      return worktrees(context, command);
    case 'removeWorktrees':
      return removeWorktrees(context, command);
    case 'checkpoints':
      return checkpoints(context, command);
    case 'checkpoint':
      return checkpoint(context, command);
    case 'restoreCheckpoint':
      return restoreCheckpoint(context, command);
  }
}

/** Rows asked for at a time: each takes some calls of git. */
const pageRows = 20;

async function worktrees(context: Context, command: Of<'worktrees'>): Promise<number> {
  for await (const row of rowsOf(context, await named(context, command.agent)))
    await context.printer.print({ type: 'worktree', ...row });
  return 0;
}

async function removeWorktrees(context: Context, command: Of<'removeWorktrees'>): Promise<number> {
  const { agents, force } = command;
  const wanted: AgentId[] = [];
  for (const each of agents) wanted.push((await named(context, each)) ?? agentId(Number(each)));
  if (agents.length === 0) {
    for await (const row of rowsOf(context, null)) if (row.advice === 'remove') wanted.push(row.agent);
  }
  let left = 0;
  for (const agent of wanted) {
    const result = await context.session.call('worktree/remove', { agent, force });
    if (!result.removed) left += 1;
    await context.printer.print({ type: 'worktreeRemoved', agent, ...result });
  }
  return left === 0 ? 0 : 1;
}

/** A number is taken as it is: worktrees may outlive their agents. */
async function named(context: Context, agent: string | null): Promise<AgentId | null> {
  if (agent === null) return null;
  return /^\d{1,15}$/.test(agent) ? agentId(Number(agent)) : (await findAgent(context, agent)).id;
}

async function* rowsOf({ session }: Context, agent: AgentId | null): AsyncGenerator<WorktreeRow> {
  for (let after: AgentId | null = null, more = true; more;) {
    const page: Result<'worktree/list'> = await session.call('worktree/list', {
      agent,
      after,
      limit: pageRows,
    });
    yield* page.rows;
    after = page.rows.at(-1)?.agent ?? null;
    more = page.more && after !== null;
  }
}

async function checkpoints(context: Context, command: Of<'checkpoints'>): Promise<number> {
  const agent = await named(context, command.agent);
  const workspace = agent === null && !command.all ? process.cwd() : null;
  for (let before: CheckpointId | null = null, more = true; more;) {
    const page: Result<'checkpoint/list'> = await context.session.call('checkpoint/list', {
      ...{ agent, workspace, before, limit: checkpointRows },
    });
    for (const row of page.rows) await context.printer.print({ type: 'checkpoint', ...row });
    before = page.rows.at(-1)?.id ?? null;
    more = page.more && before !== null;
  }
  return 0;
}

const checkpointRows = 200;

async function checkpoint({ session, printer }: Context, command: Of<'checkpoint'>): Promise<number> {
  const preview = await session.call('checkpoint/preview', { checkpoint: checkpointId(command.checkpoint) });
  await printer.print({ type: 'checkpoint', ...preview.checkpoint });
  for (const file of preview.files) await printer.print({ type: 'checkpointFile', ...file });
  if (0 < preview.more) printer.note(`and ${preview.more} files more.`);
  if (0 < preview.atWork.length)
    printer.note(
      `at work in this folder: ${preview.atWork.join(', ')}. What they write meanwhile is left as it is.`,
    );
  return 0;
}

/** Names of files are relative to where the command runs. */
async function restoreCheckpoint(context: Context, command: Of<'restoreCheckpoint'>): Promise<number> {
  const paths = command.paths.map((each) => path.resolve(each));
  const { left, ...restored } = await context.session.call('checkpoint/restore', {
    checkpoint: checkpointId(command.checkpoint),
    paths: paths.length === 0 ? 'all' : paths,
    key: context.key ?? newKey(),
  });
  for (const file of left) await context.printer.print({ type: 'checkpointFile', ...file });
  await context.printer.print({ type: 'checkpointRestored', ...restored });
  return 0;
}
