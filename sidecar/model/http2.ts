// Requests over HTTP/2: few connections shared by all agents of a credential, many streams on each. Which of the
// two versions a server speaks is found out by its first connection (ALPN); one that speaks only HTTP/1.1 is
// served by http1.ts from then on.
//
//   open ──► a session with a free stream ──► stream ──► Ear
//        └─► none: wait ──► another session is opened (and ahead of need, when most streams are in use)
//
// Promises: a session carries at most `streamsPerSession`, or fewer when its server says so; the least loaded is
// taken; what a session refused unread (GOAWAY, REFUSED_STREAM) is told as safe to ask again; when a session
// dies each of its requests is told so once. Sessions without streams do not keep the process alive.

import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Deadlines, Due } from './deadlines.ts';
import { dial, type Dialling } from './dial.ts';
import { Http1 } from './http1.ts';
import { Session } from './session.ts';
import {
  isDistrust,
  networkMessage,
  Sender,
  type Ear,
  type Letter,
  type Place,
  type Wire,
  type WireTools,
} from './transport.ts';
import { limits } from '../runtime/limits.ts';

/** A request without a stream yet. */
interface Waiting {
  readonly letter: Letter;
  readonly ear: Ear;
  given: boolean;
  close: (() => void) | null;
}

export class Http2 implements Wire {
  private readonly place: Place;
  private readonly tools: WireTools;
  private readonly sender = new Sender();
  private readonly sessions = new Set<Session>();
  private readonly attempts = new Set<Attempt>();
  private waiting: Waiting[] = [];
  private older: Http1 | null = null;
  private retired = false;
  private ticket: Buffer | undefined;

  constructor(place: Place, tools: WireTools) {
    this.place = place;
    this.tools = tools;
  }

  open(letter: Letter, ear: Ear): () => void {
    const wish: Waiting = { letter, ear, given: false, close: null };
    if (this.older !== null) return this.older.open(letter, ear);
    const session = this.leastLoaded();
    if (session !== null) wish.close = session.open(letter, ear);
    else if (this.waiting.length < limits.waitingForConnection) this.waiting.push(wish);
    else
      setImmediate(() =>
        ear.lost({ message: 'Too many requests wait for a connection to this provider.', safe: false }),
      );
    this.grow();
    return () => {
      wish.given = true;
      wish.close?.();
    };
  }

  retire(): void {
    this.retired = true;
    this.older?.retire();
    for (const session of this.sessions) session.retire();
  }

  private leastLoaded(): Session | null {
    let best: Session | null = null;
    for (const session of this.sessions) {
      if (session.room > 0 && (best === null || session.load < best.load)) best = session;
    }
    return best;
  }

  /** Opens as many connections as the waiting need, and one more before the last streams are taken. */
  private grow(): void {
    if (this.retired && this.waiting.length === 0) return;
    let room = 0;
    let load = 0;
    for (const session of this.sessions) {
      if (session.isClosing) continue;
      room += session.room;
      load += session.load;
    }
    const capacity = room + load + this.attempts.size * limits.streamsPerSession;
    const wanted = load + this.waiting.length;
    let missing = Math.ceil((wanted - capacity) / limits.streamsPerSession);
    if (missing <= 0 && wanted > 0 && capacity - wanted < limits.streamsAhead) missing = 1;
    while (missing-- > 0 && this.attempts.size < limits.connecting) this.connect();
  }

  private connect(): void {
    const { authorities, deadlines, patience } = this.tools;
    const attempt = new Attempt(deadlines, patience.connectMs);
    this.attempts.add(attempt);
    const how = { url: this.place.url, authorities, protocols: ['h2', 'http/1.1'], ticket: this.ticket };
    attempt.begin(how, (ending) => {
      this.attempts.delete(attempt);
      switch (ending.kind) {
        case 'socket':
          this.adopt(ending.socket);
          break;
        case 'older':
          this.step(ending.socket);
          break;
        case 'failed':
          if (isDistrust(ending.error) && authorities.addSystem()) this.connect();
          else this.fail(ending.error);
          break;
      }
      this.grow();
    });
  }

  private adopt(socket: TLSSocket): void {
    socket.on('session', (ticket) => (this.ticket = ticket));
    const session = new Session(socket, this.place, { ...this.tools, sender: this.sender });
    this.sessions.add(session);
    session.begin({
      freed: () => this.serve(),
      closed: () => {
        this.sessions.delete(session);
        this.serve();
      },
    });
    // First serve: requests that wait on a retired pool still get their answer.
    this.serve();
    if (this.retired) session.retire();
  }

  /** The server speaks HTTP/1.1 only. */
  private step(socket: Socket): void {
    socket.destroy();
    this.older ??= new Http1(this.place, this.tools);
    const waiting = this.waiting;
    this.waiting = [];
    for (const wish of waiting) if (!wish.given) wish.close = this.older.open(wish.letter, wish.ear);
  }

  private serve(): void {
    let taken = 0;
    while (taken < this.waiting.length) {
      const wish = this.waiting[taken];
      if (wish === undefined) break;
      if (!wish.given) {
        const session = this.leastLoaded();
        if (session === null) break;
        wish.close = session.open(wish.letter, wish.ear);
      }
      taken++;
    }
    if (taken > 0) this.waiting = this.waiting.slice(taken);
    this.grow();
  }

  /** A failed attempt stands for as many requests as its session would have served; the others have attempts of their own. */
  private fail(error: Error): void {
    const message = networkMessage(error, this.place);
    const lost = this.waiting.slice(0, limits.streamsPerSession);
    this.waiting = this.waiting.slice(lost.length);
    // Failing to connect is not safe to repeat at once: that is what back-off is for.
    for (const wish of lost) if (!wish.given) wish.ear.lost({ message, safe: false });
  }
}

type AttemptEnd =
  | { readonly kind: 'socket'; readonly socket: TLSSocket }
  | { readonly kind: 'older'; readonly socket: TLSSocket }
  | { readonly kind: 'failed'; readonly error: Error };

/** One connection being made, and its deadline. */
class Attempt implements Due {
  dueMs: number;
  private readonly deadlines: Deadlines;
  private giveUp: ((reason: Error) => void) | null = null;

  constructor(deadlines: Deadlines, connectMs: number) {
    this.deadlines = deadlines;
    this.dueMs = deadlines.nowMs() + connectMs;
  }

  begin(how: Dialling, post: (ending: AttemptEnd) => void): void {
    this.deadlines.add(this);
    this.giveUp = dial(how, (socket, error) => {
      this.deadlines.remove(this);
      if (socket === null) post({ kind: 'failed', error: error ?? new Error('no connection') });
      else post({ kind: socket.alpnProtocol === 'h2' ? 'socket' : 'older', socket });
    });
  }

  expire(): void {
    this.giveUp?.(Object.assign(new Error('no answer while connecting'), { code: 'ETIMEDOUT' }));
  }
}
