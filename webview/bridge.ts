// The one door to the extension. It sends what panel.ts allows, gives every call its answer and every follow
// its state, and keeps what the view wants back after a reload. It draws nothing.
//
// A message that is not of the table is dropped. A follow that was closed hears nothing more, whatever is
// still on its way: each gets a tag that is never used again (case 122). After a lost connection the extension
// opens the follows again by itself; here that is one more snapshot.

import type { Action, Channel, Snapshot } from '../sidecar/protocol/frame.ts';
import type { Params, Result } from '../sidecar/protocol/methods.ts';
import type { Connection, PanelMethod, ToExtension, ToWebview, ViewKind } from '../sidecar/protocol/panel.ts';
import { reduce } from '../sidecar/protocol/reduce.ts';
import { limits } from './limits.ts';
import { say } from './strings.ts';

/** What `acquireVsCodeApi` gives; tests give their own. */
export interface Host {
  postMessage(message: ToExtension): void;
  getState(): unknown;
  setState(state: unknown): void;
}

/** How a call ended. A failure is data: its message is for the person. */
export type Answered<M extends PanelMethod> =
  | { readonly ok: true; readonly result: Result<M> }
  | { readonly ok: false; readonly code: string; readonly message: string };

export interface Heard {
  /** `actions` is null when the state is a new snapshot and not the old one moved on. */
  readonly state: (state: Snapshot, actions: readonly Action[] | null) => void;
  /** What was asked for is refused; `message` is for the person. */
  readonly refused: (message: string) => void;
}

export interface Follow {
  readonly channel: Channel;
  /** Asks for another part of the same channel; the answer is a snapshot. */
  move(channel: Channel): void;
  close(): void;
}

export type BridgeEvents = {
  /** The first `boot`, and `connection` after it. */
  readonly connection: (connection: Connection) => void;
  readonly show: (message: Extract<ToWebview, { kind: 'show' }>) => void;
};

type OpenFollow = { channel: Channel; state: Snapshot | null; readonly heard: Heard };

export class Bridge {
  readonly #host: Host;
  readonly #events: BridgeEvents;
  readonly #pending = new Map<number, (message: AnswerMessage) => void>();
  readonly #follows = new Map<string, OpenFollow>();
  readonly #booted: (strings: Readonly<Record<string, string>>) => void;
  #lastId = 0;

  constructor(host: Host, events: BridgeEvents, booted: (strings: Readonly<Record<string, string>>) => void) {
    this.#host = host;
    this.#events = events;
    this.#booted = booted;
  }

  /** Says that the view is there; the extension answers with `boot`. */
  ready(view: ViewKind): void {
    this.post({ kind: 'ready', view });
  }

  post(message: ToExtension): void {
    this.#host.postMessage(message);
  }

  /** What `remember` kept before the last reload. It may be of an older version: check it. */
  recall(): unknown {
    return this.#host.getState();
  }

  remember(state: unknown): void {
    this.#host.setState(state);
  }

  /** Never rejects. Past `limits.pendingCalls` the call fails at once. */
  call<M extends PanelMethod>(method: M, params: Params<M>): Promise<Answered<M>> {
    if (limits.pendingCalls <= this.#pending.size) {
      return Promise.resolve({ ok: false, code: 'overloaded', message: say('error.tooManyCalls') });
    }
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve) => {
      this.#pending.set(id, (message) => resolve(readAnswer(method, message)));
      this.post({ kind: 'call', id, method, params });
    });
  }

  follow(channel: Channel, heard: Heard): Follow {
    this.#lastId += 1;
    const tag = `${channel.kind}/${this.#lastId}`;
    const open: OpenFollow = { channel, state: null, heard };
    this.#follows.set(tag, open);
    this.post({ kind: 'follow', tag, channel });
    return {
      get channel() {
        return open.channel;
      },
      move: (next) => {
        if (!this.#follows.has(tag)) return;
        open.channel = next;
        this.post({ kind: 'follow', tag, channel: next });
      },
      close: () => {
        if (this.#follows.delete(tag)) this.post({ kind: 'unfollow', tag });
      },
    };
  }

  /** Takes one message of the extension. */
  receive(data: unknown): void {
    if (!isToWebview(data)) return;
    switch (data.kind) {
      case 'boot':
        this.#booted(data.strings);
        this.#events.connection(data.connection);
        return;
      case 'connection':
        this.#events.connection(data.connection);
        return;
      case 'snapshot':
        this.#setState(data.tag, data.snapshot, null);
        return;
      case 'actions':
        this.#applyActions(data.tag, data.actions);
        return;
      case 'refused':
        this.#follows.get(data.tag)?.heard.refused(data.message);
        return;
      case 'answer':
        this.#settle(data);
        return;
      case 'show':
        this.#events.show(data);
        return;
    }
  }

  /** Calls and follows that are open: zero when the view is at rest (case 17). */
  get openCount(): { readonly calls: number; readonly follows: number } {
    return { calls: this.#pending.size, follows: this.#follows.size };
  }

  #setState(tag: string, state: Snapshot, actions: readonly Action[] | null): void {
    const open = this.#follows.get(tag);
    if (open === undefined || open.channel.kind !== state.kind) return;
    open.state = state;
    open.heard.state(state, actions);
  }

  #applyActions(tag: string, actions: readonly Action[]): void {
    const state = this.#follows.get(tag)?.state ?? null;
    if (state === null) return;
    this.#setState(tag, actions.reduce(reduce, state), actions);
  }

  #settle(message: AnswerMessage): void {
    const done = this.#pending.get(message.id);
    this.#pending.delete(message.id);
    done?.(message);
  }
}

type AnswerMessage = Extract<ToWebview, { kind: 'answer' }>;

function readAnswer<M extends PanelMethod>(method: M, message: AnswerMessage): Answered<M> {
  if (!message.ok) return { ok: false, code: message.code, message: message.message };
  const result: unknown = message.result;
  if (isResult(method, result)) return { ok: true, result };
  return { ok: false, code: 'protocol/version', message: say('error.badAnswer') };
}

/** Fields that a result must have; an extension of another build may answer something else. */
const resultFields: Record<PanelMethod, readonly string[]> = {
  'agent/get': ['id', 'name', 'phase', 'branch'],
  'agent/send': ['turn', 'state'],
  'agent/interrupt': ['stopped'],
  'entry/page': ['entries', 'more'],
  'blob/read': ['text', 'nextOffset', 'totalBytes'],
  'request/answer': ['state'],
  'request/answerMany': ['applied', 'stale'],
  'change/list': ['rows', 'more'],
  'change/get': ['id', 'hunks', 'baseHash', 'afterHash'],
  'change/verdict': ['state', 'message', 'change'],
  'command/output': ['text', 'next', 'running'],
  'command/kill': ['killed'],
};

function isResult<M extends PanelMethod>(method: M, value: unknown): value is Result<M> {
  return isRecord(value) && resultFields[method].every((field) => field in value);
}

const kinds: Record<ToWebview['kind'], readonly string[]> = {
  boot: ['view', 'strings', 'connection'],
  connection: ['connection'],
  snapshot: ['tag', 'snapshot'],
  actions: ['tag', 'actions'],
  refused: ['tag', 'message'],
  answer: ['id', 'ok'],
  show: ['agent'],
};

function isToWebview(data: unknown): data is ToWebview {
  if (!isRecord(data) || typeof data['kind'] !== 'string') return false;
  const fields = Object.entries(kinds).find(([kind]) => kind === data['kind'])?.[1];
  return fields !== undefined && fields.every((field) => field in data);
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
