// Requests of conductors (core/conductor.ts): answered here at once, from the conversation alone. They cost nothing.

import type { Cancel, Item, ModelEvent, ModelRequest } from '../ports.ts';
import { conduct, conductorProvider } from '../core/conductor.ts';
import type { ModelInfo } from '../protocol/settings.ts';
import { limits } from '../runtime/limits.ts';

export const isConductor = (model: string): boolean => model.startsWith(`${conductorProvider}/`);

/** A plan is as long as a message may be, and whatever it is told is not summarised. */
export const conductorInfo = (model: string): ModelInfo => ({
  id: model,
  contextTokens: limits.conductorTokens,
  outputTokens: limits.outputTokensFloor,
  scripted: false,
});

/** Answers a request of a conductor, never before the call has returned. */
export function askConductor(request: ModelRequest, post: (event: ModelEvent) => void): Cancel {
  const soon = setImmediate(() => {
    const blocks = conduct(itemsOf(request));
    const stop = blocks.some((block) => block.kind === 'call') ? 'calls' : 'end';
    const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
    post({ kind: 'end', outcome: { kind: 'answer', blocks, stop, usage } });
  });
  return () => clearImmediate(soon);
}

function itemsOf(request: ModelRequest): readonly Item[] {
  const next = request.pages();
  const items: Item[] = [];
  for (let page = next(); page !== null; page = next()) items.push(...page);
  return items;
}
