// Starts a sidecar, detached: it outlives this command. Which Node it runs on, and what it said when it could not
// start, are found out here.

import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';

import { nodeProblem } from '../platform/selfTest.ts';
import { sidecarFlags } from '../protocol/discovery.ts';
import { Failure } from './failure.ts';
import { environmentForSidecar } from './secrets.ts';

export interface Starting {
  /** Exit code once it has ended, null while it runs; 0 also when somebody ended it: it did not fail. */
  exitCode(): number | null;
  /** What it wrote to standard error. */
  said(): string;
  /** It runs by itself now: nothing of it holds this process any longer. */
  release(): void;
}

/** Bytes kept of what a starting sidecar says: it is one line, or a stack. */
const saidBytes = 16 * 1024;

export function startSidecar(store: string): Starting {
  const child: ChildProcess = spawn(findNode(), [...sidecarFlags, sidecarProgram(), '--store', store], {
    // Not the caller's folder: that one could not be unmounted or removed while the sidecar runs.
    cwd: path.parse(process.execPath).root,
    detached: true,
    env: { ...environmentForSidecar(process.env), ELECTRON_RUN_AS_NODE: '1' },
    stdio: ['ignore', 'ignore', 'pipe'],
    windowsHide: true,
  });
  let said = '';
  let exitCode: number | null = null;
  child.stderr?.on('data', (chunk: Buffer) => {
    said = `${said}${chunk.toString('utf8')}`.slice(-saidBytes);
  });
  child.on('error', (error) => {
    said += error.message;
    exitCode = 1;
  });
  // `close`, not `exit`: by then all that it said has arrived.
  child.on('close', (code, signal) => {
    exitCode = code ?? (signal === 'SIGKILL' || signal === 'SIGTERM' ? 0 : 1);
    if (exitCode === 1 && signal !== null) said += `It was ended by ${signal}.`;
  });
  return {
    exitCode: () => exitCode,
    said: () => said.trim().replace(/^sidecar: /, ''),
    release: () => {
      child.stderr?.destroy();
      child.unref();
    },
  };
}

/** The sidecar of this very build: the bundle beside this one, or the source. */
function sidecarProgram(): string {
  const bundle = path.join(import.meta.dirname, 'sidecar.cjs');
  return existsSync(bundle) ? bundle : path.join(import.meta.dirname, '..', 'main.ts');
}

/** This Node when it will do, else the first one on the PATH that does. Throws with what to install. */
function findNode(): string {
  const problem = nodeProblem();
  if (problem === null) return process.execPath;
  const name = process.platform === 'win32' ? 'node.exe' : 'node';
  for (const folder of (process.env['PATH'] ?? '').split(path.delimiter)) {
    const candidate = path.join(folder, name);
    if (folder === '' || !existsSync(candidate)) continue;
    try {
      const version = execFileSync(candidate, ['--version'], {
        encoding: 'utf8',
        timeout: 5_000,
        windowsHide: true,
      });
      if (nodeProblem(version.trim().replace(/^v/, '')) === null) return candidate;
    } catch {
      // It does not run; the next one may.
    }
  }
  throw new Failure('sidecar/failed', problem);
}
