// One request on its way: what a wire is asked, what it tells back. http1.ts and http2.ts are the two kinds;
// they know nothing of models, and nothing here keeps a body longer than it takes to send it.

import { limits } from '../runtime/limits.ts';
import type { Authorities } from './authorities.ts';
import type { Deadlines } from './deadlines.ts';
import type { Pieces } from './dialect.ts';
import type { Headers } from './retryAfter.ts';

/** What is to be sent. Its body can be taken once, so that whoever still holds the letter does not hold a conversation. */
export class Letter {
  readonly path: string;
  /** Shared by all requests of a provider; never changed. */
  readonly headers: Readonly<Record<string, string>>;
  private pieces: Pieces;

  constructor(path: string, headers: Readonly<Record<string, string>>, pieces: Pieces) {
    this.path = path;
    this.headers = headers;
    this.pieces = pieces;
  }

  take(): Pieces {
    const { pieces } = this;
    this.pieces = noPieces;
    return pieces;
  }
}

const noPieces: Pieces = () => null;

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

/** How long each phase may be silent. */
export interface Patience {
  readonly connectMs: number;
  readonly firstByteMs: number;
  readonly betweenBytesMs: number;
  /** Pause between the questions whether the server of a session lives, and how long its answer may take. */
  readonly pingEveryMs: number;
  readonly pingAnswerMs: number;
}

/** What all wires of the process share; the authorities are those of one place. */
export interface WireTools {
  readonly authorities: Authorities;
  readonly deadlines: Deadlines;
  readonly patience: Patience;
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
  on(event: 'drain' | 'finish' | 'close', work: () => void): unknown;
  off(event: 'drain' | 'finish' | 'close', work: () => void): unknown;
}

/**
 * Sends bodies piece by piece, as fast as the other end takes them. The pieces are read from the store when there
 * is room for them, so a megabyte of conversation needs a page of memory; nothing refers to them afterwards.
 *
 * Only few are sent at the same time: a thousand agents that start together would else leave a thousand pages in
 * the allocator, scattered so that it never gives them back.
 */
export class Sender {
  private sending = 0;
  private readonly waiting: Sending[] = [];

  send(sink: Sink, letter: Letter, exchange: { readonly isOpen: boolean }): void {
    this.waiting.push(new Sending(sink, letter.take(), exchange));
    this.next();
  }

  private next(): void {
    while (this.sending < limits.bodiesAtOnce && this.waiting.length > 0) {
      this.sending++;
      // In a later turn: a row of requests that were all given up must not become a row of calls inside calls.
      this.waiting.shift()?.begin(() => {
        this.sending--;
        setImmediate(() => this.next());
      });
    }
  }
}

/** One body on its way out. Its handlers leave the sink with it, or they would keep the conversation alive. */
class Sending {
  private readonly sink: Sink;
  private readonly pieces: Pieces;
  private readonly exchange: { readonly isOpen: boolean };
  private readonly go = (): void => this.step();
  private readonly leave = (): void => this.end();
  private ended: (() => void) | null = null;

  constructor(sink: Sink, pieces: Pieces, exchange: { readonly isOpen: boolean }) {
    this.sink = sink;
    this.pieces = pieces;
    this.exchange = exchange;
  }

  begin(ended: () => void): void {
    this.ended = ended;
    this.sink.on('drain', this.go);
    this.sink.on('finish', this.leave);
    this.sink.on('close', this.leave);
    this.step();
  }

  private step(): void {
    while (this.exchange.isOpen) {
      const piece = this.pieces();
      if (piece === null) {
        this.sink.off('drain', this.go);
        this.sink.end();
        return;
      }
      if (piece !== '' && !this.sink.write(piece)) return;
    }
    this.end();
  }

  private end(): void {
    this.sink.off('drain', this.go);
    this.sink.off('finish', this.leave);
    this.sink.off('close', this.leave);
    const { ended } = this;
    this.ended = null;
    ended?.();
  }
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
