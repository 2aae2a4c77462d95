// Command lines about models and money: models, models price, models role, cost.

import type { ModelPrice } from '../protocol/cost.ts';
import { Failure } from './failure.ts';
import { need, parseCount } from './values.ts';

export type MoneyCommand =
  | { readonly kind: 'models' }
  | {
      readonly kind: 'price';
      readonly model: string;
      /** Null takes the person's price away. */
      readonly price: (Pick<ModelPrice, 'input' | 'output'> & Partial<ModelPrice>) | null;
    }
  | { readonly kind: 'role'; readonly profile: string; readonly model: string | null }
  | { readonly kind: 'cost'; readonly agent: string | null; readonly days: number; readonly ledger: boolean };

interface Values {
  readonly input?: string | undefined;
  readonly output?: string | undefined;
  readonly 'cache-read'?: string | undefined;
  readonly 'cache-write'?: string | undefined;
  readonly clear?: boolean | undefined;
  readonly days?: string | undefined;
  readonly ledger?: boolean | undefined;
}

/** A month, as people are billed. */
const usualDays = '30';

/** Reads what follows `models` or `cost`. */
export function parseMoney(
  name: 'models' | 'cost',
  values: Values,
  [first, second, third, ...rest]: readonly string[],
): MoneyCommand {
  if (name === 'cost') {
    const days = parseCount('--days', values.days ?? usualDays);
    return { kind: 'cost', agent: first ?? null, days, ledger: values.ledger === true };
  }
  if (rest.length > 0 || (first !== 'role' && third !== undefined))
    throw new Failure('usage', 'roost models: too many words. Options come with --.');
  switch (first) {
    case undefined:
      return { kind: 'models' };
    case 'price':
      return { kind: 'price', model: modelOf(second, 'price'), price: parsePrice(values) };
    case 'role': {
      const profile = need(second, 'models role', 'a profile');
      const model = values.clear === true ? null : modelOf(third, 'role');
      return { kind: 'role', profile, model };
    }
    default:
      throw new Failure('usage', `roost models ${first}: known are price and role.`);
  }
}

function modelOf(word: string | undefined, command: string): string {
  const model = need(word, `models ${command}`, 'a model');
  if (/^[^/]+\/./.test(model)) return model;
  throw new Failure('usage', `roost models ${command} ${model}: a model is written PROVIDER/MODEL.`);
}

function parsePrice(values: Values): Extract<MoneyCommand, { kind: 'price' }>['price'] {
  const named = [values.input, values.output, values['cache-read'], values['cache-write']];
  if (values.clear === true) {
    if (named.every((each) => each === undefined)) return null;
    throw new Failure('usage', 'roost models price: --clear or prices, not both.');
  }
  const { input, output } = values;
  if (input === undefined || output === undefined) {
    throw new Failure(
      'usage',
      'roost models price: give --input and --output in US dollars for a million tokens (0 is a price), or --clear.',
    );
  }
  const read = values['cache-read'];
  const write = values['cache-write'];
  return {
    input: dollars('--input', input),
    output: dollars('--output', output),
    ...(read === undefined ? {} : { cacheRead: dollars('--cache-read', read) }),
    ...(write === undefined ? {} : { cacheWrite: dollars('--cache-write', write) }),
  };
}

/** US dollars as millionths of one. */
function dollars(option: string, text: string): number {
  const amount = /^\$?\d+(\.\d+)?$/.test(text) ? Number(text.replace('$', '')) : Number.NaN;
  if (Number.isFinite(amount)) return Math.round(amount * 1_000_000);
  throw new Failure(
    'usage',
    `${option} ${text}: it needs US dollars for a million tokens, such as 3 or 0.25.`,
  );
}
