// Processes of servers outlive a sidecar that was killed when they do not heed the end of their input. Each is written
// down before it is started, and carries the mark of its record in its environment, so that the next sidecar of the
// store ends it with all that it started. A server that ends in order takes its record with it.

import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from '../../runtime/limits.ts';
import { endTree, lives, markOf, signalled, straysOf, type ProcessMark } from '../command/processes.ts';

const markName = 'ROOST_SERVER';

export interface ServerRecord {
  /** For the environment of the server. */
  readonly mark: Readonly<Record<string, string>>;
  /** It has started. */
  started(pid: number): void;
  /** It has ended, with all of its group. */
  ended(): void;
}

/** Records of the servers of a store. */
export class Strays {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Written before a server is started; not durable, since no process outlives a power loss. */
  record(): ServerRecord {
    const id = randomBytes(12).toString('hex');
    const file = path.join(this.#directory, id);
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
    writeFileSync(file, '', { mode: 0o600 });
    return {
      mark: { [markName]: id },
      started: (pid) => writeFileSync(file, JSON.stringify(markOf(pid))),
      ended: () => rmSync(file, { force: true }),
    };
  }

  /** Ends what is left of servers whose sidecar was killed; resolves with how many processes that were. */
  async sweep(): Promise<number> {
    const left = recordsIn(this.#directory).map((id) => ({
      id,
      mark: markIn(path.join(this.#directory, id)),
    }));
    const found = await Promise.all(left.map(remains));
    const pids = found.flat();
    for (const pid of pids) end(pid, 'SIGTERM');
    const untilMs = performance.now() + limits.serverGraceMs;
    let rest = pids;
    while (0 < rest.length && performance.now() < untilMs) {
      await sleep(limits.serverGraceMs / 40);
      rest = (await Promise.all(left.map(remains))).flat();
    }
    for (const pid of rest) end(pid, 'SIGKILL');
    for (const { id } of left) rmSync(path.join(this.#directory, id), { force: true });
    return pids.length;
  }
}

interface Left {
  readonly id: string;
  readonly mark: ProcessMark | null;
}

/** Linux finds all that carry the mark; elsewhere only the one that was started, and its group, are known. */
async function remains({ id, mark }: Left): Promise<readonly number[]> {
  if (process.platform === 'linux') return await straysOf({ [markName]: id });
  return mark !== null && (await lives(mark)) ? [mark.pid] : [];
}

function end(pid: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (process.platform === 'win32') endTree(pid);
  else if (process.platform === 'linux') signalled(pid, signal);
  else signalled(-pid, signal);
}

function recordsIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory)
      .filter((name) => /^[0-9a-f]{24}$/.test(name))
      .slice(0, limits.serverRecords);
  } catch {
    return []; // no server was ever started
  }
}

function markIn(file: string): ProcessMark | null {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    const field = (name: string): unknown =>
      typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
    const [pid, start, bootId] = [field('pid'), field('start'), field('bootId')];
    return typeof pid === 'number' && typeof start === 'string' && typeof bootId === 'string'
      ? { pid, start, bootId }
      : null;
  } catch {
    return null; // the sidecar was killed before it was written
  }
}
