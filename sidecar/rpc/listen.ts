// The door: a unix socket in a folder of this user alone, or a named pipe on Windows. No TCP port (case 191, 197).
//
// Whoever listens owns the store (the kernel's lock decided that before), so a socket file that is there already
// belongs to a process that is gone and is replaced.

import { chmodSync, rmSync } from 'node:fs';
import * as net from 'node:net';
import process from 'node:process';

export interface Listening {
  /** Takes no new connections and removes the socket's file; connections that are there go on. Safe to call twice. */
  close(): void;
}

/** Listens at a path and hands each connection over. Rejects when the path cannot be listened at. */
export function listen(
  socketPath: string,
  accept: (socket: net.Socket) => void,
  failed: (error: Error) => void,
): Promise<Listening> {
  const pipe = process.platform === 'win32';
  if (!pipe) rmSync(socketPath, { force: true });
  const server = net.createServer({ noDelay: true }, accept);
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(socketPath, () => {
      server.off('error', reject);
      // Such as EMFILE in accept(): that connection is lost, the door stays open (case 58).
      server.on('error', failed);
      if (!pipe) chmodSync(socketPath, 0o600);
      resolve({ close: () => void (server.listening && server.close()) });
    });
  });
}
