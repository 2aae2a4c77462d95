// What a person says about models: what one costs, and which one the agents of a profile get. Both are rows; the
// prices are also in the model's adapter, which knows the table that they replace. Not here: the question for a price.

import type { ModelPrice } from '../protocol/cost.ts';
import type { Answer } from '../protocol/request.ts';
import { refuse } from './agents.ts';
import type { ClientEvent } from './event.ts';
import { parsePrice } from './priceQuestion.ts';
import type { Step } from './step.ts';

type Wish = Extract<ClientEvent, { kind: 'model/price' }>['params']['price'];

/** Sets what a model costs, for every agent and for good. Those who waited for it look again. */
export function onPrice(step: Step, event: Extract<ClientEvent, { kind: 'model/price' }>): void {
  const { params, reply } = event;
  if (!/^[^/]+\/./.test(params.model))
    return refuse(step, reply, 'model/unknown', `"${params.model}" is no provider/model.`);
  setPrice(step, params.model, whole(params.price));
  step.after(() => reply({ ok: true, value: { price: step.rt.model.price(params.model) } }));
}

/** What is not said of cached tokens costs what input costs. */
function whole(price: Wish): ModelPrice | null {
  return price && { cacheRead: price.input, cacheWrite: price.input, ...price };
}

function setPrice(step: Step, model: string, price: ModelPrice | null): void {
  const known = step.store.range('price.model', [model], { limit: 1 })[0];
  if (price === null) {
    if (known !== undefined) step.store.remove('price', known.id);
  } else if (known === undefined) step.store.insert('price', { model, ...price });
  else step.store.update('price', known.id, { ...price });
  step.after(() => {
    step.rt.model.setPrice(model, price);
    step.rt.post({ kind: 'raisedMore', after: 0 });
  });
}

/** The model of a profile's new agents. */
export function onRole(step: Step, event: Extract<ClientEvent, { kind: 'model/role' }>): void {
  const { params, reply } = event;
  const { profile, model } = params;
  if (model !== null && step.rt.model.info(model) === null) {
    const text = `"${model}" names no model that Roost can reach. Set its provider first.`;
    return refuse(step, reply, 'model/unknown', text);
  }
  const known = step.store.range('role.profile', [profile], { limit: 1 })[0];
  if (model === null) {
    if (known !== undefined) step.store.remove('role', known.id);
  } else if (known === undefined) step.store.insert('role', { profile, model });
  else if (known.model !== model) step.store.update('role', known.id, { model });
  step.after(() => reply({ ok: true, value: {} }));
}

/** Applies the person's price. Returns false when they denied it. */
export function applyPrice(step: Step, model: string, answer: Answer): boolean {
  if (answer.kind === 'deny') return false;
  const price = answer.kind === 'allow' ? whole({ input: 0, output: 0 }) : parsePrice(answer.text);
  if (price !== null) setPrice(step, model, price);
  return true;
}
