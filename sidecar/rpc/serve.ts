// The server side of the wire: hello, then the methods of protocol/methods.ts.
//
// Reads are answered from the last commit. What changes something is checked and posted to the runtime, and
// answered after its commit (I1). A client that runs inside a command of an agent lends that command's slot back
// while it waits or follows (I5). Not here: sockets (listen.ts), what follows show (views.ts).

import type { Socket } from 'node:net';
import process from 'node:process';

import type { Knowledge } from '../core/knowledge.ts';
import { RoostError } from '../protocol/errors.ts';
import type { GroupMethods } from '../protocol/group.ts';
import type { MethodName, Params, Result, StoreInfo, TurnResult } from '../protocol/methods.ts';
import { build, protocolVersion } from '../protocol/version.ts';
import type { Clients, Clock, Publish, Reads, Review } from '../ports.ts';
import type { ClientEvent, Reply, RuntimeMethod } from '../runtime/event.ts';
import type { Host } from '../runtime/host.ts';
import { limits } from '../runtime/limits.ts';
import { createAnswers } from './answers.ts';
import { Editors, type Buffers, type Languages } from './editor.ts';
import { EditorModels } from './editorModels.ts';
import { Follows } from './follow.ts';
import { exportPage } from './branchExport.ts';
import { folderHandlers, type Folders } from './folders.ts';
import { groupHandlers } from './groups.ts';
import { checkHello } from './hello.ts';
import { Lending } from './lending.ts';
import { Peer } from './peer.ts';
import { checkPerson } from './persons.ts';
import { profileList } from './profiles.ts';
import { serverHandlers, type ServersNow } from './servers.ts';
import { realFolder } from './start.ts';
import { TroubleWatch } from './trouble.ts';
import { isMethod, validate, validateNotice } from './validate.ts';
import { Waits } from './waits.ts';

/** What the server uses of the runtime and of review; asked for at the first call, so that they can be made later. */
export interface Behind extends Folders {
  readonly host: Pick<Host, 'post' | 'loop' | 'slots' | 'said' | 'trouble'>;
  readonly review: Pick<Review, 'detail'>;
}

export interface ServerLog {
  /** This text must never be written. */
  hide(secret: string): void;
  /** The text without what must never be written. */
  redacted(text: string): string;
  info(message: string, fields?: Readonly<Record<string, string | number>>): void;
  warn(message: string, fields?: Readonly<Record<string, string | number>>): void;
  error(message: string, fields?: Readonly<Record<string, string | number>>): void;
}

export interface ServerOptions {
  /** The store's directory. */
  readonly directory: string;
  readonly nonce: string;
  readonly reads: Reads;
  readonly behind: () => Behind;
  /** A clock with an alarm of its own that counts elapsed time. */
  readonly newClock: () => Clock;
  readonly log: ServerLog;
  readonly about: () => Pick<StoreInfo, 'durability' | 'startedAtMs' | 'privateBytes'>;
  readonly models: () => Promise<Result<'model/list'>>;
  /** Looks at a start before it is promised: folder, model, key. Gives the parameters as they are posted. */
  readonly checkStart: (params: Params<'agent/start'>) => Promise<Params<'agent/start'>>;
  /** Servers of tools, as they are now. */
  readonly servers: () => ServersNow;
  /** What a folder (links resolved) tells agents, as it is now. */
  readonly look: (workspace: string) => Promise<Knowledge>;
  /** A client asked the sidecar to end; the answer is on its way when this is called. */
  readonly shutdown: () => void;
  /** For tests. */
  readonly helloMs?: number;
}

export interface Server {
  /** For the runtime: who follows is told what was committed. */
  readonly publish: Publish;
  /** For the runtime: keys that clients have. */
  readonly clients: Clients;
  /** For tools and review: what editors have open. */
  readonly buffers: Buffers;
  /** For tools: the language servers of editors. */
  readonly languages: Languages;
  /** For models: those that editors lend. */
  readonly models: EditorModels;
  /** Takes a new connection. */
  accept(socket: Socket): void;
  /** Connections, with and without hello. */
  clientCount(): number;
  /** When the last call came, on the monotonic clock of `newClock`; connections that end count as well. */
  usedMs(): number;
  /** Takes no more calls: what is asked from now on is answered by the next sidecar. */
  stop(): void;
  /** Ends all connections once their answers are on the way, and calls back. Safe to call twice (case 195). */
  close(done: () => void): void;
}

/** How often a server that closes looks whether its clients are gone. */
const lookEveryMs = 5;

type Handlers = {
  readonly [M in MethodName]: (params: Params<M>, peer: Peer) => Result<M> | Promise<Result<M>>;
};

export function createServer(options: ServerOptions): Server {
  const server = new Serving(options);
  return {
    publish: server.publish(),
    clients: server.editors,
    buffers: server.editors,
    languages: server.editors,
    models: server.models,
    accept: (socket) => server.accept(socket),
    clientCount: () => server.peers.size,
    usedMs: () => server.usedMs,
    stop: () => server.stop(),
    close: (done) => server.close(done),
  };
}

class Serving {
  readonly peers = new Set<Peer>();
  /** Connections that this side ends and that are not gone yet: they take nobody's place. */
  readonly #leaving = new Set<Peer>();
  readonly editors: Editors;
  readonly models = new EditorModels();
  readonly follows: Follows;
  usedMs: number;
  readonly #options: ServerOptions;
  readonly #clock: Clock;
  readonly #waits: Waits;
  readonly #handlers: Handlers;
  readonly #lending: Lending;
  readonly #trouble: TroubleWatch;
  #lastId = 0;
  #stopped = false;
  /** Who waits for the last connection to end. */
  readonly #goodbyes: (() => void)[] = [];

  constructor(options: ServerOptions) {
    this.#options = options;
    this.#clock = options.newClock();
    this.usedMs = this.#clock.monotonicMs();
    this.editors = new Editors({
      warn: (message, fields) => options.log.warn(message, fields),
      learned: (secret) => options.log.hide(secret),
    });
    const trouble = (): string | null => options.behind().host.trouble();
    this.follows = new Follows({
      reads: options.reads,
      clock: options.newClock(),
      said: (agent) => options.behind().host.said(agent),
      trouble,
      failed: (error) => this.#failed(error),
    });
    this.#trouble = new TroubleWatch({ clock: options.newClock(), trouble, follows: this.follows });
    this.#waits = new Waits({ reads: options.reads, clock: options.newClock() });
    this.#lending = new Lending(
      (call, lent) => void options.behind().host.post({ kind: 'lend', call, lent }),
    );
    this.#handlers = this.#makeHandlers();
  }

  publish(): Publish {
    const { follows } = this;
    return {
      committed: (news) => {
        if (news.ended.length !== 0) this.#waits.ended(news.ended);
        follows.committed(news);
      },
      delta: (agent, text, thinking) => follows.delta(agent, text, thinking),
      streamEnd: (agent) => follows.streamEnd(agent),
      output: (agent, call, text) => follows.output(agent, call, text),
    };
  }

  accept(socket: Socket): void {
    this.#lastId += 1;
    const peer = new Peer(this.#lastId, socket, {
      request: (from, method, params) => this.#request(from, method, params),
      notice: (from, method, params) => this.#notice(from, method, params),
      drained: (from) => this.follows.drained(from),
      ending: (from) => {
        this.peers.delete(from);
        this.#leaving.add(from);
      },
      gone: (from) => this.#gone(from),
      failed: (error) => this.#failed(error),
    });
    this.peers.add(peer);
    if (this.#stopped || limits.clients < this.peers.size) {
      const said = `${this.peers.size - 1} clients are connected already. Close some, or try again later.`;
      peer.refuse(said, 'overloaded');
      return;
    }
    // A connection that says nothing holds nothing but this timer.
    setTimeout(() => {
      if (peer.hello === null) peer.refuse('No hello came. It must be the first call.', 'protocol/hello');
    }, this.#options.helloMs ?? limits.helloMs).unref();
  }

  stop(): void {
    this.#stopped = true;
  }

  close(done: () => void): void {
    this.#stopped = true;
    this.#goodbyes.push(done);
    if (1 < this.#goodbyes.length) return;
    for (const peer of this.peers) peer.end();
    const untilMs = this.#clock.monotonicMs() + limits.goodbyeMs;
    const look = (): void => {
      const left = this.peers.size + this.#leaving.size;
      if (left === 0 || untilMs < this.#clock.monotonicMs()) {
        for (const goodbye of this.#goodbyes.splice(0)) goodbye();
      } else this.#clock.alarm(this.#clock.nowMs() + lookEveryMs, look);
    };
    look();
  }

  #request(peer: Peer, method: string, params: unknown): unknown {
    peer.usedMs = this.#clock.monotonicMs();
    this.usedMs = peer.usedMs;
    // Not answered: the connection ends, and a client that asks again asks the next sidecar.
    if (this.#stopped) return new Promise(() => undefined);
    if (peer.hello !== null) return this.#dispatch(peer, method, params);
    try {
      if (method !== 'hello') {
        throw new RoostError(
          'protocol/hello',
          `The first call of a connection must be hello, not ${method}.`,
        );
      }
      return this.#hello(peer, params);
    } catch (error) {
      peer.end();
      throw error;
    }
  }

  /** Only pieces of answers come unasked, and only of those that a window was asked for. */
  #notice(peer: Peer, method: string, params: unknown): boolean {
    if (method !== 'editor/modelSaid' || peer.hello === null) return false;
    const said = validateNotice(method, params);
    if (said !== null) this.models.said(peer, said.request, said.text);
    return said !== null;
  }

  #dispatch(peer: Peer, method: string, params: unknown): unknown {
    if (isMethod(method)) return this.#call(peer, method, params);
    throw new RoostError(
      'request/unknownMethod',
      `This sidecar (build ${build}) has no method ${method}. Update Roost, or leave it out.`,
    );
  }

  #call<M extends MethodName>(peer: Peer, method: M, params: unknown): Result<M> | Promise<Result<M>> {
    const valid = validate(method, params);
    checkPerson(peer, method);
    return this.#handlers[method](valid, peer);
  }

  #makeHandlers(): Handlers {
    const { follows } = this;
    const answers = createAnswers(this.#options.reads, (...args) =>
      this.#options.behind().review.detail(...args),
    );
    return {
      ...answers,
      ...this.#changing(),
      ...this.#groups(),
      hello: () => {
        throw new RoostError('protocol/hello', 'This connection has said hello already.');
      },
      ping: () => ({}),
      'turn/wait': (params, peer) => this.#wait(params, peer),
      'turn/result': async (params, peer) => {
        const result = await answers['turn/result'](params);
        await this.#tell(peer, [result]);
        return result;
      },
      'follow/open': ({ channel, after }, peer) => {
        const opened = follows.open(peer, channel, after);
        this.#lending.more(peer);
        if (channel.kind === 'fleet') this.#trouble.watch();
        return opened;
      },
      'follow/move': ({ follow, channel }, peer) => follows.move(peer, follow, channel),
      'follow/close': ({ follow }, peer) => {
        follows.close(peer, follow);
        this.#lending.less(peer);
        return {};
      },
      'agent/export': (params) => {
        const { reads, log } = this.#options;
        return exportPage({ reads, redacted: log.redacted, nowMs: () => Date.now() }, params);
      },
      ...folderHandlers(this.#options.behind),
      'model/list': () => this.#options.models(),
      ...serverHandlers({
        reads: this.#options.reads,
        now: this.#options.servers,
        look: this.#options.look,
      }),
      'profile/list': async (params) => {
        const workspace = await realFolder(params.workspace);
        return profileList(this.#options.reads, workspace, await this.#options.look(workspace));
      },
      'model/offer': (offer, peer) => {
        this.models.offer(peer, offer);
        this.#options.behind().host.post({ kind: 'editors', after: 0 });
        return {};
      },
      'store/info': () => this.#info(),
      shutdown: () => {
        setImmediate(() => this.#options.shutdown());
        return {};
      },
    };
  }

  /** The methods of groups, which are made of those of agents and changes. */
  #groups(): Pick<Handlers, keyof GroupMethods> {
    return groupHandlers({
      reads: this.#options.reads,
      check: (start) => this.#options.checkStart(start),
      start: (start, peer) => this.#start(start, peer),
      verdict: (params) => this.#commit((reply) => ({ kind: 'change/verdict', params, reply })),
      remove: (params) => this.#commit((reply) => ({ kind: 'agent/delete', params, reply })),
    });
  }

  /** The methods that are the runtime's: answered after the commit that makes the answer true. */
  #changing(): Pick<Handlers, RuntimeMethod> {
    return {
      'agent/start': (params, peer) => this.#start(params, peer),
      'agent/send': (params, peer) =>
        this.#commit((reply) => ({ kind: 'agent/send', params, reply, call: peer.hello?.call })),
      'agent/interrupt': (params) => this.#commit((reply) => ({ kind: 'agent/interrupt', params, reply })),
      'request/answer': (params) => this.#commit((reply) => ({ kind: 'request/answer', params, reply })),
      'request/answerMany': (params) =>
        this.#commit((reply) => ({ kind: 'request/answerMany', params, reply })),
      'change/verdict': (params) => this.#commit((reply) => ({ kind: 'change/verdict', params, reply })),
      'provider/set': (params) => this.#commit((reply) => ({ kind: 'provider/set', params, reply })),
      'agent/fork': (params, peer) =>
        this.#commit((reply) => ({ kind: 'agent/fork', params, reply, call: peer.hello?.call })),
      'agent/rewind': (params) => this.#commit((reply) => ({ kind: 'agent/rewind', params, reply })),
      'agent/rename': (params) => this.#commit((reply) => ({ kind: 'agent/rename', params, reply })),
      'agent/configure': async (params) => {
        const agent = params.profile === undefined ? undefined : this.#options.reads.agent(params.agent);
        if (agent !== undefined) await this.#look(agent.workspace);
        return this.#commit((reply) => ({ kind: 'agent/configure', params, reply }));
      },
      'mcp/files': (params) => this.#commit((reply) => ({ kind: 'mcp/files', params, reply })),
      'trust/set': async (asked) => {
        const params = { ...asked, workspace: await realFolder(asked.workspace) };
        await this.#look(params.workspace);
        return this.#commit((reply) => ({ kind: 'trust/set', params, reply }));
      },
      'agent/compact': (params) => this.#commit((reply) => ({ kind: 'agent/compact', params, reply })),
      'agent/close': (params) => this.#commit((reply) => ({ kind: 'agent/close', params, reply })),
      'agent/delete': (params) => this.#commit((reply) => ({ kind: 'agent/delete', params, reply })),
      'agent/import': async (asked) => {
        const params = { ...asked, workspace: await realFolder(asked.workspace) };
        if (params.after === 0) await this.#look(params.workspace);
        return this.#commit((reply) => ({ kind: 'agent/import', params, reply }));
      },
      'trash/empty': (params) => this.#commit((reply) => ({ kind: 'trash/empty', params, reply })),
      'trash/keep': (params) => this.#commit((reply) => ({ kind: 'trash/keep', params, reply })),
      'agent/restore': (params) => this.#commit((reply) => ({ kind: 'agent/restore', params, reply })),
      'turn/retry': (params) => this.#commit((reply) => ({ kind: 'turn/retry', params, reply })),
      'queue/remove': (params) => this.#commit((reply) => ({ kind: 'queue/remove', params, reply })),
      'model/price': (params) => this.#commit((reply) => ({ kind: 'model/price', params, reply })),
      'model/role': (params) => this.#commit((reply) => ({ kind: 'model/role', params, reply })),
      'command/kill': (params) => this.#commit((reply) => ({ kind: 'command/kill', params, reply })),
      'budget/set': (params) => this.#commit((reply) => ({ kind: 'budget/set', params, reply })),
      'checkpoint/restore': (params) =>
        this.#commit((reply) => ({ kind: 'checkpoint/restore', params, reply })),
    };
  }

  async #start(asked: Params<'agent/start'>, peer: Peer): Promise<Result<'agent/start'>> {
    const params = await this.#options.checkStart(asked);
    await this.#look(params.workspace);
    return this.#commit((reply) => ({ kind: 'agent/start', params, reply, call: peer.hello?.call }));
  }

  /** Looks at a folder, and tells the runtime before what rests on it. */
  async #look(workspace: string): Promise<void> {
    const knowledge = await this.#options.look(workspace);
    this.#options.behind().host.post({ kind: 'looked', workspace, knowledge, call: 0 });
  }

  #commit<T>(make: (reply: Reply<T>) => ClientEvent): Promise<T> {
    return new Promise((resolve, reject) => {
      const event = make((answer) => {
        if (answer.ok) resolve(answer.value);
        else reject(new RoostError(answer.code, answer.message));
      });
      if (this.#options.behind().host.post(event)) return;
      reject(
        new RoostError('overloaded', 'The sidecar is ending or has too much to do. Try again in a moment.'),
      );
    });
  }

  #hello(peer: Peer, said: unknown): Result<'hello'> {
    const params = checkHello(said, { nonce: this.#options.nonce, directory: this.#options.directory });
    peer.hello = params;
    this.editors.add(peer);
    if (params.can.includes('secrets')) this.#options.behind().host.post({ kind: 'keys' });
    const { kind, name } = params.client;
    this.#options.log.info('a client came', { client: peer.id, kind, name, build: params.build });
    return { protocol: protocolVersion, build, pid: process.pid, store: this.#options.directory };
  }

  async #wait(params: Params<'turn/wait'>, peer: Peer): Promise<Result<'turn/wait'>> {
    const waiting = this.#waits.wait(peer, params);
    const isPromise = waiting instanceof Promise;
    if (isPromise) this.#lending.more(peer);
    try {
      const answer = await waiting;
      await this.#tell(peer, answer.done);
      return answer;
    } finally {
      if (isPromise) this.#lending.less(peer);
    }
  }

  /** What a command of an agent is told of its children, that agent has heard: remembered before it is said (I1, I8). */
  async #tell(peer: Peer, results: readonly TurnResult[]): Promise<void> {
    const call = peer.hello?.call;
    const turns = results.filter((result) => result.outcome !== null).map((result) => result.turn);
    if (call === undefined || turns.length === 0) return;
    await new Promise<void>((resolve) => {
      const told = this.#options.behind().host.post({ kind: 'told', call, turns, reply: () => resolve() });
      if (!told) resolve(); // it ends: the next sidecar is asked again
    });
  }

  #gone(peer: Peer): void {
    this.#lending.drop(peer);
    this.peers.delete(peer);
    this.#leaving.delete(peer);
    this.editors.remove(peer);
    this.models.remove(peer);
    this.follows.drop(peer);
    this.#waits.drop(peer);
    this.usedMs = this.#clock.monotonicMs();
    if (peer.hello !== null) this.#options.log.info('a client left', { client: peer.id });
  }

  #info(): StoreInfo {
    const { host } = this.#options.behind();
    const { directory, reads } = this.#options;
    const { schema, storeBytes, freeBytes, walBytes, agents } = reads.sizes();
    const { running, waiting } = reads.fleet();
    return {
      ...{ directory, pid: process.pid, build, schema, agents, running, waiting },
      ...{ storeBytes, freeBytes, walBytes },
      ...this.#options.about(),
      slots: host.slots(),
      loop: host.loop(),
      commands: reads.commands(0, limits.backgroundCommands).rows.length,
      clients: this.peers.size,
    };
  }

  #failed(error: unknown): void {
    const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#options.log.error('a call or a follow failed', { message });
  }
}
