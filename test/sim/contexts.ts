// What is sent of a conversation (view): the view that the newest entry of kind `context` holds, worked out once more
// from the committed rows, is what each request has, item by item; and a view leaves nothing out that no summary stands
// for, or that the model has not read.
//
// Not here: what a provider demands of any conversation (checks.ts).

import type { AgentRecord, EntryRecord } from '../../sidecar/core/rows.ts';
import type { Item, ModelRequest } from '../../sidecar/ports.ts';
import type { ContextView, EntryBody } from '../../sidecar/protocol/entry.ts';
import { bodyIn, lineIn } from './lines.ts';
import { nameOf } from './checks.ts';
import { roomOf, tokensOf } from './fakeModel.ts';
import { isWish, type Standing } from './script.ts';
import type { Sim } from './sim.ts';

interface Entry {
  readonly row: Readonly<EntryRecord>;
  readonly body: EntryBody;
}

const trimmed = 'No summary could be made of the older part';
const whole: ContextView = { from: 0, kept: [], summary: 0, elided: 0, cutTo: 0, cutBytes: 0, plain: 0 };

export class Contexts {
  readonly #sim: Sim;
  readonly #lines = new Map<number, { readonly upTo: number; readonly entries: readonly Entry[] }>();
  readonly #bodies = new Map<number, EntryBody>();
  /** The newest summary that the model gave an agent, and the newest entry that it was made from. */
  #covered = 0;
  /** The round of its task that each agent was last answered in. */
  readonly #rounds = new Map<number, { readonly name: string; readonly round: number }>();
  readonly #summaries = new Map<number, { readonly text: string; readonly head: number }>();

  constructor(sim: Sim) {
    this.#sim = sim;
  }

  /** A new process: what a canary took from the disk is gone. */
  forget(): void {
    this.#lines.clear();
    this.#bodies.clear();
  }

  summarised(request: ModelRequest, text: string): void {
    this.#summaries.set(request.agent, { text, head: this.#covered });
  }

  /**
   * Where the conversation stands, also when its oldest part was left out without a summary: a model that has read
   * `history` does not begin its task again, and agents that start theirs again and again never come to rest.
   */
  remembered(agent: number, at: Standing, items: readonly Item[]): Standing {
    const known = this.#rounds.get(agent);
    const isTrimmed = items.some((item) => item.kind === 'user' && item.text.includes(trimmed));
    const isSame = known !== undefined && known.name === at.task?.name;
    const round = isTrimmed && isSame ? Math.max(at.round, known.round + 1) : at.round;
    if (at.task !== null) this.#rounds.set(agent, { name: at.task.name, round });
    return { ...at, round };
  }

  /** The conversation of a request that is in flight. */
  sent(request: ModelRequest, items: readonly Item[]): void {
    const agent = this.#sim.disk.row('agent', request.agent);
    if (agent?.attempts !== request.attempt || agent.phase !== 'asking') return;
    this.#room(request, items);
    const isSummary = isWish(items.at(-1));
    const wrong = this.#differs(agent, isSummary ? items.slice(0, -1) : items, isSummary);
    if (wrong !== null) this.#sim.fail('line', `the conversation of attempt ${nameOf(request)} ${wrong}`);
  }

  /** An entry of kind `context` was committed. */
  written(id: number): void {
    const row = this.#sim.disk.row('entry', id);
    const agent = this.#sim.disk.row('agent', row?.agent ?? 0);
    if (row === undefined || agent === undefined) return;
    const body = bodyIn(this.#sim.disk, row);
    const wrong = body.kind === 'context' ? this.#oddView(agent, row, body) : null;
    if (wrong !== null) this.#sim.fail('view', `entry ${id} of agent ${agent.id} ${wrong}`);
  }

  /** Each agent knows its newest view. */
  atRest(): string | null {
    for (const agent of this.#sim.disk.rows('agent')) {
      const newest = this.#transcript(agent).findLast((entry) => entry.row.kind === 'context')?.row.id ?? 0;
      if (agent.context !== newest)
        return `agent ${agent.id} knows of view ${agent.context}, its newest is ${newest}`;
    }
    return null;
  }

  /** What a model is known to take is never exceeded. */
  #room(request: ModelRequest, items: readonly Item[]): void {
    const { contextTruth } = this.#sim.swarm;
    const contextTokens = roomOf(this.#sim, request.model);
    const tokens = tokensOf(request, items) + request.maxOutputTokens;
    if (contextTruth < 1 || tokens <= contextTokens) return;
    this.#sim.fail(
      'room',
      `attempt ${nameOf(request)} has ${tokens} tokens, the model takes ${contextTokens}`,
    );
  }

  #differs(agent: Readonly<AgentRecord>, items: readonly Item[], isSummary: boolean): string | null {
    const transcript = this.#transcript(agent);
    const newest = transcript.findLast((entry) => entry.row.kind === 'context');
    if (agent.context !== (newest?.row.id ?? 0)) return `follows view ${agent.context}, and not the newest`;
    const view = newest?.body.kind === 'context' ? newest.body.view : whole;
    const find = (id: number): Entry | undefined => transcript.find((entry) => entry.row.id === id);
    const kept = view.kept.map(find);
    const summary = view.summary === 0 ? [] : [find(view.summary)];
    const rest = transcript.filter(
      ({ row }) => row.id >= view.from && row.kind !== 'end' && row.kind !== 'context',
    );
    const all = [...kept, ...summary, ...rest];
    // A summary is of a beginning: the newest answer that nobody has gone on from, and its results, are left as they are.
    const expected = isSummary ? all.slice(0, items.length) : all;
    this.#covered = expected.at(-1)?.row.id ?? 0;
    if (expected.length !== items.length) return `has ${items.length} items, its rows say ${expected.length}`;
    for (const [index, entry] of expected.entries()) {
      const item = items[index];
      if (entry === undefined || item === undefined)
        return 'refers to an entry that is not in its transcript';
      const wrong = odd(entry, item, view);
      if (wrong !== null) return `has entry ${entry.row.id} (${entry.row.kind}) ${wrong}`;
    }
    return null;
  }

  #oddView(
    agent: Readonly<AgentRecord>,
    row: Readonly<EntryRecord>,
    body: Extract<EntryBody, { kind: 'context' }>,
  ): string | null {
    const before = this.#transcript(agent).filter((entry) => entry.row.id < row.id);
    const earlier = before.findLast((entry) => entry.body.kind === 'context')?.body;
    const last = earlier?.kind === 'context' ? earlier.view : whole;
    const { view, how, text } = body;
    if (view.from < last.from) return 'sends again what was left out before';
    if (view.from > row.id) return 'leaves out entries that are not written yet';
    const answer = before.findLast((entry) => entry.row.kind === 'answer')?.row.id ?? 0;
    // Where not even cut texts fit, nothing is left of any.
    const isBare = view.cutTo === view.elided;
    if (!isBare && view.elided > Math.max(answer, last.elided))
      return 'leaves out results that the model has not read';
    const from = before.find((entry) => entry.row.id >= view.from);
    if (from?.row.kind === 'result') return 'begins with a result whose call is left out';
    if (how !== 'compacted') return null;
    const made = this.#summaries.get(agent.id);
    if (made?.text !== text) return 'holds a summary that the model has not given';
    const lost = before.some(
      ({ row: { id, kind } }) => id > made.head && id < view.from && kind !== 'end' && kind !== 'context',
    );
    if (lost) return 'stands for entries that the summary was not made from';
    return null;
  }

  /** What an agent's transcript is made of, in order. Found anew only when something was written. */
  #transcript(agent: Readonly<AgentRecord>): readonly Entry[] {
    const { next } = this.#sim.disk.table('entry');
    const known = this.#lines.get(agent.id);
    if (known?.upTo === next) return known.entries;
    const entries = lineIn(this.#sim.disk, agent.id).map((row) => ({ row, body: this.#body(row) }));
    this.#lines.set(agent.id, { upTo: next, entries });
    return entries;
  }

  #body(row: Readonly<EntryRecord>): EntryBody {
    const known = this.#bodies.get(row.id);
    if (known !== undefined) return known;
    const body = bodyIn(this.#sim.disk, row);
    this.#bodies.set(row.id, body);
    return body;
  }
}

/** What is wrong with an item that stands for an entry; null: nothing. */
function odd({ row, body }: Entry, item: Item, view: ContextView): string | null {
  const cut = row.id <= view.cutTo;
  switch (body.kind) {
    case 'user':
      // The schema of its result stands behind a task.
      if (item.kind === 'user' && body.schema !== undefined)
        return item.text.startsWith(body.text) && item.text.length > body.text.length
          ? null
          : 'without its schema';
      return item.kind === 'user' && isText(item.text, body.text, row.id, cut) ? null : 'otherwise';
    case 'note':
    case 'notice':
    case 'rewind':
      return item.kind === 'user' && isText(item.text, body.text, row.id, cut) ? null : 'otherwise';
    case 'context':
      return item.kind === 'user' && item.text.includes(body.text) ? null : 'without its summary';
    case 'result':
      return item.kind === 'result' &&
        item.key === body.key &&
        isText(item.text, body.text, row.id, cut || row.id <= view.elided)
        ? null
        : 'otherwise';
    case 'answer': {
      if (item.kind !== 'answer') return 'otherwise';
      const keys = (blocks: typeof body.blocks): string =>
        blocks.map((block) => (block.kind === 'call' ? block.key : '')).join();
      return keys(item.blocks) === keys(body.blocks) ? null : 'with other calls';
    }
    case 'end':
      return 'which is not for the model';
  }
}

const isText = (sent: string, written: string, entry: number, mayBeLess: boolean): boolean =>
  sent === written.replace(/\p{Surrogate}/gu, '\uFFFD') ||
  (mayBeLess && sent.includes(`read with history: entry ${entry},`));
