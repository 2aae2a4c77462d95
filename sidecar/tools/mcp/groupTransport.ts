// A server as a child process that speaks over its standard streams, in a process group of its own: what `npx` or a
// shell script started for it is ended with it, so no server is left behind (case 29). The library's own transport
// ends only the process that it started.

import { spawn, type ChildProcess } from 'node:child_process';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { ReadBuffer, serializeMessage } from '@modelcontextprotocol/sdk/shared/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { limits } from '../../runtime/limits.ts';
import type { ServerRecord } from './strays.ts';

export interface GroupStart {
  /** What is written down of it while it runs. */
  readonly record: ServerRecord | null;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly directory: string;
}

export class GroupTransport implements Transport {
  // Set by the library before `start`; its types want them absent, not undefined.
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #start: GroupStart;
  readonly #buffer = new ReadBuffer({ maxBufferSize: limits.serverMessageBytes });
  #child: ChildProcess | null = null;
  #ended: Promise<void> = Promise.resolve();
  #said = '';
  #exit = '';

  constructor(start: GroupStart) {
    this.#start = start;
  }

  get command(): string {
    return this.#start.command;
  }

  get directory(): string {
    return this.#start.directory;
  }

  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  /** How it ended and what it wrote last to standard error; empty while it is well. */
  said(): string {
    return [this.#exit, this.#said.trim()].filter((part) => part !== '').join(': ');
  }

  start(): Promise<void> {
    const { command, args, env, directory, record } = this.#start;
    const child = spawn(command, args, {
      cwd: directory,
      env: { ...env, ...record?.mark },
      // A group of its own; on Windows there is none, and a detached child would get a console window.
      detached: process.platform !== 'win32',
      // `npx` is a script there, and scripts only start by way of a shell.
      shell: process.platform === 'win32',
      stdio: ['pipe', 'pipe', 'pipe'],
      windowsHide: true,
    });
    this.#child = child;
    this.#ended = new Promise((resolve) => {
      child.once('close', (code, signal) => {
        this.#exit = signal === null ? `it ended with exit code ${code ?? 0}` : `it was ended by ${signal}`;
        this.#child = null;
        // What it started and left behind has nobody to talk to any more.
        this.#killGroup(child, 'SIGKILL');
        record?.ended();
        resolve();
        this.onclose?.();
      });
    });
    child.stderr.on('data', (chunk: Buffer) => {
      this.#said = `${this.#said}${chunk.toString('utf8')}`.slice(-limits.serverErrorBytes);
    });
    child.stdin.on('error', (error) => this.onerror?.(error));
    child.stdout.on('error', (error) => this.onerror?.(error));
    child.stdout.on('data', (chunk: Buffer) => this.#read(chunk));
    return new Promise((resolve, reject) => {
      child.once('spawn', () => {
        if (child.pid !== undefined) record?.started(child.pid);
        resolve();
      });
      child.once('error', (error) => {
        this.#child = null;
        record?.ended();
        reject(error);
      });
    });
  }

  send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (stdin === null || stdin === undefined || !stdin.writable)
      return Promise.reject(new Error('it is not running'));
    return new Promise((resolve) => {
      if (stdin.write(serializeMessage(message))) resolve();
      else stdin.once('drain', resolve);
    });
  }

  /** Its input ends, then TERM, then KILL for all of its group. */
  async close(): Promise<void> {
    const child = this.#child;
    if (child === null) return;
    child.stdin?.end();
    if (await this.#endsWithin(limits.serverGraceMs)) return this.#killGroup(child, 'SIGTERM');
    this.#killGroup(child, 'SIGTERM');
    if (!(await this.#endsWithin(limits.serverGraceMs))) this.#killGroup(child, 'SIGKILL');
    this.#buffer.clear();
  }

  /** For a process that ends now and cannot wait. */
  abandon(): void {
    const child = this.#child;
    if (child === null) return;
    child.stdin?.end();
    this.#killGroup(child, 'SIGTERM');
  }

  #endsWithin(waitMs: number): Promise<boolean> {
    return Promise.race([this.#ended.then(() => true), sleep(waitMs, false, { ref: false })]);
  }

  #killGroup(child: ChildProcess, signal: NodeJS.Signals): void {
    if (child.pid === undefined) return;
    try {
      if (process.platform === 'win32') child.kill(signal);
      else process.kill(-child.pid, signal);
    } catch {
      // The group is empty: all have ended.
    }
  }

  #read(chunk: Buffer): void {
    try {
      this.#buffer.append(chunk);
    } catch {
      this.#said = `it sent a message of more than ${limits.serverMessageBytes} bytes`;
      void this.close();
      return;
    }
    for (;;) {
      try {
        const message = this.#buffer.readMessage();
        if (message === null) return;
        this.onmessage?.(message);
      } catch (error) {
        // A line that is no message: servers print to standard output by mistake. The next line may be one.
        this.onerror?.(error instanceof Error ? error : new Error(String(error)));
      }
    }
  }
}
