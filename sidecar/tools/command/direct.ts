// Commands without a record: on Windows, and where no record can be written (a full disk must not forbid `df`,
// case 57). The process is a child of this one, its output is kept in memory within the same bounds, and after a
// crash nobody knows how it ended.

import { spawn } from 'node:child_process';
import { limits } from '../../runtime/limits.ts';
import { endTree, groupLives, signalled } from './processes.ts';
import type { CommandEnd, StopReason, Watch } from './watched.ts';

export interface DirectJob {
  readonly command: string;
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
  readonly runMs: number;
}

/** Runs a command to its end. */
export function runDirectly(job: DirectJob, watch: Watch): Promise<CommandEnd> {
  return new Promise((resolve) => direct(job, watch, resolve));
}

function direct(job: DirectJob, watch: Watch, resolve: (end: CommandEnd) => void): void {
  const windows = process.platform === 'win32';
  const { program, args } = windows ? powerShell(job.command) : { program: 'sh', args: ['-c', job.command] };
  const child = spawn(program, args, {
    cwd: job.directory,
    env: { ...job.env },
    detached: !windows,
    stdio: ['ignore', 'pipe', 'pipe'],
    windowsHide: true,
  });
  const kept = createKept();
  let stopped: StopReason | null = null;
  const end = (signal: NodeJS.Signals): void => {
    if (child.pid === undefined) return;
    if (windows) endTree(child.pid);
    else signalled(-child.pid, signal);
  };
  let killer: NodeJS.Timeout | null = null;
  const stop = (reason: StopReason): void => {
    if (stopped !== null) return;
    stopped = reason;
    end('SIGTERM');
    killer = setTimeout(() => end('SIGKILL'), limits.killGraceMs).unref();
  };
  const onAbort = (): void => stop('interrupt');
  const due = setTimeout(() => stop('timeout'), job.runMs).unref();
  watch.signal.addEventListener('abort', onAbort, { once: true });
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      kept.add(chunk);
      watch.output(kept.newest());
    });
  }
  const finish = (result: CommandEnd): void => {
    clearTimeout(due);
    if (killer !== null) clearTimeout(killer);
    watch.signal.removeEventListener('abort', onAbort);
    child.stdout.destroy();
    child.stderr.destroy();
    resolve(result);
  };
  child.on('error', (error) =>
    finish({ kind: 'neverStarted', text: `${program} could not be started: ${error.message}.` }),
  );
  const ended = async (code: number | null, signal: NodeJS.Signals | null): Promise<void> => {
    const group = child.pid ?? 0;
    const left = !windows && (await groupLives(group));
    finish({
      kind: 'exit',
      code: code ?? 128 + signalNumber(signal),
      output: kept.output(),
      stopped,
      leftGroup: left ? group : null,
    });
  };
  child.on('close', (code, signal) => void ended(code, signal));
  // Pipes end after the process, or never, when something that it started in the background holds them.
  child.on(
    'exit',
    (code, signal) => void setTimeout(() => void ended(code, signal), limits.pipeEndMs).unref(),
  );
  if (watch.signal.aborted) onAbort();
}

const signalNumber = (signal: NodeJS.Signals | null): number => (signal === 'SIGKILL' ? 9 : 15);

/** PowerShell goes on after a statement that failed, and calls that success, unless it is told otherwise (case 41). */
function powerShell(command: string): { program: string; args: string[] } {
  const script = [
    `$ErrorActionPreference = 'Stop'`,
    `$PSNativeCommandUseErrorActionPreference = $true`,
    `[Console]::OutputEncoding = [System.Text.UTF8Encoding]::new()`,
    command,
    `if ($null -ne $LASTEXITCODE) { exit $LASTEXITCODE }`,
  ].join('\n');
  return {
    program: 'powershell.exe',
    args: ['-NoLogo', '-NoProfile', '-NonInteractive', '-Command', script],
  };
}

interface Kept {
  add(chunk: Buffer): void;
  newest(): string;
  output(): { bytes: Buffer; totalBytes: number };
}

/** Head and tail of a stream, in memory. */
function createKept(): Kept {
  let head = Buffer.alloc(0);
  let tail: Buffer[] = [];
  let tailBytes = 0;
  let totalBytes = 0;
  const joined = (): Buffer => Buffer.concat(tail).subarray(-limits.outputTailBytes);
  return {
    add: (chunk) => {
      totalBytes += chunk.length;
      const room = Math.max(0, limits.outputHeadBytes - head.length);
      if (0 < room) head = Buffer.concat([head, chunk.subarray(0, room)]);
      if (chunk.length <= room) return;
      tail.push(chunk.subarray(room));
      tailBytes += chunk.length - room;
      // Cut at twice the bound, so that a flood is copied once for each bound of bytes and not for each chunk.
      if (tailBytes <= 2 * limits.outputTailBytes) return;
      tail = [Buffer.from(joined())];
      tailBytes = limits.outputTailBytes;
    },
    newest: () => (tail.at(-1) ?? head).subarray(-limits.outputChars).toString('utf8'),
    output: () => {
      const last = joined();
      const missing = totalBytes - head.length - last.length;
      const gap = missing <= 0 ? '' : `\n[roost: ${missing} bytes left out]\n`;
      return { bytes: Buffer.concat([head, Buffer.from(gap), last]), totalBytes };
    },
  };
}
