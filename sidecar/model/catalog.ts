// What is known of models before they are asked: room, longest answer, price. Prices and windows are those of
// prices.ts, a table that is made of @pydantic/genai-prices; a model that is not in it has no price, and then cannot
// spend money until a person sets one (DESIGN §8). Longest answers are the providers' own; where one is not known for
// sure, a smaller number stands that is.
//
// Where a price steps up for long requests the window ends at the step, so that a reservation is never too small.
// Nothing of the table is kept in memory but its text and what was found of models in use.

import type { ModelPrice as Price } from '../protocol/cost.ts';
import { prices } from './prices.ts';

interface Known {
  /** 0: not known. */
  readonly contextTokens: number;
  readonly price: Price;
}

export const free: Price = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

/** Where a model is served, as far as its price hangs on it. */
export interface Shop {
  /** Name of the provider, and its base URL, which tells a known one under another name. */
  readonly provider: string;
  readonly baseUrl: string;
}

/** Our names of providers where the table has others. */
const sections: Readonly<Record<string, string>> = {
  'openai-chat': 'openai',
  chatgpt: 'openai',
  gemini: 'google',
  'gemini-chat': 'google',
  xai: 'x-ai',
  bedrock: 'aws',
};

interface Section {
  readonly lines: readonly string[];
  /** Names of models may also be those of these sections. */
  readonly others: readonly string[];
}

/** Price of a model at a time; null when nobody knows it. `nowMs` is wall time. */
export function priceOf(shop: Shop, name: string, nowMs: number): Price | null {
  return lookUp(shop, name, nowMs)?.price ?? null;
}

const kept = new Map<string, { readonly line: string | null }>();

/** Lines found of models in use: a model is asked for its price with each request. More start over. */
const keptAtMost = 256;

function lookUp(shop: Shop, name: string, nowMs: number): Known | null {
  const key = `${shop.provider} ${shop.baseUrl} ${name}`;
  let found = kept.get(key);
  if (found === undefined) {
    found = { line: lineOf(shop, name) };
    if (keptAtMost <= kept.size) kept.clear();
    kept.set(key, found);
  }
  return found.line === null ? null : readLine(found.line, nowMs);
}

function lineOf(shop: Shop, name: string): string | null {
  const section = sectionOf(sections[shop.provider] ?? shop.provider) ?? sectionAt(shop.baseUrl);
  if (section === null) return null;
  const own = lineIn(section, name);
  if (own !== null) return own;
  for (const other of section.others) {
    const foreign = sectionOf(other);
    const line = foreign === null ? null : lineIn(foreign, name);
    if (line !== null) return line;
  }
  return null;
}

/** Dated names are those of the model that they are dates of. */
function lineIn(section: Section, name: string): string | null {
  const plain = name.replace(/-(?:\d{8}|\d{4}-\d{2}-\d{2}|latest)$/, '');
  const matching = (each: string): string | undefined =>
    section.lines.find((line) => new RegExp(line.slice(0, line.indexOf('\t'))).test(each));
  return matching(name) ?? matching(plain) ?? null;
}

function sectionOf(id: string): Section | null {
  const start = prices.indexOf(`\n@${id}\t`);
  return start === -1 ? null : sectionFrom(start + 1);
}

/** The section whose servers are at this address. */
function sectionAt(baseUrl: string): Section | null {
  for (let at = prices.indexOf('\n@'); at !== -1; at = prices.indexOf('\n@', at + 1)) {
    const [, pattern = ''] = prices.slice(at + 1, prices.indexOf('\n', at + 1)).split('\t');
    if (new RegExp(`^(?:${pattern})`).test(baseUrl)) return sectionFrom(at + 1);
  }
  return null;
}

function sectionFrom(start: number): Section {
  const end = prices.indexOf('\n@', start);
  const [head = '', ...lines] = prices.slice(start, end === -1 ? prices.length - 1 : end).split('\n');
  const [, , others = ''] = head.split('\t');
  return { lines, others: others.split(' ').filter((other) => other !== '') };
}

/** `pattern window price…`, the later price of two that hold at this time. */
function readLine(line: string, nowMs: number): Known | null {
  const [, window = '0', ...variants] = line.split('\t');
  const now = new Date(nowMs).toISOString();
  const variant = variants.findLast((each) => holds(each, now));
  if (variant === undefined) return null;
  const [input, output, cacheRead, cacheWrite] = variant
    .split(' ')
    .map((usd) => Math.round(Number(usd) * 1e6));
  if (input === undefined || output === undefined || cacheRead === undefined || cacheWrite === undefined)
    return null;
  const step = Number(/<(\d+)/.exec(variant)?.[1] ?? Number.POSITIVE_INFINITY);
  return { contextTokens: Math.min(Number(window), step), price: { input, output, cacheRead, cacheWrite } };
}

/** Whether a price holds now: from a day on (`@2026-08-17`), or between two times of every day (`~01:00-04:00`, UTC). */
function holds(variant: string, now: string): boolean {
  const from = /@(\S+)/.exec(variant)?.[1];
  if (from !== undefined && now.slice(0, 10) < from) return false;
  const [, start, end] = /~(\S+)-(\S+)/.exec(variant) ?? [];
  const time = now.slice(11, 16);
  return start === undefined || end === undefined || (start <= time && time < end);
}

// ---------------------------------------------------------------- sizes

/** Longest answers by the model's name, in tokens; the first that fits. */
const longest: readonly (readonly [RegExp, number])[] = [
  [/claude-(?:3-(?:haiku|opus|sonnet)|v?[12]|instant)/, 4_096],
  [/claude-3[-.]5/, 8_192],
  [/claude-(?:opus-4(?:-[01]|-20\d|$)|4-opus)/, 32_000],
  [/claude/, 64_000],
  [/gpt-oss/, 65_536],
  [/gpt-5(?:\.[12])?(?:-|$)/, 128_000],
  [/gpt-(?:[5-9]|\d\d)/, 64_000],
  [/gpt-4\.1/, 32_768],
  [/gpt-4o/, 16_384],
  [/gpt-(?:3|4)/, 4_096],
  [/\bo1-preview/, 32_768],
  [/\bo1-mini/, 65_536],
  [/\bo[1-9](?:-|$)/, 100_000],
  [/gemini-(?:1|2\.0)/, 8_192],
  [/gemini/, 64_000],
  [/grok-code/, 10_000],
  [/grok/, 30_000],
  [/deepseek-(?:chat|coder)/, 8_192],
  [/deepseek/, 32_000],
];

// A model that is not known gets a window that nearly every current one has; a local server's is often small.
const unknownRemote = { contextTokens: 128_000, outputTokens: 16_384 };
const unknownLocal = { contextTokens: 32_768, outputTokens: 8_192 };

/** Room of a model in tokens. Never 0: what is not known is assumed (case 177). `nowMs` is wall time. */
export function sizesOf(
  shop: Shop & { readonly isLocal: boolean },
  name: string,
  nowMs: number,
): { contextTokens: number; outputTokens: number } {
  const known = shop.isLocal ? null : lookUp(shop, name, nowMs);
  const assumed = shop.isLocal ? unknownLocal : unknownRemote;
  const contextTokens =
    known === null || known.contextTokens === 0 ? assumed.contextTokens : known.contextTokens;
  const most = known === null ? undefined : longest.find(([pattern]) => pattern.test(name))?.[1];
  // An answer that fills half of the window leaves no room for a conversation.
  return {
    contextTokens,
    outputTokens: Math.min(most ?? assumed.outputTokens, Math.ceil(contextTokens / 2)),
  };
}
