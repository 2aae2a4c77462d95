// Makes the parts and joins them: store, runtime, models, tools, review, and the server that clients reach.

import { createClock } from './platform/clock.ts';
import type { Log } from './platform/log.ts';
import { privateBytes } from './platform/processes.ts';
import { RoostError } from './protocol/errors.ts';
import { createServer, type Server } from './rpc/serve.ts';
import type { Host } from './runtime/host.ts';
import { openStore } from './store/open.ts';

export interface WireOptions {
  /** The store's directory, owned by this process. */
  readonly directory: string;
  readonly nonce: string;
  readonly startedAtMs: number;
  /** Folder with the `roost` command: first on the PATH of agents' commands. */
  readonly commandFolder: string;
  readonly log: Log;
  /** A client asked for the end. */
  readonly shutdown: () => void;
}

export interface Wired {
  readonly host: Host;
  readonly server: Server;
  /** Closes the store; nothing may be used afterwards. */
  close(): void;
}

export function wire(options: WireOptions): Wired {
  const store = openStore({ directory: options.directory, durability: 'power' });
  const host: Host = {
    post: () => false,
    busy: () => false,
    nextTimerMs: () => null,
    loop: () => ({ p99Ms: 0, maxMs: 0, events: 0 }),
    slots: () => ({ modelUsed: 0, modelLimit: 0, commandUsed: 0, commandLimit: 0 }),
    trouble: () => null,
    drain: (done) => void setImmediate(done),
  };
  const server = createServer({
    directory: options.directory,
    nonce: options.nonce,
    reads: store.reads,
    behind: () => ({
      host,
      review: {
        detail: () => {
          throw new RoostError('internal', 'There is no review yet.');
        },
      },
    }),
    newClock: () => createClock({ alarm: 'elapsed' }),
    log: options.log,
    about: () => ({ durability: 'power', startedAtMs: options.startedAtMs, privateBytes: privateBytes() }),
    models: () => ({ models: [], default: null }),
    shutdown: options.shutdown,
  });
  return { host, server, close: () => store.close() };
}
