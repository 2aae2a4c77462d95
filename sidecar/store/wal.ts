// Keeps the write-ahead log short without holding the loop.
//
// A checkpoint copies the log into the database and syncs both: 0.1 s for 16 MB on a fast disk. That work is done
// by a worker thread, started when the log first grows long and retired when calm, because it costs 9 MB. Only
// the loop can make the log start over: it copies what was committed while the worker ran (`walRestFrames`, more
// when the log is very long) between two commits, and the next commit then writes from the beginning of the file.
//
// Promises: the log stays near `walLongFrames`; at `walHardFrames` the loop waits until all of it is copied, because a
// log without end fills the disk and makes every read and the next start slow.
// Not here: when a commit is durable (that is the commit itself).

import { closeSync, openSync } from 'node:fs';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import type DatabaseConstructor from 'better-sqlite3';
import { limits } from '../runtime/limits.ts';
import { checkpointNow, logState } from './checkpoint.ts';
import type { CheckpointAnswer, CheckpointTask, LogState } from './checkpoint.ts';

/** The part of a long log that the loop may copy itself: at 64 MB that is 4 MB, some 10 ms. */
const restShare = 1 / 16;

/** What the keeper did so far; for `store/info` and for tests. */
export interface WalCounts {
  readonly restarts: number;
  readonly workerRuns: number;
  readonly longestOnLoopMs: number;
}

export class WalKeeper {
  readonly #database: DatabaseConstructor.Database;
  readonly #file: string;
  /** Descriptor of the database that the worker syncs; -1 before the first worker. See `#ensureWorker`. */
  #descriptor = -1;
  #worker: Worker | null = null;
  #running = false;
  #closed = false;
  #workerFailed = false;
  #commits = 0;
  #passes = 0;
  #notBeforeMs = 0;
  #idle: NodeJS.Timeout | null = null;
  #retire: NodeJS.Timeout | null = null;
  #restarts = 0;
  #workerRuns = 0;
  #longestOnLoopMs = 0;

  /** `database` is the writer's connection, `file` its path. */
  constructor(database: DatabaseConstructor.Database, file: string) {
    this.#database = database;
    this.#file = file;
  }

  get counts(): WalCounts {
    return { restarts: this.#restarts, workerRuns: this.#workerRuns, longestOnLoopMs: this.#longestOnLoopMs };
  }

  /** After each commit. Looks at the length of the log once in `walLookCommits` (7 µs). */
  committed(): void {
    if (this.#idle === null) this.#idle = setTimeout(() => this.#calm(), limits.walIdleMs).unref();
    else this.#idle.refresh();
    this.#commits += 1;
    if (this.#commits % limits.walLookCommits === 0) this.#look();
  }

  /** Stops the worker. The log that is left is folded when the last connection closes. */
  close(): void {
    this.#closed = true;
    if (this.#idle !== null) clearTimeout(this.#idle);
    if (this.#retire !== null) clearTimeout(this.#retire);
    this.#idle = null;
    this.#retire = null;
    this.#endWorker();
  }

  #look(): void {
    const log = logState(this.#database);
    if (log.frames < limits.walLongFrames) return;
    if (log.frames >= limits.walHardFrames) this.#allOnLoop();
    else this.#start();
  }

  /** Nothing was committed for a while: a short log is folded here and now, a long one by the worker. */
  #calm(): void {
    this.#idle = null;
    const log = logState(this.#database);
    if (log.frames === log.done) return;
    if (log.frames - log.done <= limits.walRestFrames) this.#onLoop();
    else this.#start();
  }

  #start(): void {
    if (this.#running || performance.now() < this.#notBeforeMs) return;
    const worker = this.#ensureWorker();
    if (worker === null) return;
    this.#running = true;
    this.#passes += 1;
    this.#workerRuns += 1;
    worker.postMessage('checkpoint');
  }

  /** A pass of the worker is over. What came meanwhile is little: finish it; much: another pass. */
  #passed(answer: CheckpointAnswer): void {
    this.#running = false;
    if (this.#closed) return;
    if (answer.kind === 'failed') {
      // A full disk, most likely: the commits will say so. Trying again at once would not help.
      this.#notBeforeMs = performance.now() + limits.walRetryMs;
      this.#passes = 0;
      return;
    }
    const log = logState(this.#database);
    const rest = log.frames - log.done;
    const allowed = Math.max(limits.walRestFrames, log.frames * restShare);
    if (rest > allowed && this.#passes < limits.walPasses) return this.#start();
    this.#passes = 0;
    if (rest <= allowed) this.#onLoop();
  }

  /**
   * Holds the loop until the whole log is copied: commits must not outrun the disk. While the worker copies, a
   * checkpoint of the loop is refused at once, in every mode (https://sqlite.org/c3ref/wal_checkpoint_v2.html).
   */
  #allOnLoop(): void {
    const until = performance.now() + limits.walHardWaitMs;
    const pause = new Int32Array(new SharedArrayBuffer(4));
    do {
      this.#onLoop();
      const log = logState(this.#database);
      if (log.frames === log.done) return;
      Atomics.wait(pause, 0, 0, 2);
    } while (performance.now() < until);
  }

  #onLoop(): void {
    if (this.#database.inTransaction) return;
    const from = performance.now();
    const log: LogState | null = checkpointNow(this.#database);
    this.#longestOnLoopMs = Math.max(this.#longestOnLoopMs, performance.now() - from);
    if (log !== null && log.frames === log.done) this.#restarts += 1;
  }

  #ensureWorker(): Worker | null {
    if (this.#retire !== null) clearTimeout(this.#retire);
    this.#retire = setTimeout(() => this.#retireWorker(), limits.walWorkerCalmMs).unref();
    if (this.#worker !== null) return this.#worker;
    if (this.#workerFailed) return null;
    // The worker syncs through a descriptor that stays open: closing any descriptor of a database drops the locks
    // that the process has on it (https://sqlite.org/howtocorrupt.html, 2.2).
    if (this.#descriptor === -1) this.#descriptor = openSync(this.#file, 'r+');
    const task: CheckpointTask = { file: this.#file, descriptor: this.#descriptor };
    const worker = new Worker(workerFile(), {
      workerData: task,
      resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2, stackSizeMb: 1 },
    });
    worker.unref();
    worker.on('message', (answer: CheckpointAnswer) => this.#passed(answer));
    worker.on('error', () => this.#workerGone(worker, true));
    worker.on('exit', () => this.#workerGone(worker, false));
    this.#worker = worker;
    return worker;
  }

  #retireWorker(): void {
    this.#retire = null;
    if (!this.#running) this.#endWorker();
  }

  #endWorker(): void {
    // The worker closes its connection and ends by itself: a thread that is cut inside SQLite would keep its locks.
    this.#worker?.postMessage('end');
    this.#worker = null;
  }

  /** Nothing of this process has the database open any more. */
  #closeDescriptor(): void {
    if (this.#descriptor !== -1) closeSync(this.#descriptor);
    this.#descriptor = -1;
  }

  /** A worker that cannot run leaves the work to the loop, at the hard bound. */
  #workerGone(worker: Worker, failed: boolean): void {
    if (failed) this.#workerFailed = true;
    if (this.#closed) this.#closeDescriptor();
    if (this.#worker !== worker) return;
    this.#worker = null;
    this.#running = false;
  }
}

/** The worker's code: beside this file in the sources, a bundle of its own beside the sidecar's. */
function workerFile(): string {
  const bundled = !import.meta.filename.endsWith('.ts');
  return path.join(import.meta.dirname, bundled ? 'checkpoint.cjs' : 'checkpointWorker.ts');
}
