// What servers offer (MCP), as the runtime remembers it: one row a server, by the hash of its definition, written when
// its list was seen to change. An agent is made with what the row says, so its prompt neither waits for a server nor
// changes with it; only a server that was never asked is waited for, up to limits.serverStartMs (case 181).
//
// Not here: processes and sockets (the Tools port), which tools an agent is offered (core/offers.ts).

import type { Offers } from '../core/knowledge.ts';
import type { Offer } from '../core/offers.ts';
import type { ClientEvent, RuntimeEvent } from './event.ts';
import { limits } from './limits.ts';
import { remember } from './memory.ts';
import type { Step } from './step.ts';

const nothing: Offer = { tools: [], dropped: [] };

/** What each server offered last, as this step will leave it; a server that has just failed offers nothing. */
export const offersIn =
  (step: Step): Offers =>
  ({ hash }) => {
    const known = step.offers.get(hash) ?? step.rt.offers.get(hash);
    if (known !== undefined) return known;
    const row = step.store.range('offer.server', [hash], { limit: 1 })[0];
    const json = row === undefined ? undefined : step.store.blobText(row.blob);
    if (json === undefined) {
      const failed = step.rt.failedOffers.get(hash);
      return failed !== undefined && step.rt.clock.monotonicMs() < failed.untilMs ? nothing : undefined;
    }
    const offer: Offer = JSON.parse(json);
    keep(step, hash, offer);
    return offer;
  };

function keep(step: Step, hash: string, offer: Offer): void {
  step.offers.set(hash, offer);
  step.after(() => remember(step.rt.offers, hash, offer, limits.servers));
}

/** A server has said what it offers, or that it cannot: who waited for it goes on. */
export function onOffered(step: Step, event: Extract<RuntimeEvent, { kind: 'offered' }>): void {
  const { server, answer } = event;
  step.after(() => {
    step.rt.offering.delete(server);
    step.rt.post({ kind: 'offersMore', after: 0 });
  });
  if (answer.kind === 'offer') return write(step, server, answer.offer);
  // Not a row: the next process tries anew, and this one after a while.
  const untilMs = step.rt.clock.monotonicMs() + limits.serverRetryLongestMs;
  step.rt.failedOffers.delete(server);
  step.rt.failedOffers.set(server, { message: answer.message, untilMs });
}

function write(step: Step, server: string, offer: Offer): void {
  step.rt.failedOffers.delete(server);
  const json = JSON.stringify(offer);
  const row = step.store.range('offer.server', [server], { limit: 1 })[0];
  if (row !== undefined && step.store.blobText(row.blob) === json) return;
  const blob = step.store.putBlob(json);
  if (row === undefined) step.store.insert('offer', { server, blob, at: step.nowMs });
  else {
    step.store.update('offer', row.id, { blob, at: step.nowMs });
    step.store.remove('blob', row.blob);
  }
  keep(step, server, offer);
  step.pins.clear();
}

/** The person's own files of servers: kept, and looked into from now on. */
export function onServerFiles(step: Step, event: Extract<ClientEvent, { kind: 'mcp/files' }>): void {
  const { params, reply } = event;
  const value = JSON.stringify(params.files);
  const row = step.store.range('setting.name', ['serverFiles'], { limit: 1 })[0];
  if (row === undefined) step.store.insert('setting', { name: 'serverFiles', value });
  else if (row.value !== value) step.store.update('setting', row.id, { value });
  step.after(() => {
    step.rt.scout.setServerFiles(params.files);
    reply({ ok: true, value: {} });
  });
}
