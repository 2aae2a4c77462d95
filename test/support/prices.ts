// Makes sidecar/model/prices.ts of the prices that @pydantic/genai-prices collects (MIT): `npm run prices`, after an
// update of that package. A test fails while the file is not what this makes.
//
// One line a model: a pattern of its names, its window in tokens, then its prices, each `input output read write` in
// US dollars a million tokens, the size from which a request costs more (`<N`), and since when (`@2026-08-17`) or at
// which hours (`~01:00-04:00`, UTC) it holds. The later one of two that hold counts.

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { findProvider, type MatchLogic, type ModelInfo, type ModelPrice } from '@pydantic/genai-prices';
import { root } from './tool.ts';

/** Providers with models that agents can use; those that only resell under other names are left out. */
const providers = [
  'anthropic',
  'openai',
  'google',
  'x-ai',
  'deepseek',
  'groq',
  'mistral',
  'openrouter',
  'azure',
  'aws',
  'cerebras',
  'fireworks',
  'together',
  'moonshotai',
  'minimax',
  'zai',
];

export const pricesFile = path.join(root, 'sidecar/model/prices.ts');

/** The whole file. */
export function pricesText(): string {
  const sections = providers.map((id) => {
    const provider = findProvider({ providerId: id });
    if (provider === undefined) throw new Error(`There is no provider ${id} any more.`);
    const others = (provider.fallback_model_providers ?? []).join(' ');
    const head = `@${id}\t${provider.api_pattern}\t${others}`;
    return [head, ...provider.models.flatMap(lineOf)].join('\n');
  });
  return `${header}export const prices = String.raw\`\n${sections.join('\n')}\n\`;\n`;
}

const header = `// Made by test/support/prices.ts from @pydantic/genai-prices (MIT); do not edit. catalog.ts reads it.

`;

function lineOf(model: ModelInfo): readonly string[] {
  const variants = Array.isArray(model.prices) ? model.prices : [{ prices: model.prices }];
  const priced = variants.flatMap(({ prices, constraint }) => {
    const price = priceOf(prices);
    if (price === null) return [];
    if (constraint === undefined) return [price];
    if (constraint.type === 'start_date') return [`${price} @${constraint.start_date}`];
    return [`${price} ~${constraint.start_time.slice(0, 5)}-${constraint.end_time.slice(0, 5)}`];
  });
  if (priced.length === 0) return [];
  const pattern = patternOf(model.match);
  if (/[\t`]|\$\{/.test(pattern)) throw new Error(`${model.id}: the pattern ${pattern} cannot be written.`);
  return [[pattern, model.context_window ?? 0, ...priced].join('\t')];
}

/** Null: it is priced by something else than tokens. Without prices of their own cached tokens cost what others cost. */
function priceOf(prices: ModelPrice): string | null {
  const steps: number[] = [];
  const read = (name: string): number | null => {
    const price = prices[name];
    if (price === undefined) return null;
    if (typeof price === 'number') return price;
    steps.push(...price.tiers.map((tier) => tier.start));
    return price.base;
  };
  const input = read('input_mtok');
  const output = read('output_mtok');
  if (input === null || output === null) return null;
  const numbers = [input, output, read('cache_read_mtok') ?? input, read('cache_write_mtok') ?? input];
  const step = steps.length === 0 ? '' : ` <${Math.min(...steps)}`;
  return numbers.join(' ') + step;
}

/** As a regular expression: shorter than the tree, and nothing has to walk it. */
function patternOf(match: MatchLogic): string {
  if ('equals' in match) return `^${escaped(match.equals)}$`;
  if ('starts_with' in match) return `^${escaped(match.starts_with)}`;
  if ('ends_with' in match) return `${escaped(match.ends_with)}$`;
  if ('contains' in match) return escaped(match.contains);
  if ('regex' in match) return match.regex;
  if ('or' in match) return match.or.map(patternOf).join('|');
  return `^${match.and.map((each) => `(?=.*(?:${patternOf(each)}))`).join('')}`;
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

if (process.argv[1] === import.meta.filename) writeFileSync(pricesFile, pricesText());
