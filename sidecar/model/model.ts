// The Model port over real providers: which provider a model's name means, where it is, with which key, over
// which connections; the request itself is a Flight. Keys live here, in memory, and nowhere else (DESIGN §13).
//
// Connections are shared by all requests with one origin, one authority file and one key: never by two keys.

import type { Cancel, Model, ModelEvent, ModelPool, ModelRequest } from '../ports.ts';
import { conductorProvider } from '../core/conductor.ts';
import type { ModelOutcome } from '../core/terms.ts';
import type { ModelPrice } from '../protocol/cost.ts';
import {
  editorProvider,
  type Dialect as DialectName,
  type ModelInfo,
  type ProviderSpec,
} from '../protocol/settings.ts';
import { limits } from '../runtime/limits.ts';
import { anthropic } from './anthropic.ts';
import { Authorities } from './authorities.ts';
import { azureBase, deploymentPath } from './azure.ts';
import { free, priceOf, sizesOf, type Shop } from './catalog.ts';
import { chat } from './chat.ts';
import { askConductor, conductorInfo, isConductor } from './conductor.ts';
import { Deadlines } from './deadlines.ts';
import type { Dialect } from './dialect.ts';
import { askEditor, noEditors, type EditorModels } from './editor.ts';
import { Flight, type Line } from './flight.ts';
import { Http1 } from './http1.ts';
import { Http2 } from './http2.ts';
import { listModels, type ListPlace } from './list.ts';
import { knownProviders, pathBelow } from './providers.ts';
import { responses } from './responses.ts';
import { Script } from './scripted.ts';
import type { Patience, Wire } from './transport.ts';

export interface ModelOptions {
  /** How long each phase of a request may be silent; limits.ts where nothing is said. */
  readonly patience?: Partial<Patience>;
  /** Pace of the deadlines. */
  readonly tickMs?: number;
  /** The windows that lend models of their editor; asked for when used, so that they can be made later. */
  readonly editors?: () => EditorModels;
}

/** Makes the Model port. It opens no connection and starts no timer before the first request. */
export function createModel(options: ModelOptions = {}): Model {
  return new Models(options);
}

const dialects: Readonly<Record<Exclude<DialectName, 'scripted'>, Dialect>> = { anthropic, chat, responses };

interface Key {
  readonly key: string;
  readonly baseUrl: string | null;
}

class Models implements Model {
  private readonly specs = new Map<string, ProviderSpec>(knownProviders.map((spec) => [spec.name, spec]));
  private readonly keys = new Map<string, Key>();
  /** By provider; made at its first request, forgotten when its setting or key changes. */
  private readonly lines = new Map<string, Line | ModelOutcome>();
  /** As the person has set them. */
  private readonly prices = new Map<string, ModelPrice>();
  private readonly scripts = new Map<string, Script>();
  /** By origin, authority file and key. */
  private readonly wires = new Map<string, Wire>();
  /** Lists are asked for seldom and change seldom. Forgotten when a provider or a key changes. */
  private listed: { readonly models: readonly ModelInfo[]; readonly atMs: number } = nothingListed;
  private readonly deadlines: Deadlines;
  private readonly patience: Patience;
  private readonly editors: () => EditorModels;

  constructor(options: ModelOptions) {
    this.editors = options.editors ?? (() => noEditors);
    this.deadlines = new Deadlines(options.tickMs ?? limits.deadlineTickMs);
    this.patience = {
      connectMs: limits.connectMs,
      firstByteMs: limits.firstByteMs,
      betweenBytesMs: limits.betweenBytesMs,
      pingEveryMs: limits.pingEveryMs,
      pingAnswerMs: limits.pingAnswerMs,
      ...options.patience,
    };
  }

  ask(request: ModelRequest, post: (event: ModelEvent) => void): Cancel {
    const provider = providerOf(request.model);
    if (isConductor(request.model)) return askConductor(request, post);
    if (provider === editorProvider) {
      const { deadlines, patience } = this;
      return askEditor(request, { editors: this.editors(), deadlines, patience }, post);
    }
    const spec = this.specs.get(provider);
    if (spec?.dialect === 'scripted') return this.script(spec).ask(request, post);
    const line = spec === undefined ? unknownProvider(request.model) : this.line(spec);
    if ('kind' in line) return refuseSoon(line, post);
    const flight = new Flight(line, request, post);
    setImmediate(() => flight.start());
    return () => flight.cancel();
  }

  info(model: string): ModelInfo | null {
    if (isConductor(model)) return conductorInfo(model);
    if (providerOf(model) === editorProvider) return this.editorInfo(model);
    const spec = this.specs.get(providerOf(model));
    if (spec === undefined) return null;
    const scripted = spec.dialect === 'scripted';
    if (scripted) return { id: model, contextTokens: 200_000, outputTokens: 32_000, scripted };
    const own = spec.contextTokens === undefined ? {} : { contextTokens: spec.contextTokens };
    return { id: model, ...this.sizes(spec, nameOf(model)), ...own, scripted };
  }

  price(model: string): ModelPrice | null {
    const own = this.prices.get(model);
    if (own !== undefined) return own;
    if (isConductor(model)) return free;
    const spec = this.specs.get(providerOf(model));
    if (spec === undefined) return null;
    if (spec.dialect === 'scripted' || spec.keyless === true) return free;
    return priceOf(shopOf(spec), nameOf(model), Date.now());
  }

  setPrice(model: string, price: ModelPrice | null): void {
    if (price === null) this.prices.delete(model);
    else this.prices.set(model, price);
  }

  private sizes(spec: ProviderSpec, name: string): Pick<ModelInfo, 'contextTokens' | 'outputTokens'> {
    return sizesOf({ ...shopOf(spec), isLocal: spec.keyless === true }, name, Date.now());
  }

  /** Without a window nobody knows whether there is such a model: its agents wait for one. */
  private editorInfo(model: string): ModelInfo | null {
    const editors = this.editors();
    const known = editors.find(nameOf(model));
    if (known === null && (editors.offered().length > 0 || nameOf(model) === '')) return null;
    const assumed = sizesOf({ ...noShop, isLocal: false }, nameOf(model), Date.now());
    const contextTokens =
      known === null || known.inputTokens === 0 ? assumed.contextTokens : known.inputTokens;
    const { outputTokens } = assumed;
    return {
      id: model,
      contextTokens,
      outputTokens,
      scripted: false,
      ...(editors.swarms() ? {} : { alone: true }),
    };
  }

  setProvider(spec: ProviderSpec): void {
    this.specs.set(spec.name, spec);
    this.scripts.delete(spec.name);
    this.forget(spec.name);
  }

  list(post: (models: readonly ModelInfo[]) => void): void {
    const places = [...this.specs.values()].flatMap((spec) => this.listPlace(spec) ?? []);
    const freshUntilMs = this.listed.atMs + limits.modelListKeptMs;
    const priced = (each: ModelInfo): ModelInfo => ({ ...each, price: this.price(each.id) });
    const tell = (): void => post([...this.listed.models, ...this.lent()].map(priced));
    if (performance.now() < freshUntilMs) return void setImmediate(tell);
    void Promise.all(places.map(listModels)).then((lists) => {
      this.listed = { models: lists.flat(), atMs: performance.now() };
      tell();
    });
  }

  /** What editors lend changes with their windows, so it is not kept. */
  private lent(): readonly ModelInfo[] {
    return this.editors()
      .offered()
      .flatMap(({ id }) => this.info(`${editorProvider}/${id}`) ?? []);
  }

  /** Where the models of a provider are listed; null when it cannot be asked. */
  private listPlace(spec: ProviderSpec): ListPlace | null {
    const line = spec.dialect === 'scripted' ? null : this.line(spec);
    if (line === null || 'kind' in line) return null;
    const base = azureBase(new URL(this.keys.get(spec.name)?.baseUrl ?? spec.baseUrl));
    return {
      provider: spec.name,
      url: new URL(pathBelow(base, line.dialect.listPath), base).href,
      headers: line.headers,
      caFile: spec.caFile ?? null,
      sizes: (name) => this.sizes(spec, name),
    };
  }

  setKey(provider: string, key: string | null, baseUrl?: string): void {
    const before = this.keys.get(provider);
    // The same key again, as every connecting client gives it, must not cost the open connections.
    if (before?.key === key?.trim() && (before?.baseUrl ?? null) === (baseUrl ?? null)) return;
    if (key === null) this.keys.delete(provider);
    else this.keys.set(provider, { key: key.trim(), baseUrl: baseUrl ?? null });
    this.forget(provider);
  }

  lacks(model: string): 'key' | 'editor' | null {
    const provider = providerOf(model);
    if (provider === editorProvider) return this.editors().offered().length === 0 ? 'editor' : null;
    const spec = this.specs.get(provider);
    // Of a provider that does not exist no key is missing: asking says what is.
    if (spec === undefined || spec.dialect === 'scripted' || spec.keyless === true) return null;
    return this.keys.has(spec.name) ? null : 'key';
  }

  pool(model: string): ModelPool {
    const provider = providerOf(model);
    // All models of an editor are one subscription of one person.
    if (provider === editorProvider) return { name: provider, atOnce: limits.editorRequests, ramp: true };
    if (isConductor(model)) return { name: conductorProvider, atOnce: null, ramp: false };
    return { name: model, atOnce: null, ramp: this.specs.get(provider)?.dialect !== 'scripted' };
  }

  private script(spec: ProviderSpec): Script {
    const known = this.scripts.get(spec.name);
    if (known !== undefined) return known;
    const script = new Script(spec.baseUrl);
    this.scripts.set(spec.name, script);
    return script;
  }

  private line(spec: ProviderSpec): Line | ModelOutcome {
    const known = this.lines.get(spec.name);
    if (known !== undefined) return known;
    const line = this.makeLine(spec);
    this.lines.set(spec.name, line);
    return line;
  }

  private makeLine(spec: ProviderSpec): Line | ModelOutcome {
    if (spec.dialect === 'scripted') return unknownProvider(spec.name);
    const key = this.keys.get(spec.name) ?? null;
    if (key === null && spec.keyless !== true) {
      return rejected(
        'noKey',
        `There is no key for ${spec.name}. Run "Roost: Set Key", or give it in the environment.`,
      );
    }
    if (key !== null && !/^[\x21-\x7e]+$/.test(key.key)) {
      return rejected(
        'wrongKey',
        `The key for ${spec.name} has blanks or letters that no key has. Set it again.`,
      );
    }
    const baseUrl = key?.baseUrl ?? spec.baseUrl;
    if (!/^https?:\/\//.test(baseUrl) || !URL.canParse(baseUrl)) {
      return rejected(
        'badRequest',
        `"${baseUrl}" is no base URL: it must begin with https:// or http://. Set the provider ${spec.name} again.`,
      );
    }
    const url = azureBase(new URL(baseUrl));
    const dialect = dialects[spec.dialect];
    return {
      provider: spec.name,
      host: url.hostname,
      dialect,
      path: (model) => pathBelow(url, deploymentPath(url, dialect.path(model), model)),
      headers: Object.freeze({
        'content-type': 'application/json',
        accept: 'text/event-stream',
        'user-agent': 'roost',
        ...dialect.headers(key?.key ?? null, { host: url.hostname, header: spec.keyHeader ?? null }),
      }),
      key: key?.key ?? null,
      wire: this.wire(url, spec.caFile ?? null, key?.key ?? ''),
      deadlines: this.deadlines,
      patience: this.patience,
    };
  }

  private wire(url: URL, caFile: string | null, key: string): Wire {
    const name = `${url.origin} ${caFile ?? ''} ${key}`;
    const known = this.wires.get(name);
    if (known !== undefined) return known;
    const place = { url, caFile };
    const authorities = new Authorities(caFile);
    const tools = { authorities, deadlines: this.deadlines, patience: this.patience };
    const wire = url.protocol === 'http:' ? new Http1(place, tools) : new Http2(place, tools);
    this.wires.set(name, wire);
    return wire;
  }

  /** Requests under way go on over the old connections; the next one finds the new ones. */
  private forget(provider: string): void {
    this.listed = nothingListed;
    this.lines.delete(provider);
    const used = new Set([...this.lines.values()].flatMap((line) => ('wire' in line ? [line.wire] : [])));
    for (const [name, wire] of this.wires) {
      if (used.has(wire)) continue;
      wire.retire();
      this.wires.delete(name);
    }
  }
}

const noShop = { provider: '', baseUrl: '' };
const shopOf = ({ name, baseUrl }: ProviderSpec): Shop => ({ provider: name, baseUrl });

const nothingListed = { models: [], atMs: Number.NEGATIVE_INFINITY };

const providerOf = (model: string): string => model.slice(0, Math.max(0, model.indexOf('/')));
const nameOf = (model: string): string => model.slice(model.indexOf('/') + 1);

const rejected = (
  code: 'noKey' | 'wrongKey' | 'badRequest' | 'modelUnknown',
  message: string,
): ModelOutcome => ({
  kind: 'rejected',
  code,
  message,
});

const unknownProvider = (model: string): ModelOutcome =>
  rejected(
    'modelUnknown',
    `No provider is set for "${model}". A model's name is provider/model; set the provider, or choose another model.`,
  );

function refuseSoon(outcome: ModelOutcome, post: (event: ModelEvent) => void): Cancel {
  const soon = setImmediate(() => post({ kind: 'end', outcome }));
  return () => clearImmediate(soon);
}
