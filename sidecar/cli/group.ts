// Commands about groups: fan, race, compare, pick.

import { readFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';

import type { AgentId } from '../protocol/ids.ts';
import type { Result } from '../protocol/methods.ts';
import { newKey } from '../platform/random.ts';
import type { Command } from './args.ts';
import type { Context } from './context.ts';
import { Failure } from './failure.ts';
import type { GroupOptions } from './groupArgs.ts';
import { watchTurn } from './watch.ts';
import { findAgent, linger, parentOf, schemaIn } from './work.ts';

type Of<K extends Command['kind']> = Extract<Command, { kind: K }>;

/** Members asked for at a time. */
const pageRows = 20;

export function dispatch(
  context: Context,
  command: Of<'fan' | 'race' | 'compare' | 'pick'>,
): Promise<number> {
  switch (command.kind) {
    case 'fan':
      return fan(context, command);
    case 'race':
      return race(context, command);
    case 'compare':
      return compare(context, command);
    case 'pick':
      return pick(context, command);
  }
}

async function fan(context: Context, command: Of<'fan'>): Promise<number> {
  const { template, items, from, profile, atOnce } = command;
  const all = [...items, ...(from === null ? [] : itemsIn(from))];
  if (all.length === 0)
    throw new Failure(
      'usage',
      'roost fan: name the items behind the template, or a file of them with --items.',
    );
  const started = await context.session.call('fan/start', {
    ...(await common(context, command)),
    template,
    items: all,
    ...(profile === null ? {} : { profile }),
    ...(atOnce === null ? {} : { atOnce }),
  });
  return await watch(context, started, command.detach);
}

async function race(context: Context, command: Of<'race'>): Promise<number> {
  const { runners, text } = command;
  if (runners.length < 2)
    throw new Failure('usage', 'roost race: name two or more with --with PROVIDER/MODEL or --with PROFILE.');
  const started = await context.session.call('race/start', {
    ...(await common(context, command)),
    text: text === '-' ? readFileSync(0, 'utf8') : text,
    runners,
  });
  return await watch(context, started, command.detach);
}

async function common(context: Context, options: GroupOptions) {
  const { agent, isolation, mode, budget, workspace } = options;
  const parent = await parentOf(context, options);
  const model = options.model ?? process.env['ROOST_MODEL'] ?? '';
  return {
    ...(agent === null ? {} : { name: agent }),
    ...(parent === null ? {} : { parent: parent.id }),
    workspace: path.resolve(workspace ?? parent?.workspace ?? process.cwd()),
    ...(model === '' ? {} : { model }),
    ...(isolation === null ? {} : { isolation }),
    ...(mode === null ? {} : { mode }),
    ...(budget === null ? {} : { budget }),
    ...schemaIn(options.schema),
    key: context.key ?? newKey(),
  };
}

function itemsIn(file: string): readonly string[] {
  try {
    const text = readFileSync(file === '-' ? 0 : file, 'utf8');
    return text.split(/\r?\n/).filter((line) => line.trim() !== '');
  } catch (error) {
    throw new Failure('usage', `--items ${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Until all have ended; then they are printed side by side. */
async function watch(
  context: Context,
  { agent, turn, name }: Result<'fan/start'>,
  detach: boolean,
): Promise<number> {
  await context.printer.print({ type: 'started', agent, turn, name, state: 'started' });
  if (detach) {
    await linger(context, agent);
    return 0;
  }
  const code = await watchTurn(context, { agent, turn, name, state: 'started', after: 0 });
  await printMembers(context, agent);
  return code;
}

async function compare(context: Context, command: Of<'compare'>): Promise<number> {
  const { id } = await findAgent(context, command.agent);
  await printMembers(context, id);
  return 0;
}

async function printMembers({ session, printer }: Context, agent: AgentId): Promise<void> {
  for (let after: AgentId | null = null; ;) {
    const page: Awaited<ReturnType<typeof pageOf>> = await pageOf(session, agent, after);
    for (const row of page.rows) await printer.print({ type: 'member', ...row });
    after = page.rows.at(-1)?.agent.id ?? null;
    if (!page.more || after === null) return;
  }
}

const pageOf = (session: Context['session'], agent: AgentId, after: AgentId | null) =>
  session.call('group/compare', { agent, after, limit: pageRows });

async function pick(context: Context, command: Of<'pick'>): Promise<number> {
  const { session, printer, key } = context;
  const group = await findAgent(context, command.agent);
  const winner = await findAgent(
    context,
    /^(agent:)?\d+$/.test(command.winner) || command.winner.includes('/')
      ? command.winner
      : `${command.agent}/${command.winner}`,
  );
  const picked = await session.call('group/pick', {
    agent: group.id,
    winner: winner.id,
    key: key ?? newKey(),
  });
  await printer.print({ type: 'picked', winner: winner.name, ...picked });
  return picked.conflicts.length === 0 ? 0 : 1;
}
