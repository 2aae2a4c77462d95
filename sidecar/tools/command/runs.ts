// Run directories: what a command leaves on disk, so that its result survives the sidecar (DESIGN §7).
//
// Whoever writes the first line of the file `claim` decides: a command's shell, which then runs it, or this process,
// and then it never runs. Both append, and the system appends one line after the other. All reads are small; they are synchronous because a thread hop costs more than the read (0.02 ms).

import { execFile } from 'node:child_process';
import {
  closeSync,
  constants,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { open, rm } from 'node:fs/promises';
import path from 'node:path';
import { limits } from '../../runtime/limits.ts';
import { jobText } from './script.ts';
import type { RunJob } from './script.ts';
import type { ProcessMark } from './processes.ts';

/** Makes the directory of a run, of a spare one when there is one, and its job. Throws what the file system throws. */
export function writeJob(directory: string, job: RunJob, spare: string | null): void {
  if (spare === null) mkdirSync(directory, { mode: 0o700 });
  else renameSync(spare, directory);
  if (job.mark !== undefined) writeFileSync(path.join(directory, 'mark'), job.mark, { mode: 0o600 });
  overwrite(path.join(directory, 'job'), jobText(job));
}

/** Not emptied first: ext4 writes a file out at once that was emptied and written again, 0.11 ms instead of 0.01. */
function overwrite(file: string, text: string): void {
  const descriptor = openSync(file, constants.O_WRONLY | constants.O_CREAT, 0o600);
  try {
    const bytes = Buffer.from(text);
    // On a disk that is just full a part is written, and a part of a command must not run.
    if (writeSync(descriptor, bytes, 0, bytes.length, 0) < bytes.length) throw new Error('The disk is full.');
    ftruncateSync(descriptor, bytes.length);
  } finally {
    closeSync(descriptor);
  }
}

export interface Claim {
  /** Shell of the command; also the id of its process group. */
  readonly shell: ProcessMark;
  readonly wrapper: ProcessMark;
}

/**
 * Who runs the command: null when nobody has begun, `taken` when a sidecar has seen to it that nobody will, `torn`
 * when the line could not be written whole (a full disk) and says nothing.
 */
export function claimOf(directory: string): Claim | 'taken' | 'torn' | null {
  const line = claimLine(directory);
  if (line === null) return null;
  if (line === taken) return 'taken';
  const [pid = '', start = '-', wrapper = '0', wrapperStart = '-', bootId = 'unknown'] = line.split(' ');
  if (!/^\d+$/.test(pid)) return 'torn';
  return {
    shell: { pid: Number(pid), start, bootId },
    wrapper: { pid: Number(wrapper), start: wrapperStart, bootId },
  };
}

const taken = 'recovery';

/** The first line of a claim; null: there is none yet. */
function claimLine(directory: string): string | null {
  const text = textOf(path.join(directory, 'claim')) ?? '';
  return text === '' ? null : (text.split('\n', 1)[0] ?? '');
}

/** Takes the claim so that the command never starts; false when somebody else has it already. */
export function takeClaim(directory: string): boolean {
  try {
    writeFileSync(path.join(directory, 'claim'), `${taken}\n`, { flag: 'a' });
  } catch {
    return false;
  }
  return claimLine(directory) === taken;
}

/**
 * Makes the directory of a run whose result is committed ready for another one, under another name: its claim, its end
 * and its output are gone, its job is overwritten by the next one's. The output is a new file, because something that
 * the command left behind may still write to the old one. Throws what the file system throws. Only the new file is
 * made by a thread: the rest takes 0.1 ms, a thread hop each would take longer.
 */
export async function emptyRun(directory: string, spare: string): Promise<void> {
  const isCut = textOf(path.join(directory, 'cut')) !== null;
  renameSync(directory, spare);
  for (const name of ['claim', 'exit']) writeFileSync(path.join(spare, name), '');
  for (const name of isCut ? ['out', 'mark', 'head', 'tail', 'cut'] : ['out', 'mark'])
    rmSync(path.join(spare, name), { force: true });
  const made = await open(path.join(spare, 'out'), 'wx', 0o600);
  await made.close();
}

/** Until when the command of a run may run, in seconds since 1970; 0 when its job is gone. */
export function dueOf(directory: string): number {
  return Number(/^# due (\d+)/.exec(textOf(path.join(directory, 'job')) ?? '')?.[1] ?? 0);
}

/** The exit code, once the command's shell has ended; null before. */
export function exitOf(directory: string): number | null {
  const match =
    /^(\d+)\n$/.exec(textOf(path.join(directory, 'exit')) ?? '') ??
    /\nexit (\d+)\n/.exec(textOf(path.join(directory, 'claim')) ?? '');
  return match === null ? null : Number(match[1]);
}

/** Keeps a text with a run, whole or not at all. */
export function keepMark(directory: string, mark: string): void {
  const file = path.join(directory, 'mark');
  try {
    writeFileSync(`${file}.new`, mark, { mode: 0o600 });
    renameSync(`${file}.new`, file);
  } catch {
    // The disk is full, or somebody removed the run: the older mark says less, and nothing wrong.
  }
}

export const markIn = (directory: string): string | null => textOf(path.join(directory, 'mark'));

/** When the exit record was written, ms since 1970; null: there is none. */
export function endedMsOf(directory: string): number | null {
  const found = statSync(path.join(directory, 'exit'), { throwIfNoEntry: false });
  return found === undefined || found.size === 0 ? null : found.mtimeMs;
}

function textOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

export interface Output {
  /** Head and tail, with a line in between that says what is missing. */
  readonly bytes: Buffer;
  readonly totalBytes: number;
}

/** What a command has written, at most `outputHeadBytes` and `outputTailBytes` of it. */
export function outputOf(directory: string): Output {
  const { outputHeadBytes: most, outputTailBytes: last } = limits;
  const out = path.join(directory, 'out');
  const sizeBytes = sizeOf(out);
  const trimmedBytes = Number.parseInt(textOf(path.join(directory, 'cut')) ?? '0', 10) || 0;
  const totalBytes = trimmedBytes + sizeBytes;
  if (totalBytes <= most + last) return { bytes: slice(out, 0, sizeBytes), totalBytes };
  const head = trimmedBytes === 0 ? slice(out, 0, most) : slice(path.join(directory, 'head'), 0, most);
  const fresh = slice(out, Math.max(0, sizeBytes - last), last);
  const older = path.join(directory, 'tail');
  const olderBytes = Math.min(sizeOf(older), last - fresh.length);
  const tail = Buffer.concat([slice(older, sizeOf(older) - olderBytes, olderBytes), fresh]);
  const missing = totalBytes - head.length - tail.length;
  const gap = missing <= 0 ? '' : `\n[roost: ${missing} bytes left out]\n`;
  return { bytes: Buffer.concat([head, Buffer.from(gap), tail]), totalBytes };
}

/** A part of what a command has written, up to its present end. */
export interface OutputPart {
  readonly bytes: Buffer;
  /** Bytes before them, after the place that was asked for. */
  readonly skippedBytes: number;
  /** The place of the end. */
  readonly next: number;
}

/** What a command has written after a place, at most the newest `bytes` of it. */
export function outputAfter(directory: string, after: number, bytes: number): OutputPart {
  const out = path.join(directory, 'out');
  const sizeBytes = sizeOf(out);
  // Where the file was started over (startOver) places go on counting.
  const trimmedBytes = Number.parseInt(textOf(path.join(directory, 'cut')) ?? '0', 10) || 0;
  const next = trimmedBytes + sizeBytes;
  const from = Math.min(next, Math.max(after, next - bytes, trimmedBytes));
  const part = slice(out, from - trimmedBytes, next - from);
  return { bytes: part, skippedBytes: Math.max(0, from - after), next: from + part.length };
}

/** The newest bytes when there are others than at the last look, for those who look; cheap when there are none. */
export function newestOf(
  directory: string,
  bytes: number,
  knownBytes: number,
): { readonly text: string; readonly sizeBytes: number } {
  const out = path.join(directory, 'out');
  const sizeBytes = sizeOf(out);
  if (sizeBytes === knownBytes) return { text: '', sizeBytes };
  return { text: slice(out, Math.max(0, sizeBytes - bytes), bytes).toString('utf8'), sizeBytes };
}

function slice(file: string, start: number, bytes: number): Buffer {
  if (bytes <= 0) return Buffer.alloc(0);
  let handle: number;
  try {
    handle = openSync(file, 'r');
  } catch {
    return Buffer.alloc(0);
  }
  try {
    const buffer = Buffer.allocUnsafe(Math.min(bytes, limits.outputFileBytes));
    return buffer.subarray(0, readSync(handle, buffer, 0, buffer.length, start));
  } finally {
    closeSync(handle);
  }
}

/**
 * Keeps what the output of a running command takes on disk within `outputFileBytes`: between its head and its tail a
 * hole is made, which leaves every byte at its place while the command goes on appending. Where that cannot be
 * done (macOS, some file systems) the tail is moved and the file starts over; what comes in between is lost.
 */
export async function trimOutput(directory: string): Promise<void> {
  const out = path.join(directory, 'out');
  const stat = statSync(out, { throwIfNoEntry: false });
  // Blocks of 512 bytes, whatever the file system calls a block (stat(2)).
  if (stat === undefined || stat.blocks * 512 <= limits.outputFileBytes) return;
  const { outputHeadBytes: first, outputTailBytes: last } = limits;
  if (!(await holed(out, first, stat.size - first - last))) startOver(directory);
}

function holed(file: string, start: number, bytes: number): Promise<boolean> {
  if (process.platform !== 'linux') return Promise.resolve(false);
  const args = ['--punch-hole', '--offset', String(start), '--length', String(bytes), file];
  return new Promise((resolve) => {
    execFile('fallocate', args, { windowsHide: true }, (error) => resolve(error === null));
  });
}

function startOver(directory: string): void {
  const out = path.join(directory, 'out');
  const head = path.join(directory, 'head');
  if (sizeOf(head) === 0) writeFileSync(head, slice(out, 0, limits.outputHeadBytes));
  const sizeBytes = sizeOf(out);
  const tail = slice(out, sizeBytes - limits.outputTailBytes, limits.outputTailBytes);
  writeFileSync(path.join(directory, 'tail'), tail);
  truncateSync(out, 0);
  const cut = path.join(directory, 'cut');
  writeFileSync(cut, `${(Number.parseInt(textOf(cut) ?? '0', 10) || 0) + sizeBytes}\n`);
}

/** Removes a run whose result is in the store. */
export async function removeRun(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true }).catch(() => undefined);
}
