// A command's talk with the sidecar that survives the sidecar: when the connection is lost it connects again,
// starting a new one if need be, and asks again what was not answered. That is safe because every call that
// starts work has a key, and the same key returns the first answer for ever.

import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Action, Channel, Snapshot } from '../protocol/frame.ts';
import { entryId } from '../protocol/ids.ts';
import type { Entry } from '../protocol/entry.ts';
import type { MethodName, Params, Result } from '../protocol/methods.ts';
import type { ProviderSpec } from '../protocol/settings.ts';
import { connect, type ConnectOptions, type Wire } from './connect.ts';
import { Failure, isLost } from './failure.ts';

/** Pauses before connecting again: none the first time, then doubling while connections are lost in a row. */
const firstPauseMs = 100;
const longestPauseMs = 5_000;
/** A connection that held so long starts the pauses anew. */
const steadyMs = 10_000;
/** Actions that wait to be printed before the socket is read no further. */
const unprintedActions = 64;

export class Session {
  readonly #options: ConnectOptions;
  readonly #providers: readonly ProviderSpec[];
  #current: Wire | null = null;
  /** Several calls may find the connection lost at the same moment; one of them connects for all. */
  #connecting: Promise<Wire> | null = null;
  #connectedMs = 0;
  #lostInARow = 0;
  #closed = false;

  constructor(options: ConnectOptions, providers: readonly ProviderSpec[]) {
    this.#options = options;
    this.#providers = providers;
  }

  /** Calls until there is an answer; a lost connection is not one. */
  async call<M extends MethodName>(method: M, params: Params<M>): Promise<Result<M>> {
    for (;;) {
      try {
        const wire = await this.wire();
        return await wire.call(method, params);
      } catch (error) {
        if (!isLost(error)) throw error;
      }
    }
  }

  /** The present connection, or a new one. */
  async wire(): Promise<Wire> {
    if (this.#closed) throw new Failure('sidecar/failed', 'The connection to the sidecar was closed.');
    if (this.#current !== null && !this.#current.lost) return this.#current;
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = null;
    });
    return this.#connecting;
  }

  /** Connects anew, for what is told in `hello` has changed. */
  renew(): void {
    this.#current?.close();
  }

  close(): void {
    this.#closed = true;
    this.#current?.close();
  }

  async #connect(): Promise<Wire> {
    if (this.#current !== null) {
      this.#lostInARow = performance.now() - this.#connectedMs < steadyMs ? this.#lostInARow + 1 : 1;
      const pauseMs = this.#lostInARow === 1 ? 0 : firstPauseMs * 2 ** Math.min(10, this.#lostInARow - 2);
      process.stderr.write('roost: the sidecar ended; connecting again\n');
      await sleep(Math.min(pauseMs, longestPauseMs));
    }
    const wire = await connect(this.#options);
    this.#connectedMs = performance.now();
    this.#current = wire;
    for (const provider of this.#providers) await wire.call('provider/set', provider);
    return wire;
  }
}

/**
 * Actions of one channel as they come. Ends when `stop` is called, throws `sidecar/lost` when the connection ends.
 * What the consumer does not take yet stays in the socket, and then with the sidecar.
 */
export class Actions {
  readonly #wire: Wire;
  readonly #queue: Action[] = [];
  #wake: () => void = () => undefined;
  #paused = false;
  #ended = false;
  #stopped = false;
  #stopHearing: () => void = () => undefined;

  /** The state that the actions begin at. */
  readonly snapshot: Snapshot;

  private constructor(wire: Wire, snapshot: Snapshot) {
    this.#wire = wire;
    this.snapshot = snapshot;
  }

  static async open(wire: Wire, channel: Channel, after: number): Promise<Actions> {
    const params = channel.kind === 'log' ? { channel, after: entryId(after) } : { channel };
    const { follow, snapshot } = await wire.call('follow/open', params);
    const actions = new Actions(wire, snapshot);
    actions.#stopHearing = wire.hear(follow, (frame) => {
      if (frame === null) actions.#ended = true;
      else actions.#queue.push(...anew(frame.reset), ...frame.actions);
      if (unprintedActions < actions.#queue.length && !actions.#paused) {
        actions.#paused = true;
        wire.pause();
      }
      actions.#wake();
    });
    return actions;
  }

  stop(): void {
    this.#stopped = true;
    this.#stopHearing();
    this.#resume();
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Action> {
    for (;;) {
      if (this.#stopped) return;
      const action = this.#queue.shift();
      if (action !== undefined) {
        yield action;
        continue;
      }
      if (this.#ended) throw new Failure('sidecar/lost', 'The connection to the sidecar was lost.');
      this.#resume();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#wire.resume();
  }
}

/** A snapshot that replaces what was known, as the actions that lead there. A log is never replaced. */
function anew(reset: Snapshot | undefined): readonly Action[] {
  if (reset?.kind !== 'agent') return [];
  const { agent, requests } = reset.state;
  return [
    { kind: 'agent/requests', requests },
    { kind: 'agent/row', agent },
  ];
}

export type LogEvent = { readonly kind: 'entry'; readonly entry: Entry } | { readonly kind: 'caughtUp' };

/**
 * Entries of an agent or of all from a cursor on: first from the store, then live, without a gap and without a
 * double, across any number of sidecars: after a lost connection it goes on behind the last entry it gave.
 */
export class Log {
  /** Id of the last entry given. */
  cursor: number;
  readonly #session: Session;
  readonly #channel: Channel;
  #caughtUp = false;
  #stopped = false;
  #actions: Actions | null = null;

  constructor(session: Session, channel: Extract<Channel, { kind: 'log' }>, after: number) {
    this.#session = session;
    this.#channel = channel;
    this.cursor = after;
  }

  stop(): void {
    this.#stopped = true;
    this.#actions?.stop();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<LogEvent> {
    while (!this.#stopped) {
      try {
        this.#actions = await Actions.open(await this.#session.wire(), this.#channel, this.cursor);
        if (this.#stopped) this.#actions.stop();
        for await (const action of this.#actions) yield* this.#events(action);
      } catch (error) {
        if (!isLost(error)) throw error;
      }
    }
  }

  *#events(action: Action): Generator<LogEvent> {
    if (action.kind === 'log/caughtUp' && !this.#caughtUp) {
      this.#caughtUp = true;
      yield { kind: 'caughtUp' };
    }
    if (action.kind !== 'log/entries') return;
    for (const entry of action.entries) {
      if (this.#stopped) return;
      this.cursor = entry.id;
      yield { kind: 'entry', entry };
    }
  }
}
