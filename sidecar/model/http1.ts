// Requests over HTTP/1.1: local servers, and remote ones that offer nothing newer. A connection each while it
// lasts, kept for the next; how many at once is the runtime's business (slots).

import type * as Http from 'node:http';
import { Duplex } from 'node:stream';
import type { Due } from './deadlines.ts';
import { dial } from './dial.ts';
import { limits } from '../runtime/limits.ts';
import {
  networkMessage,
  Sender,
  type Ear,
  type Letter,
  type Place,
  type Wire,
  type WireTools,
} from './transport.ts';

export class Http1 implements Wire {
  private readonly place: Place;
  private readonly tools: WireTools;
  private readonly sender = new Sender();
  private readonly request: typeof Http.request;
  private readonly agent: Http.Agent;

  constructor(place: Place, tools: WireTools) {
    this.place = place;
    this.tools = tools;
    const { authorities } = tools;
    const how = { keepAlive: true, maxFreeSockets: limits.streamsPerSession, timeout: limits.sessionIdleMs };
    if (place.url.protocol === 'http:') {
      const http = process.getBuiltinModule('node:http');
      this.request = http.request;
      this.agent = new http.Agent(how);
    } else {
      const https = process.getBuiltinModule('node:https');
      this.request = https.request;
      this.agent = new https.Agent(how);
      // By our own dialling, which knows proxies and authorities.
      this.agent.createConnection = (_options, done) => {
        dial({ url: place.url, authorities, protocols: ['http/1.1'], ticket: undefined }, (socket, error) => {
          // The agent's callback wants a stream even beside an error, and does not look at it.
          done?.(error, socket ?? new Duplex());
        });
        return undefined;
      };
    }
  }

  open(letter: Letter, ear: Ear): () => void {
    const exchange = new Exchange(this.place, ear, this.tools);
    const request = this.request(new URL(this.place.url.origin), {
      method: 'POST',
      path: letter.path,
      headers: { ...letter.headers },
      agent: this.agent,
    });
    exchange.follow(request);
    this.sender.send(request, letter, exchange);
    return () => exchange.close();
  }

  retire(): void {
    // Not agent.destroy(): it would cut the requests that are under way.
    this.agent.maxFreeSockets = 0;
    for (const sockets of Object.values(this.agent.freeSockets))
      for (const socket of sockets ?? []) socket.destroy();
  }
}

/** One request. Its deadline is that of the connection; the later ones are the Ear's. */
class Exchange implements Due {
  isOpen = true;
  dueMs: number;
  private readonly place: Place;
  private readonly ear: Ear;
  private readonly tools: WireTools;
  private request: Http.ClientRequest | null = null;
  private answered = false;

  constructor(place: Place, ear: Ear, tools: WireTools) {
    this.place = place;
    this.ear = ear;
    this.tools = tools;
    this.dueMs = tools.deadlines.nowMs() + tools.patience.connectMs;
  }

  follow(request: Http.ClientRequest): void {
    this.request = request;
    this.tools.deadlines.add(this);
    request.on('socket', (socket) => {
      // A kept socket, or one that was dialled for us, stands already.
      if (socket.connecting) socket.once('connect', () => this.connected());
      else this.connected();
    });
    request.on('response', (response) => this.read(response));
    request.on('error', (error) => this.fail(error));
    request.on('close', () => this.fail(new Error('it was closed before the answer came')));
  }

  close(): void {
    this.isOpen = false;
    this.tools.deadlines.remove(this);
    this.request?.destroy();
    this.request = null;
  }

  expire(): void {
    this.fail(Object.assign(new Error('no answer while connecting'), { code: 'ETIMEDOUT' }));
  }

  private connected(): void {
    this.tools.deadlines.remove(this);
    if (this.isOpen) this.ear.connected();
  }

  private read(response: Http.IncomingMessage): void {
    if (!this.isOpen) return;
    this.answered = true;
    this.ear.head(response.statusCode ?? 0, response.headers);
    response.on('data', (bytes: Buffer) => {
      if (this.isOpen) this.ear.data(bytes);
    });
    response.on('end', () => {
      if (!this.isOpen) return;
      this.isOpen = false;
      // A body that was answered before it was read to its end leaves a connection that cannot be used again.
      if (this.request?.writableFinished === false) this.request.destroy();
      this.request = null;
      this.ear.done();
    });
    response.on('error', (error) => this.fail(error));
    response.on('close', () => this.fail(new Error('it was closed inside the answer')));
  }

  private fail(error: Error): void {
    if (!this.isOpen) return;
    // A kept connection that the server closed in the same moment: it never saw the request.
    const safe = !this.answered && this.request?.reusedSocket === true;
    this.close();
    this.ear.lost({ message: networkMessage(error, this.place), safe });
  }
}
