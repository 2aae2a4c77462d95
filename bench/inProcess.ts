// The runtime and the SQLite store in this process, with a model that is a function here: for workloads about
// the runtime and the store alone. Acknowledgements are durable (synchronous FULL) as in the product.
//
// The model reads the whole conversation of every request, as a provider's client would, and answers after a
// fixed latency from one shared timer.

import { mkdtempSync, rmSync, statSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createHost, type Host } from '../sidecar/runtime/host.ts';
import type { Ports } from '../sidecar/runtime/memory.ts';
import { noKnowledge } from '../sidecar/core/knowledge.ts';
import { createClock } from '../sidecar/platform/clock.ts';
import { openStore, type OpenStore } from '../sidecar/store/open.ts';
import type { Block } from '../sidecar/protocol/entry.ts';
import type { Params, Result } from '../sidecar/protocol/methods.ts';
import type { RuntimeMethod } from '../sidecar/runtime/event.ts';
import type { Item, Model, ModelOutcome, ModelRequest, News } from '../sidecar/ports.ts';
import { wideTokens } from './workload.ts';

/** What the model says to a conversation of so many answers. */
export type Script = (request: ModelRequest, items: readonly Item[]) => readonly Block[];

export interface InProcess {
  readonly directory: string;
  readonly host: Host;
  readonly open: OpenStore;
  /** Model requests in flight now. */
  inFlight(): number;
  /** Requests answered so far. */
  answered(): number;
  /** Steps committed so far. */
  commits(): number;
  onNews(hear: (news: News) => void): void;
  call<M extends RuntimeMethod>(kind: M, params: Params<M>): Promise<Result<M>>;
  close(): Promise<void>;
}

export interface InProcessOptions {
  readonly script: Script;
  readonly modelSlots: number;
  readonly latencyMs: number;
  /** Keeps using a store that is there. */
  readonly directory?: string;
}

/** A folder for a store, on the disk that temporary files are on. */
export const storeFolder = (): string => mkdtempSync(path.join(os.tmpdir(), 'roost-bench-'));

export function startInProcess(options: InProcessOptions): InProcess {
  const directory = options.directory ?? storeFolder();
  const open = openStore({ directory, durability: 'power' });
  const model = new LatencyModel(options.script, options.latencyMs);
  let hear: (news: News) => void = () => undefined;
  let commits = 0;
  const ports: Ports = {
    store: open.store,
    model,
    tools: {
      specs: [],
      classOf: () => null,
      prepareNow: () => null,
      prepare: (_job, post) => {
        setImmediate(() => post({ kind: 'refuse', text: 'no tools here' }));
        return () => undefined;
      },
      run: () => () => undefined,
      recover: () => () => undefined,
      attend: () => () => undefined,
      settled: () => undefined,
      offer: () => undefined,
    },
    trees: { sweep: () => undefined },
    checkpoints: { restore: () => undefined },
    review: {
      detail: () => undefined,
      plan: () => undefined,
      write: () => undefined,
      measure: () => ({ added: 0, removed: 0, ranges: '', beforeHash: '', afterHash: '' }),
      rebase: ({ base }) => base,
    },
    scout: {
      look: (_folder, post) => setImmediate(() => post(noKnowledge)),
      setServerFiles: () => undefined,
    },
    clock: createClock(),
    random: { next: Math.random },
    clients: { secret: (_provider, post) => void setImmediate(() => post(null)) },
    publish: {
      committed: (news) => {
        commits += 1;
        hear(news);
      },
      delta: () => undefined,
      streamEnd: () => undefined,
      output: () => undefined,
    },
    log: (message, facts) => {
      throw new Error(`${message} ${JSON.stringify(facts)}`);
    },
  };
  const host = createHost(ports, {
    modelSlots: options.modelSlots,
    commandSlots: 4,
    defaultModel: 'scripted/bench',
  });
  return {
    directory,
    host,
    open,
    inFlight: () => model.waiting,
    answered: () => model.answered,
    commits: () => commits,
    onNews: (listener) => (hear = listener),
    call: (kind, params) =>
      new Promise((resolve, reject) => {
        const reply = (
          answer: { ok: true; value: never } | { ok: false; code: string; message: string },
        ): void => {
          if (answer.ok) resolve(answer.value);
          else reject(new Error(`${answer.code}: ${answer.message}`));
        };
        host.post({ kind, params, reply } as never);
      }),
    close: async () => {
      model.stop();
      await new Promise<void>((done) => host.drain(done, true));
      open.close();
      if (options.directory === undefined) rmSync(directory, { recursive: true, force: true });
    },
  };
}

interface Waiting {
  readonly atMs: number;
  readonly blocks: readonly Block[];
  readonly post: (event: { kind: 'end'; outcome: ModelOutcome }) => void;
  cancelled: boolean;
}

class LatencyModel implements Model {
  waiting = 0;
  answered = 0;
  private readonly script: Script;
  private readonly latencyMs: number;
  /** All requests have the same latency, so they end in the order in which they came. */
  private queue: Waiting[] = [];
  private head = 0;
  private timer: NodeJS.Timeout | null = null;

  constructor(script: Script, latencyMs: number) {
    this.script = script;
    this.latencyMs = latencyMs;
  }

  ask(request: ModelRequest, post: Waiting['post']): () => void {
    const items: Item[] = [];
    const next = request.pages();
    for (let page = next(); page !== null; page = next()) items.push(...page);
    const entry: Waiting = {
      atMs: performance.now() + this.latencyMs,
      blocks: this.script(request, items),
      post,
      cancelled: false,
    };
    this.queue.push(entry);
    this.waiting += 1;
    this.timer ??= setTimeout(() => this.ring(), this.latencyMs);
    return () => {
      entry.cancelled = true;
    };
  }

  private ring(): void {
    const nowMs = performance.now();
    for (;;) {
      const entry = this.queue[this.head];
      if (entry === undefined || entry.atMs > nowMs) break;
      this.head += 1;
      this.waiting -= 1;
      this.answered += 1;
      if (entry.cancelled) continue;
      const usage = { input: 300, output: 50, cacheRead: 0, cacheWrite: 0 };
      const stop = entry.blocks.some((block) => block.kind === 'call') ? 'calls' : 'end';
      entry.post({ kind: 'end', outcome: { kind: 'answer', blocks: entry.blocks, stop, usage } });
    }
    if (this.head > 10_000) {
      this.queue = this.queue.slice(this.head);
      this.head = 0;
    }
    const first = this.queue[this.head];
    this.timer = first === undefined ? null : setTimeout(() => this.ring(), Math.max(1, first.atMs - nowMs));
  }

  info(id: string): ReturnType<Model['info']> {
    return { id, contextTokens: wideTokens, outputTokens: 8_000, scripted: true };
  }

  price(): ReturnType<Model['price']> {
    return { input: 1_000_000, output: 4_000_000, cacheRead: 100_000, cacheWrite: 1_250_000 };
  }

  setProvider(): void {}
  list(): void {}
  setKey(): void {}

  lacks(): null {
    return null;
  }

  setPrice(): void {
    // Nothing costs anything here.
  }

  pool(name: string) {
    return { name, atOnce: null, ramp: false };
  }

  stop(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.queue = [];
    this.head = 0;
  }
}

/** Bytes on disk of a store. */
export function storeBytes(directory: string): number {
  const size = (name: string): number => {
    try {
      return statSync(path.join(directory, name)).size;
    } catch {
      return 0;
    }
  };
  return size('roost.db') + size('roost.db-wal');
}
