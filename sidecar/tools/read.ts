// The tool `read`: a range of lines of a file, or the names in a directory. Bounded by lines and bytes, so that no
// file overflows a context (case 185); an unsaved buffer wins over the disk.

import { lstat, open, readdir } from 'node:fs/promises';
import type { Prepared, ToolJob, ToolOutcome } from '../ports.ts';
import { limits } from '../runtime/limits.ts';
import { noBuffers } from '../workspace/buffers.ts';
import type { Buffers } from '../workspace/buffers.ts';
import { notText, shownText } from '../workspace/bytes.ts';
import { messageOf } from '../workspace/files.ts';
import type { Worktrees } from '../workspace/worktree.ts';
import { fieldsOf } from './fields.ts';
import { locate } from './locate.ts';
import type { Located } from './locate.ts';
import { failure, refuse, schemaOf } from './tool.ts';
import type { Tool } from './tool.ts';

export interface ReadOptions {
  readonly buffers: Buffers;
  readonly worktrees: Worktrees;
}

const spec = {
  name: 'read',
  description:
    'Reads lines of a text file, numbered, or lists a directory. Paths are relative to the workspace. ' +
    'Read only the range you need of a large file.',
  schema: schemaOf(
    {
      path: { type: 'string', description: 'File or directory.' },
      startLine: { type: 'integer', minimum: 1, description: 'First line, from 1.' },
      lineCount: {
        type: 'integer',
        minimum: 1,
        description: `Number of lines, ${limits.readLines} when not given.`,
      },
    },
    ['path'],
  ),
};

interface Input {
  readonly path: string;
  readonly startLine: number;
  readonly lineCount: number;
}

function inputOf(job: ToolJob): Input | string {
  const fields = fieldsOf('read', job.input);
  const path = fields.word('path');
  const startLine = fields.optionalCount('startLine', { atLeast: 1, atMost: Number.MAX_SAFE_INTEGER });
  const lineCount = fields.optionalCount('lineCount', { atLeast: 1, atMost: Number.MAX_SAFE_INTEGER });
  return (
    fields.problem() ?? {
      path,
      startLine: startLine ?? 1,
      lineCount: Math.min(lineCount ?? limits.readLines, limits.readLines),
    }
  );
}

/** The tool. Pure: it is done again after a crash. */
export function createRead(options: ReadOptions): Tool {
  return {
    spec,
    callClass: 'pure',
    prepare: (job) => Promise.resolve(prepare(job)),
    run: (job) => run(options, job),
    recover: (job) => run(options, job),
  };
}

function prepare(job: ToolJob): Prepared {
  const input = inputOf(job);
  return typeof input === 'string'
    ? refuse(input)
    : { kind: 'run', evidence: null, ask: null, usesCommandSlot: false };
}

async function run(options: ReadOptions, job: ToolJob): Promise<ToolOutcome> {
  const input = inputOf(job);
  if (typeof input === 'string') return failure(input);
  const located = await locate(options.worktrees, job, input.path);
  if (located.kind === 'refused') return failure(`read: ${located.text}`);
  try {
    const buffers = located.isolated ? noBuffers : options.buffers;
    const buffer = await buffers.readText(located.read);
    if (buffer !== null) return told(located, input, rangeOf([Buffer.from(buffer)], input), 'unsaved');
    const stat = await lstat(located.read);
    if (stat.isDirectory()) return await list(located);
    if (!stat.isFile()) return failure(`read: ${located.label} is not a regular file.`);
    return await readFile(located, input);
  } catch (error) {
    const missing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    return failure(missing ? `read: there is no ${located.label}.` : `read: ${messageOf(error)}.`);
  }
}

async function list(located: Located): Promise<ToolOutcome> {
  const entries = await readdir(located.read, { withFileTypes: true });
  const names = entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)).sort();
  const shown = names.slice(0, limits.directoryEntries);
  const more = names.length - shown.length;
  const rest = more === 0 ? '' : `\n[${more} more; list a subdirectory or use search]`;
  return { status: 'ok', text: names.length === 0 ? `${located.label} is empty.` : shown.join('\n') + rest };
}

async function readFile(located: Located, input: Input): Promise<ToolOutcome> {
  const handle = await open(located.read, 'r');
  try {
    const first = Buffer.alloc(chunkBytes);
    const { bytesRead } = await handle.read(first, 0, chunkBytes, 0);
    const head = first.subarray(0, bytesRead);
    const reason = notText(located.label, head);
    if (reason !== null && !located.label.endsWith('.ipynb'))
      return failure(`read: ${located.label} is not shown: ${reason}.`);
    const range = new Range(input);
    range.take(head);
    let at = bytesRead;
    while (!range.done && at < limits.readScanBytes) {
      const chunk = Buffer.alloc(chunkBytes);
      const next = await handle.read(chunk, 0, chunkBytes, at);
      if (next.bytesRead === 0) break;
      range.take(chunk.subarray(0, next.bytesRead));
      at += next.bytesRead;
    }
    return told(located, input, range.end(), 'disk');
  } finally {
    await handle.close();
  }
}

/** A read of this size costs little more than a small one, and most files fit into the first. */
const chunkBytes = 256 * 1024;

interface Lines {
  readonly lines: readonly Buffer[];
  /** Lines seen; all of the file when `complete`. */
  readonly seen: number;
  readonly complete: boolean;
}

function rangeOf(chunks: readonly Buffer[], input: Input): Lines {
  const range = new Range(input);
  for (const chunk of chunks) range.take(chunk);
  return range.end();
}

/** Picks a range of lines out of chunks of bytes; counts on until the range, and its byte bound, is full. */
class Range {
  done = false;
  private readonly lines: Buffer[] = [];
  private readonly input: Input;
  private rest: Buffer[] = [];
  private seen = 0;
  private bytes = 0;

  constructor(input: Input) {
    this.input = input;
  }

  take(chunk: Buffer): void {
    let from = 0;
    for (let at = chunk.indexOf(10); 0 <= at && !this.done; at = chunk.indexOf(10, from)) {
      this.line(chunk.subarray(from, at));
      from = at + 1;
    }
    // A line of megabytes is kept only as far as it is shown.
    if (!this.done && from < chunk.length && this.rest.length < 2) this.rest.push(chunk.subarray(from));
  }

  end(): Lines {
    if (!this.done && 0 < this.rest.length) this.line(Buffer.alloc(0));
    return { lines: this.lines, seen: this.seen, complete: !this.done };
  }

  private line(part: Buffer): void {
    const { startLine, lineCount } = this.input;
    const wanted = startLine <= this.seen + 1;
    const full = this.lines.length === lineCount || limits.resultBytes - resultSlackBytes < this.bytes;
    if (wanted && full) {
      this.done = true;
      return;
    }
    this.seen++;
    const line = this.rest.length === 0 ? part : Buffer.concat([...this.rest, part]);
    this.rest = [];
    if (!wanted) return;
    this.lines.push(line);
    this.bytes += Math.min(line.length, limits.lineBytes) + 8;
  }
}

/** Room for one more line and for what is said about the range. */
const resultSlackBytes = limits.lineBytes + 300;

function told(located: Located, input: Input, range: Lines, from: 'disk' | 'unsaved'): ToolOutcome {
  const last = input.startLine + range.lines.length - 1;
  const note = from === 'unsaved' ? `[unsaved changes in the editor are shown]\n` : '';
  if (range.lines.length === 0) {
    if (range.seen === 0) return { status: 'ok', text: `${note}${located.label} is empty.` };
    return failure(
      `read: ${located.label} has ${range.seen} lines; startLine ${input.startLine} is after its end.`,
    );
  }
  const text = range.lines
    .map((line, index) => `${String(input.startLine + index).padStart(5)}\t${shown(line)}`)
    .join('\n');
  const whole = range.complete && input.startLine === 1;
  const total = range.complete ? ` of ${range.seen}` : '; there are more';
  return {
    status: 'ok',
    text: note + text + (whole ? '' : `\n[lines ${input.startLine} to ${last}${total}]`),
  };
}

function shown(line: Buffer): string {
  const bare = line.at(-1) === 13 ? line.subarray(0, -1) : line;
  if (bare.length <= limits.lineBytes) return shownText(bare);
  return `${shownText(bare.subarray(0, limits.lineBytes))} [${bare.length - limits.lineBytes} more bytes]`;
}
