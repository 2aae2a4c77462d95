// The extension's connection to the sidecar of its store: found or started, kept, and made again when the
// sidecar dies.
//
// Promises: at most one connection; a call waits for one that is being made; what is pending when it ends is
// rejected with `sidecar/lost`, except calls with a key, which are sent again because the key makes them count
// once (cases 187, 246); four crashes in three minutes end the attempts until a person asks for more.
// Not here: which Node runs the sidecar (sidecar.ts), the socket and its framing (wire.ts), what is followed
// (replica.ts).

import type { Socket } from 'node:net';
import type { MessageConnection } from 'vscode-jsonrpc/node';
import type { Discovery } from '../sidecar/protocol/discovery.ts';
import { RoostError } from '../sidecar/protocol/errors.ts';
import type { Frame } from '../sidecar/protocol/frame.ts';
import type { EditorAbility } from '../sidecar/protocol/editorMethods.ts';
import type { ClientNotifications, MethodName, Params, Result } from '../sidecar/protocol/methods.ts';
import type { Connection as ConnectionState } from '../sidecar/protocol/panel.ts';
import { build, protocolVersion } from '../sidecar/protocol/version.ts';
import { limits } from './limits.ts';
import { describe } from './log.ts';
import type { Log } from './log.ts';
import { readDiscovery } from './sidecar.ts';
import { Signal } from './signal.ts';
import { lost, openSocket, openWire, toRoostError, withTime } from './wire.ts';
import type { EditorHandlers } from './wire.ts';

/** `off`: nobody has asked for the sidecar yet, or the workspace is not trusted. */
export type State = Exclude<ConnectionState, { kind: 'untrusted' }> | { readonly kind: 'off' };

export interface Setup {
  readonly store: () => string;
  /** Starts a sidecar for the store and resolves when one listens. */
  readonly launch: (store: string) => Promise<Discovery>;
  /** This window's name for the sidecar's list of clients, and its workspace folders. */
  readonly client: () => Promise<{ readonly name: string; readonly workspaces: readonly string[] }>;
  readonly can: readonly EditorAbility[];
  readonly editor: EditorHandlers;
  readonly log: Log;
  /** For tests; limits.backOffMs otherwise. */
  readonly backOffMs?: readonly number[];
}

export class Connection {
  readonly onState = new Signal<State>();
  readonly onFrames = new Signal<readonly Frame[]>();
  readonly #setup: Setup;
  #state: State = { kind: 'off' };
  /**
   * The store of this window, from its first connection to the next `restart`. A setting that changes meanwhile, or
   * that VS Code drops once it knows the extension's settings, must not move the window to another store unasked.
   */
  #store: string | null = null;
  #wire: MessageConnection | null = null;
  #falls: number[] = [];
  #bringing = false;
  #disposed = false;
  #pause: (() => void) | null = null;
  #replacedOld = false;

  constructor(setup: Setup) {
    this.#setup = setup;
  }

  get state(): State {
    return this.#state;
  }

  /** Connects, starting a sidecar if none listens. Does nothing when connected, on the way, or given up. */
  start(): void {
    if (this.#state.kind !== 'off' || this.#disposed) return;
    this.#setState({ kind: 'connecting' });
    void this.#bring();
  }

  /** The directory of the store that is used; null before the first connection. */
  get store(): string | null {
    return this.#store;
  }

  /** Ends the running sidecar in order and starts a new one; also the way out of `failed`. */
  async restart(): Promise<void> {
    this.#falls = [];
    const wire = this.#wire;
    this.#wire = null;
    this.#setState({ kind: 'connecting' });
    // Its turns are rows: the new sidecar goes on with them.
    if (wire !== null) await this.#shutDown(wire);
    this.#store = null;
    this.#pause?.();
    void this.#bring();
  }

  /** Connects anew without ending the sidecar, after what this window tells in `hello` has changed. */
  greetAgain(): void {
    if (this.#wire === null) return;
    this.#drop();
    this.#setState({ kind: 'connecting' });
    void this.#bring();
  }

  /**
   * Asks the sidecar. Waits for a connection that is being made (at most limits.callWaitMs) and asks for one
   * when there is none. Rejects with a RoostError whose message says what to do.
   */
  async call<M extends MethodName>(method: M, params: Params<M>): Promise<Result<M>> {
    const keyed = 'key' in params;
    for (let tries = 1; ; tries += 1) {
      const wire = await this.#ready();
      try {
        return await wire.sendRequest<Result<M>>(method, params);
      } catch (error) {
        const known = toRoostError(error);
        if (!keyed || known.code !== 'sidecar/lost' || limits.keyedTries <= tries) throw known;
        this.#setup.log.info(`${method} is sent again after a lost connection`);
      }
    }
  }

  /** Tells the sidecar something unasked; nothing when there is none. */
  notify<N extends keyof ClientNotifications>(notice: N, params: ClientNotifications[N]): void {
    // A connection that ends meanwhile is told by its close; whoever waited for the notice knows that the window went.
    this.#wire?.sendNotification(notice, params).catch(() => undefined);
  }

  dispose(): void {
    this.#disposed = true;
    this.#pause?.();
    this.#drop();
    this.#setState({ kind: 'off' });
  }

  #setState(state: State): void {
    this.#state = state;
    this.onState.fire(state);
  }

  async #ready(): Promise<MessageConnection> {
    this.start();
    if (this.#wire !== null) return this.#wire;
    return new Promise((resolve, reject) => {
      const settle = (finish: () => void): void => {
        clearTimeout(timer);
        listening.dispose();
        finish();
      };
      const give = (state: State): void => {
        const wire = this.#wire;
        if (wire !== null) settle(() => resolve(wire));
        else if (state.kind === 'failed')
          settle(() => reject(new RoostError('sidecar/failed', state.message)));
        else if (state.kind === 'off') settle(() => reject(lost()));
      };
      const timer = setTimeout(
        () =>
          settle(() =>
            reject(new RoostError('sidecar/lost', 'The Roost sidecar does not answer. Try again.')),
          ),
        limits.callWaitMs,
      );
      const listening = this.onState.on(give);
      give(this.#state);
    });
  }

  /** The one place where connections are made: attempts with back-off until connected or given up. */
  async #bring(): Promise<void> {
    if (this.#bringing) return;
    this.#bringing = true;
    const { backOffMs = limits.backOffMs } = this.#setup;
    for (let attempt = 0; !this.#disposed; attempt += 1) {
      if (0 < attempt) await this.#wait(backOffMs[Math.min(attempt, backOffMs.length) - 1] ?? 0);
      if (this.#disposed) break;
      try {
        await this.#attach();
        break;
      } catch (error) {
        const known = toRoostError(error);
        this.#setup.log.error(`connect: ${describe(known)}`);
        const message = this.#giveUp(known);
        if (message !== null) {
          this.#setState({ kind: 'failed', message });
          break;
        }
        this.#setState({ kind: 'restarting', attempt: this.#falls.length });
      }
    }
    this.#bringing = false;
    // It may have ended between the attempt's success and this line.
    if (this.#wire === null && this.#state.kind === 'connected') this.#fell();
  }

  async #attach(): Promise<void> {
    this.#store ??= this.#setup.store();
    const store = this.#store;
    const found = await readDiscovery(store);
    const socket = found === null ? null : await openSocket(found.socket);
    if (found !== null && socket !== null) await this.#greet(found, socket);
    else await this.#attachNew(await this.#setup.launch(store));
    if (this.#wire !== null && (await this.#replaceOld(this.#wire))) return this.#attach();
    this.#setState({ kind: 'connected' });
  }

  async #attachNew(started: Discovery): Promise<void> {
    const socket = await openSocket(started.socket);
    if (socket === null) throw new RoostError('sidecar/lost', `The sidecar ${started.pid} does not listen.`);
    await this.#greet(started, socket);
  }

  async #greet(found: Discovery, socket: Socket): Promise<void> {
    const { client, can, editor, log } = this.#setup;
    const wire = openWire(socket, {
      editor,
      frames: (frames) => this.onFrames.fire(frames),
      warn: (message) => log.warn(message),
      gone: () => {
        if (this.#wire !== wire) return;
        this.#wire = null;
        if (!this.#bringing) this.#fell();
      },
    });
    const { name, workspaces } = await client();
    const hello: Params<'hello'> = {
      protocol: protocolVersion,
      build,
      nonce: found.nonce,
      client: { kind: 'extension', name },
      can,
      workspaces,
    };
    try {
      const answer = await withTime(wire.sendRequest<Result<'hello'>>('hello', hello), limits.helloMs);
      log.info(`connected to sidecar ${answer.pid}, build ${answer.build}, store ${answer.store}`);
      this.#wire = wire;
    } catch (error) {
      wire.dispose();
      socket.destroy();
      throw error;
    }
  }

  /** A newer build takes over from an older one, but only when no turn runs, and tries once (DESIGN §2). */
  async #replaceOld(wire: MessageConnection): Promise<boolean> {
    if (this.#replacedOld) return false;
    const info = await wire.sendRequest<Result<'store/info'>>('store/info', {}).catch(() => null);
    if (info === null || build <= info.build || 0 < info.running) return false;
    this.#replacedOld = true;
    this.#setup.log.info(`sidecar ${info.pid} is of build ${info.build}; replacing it by ${build}`);
    this.#wire = null;
    await this.#shutDown(wire);
    return true;
  }

  /** Asks the sidecar to end and waits until its connection is gone, which this client then no longer holds. */
  async #shutDown(wire: MessageConnection): Promise<void> {
    const gone = new Promise<void>((resolve) => wire.onClose(resolve));
    try {
      await withTime(wire.sendRequest('shutdown', {}), limits.helloMs);
      await withTime(gone, limits.helloMs);
    } catch (error) {
      this.#setup.log.warn(`shutdown: ${describe(error)}`);
      wire.end();
      wire.dispose();
    }
  }

  /** The connection that stood is gone: make it again at once. */
  #fell(): void {
    if (this.#disposed) return;
    this.#setup.log.warn('the sidecar is gone');
    const message = this.#giveUp(lost());
    if (message !== null) {
      this.#setState({ kind: 'failed', message });
      return;
    }
    this.#setState({ kind: 'restarting', attempt: this.#falls.length });
    void this.#bring();
  }

  /** Null: try again. Else what a person is told. */
  #giveUp(error: RoostError): string | null {
    if (error.code === 'protocol/version' || error.code === 'sidecar/noNode') return error.message;
    const now = Date.now();
    this.#falls = [...this.#falls.filter((at) => now - limits.crashWindowMs < at), now];
    if (this.#falls.length < limits.crashes) return null;
    if (error.code !== 'sidecar/lost') return error.message;
    const minutes = limits.crashWindowMs / 60_000;
    return `The Roost sidecar ended ${limits.crashes} times in ${minutes} minutes. Its log says more; choose Restart to try again.`;
  }

  #drop(): void {
    const wire = this.#wire;
    this.#wire = null;
    wire?.end();
    wire?.dispose();
  }

  #wait(waitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, waitMs);
      this.#pause = () => {
        clearTimeout(timer);
        this.#pause = null;
        resolve();
      };
    });
  }
}
