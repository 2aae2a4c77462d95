// How git is called: in a named directory, as nobody in particular, without hooks, signing, prompts, pagers or
// anything from the environment that would point it elsewhere (cases 134, 153, 154, 159).

import { execFile } from 'node:child_process';
import type { ExecFileException } from 'node:child_process';
import { limits } from '../runtime/limits.ts';
import { createPlaces } from './locks.ts';

export interface GitResult {
  /** 0: all well. -1: git is not there, or took too long. */
  readonly code: number;
  readonly out: string;
  /** What went wrong, in git's words, one line. */
  readonly problem: string;
}

export interface GitOptions {
  /** Goes to standard input. */
  readonly input?: string;
  /** Added to the environment: a temporary index. */
  readonly env?: Readonly<Record<string, string>>;
  /** `out` has one character for each byte, for contents of files and names as they are. */
  readonly bytes?: boolean;
  /** Longest time; `limits.gitMs` when not given. */
  readonly timeoutMs?: number;
}

const settings = Object.entries({
  'core.hooksPath': '/dev/null',
  'core.fsmonitor': 'false',
  'commit.gpgSign': 'false',
  'user.name': 'Roost',
  'user.email': 'roost@localhost',
  'gc.auto': '0',
  'maintenance.auto': 'false',
  'advice.detachedHead': 'false',
  // A submodule is a repository of its own, and a temporary index must be one file.
  'submodule.recurse': 'false',
  'core.splitIndex': 'false',
}).flatMap(([name, value]) => ['-c', `${name}=${value}`]);

/** Not more at a time: a swarm starts hundreds at once (case 142). */
const places = createPlaces(limits.gitAtOnce);

/** Runs git in a directory. Never rejects. */
export const git = (
  directory: string,
  args: readonly string[],
  options: GitOptions = {},
): Promise<GitResult> => places(() => run(directory, args, options));

function run(directory: string, args: readonly string[], options: GitOptions): Promise<GitResult> {
  const timeoutMs = options.timeoutMs ?? limits.gitMs;
  return new Promise((resolve) => {
    const child = execFile(
      'git',
      ['-C', directory, ...settings, ...args],
      {
        env: { ...gitEnvironment(process.env), ...options.env },
        timeout: timeoutMs,
        maxBuffer: limits.gitOutputBytes,
        encoding: options.bytes === true ? 'latin1' : 'utf8',
        windowsHide: true,
      },
      (error, out, err) =>
        resolve({ code: codeOfExit(error), out, problem: problemOf(error, err, timeoutMs) }),
    );
    // Git may end before it has read everything; what it says about that is in its result.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(options.input ?? '');
  });
}

function codeOfExit(error: ExecFileException | null): number {
  if (error === null) return 0;
  return typeof error.code === 'number' ? error.code : -1;
}

function problemOf(error: ExecFileException | null, err: string, timeoutMs: number): string {
  if (error === null) return '';
  if (error.code === 'ENOENT') return 'git is not installed, or not on the PATH.';
  if (error.killed === true) return `git took longer than ${timeoutMs / 1000} seconds.`;
  const lines = err.split('\n').filter((line) => line.trim() !== '');
  return lines.find((line) => /^(fatal|error):/.test(line)) ?? lines.at(-1) ?? error.message;
}

/** An environment in which git finds only what `-C` names, asks nobody anything and speaks English. */
export function gitEnvironment(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const clean: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && !name.startsWith('GIT_')) clean[name] = value;
  }
  return { ...clean, GIT_TERMINAL_PROMPT: '0', GIT_PAGER: 'cat', GIT_OPTIONAL_LOCKS: '0', LC_ALL: 'C' };
}
