// `roost`: a client of the sidecar and nothing more. It reads its command line, talks over the same socket as the
// editor, prints JSON Lines, and ends with 0 done, 1 failed or interrupted, 2 usage or unknown thing, 75 owned.

import { realpathSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';

import { defaultStore } from '../protocol/discovery.ts';
import { agentId } from '../protocol/ids.ts';
import { build } from '../protocol/version.ts';
import { parseLine, type Command, type Line } from './args.ts';
import * as branchFile from './branchFile.ts';
import * as commands from './commands.ts';
import type { Context } from './context.ts';
import * as cost from './cost.ts';
import { Failure } from './failure.ts';
import * as group from './group.ts';
import * as knowledge from './knowledge.ts';
import * as lifecycle from './lifecycle.ts';
import * as manage from './manage.ts';
import { Printer } from './printer.ts';
import { Session } from './session.ts';
import * as trash from './trash.ts';
import * as work from './work.ts';
import * as workspace from './workspace.ts';

async function main(args: readonly string[]): Promise<void> {
  // Known before the line is understood, so that a wrong line is reported as it asks for.
  let printer = new Printer({ pretty: false, jsonErrors: args.includes('--json-errors') });
  try {
    const line = parseLine(args);
    printer = new Printer(line.common);
    process.exitCode = await execute(line, printer);
  } catch (error) {
    const failure =
      error instanceof Failure
        ? error
        : new Failure('internal', error instanceof Error ? (error.stack ?? error.message) : String(error));
    printer.fail(failure);
    process.exitCode = failure.exitCode;
  }
}

async function execute({ common, command }: Line, printer: Printer): Promise<number> {
  if (command.kind === 'help') {
    process.stdout.write(command.text);
    return 0;
  }
  if (command.kind === 'version') {
    await printer.print({ type: 'version', build });
    return 0;
  }
  const store = realStore(
    common.store ?? defaultStore({ platform: process.platform, env: process.env, home: os.homedir() }),
  );
  const within = surroundings(store);
  if (command.kind === 'lsp') {
    // A window decides as its person does, which a command of an agent must not (rpc/persons.ts).
    if (within.call !== null)
      throw new Failure('usage', 'roost lsp is for the editor of a person, not for a command of an agent.');
    const { serve } = await loadLsp();
    return serve({ store, providers: common.providers });
  }
  const session = new Session(
    { store, start: starts(command), secrets: works(command), call: within.call },
    common.providers,
  );
  try {
    return await dispatch(command, { session, printer, key: common.key, inside: within.agent }, store);
  } finally {
    session.close();
  }
}

function dispatch(
  command: Exclude<Command, { kind: 'help' | 'version' | 'lsp' }>,
  context: Context,
  store: string,
): Promise<number> {
  switch (command.kind) {
    case 'run':
    case 'send':
    case 'follow':
    case 'wait':
    case 'result':
      return work.dispatch(context, command);
    case 'fan':
    case 'race':
    case 'compare':
    case 'pick':
      return group.dispatch(context, command);
    case 'ls':
    case 'interrupt':
      return manage.agents(context, command);
    case 'delete':
    case 'restore':
    case 'trash':
      return trash.dispatch(context, command);
    case 'branchFile':
      return branchFile.dispatch(context, command);
    case 'fork':
    case 'close':
    case 'configure':
    case 'turns':
    case 'rewind':
    case 'retry':
    case 'compact':
    case 'budget':
    case 'queue':
      return lifecycle.dispatch(context, command);
    case 'requests':
      return manage.requests(context);
    case 'answer':
      return manage.answer(context, command);
    case 'review':
    case 'change':
    case 'verdict':
      return manage.look(context, command);
    case 'commands':
    case 'commandOutput':
    case 'commandKill':
      return commands.dispatch(context, command);
    case 'worktrees':
    case 'removeWorktrees':
    case 'checkpoints':
    case 'checkpoint':
    case 'restoreCheckpoint':
      return workspace.dispatch(context, command);
    case 'profiles':
    case 'mcp':
    case 'trust':
      return knowledge.dispatch(context, command);
    case 'models':
    case 'price':
    case 'role':
    case 'cost':
      return cost.dispatch(context, command);
    case 'info':
    case 'shutdown':
      return manage.sidecar(context, command.kind);
    case 'doctor':
      return manage.doctor(store, context.session, context.printer);
  }
}

/** Of an own bundle beside this one, or of the source tree. The name is computed so that this bundle does not take it in. */
function loadLsp(): Promise<typeof import('../lsp/main.ts')> {
  const here = import.meta.dirname;
  const server = path.basename(here) === 'dist' ? './lsp.cjs' : '../lsp/main.ts';
  return import(server);
}

/** Only looking, or ending it, starts no sidecar. */
const starts = ({ kind }: Command): boolean => kind !== 'shutdown' && kind !== 'doctor';

/** Commands during which agents may ask for keys. */
const works = ({ kind }: Command): boolean =>
  ['run', 'fan', 'race', 'send', 'follow', 'wait', 'answer', 'fork', 'retry', 'compact', 'budget'].includes(
    kind,
  );

/** The agent and the call in whose shell this runs, if they are of this store: numbers of another mean nothing here. */
function surroundings(store: string): {
  readonly agent: Context['inside'];
  readonly call: number | null;
} {
  const { ROOST_STORE: named, ROOST_AGENT: agent = '', ROOST_CALL: call = '' } = process.env;
  if (named === undefined || realStore(named) !== store) return { agent: null, call: null };
  return {
    agent: /^\d+$/.test(agent) ? agentId(Number(agent)) : null,
    call: /^\d+$/.test(call) ? Number(call) : null,
  };
}

/** As the sidecar names it: absolute, links resolved when it exists. */
function realStore(directory: string): string {
  const absolute = path.resolve(directory);
  try {
    return realpathSync(absolute);
  } catch {
    return absolute;
  }
}

void main(process.argv.slice(2));
