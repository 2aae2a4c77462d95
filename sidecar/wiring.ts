// Makes the parts and joins them: store, runtime, models, tools, review, and the server that clients reach.

import { createModel } from './model/model.ts';
import { createClock } from './platform/clock.ts';
import type { Log } from './platform/log.ts';
import { privateBytes } from './platform/processes.ts';
import { systemRandom } from './platform/random.ts';
import type { Review, Tools } from './ports.ts';
import type { ProviderSpec } from './protocol/settings.ts';
import { createServer, type Server } from './rpc/serve.ts';
import { createHost, type Host } from './runtime/host.ts';
import { limits } from './runtime/limits.ts';
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
  const server = createServer({
    directory: options.directory,
    nonce: options.nonce,
    reads: store.reads,
    behind: () => ({ host, review: noReview }),
    newClock: () => createClock({ alarm: 'elapsed' }),
    log: options.log,
    about: () => ({ durability: 'power', startedAtMs: options.startedAtMs, privateBytes: privateBytes() }),
    models: () => ({ models: [], default: null }),
    shutdown: options.shutdown,
  });
  const model = createModel();
  for (const { spec } of store.store.range('provider.name', [], { limit: limits.pageRows })) {
    const known: unknown = JSON.parse(spec);
    if (isProviderSpec(known)) model.setProvider(known);
  }
  const host = createHost(
    {
      store: store.store,
      model,
      tools: noTools,
      review: noReview,
      clock: createClock({ jumped: (byMs) => options.log.warn('the wall clock jumped', { byMs }) }),
      random: systemRandom,
      clients: server.clients,
      publish: server.publish,
      log: (message, facts) => options.log.error(message, { facts: JSON.stringify(facts) }),
    },
    { modelSlots: limits.modelSlots, commandSlots: limits.commandSlotsPerCore, defaultModel: null },
  );
  return { host, server, close: () => store.close() };
}

function isProviderSpec(value: unknown): value is ProviderSpec {
  return (
    typeof value === 'object' && value !== null && 'name' in value && 'dialect' in value && 'baseUrl' in value
  );
}

const refusal = 'There are no tools here.';

const noTools: Tools = {
  specs: [],
  classOf: () => null,
  prepare: (_, post) => {
    setImmediate(() => post({ kind: 'refuse', text: refusal }));
    return () => undefined;
  },
  run: (_, __, post) => {
    setImmediate(() => post({ kind: 'done', outcome: { status: 'error', text: refusal } }));
    return () => undefined;
  },
  recover: (_, __, post) => {
    setImmediate(() => post({ kind: 'done', outcome: { status: 'unknown', text: refusal } }));
    return () => undefined;
  },
};

const noReview: Review = {
  rebase: ({ base }) => base,
  detail: (row, _, post) => setImmediate(() => post({ ...row, hunks: [], baseText: null, afterText: null })),
  plan: (_, post) => setImmediate(() => post({ kind: 'stale', message: refusal })),
  write: (_, __, post) => setImmediate(() => post({ kind: 'conflict', message: refusal })),
  measure: () => ({ added: 0, removed: 0, beforeHash: '', afterHash: '' }),
};
