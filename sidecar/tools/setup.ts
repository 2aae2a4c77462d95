// The setup command of a new worktree, run with the same records as commands of agents, and asked about with the
// call that makes the worktree.

import type { Ask, ToolJob } from '../ports.ts';
import { limits } from '../runtime/limits.ts';
import type { Asker, SetupEnd, SetupJob, SetupWish } from '../workspace/worktreeSetup.ts';
import type { Commands } from './command/commands.ts';
import { runDirectly } from './command/direct.ts';
import type { CommandEnd } from './command/watched.ts';
import { outcomeOf } from './shellResult.ts';
import type { Doing } from './tool.ts';

export interface SetupRunner {
  /** Null: without records (Windows). */
  readonly commands: Commands | null;
  /** The environment of a command, but for what names its call. */
  readonly environment: () => Readonly<Record<string, string>>;
}

/** The variables that name a call and its agent. */
const ownVariables = (job: ToolJob): Record<string, string> => ({
  ROOST_CALL: String(job.call),
  ROOST_AGENT: String(job.agent),
  ROOST_PARENT: String(job.parent ?? ''),
});

/** The call that wants a worktree. `allowed`: the setup that its person was asked about (SetupWish.name). */
export function askerOf(runner: SetupRunner, job: ToolJob, allowed: string | null, doing: Doing): Asker {
  return {
    call: job.call,
    allowed,
    run: async (setup) => endOf(await run(runner, job, setup, doing), doing),
  };
}

async function run(runner: SetupRunner, job: ToolJob, setup: SetupJob, doing: Doing): Promise<CommandEnd> {
  const { commands } = runner;
  const { command, directory } = setup;
  let name = setup.record;
  // Each record whose claim recovery has won belongs to a start that never was; the next has a claim of its own.
  while (setup.taken !== null && commands?.knows(name) === true) {
    const end = await commands.resume(name, setup.taken, doing);
    if (end.kind !== 'neverStarted') return end;
    name += '1';
  }
  await setup.starting(originOf(commands));
  return await startCommand(
    runner,
    { job, record: name, command, directory, env: setup.env, runMs: limits.setupMs },
    doing,
  );
}

/** What `resume` is asked with after a crash; null: commands have no records here. */
export function originOf(commands: Commands | null): string | null {
  try {
    return commands?.origin() ?? null;
  } catch {
    // The disk is full or the folder cannot be made: the command runs without a record.
    return null;
  }
}

export interface Start {
  readonly job: ToolJob;
  /** Name of the command's record. */
  readonly record: string;
  readonly command: string;
  readonly directory: string;
  /** Variables besides those of every command and those that name its call. */
  readonly env: Readonly<Record<string, string>>;
  readonly runMs: number;
  /** What the record begins with (Commands.remember). */
  readonly mark?: string;
  /** It may not run without a record, because it must be found again. */
  readonly needsRecord?: boolean;
}

const noRecord =
  'A command in the background needs a record on the disk, and there can be none here (the disk is full, or this system has no such commands).';

/** Starts a command with a record, or without one where that cannot be; resolves when it has ended. */
export function startCommand(
  { commands, environment }: SetupRunner,
  { job, record, command, directory, runMs, mark, needsRecord, env: more }: Start,
  doing: Doing,
): Promise<CommandEnd> {
  const env = environment();
  const own = { ...ownVariables(job), ...more };
  const dueSeconds = Math.ceil((Date.now() + runMs) / 1000);
  const task = { command, directory, env: own, dueSeconds, ...(mark === undefined ? {} : { mark }) };
  const recorded = commands?.start(record, task, { ...doing, env, runMs }) ?? null;
  if (recorded !== null) return recorded;
  if (needsRecord === true) return Promise.resolve({ kind: 'neverStarted', text: noRecord });
  return runDirectly({ command, directory, env: { ...env, ...own }, runMs }, doing);
}

function endOf(end: CommandEnd, doing: Doing): SetupEnd {
  const { status, text } = outcomeOf(end, limits.setupMs);
  if (doing.signal.aborted && end.kind === 'exit' && end.stopped === 'interrupt') {
    return { kind: 'interrupted', text };
  }
  return { kind: status === 'ok' ? 'done' : 'failed', text };
}

/** What is asked for a call whose worktree has to be set up first: for both in one. */
export function withSetup(ask: Ask, wish: SetupWish | null): Ask {
  if (wish === null) return ask;
  const cluster = `setup:${wish.name}`;
  const together = ask.kind === 'edit' || ask.harmless ? cluster : `${cluster} ${ask.cluster}`;
  const alone = ask.always || (ask.kind === 'command' && !ask.harmless && ask.cluster === null);
  return {
    ...ask,
    kind: 'command',
    title: `Set up a worktree with ${wish.command}, then ${ask.kind === 'edit' ? ask.title : `run ${ask.title}`}`,
    detail: `${wish.command}\n\nonce in each new worktree of ${wish.top}, as its .roost/worktree.json says. You are asked again when that is another command.\n\nThen:\n\n${ask.detail}`,
    cluster: alone ? null : together,
    harmless: false,
  };
}
