// The tool `shell`: a command of a model, run in the agent's place with the record that makes it survive the
// sidecar. An effect: it is started at most once, whatever happens (I3).

import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import type { Ask, Prepared, ToolJob, ToolOutcome } from '../ports.ts';
import { head } from '../core/text.ts';
import { limits } from '../runtime/limits.ts';
import type { Json } from '../protocol/json.ts';
import type { Worktrees } from '../workspace/worktree.ts';
import { withNews } from '../workspace/worktreeBase.ts';
import { createCommands } from './command/commands.ts';
import type { Commands } from './command/commands.ts';
import { runDirectly } from './command/direct.ts';
import type { ShellKind } from './command/script.ts';
import type { CommandEnd } from './command/watched.ts';
import { judge } from './commandLine.ts';
import { fieldsOf } from './fields.ts';
import { outcomeOf } from './shellResult.ts';
import { askerOf, ownVariables, withSetup } from './setup.ts';
import type { SetupRunner } from './setup.ts';
import { failure, isObject, refuse, schemaOf } from './tool.ts';
import type { Doing, Tool } from './tool.ts';

export interface ShellOptions extends SetupRunner {
  readonly worktrees: Worktrees;
}

const spec = {
  name: 'shell',
  description:
    'Runs a command in the workspace with bash (sh where there is no bash), without a terminal and without input. ' +
    'Output and errors come together. A command that waits for keys never ends: use flags that do not ask. ' +
    'Processes left in the background go on; start servers with & and redirect their output. ' +
    '`roost run --new --detach -- TASK` starts another agent.',
  schema: schemaOf(
    {
      command: { type: 'string', description: 'The command line.' },
      timeoutMs: {
        type: 'integer',
        minimum: 1,
        maximum: limits.commandLongestMs,
        description: `Time after which it is ended, ${limits.commandMs} when not given.`,
      },
    },
    ['command'],
  ),
};

interface Input {
  readonly command: string;
  readonly runMs: number;
}

function inputOf(job: ToolJob): Input | string {
  const fields = fieldsOf('shell', job.input);
  const command = fields.text('command');
  const runMs = fields.optionalCount('timeoutMs', { atLeast: 1, atMost: limits.commandLongestMs });
  const problem = fields.problem();
  if (problem !== null) return problem;
  if (command.trim() === '') return 'shell: `command` is empty.';
  if (command.includes('\0')) return 'shell: `command` has a NUL character. Write it as an escape.';
  if (limits.commandBytes < Buffer.byteLength(command)) {
    return `shell: \`command\` is longer than ${limits.commandBytes} bytes. Write a script with \`write\` and run that.`;
  }
  return { command, runMs: runMs ?? limits.commandMs };
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
    mark: (id) => ({ ROOST_CALL: callOf(id), ROOST_STORE: store }),
  });
}

/** The tool. */
export function createShell(options: ShellOptions): Tool {
  const { commands } = options;
  return {
    spec,
    callClass: 'effect',
    prepare: (job) => Promise.resolve(prepare(options, job)),
    prepareNow: (job) => prepare(options, job),
    run: (job, evidence, doing) =>
      run(options, { job, doing, record: String(job.call), setup: setupIn(evidence) }),
    recover: async (job, evidence, doing) => {
      if (commands === null || !isObject(evidence) || typeof evidence['origin'] !== 'string') {
        return unknown('The runtime was restarted while the command ran, and there is no record of it.');
      }
      const taken = { job, doing, origin: evidence['origin'], setup: setupIn(evidence) };
      return takeUp(options, commands, taken);
    },
    settled: (call) => {
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

/** The call that a record belongs to: `12` and, started anew after a crash, `12.1`, `12.2`. */
const callOf = (record: string): string => record.split('.', 1)[0] ?? record;

interface TakenUp {
  readonly job: ToolJob;
  readonly doing: Doing;
  readonly origin: string;
  readonly setup: string | null;
}

/**
 * What became of a command after a crash. One whose claim recovery has won was never started and never will be
 * under that record, so it is started now under the next one: still at most once, since each record has a claim
 * of its own and a later record exists only when all before it were won.
 */
async function takeUp(
  options: ShellOptions,
  commands: Commands,
  { job, doing, origin, setup }: TakenUp,
): Promise<ToolOutcome> {
  for (let serial = 0; ; serial++) {
    const record = serial === 0 ? String(job.call) : `${job.call}.${serial}`;
    if (serial > 0 && !commands.knows(record)) return run(options, { job, doing, record, setup });
    const end = await commands.resume(record, origin, doing);
    if (end.kind !== 'neverStarted' || doing.signal.aborted) return outcomeOf(end, limitOf(job));
  }
}

const unknown = (text: string): ToolOutcome => ({ status: 'unknown', text });

function prepare({ commands, worktrees }: ShellOptions, job: ToolJob): Prepared {
  const input = inputOf(job);
  if (typeof input === 'string') return refuse(input);
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

function originOf(commands: Commands | null): string | null {
  try {
    return commands?.origin() ?? null;
  } catch {
    // The disk is full or the folder cannot be made: the command runs without a record.
    return null;
  }
}

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

const limitOf = (job: ToolJob): number => {
  const input = inputOf(job);
  return typeof input === 'string' ? limits.commandMs : input.runMs;
};

interface Start {
  readonly job: ToolJob;
  readonly doing: Doing;
  /** Name of the command's record. */
  readonly record: string;
  readonly setup: string | null;
}

async function run(options: ShellOptions, start: Start): Promise<ToolOutcome> {
  const { job, doing, record } = start;
  const { commands } = options;
  const input = inputOf(job);
  if (typeof input === 'string') return failure(input);
  const made = await directoryOf(options, start);
  if (made.kind === 'refused') return failure(made.text);
  const { directory, news } = made;
  const env = options.environment();
  const own = { ...ownVariables(job), ...made.env };
  const dueSeconds = Math.ceil((Date.now() + input.runMs) / 1000);
  const task = { command: input.command, directory, env: own, dueSeconds };
  const end: Promise<CommandEnd> =
    commands?.start(record, task, { ...doing, env, runMs: input.runMs }) ??
    runDirectly({ command: input.command, directory, env: { ...env, ...own }, runMs: input.runMs }, doing);
  const outcome = outcomeOf(await end, input.runMs);
  return { ...outcome, text: withNews(outcome.text, news) };
}

interface Directory {
  readonly kind: 'directory';
  readonly directory: string;
  /** What the agent is told of a worktree that was made for this command. */
  readonly news: string | null;
  /** Variables of the worktree. */
  readonly env: Readonly<Record<string, string>>;
}

async function directoryOf(
  options: ShellOptions,
  { job, doing, setup }: Start,
): Promise<Directory | { readonly kind: 'refused'; readonly text: string }> {
  const { workspace, isolation } = job.place;
  if (isolation !== 'worktree') return { kind: 'directory', directory: workspace, news: null, env: {} };
  const asker = askerOf(options, job, setup, doing);
  const made = await options.worktrees.ensure(job.agent, workspace, asker);
  if (made.kind === 'refused') return made;
  const { place, env } = made.worktree;
  return { kind: 'directory', directory: place, news: made.news, env };
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
