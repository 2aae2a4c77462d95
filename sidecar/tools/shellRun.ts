// One command of the tool `shell` on its way: where it runs, with which environment, what it changed, and what
// became of it after a crash. Not here: what goes on in the background (shellBackground.ts).

import type { ToolJob, ToolOutcome } from '../ports.ts';
import type { Scene, Seen, Watching, Witness } from '../workspace/witness.ts';
import type { Worktrees } from '../workspace/worktree.ts';
import { withNews } from '../workspace/worktreeBase.ts';
import type { Commands } from './command/commands.ts';
import type { CommandEnd } from './command/watched.ts';
import { askerOf, startCommand } from './setup.ts';
import type { SetupRunner } from './setup.ts';
import { beginBehind } from './shellBackground.ts';
import type { Started } from './shellBackground.ts';
import type { Backgrounds } from './command/background.ts';
import { outcomeOf } from './shellResult.ts';
import { failure } from './tool.ts';
import type { Doing } from './tool.ts';

export interface RunnerOptions extends SetupRunner {
  readonly worktrees: Worktrees;
  readonly witness: Witness;
  readonly backgrounds: Backgrounds;
}

/** A command as it was asked for. */
export interface Wish {
  readonly job: ToolJob;
  readonly doing: Doing;
  readonly command: string;
  readonly runMs: number;
  /** It goes on when its call has its result. */
  readonly background: boolean;
  /** The setup of a worktree that the person was asked about with this call; null: none. */
  readonly setup: string | null;
  /** It may change files: its place is looked at before and afterwards. */
  readonly writes: boolean;
}

/** The call that a record belongs to: `12` and, started anew after a crash, `12.1`, `12.2`. */
export const callOf = (record: string): string => record.split('.', 1)[0] ?? record;

const recordOf = (job: ToolJob, serial: number): string =>
  serial === 0 ? String(job.call) : `${job.call}.${serial}`;

/** Starts the command of a call, and sees it to its end or into the background. */
export function run(options: RunnerOptions, wish: Wish): Promise<ToolOutcome> {
  return start(options, wish, recordOf(wish.job, 0));
}

/**
 * What became of a command after a crash. One whose claim recovery has won was never started and never will be
 * under that record, so it is started now under the next one: still at most once, since each record has a claim
 * of its own and a later record exists only when all before it were won.
 */
export async function takeUp(
  options: RunnerOptions & { readonly commands: Commands },
  wish: Wish,
  origin: string,
): Promise<ToolOutcome> {
  const { commands } = options;
  for (let serial = 0; ; serial++) {
    const record = recordOf(wish.job, serial);
    if (serial > 0 && !commands.knows(record)) return await start(options, wish, record);
    const watching = wish.writes ? await resumed(options, wish.job, commands.markOf(record)) : null;
    const started = await seen(options, wish, {
      record,
      watch: (doing) => commands.resume(record, origin, doing),
    });
    const never = started.kind === 'ended' && started.end.kind === 'neverStarted';
    if (!never || wish.doing.signal.aborted) {
      return await told(wish, { started, watching, endedMs: commands.endedMs(record) });
    }
    await watching?.drop();
  }
}

interface Seeing {
  readonly record: string;
  /** Begins, or begins again, to watch the command. */
  readonly watch: (doing: Doing) => Promise<CommandEnd>;
}

/** Sees a command to its end; one for the background only through its first moments. */
async function seen(options: RunnerOptions, wish: Wish, { record, watch }: Seeing): Promise<Started> {
  if (wish.background) return await beginBehind(options, wish, { record, watch });
  return { kind: 'ended', end: await watch(wish.doing) };
}

async function resumed(
  { witness, worktrees }: RunnerOptions,
  job: ToolJob,
  mark: string | null,
): Promise<Watching> {
  return await witness.resume(await sceneOf(worktrees, job), mark);
}

/** Where the commands of a job run. */
export async function sceneOf(worktrees: Worktrees, { agent, place }: ToolJob): Promise<Scene> {
  const { workspace, isolation } = place;
  const worktree = isolation === 'worktree' ? await worktrees.find(agent, workspace) : null;
  return { agent, workspace, place: worktree?.place ?? workspace };
}

async function start(options: RunnerOptions, wish: Wish, record: string): Promise<ToolOutcome> {
  const { job, command, runMs } = wish;
  const made = await directoryOf(options, wish);
  if (made.kind === 'refused') return failure(made.text);
  const { directory, news } = made;
  const marked = wish.writes ? await watched(options, { job, directory, record }) : null;
  const watching = marked?.watching ?? null;
  const task = { job, record, command, directory, env: made.env, runMs, needsRecord: wish.background };
  const started = await seen(options, wish, {
    record,
    watch: (doing) => {
      const end = startCommand(options, marked === null ? task : { ...task, mark: marked.mark() }, doing);
      marked?.begin();
      return end;
    },
  });
  const outcome = await told(wish, { started, watching, endedMs: null });
  return { ...outcome, text: withNews(outcome.text, news) };
}

interface Watched {
  readonly watching: Watching;
  /** What the record of the command begins with. */
  mark(): string;
  /** The record is there: from now on it is kept up to date. */
  begin(): void;
}

async function watched(
  { witness, commands }: RunnerOptions,
  { job, directory, record }: { readonly job: ToolJob; readonly directory: string; readonly record: string },
): Promise<Watched> {
  let newest = '';
  let hasRecord = false;
  const scene = { agent: job.agent, workspace: job.place.workspace, place: directory };
  const watching = await witness.watch(scene, (mark) => {
    newest = mark;
    if (hasRecord) commands?.remember(record, mark);
  });
  return { watching, mark: () => newest, begin: () => (hasRecord = true) };
}

interface Ended {
  readonly started: Started;
  readonly watching: Watching | null;
  readonly endedMs: number | null;
}

/** How it stands with the command in words, with what it has changed. */
async function told(wish: Wish, { started, watching, endedMs }: Ended): Promise<ToolOutcome> {
  const outcome = started.kind === 'ended' ? outcomeOf(started.end, wish.runMs) : started.outcome;
  if (watching === null) return outcome;
  if (started.kind === 'ended' && started.end.kind === 'neverStarted') {
    await watching.drop();
    return outcome;
  }
  return withSeen(outcome, await watching.end(endedMs ?? undefined));
}

/** An outcome with the files that changed meanwhile. */
export function withSeen(outcome: ToolOutcome, { touched, notes }: Seen): ToolOutcome {
  const lines = notes.map((note) => `[roost: ${note}]`).join('\n');
  const said = { ...outcome, text: withNews(outcome.text, lines === '' ? null : lines) };
  return touched.length === 0 ? said : { ...said, touched };
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
  options: RunnerOptions,
  { job, doing, setup }: Wish,
): Promise<Directory | { readonly kind: 'refused'; readonly text: string }> {
  const { workspace, isolation } = job.place;
  if (isolation !== 'worktree') return { kind: 'directory', directory: workspace, news: null, env: {} };
  const asker = askerOf(options, job, setup, doing);
  const made = await options.worktrees.ensure(job.agent, workspace, asker);
  if (made.kind === 'refused') return made;
  const { place, env } = made.worktree;
  return { kind: 'directory', directory: place, news: made.news, env };
}
