// Processes of commands: whether one that was written down still lives, ending a group, finding strays.
//
// A pid alone names nothing after a while: it is compared with the start time and the boot that were recorded
// with it. On Linux all of this is read from /proc; macOS is asked through `ps`.

import { execFile, execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';

/** A process as it was recorded; `start` in the words of the system, `-` where unknown. */
export interface ProcessMark {
  readonly pid: number;
  readonly start: string;
  readonly bootId: string;
}

let knownBootId: string | null = null;

/** Names this boot of the machine; after another boot no recorded process is alive. */
export function bootId(): string {
  knownBootId ??= readBootId();
  return knownBootId;
}

function readBootId(): string {
  try {
    if (process.platform === 'linux') return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    if (process.platform === 'darwin') {
      return execFileSync('sysctl', ['-n', 'kern.bootsessionuuid'], {
        encoding: 'utf8',
        windowsHide: true,
      }).trim();
    }
  } catch {
    // A container that hides it: start times alone must do.
  }
  return 'unknown';
}

/** Whether exactly this process still runs: not dead, not a zombie, not another one with the same number. */
export async function lives(mark: ProcessMark): Promise<boolean> {
  if (mark.pid <= 1 || mark.bootId !== bootId()) return false;
  if (!signalled(mark.pid, 0)) return false;
  const now = await startOf(mark.pid);
  return now !== null && (mark.start === '-' || mark.start === now);
}

/** Start time of a process in the words of the system; null when it is gone or a zombie. */
async function startOf(pid: number): Promise<string | null> {
  if (process.platform === 'linux') {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
    if (stat === null) return null;
    // The name may hold spaces and brackets; state is field 3, start time is field 22 (proc(5)).
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? null : (fields[19] ?? null);
  }
  if (process.platform === 'win32') return '-';
  return await new Promise((resolve) => {
    const env = { ...process.env, LC_ALL: 'C' };
    execFile('ps', ['-o', 'state=,lstart=', '-p', String(pid)], { env, windowsHide: true }, (error, out) => {
      const [state = 'Z', ...start] = out.trim().split(/\s+/);
      resolve(error !== null || state.startsWith('Z') ? null : start.join('_'));
    });
  });
}

/** The mark of a child that has just been started, without asking the system where that takes a process. */
export function markOf(pid: number): ProcessMark {
  const stat = process.platform === 'linux' ? statNow(pid) : '';
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { pid, start: fields[19] ?? '-', bootId: bootId() };
}

function statNow(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return ''; // it has ended already
  }
}

/** Sends a signal (0: only looks); false when there is no such process or group. A negative pid is a group. */
export function signalled(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    // It is there, but belongs to somebody else.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/**
 * Whether anything in a process group still runs. A zombie does not: it waits for a parent that may be slow, and
 * signals reach it all the same, so on Linux the members are looked at.
 */
export async function groupLives(group: number): Promise<boolean> {
  if (!signalled(-group, 0)) return false;
  if (process.platform !== 'linux') return true;
  for (const name of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(name)) continue;
    const stat = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '');
    const [state, , member] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (Number(member) === group && state !== 'Z' && state !== 'X') return true;
  }
  return false;
}

/** Ends a process tree on Windows, where there are no groups. */
export function endTree(pid: number): void {
  execFile('taskkill', ['/pid', String(pid), '/T', '/F'], { windowsHide: true }, () => undefined);
}

/**
 * Processes that carry a mark in their environment: what a command started and let go of its group (a double
 * fork, setsid). Linux only; elsewhere none are found. Never this process.
 */
export async function straysOf(mark: Readonly<Record<string, string>>): Promise<number[]> {
  if (process.platform !== 'linux') return [];
  const wanted = Object.entries(mark).map(([name, value]) => `\0${name}=${value}\0`);
  const found: number[] = [];
  for (const name of await readdir('/proc').catch(() => [])) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    const environment = await readFile(`/proc/${name}/environ`, 'latin1').catch(() => '');
    if (wanted.every((each) => `\0${environment}`.includes(each))) found.push(pid);
  }
  return found;
}
