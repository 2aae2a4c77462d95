// Servers of tools (MCP), one client each for all agents of the store, keyed by the hash of what a person has trusted
// (case 29). A server is started by the first call or look that needs it, and ended when nobody has called it for long.
//
// One that fails is tried again with growing pauses, and calls fail meanwhile with the reason; a start that takes long
// goes on behind the back of who asked what it offers, and its tools come later (case 181). A list that changes is
// told to `offered`, silently (case 182). Not here: what the runtime remembers of it (runtime/offers.ts).

import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { judgeOffer, type Offer } from '../../core/offers.ts';
import type { OfferAnswer, ServerRef } from '../../ports.ts';
import type { JsonObject } from '../../protocol/json.ts';
import { limits } from '../../runtime/limits.ts';
import { messageOf } from '../../workspace/files.ts';
import { readStart, type Surroundings } from '../../workspace/serverFile.ts';
import { problemOf, ServerProblem, type CallOptions, type Connection } from './connection.ts';
import { receivedIn, type Received } from './result.ts';
import { Strays } from './strays.ts';

export interface PoolOptions {
  /** The environment of servers, besides their own variables. */
  readonly environment: () => Readonly<Record<string, string>>;
  readonly surroundings: Surroundings;
  /** A server offers something else than it did before. */
  readonly offered: (server: string, offer: Offer) => void;
  /** A value that must not reach a log or a transcript. */
  readonly hide: (secret: string) => void;
  /** Directory of the records of processes and of what results held; null: nothing is kept. */
  readonly directory: string | null;
  /** For tests. */
  readonly idleMs?: number;
  readonly startMs?: number;
}

export interface ServerStatus {
  readonly status: 'idle' | 'starting' | 'running' | 'failed';
  readonly pid: number | null;
  readonly problem: string | null;
}

interface Server {
  readonly ref: ServerRef;
  connection: Connection | null;
  connecting: Promise<Connection> | null;
  /** The one before is ending: two of one server may not work on the same files. */
  closing: Promise<unknown> | null;
  offer: Offer | null;
  problem: string | null;
  failures: number;
  retryAtMs: number;
  usedMs: number;
  /** When it was last started. */
  startedMs: number;
  /** Calls in flight; more wait in `queue`. */
  active: number;
  readonly queue: (() => void)[];
}

type ClientModule = typeof import('./client.ts');

export class Pool {
  readonly #options: PoolOptions;
  readonly #servers = new Map<string, Server>();
  #client: Promise<ClientModule> | null = null;
  #sweep: NodeJS.Timeout | null = null;
  #closed = false;
  readonly #ending = new AbortController();
  readonly #strays: Strays | null;
  /** What a sidecar that was killed left has ended: two of one server may not work on the same files. */
  readonly swept: Promise<number>;
  /** Keeps what no model is shown. */
  readonly received: Received;

  constructor(options: PoolOptions) {
    this.#options = options;
    const { directory } = options;
    this.#strays = directory === null ? null : new Strays(path.join(directory, 'servers'));
    this.received =
      directory === null
        ? () => Promise.resolve('there is no place for it')
        : receivedIn(path.join(directory, 'received'));
    this.swept = this.#strays?.sweep() ?? Promise.resolve(0);
  }

  /** What a server offers; within limits.serverStartMs, whatever the server does. Never rejects. */
  async offer(ref: ServerRef): Promise<OfferAnswer> {
    const server = this.#of(ref);
    const asked = this.#connected(server).then(
      (): OfferAnswer => ({ kind: 'offer', offer: server.offer ?? { tools: [], dropped: [] } }),
      (error: unknown): OfferAnswer => ({ kind: 'failed', message: messageOf(error) }),
    );
    const startMs = this.#options.startMs ?? limits.serverStartMs;
    const late: OfferAnswer = {
      kind: 'failed',
      message: `${ref.name} has not started within ${startMs / 1_000} seconds. Its tools come when it has.`,
    };
    return await withTimeout(asked, startMs, late);
  }

  /**
   * Calls a tool.
   * @throws ServerProblem with how far it came.
   */
  async call(ref: ServerRef, tool: string, input: JsonObject, how: CallOptions): Promise<JsonObject> {
    const server = this.#of(ref);
    await this.#turn(server, how.signal);
    try {
      return await this.#callNow(server, tool, input, how);
    } finally {
      server.active -= 1;
      server.usedMs = performance.now();
      server.queue.shift()?.();
    }
  }

  /** How a server is at this moment. */
  status(hash: string): ServerStatus {
    const server = this.#servers.get(hash);
    if (server === undefined) return { status: 'idle', pid: null, problem: null };
    const { connection, connecting, problem } = server;
    const status =
      connection !== null
        ? 'running'
        : connecting !== null
          ? 'starting'
          : problem !== null
            ? 'failed'
            : 'idle';
    return { status, pid: connection?.pid ?? null, problem };
  }

  /** Ends a server and forgets its failures; true: it ran. What it is in the middle of is lost. */
  restart(hash: string): boolean {
    const server = this.#servers.get(hash);
    if (server === undefined) return false;
    const ran = server.connection !== null;
    server.problem = null;
    server.failures = 0;
    server.retryAtMs = 0;
    this.#end(server);
    return ran;
  }

  /** Servers that run or start. */
  get running(): number {
    return [...this.#servers.values()].filter((each) => each.connection !== null || each.connecting !== null)
      .length;
  }

  /** Ends all servers without waiting for them: this process ends. */
  close(): void {
    this.#closed = true;
    if (this.#sweep !== null) clearInterval(this.#sweep);
    this.#ending.abort();
  }

  #of(ref: ServerRef): Server {
    const known = this.#servers.get(ref.hash);
    if (known !== undefined) return known;
    const server: Server = {
      ref,
      connection: null,
      connecting: null,
      closing: null,
      offer: null,
      problem: null,
      failures: 0,
      retryAtMs: 0,
      usedMs: performance.now(),
      startedMs: 0,
      active: 0,
      queue: [],
    };
    this.#servers.set(ref.hash, server);
    return server;
  }

  async #turn(server: Server, signal: AbortSignal): Promise<void> {
    if (limits.serverCalls <= server.active) {
      await new Promise<void>((resolve) => {
        server.queue.push(resolve);
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    }
    server.active += 1;
  }

  async #callNow(server: Server, tool: string, input: JsonObject, how: CallOptions): Promise<JsonObject> {
    if (how.signal.aborted) throw new ServerProblem('notSent', 'It was given up.');
    const connection = await this.#connected(server);
    try {
      return await connection.call(tool, input, how);
    } catch (error) {
      if (problemOf(error)?.kind !== 'notSent' || how.signal.aborted) throw error;
      // It never began, such as in a session that the server has forgotten: once more, over a new connection.
      this.#drop(server, connection);
      return await (await this.#connected(server)).call(tool, input, how);
    }
  }

  /** The server's connection, made when there is none. Rejects with a ServerProblem. */
  #connected(server: Server): Promise<Connection> {
    if (server.connection !== null) return Promise.resolve(server.connection);
    if (server.connecting !== null) return server.connecting;
    const refusal = this.#refusal(server);
    if (refusal !== null) return Promise.reject(new ServerProblem('notSent', refusal));
    const pauseMs = server.problem === null ? 0 : server.retryAtMs - performance.now();
    const ready = Promise.all([this.swept, server.closing, pauseMs <= 0 ? null : sleep(pauseMs)]);
    const begun = ready.then(() => this.#connect(server));
    const connecting = begun.then(
      (connection) => {
        server.connection = connection;
        server.problem = null;
        server.failures = 0;
        server.usedMs = performance.now();
        server.startedMs = server.usedMs;
        return connection;
      },
      (error: unknown) => {
        server.failures += 1;
        const pauseMs = Math.min(
          limits.serverRetryLongestMs,
          limits.serverRetryFirstMs * 2 ** (server.failures - 1),
        );
        server.retryAtMs = performance.now() + pauseMs;
        server.problem = `The server ${server.ref.name} cannot be used: ${messageOf(error)}`;
        throw new ServerProblem('notSent', server.problem);
      },
    );
    server.connecting = connecting.finally(() => (server.connecting = null));
    return server.connecting;
  }

  #refusal(server: Server): string | null {
    if (this.#closed) return 'Roost is ending.';
    const waitMs = server.retryAtMs - performance.now();
    if (server.problem !== null && limits.serverPatienceMs < waitMs)
      return `${server.problem} It is tried again in ${Math.ceil(waitMs / 1_000)} seconds.`;
    if (this.running < limits.serversRunning) return null;
    const calm = [...this.#servers.values()]
      .filter((each) => each.connection !== null && each.active === 0)
      .sort((a, b) => a.usedMs - b.usedMs)[0];
    if (calm === undefined)
      return `${limits.serversRunning} servers run already and all of them are at work. Wait for some.`;
    this.#end(calm);
    return null;
  }

  async #connect(server: Server): Promise<Connection> {
    const { ref } = server;
    const read = await readStart(ref, this.#options.surroundings);
    if (typeof read === 'string') throw new ServerProblem('notSent', read);
    const { start, folder } = read;
    const given = start.kind === 'stdio' ? start.env : start.headers;
    for (const [name, value] of Object.entries(given)) if (isSecret(name, value)) this.#options.hide(value);
    this.#client ??= loadClient();
    const { connect } = await this.#client;
    let connection: Connection | null = null;
    connection = await connect({
      start,
      env: this.#options.environment(),
      record: start.kind === 'stdio' ? (this.#strays?.record() ?? null) : null,
      folder,
      signal: this.#ending.signal,
      events: {
        closed: (why) => {
          if (connection !== null && server.connection === connection) this.#lost(server, why);
        },
        listChanged: () => {
          // A server that ends meanwhile says so by itself.
          if (connection !== null && server.connection === connection)
            void this.#list(server, connection).catch(() => undefined);
        },
      },
    });
    try {
      await this.#list(server, connection);
    } catch (error) {
      await connection.close();
      throw error;
    }
    this.#sweep ??= setInterval(
      () => this.#endIdle(),
      this.#options.idleMs ?? limits.serverIdleCheckMs,
    ).unref();
    return connection;
  }

  async #list(server: Server, connection: Connection): Promise<void> {
    const offer = judgeOffer(await connection.list(), limits);
    server.offer = offer;
    this.#options.offered(server.ref.hash, offer);
  }

  /** The server has ended by itself. The next call starts it again, unless it keeps ending. */
  #lost(server: Server, why: string): void {
    server.connection = null;
    const quickly = performance.now() - server.startedMs < limits.serverRetryFirstMs;
    server.failures = quickly ? server.failures + 1 : 0;
    server.problem = `The server ${server.ref.name} has ended: ${why}.`;
    server.retryAtMs = quickly ? performance.now() + limits.serverRetryFirstMs : 0;
  }

  #drop(server: Server, connection: Connection): void {
    if (server.connection === connection) server.connection = null;
    server.closing = connection.close().finally(() => (server.closing = null));
  }

  #end(server: Server): void {
    const { connection } = server;
    if (connection !== null) this.#drop(server, connection);
  }

  #endIdle(): void {
    const idleMs = this.#options.idleMs ?? limits.serverIdleMs;
    for (const server of this.#servers.values()) {
      if (server.active === 0 && idleMs <= performance.now() - server.usedMs) this.#end(server);
    }
  }
}

/** Of an own bundle beside the sidecar's, or of the source tree. The name is computed so that no bundle takes it in. */
function loadClient(): Promise<ClientModule> {
  const here = import.meta.dirname;
  const client = path.basename(here) === 'dist' ? './mcp.cjs' : './client.ts';
  return import(client);
}

/** What reads like a secret by its name, and is long enough that hiding it hides nothing else. */
const isSecret = (name: string, value: string): boolean =>
  8 <= value.length && /(key|token|secret|passw|credential|auth|cookie)/i.test(name);

function withTimeout<T>(promise: Promise<T>, limitMs: number, late: T): Promise<T> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(late), limitMs);
    void promise.then((value) => {
      clearTimeout(timer);
      resolve(value);
    });
  });
}
