// Finding a Node that can run the sidecar, and starting the sidecar with it.
//
// Promises: a Node is used only after it has run the sidecar's self-test (Node 20 crashes on the database's
// binary without a message); the sidecar is started detached, so it outlives the window; a second one that
// finds the store owned is no error. Not here: when to start (connection.ts), talking to it.

import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { access, readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  discoveryFile,
  ownedExitCode,
  parseDiscovery,
  sidecarEnvironment,
  sidecarFlags,
  sidecarLogFile,
} from '../sidecar/protocol/discovery.ts';
import type { Discovery } from '../sidecar/protocol/discovery.ts';
import { RoostError } from '../sidecar/protocol/errors.ts';
import { limits } from './limits.ts';
import { describe } from './log.ts';
import type { Log } from './log.ts';

/** A program that runs JavaScript: a Node, or an editor's binary that acts as one when it is told so. */
export interface Runtime {
  readonly file: string;
  readonly electron: boolean;
}

export interface Machine {
  /** The setting `roost.sidecar.node`; empty: not set. */
  readonly setting: string;
  /** The binary that runs this process, and whether that is an Electron. */
  readonly execPath: string;
  readonly electron: boolean;
  readonly platform: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface Launch {
  /** The bundle, `dist/sidecar.cjs`. */
  readonly script: string;
  readonly machine: () => Machine;
  readonly log: Log;
}

/** Starts sidecars. Remembers the Node that passed, so that a restart after a crash costs no self-test. */
export class Launcher {
  readonly #launch: Launch;
  #passed: Runtime | null = null;

  constructor(launch: Launch) {
    this.#launch = launch;
  }

  /**
   * Starts a sidecar for the store and returns when one listens: ours, or the one that owned the store first.
   * Throws `sidecar/noNode` when no Node will do and `sidecar/failed` when the sidecar ends, with what to do.
   */
  async start(store: string): Promise<Discovery> {
    const runtime = (this.#passed ??= await this.#choose());
    try {
      return await this.#run(runtime, store);
    } catch (error) {
      // The Node may have been removed or replaced meanwhile: test again before the next start.
      this.#passed = null;
      throw error;
    }
  }

  /** Forgets the Node that passed, after the setting has changed. */
  forget(): void {
    this.#passed = null;
  }

  async #choose(): Promise<Runtime> {
    const { machine, log } = this.#launch;
    const tried: string[] = [];
    for await (const runtime of runtimes(machine(), log)) {
      if (tried.includes(runtime.file)) continue;
      const problem = await this.#selfTest(runtime);
      if (problem === null) {
        log.info(`Node for the sidecar: ${runtime.file}${runtime.electron ? ' (Electron as Node)' : ''}`);
        return runtime;
      }
      log.warn(`${runtime.file} cannot run the sidecar: ${problem}`);
      tried.push(runtime.file);
    }
    const list = tried.length === 0 ? '' : ` Tried: ${tried.join(', ')}.`;
    throw new RoostError(
      'sidecar/noNode',
      `Roost found no Node that can run it.${list} Install Node 22 or newer, or set "roost.sidecar.node" to one.`,
    );
  }

  /** Null: it passed. */
  async #selfTest(runtime: Runtime): Promise<string | null> {
    const child = spawn(runtime.file, [...sidecarFlags, this.#launch.script, '--self-test'], {
      env: environmentFor(runtime, this.#launch.machine().env),
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: limits.selfTestMs,
      windowsHide: true,
    });
    let complaint = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      complaint = (complaint + chunk.toString('utf8')).slice(-500);
    });
    try {
      const [code, signal]: unknown[] = await once(child, 'close');
      if (code === 0) return null;
      return `exit ${String(code ?? signal)} ${complaint.trim()}`.trim();
    } catch (error) {
      return describe(error);
    }
  }

  async #run(runtime: Runtime, store: string): Promise<Discovery> {
    const child = this.#spawn(runtime, store);
    let said = '';
    let ended: string | null = null;
    child.stderr?.on('data', (chunk: Buffer) => {
      said = (said + chunk.toString('utf8')).slice(-saidChars);
    });
    child.once('error', (error) => (ended = error.message));
    // `close` and not `exit`: by then all that it said has arrived.
    child.once('close', (code, signal) => (ended = String(code ?? signal)));
    try {
      const until = Date.now() + limits.startMs;
      while (Date.now() < until) {
        await sleep(limits.startLookMs);
        const found = await readDiscovery(store);
        if (found !== null && found.pid === child.pid) return found;
        // Another window was quicker: its sidecar owns the store and its file is what we want.
        if (ended === String(ownedExitCode) && found !== null) return found;
        if (ended !== null && ended !== String(ownedExitCode)) break;
      }
    } finally {
      // It writes to its log from here on; an open pipe would tie it to this process.
      child.stderr?.destroy();
      child.unref();
    }
    const end =
      ended === null ? `it did not listen within ${limits.startMs / 1000} s` : `exit ${String(ended)}`;
    const why = lastLine(said.trim() === '' ? await logTail(store) : said).replace(/^sidecar: /, '');
    this.#launch.log.error(`the sidecar did not start, ${end}: ${said}`);
    throw new RoostError(
      'sidecar/failed',
      why === ''
        ? `The Roost sidecar could not be started (${end}). See the log, then choose Restart.`
        : `The Roost sidecar could not be started (${end}): ${why}`,
      { pid: child.pid ?? null },
    );
  }

  #spawn(runtime: Runtime, store: string): ChildProcess {
    const { script, log, machine } = this.#launch;
    const child = spawn(runtime.file, [...sidecarFlags, script, '--store', store], {
      // No folder of a person's: it could not be unmounted or removed while the sidecar runs.
      cwd: path.parse(script).root,
      detached: true,
      env: environmentFor(runtime, machine().env),
      stdio: ['ignore', 'ignore', 'pipe'],
      windowsHide: true,
    });
    log.info(`sidecar started, pid ${child.pid ?? 0}, store ${store}`);
    return child;
  }
}

/** Characters kept of what a starting sidecar says: a line, or a stack. */
const saidChars = 16 * 1024;

/** The discovery file of a store, or null when there is none that makes sense. */
export async function readDiscovery(store: string): Promise<Discovery | null> {
  try {
    return parseDiscovery(await readFile(path.join(store, discoveryFile), 'utf8'));
  } catch {
    return null;
  }
}

/** In the order of DESIGN §2; later ones are looked for only when the ones before have failed. */
async function* runtimes(machine: Machine, log: Log): AsyncGenerator<Runtime> {
  if (machine.setting !== '') yield { file: machine.setting, electron: false };
  if (!machine.electron) yield { file: machine.execPath, electron: false };
  yield* await nodesOf(machine.env['PATH'] ?? machine.env['Path'] ?? '', machine.platform);
  yield* await nodesOf(await loginPath(machine, log), machine.platform);
  if (machine.electron && !vanishes(machine)) yield { file: machine.execPath, electron: true };
}

async function nodesOf(searchPath: string, platform: string): Promise<Runtime[]> {
  const windows = platform === 'win32';
  const found: Runtime[] = [];
  for (const folder of new Set(searchPath.split(windows ? ';' : ':'))) {
    if (!path.isAbsolute(folder)) continue;
    const file = path.join(folder, windows ? 'node.exe' : 'node');
    const there = await access(file).then(
      () => true,
      () => false,
    );
    if (there) found.push({ file, electron: false });
    if (limits.nodesOfPath <= found.length) break;
  }
  return found;
}

/**
 * The PATH that the person's login shell sets up: an editor that was started from a dock does not have it
 * (case 53). Empty when the shell is slow, fails or is not there.
 */
export async function loginPath(machine: Machine, log: Log): Promise<string> {
  const shell = machine.env['SHELL'];
  if (machine.platform === 'win32' || shell === undefined || shell === '') return '';
  // Marks around the value, because a profile may print whatever it likes.
  const child = spawn(shell, ['-ilc', 'printf "<roost>%s</roost>" "$PATH"'], {
    env: sidecarEnvironment(machine.env),
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: limits.loginShellMs,
    killSignal: 'SIGKILL',
    windowsHide: true,
  });
  let text = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    text = (text + chunk.toString('utf8')).slice(-64 * 1024);
  });
  try {
    await once(child, 'close');
  } catch (error) {
    log.warn(`login shell ${shell}: ${describe(error)}`);
  }
  return /<roost>(.*?)<\/roost>/s.exec(text)?.[1] ?? '';
}

/** An editor on a mount that ends with its window would take the sidecar's binary away under it. */
function vanishes({ env, execPath }: Machine): boolean {
  if (env['APPIMAGE'] !== undefined || env['SNAP'] !== undefined || env['FLATPAK_ID'] !== undefined)
    return true;
  return /^\/(tmp\/\.mount_|snap\/|app\/)/.test(execPath);
}

function environmentFor(runtime: Runtime, env: Machine['env']): Record<string, string | undefined> {
  const clean = sidecarEnvironment(env);
  return runtime.electron ? { ...clean, ELECTRON_RUN_AS_NODE: '1' } : clean;
}

async function logTail(store: string): Promise<string> {
  try {
    return (await readFile(path.join(store, sidecarLogFile), 'utf8')).slice(-2_000);
  } catch {
    return '';
  }
}

function lastLine(text: string): string {
  return text.trimEnd().split('\n').at(-1)?.slice(0, 300) ?? '';
}
