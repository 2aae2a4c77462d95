// Commands about commands that agents run in the background: list them, read their output, end them.

import { setTimeout as pause } from 'node:timers/promises';

import { callId } from '../protocol/ids.ts';
import type { Result } from '../protocol/methods.ts';
import { newKey } from '../platform/random.ts';
import type { CommandsCommand } from './commandArgs.ts';
import type { Context } from './context.ts';
import { findAgent } from './work.ts';

type Of<K extends CommandsCommand['kind']> = Extract<CommandsCommand, { kind: K }>;

/** Rows asked for at a time. */
const pageRows = 200;

/** Time between two looks at an output that is followed. */
const lookEveryMs = 250;

export function dispatch(context: Context, command: CommandsCommand): Promise<number> {
  switch (command.kind) {
    case 'commands':
      return list(context, command);
    case 'commandOutput':
      return output(context, command);
    case 'commandKill':
      return kill(context, command);
  }
}

async function list(context: Context, command: Of<'commands'>): Promise<number> {
  const { session, printer } = context;
  const agent = command.agent === null ? null : (await findAgent(context, command.agent)).id;
  for (let after = null; ;) {
    const page: Result<'command/list'> = await session.call('command/list', {
      agent,
      after,
      limit: pageRows,
    });
    for (const row of page.rows) await printer.print({ type: 'command', ...row });
    after = page.rows.at(-1)?.command ?? null;
    if (!page.more || after === null) return 0;
  }
}

async function output({ session, printer }: Context, command: Of<'commandOutput'>): Promise<number> {
  const id = callId(command.command);
  for (let after = 0; ;) {
    const part = await session.call('command/output', { command: id, after });
    if (part.next !== after) await printer.print({ type: 'output', command: id, ...part });
    if (!command.follow || !part.running) return 0;
    if (part.next === after) await pause(lookEveryMs);
    after = part.next;
  }
}

async function kill({ session, printer, key }: Context, { commands }: Of<'commandKill'>): Promise<number> {
  let ended = 0;
  for (const each of commands) {
    const command = callId(each);
    const { killed } = await session.call('command/kill', { command, key: key ?? newKey() });
    if (killed) ended += 1;
    await printer.print({ type: 'killed', command, killed });
  }
  return ended === commands.length ? 0 : 1;
}
