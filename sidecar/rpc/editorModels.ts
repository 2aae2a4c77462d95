// Models of the editors that are connected: which windows offer which, and one request carried by one window.
//
// A window's offer is whole and is gone with the window; so is a request that it carries, and then the asker is told
// `gone`. The conversation goes to the window page by page, the next when the one before was taken, so that a
// megabyte of it is never in a socket at once. Not here: what a request means (model/editor.ts).

import type { LmEnding, LmMessage, LmTool, ModelOffer, OfferedModel } from '../protocol/editorModel.ts';
import { limits } from '../runtime/limits.ts';
import type { Peer } from './peer.ts';

interface Ask {
  readonly model: string;
  readonly tools: readonly LmTool[];
  readonly pages: () => readonly LmMessage[] | null;
}

type Post = (
  event:
    | { readonly kind: 'text'; readonly text: string }
    | { readonly kind: 'end'; readonly ending: LmEnding | { readonly kind: 'gone' } },
) => void;

interface Carried {
  readonly peer: Peer;
  readonly post: Post;
}

export class EditorModels {
  readonly #offers = new Map<Peer, ModelOffer>();
  /** What was offered once: sizes of a model outlive its window. */
  readonly #known = new Map<string, OfferedModel>();
  readonly #carried = new Map<number, Carried>();
  #lastRequest = 0;

  /** A window says what may be asked of it, in place of what it said before. */
  offer(peer: Peer, offer: ModelOffer): void {
    if (offer.models.length === 0) this.#offers.delete(peer);
    else this.#offers.set(peer, offer);
    for (const model of offer.models) {
      if (this.#known.size < limits.modelsListed || this.#known.has(model.id))
        this.#known.set(model.id, model);
    }
  }

  /** A window is gone, and what it carried. */
  remove(peer: Peer): void {
    this.#offers.delete(peer);
    for (const [request, carried] of this.#carried)
      if (carried.peer === peer) this.#end(request, { kind: 'gone' });
  }

  offered(): readonly OfferedModel[] {
    const models = [...this.#offers.values()].flatMap((offer) => offer.models);
    return [...new Map(models.map((model) => [model.id, model])).values()];
  }

  find(id: string): OfferedModel | null {
    return this.#known.get(id) ?? null;
  }

  swarms(): boolean {
    return [...this.#offers.values()].some((offer) => offer.swarms);
  }

  /** A piece of an answer came; of another window's request it is nothing. */
  said(peer: Peer, request: number, text: string): void {
    const carried = this.#carried.get(request);
    if (carried?.peer === peer) carried.post({ kind: 'text', text });
  }

  /** Asks the window that was used last among those that offer the model. Never posts before it has returned. */
  ask(ask: Ask, post: Post): () => void {
    this.#lastRequest += 1;
    const request = this.#lastRequest;
    const peer = this.#windowFor(ask.model);
    if (peer === null) {
      const nobody = this.#nobody(ask.model);
      const soon = setImmediate(() => post({ kind: 'end', ending: nobody }));
      return () => clearImmediate(soon);
    }
    this.#carried.set(request, { peer, post });
    this.#sendPages(request, peer, ask);
    return () => {
      if (!this.#carried.delete(request)) return;
      peer.ask('editor/modelDrop', { request }, () => undefined);
    };
  }

  #windowFor(model: string): Peer | null {
    const able = [...this.#offers].filter(([, offer]) => offer.models.some((each) => each.id === model));
    const peers = able.map(([peer]) => peer).sort((a, b) => b.usedMs - a.usedMs);
    return peers[0] ?? null;
  }

  /** Windows that offer other models say that this one is no more; without a window one may still come. */
  #nobody(model: string): LmEnding | { readonly kind: 'gone' } {
    const names = this.offered().map((each) => each.id);
    if (names.length === 0) return { kind: 'gone' };
    const message = `The editor has no model ${model}. It has: ${names.slice(0, 20).join(', ')}.`;
    return { kind: 'error', code: 'NotFound', message };
  }

  #sendPages(request: number, peer: Peer, ask: Ask): void {
    if (!this.#carried.has(request)) return;
    const messages = ask.pages();
    if (messages === null) {
      const { model, tools } = ask;
      peer.ask('editor/modelAsk', { request, model, tools }, (ending) =>
        this.#end(request, ending ?? nonsense),
      );
      return;
    }
    // An empty page is no end: what it held may have been put off to a later one.
    if (messages.length === 0) return void setImmediate(() => this.#sendPages(request, peer, ask));
    peer.ask('editor/modelPage', { request, messages }, (taken) => {
      if (taken === null) this.#end(request, nonsense);
      else this.#sendPages(request, peer, ask);
    });
  }

  /** A window that is gone was told as such by `remove` before, or is about to be. */
  #end(request: number, ending: LmEnding | { readonly kind: 'gone' }): void {
    const carried = this.#carried.get(request);
    if (carried === undefined) return;
    this.#carried.delete(request);
    const isGone = ending === nonsense && carried.peer.isOver;
    carried.post({ kind: 'end', ending: isGone ? { kind: 'gone' } : ending });
  }
}

const nonsense: LmEnding = {
  kind: 'error',
  code: '',
  message: 'The window gave an answer of no known form.',
};
