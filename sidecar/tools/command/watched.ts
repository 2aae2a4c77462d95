// One command from its start to its end: its deadline, its output for those who look, its stop, and what became
// of it when nobody told.
//
// A stop ends the whole process group, TERM first and KILL five seconds later, and is verified: the end is only
// told when the group is gone (cases 46 and 49). Processes that left the group are found by their mark.

import { existsSync } from 'node:fs';
import { limits } from '../../runtime/limits.ts';
import { groupLives, lives, signalled, straysOf } from './processes.ts';
import { claimOf, exitOf, newestOf, outputOf, takeClaim, trimOutput } from './runs.ts';
import type { Claim, Output } from './runs.ts';

export type CommandEnd =
  | {
      readonly kind: 'exit';
      readonly code: number;
      readonly output: Output;
      /** Why it was ended, when it did not end by itself. */
      readonly stopped: StopReason | null;
      /** Process group in which something that it started still runs; null: nothing does. */
      readonly leftGroup: number | null;
    }
  | { readonly kind: 'neverStarted'; readonly text: string }
  | { readonly kind: 'unknown'; readonly text: string; readonly output: Output };

export type StopReason = 'timeout' | 'interrupt';

export interface Watch {
  /** Aborted: the command is stopped. */
  readonly signal: AbortSignal;
  /** Newest output, for those who look. */
  readonly output: (text: string) => void;
}

export interface WatchedOptions {
  readonly directory: string;
  readonly mark: Readonly<Record<string, string>>;
  /** How much longer it may run. */
  readonly runMs: number;
  /** No line will come from a launcher. */
  readonly polled: boolean;
  readonly watch: Watch;
  /** Starts it once more, after the launcher was lost before it had begun. */
  readonly begin: () => void;
}

export interface Watched {
  readonly end: Promise<CommandEnd>;
  /** The launcher says that its shell has ended. */
  ended(code: number): void;
  /** The launcher says that somebody else has the claim. */
  lost(): void;
  /** The launcher is gone. */
  orphaned(problem: string): void;
}

/** Watches a command until it has ended. */
export function watched(options: WatchedOptions): Watched {
  let resolve: (end: CommandEnd) => void = () => undefined;
  const end = new Promise<CommandEnd>((done) => (resolve = done));
  const run = new Run(options, resolve);
  return {
    end,
    ended: (code) => run.ended(code),
    lost: () => run.lost(),
    orphaned: (problem) => run.orphaned(problem),
  };
}

class Run {
  private readonly options: WatchedOptions;
  private readonly resolve: (end: CommandEnd) => void;
  private readonly timer: NodeJS.Timeout;
  private readonly dueMs: number;
  private readonly startedMs = performance.now();
  private readonly onAbort = (): void => this.stop('interrupt');
  private polled: boolean;
  private begunAgain = false;
  private toldBytes = 0;
  private stopping: { readonly reason: StopReason; readonly killMs: number; killed: boolean } | null = null;
  private code: number | null = null;
  /** When its shell was first seen dead without a record. */
  private deadSinceMs: number | null = null;
  /** Its shell and its wrapper, once seen: the record may be removed while they run. */
  private known: Claim | null = null;
  private finished = false;
  private looking = false;
  private trims = 0;

  constructor(options: WatchedOptions, resolve: (end: CommandEnd) => void) {
    this.options = options;
    this.resolve = resolve;
    this.polled = options.polled;
    this.dueMs = this.startedMs + options.runMs;
    this.timer = setInterval(() => this.tick(), limits.commandTickMs).unref();
    options.watch.signal.addEventListener('abort', this.onAbort, { once: true });
    // It may have ended in time although its time is over by now.
    const code = options.polled ? exitOf(options.directory) : null;
    if (code !== null) this.ended(code);
    else if (options.watch.signal.aborted) this.stop('interrupt');
    else if (options.polled) this.tick();
  }

  ended(code: number): void {
    if (this.finished) return;
    this.code = code;
    if (this.stopping === null) void this.settle();
    else void this.settleStopped();
  }

  lost(): void {
    if (!existsSync(this.options.directory)) {
      // Somebody removed it: whether the command ran is not said by that.
      this.polled = true;
      void this.look();
    } else if (this.claim() === null) {
      this.finish({
        kind: 'neverStarted',
        text: `The command was not started: its record in ${this.options.directory} could not be written. Is the disk full?`,
      });
    } else {
      this.polled = true;
    }
  }

  orphaned(problem: string): void {
    if (claimOf(this.options.directory) === null && !this.begunAgain) {
      this.begunAgain = true;
      return this.options.begin();
    }
    this.polled = true;
    if (this.begunAgain && takeClaim(this.options.directory)) {
      this.finish({ kind: 'neverStarted', text: `The shell that starts commands does not run: ${problem}.` });
    }
  }

  private tick(): void {
    const { directory, watch } = this.options;
    const now = performance.now();
    // Remembered early: it may be gone when it is needed.
    this.claim();
    const { text, sizeBytes } = newestOf(directory, limits.outputChars, this.toldBytes);
    if (sizeBytes !== this.toldBytes) {
      this.toldBytes = sizeBytes;
      watch.output(text);
      this.trim().catch(() => undefined);
    }
    if (this.stopping === null && this.dueMs <= now) this.stop('timeout');
    if (this.stopping !== null && !this.stopping.killed && this.stopping.killMs <= now) this.kill();
    if (this.stopping !== null && this.code !== null) void this.settleStopped();
    else if (this.polled || this.startedMs + limits.commandTrustMs < now) void this.look();
  }

  private async trim(): Promise<void> {
    this.trims += 1;
    if (1 < this.trims) return;
    await trimOutput(this.options.directory);
    // It may have grown meanwhile, and nobody may look again.
    const again = 1 < this.trims;
    this.trims = 0;
    if (again) await this.trim();
  }

  /** Finds out without being told: a recovered command, or one whose wrapper was killed. */
  private async look(): Promise<void> {
    if (this.looking || this.finished) return;
    this.looking = true;
    const { directory } = this.options;
    const claim = this.claim();
    if (claim !== null) {
      const shellLives = await lives(claim.shell);
      const wrapperLives = shellLives || (await lives(claim.wrapper));
      const code = exitOf(directory);
      if (shellLives) this.deadSinceMs = null;
      else this.deadSinceMs ??= performance.now();
      // A wrapper that lives writes the record at once, unless somebody has stopped it.
      const patience = wrapperLives ? limits.killGraceMs : 0;
      if (code !== null) this.ended(code);
      else if (this.deadSinceMs !== null && this.deadSinceMs + patience <= performance.now()) this.vanished();
    } else if (!existsSync(directory) && (await straysOf(this.options.mark)).length === 0) this.vanished();
    this.looking = false;
  }

  private vanished(): void {
    this.finish({
      kind: 'unknown',
      text: existsSync(this.options.directory)
        ? 'The process of the command is gone and has left no record of how it ended (killed from outside, or the machine was restarted).'
        : 'The record of the command was removed while it ran, so nobody knows how it ended.',
      output: outputOf(this.options.directory),
    });
  }

  private stop(reason: StopReason): void {
    if (this.finished || this.stopping !== null) return;
    if (takeClaim(this.options.directory)) {
      const text =
        reason === 'timeout'
          ? 'The command was not started within its time.'
          : 'Interrupted before it started.';
      return this.finish({ kind: 'neverStarted', text });
    }
    this.stopping = { reason, killMs: performance.now() + limits.killGraceMs, killed: false };
    void this.signal('SIGTERM');
  }

  private kill(): void {
    if (this.stopping !== null) this.stopping.killed = true;
    void this.signal('SIGKILL');
  }

  private async signal(signal: NodeJS.Signals): Promise<void> {
    const claim = this.claim();
    if (claim !== null) {
      signalled(-claim.shell.pid, signal);
      // A stopped process sees no TERM before it goes on.
      signalled(-claim.shell.pid, 'SIGCONT');
    }
    for (const pid of await straysOf(this.options.mark)) signalled(pid, signal);
  }

  /** After a stop: the shell has ended; the end is told once the rest of the group has too. */
  private async settleStopped(): Promise<void> {
    const claim = this.claim();
    if (claim !== null && this.stopping?.killed !== true && (await groupLives(claim.shell.pid))) return;
    for (const pid of await straysOf(this.options.mark)) signalled(pid, 'SIGKILL');
    await this.settle();
  }

  /** Tells the end of a command whose shell has ended. */
  private async settle(): Promise<void> {
    const group = this.claim()?.shell.pid ?? null;
    const left = group !== null && signalled(-group, 0) && (await groupLives(group));
    this.finish({
      kind: 'exit',
      code: this.code ?? 0,
      output: outputOf(this.options.directory),
      stopped: this.stopping?.reason ?? null,
      leftGroup: left ? group : null,
    });
  }

  private claim(): Claim | null {
    if (this.known !== null) return this.known;
    const claim = claimOf(this.options.directory);
    this.known = typeof claim === 'string' ? null : claim;
    return this.known;
  }

  private finish(end: CommandEnd): void {
    if (this.finished) return;
    this.finished = true;
    clearInterval(this.timer);
    this.options.watch.signal.removeEventListener('abort', this.onAbort);
    this.resolve(end);
    // A record is kept until its result is committed, and a flood may have ended between two looks. It may also be
    // gone by now.
    this.trim().catch(() => undefined);
  }
}
