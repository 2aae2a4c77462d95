// A small world for stories about the runtime: the real store in memory, a virtual clock, and a model that
// answers with what the test wrote for the text it was last sent.

import { noKnowledge, type Knowledge } from '../../sidecar/core/knowledge.ts';
import { createHost, type Host } from '../../sidecar/runtime/host.ts';
import type { RuntimeOptions } from '../../sidecar/runtime/memory.ts';
import type { ClientEvent, RuntimeMethod } from '../../sidecar/runtime/event.ts';
import { openStore, type OpenStore } from '../../sidecar/store/open.ts';
import type { Block, StopReason } from '../../sidecar/protocol/entry.ts';
import type { ModelPrice } from '../../sidecar/protocol/cost.ts';
import type { Params, Result } from '../../sidecar/protocol/methods.ts';
import type {
  Item,
  ModelOutcome,
  ModelRequest,
  News,
  OfferAnswer,
  Ports,
  ToolEvent,
  ToolJob,
  ToolOutcome,
} from './types.ts';

export type Say = string | readonly (readonly [tool: string, input: unknown])[];
export type Answerer = (items: readonly Item[], request: ModelRequest) => Say | ModelOutcome | 'silent';

export interface WorldOptions {
  readonly answer: Answerer;
  readonly slots?: Partial<RuntimeOptions>;
  /** What a tool does; the default says `ok`. */
  readonly tool?: (job: ToolJob) => ToolEvent | 'silent';
  readonly ask?: boolean;
  /** The model is a real one: its pace is ramped up. */
  readonly paced?: boolean;
  /** Room of every model; then a token is four characters, as its provider counts. */
  readonly contextTokens?: number;
}

/** Two files have the same name here exactly when their bytes are the same. */
const nameOfBytes = (bytes: Uint8Array | null): string =>
  bytes === null ? '' : Buffer.from(bytes).toString('hex');

const usual = { input: 1_000_000, output: 2_000_000, cacheRead: 100_000, cacheWrite: 1_250_000 };

interface Task {
  readonly atMs: number;
  readonly order: number;
  readonly work: () => void;
}

export class World {
  readonly open: OpenStore = openStore({ directory: '', durability: 'process', mode: 'memory' });
  readonly requests: ModelRequest[] = [];
  readonly news: News[] = [];
  readonly ran: ToolJob[] = [];
  /** Commands in the background, as they are looked after, by their call. */
  readonly behind = new Map<number, { isStopped: boolean; end: (outcome: ToolOutcome) => void }>();
  readonly bugs: string[] = [];
  keys = new Set<string>(['scripted']);
  /** What folders tell agents, as a look would find it now. */
  knowledge: Knowledge = noKnowledge;
  /** As a person has set them. */
  readonly prices = new Map<string, ModelPrice>();
  /** Whether a window lends models of its editor. */
  window = false;
  /** Models that only agents of a person may use. */
  readonly alone = new Set<string>();
  serverFiles: readonly string[] = [];
  /** What servers offer, by name; one that is not here never says. */
  readonly offers = new Map<string, OfferAnswer>();
  /** Servers that were asked, by name. */
  readonly asked: string[] = [];
  nowMs = 1_000_000;
  host: Host;
  private tasks: Task[] = [];
  private order = 0;
  private alarmTask: Task | null = null;
  private readonly options: WorldOptions;
  private serial = 0;

  constructor(options: WorldOptions) {
    this.options = options;
    this.host = this.boot();
  }

  boot(): Host {
    const { slots } = this.options;
    return createHost(this.ports(), {
      modelSlots: 100,
      commandSlots: 4,
      defaultModel: 'scripted/test',
      ...slots,
    });
  }

  /** Everything in flight is gone; the rows are there. */
  crash(): void {
    this.tasks = [];
    this.alarmTask = null;
    this.host = this.boot();
  }

  at(inMs: number, work: () => void): Task {
    const task = { atMs: this.nowMs + inMs, order: this.order++, work };
    this.tasks.push(task);
    return task;
  }

  /** Runs until nothing is left to do, or only what lies further ahead than `forMs`. */
  run(forMs = 0): void {
    const endMs = this.nowMs + forMs;
    for (let steps = 0; steps < 1_000_000 && this.step(endMs); steps++);
    this.nowMs = Math.max(this.nowMs, endMs);
  }

  /** Does what comes next, if it comes until then; returns whether it did. */
  step(untilMs = Number.POSITIVE_INFINITY): boolean {
    this.tasks.sort((a, b) => a.atMs - b.atMs || a.order - b.order);
    const task = this.tasks[0];
    if (task === undefined || task.atMs > untilMs) return false;
    this.tasks.shift();
    this.nowMs = Math.max(this.nowMs, task.atMs);
    task.work();
    return true;
  }

  /** Calls a method, runs until it is answered, and returns the answer or throws its message. */
  call<M extends RuntimeMethod>(kind: M, params: Params<M>): Result<M> {
    let answered: { ok: true; value: Result<M> } | { ok: false; code: string; message: string } | undefined;
    const event = {
      kind,
      params,
      reply: (answer: typeof answered) => (answered = answer),
    } as unknown as ClientEvent;
    this.host.post(event);
    this.run();
    if (answered === undefined) throw new Error(`${kind} was not answered`);
    if (!answered.ok) throw new Error(`${answered.code}: ${answered.message}`);
    return answered.value;
  }

  key(): string {
    return `key-${++this.serial}`;
  }

  start(text: string, more: Partial<Params<'agent/start'>> = {}): Result<'agent/start'> {
    return this.call('agent/start', { text, workspace: '/w', key: this.key(), ...more });
  }

  /** The server looks at the folder and tells, as it does before it posts a start. */
  look(): void {
    this.host.post({ kind: 'looked', workspace: '/w', knowledge: this.knowledge, call: 0 });
  }

  /** The transcript of an agent, a line an entry. */
  transcript(agent: number): string[] {
    return this.open.reads.entries(agent, { after: 0, limit: 500 }).entries.map(({ body }) => {
      switch (body.kind) {
        case 'user':
          return `${body.from === 'person' ? 'person' : `agent ${body.from}`}: ${body.text}`;
        case 'notice':
        case 'note':
        case 'rewind':
          return `${body.kind}: ${body.text}`;
        case 'answer':
          return `answer: ${body.blocks.map((block) => (block.kind === 'call' ? `[${block.tool} ${block.input}]` : block.text)).join(' ')}`;
        case 'result':
          return `result ${body.status}: ${body.text}`;
        case 'context':
          return `context ${body.how}: ${body.text}`;
        case 'end':
          return `end ${body.outcome}${body.text === '' ? '' : `: ${body.text}`}`;
      }
    });
  }

  private ports(): Ports {
    const { store } = this.open;
    const log = (message: string, facts: Readonly<Record<string, unknown>>): void => {
      this.bugs.push(`${message} ${JSON.stringify(facts)}`);
    };
    return {
      store,
      log,
      model: {
        ask: (request, post) => this.ask(request, post),
        info: (id) => {
          const scripted = this.options.paced !== true;
          const alone = this.alone.has(id) ? { alone: true } : {};
          return {
            id,
            contextTokens: this.options.contextTokens ?? 200_000,
            outputTokens: 8_000,
            scripted,
            ...alone,
          };
        },
        price: (model) => this.prices.get(model) ?? (model.startsWith('unpriced/') ? null : usual),
        setPrice: (model, price) =>
          void (price === null ? this.prices.delete(model) : this.prices.set(model, price)),
        setProvider: () => undefined,
        list: () => undefined,
        setKey: (provider, key) => void (key === null ? this.keys.delete(provider) : this.keys.add(provider)),
        lacks: (model) => {
          if (model.startsWith('vscode/')) return this.window ? null : 'editor';
          return this.keys.has(model.split('/')[0] ?? '') ? null : 'key';
        },
        pool: (model) => ({
          name: model,
          atOnce: model.startsWith('vscode/') ? 2 : null,
          ramp: this.options.paced === true,
        }),
      },
      tools: {
        specs: ['shell', 'read', 'edit', 'write', 'search', 'skill'].map((name) => ({
          name,
          description: name,
          schema: { type: 'object' },
        })),
        classOf: () => 'effect',
        prepareNow: () => null,
        prepare: (job, post) => {
          const ask = {
            kind: 'command' as const,
            title: job.tool,
            detail: JSON.stringify(job.input),
            cluster: job.tool,
            always: false,
            harmless: false,
            sandboxed: false,
          };
          this.at(0, () =>
            post({
              kind: 'run',
              evidence: { tool: job.tool },
              ask: this.options.ask === true ? ask : null,
              usesCommandSlot: job.tool === 'shell',
            }),
          );
          return () => undefined;
        },
        offer: ({ name }, post) => {
          this.asked.push(name);
          const answer = this.offers.get(name);
          if (answer !== undefined) this.at(20, () => post(answer));
        },
        run: (job, _evidence, post) => this.tool(job, post),
        attend: (job, _evidence, post) => {
          const command = { job, isStopped: false, end: post };
          this.behind.set(job.call, command);
          return () => void (command.isStopped = true);
        },
        settled: () => undefined,
        recover: (job, _evidence, post) => {
          this.at(0, () =>
            post({
              kind: 'done',
              outcome: { status: 'unknown', text: `nobody knows what became of ${job.tool}` },
            }),
          );
          return () => undefined;
        },
      },
      trees: { sweep: () => undefined },
      checkpoints: { restore: () => undefined },
      review: {
        detail: () => undefined,
        plan: () => undefined,
        write: () => undefined,
        measure: (before, after) => ({
          added: 0,
          removed: 0,
          ranges: '',
          beforeHash: nameOfBytes(before),
          afterHash: nameOfBytes(after),
        }),
        rebase: ({ base }) => base,
      },
      scout: {
        look: (_folder, post) => void this.at(1, () => post(this.knowledge)),
        setServerFiles: (files) => void (this.serverFiles = files),
      },
      clock: {
        nowMs: () => this.nowMs,
        monotonicMs: () => this.nowMs,
        alarm: (atMs, ring) => {
          if (this.alarmTask !== null) this.tasks = this.tasks.filter((task) => task !== this.alarmTask);
          this.alarmTask = atMs === null ? null : this.at(Math.max(0, atMs - this.nowMs), ring);
        },
        soon: (work, afterMs) => void this.at(afterMs, work),
      },
      random: { next: () => 0.5 },
      clients: { secret: (_provider, post) => void this.at(0, () => post(null)) },
      publish: {
        committed: (news) => this.news.push(news),
        delta: () => undefined,
        streamEnd: () => undefined,
        output: () => undefined,
      },
    };
  }

  private tool(job: ToolJob, post: (event: ToolEvent) => void): () => void {
    this.ran.push(job);
    const event = this.options.tool?.(job) ?? { kind: 'done', outcome: { status: 'ok', text: 'ok' } };
    let live = event !== 'silent';
    this.at(10, () => {
      if (live && event !== 'silent') post(event);
    });
    return () => (live = false);
  }

  private ask(
    request: ModelRequest,
    post: (event: { kind: 'end'; outcome: ModelOutcome }) => void,
  ): () => void {
    this.requests.push(request);
    const items: Item[] = [];
    const next = request.pages();
    for (let page = next(); page !== null; page = next()) items.push(...page);
    const said = this.options.answer(items, request);
    const counted = this.options.contextTokens === undefined ? 100 : tokensOf(request, items);
    let live = said !== 'silent';
    this.at(10, () => {
      if (!live) return;
      live = false;
      post({ kind: 'end', outcome: outcomeOf(said, counted) });
    });
    return () => (live = false);
  }
}

function tokensOf(request: ModelRequest, items: readonly Item[]): number {
  const chars = items.reduce(
    (sum, item) => sum + (item.kind === 'answer' ? JSON.stringify(item.blocks) : item.text).length,
    request.system.length + JSON.stringify(request.tools).length,
  );
  return Math.ceil(chars / 4);
}

let callSerial = 0;

function outcomeOf(said: Say | ModelOutcome | 'silent', input: number): ModelOutcome {
  if (typeof said === 'object' && 'kind' in said) return said;
  const blocks: Block[] =
    typeof said === 'string'
      ? [{ kind: 'text', text: said }]
      : said.map(([tool, input]) => ({
          kind: 'call',
          key: `k${++callSerial}`,
          tool,
          input: typeof input === 'string' ? input : JSON.stringify(input),
        }));
  const stop: StopReason = typeof said === 'string' ? 'end' : 'calls';
  return { kind: 'answer', blocks, stop, usage: { input, output: 10, cacheRead: 0, cacheWrite: 0 } };
}

/** The last text that a person, a parent or the runtime wrote, and the results after it. */
export function lastOf(items: readonly Item[]): {
  readonly user: string;
  readonly results: readonly string[];
} {
  let user = '';
  let results: string[] = [];
  for (const item of items) {
    if (item.kind === 'user') {
      user = item.text;
      results = [];
    } else if (item.kind === 'result') results.push(item.text);
  }
  return { user, results };
}
