// Channel `agent`: one agent, the tail of its transcript, what it does right now, and what streams in.

import type { CommandRow } from '../protocol/command.ts';
import type { Entry } from '../protocol/entry.ts';
import type { Action, Snapshot } from '../protocol/frame.ts';
import type { AgentId } from '../protocol/ids.ts';
import { tailEntries, type OpenCall, type TranscriptState } from '../protocol/transcript.ts';
import type { News } from '../ports.ts';
import { limits } from '../runtime/limits.ts';
import { fitEntry, fitRequests, roomBytes, sizeBytes, takeFitting, takeNewest } from './fit.ts';
import { findAgent } from './found.ts';
import type { Shared, Step, View } from './view.ts';

/** Streamed text in one action: a character is at most six bytes of JSON. More than this at once is said by a snapshot. */
const deltaChars = Math.floor(roomBytes / 6);

/** Pages of new entries read in one step. A page is at most 256 KB; the state keeps no more than fits into two. */
const stepPages = 4;

export class AgentView implements View {
  readonly everyMs = limits.panelFrameMs;
  readonly paged = false;
  readonly #agent: AgentId;
  readonly #shared: Shared;
  /** Newest entry that the client has. */
  #cursor = 0;
  #look = { row: false, entries: false, calls: false, requests: false, ended: false };
  /** Its transcript goes on from somewhere else: what the client shows of it is not the end of it any more. */
  #moved = false;
  #commandsTold = '[]';
  #text = '';
  #thinking = '';

  constructor(agent: AgentId, shared: Shared) {
    this.#agent = agent;
    this.#shared = shared;
  }

  snapshot(): Snapshot {
    const { reads } = this.#shared;
    const agent = findAgent(reads, this.#agent);
    const page = reads.entries(this.#agent, { limit: tailEntries });
    const live = this.#shared.live(this.#agent);
    // Three eighths of a frame for entries, one for each of the rest and for the row.
    const entries = takeNewest(
      page.entries.map((entry) => fitEntry(entry, roomBytes / 4)),
      (roomBytes * 3) / 8,
    );
    this.#cursor = entries.at(-1)?.id ?? 0;
    this.#forget();
    const state: TranscriptState = {
      agent,
      entries,
      older: page.more || entries.length < page.entries.length,
      streaming: takeTail(live.text, roomBytes / 8),
      thinking: takeTail(live.thinking, roomBytes / 8),
      calls: takeFitting(this.#calls(), roomBytes / 8),
      commands: this.#commands(),
      requests: fitRequests(reads.requestsOf(this.#agent), roomBytes / 8),
    };
    return { kind: 'agent', state };
  }

  hear(news: News): boolean {
    const look = this.#look;
    const row = news.agents.has(this.#agent);
    const entries = news.spoke.has(this.#agent);
    const calls = news.calls.has(this.#agent);
    const requests = news.requests.has(this.#agent);
    look.row ||= row;
    look.entries ||= entries;
    look.calls ||= calls;
    look.requests ||= requests;
    this.#moved ||= news.rewound.has(this.#agent);
    return row || entries || calls || requests;
  }

  unfinished(): boolean {
    return false;
  }

  /** More of the answer that streams in. */
  delta(text: string, thinking: string): void {
    this.#text += text;
    this.#thinking += thinking;
  }

  /** The answer is stored or abandoned: what was not told of it need not be. */
  streamEnd(): void {
    this.#text = '';
    this.#thinking = '';
    this.#look.ended = true;
  }

  output(): void {
    this.#look.calls = true;
  }

  step(): Step {
    const { reads } = this.#shared;
    const look = this.#look;
    if (this.#moved || deltaChars < this.#text.length + this.#thinking.length)
      return { actions: [], reset: this.snapshot() };
    const actions: Action[] = [];
    if (look.ended) actions.push({ kind: 'agent/streamEnd' });
    const entries = look.entries ? this.#newEntries() : [];
    if (entries === null) return { actions: [], reset: this.snapshot() };
    actions.push(...entryActions(entries));
    if (look.calls) actions.push({ kind: 'agent/calls', calls: takeFitting(this.#calls(), roomBytes) });
    if (look.calls) actions.push(...this.#newCommands());
    if (look.requests) {
      actions.push({ kind: 'agent/requests', requests: fitRequests(reads.requestsOf(this.#agent)) });
    }
    const row = look.row ? reads.agent(this.#agent) : undefined;
    if (row !== undefined) actions.push({ kind: 'agent/row', agent: row });
    if (this.#text !== '' || this.#thinking !== '') {
      actions.push({ kind: 'agent/delta', text: this.#text, thinking: this.#thinking });
    }
    this.#forget();
    return { actions };
  }

  /** Entries that the client does not have; null when there are so many that a snapshot says it shorter. */
  #newEntries(): readonly Entry[] | null {
    const entries: Entry[] = [];
    for (let pages = 0; pages < stepPages; pages++) {
      const page = this.#shared.reads.entriesAfter(this.#cursor, this.#agent, tailEntries);
      this.#cursor = page.at(-1)?.id ?? this.#cursor;
      entries.push(...page.map((entry) => fitEntry(entry)));
      if (page.length === 0) return entries;
      if (tailEntries <= entries.length) return null;
    }
    return null;
  }

  #commands(): readonly CommandRow[] {
    const commands = this.#shared.reads.commandsOf(this.#agent);
    this.#commandsTold = JSON.stringify(commands);
    return commands;
  }

  /** They change less often than calls do. */
  #newCommands(): Action[] {
    const told = this.#commandsTold;
    const commands = this.#commands();
    return told === this.#commandsTold ? [] : [{ kind: 'agent/commands', commands }];
  }

  #forget(): void {
    this.#moved = false;
    this.#look = { row: false, entries: false, calls: false, requests: false, ended: false };
    this.#text = '';
    this.#thinking = '';
  }

  #calls(): readonly OpenCall[] {
    const { outputs } = this.#shared.live(this.#agent);
    const calls = this.#shared.reads.openCalls(this.#agent);
    const open = new Set<number>(calls.map((call) => call.call));
    for (const call of outputs.keys()) if (!open.has(call)) outputs.delete(call);
    return calls.map((call) => ({ ...call, output: outputs.get(call.call) ?? call.output }));
  }
}

/** Entries in actions that each fit into a frame. */
function entryActions(entries: readonly Entry[]): Action[] {
  const actions: Action[] = [];
  for (let rest = entries; 0 < rest.length;) {
    const part = takeFitting(rest, roomBytes);
    actions.push({ kind: 'agent/entries', entries: part });
    rest = rest.slice(part.length);
  }
  return actions;
}

/** The newest part of a text whose JSON has at most so many bytes. */
function takeTail(text: string, bytes: number): string {
  return sizeBytes(text) <= bytes ? text : text.slice(-Math.floor(bytes / 6));
}
