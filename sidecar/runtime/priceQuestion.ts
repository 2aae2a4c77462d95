// The question for the price of a model that nobody knows the price of, and what its answer may say. Not here: what is
// then set (prices.ts).

import type { AgentRecord, RequestRecord } from '../core/rows.ts';
import type { ModelPrice } from '../protocol/cost.ts';
import type { Answer } from '../protocol/request.ts';
import { limits } from './limits.ts';
import { openRequest } from './requests.ts';
import type { Step } from './step.ts';

/** Money is limited and nobody knows what the model costs: the person says it, by a command or in the answer. */
export function askPrice(step: Step, agent: AgentRecord, owner: AgentRecord): void {
  const { model } = agent;
  openRequest(step, agent, {
    kind: 'budget',
    title: `No price for ${model}`,
    detail: `${model} has no known price, and ${owner.name} has a budget of money. Say what it costs in US dollars for a million tokens, for every agent and for good:

  roost models price ${model} --input 3 --output 15

with its own numbers; 0 is a price. Or answer here with the two numbers, such as "3 15". Allow counts it as free from now on, deny ends the turn.`,
    cluster: `price:${model}`,
    call: 0,
    choices: [],
  });
}

/** The model that a request wants a price for; null: it is about something else. */
export const pricedModel = ({ cluster }: Pick<RequestRecord, 'cluster'>): string | null =>
  /^price:(.+)/.exec(cluster ?? '')?.[1] ?? null;

/** What is wrong with an answer to that question; null when it can be applied. */
export function priceProblem(request: RequestRecord, answer: Answer): string | null {
  if (pricedModel(request) === null || answer.kind !== 'text' || parsePrice(answer.text) !== null)
    return null;
  return `"${answer.text}" is no price. Write dollars for a million tokens of input and of output, such as "3 15".`;
}

/** `3 15`, `$3 / $15`, with prices of cache reads and writes behind them when they are known. */
export function parsePrice(text: string): ModelPrice | null {
  const words = text
    .split(/[\s,;/]+/)
    .map((word) => word.replace(/^\$/, ''))
    .filter((word) => word !== '');
  const numbers = words.map((word) =>
    /^\d+(\.\d+)?$/.test(word) ? Math.round(Number(word) * 1_000_000) : -1,
  );
  const [input, output, cacheRead = input, cacheWrite = input] = numbers;
  if (numbers.length > 4 || numbers.some((each) => each < 0 || limits.priceMicroUsd < each)) return null;
  if (input === undefined || output === undefined || cacheRead === undefined || cacheWrite === undefined)
    return null;
  return { input, output, cacheRead, cacheWrite };
}
