// Makes the parts and joins them: store, runtime, models, tools, review, and the server that clients reach.

import os from 'node:os';
import path from 'node:path';
import process from 'node:process';

import { verbSpecs } from './core/verbs.ts';
import type { EditorModels } from './model/editor.ts';
import { createModel } from './model/model.ts';
import { createClock } from './platform/clock.ts';
import type { Log } from './platform/log.ts';
import { privateBytes } from './platform/processes.ts';
import { systemRandom } from './platform/random.ts';
import type { Clients, Model, Reads, Scout, Store, ToolSpec } from './ports.ts';
import type { Result } from './protocol/methods.ts';
import type { ProviderSpec } from './protocol/settings.ts';
import { createServer, type Server } from './rpc/serve.ts';
import { checkStart } from './rpc/start.ts';
import { createHost, type Host } from './runtime/host.ts';
import { limits } from './runtime/limits.ts';
import { openStore } from './store/open.ts';
import { commandEnvironment, loginPath } from './tools/environment.ts';
import { createTools } from './tools/registry.ts';
import { Pool } from './tools/mcp/pool.ts';
import { bestShell } from './tools/shell.ts';
import { createLook, type Look } from './workspace/knowledge.ts';
import { createCheckpoints } from './workspace/checkpoints.ts';
import { createCheckpointService } from './workspace/checkpointService.ts';
import type { Buffers } from './workspace/buffers.ts';
import { createLocks } from './workspace/locks.ts';
import { createReview } from './workspace/review.ts';
import { createTrees } from './workspace/trees.ts';
import { createWitness } from './workspace/witness.ts';
import { createWorktrees } from './workspace/worktree.ts';

export interface WireOptions {
  /** The store's directory, owned by this process. */
  readonly directory: string;
  readonly nonce: string;
  readonly startedAtMs: number;
  /** Folder with the `roost` command: first on the PATH of agents' commands. */
  readonly commandFolder: string;
  readonly log: Log;
  /** Model requests in flight at a time. */
  readonly modelSlots: number;
  /** Commands that run at a time; null: by the cores of this machine. */
  readonly commandSlots: number | null;
  /** A client asked for the end. */
  readonly shutdown: () => void;
}

export interface Wired {
  readonly host: Host;
  readonly server: Server;
  /** Closes the store; nothing may be used afterwards. */
  close(): void;
}

/**
 * Opens the store of a directory and everything over it; takes up what was in flight.
 * @throws RoostError as openStore does.
 */
export function wire(options: WireOptions): Wired {
  const { directory, log } = options;
  const store = openStore({ directory, durability: 'power' });
  const model = knownModels(store.store, () => server.models);
  const server = createServer({
    directory,
    nonce: options.nonce,
    reads: store.reads,
    behind: () => ({ host, review, trees, checkpoints: folders.restorer, outputs: tools }),
    newClock: () => createClock({ alarm: 'elapsed' }),
    log,
    about: () => ({ durability: 'power', startedAtMs: options.startedAtMs, privateBytes: privateBytes() }),
    models: () => listModels(model, store.reads),
    checkStart: (params) => checkStart(params, { model, clients: server.clients }),
    servers: () => servers,
    look: (workspace) => scout.now(workspace),
    shutdown: options.shutdown,
  });
  const scout = createScout(store.store, () => tools.specs);
  const environment = commandsOf(options);
  const servers = createServers({ directory, environment, clients: server.clients, log, host: () => host });
  const folders = foldersOf(options, store.reads, server.buffers);
  const { review, trees } = folders;
  const tools = createTools({
    ...folders,
    runDirectory: path.join(directory, 'runs'),
    environment,
    servers,
    buffers: server.buffers,
    languages: server.languages,
    shell: bestShell(process.env['PATH'] ?? ''),
    redacted: log.redacted,
  });
  const host = createHost(
    {
      store: store.store,
      model,
      tools,
      review,
      trees,
      checkpoints: folders.restorer,
      scout,
      clock: createClock({ jumped: (byMs) => log.warn('the wall clock jumped', { byMs }) }),
      random: systemRandom,
      clients: server.clients,
      publish: server.publish,
      log: (message, facts) => log.error(message, { facts: JSON.stringify(facts) }),
    },
    {
      modelSlots: options.modelSlots,
      commandSlots: options.commandSlots ?? limits.commandSlotsPerCore * os.availableParallelism(),
      defaultModel: null,
    },
  );
  // Those whose agents were closed when the last process ended.
  trees.sweep();
  return {
    host,
    server,
    close: () => {
      tools.close();
      store.close();
    },
  };
}

/** What is done to folders and kept of them: verdicts, worktrees of agents, checkpoints of what they share. */
function foldersOf({ directory, log }: WireOptions, reads: Reads, buffers: Buffers) {
  const locks = createLocks();
  const witness = createWitness(path.join(directory, 'snapshots'));
  const { wrote } = witness;
  const review = createReview({ buffers, locks, wrote });
  const warn = (message: string, fields: Readonly<Record<string, string | number>>): void =>
    log.warn(message, fields);
  const worktrees = createWorktrees(path.join(directory, 'worktrees'));
  const trees = createTrees({ worktrees, agent: (id) => reads.treeAgent(id), warn });
  const checkpoints = createCheckpoints({ root: path.join(directory, 'checkpoints'), warn });
  const restorer = createCheckpointService({
    checkpoints,
    buffers,
    locks,
    wrote,
    agentName: (agent) => reads.treeAgent(agent)?.name,
    madeByAgent: (file, sinceMs) => reads.madeByAgent(file, sinceMs),
    isOpen: (file) => reads.isOpenInPlace(file),
    atWork: (workspace) => reads.atWork(workspace),
  });
  return { locks, witness, review, worktrees, trees, checkpoints, restorer };
}

/** What models there are, and which of them profiles get. */
function listModels(model: Model, reads: Reads): Promise<Result<'model/list'>> {
  return new Promise((resolve) =>
    model.list((models) => resolve({ models, default: null, roles: reads.roles() })),
  );
}

/** Looks at folders, and into the files of servers that the person has named. */
function createScout(store: Store, specs: () => readonly ToolSpec[]): Scout & { readonly now: Look } {
  const kept = store.range('setting.name', ['serverFiles'], { limit: 1 })[0];
  let serverFiles: readonly string[] = kept === undefined ? [] : JSON.parse(kept.value);
  const now = createLook({
    home: os.homedir(),
    tools: () => [...specs(), ...verbSpecs].map((tool) => tool.name),
    serverFiles: () => serverFiles,
  });
  return {
    now,
    look: (workspace, post) => void now(workspace).then(post),
    setServerFiles: (files) => void (serverFiles = files),
  };
}

interface ServerParts {
  readonly directory: string;
  readonly environment: () => Readonly<Record<string, string>>;
  readonly clients: Clients;
  readonly log: Log;
  readonly host: () => Host;
}

/** Servers of tools; what they offer goes to the runtime. */
function createServers({ directory, environment, clients, log, host }: ServerParts): Pool {
  return new Pool({
    directory,
    environment,
    surroundings: { home: os.homedir(), env: process.env, input: (id) => inputOf(clients, id) },
    offered: (server, offer) => host().post({ kind: 'offered', server, answer: { kind: 'offer', offer } }),
    hide: (secret) => log.hide(secret),
  });
}

/** What a person gave for `${input:ID}` of a server's definition: a key by that name, in memory only. */
const inputOf = (clients: Clients, id: string): Promise<string | null> =>
  new Promise((resolve) => clients.secret(`input:${id}`, (secret) => resolve(secret?.key ?? null)));

/** Models of the providers that were set, and those that editors lend. */
function knownModels(store: Store, editors: () => EditorModels): Model {
  const model = createModel({ editors });
  for (const { spec } of store.range('provider.name', [], { limit: limits.pageRows })) {
    const known: unknown = JSON.parse(spec);
    if (isProviderSpec(known)) model.setProvider(known);
  }
  for (const { model: name, input, output, cacheRead, cacheWrite } of store.range('price.model', [], {
    limit: limits.pageRows,
  }))
    model.setPrice(name, { input, output, cacheRead, cacheWrite });
  return model;
}

/** The environment of commands. The login shell is asked once, behind the first commands' back (case 53). */
function commandsOf(options: WireOptions): () => Readonly<Record<string, string>> {
  let login: string | null = null;
  void loginPath(process.env['SHELL'] ?? null, process.env).then((path) => (login = path));
  return () =>
    commandEnvironment({
      env: process.env,
      store: options.directory,
      binDirectory: options.commandFolder,
      loginPath: login,
    });
}

function isProviderSpec(value: unknown): value is ProviderSpec {
  return (
    typeof value === 'object' && value !== null && 'name' in value && 'dialect' in value && 'baseUrl' in value
  );
}
