// One connection to the sidecar of a store: found through the discovery file, started when none answers.
//
// The file is a hint: a sidecar that was killed leaves it behind, so what counts is that somebody answers hello.
// Of several clients that start one at the same moment one wins the store; the others' sidecars exit 75 and their
// clients connect to the winner. Not here: connecting again, and asking again (session.ts).

import { createConnection, type Socket } from 'node:net';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';

import {
  createMessageConnection,
  ResponseError,
  SocketMessageReader,
  SocketMessageWriter,
} from 'vscode-jsonrpc/node';
import type { MessageConnection } from 'vscode-jsonrpc/node';

import { readDiscovery } from '../platform/paths.ts';
import { ownedExitCode, sidecarLogFile, type Discovery } from '../protocol/discovery.ts';
import type { EditorMethods } from '../protocol/editorMethods.ts';
import type { Frame } from '../protocol/frame.ts';
import { callId } from '../protocol/ids.ts';
import type { MethodName, Params, Result } from '../protocol/methods.ts';
import { build, protocolVersion } from '../protocol/version.ts';
import { Failure, isLost } from './failure.ts';
import { hasSecrets, secretOf } from './secrets.ts';
import { startSidecar, type Starting } from './start.ts';

/** A cold sidecar with a large store answers within a second; a loaded machine may take longer. */
const startWithinMs = 30_000;
const answerWithinMs = 10_000;
/** A sidecar that lost the store to another gives that one so long to answer; so often: an end may take 5 s. */
const restartAfterMs = 500;
const losses = 11;
/** How often a starting sidecar's discovery file is looked at. */
const lookEveryMs = 15;

export interface ConnectOptions {
  readonly store: string;
  /** Whether to start one when none answers. */
  readonly start: boolean;
  /** Whether keys of the environment are offered: only by commands that make agents work. */
  readonly secrets: boolean;
  /** The command that this process runs in, of the same store; null outside of agents' shells. */
  readonly call: number | null;
  /** An editor that this process speaks for; without one it is asked for keys only. */
  readonly window?: EditorWindow;
  /** For tests: how often the store may be found with an owner that answers nobody. */
  readonly losses?: number;
}

/** What the sidecar may ask of an editor (protocol/editorMethods.ts). */
export interface EditorWindow {
  /** How it is called in the sidecar's log. */
  readonly name: string;
  /** Absolute paths, as they are when a connection is made. */
  readonly folders: () => readonly string[];
  readonly readText: (file: string) => Promise<string | null>;
  readonly applyEdit: (edit: EditorMethods['editor/applyEdit']['params']) => Promise<boolean>;
}

/** A connection after hello. Calls reject with a Failure; `sidecar/lost` when it ended before the answer. */
export class Wire {
  readonly hello: Result<'hello'>;
  readonly #socket: Socket;
  readonly #connection: MessageConnection;
  readonly #follows = new Map<number, (frame: Frame | null) => void>();
  #pending = 0;
  #lost = false;

  constructor(socket: Socket, connection: MessageConnection, hello: Result<'hello'>) {
    this.hello = hello;
    this.#socket = socket;
    this.#connection = connection;
    connection.onNotification('follow/frames', ({ frames }: { readonly frames: readonly Frame[] }) => {
      for (const frame of frames) this.#follows.get(frame.follow)?.(frame);
    });
    connection.onRequest('editor/secret', ({ provider }: { readonly provider: string }) =>
      secretOf(process.env, provider),
    );
    connection.onClose(() => this.#end());
  }

  get lost(): boolean {
    return this.#lost;
  }

  async call<M extends MethodName>(method: M, params: Params<M>): Promise<Result<M>> {
    return ask(this.#connection, method, params);
  }

  /** Hears the frames of a follow; null when the connection has ended. Returns how to stop hearing. */
  hear(follow: number, hear: (frame: Frame | null) => void): () => void {
    if (this.#lost) hear(null);
    else this.#follows.set(follow, hear);
    return () => void this.#follows.delete(follow);
  }

  /** Reads nothing more until as many calls of `resume`: what cannot be printed yet stays with the sidecar. */
  pause(): void {
    this.#pending += 1;
    this.#socket.pause();
  }

  resume(): void {
    this.#pending -= 1;
    if (this.#pending === 0) this.#socket.resume();
  }

  close(): void {
    this.#socket.end();
    this.#end();
  }

  #end(): void {
    if (this.#lost) return;
    this.#lost = true;
    // Rejects what was not answered.
    this.#connection.dispose();
    this.#socket.destroy();
    for (const hear of this.#follows.values()) hear(null);
    this.#follows.clear();
  }
}

/** Connects, and starts a sidecar when none answers and that is wanted. Throws a Failure that says what to do. */
export async function connect(options: ConnectOptions): Promise<Wire> {
  const found = readDiscovery(options.store);
  const wire = found === null ? null : await attach(found, options);
  if (wire !== null && !(options.start && (await gaveWay(wire)))) return wire;
  if (!options.start) {
    throw new Failure(
      'sidecar/failed',
      `No sidecar runs for the store ${options.store}. A command that does work starts one.`,
    );
  }
  return startAndAttach(options);
}

/**
 * A newer build takes over from an older one, but only when no turn runs; an older one never replaces a newer one
 * (DESIGN §2). True when the sidecar of this connection has ended.
 */
async function gaveWay(wire: Wire): Promise<boolean> {
  if (build <= wire.hello.build) return false;
  try {
    const { running } = await wire.call('store/info', {});
    if (0 < running) return false;
    await wire.call('shutdown', {});
  } catch (error) {
    if (isLost(error)) return true;
    throw error;
  }
  for (const untilMs = performance.now() + answerWithinMs; performance.now() < untilMs;) {
    if (wire.lost) return true;
    await sleep(lookEveryMs);
  }
  return false;
}

/** Starts one, and waits until it answers, or the one that was quicker. */
async function startAndAttach(options: ConnectOptions): Promise<Wire> {
  const untilMs = performance.now() + startWithinMs;
  let starting = startSidecar(options.store);
  let endedMs = 0;
  let lost = 0;
  try {
    while (performance.now() < untilMs) {
      const found = readDiscovery(options.store);
      const wire = found === null ? null : await attach(found, options);
      if (wire !== null) return wire;
      const exitCode = starting.exitCode();
      if (exitCode !== null && exitCode !== ownedExitCode && exitCode !== 0) throw failed(starting, exitCode);
      endedMs = exitCode === null ? 0 : endedMs + lookEveryMs;
      // The owner that was in the way answers nobody: it is ending. When it has ended, another may start.
      if (restartAfterMs < endedMs) {
        lost += 1;
        if (exitCode === ownedExitCode && (options.losses ?? losses) <= lost)
          throw new Failure('store/owned', starting.said());
        starting.release();
        starting = startSidecar(options.store);
        endedMs = 0;
      }
      await sleep(lookEveryMs);
    }
    const log = path.join(options.store, sidecarLogFile);
    throw new Failure(
      'sidecar/failed',
      `The sidecar did not answer within ${startWithinMs / 1000} s. See ${log}.`,
    );
  } finally {
    starting.release();
  }
}

function failed(starting: Starting, exitCode: number): Failure {
  return new Failure(
    'sidecar/failed',
    starting.said() || `The sidecar ended with code ${exitCode} and said nothing.`,
  );
}

/** Says hello to whoever listens there; null when nobody does, or somebody else. */
async function attach(found: Discovery, options: ConnectOptions): Promise<Wire | null> {
  const socket = await reach(found.socket);
  if (socket === null) return null;
  const connection = createMessageConnection(
    new SocketMessageReader(socket),
    new SocketMessageWriter(socket),
  );
  connection.onError(() => undefined); // the close that follows tells
  connection.onClose(() => connection.dispose());
  if (options.window !== undefined) serveWindow(connection, options.window);
  connection.listen();
  try {
    const hello = await within(
      found.pid,
      ask(connection, 'hello', {
        protocol: protocolVersion,
        build,
        nonce: found.nonce,
        client: { kind: 'cli', name: options.window?.name ?? 'roost' },
        can: [
          ...(options.secrets && hasSecrets(process.env) ? (['secrets'] as const) : []),
          ...(options.window === undefined ? [] : (['buffers'] as const)),
        ],
        workspaces: options.window?.folders() ?? [],
        ...(options.call === null ? {} : { call: callId(options.call) }),
      }),
    );
    return new Wire(socket, connection, hello);
  } catch (error) {
    socket.destroy();
    // A stale file can name a socket that another store's sidecar has by now, or one that is just ending.
    const elsewhere = error instanceof Failure && ['protocol/nonce', 'sidecar/lost'].includes(error.code);
    if (elsewhere) return null;
    throw error;
  }
}

function serveWindow(connection: MessageConnection, window: EditorWindow): void {
  connection.onRequest(
    'editor/readText',
    async ({ path: file }: EditorMethods['editor/readText']['params']) => {
      return { text: await window.readText(file) };
    },
  );
  connection.onRequest('editor/applyEdit', async (edit: EditorMethods['editor/applyEdit']['params']) => {
    return { applied: await window.applyEdit(edit) };
  });
}

function reach(address: string): Promise<Socket | null> {
  return new Promise((resolve) => {
    const socket = createConnection(address);
    socket.once('connect', () => {
      socket.off('error', refused);
      resolve(socket);
    });
    const refused = (): void => resolve(null);
    socket.once('error', refused);
  });
}

async function ask<M extends MethodName>(
  connection: MessageConnection,
  method: M,
  params: Params<M>,
): Promise<Result<M>> {
  try {
    return await connection.sendRequest(method, params);
  } catch (error) {
    if (!(error instanceof ResponseError))
      throw new Failure('sidecar/lost', 'The connection to the sidecar was lost.');
    const code: unknown =
      typeof error.data === 'object' && error.data !== null ? Reflect.get(error.data, 'code') : null;
    // Without a code of ours it is the connection that gave up.
    if (typeof code !== 'string')
      throw new Failure('sidecar/lost', 'The connection to the sidecar was lost.');
    throw new Failure(code, error.message);
  }
}

/** A stopped or stuck sidecar takes connections and answers nothing. */
async function within<T>(pid: number, work: Promise<T>): Promise<T> {
  const seconds = answerWithinMs / 1000;
  const said = `The sidecar (process ${pid}) did not answer within ${seconds} s. End that process and try again.`;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Failure('sidecar/failed', said)), answerWithinMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
