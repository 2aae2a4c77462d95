// Values of options: places of models, budgets, times, numbers. Each is read whole or refused with its name.

import type { Budget } from '../protocol/agent.ts';
import type { Dialect, ProviderSpec } from '../protocol/settings.ts';
import { Failure } from './failure.ts';

const dialects = ['anthropic', 'chat', 'responses', 'scripted'] as const satisfies readonly Dialect[];

const flags: ReadonlySet<string> = new Set(['keyless', 'api-key']);

/** `NAME=DIALECT,URL[,keyless][,api-key][,context=TOKENS][,ca=FILE]`. A file may not hold a comma. */
export function parseProvider(text: string): ProviderSpec {
  const [, name, dialectName, baseUrl, rest = ''] = /^([^=,]+)=([^,]+),([^,]+)(,.*)?$/.exec(text) ?? [];
  if (name === undefined || dialectName === undefined || baseUrl === undefined) {
    throw new Failure(
      'usage',
      `--provider ${text}: it must look like NAME=DIALECT,URL[,keyless][,api-key][,context=TOKENS][,ca=FILE].`,
    );
  }
  const extras = rest.split(',').filter((extra) => extra !== '');
  const isKnown = (extra: string): boolean => flags.has(extra) || /^ca=|^context=\d+$/.test(extra);
  const unknown = extras.find((extra) => !isKnown(extra));
  if (unknown !== undefined) throw new Failure('usage', `--provider ${name}: "${unknown}" is not known.`);
  const ca = extras.find((extra) => extra.startsWith('ca='))?.slice('ca='.length);
  const context = extras.find((extra) => extra.startsWith('context='))?.slice('context='.length);
  const dialect = oneOf(`--provider ${name}`, dialectName, dialects);
  if (dialect === null) throw new Failure('usage', `--provider ${name}: name a dialect.`);
  return {
    name,
    dialect,
    baseUrl,
    ...(extras.includes('api-key') ? { keyHeader: 'api-key' } : {}),
    ...(extras.includes('keyless') ? { keyless: true } : {}),
    ...(ca === undefined ? {} : { caFile: ca }),
    ...(context === undefined ? {} : { contextTokens: Number(context) }),
  };
}

/** `usd=1.5,tokens=200000,agents=20,depth=3,minutes=30`. */
export function parseBudget(text: string): Partial<Budget> {
  const parts = text.split(',').map((part) => {
    const [name = '', amount = ''] = part.split('=');
    const value = amount === '' ? Number.NaN : Number(amount);
    if (!(0 <= value))
      throw new Failure('usage', `--budget ${part}: it needs a number that is not negative.`);
    switch (name) {
      case 'usd':
        return { microUsd: Math.round(value * 1_000_000) };
      case 'minutes':
        return { wallMs: Math.round(value * 60_000) };
      case 'tokens':
        return { tokens: Math.floor(value) };
      case 'agents':
        return { agents: Math.floor(value) };
      case 'depth':
        return { depth: Math.floor(value) };
      default:
        throw new Failure('usage', `--budget ${part}: known are usd, tokens, agents, depth and minutes.`);
    }
  });
  return Object.assign({}, ...parts);
}

export function parseSeconds(text: string | undefined): number | null {
  if (text === undefined) return null;
  const seconds = Number(text);
  if (text !== '' && 0 <= seconds) return Math.round(seconds * 1000);
  throw new Failure('usage', `--timeout ${text}: it needs seconds.`);
}

export function parseCount(what: string, text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new Failure('usage', `${what}: "${text}" is not a number.`);
}

export function oneOf<T extends string>(
  what: string,
  text: string | undefined,
  known: readonly T[],
): T | null {
  if (text === undefined) return null;
  const found = known.find((each) => each === text);
  if (found !== undefined) return found;
  throw new Failure('usage', `${what}: "${text}" is none of ${known.join(', ')}.`);
}

/** A word that a command cannot do without. */
export function need(word: string | undefined, command: string, what: string): string {
  if (word !== undefined && word !== '') return word;
  throw new Failure('usage', `roost ${command} needs ${what}.`);
}
