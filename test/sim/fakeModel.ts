// The Model port: an answer is the script's (script.ts), a function of the conversation that was sent. Each
// request is read page by page, as a provider would get it, and what a provider would refuse is a violation.
//
// Faults: refused with and without a date, cut, rejected, no or a wrong key, a window that goes, empty answers, cut-off and paused
// answers, equal and empty call keys, lone surrogates, slow, answers after a cancel.
// Not here: whether the words are right in the end (checks.ts).

import type { Cancel, Item, Model, ModelEvent, ModelOutcome, ModelRequest } from '../../sidecar/ports.ts';
import { limits } from '../../sidecar/runtime/limits.ts';
import { conduct, conductorProvider, modelToGive } from '../../sidecar/core/conductor.ts';
import type { Block } from '../../sidecar/protocol/entry.ts';
import type { LimitReading } from '../../sidecar/core/terms.ts';
import { hash } from './chance.ts';
import { isWish, say, standing, summaryOf, type Say } from './script.ts';
import { nameOf } from './checks.ts';
import type { Sim } from './sim.ts';
import type { Process } from './world.ts';

/** Micro-dollars for a million tokens. */
const price = { input: 3_000_000, output: 15_000_000, cacheRead: 300_000, cacheWrite: 3_750_000 };

const free = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

export class FakeModel implements Model {
  /** Attempts that this process has asked; those in flight are counted against its slots. */
  readonly asked = new Set<string>();
  readonly #sim: Sim;
  readonly #process: Process;
  #hasKey: boolean;
  /** What a person says that it costs. */
  #own: typeof price | null = null;

  constructor(sim: Sim, process: Process) {
    this.#sim = sim;
    this.#process = process;
    this.#hasKey = !sim.swarm.needsKey;
    this.#own = sim.disk.rows('price')[0] ?? null;
  }

  info(model: string) {
    const { scripted } = this.#sim.swarm;
    return { id: model, contextTokens: roomOf(this.#sim, model), outputTokens: 8_000, scripted };
  }

  price(model: string) {
    if (model.startsWith(`${conductorProvider}/`)) return free;
    return this.#own ?? (this.#sim.swarm.priced ? price : null);
  }

  setPrice(_model: string, own: typeof price | null): void {
    this.#own = own;
  }

  list(): void {
    throw new Error('nobody lists models here');
  }

  setProvider(): void {
    // The simulated provider needs no address.
  }

  setKey(_provider: string, key: string | null): void {
    this.#hasKey = key !== null;
  }

  lacks(): 'key' | 'editor' | null {
    if (!this.#hasKey) return 'key';
    return this.#sim.windowOpen ? null : 'editor';
  }

  pool(model: string) {
    const { scripted, poolSize } = this.#sim.swarm;
    return { name: `pool of ${modelToGive(model)}`, atOnce: poolSize, ramp: !scripted };
  }

  ask(request: ModelRequest, post: (event: ModelEvent) => void): Cancel {
    const sim = this.#sim;
    sim.effect(`ask ${request.agent} attempt ${request.attempt}`);
    sim.check.asked(request);
    this.asked.add(nameOf(request));
    const { chance, world, odds, swarm } = sim;
    let cancelled = false;
    const send = (event: ModelEvent): void => {
      if (!this.#process.alive) return;
      if (cancelled && !(event.kind === 'end' && chance.hits(odds.late))) return;
      sim.trace('model', `${request.agent} ${event.kind === 'end' ? event.outcome.kind : event.kind}`);
      post(event);
    };
    const slow = chance.hits(odds.slow) ? 20 : 1;
    world.later(
      chance.around(swarm.modelMs) * 0.1,
      () => this.#read(request, slow, send, () => cancelled),
      this.#process,
    );
    return () => void (cancelled = true);
  }

  /** The provider has the whole body: it answers, or fails in one of its ways. */
  #read(request: ModelRequest, slow: number, send: (event: ModelEvent) => void, gone: () => boolean): void {
    if (gone())
      return this.#after(1, () =>
        send({ kind: 'end', outcome: { kind: 'cut', receivedBytes: 0, message: 'late' } }),
      );
    const { chance, swarm } = this.#sim;
    const items = this.#items(request);
    const outcome = this.#tooLong(request, items) ?? this.#faultOf(request) ?? this.#answer(request, items);
    const tookMs = chance.around(swarm.modelMs) * slow;
    if (chance.hits(swarm.tells))
      this.#after(tookMs / 4, () => send({ kind: 'limits', limits: this.#limits(), sinceMs: tookMs / 4 }));
    if (chance.hits(0.1)) this.#after(tookMs / 2, () => send({ kind: 'text', text: 'streamed' }));
    this.#after(tookMs, () => {
      if (!this.#sim.windowOpen) return send({ kind: 'end', outcome: noEditor });
      if (outcome.kind === 'refused' && !gone()) this.#sim.check.refused(request, outcome.retryAtMs);
      send({ kind: 'end', outcome });
    });
  }

  #limits(): readonly LimitReading[] {
    const { chance } = this.#sim;
    return (['requests', 'input', 'output', 'tokens'] as const)
      .filter(() => chance.hits(0.5))
      .map((of) => {
        const limit = of === 'requests' ? chance.int(1, 100) : chance.int(1_000, 1_000_000);
        const fullInMs = chance.hits(0.5) ? chance.int(0, 60_000) : null;
        return { of, limit, remaining: Math.floor(limit * chance.next()), fullInMs };
      });
  }

  #after(delayMs: number, work: () => void): void {
    this.#sim.world.later(delayMs, work, this.#process);
  }

  #items(request: ModelRequest): Item[] {
    const read = (): Item[] => {
      const items: Item[] = [];
      const next = request.pages();
      for (let page = next(); page !== null; page = next()) items.push(...page);
      return items;
    };
    const items = read();
    this.#sim.check.history(request, items);
    this.#sim.contexts.sent(request, items);
    if (this.#sim.chance.hits(0.05)) this.#sim.check.sameBytes(request, items, read());
    return items;
  }

  /** The model takes less than is known of it. */
  #tooLong(request: ModelRequest, items: readonly Item[]): ModelOutcome | null {
    const { contextTruth, contextNamed } = this.#sim.swarm;
    const limitTokens = Math.floor(roomOf(this.#sim, request.model) * contextTruth);
    if (contextTruth === 1 || tokensOf(request, items) <= limitTokens) return null;
    this.#sim.excuse(request.agent, 'rejected');
    const refusal = { kind: 'rejected', code: 'contextTooLong', message: 'sim' } as const;
    return contextNamed ? { ...refusal, limitTokens } : refusal;
  }

  /** A conductor is no provider: it is slow or cut off by a crash at most, and rejects nothing. */
  #faultOf(request: ModelRequest): Exclude<ModelOutcome, { kind: 'answer' }> | null {
    const fault = this.#fault(request);
    const isConductor = request.model.startsWith(`${conductorProvider}/`);
    return isConductor && fault?.kind === 'rejected' ? null : fault;
  }

  #fault(request: ModelRequest): Exclude<ModelOutcome, { kind: 'answer' }> | null {
    const { chance, odds, world } = this.#sim;
    if (chance.hits(odds.refused)) {
      const dated = chance.hits(0.5);
      const retryAtMs = dated ? world.wallMs() + chance.int(-5_000, 20_000) : null;
      return { kind: 'refused', retryAtMs, message: 'busy' };
    }
    if (chance.hits(odds.cut))
      return { kind: 'cut', receivedBytes: chance.int(0, 2) * 100, message: 'reset' };
    if (chance.hits(odds.wrongKey))
      return { kind: 'rejected', code: chance.pick(['wrongKey', 'noKey']), message: 'key' };
    if (chance.hits(odds.rejected)) {
      this.#sim.excuse(request.agent, 'rejected');
      return {
        kind: 'rejected',
        code: chance.pick(['contextTooLong', 'staleReasoning', 'badRequest', 'noCredit', 'modelUnknown']),
        message: 'sim',
      };
    }
    return null;
  }

  #answer(request: ModelRequest, items: readonly Item[]): ModelOutcome {
    const { chance, odds, seed, swarm } = this.#sim;
    const input = tokensOf(request, items);
    const usage = {
      input,
      output: chance.hits(0.1)
        ? request.maxOutputTokens
        : Math.min(request.maxOutputTokens, chance.int(1, 2_000)),
      cacheRead: chance.hits(0.3) ? chance.int(0, input) : 0,
      cacheWrite: 0,
    };
    // A conductor is nobody's model: it is late, and never wrong.
    if (request.model.startsWith(`${conductorProvider}/`)) {
      const blocks = conduct(items);
      const stop = blocks.some((block) => block.kind === 'call') ? 'calls' : 'end';
      return { kind: 'answer', blocks, stop, usage: { ...free } };
    }
    if (chance.hits(odds.emptyAnswer)) {
      const blocks: Block[] = chance.hits(0.5) ? [] : [{ kind: 'text', text: '' }];
      return { kind: 'answer', blocks, stop: 'end', usage };
    }
    if (chance.hits(odds.oddStop)) {
      const stop = chance.hits(0.5) ? 'length' : 'pause';
      // A summary that was cut begins with what matters most: where the conversation stands.
      const begun = isWish(items.at(-1)) ? `${summaryOf(standing(items.slice(0, -1)))}\n` : '';
      if (begun !== '') this.#sim.contexts.summarised(request, `${begun}half \uFFFD`);
      return { kind: 'answer', blocks: [{ kind: 'text', text: `${begun}half \uD800` }], stop, usage };
    }
    if (isWish(items.at(-1))) {
      const text = summaryOf(standing(items.slice(0, -1)));
      this.#sim.contexts.summarised(request, text);
      return { kind: 'answer', blocks: [{ kind: 'text', text }], stop: 'end', usage };
    }
    const said = say(
      seed,
      swarm.habits,
      this.#sim.contexts.remembered(request.agent, standing(items), items),
    );
    return { kind: 'answer', blocks: this.#blocks(request, said), stop: stopOf(said), usage };
  }

  #blocks(request: ModelRequest, said: Say): Block[] {
    if (said.kind !== 'calls') return [{ kind: 'text', text: said.text }];
    const blocks: Block[] = said.text === '' ? [] : [{ kind: 'text', text: said.text }];
    said.calls.forEach((call, index) => {
      // Some providers give equal keys, or none (case 99).
      const odd = hash(nameOf(request), index) % 16;
      const key = odd === 0 ? '' : odd === 1 ? 'same' : `k${nameOf(request)}.${index}`;
      const input = typeof call.input === 'string' ? call.input : JSON.stringify(call.input);
      blocks.push({ kind: 'call', key, tool: call.tool, input });
    });
    return blocks;
  }
}

/** Its window went away while it was asked. */
const noEditor: ModelOutcome = { kind: 'rejected', code: 'noEditor', message: 'the window is gone' };

const stopOf = (said: Say) => (said.kind === 'calls' ? 'calls' : said.kind === 'refusal' ? 'refusal' : 'end');

/** What the provider counts: four characters a token, an answer as little, instructions and tools as they are. */
export function tokensOf(request: ModelRequest, items: readonly Item[]): number {
  const chars = items.reduce((sum, item) => sum + (item.kind === 'answer' ? 40 : item.text.length), 0);
  return Math.floor((chars + request.system.length + toolChars(request.tools)) / 4);
}

const charsOfTools = new WeakMap<ModelRequest['tools'], number>();

function toolChars(tools: ModelRequest['tools']): number {
  const chars = charsOfTools.get(tools) ?? JSON.stringify(tools).length;
  charsOfTools.set(tools, chars);
  return chars;
}

/** Tokens that a model is known to take. */
export const roomOf = ({ swarm }: Sim, model: string): number =>
  model.startsWith(`${conductorProvider}/`) ? limits.conductorTokens : swarm.contextTokens;
