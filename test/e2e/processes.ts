// Finds what a VS Code has left running. The sidecar outlives its window on purpose and is in no group of ours,
// but whatever was started below a throwaway folder names that folder in its command line or its environment.
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** The processes whose command line or environment names the folder. This process is never among them. */
export function processesOf(folder: string): number[] {
  const found = process.platform === 'linux' ? fromProc(folder) : fromPs(folder);
  return found.filter((pid) => pid !== process.pid && pid !== process.ppid);
}

/** Asks them to end, then makes them. */
export async function endProcessesOf(folder: string): Promise<void> {
  signalAll(folder, 'SIGTERM');
  // 20 looks of 100 ms: a sidecar closes its store within one of them.
  for (let look = 0; look < 20; look += 1) {
    if (processesOf(folder).length === 0) return;
    await sleep(100);
  }
  signalAll(folder, 'SIGKILL');
}

/** One signal to each of them, at once; `exit` handlers can do no more. */
export function signalAll(folder: string, signal: NodeJS.Signals): void {
  for (const pid of processesOf(folder)) {
    try {
      process.kill(pid, signal);
    } catch {
      // It ended by itself between the two lines.
    }
  }
}

function fromProc(folder: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => mentions(`/proc/${pid}/cmdline`, folder) || mentions(`/proc/${pid}/environ`, folder))
    .map(Number);
}

function mentions(file: string, folder: string): boolean {
  try {
    return readFileSync(file, 'latin1').includes(folder);
  } catch {
    return false;
  }
}

/** macOS shows the environment of a person's own processes to `ps -E`; Windows shows command lines. */
function fromPs(folder: string): number[] {
  const query = 'Get-CimInstance Win32_Process | ForEach-Object { "$($_.ProcessId) $($_.CommandLine)" }';
  const [command, args] =
    process.platform === 'win32'
      ? (['powershell', ['-NoProfile', '-Command', query]] as const)
      : (['ps', ['-axEww', '-o', 'pid=,command=']] as const);
  return execFileSync(command, args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024, windowsHide: true })
    .split('\n')
    .filter((line) => line.includes(folder))
    .map((line) => Number.parseInt(line, 10))
    .filter((pid) => 0 < pid);
}
