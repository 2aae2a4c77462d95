// The tool `search`: a regular expression over the files of the workspace, by ripgrep, within a budget of time,
// matches and file sizes; ignore files are honoured and links are not followed (case 55).
//
// Without ripgrep a slow search of our own takes the pattern literally: a regular expression of a model could hold
// this process for ever (I18).

import { spawn } from 'node:child_process';
import path from 'node:path';
import type { Prepared, ToolJob, ToolOutcome } from '../ports.ts';
import { limits } from '../runtime/limits.ts';
import type { Worktrees } from '../workspace/worktree.ts';
import { fieldsOf } from './fields.ts';
import { locate } from './locate.ts';
import { slowSearch } from './slowSearch.ts';
import type { Found, SearchInput, SearchPlace } from './slowSearch.ts';
import { failure, refuse, schemaOf } from './tool.ts';
import type { Doing, Tool } from './tool.ts';

export interface SearchOptions {
  readonly worktrees: Worktrees;
  /** See ToolsOptions. */
  readonly ripgrep: string | null | undefined;
}

const spec = {
  name: 'search',
  description:
    'Searches file contents for a regular expression (Rust syntax; escape ( [ { . and the like to find them). ' +
    'Gives path:line:text. Files that git ignores are left out.',
  schema: schemaOf(
    {
      pattern: { type: 'string', description: 'The regular expression.' },
      path: {
        type: 'string',
        description: 'File or directory to search, the whole workspace when not given.',
      },
      glob: { type: 'string', description: 'Only files like this, for example *.ts or src/**/*.css.' },
    },
    ['pattern'],
  ),
};

function inputOf(job: ToolJob): SearchInput | string {
  const fields = fieldsOf('search', job.input);
  const pattern = fields.word('pattern');
  const where = fields.optionalWord('path');
  const glob = fields.optionalWord('glob');
  const problem = fields.problem();
  if (problem !== null) return problem;
  if (pattern === '') return 'search: `pattern` is empty. To list files use `read` on a directory.';
  return { pattern, path: where ?? '.', glob };
}

/** The tool. Pure: it is done again after a crash. */
export function createSearch(options: SearchOptions): Tool {
  let program: Promise<string | null> | null = null;
  const run = async (job: ToolJob, doing: Doing): Promise<ToolOutcome> => {
    const input = inputOf(job);
    if (typeof input === 'string') return failure(input);
    const located = await locate(options.worktrees, job, input.path);
    if (located.kind === 'refused') return failure(`search: ${located.text}`);
    program ??= options.ripgrep === undefined ? packagedRipgrep() : Promise.resolve(options.ripgrep);
    const root = located.worktree?.place ?? job.place.workspace;
    const target = path.relative(root, located.read);
    const where = { root, target: target === '' ? '.' : target };
    const ripgrep = await program;
    const found =
      ripgrep === null ? null : await byRipgrep(ripgrep, input, { ...where, signal: doing.signal });
    return outcomeOf(found ?? (await slowSearch(input, { ...where, signal: doing.signal })));
  };
  return {
    spec,
    callClass: 'pure',
    prepare: (job) => Promise.resolve(prepare(job)),
    run: (job, _evidence, doing) => run(job, doing),
    recover: (job, _evidence, doing) => run(job, doing),
  };
}

function prepare(job: ToolJob): Prepared {
  const input = inputOf(job);
  return typeof input === 'string'
    ? refuse(input)
    : { kind: 'run', evidence: null, ask: null, usesCommandSlot: false };
}

/** The ripgrep that the package brings, else the one on the PATH. */
async function packagedRipgrep(): Promise<string | null> {
  try {
    const { rgPath } = await import('@vscode/ripgrep');
    return rgPath;
  } catch {
    return 'rg';
  }
}

/** Null: this ripgrep cannot be started. */
function byRipgrep(program: string, input: SearchInput, place: SearchPlace): Promise<Found | null> {
  const args = [
    '--no-config',
    '--line-number',
    '--with-filename',
    '--no-heading',
    '--color=never',
    '--hidden',
    '--glob=!.git',
    `--max-columns=${limits.searchLineBytes}`,
    '--max-columns-preview',
    `--max-filesize=${limits.searchFileBytes}`,
    ...(input.glob === null ? [] : [`--glob=${input.glob}`]),
    `--regexp=${input.pattern}`,
    '--',
    place.target,
  ];
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd: place.root,
      stdio: ['ignore', 'pipe', 'pipe'],
      windowsHide: true,
    });
    const lines: string[] = [];
    let rest = '';
    let problem = '';
    let cut: string | null = null;
    const stop = (why: string): void => {
      cut ??= why;
      child.kill('SIGKILL');
    };
    const timer = setTimeout(
      () => stop(`the search took longer than ${limits.searchMs / 1000} seconds`),
      limits.searchMs,
    );
    const onAbort = (): void => stop('it was interrupted');
    place.signal.addEventListener('abort', onAbort, { once: true });
    if (place.signal.aborted) onAbort();
    child.stdout.setEncoding('utf8');
    child.stdout.on('data', (chunk: string) => {
      if (cut !== null) return;
      const parts = (rest + chunk).split('\n');
      rest = parts.pop() ?? '';
      for (const line of parts) lines.push(line.replace(/^\.[/\\]/, ''));
      if (limits.searchMatches < lines.length) stop(`only ${limits.searchMatches} matches are shown`);
    });
    child.stderr.setEncoding('utf8');
    child.stderr.on(
      'data',
      (chunk: string) => (problem = (problem + chunk).slice(0, limits.searchProblemChars)),
    );
    const finish = (found: Found | null): void => {
      clearTimeout(timer);
      place.signal.removeEventListener('abort', onAbort);
      resolve(found);
    };
    child.on('error', () => finish(null));
    // 1: nothing was found. 2: a wrong pattern, or some file could not be read while others were.
    child.on('close', (code) =>
      finish({ lines, cut, problem: code === 2 && lines.length === 0 ? problem.trim() : null }),
    );
  });
}

function outcomeOf(found: Found): ToolOutcome {
  if (found.problem !== null) return failure(`search: ${found.problem}`);
  const shown: string[] = [];
  let bytes = 0;
  let cut = found.cut;
  for (const line of found.lines.slice(0, limits.searchMatches).sort(byPlace)) {
    bytes += Buffer.byteLength(line) + 1;
    if (limits.resultBytes - 200 < bytes) {
      cut = 'the result is too long';
      break;
    }
    shown.push(line);
  }
  const note = cut === null ? '' : `[not all: ${cut}. Narrow it with path, glob or a longer pattern]`;
  if (shown.length === 0) return { status: 'ok', text: note === '' ? 'No matches.' : note };
  return { status: 'ok', text: [...shown, ...(note === '' ? [] : [note])].join('\n') };
}

/** By path, then by line: ripgrep's threads end in any order. */
function byPlace(one: string, two: string): number {
  const parts = (line: string): [string, number] => {
    const match = /^(.*?):(\d+):/.exec(line);
    return [match?.[1] ?? line, Number(match?.[2] ?? 0)];
  };
  const [pathOne, lineOne] = parts(one);
  const [pathTwo, lineTwo] = parts(two);
  if (pathOne === pathTwo) return lineOne - lineTwo;
  return pathOne < pathTwo ? -1 : 1;
}
