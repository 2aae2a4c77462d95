// Commands about folders: worktrees of agents.

import { agentId, type AgentId } from '../protocol/ids.ts';
import type { Result } from '../protocol/methods.ts';
import type { WorktreeRow } from '../protocol/worktree.ts';
import type { Command } from './args.ts';
import type { Context } from './context.ts';
import { findAgent } from './work.ts';

type Of<K extends Command['kind']> = Extract<Command, { kind: K }>;

/** Rows asked for at a time: each takes some calls of git. */
const pageRows = 20;

export async function worktrees(context: Context, command: Of<'worktrees'>): Promise<number> {
  for await (const row of rowsOf(context, await named(context, command.agent)))
    await context.printer.print({ type: 'worktree', ...row });
  return 0;
}

export async function removeWorktrees(context: Context, command: Of<'removeWorktrees'>): Promise<number> {
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
