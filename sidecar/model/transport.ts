// One request on its way: what a wire is asked, what it tells back. http1.ts and http2.ts are the two kinds;
// they know nothing of models, and nothing here keeps a body longer than it takes to send it.

import type { Pieces } from './dialect.ts';
import type { Headers } from './retryAfter.ts';

export interface Letter {
  readonly path: string;
  /** Shared by all requests of a provider; never changed. */
  readonly headers: Readonly<Record<string, string>>;
  readonly pieces: Pieces;
}

/** Who a wire tells what becomes of a request. Nothing is told before `open` has returned. */
export interface Ear {
  /** The connection stands, the request is being sent. */
  connected(): void;
  head(status: number, headers: Headers): void;
  data(bytes: Buffer): void;
  /** The response is complete. */
  done(): void;
  /** There will be no (more) response. `safe`: the server did no work, so asking again costs nothing. */
  lost(loss: { readonly message: string; readonly safe: boolean }): void;
}

export interface Wire {
  /** Returns what gives the request up; after it nothing more is told. */
  open(letter: Letter, ear: Ear): () => void;
  /** No new requests will come: connections are closed as they become idle. */
  retire(): void;
}

/** Where a wire leads. */
export interface Place {
  readonly url: URL;
  /** PEM file of an authority to trust besides the system's. */
  readonly caFile: string | null;
}

interface Sink {
  write(text: string): boolean;
  end(): void;
  once(event: 'drain', work: () => void): unknown;
}

/**
 * Sends a body piece by piece, as fast as the other end takes it. The pieces are read from the store when there
 * is room for them, so a megabyte of conversation needs a page of memory. Nothing refers to them afterwards.
 */
export function pump(sink: Sink, pieces: Pieces, isOpen: () => boolean): void {
  const go = (): void => {
    while (isOpen()) {
      const piece = pieces();
      if (piece === null) return void sink.end();
      if (piece === '' || sink.write(piece)) continue;
      sink.once('drain', go);
      return;
    }
  };
  go();
}

/** What a broken connection is called towards a person. */
export function networkMessage(error: Error, place: Place): string {
  const host = place.url.host;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (/^(CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|ERR_TLS_CERT)/.test(code)) {
    return `The certificate of ${host} is not trusted (${code}). If your network has its own authority, set the provider's caFile to its certificate.`;
  }
  switch (code) {
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `The name ${place.url.hostname} could not be found (${code}). Check the network and the base URL.`;
    case 'ECONNREFUSED':
      return `Nothing listens at ${host} (${code}). Check that the server runs, and the base URL.`;
    case 'ETIMEDOUT':
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return `${host} could not be reached (${code}). Check the network.`;
    default:
      return `The connection to ${host} broke${code === '' ? '' : ` (${code})`}: ${error.message}`;
  }
}

/** Whether a failed connection was refused for want of trust: the system's own authorities may know better. */
export const isDistrust = (error: Error): boolean =>
  'code' in error &&
  typeof error.code === 'string' &&
  /^(UNABLE_TO_GET_ISSUER|UNABLE_TO_VERIFY|SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO)/.test(error.code);
