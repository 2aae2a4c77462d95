// Memory of a process and all its descendants, as the kernel counts it (/proc/PID/smaps_rollup, Linux only).
//
// Private memory is Pss_Anon: pages that belong to the process alone, and its share of those it inherited by a
// fork. PSS adds its share of files that are mapped, which other programs use too (node's own text above all).

import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Memory {
  readonly privateMB: number;
  readonly pssMB: number;
  readonly processes: number;
}

/** Sums over a process tree. Throws where there is no /proc. */
export function memoryOf(root: number): Memory {
  const children = childrenByParent();
  const tree = [root];
  for (const pid of tree) tree.push(...(children.get(pid) ?? []));
  let privateKB = 0;
  let pssKB = 0;
  for (const pid of tree) {
    const rollup = read(`/proc/${pid}/smaps_rollup`);
    privateKB += kilobytes(rollup, 'Pss_Anon');
    pssKB += kilobytes(rollup, 'Pss');
  }
  return { privateMB: privateKB / 1024, pssMB: pssKB / 1024, processes: tree.length };
}

/**
 * The memory of a process tree once it has settled: when twenty seconds pass in which it falls by less than
 * 1 %: the checkpoint thread leaves after ten, V8 tidies up some eight seconds after the last work.
 * What it still gives back later is counted as held.
 */
export async function settledMemory(root: number, withinMs: number): Promise<Memory> {
  const endMs = performance.now() + withinMs;
  let last = memoryOf(root);
  for (let calm = 0; calm < 10 && performance.now() < endMs;) {
    await sleep(2_000);
    const now = memoryOf(root);
    if (now.privateMB < last.privateMB * 0.99) {
      calm = 0;
      last = now;
    } else calm += 1;
  }
  return memoryOf(root);
}

function childrenByParent(): Map<number, number[]> {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = read(`/proc/${name}/stat`);
    // The second field is the program's name in brackets and may hold anything.
    const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
    children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  return children;
}

function kilobytes(rollup: string, field: string): number {
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(rollup)?.[1] ?? 0);
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // the process is gone
  }
}
