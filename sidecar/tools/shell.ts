// The tool `shell`: a command of a model, run in the agent's place with the record that makes it survive the
// sidecar. An effect: it is started at most once, whatever happens (I3).

import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import type { Ask, Prepared, ToolJob, ToolOutcome } from '../ports.ts';
import { head } from '../core/text.ts';
import { limits } from '../runtime/limits.ts';
import type { Json } from '../protocol/json.ts';
import { createCommands } from './command/commands.ts';
import type { Commands } from './command/commands.ts';
import type { ShellKind } from './command/script.ts';
import { isHarmless, judge } from './commandLine.ts';
import { isParserLoaded, loadParser } from './commandParse.ts';
import { fieldsOf } from './fields.ts';
import { originOf, withSetup } from './setup.ts';
import { callOf, run, takeUp } from './shellRun.ts';
import type { RunnerOptions, Wish } from './shellRun.ts';
import { failure, isObject, refuse, schemaOf } from './tool.ts';
import type { Doing, Tool } from './tool.ts';

export type ShellOptions = RunnerOptions;

const spec = {
  name: 'shell',
  description:
    'Runs a command in the workspace with bash (sh where there is no bash), without a terminal and without input. ' +
    'Output and errors come together. What asks for keys gets none: use flags that do not ask. ' +
    'Start servers and watchers with `background`, and look after them with the tool `command`. ' +
    '`roost run --new --detach -- TASK` starts another agent.',
  schema: schemaOf(
    {
      command: { type: 'string', description: 'The command line.' },
      timeoutMs: {
        type: 'integer',
        minimum: 1,
        maximum: limits.commandLongestMs,
        description: `Time after which it is ended, ${limits.commandMs} when not given (a day in the background).`,
      },
      background: {
        type: 'boolean',
        description: 'The command goes on when this call ends; its end is told to you when it comes.',
      },
    },
    ['command'],
  ),
};

interface Input {
  readonly command: string;
  readonly runMs: number;
  readonly background: boolean;
}

function inputOf(job: ToolJob): Input | string {
  const fields = fieldsOf('shell', job.input);
  const command = fields.text('command');
  const runMs = fields.optionalCount('timeoutMs', { atLeast: 1, atMost: limits.commandLongestMs });
  const background = fields.flag('background');
  const problem = fields.problem();
  if (problem !== null) return problem;
  if (command.trim() === '') return 'shell: `command` is empty.';
  if (command.includes('\0')) return 'shell: `command` has a NUL character. Write it as an escape.';
  if (limits.commandBytes < Buffer.byteLength(command)) {
    return `shell: \`command\` is longer than ${limits.commandBytes} bytes. Write a script with \`write\` and run that.`;
  }
  return { command, background, runMs: runMs ?? (background ? limits.backgroundMs : limits.commandMs) };
}

export interface CommandOptions {
  readonly runDirectory: string;
  readonly environment: () => Readonly<Record<string, string>>;
  /** How commands are started; null: directly, without records. */
  readonly shell: ShellKind | null;
}

/** What runs the commands of all tools, by one launcher; null: they are run without records. */
export function commandsOf({ runDirectory, environment, shell }: CommandOptions): Commands | null {
  if (shell === null) return null;
  const store = environment()['ROOST_STORE'] ?? '';
  return createCommands({
    runDirectory,
    kind: shell,
    callMark: (id) => ({ ROOST_CALL: callOf(id), ROOST_STORE: store }),
  });
}

/** The tool. */
export function createShell(options: ShellOptions): Tool {
  const { commands } = options;
  return {
    spec,
    callClass: 'effect',
    prepare: async (job) => {
      await loadParser();
      return prepare(options, job);
    },
    prepareNow: (job) => (isParserLoaded() ? prepare(options, job) : null),
    run: async (job, evidence, doing) => {
      await loadParser();
      const wish = wishOf(job, evidence, doing);
      return typeof wish === 'string' ? failure(wish) : await run(options, wish);
    },
    recover: async (job, evidence, doing) => {
      await loadParser();
      const wish = wishOf(job, evidence, doing);
      if (typeof wish === 'string') return failure(wish);
      if (commands === null || !isObject(evidence) || typeof evidence['origin'] !== 'string') {
        return unknown('The runtime was restarted while the command ran, and there is no record of it.');
      }
      return await takeUp({ ...options, commands }, wish, evidence['origin']);
    },
    mayWrite: (job) => {
      const input = inputOf(job);
      return typeof input !== 'string' && !isHarmless(input.command, job.place.workspace);
    },
    settled: (call) => {
      // Its record is needed for as long as it runs, and a while longer.
      if (options.backgrounds.find(call) !== undefined) return;
      // The record of a start after a crash has a number of its own, and those before it end with it.
      commands?.settled(String(call));
      for (let serial = 1; commands?.knows(`${call}.${serial}`) === true; serial++)
        commands.settled(`${call}.${serial}`);
    },
  };
}

/** The setup of a worktree that the person was asked about with this call; null: none. */
const setupIn = (evidence: Json): string | null =>
  isObject(evidence) && typeof evidence['setup'] === 'string' ? evidence['setup'] : null;

function wishOf(job: ToolJob, evidence: Json, doing: Doing): Wish | string {
  const input = inputOf(job);
  if (typeof input === 'string') return input;
  const writes = !isHarmless(input.command, job.place.workspace);
  return { job, doing, ...input, setup: setupIn(evidence), writes };
}

const unknown = (text: string): ToolOutcome => ({ status: 'unknown', text });

function prepare({ commands, worktrees, backgrounds }: ShellOptions, job: ToolJob): Prepared {
  const input = inputOf(job);
  if (typeof input === 'string') return refuse(input);
  const full = input.background ? backgrounds.full(job.agent) : null;
  if (full !== null) return refuse(`shell: ${full}`);
  const { workspace, isolation } = job.place;
  if (isolation === 'worktree' && sharedStash.test(input.command)) return refuse(stashRefused);
  const setup = isolation === 'worktree' ? worktrees.wish(job.agent, workspace) : null;
  return {
    kind: 'run',
    evidence: { origin: originOf(commands), setup: setup?.name ?? null },
    ask: withSetup(askOf(job, input.command), setup),
    usesCommandSlot: true,
  };
}

// All worktrees of a repository share one stash: what an agent puts there the person finds, and the reverse (case 137).
const sharedStash = /\bgit\b(\s+(-[cC]\s+\S+|-\S+))*\s+stash\b(?!\s+(list|show)\b)/;
const stashRefused =
  'shell: the stash of git is shared with the person and with all other worktrees, so it is not for you. Commit in your worktree instead, or copy files aside.';

function askOf(job: ToolJob, command: string): Ask {
  const { workspace, isolation } = job.place;
  const { cluster, danger, harmless } = judge(command, workspace);
  const notes = [
    danger,
    isolation === 'readonly' && !harmless ? 'This agent may only read; the command could do more.' : null,
  ];
  const said = notes.filter((note) => note !== null).map((note) => `\n\n${note}`);
  return {
    kind: 'command',
    title: head(command.trim(), limits.askTitleChars),
    detail: `${command}\n\nin ${workspace}${said.join('')}`,
    cluster,
    always: danger !== null || (isolation === 'readonly' && !harmless),
    harmless,
    sandboxed: false,
  };
}

/** The best way to start commands on this machine: bash, else a POSIX shell with `setsid`, else directly. */
export function bestShell(searchPath: string): ShellKind | null {
  if (process.platform === 'win32') return null;
  const has = (program: string): boolean =>
    searchPath.split(path.delimiter).some((directory) => {
      if (!path.isAbsolute(directory)) return false;
      try {
        accessSync(path.join(directory, program), constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
  if (has('bash')) return 'bash';
  return has('setsid') ? 'sh' : null;
}
