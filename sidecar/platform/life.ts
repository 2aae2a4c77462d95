// How long the sidecar lives and how it ends.
//
// It leaves when nobody is connected and nothing is to be done for a while, when it is told to (SIGTERM, SIGINT,
// `shutdown`), and when its own executable was replaced under it. However it is asked, it ends once: no new
// connections, the queue committed, the store closed, exit 0 (case 195). A rejection or an exception that nobody
// caught is logged and does not end it (case 97), unless they come so fast that something is broken for good. A
// store that failed ends it at once, exit 1: what is committed is only known by opening the store anew.

import { statSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import process from 'node:process';

import { RoostError } from '../protocol/errors.ts';
import { limits } from '../runtime/limits.ts';
import type { Log } from './log.ts';

/** What is led: asked whether it is idle, and closed in this order. */
export interface Led {
  readonly clients: () => number;
  /** When a client last did something, on the monotonic clock. */
  readonly usedMs: () => number;
  readonly host: {
    busy(): boolean;
    /** Time of the earliest timer, ms since 1970; null: none. */
    nextTimerMs(): number | null;
    /** Calls back when what was accepted is committed. `inOrder`: nothing is wrong with what is in flight. */
    drain(done: () => void, inOrder: boolean): void;
  };
  /** Takes no more connections and no more calls. */
  closeDoor(): void;
  /** Ends the connections once their answers are on the way, and calls back. */
  sayGoodbye(done: () => void): void;
  close(): void;
}

export interface Life {
  /** From now on there is something to lead. */
  lead(led: Led): void;
  /** Ends the process in order. Only the first call counts. */
  leave(reason: string): void;
}

export interface LifeOptions {
  /** Leaves after so long without client and work. */
  readonly idleMs: number;
  readonly log: Log;
}

/** Takes over the process's signals and uncaught errors. One per process. */
export function startLife({ idleMs, log }: LifeOptions): Life {
  let led: Led | null = null;
  let leaving = false;

  const leave = (reason: string, inOrder = true): void => {
    if (leaving) return;
    leaving = true;
    log.info('leaving', { reason });
    if (led === null) process.exit(0);
    const { host, closeDoor, sayGoodbye, close } = led;
    const end = (): void => {
      try {
        close();
      } catch (error) {
        log.error('could not be closed; the next start recovers', { message: String(error) });
      }
      process.exit(0);
    };
    // A full disk never commits: what was not acknowledged is not promised, and recovery does the rest.
    setTimeout(() => {
      log.warn('ended before the queue was committed', { afterMs: limits.shutdownMs });
      end();
    }, limits.shutdownMs);
    closeDoor();
    host.drain(() => sayGoodbye(end), inOrder);
  };

  process.on('SIGTERM', () => leave('SIGTERM'));
  process.on('SIGINT', () => leave('SIGINT'));
  // The terminal that started it may close; nobody is asked then.
  process.on('SIGHUP', () => log.info('SIGHUP, stays'));
  const fall = (): void => {
    log.error('the store failed; the next start recovers what is committed', {});
    led?.closeDoor();
    process.exit(1);
  };
  surviveErrors(log, leave, fall);
  return {
    lead: (next) => {
      led = next;
      watchIdleness(next, idleMs, leave);
    },
    leave: (reason) => leave(reason),
  };
}

function surviveErrors(log: Log, leave: (reason: string, inOrder: boolean) => void, fall: () => void): void {
  let recent: number[] = [];
  const hear = (kind: string, error: unknown): void => {
    log.error(kind, { message: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    if (error instanceof RoostError && error.code === 'store/failed') fall();
    const nowMs = performance.now();
    recent = [...recent.filter((atMs) => nowMs - atMs < 60_000), nowMs];
    if (limits.uncaughtPerMinute < recent.length) leave('too many errors that nobody caught', false);
  };
  process.on('unhandledRejection', (error) => hear('a rejection nobody handled', error));
  process.on('uncaughtException', (error) => hear('an exception nobody caught', error));
}

function watchIdleness(led: Led, idleMs: number, leave: (reason: string) => void): void {
  const executable = identity();
  // The editor's own binary cannot be updated on Windows while a process runs on it (DESIGN §2).
  const onEditor = process.versions['electron'] !== undefined;
  const patienceMs = onEditor ? Math.min(idleMs, limits.editorIdleExitMs) : idleMs;
  let busyMs = performance.now();
  const everyMs = Math.max(10, Math.min(patienceMs / 4, limits.idleCheckMs));
  setInterval(() => {
    const nowMs = performance.now();
    const timerMs = led.host.nextTimerMs();
    const timerSoon = timerMs !== null && timerMs - Date.now() < limits.idleTimerMs;
    const working = led.host.busy() || timerSoon;
    if (!working && onEditor && identity() !== executable) leave('its executable was replaced');
    if (working || 0 < led.clients()) busyMs = nowMs;
    else if (patienceMs <= nowMs - Math.max(busyMs, led.usedMs()))
      leave('nobody is connected and nothing is to do');
  }, everyMs).unref();
}

function identity(): string | null {
  try {
    const { ino, mtimeMs } = statSync(process.execPath);
    return `${ino} ${mtimeMs}`;
  } catch {
    return null;
  }
}
