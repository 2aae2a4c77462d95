// One connection: its hello, its calls in both directions, its bounds.
//
// A peer may be broken, hostile, slow or gone, and costs the others nothing: what is not a message closes this
// connection with an error that says why (case 187), what it does not read stands in its own socket up to
// limits.clientBufferBytes, what it asks beyond limits.pendingCalls is answered `overloaded`.
// Not here: what the methods do (serve.ts), what is followed (follow.ts).

import type { Socket } from 'node:net';

import {
  createMessageConnection,
  ErrorCodes,
  ResponseError,
  type MessageConnection,
} from 'vscode-jsonrpc/node';

import { errorNumber, RoostError, type ErrorCode } from '../protocol/errors.ts';
import type { EditorMethods } from '../protocol/editorMethods.ts';
import type { Params } from '../protocol/methods.ts';
import { limits } from '../runtime/limits.ts';
import { BoundedReader, DirectWriter } from './framing.ts';
import { validateAnswer } from './validate.ts';

export type EditorMethod = keyof EditorMethods;

export interface PeerEvents {
  /** A call, hello included. What it throws or rejects with becomes the error that the client gets. */
  request(peer: Peer, method: string, params: unknown): unknown;
  /** A notification. False: there is none such, or not with these params. */
  notice(peer: Peer, method: string, params: unknown): boolean;
  /** The client has read what was waiting for it. */
  drained(peer: Peer): void;
  /** This side ends the connection: what is left of it is written, nothing more is heard. Told once, before `gone`. */
  ending(peer: Peer): void;
  /** The connection has ended; told once. */
  gone(peer: Peer): void;
  /** Something that is no client's business went wrong. */
  failed(error: unknown): void;
}

export class Peer {
  readonly id: number;
  /** What it said in hello; null before. */
  hello: Params<'hello'> | null = null;
  /** Its last call, on the monotonic clock: the window that was used last is asked first. */
  usedMs = 0;
  readonly #socket: Socket;
  readonly #events: PeerEvents;
  readonly #writer: DirectWriter;
  readonly #connection: MessageConnection;
  #pending = 0;
  #ended = false;
  #gone = false;

  constructor(id: number, socket: Socket, events: PeerEvents) {
    this.id = id;
    this.#socket = socket;
    this.#events = events;
    const reader = new BoundedReader(socket);
    this.#writer = new DirectWriter(socket);
    this.#connection = createMessageConnection(reader, this.#writer, undefined, {
      messageStrategy: {
        handleMessage: (message, next) => {
          reader.looked();
          return next(message);
        },
      },
    });
    this.#connection.onRequest((method, params) => this.#answer(method, params));
    this.#connection.onError(([error]) => this.refuse(error.message));
    this.#connection.onClose(() => this.#leave());
    this.#connection.onNotification((method, params) => {
      if (!events.notice(this, method, params)) this.refuse(`There is no notification ${method}.`);
    });
    socket.on('drain', () => events.drained(this));
    this.#connection.listen();
  }

  /** The connection has ended, or was told to. */
  get isOver(): boolean {
    return this.#ended;
  }

  /** Bytes that were sent to this client and that it has not read. */
  backlogBytes(): number {
    return this.#socket.writableLength;
  }

  /** Sends a notification whose params are JSON already. */
  notify(method: string, params: string): void {
    this.#writer.writeText(`{"jsonrpc":"2.0","method":${JSON.stringify(method)},"params":${params}}`);
  }

  /** Asks the client. Null: it does not know, answered nonsense, or is gone. A late answer is dropped by the caller. */
  ask<M extends EditorMethod>(
    method: M,
    params: EditorMethods[M]['params'],
    post: (result: EditorMethods[M]['result'] | null) => void,
  ): void {
    const asked = this.#ended ? Promise.resolve(null) : this.#connection.sendRequest<unknown>(method, params);
    asked.then(
      (answered) => post(validateAnswer(method, answered)),
      () => post(null),
    );
  }

  /** Says that this connection cannot go on, and ends it. */
  refuse(message: string, code: ErrorCode = 'request/invalid'): void {
    if (this.#ended) return;
    const number = code === 'request/invalid' ? ErrorCodes.ParseError : errorNumber(code);
    const error = { code: number, message, data: { code } };
    this.#writer.writeText(JSON.stringify({ jsonrpc: '2.0', id: null, error }));
    this.end();
  }

  /** Ends the connection once what was written is on its way. Safe to call twice. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#events.ending(this);
    // The answer of the call that led here is written in a microtask.
    setImmediate(() => {
      this.#socket.end();
      // A client that does not close its half is not waited for.
      this.#socket.setTimeout(1_000, () => this.#socket.destroy());
    });
  }

  #leave(): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#ended = true;
    this.#socket.destroy();
    // Rejects what this client was asked, so that nobody waits for it.
    this.#connection.dispose();
    this.#events.gone(this);
  }

  async #answer(method: string, params: unknown): Promise<unknown> {
    if (limits.pendingCalls <= this.#pending) {
      return wireError(
        'overloaded',
        `${this.#pending} calls of this client wait for an answer. Wait for some of them.`,
      );
    }
    this.#pending += 1;
    try {
      return await this.#events.request(this, method, params);
    } catch (error) {
      if (error instanceof RoostError) return wireError(error.code, error.message, error.data);
      this.#events.failed(error);
      return wireError(
        'internal',
        `${method} failed inside Roost. The sidecar's log says more; "roost doctor" may help.`,
      );
    } finally {
      this.#pending -= 1;
    }
  }
}

function wireError(code: ErrorCode, message: string, data: RoostError['data'] = {}): ResponseError<unknown> {
  return new ResponseError(errorNumber(code), message, { ...data, code });
}
