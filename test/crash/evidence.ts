// What files say about calls that were in flight when a sidecar died: read from outside, right after the kill, with
// nothing of the product.

import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** A file that was to be written: as it was before, as it was to become, or something else. */
export type FileState = 'before' | 'after' | 'other';

/** A command: not begun, at work, ended with its record, or gone without one. */
export type CommandState = 'notBegun' | 'alive' | 'ended' | 'gone';

export interface CommandAt {
  readonly call: number;
  readonly state: CommandState;
  /** The process that writes its record; 0 before it has begun. */
  readonly wrapper: number;
  /** Its exit code, once that is recorded. */
  readonly code: number | null;
}

/** Where a command is, by the newest of its records. */
export function commandAt(store: string, call: number): CommandAt {
  let record = path.join(store, 'runs', String(call));
  for (let serial = 1; existsSync(`${path.join(store, 'runs', String(call))}.${serial}`); serial++)
    record = `${path.join(store, 'runs', String(call))}.${serial}`;
  const [owner = '', , wrapper = '0'] =
    textOf(path.join(record, 'claim')).split('\n', 1)[0]?.split(' ') ?? [];
  const code = /^(\d+)\n$/.exec(textOf(path.join(record, 'exit')))?.[1];
  if (!/^\d+$/.test(owner)) return { call, state: 'notBegun', wrapper: 0, code: null };
  const of = { call, wrapper: Number(wrapper) };
  if (code !== undefined) return { ...of, state: 'ended', code: Number(code) };
  return { ...of, state: isAlive(Number(owner)) ? 'alive' : 'gone', code: null };
}

/** Where a file is that a call was to write: `evidence` as the store has it. */
export function fileAt(file: string, evidence: string): FileState {
  const parsed: { readonly data: { readonly before: string; readonly after: string } } = JSON.parse(evidence);
  const { before, after } = parsed.data;
  const hash = existsSync(file) ? createHash('sha256').update(readFileSync(file)).digest('hex') : 'none';
  return hash === after ? 'after' : hash === before ? 'before' : 'other';
}

/** Not gone, and no zombie. */
export function isAlive(pid: number): boolean {
  return /^State:\s+[^ZX]/m.test(textOf(`/proc/${pid}/status`));
}

/** The process that starts commands for a sidecar; 0 when it has none. */
export function launcherOf(sidecar: number): number {
  const children = textOf(`/proc/${sidecar}/task/${sidecar}/children`).trim().split(' ').map(Number);
  // Its texts go by its arguments, which name the folder of the records.
  return children.find((pid) => 0 < pid && textOf(`/proc/${pid}/cmdline`).includes('\nruns=')) ?? 0;
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
