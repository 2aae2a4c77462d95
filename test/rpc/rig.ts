// A server over a real socket for tests: the real store in memory, rows that the test writes, and a host that
// takes down what it is posted. Clients speak through vscode-jsonrpc, or with raw bytes when they are to be bad.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import * as net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';

import { createMessageConnection, SocketMessageReader, SocketMessageWriter } from 'vscode-jsonrpc/node';
import type { MessageConnection } from 'vscode-jsonrpc/node';

import { createClock } from '../../sidecar/platform/clock.ts';
import { noKnowledge } from '../../sidecar/core/knowledge.ts';
import type { Discovery } from '../../sidecar/protocol/discovery.ts';
import type { EntryBody } from '../../sidecar/protocol/entry.ts';
import type { Channel, Frame, Snapshot } from '../../sidecar/protocol/frame.ts';
import { agentId, entryId, type AgentId } from '../../sidecar/protocol/ids.ts';
import type { EditorMethods } from '../../sidecar/protocol/editorMethods.ts';
import type { MethodName, Params, Result } from '../../sidecar/protocol/methods.ts';
import { reduce } from '../../sidecar/protocol/reduce.ts';
import { build, protocolVersion } from '../../sidecar/protocol/version.ts';
import type { News, Reads } from '../../sidecar/ports.ts';
import { listen } from '../../sidecar/rpc/listen.ts';
import { createServer, type Server, type ServerOptions } from '../../sidecar/rpc/serve.ts';
import type { RuntimeEvent } from '../../sidecar/runtime/event.ts';
import { openStore, type OpenStore } from '../../sidecar/store/open.ts';
import { agentRow, changeRow, entryRow, requestRow, turnRow } from '../store/samples.ts';

export const nonce = 'a'.repeat(64);

/** Waits for a condition; the error says which one never came. */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  withinMs = 5_000,
): Promise<void> {
  const endMs = performance.now() + withinMs;
  while (!(await holds())) {
    if (endMs < performance.now()) assert.fail(`never came: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** A client of a sidecar that runs as a process of its own. */
export async function connectTo(t: TestContext, found: Discovery | null): Promise<TestClient> {
  assert.ok(found !== null, 'it listens');
  const socket = await new Promise<net.Socket>((resolve, reject) => {
    const opened = net.createConnection(found.socket, () => resolve(opened));
    opened.once('error', reject);
  });
  const client = new TestClient(socket);
  t.after(() => client.close());
  await client.hello({ nonce: found.nonce });
  return client;
}

export class Rig {
  readonly socketPath: string;
  readonly store: OpenStore;
  readonly server: Server;
  /** What the runtime was posted. */
  readonly events: RuntimeEvent[] = [];
  /** What the log was told. */
  readonly warnings: string[] = [];
  readonly errors: string[] = [];
  readonly hidden: string[] = [];
  /** How often each read was asked. */
  readonly reads = new Map<string, number>();
  /** What has come so far of agents' answers. */
  readonly said = new Map<number, { readonly text: string; readonly thinking: string }>();
  accepting = true;
  trouble: string | null = null;
  shutdowns = 0;
  /** Answers a posted event; the default keeps it unanswered. */
  onEvent: (event: RuntimeEvent) => void = () => undefined;
  private readonly clients: TestClient[] = [];
  private readonly folder: string;

  private constructor(folder: string, options: Partial<ServerOptions>) {
    this.folder = folder;
    this.socketPath =
      process.platform === 'win32' ? `\\\\.\\pipe\\${path.basename(folder)}` : path.join(folder, 's');
    this.store = openStore({ directory: folder, durability: 'process', mode: 'memory' });
    const host = {
      post: (event: RuntimeEvent): boolean => {
        if (!this.accepting) return false;
        // What was seen of a folder goes before what rests on it; nobody here is told more.
        if (event.kind === 'looked') return true;
        this.events.push(event);
        this.onEvent(event);
        // The runtime remembers and answers; no test is about that it does not.
        if (event.kind === 'told') event.reply({ ok: true, value: {} });
        return true;
      },
      loop: () => ({ p99Ms: 1, maxMs: 2, events: 3 }),
      slots: () => ({ modelUsed: 0, modelLimit: 100, commandUsed: 0, commandLimit: 8 }),
      said: (agent: AgentId) => this.said.get(agent) ?? null,
      trouble: () => this.trouble,
    };
    this.server = createServer({
      directory: folder,
      nonce,
      reads: counting(this.store.reads, this.reads),
      behind: () => ({
        host,
        checkpoints: {
          list: () => Promise.resolve({ rows: [], more: false }),
          preview: () => Promise.reject(new Error('there is none')),
        },
        outputs: { output: () => null },
        trees: {
          list: () => Promise.resolve({ rows: [], more: false, freeBytes: null }),
          remove: () => Promise.resolve({ removed: false, reason: '' }),
        },
        review: {
          detail: (row, _, post) =>
            setImmediate(() => post({ ...row, hunks: [], baseText: null, afterText: null })),
        },
      }),
      newClock: () => createClock({ alarm: 'elapsed' }),
      log: {
        info: () => undefined,
        warn: (message) => void this.warnings.push(message),
        redacted: (text: string) => text,
        hide: (secret) => void this.hidden.push(secret),
        error: (message, fields) => void this.errors.push(`${message} ${JSON.stringify(fields)}`),
      },
      about: () => ({ durability: 'process', startedAtMs: 1, privateBytes: 2 }),
      models: () => Promise.resolve({ models: [], default: null, roles: {} }),
      checkStart: (params) => Promise.resolve(params),
      servers: () => ({
        status: () => ({ status: 'idle', pid: null, problem: null }),
        restart: () => false,
        offer: () => Promise.resolve({ kind: 'failed', message: 'no servers here' }),
      }),
      look: () => Promise.resolve(noKnowledge),
      shutdown: () => void (this.shutdowns += 1),
      ...options,
    });
  }

  static async open(t: TestContext, options: Partial<ServerOptions> = {}): Promise<Rig> {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'roost-rpc-'));
    const rig = new Rig(folder, options);
    const door = await listen(rig.socketPath, rig.server.accept, (error) => rig.errors.push(error.message));
    t.after(() => {
      for (const client of rig.clients) client.close();
      door.close();
      rig.server.close(() => undefined);
      rig.store.close();
      rmSync(folder, { recursive: true, force: true });
    });
    return rig;
  }

  get directory(): string {
    return this.folder;
  }

  /** A connection that has said hello. */
  async client(hello: Partial<Params<'hello'>> = {}): Promise<TestClient> {
    const client = await this.stranger();
    await client.hello(hello);
    return client;
  }

  /** A connection that has said nothing. */
  async stranger(): Promise<TestClient> {
    const client = new TestClient(await this.raw());
    this.clients.push(client);
    return client;
  }

  raw(): Promise<net.Socket> {
    return new Promise((resolve, reject) => {
      const socket = net.createConnection(this.socketPath, () => resolve(socket));
      socket.once('error', reject);
    });
  }

  // ---------------------------------------------------------------- rows, each with its news

  agent(parent = 0, name = 'agent'): AgentId {
    const id = this.commit(() =>
      this.store.store.insert(
        'agent',
        agentRow({ parent, root: parent === 0 ? 1 : parent, name: `${name}${++this.serial}` }),
      ),
    );
    this.publish({ agents: new Set([id]), lists: new Set([parent]) });
    return agentId(id);
  }

  say(agent: number, body: string | EntryBody): number {
    return this.sayMany(agent, [body]);
  }

  /** Many entries in one commit; the id of the last. */
  sayMany(agent: number, bodies: readonly (string | EntryBody)[]): number {
    const ids = this.commit(() =>
      bodies.map((body) => this.store.store.insert('entry', entryRow(agent, body))),
    );
    this.publish({ firstEntry: ids[0] ?? 0, lastEntry: ids.at(-1) ?? 0, spoke: new Set([agent]) });
    return ids.at(-1) ?? 0;
  }

  patch(agent: number, row: Parameters<typeof agentRow>[0]): void {
    this.commit(() => this.store.store.update('agent', agent, row ?? {}));
    this.publish({ agents: new Set([agent]) });
  }

  request(agent: number, detail = 'detail'): number {
    const id = this.commit(() => this.store.store.insert('request', requestRow({ agent, detail })));
    this.publish({ requests: new Set([agent]) });
    return id;
  }

  change(agent: number, label = 'a.ts'): number {
    const id = this.commit(() =>
      this.store.store.insert('change', changeRow({ agent, label, path: `/w/${label}` })),
    );
    this.publish({ changes: new Set([agent]) });
    return id;
  }

  turn(agent: number): number {
    return this.commit(() => this.store.store.insert('turn', turnRow({ agent, state: 'open' })));
  }

  endTurn(turn: number): void {
    this.commit(() =>
      this.store.store.update('turn', turn, { state: 'ended', outcome: 'done', brief: 'said' }),
    );
    this.publish({ ended: [turn] });
  }

  publish(news: Partial<News>): void {
    const none: ReadonlySet<number> = new Set();
    this.server.publish.committed({
      agents: none,
      lists: none,
      firstEntry: 0,
      lastEntry: 0,
      spoke: none,
      rewound: none,
      calls: none,
      requests: none,
      changes: none,
      ended: [],
      ...news,
    });
  }

  commit<T>(work: () => T): T {
    const result = this.store.store.transact(work);
    if (result.kind !== 'committed') throw new Error(result.message);
    return result.value;
  }

  private serial = 0;
}

type States = { [S in Snapshot as S['kind']]: S['state'] };

/** A client that keeps a replica of what it follows, and fails on a gap. */
export class TestClient {
  readonly socket: net.Socket;
  readonly rpc: MessageConnection;
  readonly frames: Frame[] = [];
  resets = 0;
  closed = false;
  /** Errors that came for no call of ours. */
  readonly refusals: string[] = [];
  private readonly replicas = new Map<number, { snapshot: Snapshot; seq: number }>();

  constructor(socket: net.Socket) {
    this.socket = socket;
    const reader = new SocketMessageReader(socket);
    this.rpc = createMessageConnection(reader, new SocketMessageWriter(socket), {
      error: (message) => void this.refusals.push(message),
      warn: () => undefined,
      info: () => undefined,
      log: () => undefined,
    });
    this.rpc.onNotification('follow/frames', ({ frames }: { frames: readonly Frame[] }) => {
      for (const frame of frames) this.take(frame);
    });
    this.rpc.onError(() => undefined);
    this.rpc.onClose(() => {
      this.closed = true;
      this.rpc.dispose();
    });
    this.rpc.listen();
  }

  hello(own: Partial<Params<'hello'>> = {}): Promise<Result<'hello'>> {
    return this.call('hello', {
      protocol: protocolVersion,
      build,
      nonce,
      client: { kind: 'test', name: 'test' },
      can: [],
      workspaces: [],
      ...own,
    });
  }

  call<M extends MethodName>(method: M, params: Params<M>): Promise<Result<M>> {
    return this.rpc.sendRequest(method, params);
  }

  /** The stable code with which a call fails, and its message. */
  async fails(method: string, params: unknown): Promise<{ code: string; message: string }> {
    try {
      await this.rpc.sendRequest(method, params);
    } catch (error) {
      const { message, data } = error as { message: string; data?: { code: string } };
      return { code: data?.code ?? 'lost', message };
    }
    return assert.fail(`${method} did not fail`);
  }

  answers<M extends keyof EditorMethods>(
    method: M,
    answer: (
      params: EditorMethods[M]['params'],
    ) => EditorMethods[M]['result'] | Promise<EditorMethods[M]['result']>,
  ): void {
    this.rpc.onRequest(method, answer as (params: unknown) => unknown);
  }

  async follow(channel: Channel, after = 0): Promise<number> {
    const params = channel.kind === 'log' ? { channel, after: entryId(after) } : { channel };
    const { follow, snapshot, seq } = await this.call('follow/open', params);
    this.replicas.set(follow, { snapshot, seq });
    return follow;
  }

  async move(follow: number, channel: Channel): Promise<void> {
    this.replicas.set(follow, await this.call('follow/move', { follow, channel }));
  }

  state<K extends keyof States>(follow: number, kind: K): States[K] {
    const snapshot = this.replicas.get(follow)?.snapshot;
    assert.equal(snapshot?.kind, kind);
    return snapshot?.state as States[K];
  }

  /** Ids of the entries that a log was told, in the order in which they came. */
  logged(follow: number): number[] {
    return this.frames
      .filter((frame) => frame.follow === follow)
      .flatMap((frame) => frame.actions)
      .flatMap((action) =>
        action.kind === 'log/entries' ? action.entries.map((entry) => Number(entry.id)) : [],
      );
  }

  close(): void {
    this.socket.destroy();
  }

  private take(frame: Frame): void {
    this.frames.push(frame);
    const replica = this.replicas.get(frame.follow);
    if (replica === undefined) return;
    assert.equal(frame.seq, replica.seq + 1, 'frames are contiguous');
    if (frame.reset !== undefined) this.resets += 1;
    replica.seq = frame.seq;
    replica.snapshot = frame.actions.reduce(reduce, frame.reset ?? replica.snapshot);
  }
}

function counting(reads: Reads, counts: Map<string, number>): Reads {
  return new Proxy(reads, {
    get: (target, name: keyof Reads) => {
      const read = target[name] as (...args: unknown[]) => unknown;
      return (...args: unknown[]) => {
        counts.set(name, (counts.get(name) ?? 0) + 1);
        return read.apply(target, args);
      };
    },
  });
}
