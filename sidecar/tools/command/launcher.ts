// The launcher process: one small shell that starts commands on a line of text, and says on a line when one has
// ended. It is started with the first command, keeps an environment of its time, and leaves when its input ends.

import { spawn } from 'node:child_process';
import { launcherCommand } from './script.ts';
import type { LauncherWords, ShellKind } from './script.ts';

export interface Launcher {
  /** Starts the command of a run directory. */
  start(id: string, directory: string): void;
  /** Nothing more will be started; what runs goes on. */
  close(): void;
  /** The same, when nobody else looks after what runs from now on. */
  leave(): void;
}

export interface LauncherOptions extends LauncherWords {
  readonly kind: ShellKind;
  readonly env: Readonly<Record<string, string>>;
  /** A command's shell has ended. A hint: the file is the truth. */
  readonly ended: (id: string, code: number) => void;
  /** The claim was taken by somebody else, or could not be written. */
  readonly lost: (id: string) => void;
  /** The launcher itself has ended without being asked. */
  readonly gone: (problem: string) => void;
}

/** Starts a launcher in a session of its own. */
export function startLauncher(options: LauncherOptions): Launcher {
  const { program, args } = launcherCommand(options.kind, options);
  const child = spawn(program, args, {
    cwd: '/',
    env: { ...options.env },
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
    windowsHide: true,
  });
  let closed = false;
  const gone = (problem: string): void => {
    if (closed) return;
    closed = true;
    options.gone(problem);
  };
  child.on('error', (error) => gone(error.message));
  child.on('exit', (code, signal) => gone(`it ended with ${signal ?? code ?? 'nothing'}`));
  child.stdin.on('error', () => undefined);
  let rest = '';
  child.stdout.setEncoding('latin1');
  child.stdout.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const [what, id = '', code = ''] = line.split(' ');
      if (what === 'done') options.ended(id, Number(code));
      else if (what === 'lost') options.lost(id);
    }
  });
  // It must not keep the sidecar, or a test, alive.
  child.unref();
  for (const stream of [child.stdin, child.stdout])
    if ('unref' in stream && typeof stream.unref === 'function') stream.unref();
  return {
    start: (id, directory) => void child.stdin.write(`${id} ${directory}\n`),
    close: () => {
      closed = true;
      child.stdin.end('bye\n');
    },
    leave: () => {
      closed = true;
      child.stdin.end();
    },
  };
}
