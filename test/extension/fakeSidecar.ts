// A sidecar for tests of its clients: a real socket, real framing, the discovery file, and answers that the test
// gives. As a program it does what the extension's launcher needs and nothing more; ROOST_FAKE in its
// environment makes it bad in one way.
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import {
  createMessageConnection,
  ResponseError,
  SocketMessageReader,
  SocketMessageWriter,
} from 'vscode-jsonrpc/node';
import type { MessageConnection } from 'vscode-jsonrpc/node';
import type { EditorHandlers } from '../../extension/wire.ts';
import { discoveryFile } from '../../sidecar/protocol/discovery.ts';
import type { Discovery } from '../../sidecar/protocol/discovery.ts';
import { errorNumber } from '../../sidecar/protocol/errors.ts';
import type { ErrorCode } from '../../sidecar/protocol/errors.ts';
import type { Frame } from '../../sidecar/protocol/frame.ts';
import { build, protocolVersion } from '../../sidecar/protocol/version.ts';

type Unasked = 'editor/readText' | 'editor/applyEdit' | 'editor/secret';

/** A window that lends no models of its editor, and whose language servers say nothing. */
export const noModels: Omit<EditorHandlers, Unasked> = {
  'editor/diagnostics': () => Promise.resolve({ diagnostics: [], more: 0, unseen: false }),
  'editor/rename': () => Promise.resolve({ kind: 'refused' as const, unknown: true, message: '' }),
  'editor/locations': () => Promise.resolve({ locations: [], more: 0 }),
  'editor/modelPage': () => Promise.resolve({}),
  'editor/modelAsk': () => Promise.resolve({ kind: 'error', code: 'NoPermissions', message: 'none' }),
  'editor/modelDrop': () => Promise.resolve({}),
};

/** What a test's handler answers; a function is called with the params, an unset one leaves the call open. */
export type Answers = Record<string, (params: never) => unknown>;

/** The error that a client gets for a code, as the real server words it on the wire. */
export function refusal(code: ErrorCode, message: string): ResponseError<unknown> {
  return new ResponseError(errorNumber(code), message, { code });
}

export class FakeSidecar {
  readonly store: string;
  readonly calls: { readonly method: string; readonly params: never }[] = [];
  readonly answers: Answers;
  build = build;
  running = 0;
  /** Times that `start` was asked. */
  starts = 0;
  nonce = '';
  readonly #sockets = new Set<net.Socket>();
  readonly #wires = new Set<MessageConnection>();
  readonly #waiting = new Set<() => void>();
  #server: net.Server | null = null;

  constructor(store: string, answers: Answers = {}) {
    this.store = store;
    this.answers = answers;
  }

  /** Listens and writes the discovery file; again after `crash`, with another nonce. */
  async start(): Promise<Discovery> {
    this.starts += 1;
    this.nonce = randomUUID();
    const socket =
      process.platform === 'win32'
        ? `\\\\.\\pipe\\roost-fake-${this.nonce}`
        : path.join(this.store, `s${this.starts}-${this.nonce.slice(0, 4)}`);
    const server = net.createServer((each) => this.#take(each));
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(socket, resolve));
    const card: Discovery = {
      pid: process.pid,
      startedAtMs: Date.now(),
      bootId: 'boot',
      nonce: this.nonce,
      build: this.build,
      socket,
      store: this.store,
    };
    writeFileSync(path.join(this.store, discoveryFile), JSON.stringify(card), { mode: 0o600 });
    return card;
  }

  /** As after SIGKILL: the sockets are gone at once, the file stays. */
  async crash(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    for (const wire of this.#wires) wire.dispose();
    this.#wires.clear();
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
    if (server !== null) await new Promise<void>((resolve) => server.close(() => resolve()));
  }

  send(...frames: readonly Frame[]): void {
    for (const wire of this.#wires) void wire.sendNotification('follow/frames', { frames });
  }

  ask<T>(method: string, params: object): Promise<T> {
    const [wire] = this.#wires;
    if (wire === undefined) throw new Error('no client is connected');
    return wire.sendRequest<T>(method, params);
  }

  /** Resolves when the method has been called `times` times in all. */
  called(method: string, times = 1): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (this.calls.filter((call) => call.method === method).length < times) return;
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
      look();
    });
  }

  #take(socket: net.Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    const wire = createMessageConnection(new SocketMessageReader(socket), new SocketMessageWriter(socket));
    this.#wires.add(wire);
    socket.on('close', () => {
      this.#sockets.delete(socket);
      this.#wires.delete(wire);
      wire.dispose();
    });
    wire.onRequest((method: string, params: unknown) => this.#answer(method, params as never));
    wire.listen();
  }

  #answer(method: string, params: never): unknown {
    this.calls.push({ method, params });
    for (const look of [...this.#waiting]) look();
    const given = this.answers[method];
    if (given !== undefined) return given(params);
    switch (method) {
      case 'hello':
        if ((params as { nonce: string }).nonce !== this.nonce)
          return refusal('protocol/nonce', 'Another nonce.');
        return { protocol: protocolVersion, build: this.build, pid: process.pid, store: this.store };
      case 'store/info':
        return { build: this.build, pid: process.pid, running: this.running };
      case 'shutdown':
        setImmediate(() => void this.crash());
        return {};
      case 'follow/close':
        return {};
      default:
        return new Promise(() => undefined);
    }
  }
}

/** A store's directory with a short name: a socket's path may have 107 bytes. */
export function temporaryStore(): { readonly store: string; readonly remove: () => void } {
  const store = mkdtempSync(path.join(os.tmpdir(), 'rx-'));
  return { store, remove: () => rmSync(store, { recursive: true, force: true }) };
}

/** Collects what would be logged. */
export function quietLog(): { lines: string[] } & Record<
  'debug' | 'info' | 'warn' | 'error',
  (text: string) => void
> {
  const lines: string[] = [];
  const add = (text: string): void => void lines.push(text);
  return { lines, debug: add, info: add, warn: add, error: add };
}

async function program(): Promise<void> {
  const bad = process.env['ROOST_FAKE'] ?? '';
  if (process.argv.includes('--self-test')) {
    if (bad !== '') process.stderr.write(`self-test as ${bad}\n`);
    process.exit(bad === 'unfit' ? 3 : 0);
  }
  const store = process.argv[process.argv.indexOf('--store') + 1] ?? '';
  mkdirSync(store, { recursive: true });
  if (bad === 'owned') process.exit(75);
  if (bad === 'says') {
    process.stderr.write('sidecar: The folder is read-only. Choose another one.\n');
    process.exit(1);
  }
  if (bad === 'ends') {
    writeFileSync(path.join(store, 'sidecar.log'), 'the disk is on fire\n');
    process.exit(1);
  }
  await new FakeSidecar(store).start();
  // A test that forgets it must not leave it behind.
  setTimeout(() => process.exit(0), 60_000);
}

if (process.argv[1] === import.meta.filename) void program();
