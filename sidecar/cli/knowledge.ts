// Commands about what a folder tells agents: profiles, trust.

import path from 'node:path';
import process from 'node:process';

import { newKey } from '../platform/random.ts';
import type { KnownFileRow } from '../protocol/profile.ts';
import type { Command } from './args.ts';
import type { Context } from './context.ts';
import { Failure } from './failure.ts';

type Of<K extends Command['kind']> = Extract<Command, { kind: K }>;

const folderOf = (named: string | null): string => path.resolve(named ?? process.cwd());

export function dispatch(context: Context, command: Of<'profiles' | 'mcp' | 'trust'>): Promise<number> {
  switch (command.kind) {
    case 'profiles':
      return profiles(context, command);
    case 'mcp':
      return mcp(context, command);
    case 'trust':
      return trust(context, command);
  }
}

async function profiles({ session, printer }: Context, command: Of<'profiles'>): Promise<number> {
  const found = await session.call('profile/list', { workspace: folderOf(command.workspace) });
  for (const row of found.profiles) await printer.print({ type: 'profile', ...row });
  for (const row of found.files) await printer.print({ type: 'file', ...row });
  for (const problem of found.problems) await printer.print({ type: 'problem', ...problem });
  return 0;
}

async function mcp({ session, printer }: Context, command: Of<'mcp'>): Promise<number> {
  const { connect, restart } = command;
  const workspace = folderOf(command.workspace);
  if (restart !== null) return await restartServer({ session, printer }, workspace, restart);
  const found = await session.call('mcp/list', { workspace, connect });
  for (const row of found.servers) await printer.print({ type: 'server', ...row });
  for (const problem of found.problems) await printer.print({ type: 'problem', ...problem });
  const failed = found.servers.some(({ trust, problem }) => trust === 'trusted' && problem !== null);
  return connect && failed ? 1 : 0;
}

/** Ends it and starts it again at once, so that whoever asked sees whether it is well. */
async function restartServer(
  { session, printer }: Pick<Context, 'session' | 'printer'>,
  workspace: string,
  name: string,
): Promise<number> {
  const before = await session.call('mcp/list', { workspace, connect: false });
  const named = before.servers.filter((server) => server.name === name && !server.hidden);
  const server = named[0];
  if (server === undefined)
    throw new Failure('usage', `This folder has no server "${name}". "roost mcp" lists those it has.`);
  await session.call('mcp/restart', { workspace, hash: server.hash });
  const { servers } = await session.call('mcp/list', { workspace, connect: true });
  const after = servers.find(({ hash }) => hash === server.hash) ?? server;
  await printer.print({ type: 'server', ...after });
  return after.problem === null ? 0 : 1;
}

/** Decides about the very bytes that it has just listed: a file that changes meanwhile is refused by the sidecar. */
async function trust({ session, printer, key }: Context, command: Of<'trust'>): Promise<number> {
  const workspace = folderOf(command.workspace);
  const { files, problems } = await session.call('profile/list', { workspace });
  if (command.trusted === null) {
    for (const row of files) await printer.print({ type: 'file', ...row });
    for (const problem of problems) await printer.print({ type: 'problem', ...problem });
    return 0;
  }
  const named =
    command.files.length === 0 ? files.filter(({ state }) => state === 'pending') : chosen(files, command);
  const hashes = [...new Set(named.map(({ hash }) => hash))];
  const { trusted } = command;
  const { changed } = await session.call('trust/set', { workspace, hashes, trusted, key: key ?? newKey() });
  for (const row of named)
    await printer.print({ type: 'file', ...row, state: trusted ? 'trusted' : 'denied' });
  await printer.print({ type: 'trusted', changed, trusted });
  return 0;
}

/** Files by their labels, or by a path. */
function chosen(files: readonly KnownFileRow[], command: Of<'trust'>): readonly KnownFileRow[] {
  return command.files.map((named) => {
    const found = files.find((file) => file.label === named || file.path === path.resolve(named));
    if (found !== undefined) return found;
    throw new Failure(
      'usage',
      `Agents of this folder are told no file "${named}". "roost trust" lists those they are.`,
    );
  });
}
