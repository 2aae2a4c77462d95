// The panel of one agent from `show` until another is shown: it owns its follows, its models and its part of
// the page, and gives all of it back when it is closed (cases 11, 122).

import { html, nothing, render } from 'lit-html';
import type { AgentRow } from '../../sidecar/protocol/agent.ts';
import type { Entry } from '../../sidecar/protocol/entry.ts';
import type { AgentId, EntryId } from '../../sidecar/protocol/ids.ts';
import type { TranscriptState } from '../../sidecar/protocol/transcript.ts';
import type { Announcer } from '../announce.ts';
import type { Bridge, Follow } from '../bridge.ts';
import { Review } from '../changes/review.ts';
import { Strip } from '../changes/strip.ts';
import { inNextFrame } from '../frames.ts';
import type { Memory } from '../saved.ts';
import { sayCount } from '../strings.ts';
import { phaseWords } from '../words.ts';
import { listen } from './acts.ts';
import { Cards } from './cards.ts';
import { Column } from './column.ts';
import { CommandStrip } from './commandStrip.ts';
import { Composer } from './composer.ts';
import { drawItem } from './entries.ts';
import { estimatePx } from './estimate.ts';
import { Folds } from './folds.ts';
import { headerTemplate } from './header.ts';
import { itemsOf, withLive } from './items.ts';
import type { Item } from './items.ts';
import { layOut } from './layout.ts';
import type { Places } from './layout.ts';
import { Lineage } from './lineage.ts';
import { TranscriptModel } from './model.ts';
import { Pager } from './pager.ts';
import { beforeFirst, emptyLine, latestButton } from './sights.ts';

export interface SessionParts {
  readonly root: HTMLElement;
  readonly bridge: Bridge;
  readonly memory: Memory;
  readonly announcer: Announcer;
}

export class Session {
  readonly agent: AgentId;
  readonly #parts: SessionParts;
  readonly #places: Places;
  readonly #model = new TranscriptModel();
  readonly #column: Column<Item>;
  readonly #folds: Folds;
  readonly #cards: Cards;
  readonly #pager: Pager;
  readonly #lineage: Lineage;
  readonly #review: Review;
  readonly #strip: Strip;
  readonly #commands: CommandStrip;
  readonly #follows: readonly Follow[];
  readonly #deaf: () => void;
  #composer: Composer | null = null;
  #settledFrom: readonly Entry[] | null = null;
  #settled: readonly Item[] = [];
  #items: readonly Item[] = [];
  /** The entry to scroll to once it is loaded. */
  #wanted: EntryId | null;
  /** Why the agent is not followed. */
  #refusal: string | null = null;
  #closed = false;

  constructor(agent: AgentId, parts: SessionParts, entry: EntryId | null) {
    this.agent = agent;
    this.#parts = parts;
    this.#wanted = entry;
    this.#places = layOut(parts.root);
    const { bridge, announcer } = parts;
    const changed = (): void => this.#request();
    this.#folds = new Folds(bridge, changed);
    this.#cards = new Cards({ bridge, announcer, folds: this.#folds, changed });
    this.#lineage = new Lineage(bridge, changed);
    this.#review = new Review({ agent, bridge, announcer, changed });
    this.#strip = new Strip(this.#places.strip, bridge, this.#review);
    this.#commands = new CommandStrip({ root: this.#places.commands, bridge, announcer });
    this.#pager = new Pager({ agent, bridge, model: this.#model, changed });
    this.#column = new Column({
      scroller: this.#places.scroller,
      draw: (item) => this.#drawItem(item),
      estimate: estimatePx,
      moved: () => this.#moved(),
    });
    this.#deaf = listen(parts.root, {
      bridge,
      announcer,
      folds: this.#folds,
      textOf: (key) => this.#textOf(key),
      retryPage: () => this.#pager.retry(),
      hold: () => this.#column.hold(),
    });
    this.#places.scroller.addEventListener('keydown', this.#keyDown);
    this.#follows = this.#open();
    this.#request();
  }

  /** Scrolls to an entry, paging back to it when it is not loaded. */
  showEntry(entry: EntryId): void {
    this.#wanted = entry;
    this.#request();
  }

  close(): void {
    this.#closed = true;
    for (const follow of this.#follows) follow.close();
    this.#deaf();
    this.#column.close();
    this.#composer?.close();
    this.#review.close();
    this.#commands.close();
    this.#pager.close();
    this.#lineage.close();
    this.#parts.root.replaceChildren();
  }

  focusComposer(): void {
    this.#composer?.focus();
  }

  #open(): readonly Follow[] {
    const { bridge } = this.#parts;
    const { agent } = this;
    return [
      bridge.follow(
        { kind: 'agent', agent },
        {
          // A snapshot of another agent would be a fault of the way here; it must not be shown as this one's (case 122).
          state: (state) => {
            if (state.kind === 'agent' && state.state.agent.id === agent) this.#take(state.state);
          },
          refused: (message) => this.#refuse(message),
        },
      ),
      bridge.follow(
        { kind: 'changes', agent },
        {
          state: (state) => {
            if (state.kind === 'changes') this.#review.take(state.state);
          },
          refused: () => undefined, // of an agent that is not there, which the transcript says
        },
      ),
    ];
  }

  #take(state: TranscriptState): void {
    const before = this.#model.state?.agent ?? null;
    this.#model.take(state, this.#column.pinned);
    this.#cards.take(state.requests);
    const isOther = before === null || before.parent !== state.agent.parent;
    if (isOther || this.#lineage.failed) this.#lineage.of(state.agent);
    if (before !== null && phaseWords(before) !== phaseWords(state.agent)) {
      this.#parts.announcer.say(`${state.agent.name}: ${phaseWords(state.agent)}`);
    }
    this.#request();
  }

  #refuse(message: string): void {
    this.#refusal = message;
    this.#parts.announcer.answer(message);
    this.#request();
  }

  #request(): void {
    if (!this.#closed) inNextFrame(this.#draw);
  }

  readonly #draw = (): void => {
    if (this.#closed) return;
    const { state } = this.#model;
    if (state === null) {
      render(beforeFirst(this.#refusal), this.#places.header);
      return;
    }
    this.#drawHeader(state);
    this.#drawTranscript(state);
    this.#commands.draw(state.commands);
    this.#strip.draw();
    if (this.#composer === null) this.#makeComposer(state.agent);
    else this.#composer.setAgent(state.agent);
  };

  #drawHeader({ agent, requests }: TranscriptState): void {
    const hasRequest = requests.some((request) => request.state === 'open');
    render(
      headerTemplate(
        { agent, parents: this.#lineage.parents, nowMs: Date.now(), hasRequest },
        {
          stop: (branch) => this.#stop(branch),
          showRequest: () => this.#showRequest(),
          setKey: () => this.#parts.bridge.post({ kind: 'command', command: 'roost.setKey' }),
        },
      ),
      this.#places.header,
    );
  }

  #drawTranscript(state: TranscriptState): void {
    const isNew = this.#settledFrom !== this.#model.entries;
    if (isNew) {
      this.#settledFrom = this.#model.entries;
      this.#settled = itemsOf(this.#model.entries);
    }
    // Away from the live end only what is stored is shown; the end is a button away.
    this.#items = this.#model.hasAfter ? this.#settled : withLive(this.#settled, state);
    if (isNew) this.#folds.keepOnly(new Set(this.#items.map((item) => item.key)));
    this.#column.setItems(this.#items, !this.#model.hasAfter);
    this.#findWanted();
    render(this.#pager.line('before'), this.#places.above);
    render(
      html`${this.#pager.line('after')}${this.#items.length === 0 ? emptyLine() : nothing}`,
      this.#places.below,
    );
    this.#drawLatest();
  }

  #drawLatest(): void {
    const isAway = !this.#column.pinned || this.#model.hasAfter;
    render(isAway ? latestButton(() => this.#toLatest()) : nothing, this.#places.latest);
  }

  #drawItem(item: Item): unknown {
    return drawItem(item, {
      folds: this.#folds,
      nowMs: Date.now(),
      workspace: this.#model.state?.agent.workspace ?? '',
      nameOf: (agent) => this.#lineage.nameOf(agent),
      drawRequest: (each) => this.#cards.draw(each.request),
    });
  }

  /** After a scroll: pages when an end of what is loaded comes near, two views ahead. */
  #moved(): void {
    this.#drawLatest();
    // What the column shows is behind what is loaded: its room says nothing yet.
    if (this.#settledFrom !== this.#model.entries) return;
    const aheadPx = 2 * this.#places.scroller.clientHeight;
    const { abovePx, belowPx } = this.#column.room;
    if (abovePx < aheadPx) this.#pager.want('before');
    if (belowPx < aheadPx) this.#pager.want('after');
  }

  #toLatest(): void {
    this.#model.toLatest();
    this.#column.toEnd();
    this.#request();
  }

  #findWanted(): void {
    const wanted = this.#wanted;
    const first = this.#model.entries[0]?.id;
    const last = this.#model.entries.at(-1)?.id;
    if (wanted === null || first === undefined || last === undefined) return;
    const isAbove = wanted < first && this.#model.hasBefore;
    const isBelow = last < wanted && this.#model.hasAfter;
    if (isAbove || isBelow) {
      void this.#pager.jump(wanted);
      return;
    }
    this.#wanted = null;
    // A result is drawn with its call, which is an entry before it: the last item that is not behind will do.
    this.#column.reveal((item) => Number.parseInt(item.key, 10) <= wanted);
  }

  #showRequest(): void {
    if (!this.#column.reveal((item) => item.kind === 'request')) this.#toLatest();
    inNextFrame(() =>
      this.#places.scroller.querySelector<HTMLElement>('.card')?.focus({ preventScroll: true }),
    );
  }

  #stop(branch: boolean): void {
    const { bridge, announcer } = this.#parts;
    void bridge
      .call('agent/interrupt', { agent: this.agent, branch, key: crypto.randomUUID() })
      .then((answer) => {
        announcer.answer(answer.ok ? sayCount('tree.stopped', answer.result.stopped) : answer.message);
      });
  }

  #makeComposer(agent: AgentRow): void {
    const { bridge, memory, announcer } = this.#parts;
    this.#composer = new Composer(
      {
        root: this.#places.composer,
        bridge,
        memory,
        announcer,
        stop: () => this.#stop(false),
        sent: () => this.#toLatest(),
      },
      agent,
    );
  }

  #textOf(key: string): string {
    const item = this.#items.find((each) => each.key === key);
    return item !== undefined && 'text' in item ? item.text : '';
  }

  readonly #keyDown = (event: KeyboardEvent): void => {
    if (event.target !== this.#places.scroller || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'End') this.#toLatest();
    else return;
    event.preventDefault();
  };
}
