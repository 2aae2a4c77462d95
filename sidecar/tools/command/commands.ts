// Running commands: started through the launcher, watched, and taken up again after a crash.
//
// The record on disk is the truth (runs.ts); a line of the launcher only says when to look. What has no line (a
// recovered command, one whose wrapper or launcher was killed) is looked at four times a second (watched.ts).
// Commands that cannot have a record (Windows, a disk without room) are not for this file (direct.ts).

import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, statfsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { limits } from '../../runtime/limits.ts';
import { startLauncher } from './launcher.ts';
import type { Launcher } from './launcher.ts';
import { bootId } from './processes.ts';
import {
  claimOf,
  dueOf,
  emptyRun,
  endedMsOf,
  exitOf,
  keepMark,
  markIn,
  outputAfter,
  outputOf,
  removeRun,
  takeClaim,
  writeJob,
} from './runs.ts';
import type { OutputPart } from './runs.ts';
import type { RunJob, ShellKind } from './script.ts';
import { watched } from './watched.ts';
import type { CommandEnd, Watch, Watched } from './watched.ts';

export interface CommandsOptions {
  /** Absolute; made when it is missing. */
  readonly runDirectory: string;
  readonly kind: ShellKind;
  /** What marks the processes of a call in their environment, to find those that left their group. */
  readonly callMark: (id: string) => Readonly<Record<string, string>>;
}

export interface StartOptions extends Watch {
  readonly env: Readonly<Record<string, string>>;
  readonly runMs: number;
}

export interface Commands {
  /** Starts a command under the name of its call; null: there is no place for its record. */
  start(id: string, job: RunJob, how: StartOptions): Promise<CommandEnd> | null;
  /** Takes up a command that an earlier process may have started when `origin()` was this. */
  resume(id: string, origin: string, watch: Watch): Promise<CommandEnd>;
  /** Whether there is a record of this name. */
  knows(id: string): boolean;
  /** Keeps this text with a record, in place of what was kept before: what is needed to say what the command changed. */
  remember(id: string, mark: string): void;
  /** That text; null: there is none. */
  markOf(id: string): string | null;
  /** What it has written after a place, at most the newest `bytes` of it. */
  outputAfter(id: string, after: number, bytes: number): OutputPart;
  /** Process group of a command that has begun; null: nobody knows. */
  groupOf(id: string): number | null;
  /** When the command ended, ms since 1970; null: it has not, or nobody knows. */
  endedMs(id: string): number | null;
  /** The end of this run, which was told, is committed: its record is not needed any more. */
  settled(id: string): void;
  /**
   * Names this run directory and this boot of the machine: another directory means that somebody removed it, another
   * boot that the last writes may be lost.
   */
  origin(): string;
  /** Lets the launcher go; what runs goes on, unwatched. */
  close(): void;
}

/** Commands with their records under one directory. */
export function createCommands(options: CommandsOptions): Commands {
  return new RecordedCommands(options);
}

class RecordedCommands implements Commands {
  private readonly options: CommandsOptions;
  private readonly runs = new Map<string, Watched>();
  private readonly finished: Finished;
  /** Names this process; the newest one in the file `keeper` looks after what runs (script.ts). */
  private readonly keeper = randomBytes(8).toString('hex');
  private knownOrigin: string | null = null;
  private launcher: { readonly process: Launcher; readonly env: string } | null = null;
  private idle: NodeJS.Timeout | null = null;
  private readonly spares: Spares;

  constructor(options: CommandsOptions) {
    this.options = options;
    this.finished = createFinished((id) => this.runs.has(id), options.runDirectory);
    this.spares = createSpares(options.runDirectory, this.keeper);
  }

  start(id: string, job: RunJob, how: StartOptions): Promise<CommandEnd> | null {
    const { env, runMs, ...watch } = how;
    const directory = this.directoryOf(id);
    try {
      this.origin();
      const { bavail, bsize } = statfsSync(this.options.runDirectory);
      if (bavail * bsize < limits.spoolFreeBytes) return null;
      writeJob(directory, job, this.spares.take());
    } catch {
      return null;
    }
    const begin = (): void => this.launcherWith(env).start(id, directory);
    const mark = this.options.callMark(id);
    const end = this.follow(id, watched({ directory, mark, runMs, polled: false, watch, begin }));
    begin();
    // While it works there is time.
    this.spares.tidy();
    return end;
  }

  async resume(id: string, origin: string, watch: Watch): Promise<CommandEnd> {
    const [then = '', boot = bootId()] = origin.split(' ');
    const directory = this.directoryOf(id);
    const unknown = (text: string): CommandEnd => ({ kind: 'unknown', text, output: outputOf(directory) });
    if (!this.isOrigin(then)) return unknown('The folder with the records of commands was removed.');
    // What was written since the last sync is lost with the power, so a claim that is not there says nothing.
    if (boot !== bootId() && claimOf(directory) === null)
      return unknown('The machine was restarted, and there is no record of whether the command had begun.');
    // It was made before the launcher was told: without it nothing was started, and from here on nothing will be.
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    if (takeClaim(directory)) this.finished.add(id);
    const claim = claimOf(directory);
    if (claim === 'taken') {
      return { kind: 'neverStarted', text: 'The runtime ended before the command was started.' };
    }
    if (claim === 'torn' && exitOf(directory) === null) return unknown('The record of the command was lost.');
    const mark = this.options.callMark(id);
    const runMs = dueOf(directory) * 1000 - Date.now();
    return await this.follow(
      id,
      watched({ directory, mark, runMs, polled: true, watch, begin: () => undefined }),
    );
  }

  knows(id: string): boolean {
    return existsSync(this.directoryOf(id));
  }

  remember(id: string, mark: string): void {
    keepMark(this.directoryOf(id), mark);
  }

  markOf(id: string): string | null {
    return markIn(this.directoryOf(id));
  }

  outputAfter(id: string, after: number, bytes: number): OutputPart {
    return outputAfter(this.directoryOf(id), after, bytes);
  }

  groupOf(id: string): number | null {
    const claim = claimOf(this.directoryOf(id));
    return claim === null || typeof claim === 'string' ? null : claim.shell.pid;
  }

  endedMs(id: string): number | null {
    return endedMsOf(this.directoryOf(id));
  }

  settled(id: string): void {
    if (this.finished.take(id)) this.spares.add(this.directoryOf(id));
  }

  origin(): string {
    if (this.knownOrigin !== null) return this.knownOrigin;
    const { runDirectory } = this.options;
    mkdirSync(runDirectory, { recursive: true, mode: 0o700 });
    for (const id of readdirSync(runDirectory)) {
      if (/^\d+(\.\d+)?$/.test(id)) this.finished.add(id);
      else if (id.startsWith('spare-')) void removeRun(path.join(runDirectory, id));
    }
    writeFileSync(path.join(runDirectory, 'keeper'), `${this.keeper}\n`);
    const file = path.join(runDirectory, 'origin');
    try {
      writeFileSync(file, randomBytes(8).toString('hex'), { flag: 'wx' });
    } catch {
      // An earlier process made it.
    }
    this.knownOrigin = `${readFileSync(file, 'utf8')} ${bootId()}`;
    return this.knownOrigin;
  }

  close(): void {
    // With commands left it must keep their output within bounds, and end what runs too long (script.ts).
    if (0 < this.runs.size) this.launcher?.process.leave();
    else this.launcher?.process.close();
    this.launcher = null;
  }

  private isOrigin(then: string): boolean {
    try {
      return this.origin().split(' ', 1)[0] === then;
    } catch {
      return false;
    }
  }

  private directoryOf(id: string): string {
    return path.join(this.options.runDirectory, id);
  }

  /** The launcher keeps the environment that it was started with, so another environment needs another one. */
  private launcherWith(env: Readonly<Record<string, string>>): Launcher {
    const key = JSON.stringify(env);
    if (this.launcher?.env === key) return this.launcher.process;
    this.launcher?.process.close();
    const started = startLauncher({
      kind: this.options.kind,
      env,
      bootId: bootId(),
      keeper: this.keeper,
      runDirectory: this.options.runDirectory,
      ended: (id, code) => this.runs.get(id)?.ended(code),
      lost: (id) => this.runs.get(id)?.lost(),
      gone: (problem) => {
        this.launcher = null;
        for (const run of this.runs.values()) run.orphaned(problem);
      },
    });
    this.launcher = { process: started, env: key };
    return started;
  }

  private async follow(id: string, run: Watched): Promise<CommandEnd> {
    if (this.idle !== null) clearTimeout(this.idle);
    this.idle = null;
    this.runs.set(id, run);
    const end = await run.end;
    this.runs.delete(id);
    this.finished.add(id);
    if (this.runs.size === 0) this.idle = setTimeout(() => this.close(), limits.launcherIdleMs).unref();
    return end;
  }
}

interface Finished {
  add(id: string): void;
  /** Takes one out; false: it is not there. */
  take(id: string): boolean;
}

/**
 * Runs whose result has been told. They are kept a while, because the result may be told again after a crash
 * before it was committed; also what earlier processes left behind.
 */
function createFinished(busy: (id: string) => boolean, runDirectory: string): Finished {
  const since = new Map<string, number>();
  let timer: NodeJS.Timeout | null = null;
  const sweep = (): void => {
    const now = performance.now();
    for (const [id, addedMs] of since) {
      if (now - addedMs < limits.runKeptMs && since.size <= limits.runsKept) break;
      since.delete(id);
      if (!busy(id)) void removeRun(path.join(runDirectory, id));
    }
    if (since.size === 0 && timer !== null) {
      clearInterval(timer);
      timer = null;
    }
  };
  return {
    add: (id) => {
      since.delete(id);
      since.set(id, performance.now());
      timer ??= setInterval(sweep, limits.runSweepMs).unref();
      if (limits.runsKept < since.size) sweep();
    },
    take: (id) => since.delete(id),
  };
}

interface Spares {
  /** The path of an emptied run directory, which is then the caller's; null: there is none. */
  take(): string | null;
  /** A run directory that is not needed any more: emptied for another run, or removed when there are enough. */
  add(directory: string): void;
  /** Empties what was added now, and not a moment later. */
  tidy(): void;
}

/**
 * Run directories for the next commands. To make one with its files takes 0.3 to 5 ms, the more the more files were
 * removed a moment ago (ext4 passes over their inodes); to rename one takes 0.02 ms.
 */
function createSpares(runDirectory: string, keeper: string): Spares {
  const ready: string[] = [];
  const left: string[] = [];
  let timer: NodeJS.Timeout | null = null;
  let coming = 0;
  let made = 0;
  const empty = async (directory: string): Promise<void> => {
    const spare = path.join(runDirectory, `spare-${keeper}-${made++}`);
    try {
      await emptyRun(directory, spare);
      ready.push(spare);
    } catch {
      // A full disk, or somebody removed it.
      await removeRun(spare);
      await removeRun(directory);
    }
    coming -= 1;
  };
  const tidy = (): void => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    for (const directory of left.splice(0)) void empty(directory);
  };
  return {
    take: () => ready.pop() ?? null,
    add: (directory) => {
      if (limits.spareRuns <= ready.length + coming) return void removeRun(directory);
      coming += 1;
      left.push(directory);
      // The request that the result goes into leaves first, and mostly the next command starts before.
      timer ??= setTimeout(tidy, limits.spareAfterMs).unref();
    },
    tidy,
  };
}
