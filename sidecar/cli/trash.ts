// Commands about the trash: delete, restore, and listing, emptying and keeping it.

import type { AgentRow } from '../protocol/agent.ts';
import { agentId } from '../protocol/ids.ts';
import type { TrashRow } from '../protocol/trash.ts';
import { newKey } from '../platform/random.ts';
import type { Command } from './args.ts';
import type { Context } from './context.ts';
import { Failure } from './failure.ts';
import type { Session } from './session.ts';
import type { TrashCommand } from './trashArgs.ts';
import { findAgent } from './work.ts';

type Of<K extends Command['kind']> = Extract<Command, { kind: K }>;

/** Branches asked for at a time. */
const pageRows = 200;

/** The commands about the trash. */
export function dispatch(context: Context, command: Of<'delete' | 'restore' | 'trash'>): Promise<number> {
  switch (command.kind) {
    case 'delete':
      return remove(context, command);
    case 'restore':
      return restore(context, command);
    case 'trash':
      return dispatchTrash(context, command);
  }
}

function dispatchTrash(context: Context, command: TrashCommand): Promise<number> {
  switch (command.deed) {
    case 'list':
      return list(context);
    case 'empty':
      return empty(context, command.branches);
    case 'keep':
      return keep(context, command.keptMs);
  }
}

async function remove(context: Context, command: Of<'delete'>): Promise<number> {
  const { id } = await findAgent(context, command.agent);
  const done = await context.session.call('agent/delete', { agent: id, key: context.key ?? newKey() });
  await context.printer.print({ type: 'deleted', agent: id, ...done });
  return 0;
}

async function restore(context: Context, command: Of<'restore'>): Promise<number> {
  const { id } = await findTrashed(context.session, command.agent);
  const done = await context.session.call('agent/restore', { agent: id, key: context.key ?? newKey() });
  await context.printer.print({ type: 'restored', agent: id, ...done });
  return 0;
}

async function list({ session, printer }: Context): Promise<number> {
  for await (const row of inTrash(session)) await printer.print({ type: 'trash', ...row });
  return 0;
}

/** All of it in one call, named branches so many at a time; a key counts for the first call. */
async function empty({ session, printer, key }: Context, branches: readonly string[]): Promise<number> {
  const firstKey = key ?? newKey();
  if (branches.length === 0) {
    const done = await session.call('trash/empty', { agents: null, key: firstKey });
    await printer.print({ type: 'emptied', ...done });
    return 0;
  }
  const agents: AgentRow['id'][] = [];
  for (const named of branches) agents.push((await findTrashed(session, named)).id);
  const done = { branches: 0, agents: 0 };
  for (let at = 0; at < agents.length; at += pageRows) {
    const key = at === 0 ? firstKey : `${firstKey}/${at}`;
    const some = await session.call('trash/empty', { agents: agents.slice(at, at + pageRows), key });
    done.branches += some.branches;
    done.agents += some.agents;
  }
  await printer.print({ type: 'emptied', ...done });
  return 0;
}

async function keep({ session, printer, key }: Context, keptMs: number | null): Promise<number> {
  await session.call('trash/keep', { keptMs, key: key ?? newKey() });
  await printer.print({ type: 'trashKept', keptMs });
  return 0;
}

/** Everything in the trash, newest first, a page at a time. */
async function* inTrash(session: Session): AsyncGenerator<TrashRow> {
  for (let after: number | null = null; ;) {
    const page: Awaited<ReturnType<typeof readPage>> = await readPage(session, after);
    yield* page.rows;
    after = page.rows.at(-1)?.id ?? null;
    if (!page.more || after === null) return;
  }
}

const readPage = (session: Session, after: number | null) =>
  session.call('trash/list', { after, limit: pageRows });

/** A branch in the trash by the number of its top, by its path or by its name alone. Paths do not lead there otherwise. */
async function findTrashed(session: Session, named: string): Promise<{ readonly id: AgentRow['id'] }> {
  if (/^\d{1,15}$/.test(named)) return { id: agentId(Number(named)) };
  const found: TrashRow[] = [];
  for await (const row of inTrash(session)) {
    if (row.path === named || row.agent.name === named) found.push(row);
  }
  const [only, ...others] = found;
  if (only === undefined)
    throw new Failure(
      'agent/unknown',
      `There is no "${named}" in the trash. "roost trash" lists what is there.`,
    );
  if (others.length === 0) return only.agent;
  const ids = found.map((row) => row.agent.id).join(', ');
  throw new Failure(
    'usage',
    `${found.length} branches in the trash are named "${named}". Give a number: ${ids}.`,
  );
}
