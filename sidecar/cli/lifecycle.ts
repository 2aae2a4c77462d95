// Commands about the life of agents: fork, turns, rewind, close, retry, compact, budget, queue.

import { turnId, type TurnId } from '../protocol/ids.ts';
import type { Result } from '../protocol/methods.ts';
import { newKey } from '../platform/random.ts';
import type { Command } from './args.ts';
import type { Context } from './context.ts';
import { watchTurn } from './watch.ts';
import { findAgent, schemaIn } from './work.ts';

type Of<K extends Command['kind']> = Extract<Command, { kind: K }>;

/** Messages of a queue, and turns, asked for at a time. */
const pageRows = 200;

type LineCommand = Of<
  'fork' | 'close' | 'configure' | 'turns' | 'rewind' | 'retry' | 'compact' | 'budget' | 'queue'
>;

export function dispatch(context: Context, command: LineCommand): Promise<number> {
  switch (command.kind) {
    case 'fork':
      return fork(context, command);
    case 'close':
      return close(context, command);
    case 'configure':
      return configure(context, command);
    case 'turns':
      return turns(context, command);
    case 'rewind':
      return rewind(context, command);
    case 'retry':
      return retry(context, command);
    case 'compact':
      return compact(context, command);
    case 'budget':
      return budget(context, command);
    case 'queue':
      return queue(context, command);
  }
}

async function fork(context: Context, command: Of<'fork'>): Promise<number> {
  const { id } = await findAgent(context, command.agent);
  const forked = await context.session.call('agent/fork', {
    agent: id,
    turn: command.turn === null ? null : turnId(command.turn),
    ...(command.name === null ? {} : { name: command.name }),
    ...schemaIn(command.schema),
    text: command.text,
    key: context.key ?? newKey(),
  });
  await context.printer.print({ type: 'started', ...forked, state: 'started' });
  return 0;
}

async function turns(context: Context, command: Of<'turns'>): Promise<number> {
  const { id } = await findAgent(context, command.agent);
  for (let before: TurnId | null = null, more = true; more;) {
    const page: Result<'turn/list'> = await context.session.call('turn/list', {
      agent: id,
      before,
      limit: pageRows,
    });
    for (const row of page.rows) {
      await context.printer.print({ type: 'turn', agent: id, ...row });
      before = row.turn;
    }
    more = page.more && 0 < page.rows.length;
  }
  return 0;
}

async function rewind(context: Context, command: Of<'rewind'>): Promise<number> {
  const { id } = await findAgent(context, command.agent);
  const moved = await context.session.call('agent/rewind', {
    agent: id,
    turn: turnId(command.turn),
    ...(command.stop ? { stop: true } : {}),
    key: context.key ?? newKey(),
  });
  await context.printer.print({ type: 'rewound', agent: id, ...moved });
  return 0;
}

async function close(context: Context, command: Of<'close'>): Promise<number> {
  const { id } = await findAgent(context, command.agent);
  const done = await context.session.call('agent/close', { agent: id, key: context.key ?? newKey() });
  await context.printer.print({ type: 'closed', agent: id, ...done });
  return 0;
}

async function retry(context: Context, command: Of<'retry'>): Promise<number> {
  const { id, name } = await findAgent(context, command.agent);
  const { turn } = await context.session.call('turn/retry', { agent: id, key: context.key ?? newKey() });
  await context.printer.print({ type: 'started', agent: id, turn, name, state: 'started' });
  return 0;
}

/** Has a conversation summarised, and prints that turn until it ends; of an agent at work it is only asked for. */
async function compact(context: Context, command: Of<'compact'>): Promise<number> {
  const { session, printer } = context;
  const { id, name } = await findAgent(context, command.agent);
  const newest = await session.call('entry/page', { agent: id, limit: 1 });
  const { turn, state } = await session.call('agent/compact', {
    agent: id,
    ...(command.focus === null ? {} : { focus: command.focus }),
    key: context.key ?? newKey(),
  });
  await printer.print({ type: 'compacting', agent: id, turn, name, state });
  if (turn === null || state !== 'started' || command.detach) return 0;
  return watchTurn(context, { agent: id, turn, name, state, after: newest.entries.at(-1)?.id ?? 0 });
}

async function budget(context: Context, command: Of<'budget'>): Promise<number> {
  const { id } = await findAgent(context, command.agent);
  const { session } = context;
  const state =
    command.budget === null
      ? await session.call('budget/get', { agent: id })
      : await session.call('budget/set', { agent: id, budget: command.budget, key: context.key ?? newKey() });
  await context.printer.print({ type: 'budget', agent: id, ...state });
  return 0;
}

async function queue(context: Context, command: Of<'queue'>): Promise<number> {
  const { id } = await findAgent(context, command.agent);
  const { session, printer } = context;
  if (command.remove !== null) {
    const turn = turnId(command.remove);
    const { removed } = await session.call('queue/remove', { turn, key: context.key ?? newKey() });
    await printer.print({ type: 'removed', turn, removed });
    return removed ? 0 : 1;
  }
  for (let after = turnId(0), more = true; more;) {
    const page = await session.call('queue/list', {
      agent: id,
      after: after === 0 ? null : after,
      limit: pageRows,
    });
    for (const row of page.rows) {
      await printer.print({ type: 'queued', agent: id, ...row });
      after = row.turn;
    }
    ({ more } = page);
  }
  return 0;
}

async function configure(context: Context, command: Of<'configure'>): Promise<number> {
  const { id } = await findAgent(context, command.agent);
  const { profile, model, mode, isolation } = command;
  const { prefix } = await context.session.call('agent/configure', {
    agent: id,
    ...(profile === null ? {} : { profile }),
    ...(model === null ? {} : { model }),
    ...(mode === null ? {} : { mode }),
    ...(isolation === null ? {} : { isolation }),
    key: context.key ?? newKey(),
  });
  await context.printer.print({ type: 'configured', agent: id, prefix });
  return 0;
}
