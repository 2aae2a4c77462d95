// The sidecar's process: one per store, from the first line to the last.
//
// Order matters here. Standard output is taken away before any dependency is loaded, so that nothing one prints
// can reach a client (case 186): what is imported at the top is our own and needs only Node. Node's version is
// looked at before the database's binding is touched, because on an old Node that is a crash without a message
// (case 118). The store is owned before it is opened, and the discovery file is there while the door is open.
//
// Exit codes: 0 left in order, 1 could not start or go on, 2 not understood, 75 another process owns the store.

import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';

import { startLife } from './platform/life.ts';
import { openLog } from './platform/log.ts';
import { guardOutput, type Output } from './platform/output.ts';
import * as paths from './platform/paths.ts';
import { isRunning, thisProcess } from './platform/processes.ts';
import { newNonce } from './platform/random.ts';
import { bindingProblem, nodeProblem } from './platform/selfTest.ts';
import { defaultStore, ownedExitCode, sidecarLogFile, type Discovery } from './protocol/discovery.ts';
import { RoostError } from './protocol/errors.ts';
import { build } from './protocol/version.ts';
import { limits } from './runtime/limits.ts';

const usage = `Usage: sidecar [--store DIR] [--idle-ms MS] [--model-slots N] [--command-slots N]
       sidecar --self-test | --version
  --model-slots N    model requests in flight at a time, over all providers (${limits.modelSlots})
  --command-slots N  commands of agents that run at a time (${limits.commandSlotsPerCore} for each core)
Started by Roost's clients; "roost" is the command for people.
`;

async function main(output: Output): Promise<void> {
  const asked = parse(process.argv.slice(2));
  if (typeof asked === 'string') {
    say(`${asked}\n${usage}`);
    process.exitCode = 2;
    return;
  }
  if (asked.help) output.print(usage);
  if (asked.version) output.print(`${build}\n`);
  if (asked.help || asked.version) return;
  const problem = nodeProblem() ?? (asked.selfTest ? await bindingProblem(openInMemory) : null);
  if (problem !== null) {
    say(problem);
    process.exitCode = 1;
  } else if (asked.selfTest) {
    output.print(`ok: Node ${process.versions.node}, build ${build}\n`);
  } else {
    await serve(asked, output).catch(leaveAtOnce);
  }
}

interface Asked {
  readonly store: string;
  readonly idleMs: number;
  readonly modelSlots: number;
  /** Null: by the cores of this machine. */
  readonly commandSlots: number | null;
  readonly selfTest: boolean;
  readonly version: boolean;
  readonly help: boolean;
}

/** What the command line asks for, or what is wrong with it. */
function parse(args: readonly string[]): Asked | string {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        store: { type: 'string' },
        'idle-ms': { type: 'string' },
        'model-slots': { type: 'string' },
        'command-slots': { type: 'string' },
        'self-test': { type: 'boolean', default: false },
        version: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
    const idleMs = Number(values['idle-ms'] ?? limits.idleExitMs);
    if (!Number.isSafeInteger(idleMs) || idleMs < 0) return '--idle-ms needs a number of milliseconds.';
    const modelSlots = Number(values['model-slots'] ?? limits.modelSlots);
    if (!isCount(modelSlots)) return '--model-slots needs a number from 1 on.';
    const commands = values['command-slots'];
    const commandSlots = commands === undefined ? null : Number(commands);
    if (commandSlots !== null && !isCount(commandSlots)) return '--command-slots needs a number from 1 on.';
    const store =
      values.store ?? defaultStore({ platform: process.platform, env: process.env, home: os.homedir() });
    const { version, help } = values;
    return { store, idleMs, modelSlots, commandSlots, selfTest: values['self-test'], version, help };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const isCount = (value: number): boolean => Number.isSafeInteger(value) && 1 <= value;

/** Takes the store, opens the door, and stays until there is nothing to do or somebody ends it. */
async function serve(asked: Asked, output: Output): Promise<void> {
  const directory = paths.prepareStore(asked.store);
  const { takeOwnership } = await import('./store/owner.ts');
  const ownership = takeOwnership(directory);
  if (ownership === null) throw owned(directory);

  const log = openLog(path.join(directory, sidecarLogFile));
  output.collect((text) => log.warn('printed by a dependency', { text: text.trimEnd() }));
  const life = startLife({ idleMs: asked.idleMs, log });
  const { wire } = await import('./wiring.ts');
  const { listen } = await import('./rpc/listen.ts');
  const self = thisProcess();
  const nonce = newNonce();
  const wired = wire({
    directory,
    nonce,
    startedAtMs: self.startedAtMs,
    commandFolder: paths.installCommand(directory, ownCli()),
    log,
    modelSlots: asked.modelSlots,
    commandSlots: asked.commandSlots,
    shutdown: () => life.leave('a client asked for it'),
  });

  const socket = paths.socketPath(directory);
  const door = await listen(socket, wired.server.accept, (error) => {
    log.error('a connection could not be taken', { message: error.message });
  });
  const card: Discovery = { ...self, nonce, build, socket, store: directory };
  log.info('started', { ...self, build, node: process.versions.node, socket });
  paths.writeDiscovery(card);
  life.lead({
    clients: wired.server.clientCount,
    usedMs: wired.server.usedMs,
    host: wired.host,
    closeDoor: () => {
      paths.removeDiscovery(card);
      door.close();
      wired.server.stop();
    },
    sayGoodbye: wired.server.close,
    close: () => {
      wired.close();
      ownership.release();
      log.close();
    },
  });
}

/** The `roost` command of this very build: beside the bundle, or in the source tree. */
function ownCli(): string {
  const here = import.meta.dirname;
  return path.join(here, path.basename(here) === 'dist' ? 'cli.cjs' : path.join('cli', 'main.ts'));
}

async function openInMemory(): Promise<void> {
  const { openStore } = await import('./store/open.ts');
  openStore({ directory: '', durability: 'process', mode: 'memory' }).close();
}

function owned(directory: string): RoostError {
  const owner = paths.readDiscovery(directory);
  const who =
    owner !== null && isRunning(owner) ? `process ${owner.pid}` : 'another process, which is just starting,';
  return new RoostError(
    'store/owned',
    `The store ${directory} is run by ${who} already. Connect to that one, or end it with "roost shutdown".`,
    { pid: owner?.pid ?? null },
  );
}

function leaveAtOnce(error: unknown): void {
  say(
    error instanceof RoostError
      ? error.message
      : error instanceof Error
        ? (error.stack ?? error.message)
        : String(error),
  );
  process.exit(error instanceof RoostError && error.code === 'store/owned' ? ownedExitCode : 1);
}

/** One line for whoever started this process. */
function say(message: string): void {
  process.stderr.write(`sidecar: ${message}\n`);
}

void main(guardOutput());
