// The product as its users run it: the built sidecar as a process of its own, and the provider fixture as another.

import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type Wire } from '../sidecar/cli/connect.ts';
import { environmentForSidecar } from '../sidecar/cli/secrets.ts';
import { sidecarFlags } from '../sidecar/protocol/discovery.ts';

const root = path.join(import.meta.dirname, '..');

export interface FixtureProcess {
  readonly url: string;
  readonly tlsUrl: string;
  readonly caFile: string;
  readonly pid: number;
  stats(): Promise<Readonly<Record<string, number>>>;
  close(): void;
}

/** Starts the provider fixture as a process of its own. */
export async function startFixtureProcess(args: readonly string[] = []): Promise<FixtureProcess> {
  const main = path.join(root, 'test', 'fixtures', 'provider', 'main.ts');
  const child = spawn(process.execPath, [main, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
    windowsHide: true,
  });
  const line = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', resolve);
    child.once('exit', (code) => reject(new Error(`the fixture ended with ${code}`)));
  });
  const told: { url: string; tlsUrl: string; caFile: string; pid: number } = JSON.parse(line);
  return {
    ...told,
    stats: async () => {
      const response = await fetch(`${told.url}/stats`);
      const stats: Record<string, number> = JSON.parse(await response.text());
      return stats;
    },
    close: () => void child.kill(),
  };
}

export interface SidecarProcess {
  readonly store: string;
  readonly pid: number;
  readonly wire: Wire;
  /** When its process was started, on this process's monotonic clock. */
  readonly beganMs: number;
  close(): Promise<void>;
  /** Ends it with SIGKILL, as a crash does, and keeps the store. Resolves when the kernel has let it go. */
  kill(): Promise<void>;
}

export interface SidecarStart {
  /** The store's directory; made when none is named, and then removed at the end. */
  readonly store?: string;
  /** Arguments besides the store. */
  readonly args?: readonly string[];
}

/** Starts the built sidecar on a store as the product's clients start it, and connects. */
export async function startSidecarProcess({ store, args = [] }: SidecarStart = {}): Promise<SidecarProcess> {
  const bundle = path.join(root, 'dist', 'sidecar.cjs');
  if (!existsSync(bundle)) throw new Error('There is no dist/sidecar.cjs. Run "npm run build" first.');
  const directory = store ?? mkdtempSync(path.join(os.tmpdir(), 'roost-bench-'));
  const beganMs = performance.now();
  const child = spawn(process.execPath, [...sidecarFlags, bundle, '--store', directory, ...args], {
    env: environmentForSidecar(process.env),
    stdio: ['ignore', 'ignore', 'inherit'],
    windowsHide: true,
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const wire = await connected(directory, child);
  return {
    store: directory,
    pid: wire.hello.pid,
    wire,
    beganMs,
    kill: async () => {
      child.kill('SIGKILL');
      await ended;
      wire.close();
    },
    close: async () => {
      wire.close();
      child.kill();
      await ended;
      if (store === undefined) rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Connects once the sidecar has opened its door; rejects when it ends before. */
async function connected(store: string, child: ChildProcess): Promise<Wire> {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`the sidecar ended with ${child.exitCode}`);
    try {
      return await connect({ store, start: false, secrets: false, call: null });
    } catch {
      await sleep(5); // not open yet
    }
  }
}
