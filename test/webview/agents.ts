// An extension with a few agents in memory, for tests of the panel: answers its follows and pages as the sidecar
// would, lets a test play actions on them, and knows which follows are open.
import type { AgentRow } from '../../sidecar/protocol/agent.ts';
import type { ChangeDetail } from '../../sidecar/protocol/change.ts';
import type { Entry } from '../../sidecar/protocol/entry.ts';
import type { Action, Channel } from '../../sidecar/protocol/frame.ts';
import type { MethodName, Result } from '../../sidecar/protocol/methods.ts';
import type { ToExtension } from '../../sidecar/protocol/panel.ts';
import { tailEntries, transcriptReducer } from '../../sidecar/protocol/transcript.ts';
import type { TranscriptState } from '../../sidecar/protocol/transcript.ts';
import type { Say } from './page.ts';
import { agent, transcript } from './samples.ts';

type Call = Extract<ToExtension, { kind: 'call' }>;
/** Answers a call instead of the host; undefined leaves it to the host. */
export type Answers = (
  call: Call,
) => { ok: true; result: Result<MethodName> } | { ok: false; code: string; message: string } | undefined;

export class AgentHost {
  readonly stored = new Map<number, Entry[]>();
  readonly states = new Map<number, TranscriptState>();
  readonly changes = new Map<number, ChangeDetail[]>();
  /** Open follows by tag. */
  readonly follows = new Map<string, Channel>();
  answers: Answers = () => undefined;
  #say: Say | null = null;

  add(
    id: number,
    entries: Entry[] = [],
    part: Partial<TranscriptState> = {},
    row: Partial<AgentRow> = {},
  ): void {
    this.stored.set(id, entries);
    const tail = entries.slice(-tailEntries);
    this.states.set(id, transcript(agent(id, row), tail, { older: tail.length < entries.length, ...part }));
  }

  readonly hears = (message: ToExtension, say: Say): void => {
    this.#say = say;
    if (message.kind === 'follow') {
      this.follows.set(message.tag, message.channel);
      this.#snapshot(message.tag, message.channel, say);
    } else if (message.kind === 'unfollow') this.follows.delete(message.tag);
    else if (message.kind === 'call') {
      const answer = this.answers(message) ?? this.#answer(message);
      if (answer !== undefined) void say({ kind: 'answer', id: message.id, ...answer } as Parameters<Say>[0]);
    }
  };

  /** Plays actions on an agent: what is stored moves on, and every open follow of it hears. */
  async play(id: number, ...actions: Action[]): Promise<void> {
    for (const action of actions) {
      const state = this.states.get(id);
      if (state === undefined || !action.kind.startsWith('agent/')) continue;
      this.states.set(id, transcriptReducer(state, action as Parameters<typeof transcriptReducer>[1]));
      if (action.kind === 'agent/entries') this.stored.get(id)?.push(...action.entries);
    }
    const kind = actions[0]?.kind === 'changes/rows' ? 'changes' : 'agent';
    for (const [tag, channel] of this.follows) {
      const isOf = channel.kind === kind && Number(Reflect.get(channel, 'agent')) === id;
      if (isOf) await this.#say?.({ kind: 'actions', tag, actions });
    }
  }

  #snapshot(tag: string, channel: Channel, say: Say): void {
    if (channel.kind === 'agent') {
      const state = this.states.get(channel.agent);
      if (state !== undefined) void say({ kind: 'snapshot', tag, snapshot: { kind: 'agent', state } });
    }
    if (channel.kind === 'changes') {
      const rows = this.changes.get(Number(channel.agent)) ?? [];
      void say({ kind: 'snapshot', tag, snapshot: { kind: 'changes', state: { rows, more: false } } });
    }
  }

  #answer({ method, params }: Call): ReturnType<Answers> {
    const named = params as unknown as {
      agent: number;
      before?: number;
      after?: number;
      limit: number;
      change: number;
    };
    if (method === 'entry/page') return { ok: true, result: this.#page(named) };
    if (method === 'agent/get') {
      const row = this.states.get(named.agent)?.agent;
      return row === undefined
        ? { ok: false, code: 'agent/unknown', message: 'No such agent.' }
        : { ok: true, result: row };
    }
    const found = [...this.changes.values()].flat().find((each) => each.id === named.change);
    return method === 'change/get' && found !== undefined ? { ok: true, result: found } : undefined;
  }

  #page(params: { agent: number; before?: number; after?: number; limit: number }): Result<'entry/page'> {
    const all = this.stored.get(params.agent) ?? [];
    const { before, after, limit } = params;
    if (after !== undefined) {
      const later = all.filter((entry) => after < entry.id);
      return { entries: later.slice(0, limit), more: limit < later.length };
    }
    const earlier = before === undefined ? all : all.filter((entry) => entry.id < before);
    return { entries: earlier.slice(-limit), more: limit < earlier.length };
  }
}
