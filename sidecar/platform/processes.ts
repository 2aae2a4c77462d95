// What the system says about processes: which boot this is, when a process started, what memory it holds.
//
// A pid alone names nobody: it is used again. A pid with its start time and the boot it belongs to does (case
// 111). Linux tells both exactly; elsewhere the start time is unknown and only the pid is checked.

import { readFileSync } from 'node:fs';
import os from 'node:os';
import process from 'node:process';

/** Kernel ticks per second, as /proc reports start times. 100 on every architecture Node runs on (proc(5), sysconf(3)). */
const ticksPerSecond = 100;

/** Start times are compared with this tolerance: boot time in /proc/stat has whole seconds. */
const startToleranceMs = 2_000;

/** Names this boot of the machine. Where the kernel gives it no name, its time to within ten seconds does. */
export function bootId(): string {
  const named = read('/proc/sys/kernel/random/boot_id')?.trim();
  if (named !== undefined && named !== '') return named;
  return `boot-${Math.round((Date.now() - os.uptime() * 1000) / 10_000)}`;
}

/** When a process started, ms since 1970; null when it is gone or the system does not say. */
export function processStartMs(pid: number): number | null {
  const bootSeconds = /^btime (\d+)$/m.exec(read('/proc/stat') ?? '')?.[1];
  // Field 22 of proc_pid_stat(5), counted here from the state, which is field 3.
  const startTicks = Number(statOf(pid)[19]);
  if (bootSeconds === undefined || !Number.isFinite(startTicks)) return null;
  return Number(bootSeconds) * 1000 + (startTicks * 1000) / ticksPerSecond;
}

/** Fields of /proc/PID/stat from the state on; none when it is gone or there is no /proc. */
function statOf(pid: number): readonly string[] {
  const stat = read(`/proc/${pid}/stat`);
  // The second field is the program's name in brackets and may hold anything.
  return stat === undefined ? [] : stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

export interface ProcessName {
  readonly pid: number;
  readonly startedAtMs: number;
  readonly bootId: string;
}

/** This process, so that another can tell whether it is still there. */
export function thisProcess(): ProcessName {
  const startedAtMs = Math.round(processStartMs(process.pid) ?? Date.now() - process.uptime() * 1000);
  return { pid: process.pid, startedAtMs, bootId: bootId() };
}

/** Whether exactly that process is alive, and not another one with its pid. */
export function isRunning(name: ProcessName): boolean {
  if (name.bootId !== bootId()) return false;
  try {
    process.kill(name.pid, 0);
  } catch (error) {
    // EPERM: it is there and belongs to somebody else.
    if (!(error instanceof Error && 'code' in error && error.code === 'EPERM')) return false;
  }
  // Dead, and not yet looked at by its parent, which need not hurry.
  const [state] = statOf(name.pid);
  if (state === 'Z' || state === 'X') return false;
  const startedAtMs = processStartMs(name.pid);
  return startedAtMs === null || Math.abs(startedAtMs - name.startedAtMs) <= startToleranceMs;
}

/** Memory that is this process's alone, in bytes: Pss_Anon on Linux, resident size elsewhere. */
export function privateBytes(): number {
  const kilobytes = /^Pss_Anon:\s+(\d+) kB$/m.exec(read('/proc/self/smaps_rollup') ?? '')?.[1];
  return kilobytes === undefined ? process.memoryUsage.rss() : Number(kilobytes) * 1024;
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined; // another system, or the process is gone
  }
}
