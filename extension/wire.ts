// One connection to a sidecar: the socket, JSON-RPC with LSP framing over it, what the sidecar may ask of this
// window, and errors in our own words. When to connect, and what then, is connection.ts.

import { createConnection } from 'node:net';
import type { Socket } from 'node:net';
import {
  ConnectionError,
  createMessageConnection,
  ErrorCodes,
  ResponseError,
  SocketMessageReader,
  SocketMessageWriter,
} from 'vscode-jsonrpc/node';
import type { MessageConnection } from 'vscode-jsonrpc/node';
import { RoostError } from '../sidecar/protocol/errors.ts';
import type { ErrorCode } from '../sidecar/protocol/errors.ts';
import type { Frame } from '../sidecar/protocol/frame.ts';
import type { EditorMethods } from '../sidecar/protocol/editorMethods.ts';
import type { Notifications } from '../sidecar/protocol/methods.ts';
import { limits } from './limits.ts';
import { describe } from './log.ts';

/** What this window does for the sidecar when it is asked. */
export type EditorHandlers = {
  readonly [M in keyof EditorMethods]: (
    params: EditorMethods[M]['params'],
  ) => Promise<EditorMethods[M]['result']>;
};

export interface WireEvents {
  readonly editor: EditorHandlers;
  readonly frames: (frames: readonly Frame[]) => void;
  /** The connection has ended; told once. */
  readonly gone: () => void;
  readonly warn: (message: string) => void;
}

/** Speaks over an open socket, from now on and until it ends. */
export function openWire(socket: Socket, events: WireEvents): MessageConnection {
  const wire = createMessageConnection(new SocketMessageReader(socket), new SocketMessageWriter(socket));
  serveEditor(wire, events.editor);
  wire.onNotification('follow/frames', (params: Notifications['follow/frames']) =>
    events.frames(params.frames),
  );
  wire.onError(([error]) => events.warn(`socket: ${describe(error)}`));
  wire.onClose(() => {
    // Rejects what is pending; without it those promises would stay for ever.
    wire.dispose();
    socket.destroy();
    events.gone();
  });
  wire.listen();
  return wire;
}

function serveEditor(wire: MessageConnection, editor: EditorHandlers): void {
  wire.onRequest('editor/readText', (params: EditorMethods['editor/readText']['params']) =>
    editor['editor/readText'](params),
  );
  wire.onRequest('editor/applyEdit', (params: EditorMethods['editor/applyEdit']['params']) =>
    editor['editor/applyEdit'](params),
  );
  wire.onRequest('editor/diagnostics', (params: EditorMethods['editor/diagnostics']['params']) =>
    editor['editor/diagnostics'](params),
  );
  wire.onRequest('editor/locations', (params: EditorMethods['editor/locations']['params']) =>
    editor['editor/locations'](params),
  );
  wire.onRequest('editor/rename', (params: EditorMethods['editor/rename']['params']) =>
    editor['editor/rename'](params),
  );
  wire.onRequest('editor/secret', (params: EditorMethods['editor/secret']['params']) =>
    editor['editor/secret'](params),
  );
  wire.onRequest('editor/modelPage', (params: EditorMethods['editor/modelPage']['params']) =>
    editor['editor/modelPage'](params),
  );
  wire.onRequest('editor/modelAsk', (params: EditorMethods['editor/modelAsk']['params']) =>
    editor['editor/modelAsk'](params),
  );
  wire.onRequest('editor/modelDrop', (params: EditorMethods['editor/modelDrop']['params']) =>
    editor['editor/modelDrop'](params),
  );
}

/** Null: nobody listens there. */
export function openSocket(address: string): Promise<Socket | null> {
  return new Promise((resolve) => {
    const socket = createConnection(address);
    const fail = (): void => {
      socket.destroy();
      resolve(null);
    };
    socket.setTimeout(limits.connectMs, fail);
    socket.once('error', fail);
    socket.once('connect', () => {
      socket.setTimeout(0);
      socket.off('error', fail);
      // The reader reports errors from here on; without a listener the first one would end this process.
      socket.on('error', () => undefined);
      resolve(socket);
    });
  });
}

/** Rejects with `sidecar/lost` when there is no answer in time. */
export function withTime<T>(promise: Promise<T>, limitMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new RoostError('sidecar/lost', 'The sidecar does not answer.')),
      limitMs,
    );
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** What a call is told that was under way when the connection ended. */
export function lost(): RoostError {
  return new RoostError(
    'sidecar/lost',
    'The Roost sidecar ended before it answered; it is being started again. Try again in a moment.',
  );
}

/** What JSON-RPC reports, as the one error class that the rest of the extension knows. */
export function toRoostError(error: unknown): RoostError {
  if (error instanceof RoostError) return error;
  if (error instanceof ConnectionError) return lost();
  if (!(error instanceof ResponseError)) return new RoostError('internal', describe(error));
  const { code, message, data }: { code: number; message: string; data?: unknown } = error;
  if (code === ErrorCodes.PendingResponseRejected) return lost();
  const named: unknown = typeof data === 'object' && data !== null ? Reflect.get(data, 'code') : data;
  return new RoostError(isCode(named) ? named : 'internal', message);
}

/** Codes have a slash or are one of the two words; a newer sidecar's code passes as well. */
function isCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && /^([a-z]+\/[A-Za-z]+|overloaded|internal)$/.test(value);
}
