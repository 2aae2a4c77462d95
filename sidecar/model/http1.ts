// Requests over HTTP/1.1: local servers, and remote ones that offer nothing newer. A connection each while it
// lasts, kept for the next; how many at once is the runtime's business (slots).

import type * as Http from 'node:http';
import type { Authorities } from './authorities.ts';
import { limits } from '../runtime/limits.ts';
import { networkMessage, Sender, type Ear, type Letter, type Place, type Wire } from './transport.ts';

export class Http1 implements Wire {
  private readonly place: Place;
  private readonly sender = new Sender();
  private readonly request: typeof Http.request;
  private readonly agent: Http.Agent;

  constructor(place: Place, authorities: Authorities) {
    this.place = place;
    const how = { keepAlive: true, maxFreeSockets: limits.streamsPerSession, timeout: limits.sessionIdleMs };
    if (place.url.protocol === 'http:') {
      const http = process.getBuiltinModule('node:http');
      this.request = http.request;
      this.agent = new http.Agent(how);
    } else {
      const https = process.getBuiltinModule('node:https');
      this.request = https.request;
      this.agent = new https.Agent({ ...how, secureContext: authorities.context() });
    }
  }

  open(letter: Letter, ear: Ear): () => void {
    const exchange = new Exchange(this.place, ear);
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

class Exchange {
  isOpen = true;
  private readonly place: Place;
  private readonly ear: Ear;
  private request: Http.ClientRequest | null = null;
  private answered = false;

  constructor(place: Place, ear: Ear) {
    this.place = place;
    this.ear = ear;
  }

  follow(request: Http.ClientRequest): void {
    this.request = request;
    request.on('socket', (socket) => {
      if (!socket.connecting) return this.ear.connected();
      socket.once(this.place.url.protocol === 'http:' ? 'connect' : 'secureConnect', () => {
        if (this.isOpen) this.ear.connected();
      });
    });
    request.on('response', (response) => this.read(response));
    request.on('error', (error) => this.fail(error));
    request.on('close', () => this.fail(new Error('it was closed before the answer came')));
  }

  close(): void {
    this.isOpen = false;
    this.request?.destroy();
    this.request = null;
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
