// Lines about money for people: dollars, tokens in short, and how much of the input came from the cache.

import type { ModelPrice, Spent } from '../protocol/cost.ts';
import type { PrintedLine } from './lines.ts';

export type MoneyLine = Extract<
  PrintedLine,
  { type: 'model' | 'price' | 'role' | 'agentCost' | 'dayCost' | 'spent' }
>;

const moneyLines: readonly string[] = [
  'model',
  'price',
  'role',
  'agentCost',
  'dayCost',
  'spent',
] satisfies readonly MoneyLine['type'][];

export const isMoney = (line: PrintedLine): line is MoneyLine => moneyLines.includes(line.type);

/** Dollars with as many digits as say something. */
export function dollars(microUsd: number): string {
  const amount = microUsd / 1_000_000;
  return `$${amount !== 0 && Math.abs(amount) < 1 ? amount.toFixed(4) : amount.toFixed(2)}`;
}

function tokens(count: number): string {
  if (count < 10_000) return `${count}`;
  return count < 10_000_000 ? `${Math.round(count / 1_000)}k` : `${(count / 1_000_000).toFixed(1)}M`;
}

export function prettyMoney(line: MoneyLine): string {
  switch (line.type) {
    case 'model': {
      const marks = `${line.default ? ' (default)' : ''}${line.scripted ? ' (scripted)' : ''}`;
      return `${line.id}${marks}  ${priceText(line.price ?? null)}\n`;
    }
    case 'price':
      return `${line.model}: ${priceText(line.price)}\n`;
    case 'role':
      return `${line.profile}: ${line.model ?? 'as its profile says'}\n`;
    case 'agentCost': {
      const own = `${dollars(line.own.microUsd)}, ${tokens(line.own.tokens)} tokens`;
      const { branch } = line;
      const all = `${dollars(branch.microUsd)}, ${tokens(branch.tokens)} tokens, ${branch.agents} agents`;
      return `${line.name} (agent ${line.id}): ${own}; with its branch: ${all}\n`;
    }
    case 'dayCost':
      return `${line.day}  ${dollars(line.microUsd).padStart(10)}  ${line.model}  ${usageText(line)}\n`;
    case 'spent': {
      const lost = line.state === 'lost' ? ' (lost, counted as held)' : '';
      const when = new Date(line.atMs).toISOString();
      const used = `${tokens(line.input)} in, ${tokens(line.output)} out`;
      return `${when}  ${dollars(line.microUsd)}  agent ${line.agent} turn ${line.turn}.${line.round}  ${line.model}  ${used}${lost}\n`;
    }
  }
}

function usageText(line: Spent): string {
  const cached = line.input === 0 ? 0 : Math.round((100 * line.cacheRead) / line.input);
  const lost = line.lost === 0 ? '' : `, ${line.lost} lost`;
  return `${line.requests} requests${lost}, ${tokens(line.input)} in (${cached} % from the cache), ${tokens(line.output)} out`;
}

function priceText(price: ModelPrice | null): string {
  if (price === null) return 'no known price';
  const usd = (micro: number): string => `$${micro / 1_000_000}`;
  const cached = `cached ${usd(price.cacheRead)}, written to the cache ${usd(price.cacheWrite)}`;
  return price.input === 0 && price.output === 0
    ? 'free'
    : `${usd(price.input)} in, ${usd(price.output)} out (${cached}) for a million tokens`;
}
