// One HTTP/2 connection and its streams. Its server is asked now and then whether it still lives, since a dead
// one says nothing: without the question a hundred agents would wait for the longest timer of all.

import type {
  ClientHttp2Session,
  ClientHttp2Stream,
  IncomingHttpHeaders,
  IncomingHttpStatusHeader,
} from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { Deadlines, Due } from './deadlines.ts';
import {
  networkMessage,
  type Ear,
  type Letter,
  type Patience,
  type Place,
  type Sender,
} from './transport.ts';
import { limits } from '../runtime/limits.ts';

// RFC 9113, section 7.
const refusedStream = 7;
const cancelStream = 8;

export interface SessionTools {
  readonly deadlines: Deadlines;
  readonly patience: Patience;
  /** Of the whole pool: bodies are counted over all its sessions. */
  readonly sender: Sender;
}

export interface SessionOwner {
  /** A stream ended, so there is room for another. */
  freed(): void;
  /** Told once, after the last stream. */
  closed(): void;
}

export class Session implements Due {
  dueMs: number;
  /** Streams in use. */
  load = 0;
  isClosing = false;
  private readonly inner: ClientHttp2Session;
  private readonly place: Place;
  private readonly deadlines: Deadlines;
  private readonly sender: Sender;
  private readonly patience: Patience;
  private pinging = false;
  private owner: SessionOwner | null = null;
  /** Streams above this one were not looked at; set when the server says good-bye. */
  private lastStream = Number.POSITIVE_INFINITY;
  private error: Error | null = null;

  constructor(socket: TLSSocket, place: Place, tools: SessionTools) {
    const { deadlines } = tools;
    this.place = place;
    this.deadlines = deadlines;
    this.sender = tools.sender;
    this.patience = tools.patience;
    this.inner = process.getBuiltinModule('node:http2').connect(place.url.origin, {
      createConnection: () => socket,
      // Queued bodies count against it: 64 streams with a page each need 4 MB, and 10 are the default.
      maxSessionMemory: 64,
      settings: { enablePush: false, initialWindowSize: 256 * 1024 },
    });
    this.dueMs = deadlines.nowMs() + limits.sessionIdleMs;
  }

  begin(owner: SessionOwner): void {
    this.owner = owner;
    const { inner } = this;
    inner.unref();
    inner.on('goaway', (_code, lastStream) => {
      this.isClosing = true;
      this.lastStream = lastStream;
    });
    inner.on('error', (error) => (this.error = error));
    inner.on('close', () => this.end());
    // The default window of 64 KB for the whole connection would hold 64 streams to 640 KB/s at 100 ms away.
    inner.once('connect', () => inner.setLocalWindowSize(4 * 1024 * 1024));
    this.deadlines.add(this);
  }

  /** Streams that may be opened now. */
  get room(): number {
    if (this.isClosing || this.inner.closed || this.inner.destroyed) return 0;
    const allowed = this.inner.remoteSettings.maxConcurrentStreams ?? limits.streamsPerSession;
    return Math.max(0, Math.min(allowed, limits.streamsPerSession) - this.load);
  }

  /** Sends a request on a stream of its own; returns what gives it up. */
  open(letter: Letter, ear: Ear): () => void {
    if (this.load++ === 0) {
      this.inner.ref();
      this.dueMs = this.deadlines.nowMs() + this.patience.pingEveryMs;
    }
    const stream = this.inner.request({ ':method': 'POST', ':path': letter.path, ...letter.headers });
    const exchange = new Exchange(stream, ear, this);
    // In a later turn, because a wire tells nothing before it has returned.
    setImmediate(() => {
      if (!exchange.isOpen) return;
      ear.connected();
      this.sender.send(stream, letter, exchange);
    });
    return () => exchange.close();
  }

  /** A stream is gone. */
  leave(): void {
    if (--this.load === 0) {
      this.inner.unref();
      this.dueMs = this.deadlines.nowMs() + limits.sessionIdleMs;
      if (this.isClosing) this.inner.close();
    }
    this.owner?.freed();
  }

  /** Whether the server said that it did not look at this stream. */
  ignored(stream: ClientHttp2Stream): boolean {
    return stream.rstCode === refusedStream || (stream.id !== undefined && stream.id > this.lastStream);
  }

  /** Why its streams broke, for a person. */
  reason(error: Error): string {
    return networkMessage(this.error ?? error, this.place);
  }

  retire(): void {
    this.isClosing = true;
    if (this.load === 0) this.inner.close();
  }

  expire(nowMs: number): void {
    if (this.load === 0) this.retire();
    else if (this.pinging) {
      // Its streams are told before the session's own `error` comes.
      this.error = Object.assign(new Error('the server no longer answers'), { code: 'ETIMEDOUT' });
      this.inner.destroy(this.error);
    } else this.ask(nowMs);
    // Closing may take a moment; asking again at each tick would not make it shorter.
    this.dueMs = nowMs + this.patience.pingAnswerMs;
  }

  woke(nowMs: number): void {
    if (this.load === 0) this.retire();
    else if (!this.pinging) this.ask(nowMs);
  }

  private ask(nowMs: number): void {
    this.pinging = true;
    this.dueMs = nowMs + this.patience.pingAnswerMs;
    this.inner.ping((error) => {
      this.pinging = false;
      if (error === null) this.dueMs = this.deadlines.nowMs() + this.patience.pingEveryMs;
    });
  }

  private end(): void {
    this.isClosing = true;
    this.deadlines.remove(this);
    this.owner?.closed();
    this.owner = null;
  }
}

/** One stream. Its handlers share this object; after the body is sent nothing else belongs to the request. */
class Exchange {
  isOpen = true;
  private readonly stream: ClientHttp2Stream;
  private readonly ear: Ear;
  private readonly session: Session;
  private error: Error | null = null;

  constructor(stream: ClientHttp2Stream, ear: Ear, session: Session) {
    this.stream = stream;
    this.ear = ear;
    this.session = session;
    stream.on('response', (headers) => this.head(headers));
    stream.on('data', (bytes: Buffer) => {
      if (this.isOpen) this.ear.data(bytes);
    });
    stream.on('end', () => this.done());
    // What it means is known when the stream closes, which it does right after.
    stream.on('error', (error) => (this.error = error));
    stream.on('close', () => this.closed());
  }

  close(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.stream.close(cancelStream);
  }

  private head(headers: IncomingHttpHeaders & IncomingHttpStatusHeader): void {
    if (this.isOpen) this.ear.head(headers[':status'] ?? 0, headers);
  }

  private done(): void {
    // A stream that is reset ends too: what came is not the whole.
    if (!this.isOpen || this.stream.rstCode !== 0 || this.stream.aborted) return;
    this.isOpen = false;
    // An answer that came before the body was sent (413, 401) leaves the rest of it without a reader.
    if (!this.stream.writableFinished) this.stream.close(cancelStream);
    this.ear.done();
  }

  private closed(): void {
    const wasOpen = this.isOpen;
    this.isOpen = false;
    this.session.leave();
    if (!wasOpen) return;
    const error = this.error ?? new Error('it was closed before the answer came');
    const message = this.session.reason(error);
    this.ear.lost({ message, safe: this.session.ignored(this.stream) });
  }
}
