// Messages on a socket: LSP framing (`Content-Length: N`, blank line, N bytes of JSON) with bounds.
//
// vscode-jsonrpc's own reader keeps whatever it is sent: a header without end, a message of any announced size.
// This one stops at limits.headerBytes and limits.clientMessageBytes, refuses what is not JSON-RPC, and reads no
// further while limits.unreadMessages wait to be looked at or limits.clientBufferBytes of answers wait to be read:
// who asks without reading the answers is not listened to. Its writer hands every message to the socket at once,
// so that `writableLength` is all that a slow client costs. Not here: what a message means.

import type { Socket } from 'node:net';

import {
  AbstractMessageReader,
  AbstractMessageWriter,
  type DataCallback,
  type Disposable,
  type Message,
} from 'vscode-jsonrpc/node';

import { limits } from '../runtime/limits.ts';

const separator = Buffer.from('\r\n\r\n');

/** Reads messages from a socket. The first thing that breaks a bound or the format is an error, and then nothing more is read. */
export class BoundedReader extends AbstractMessageReader {
  readonly #socket: Socket;
  #chunks: Buffer[] = [];
  #sizeBytes = 0;
  /** Bytes of the message that is being received; null while its header is. */
  #bodyBytes: number | null = null;
  /** Delivered and not yet looked at. */
  #unread = 0;
  #ended = false;
  #deliver: DataCallback = () => undefined;

  constructor(socket: Socket) {
    super();
    this.#socket = socket;
  }

  listen(callback: DataCallback): Disposable {
    this.#deliver = callback;
    this.#socket.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk);
      this.#sizeBytes += chunk.length;
      this.#advance();
    });
    this.#socket.on('drain', () => this.#goOn());
    this.#socket.on('error', (error) => this.fireError(error));
    this.#socket.on('close', () => this.fireClose());
    return { dispose: () => this.stop() };
  }

  /** A message was looked at; there is room for another. */
  looked(): void {
    this.#unread -= 1;
    this.#goOn();
  }

  /** Reads nothing more, for good. */
  stop(): void {
    this.#ended = true;
    this.#chunks = [];
    this.#sizeBytes = 0;
  }

  #advance(): void {
    try {
      while (!this.#ended) {
        if (this.#full()) {
          this.#socket.pause();
          return;
        }
        this.#bodyBytes ??= this.#takeHeader();
        if (this.#bodyBytes === null || this.#sizeBytes < this.#bodyBytes) return;
        const message = parseMessage(this.#take(this.#bodyBytes));
        this.#bodyBytes = null;
        this.#unread += 1;
        this.#deliver(message);
      }
    } catch (error) {
      this.stop();
      this.fireError(error);
    }
  }

  #full(): boolean {
    return limits.unreadMessages <= this.#unread || limits.clientBufferBytes < this.#socket.writableLength;
  }

  #goOn(): void {
    if (this.#ended || !this.#socket.isPaused() || this.#full()) return;
    this.#socket.resume();
    this.#advance();
  }

  #takeHeader(): number | null {
    if (this.#sizeBytes === 0) return null;
    const buffered = this.#joined();
    const end = buffered.subarray(0, limits.headerBytes + separator.length).indexOf(separator);
    if (end === -1 && buffered.length <= limits.headerBytes) return null;
    const header = buffered.toString('latin1', 0, Math.max(0, end));
    const length = /(?:^|\r\n)content-length: *(\d{1,9}) *(?:\r\n|$)/i.exec(header)?.[1];
    if (length === undefined) throw new Error('A message must start with a Content-Length header.');
    if (limits.clientMessageBytes < Number(length)) {
      throw new Error(`A message of ${length} bytes is too long; ${limits.clientMessageBytes} are allowed.`);
    }
    this.#take(end + separator.length);
    return Number(length);
  }

  #take(bytes: number): Buffer {
    const buffered = this.#joined();
    const rest = buffered.subarray(bytes);
    this.#chunks = rest.length === 0 ? [] : [rest];
    this.#sizeBytes = rest.length;
    return buffered.subarray(0, bytes);
  }

  /** Chunks are joined only when a whole message or a header is looked for, so each byte is copied once. */
  #joined(): Buffer {
    const [first, second] = this.#chunks;
    if (first !== undefined && second === undefined) return first;
    const joined = Buffer.concat(this.#chunks, this.#sizeBytes);
    this.#chunks = [joined];
    return joined;
  }
}

function parseMessage(bytes: Buffer): Message {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch {
    throw new Error('A message is not valid JSON.');
  }
  if (!isMessage(value)) throw new Error('A message is not JSON-RPC 2.0.');
  // vscode-jsonrpc reads params.id without a look.
  if ('method' in value && value.method === '$/cancelRequest' && !namesCall(value)) {
    throw new Error('A $/cancelRequest must name the call that it cancels, in params.id.');
  }
  return value;
}

function namesCall(cancel: Message): boolean {
  const params: unknown = Reflect.get(cancel, 'params');
  const id: unknown = typeof params === 'object' && params !== null ? Reflect.get(params, 'id') : null;
  return typeof id === 'string' || Number.isSafeInteger(id);
}

function isMessage(value: unknown): value is Message {
  if (typeof value !== 'object' || value === null || Reflect.get(value, 'jsonrpc') !== '2.0') return false;
  const id: unknown = Reflect.get(value, 'id');
  const idFits = id === undefined || typeof id === 'string' || Number.isSafeInteger(id);
  const method: unknown = Reflect.get(value, 'method');
  if (method !== undefined) return idFits && typeof method === 'string';
  return idFits && id !== undefined && ('result' in value || 'error' in value);
}

/** Writes messages to a socket without waiting: what a client does not read stands in the socket's own count. */
export class DirectWriter extends AbstractMessageWriter {
  readonly #socket: Socket;

  constructor(socket: Socket) {
    super();
    this.#socket = socket;
  }

  write(message: Message): Promise<void> {
    this.writeText(JSON.stringify(message));
    return Promise.resolve();
  }

  /** Writes a message that is JSON already. A socket that is gone swallows it: its client is gone too. */
  writeText(json: string): void {
    if (this.#socket.destroyed || this.#socket.writableEnded) return;
    this.#socket.cork();
    this.#socket.write(`Content-Length: ${Buffer.byteLength(json)}\r\n\r\n`, 'latin1');
    this.#socket.write(json, 'utf8');
    this.#socket.uncork();
  }

  end(): void {
    this.#socket.end();
  }
}
