// The sidebar's Agents view: a filter, and a tree of up to a million rows of which only those that are seen
// exist. The follow on channel `tree` moves with what is seen (I13); the selection is an agent and stays.

import { render } from 'lit-html';
import type { FleetState } from '../../sidecar/protocol/fleet.ts';
import type { TreeRow } from '../../sidecar/protocol/tree.ts';
import type { Connection, PanelCommand } from '../../sidecar/protocol/panel.ts';
import type { Announcer } from '../announce.ts';
import type { Bridge, Follow } from '../bridge.ts';
import { inNextFrame } from '../frames.ts';
import { connectionNotice } from '../notices.ts';
import type { Notice } from '../notices.ts';
import type { Memory } from '../saved.ts';
import { say } from '../strings.ts';
import { isScripted } from '../words.ts';
import { digestWords, sightOf, sightTemplate, topTemplate } from './around.ts';
import { treeIntent } from './keys.ts';
import { RowList } from './list.ts';
import { TreeModel } from './model.ts';
import { Moves } from './moves.ts';
import { drawRow, eraseRow } from './row.ts';

export interface ViewParts {
  readonly root: HTMLElement;
  readonly bridge: Bridge;
  readonly memory: Memory;
  readonly announcer: Announcer;
}

/** What an element shows. Rows are compared by their agent: a reducer makes new rows around unchanged ones. */
interface Drawn {
  readonly index: number;
  readonly total: number;
  readonly selected: boolean;
  readonly agent: TreeRow['agent'] | undefined;
  readonly level: number | undefined;
  readonly expanded: boolean | undefined;
}

export class TreeView {
  readonly #parts: ViewParts;
  readonly #model: TreeModel;
  readonly #list: RowList;
  readonly #moves: Moves;
  readonly #top = part('top');
  readonly #sight = part('sights');
  readonly #tree = part('tree');
  readonly #drawn = new WeakMap<HTMLElement, Drawn>();
  #follow: Follow | null = null;
  #connection: Connection = { kind: 'connecting' };
  #fleet: FleetState | null = null;
  /** Why the tree is not followed. */
  #refusal: string | null = null;
  /** The first row of before a reload, until the list is long enough to go there. */
  #restoreRow: number;

  constructor(parts: ViewParts) {
    this.#parts = parts;
    this.#model = new TreeModel(parts.memory.saved);
    this.#restoreRow = parts.memory.saved.topRow;
    this.#tree.id = 'tree';
    this.#tree.tabIndex = 0;
    this.#tree.setAttribute('role', 'tree');
    parts.root.append(this.#top, this.#sight, this.#tree);
    this.#list = new RowList({
      scroller: this.#tree,
      draw: (element, index) => this.#drawRow(element, index),
      erase: (element) => {
        this.#drawn.delete(element);
        eraseRow(element);
      },
      moved: () => this.#moved(),
    });
    this.#moves = new Moves({
      ...parts,
      model: this.#model,
      list: this.#list,
      changed: () => this.#request(),
      startFilter: (text) => this.#startFilter(text),
    });
    this.#tree.addEventListener('keydown', (event) => this.#keyDown(event));
    this.#tree.addEventListener('click', (event) => this.#clicked(event));
    this.#tree.addEventListener('contextmenu', (event) => this.#selectAt(event));
    this.#tree.addEventListener('focus', () => this.#focused());
    // `<view>.focus` of the editor focuses the page only, not a part of it.
    window.addEventListener('focus', () => {
      if (document.activeElement === document.body) this.#tree.focus();
    });
    this.#draw();
  }

  connection(connection: Connection): void {
    this.#connection = connection;
    if (this.#follow === null) this.#open();
    this.#request();
  }

  #open(): void {
    const { bridge } = this.#parts;
    this.#follow = bridge.follow(
      { kind: 'tree', query: this.#model.query },
      {
        state: (state, actions) => {
          if (state.kind !== 'tree') return;
          this.#refusal = null;
          if (actions === null) this.#model.answered();
          this.#took(this.#model.take(state.state));
        },
        refused: (message) => {
          this.#model.answered();
          this.#refusal = message;
          this.#request();
        },
      },
    );
    bridge.follow(
      { kind: 'fleet' },
      {
        state: (state) => {
          if (state.kind !== 'fleet') return;
          this.#fleet = state.state;
          this.#parts.announcer.say(digestWords(state.state));
          this.#request();
        },
        refused: () => undefined, // only a summary; the tree says what is wrong
      },
    );
  }

  /** A window came: the list is as long as it says, and a selected row that was seen stays where it was seen. */
  #took(movedRows: number): void {
    const seen = this.#list.seen;
    this.#list.setTotal(this.#model.total);
    const was = this.#model.selectedRow - movedRows;
    const wasSeen = seen.first <= was && was < seen.first + seen.count;
    if (movedRows !== 0 && wasSeen && 0 < seen.first) this.#list.shift(movedRows);
    if (0 < this.#restoreRow) {
      this.#list.showAtTop(this.#restoreRow);
      this.#restoreRow = 0;
    }
    const sought = this.#model.seek();
    if (sought !== null) this.#list.reveal(sought.row);
    this.#request();
  }

  #request(): void {
    inNextFrame(this.#draw);
    this.#list.request();
  }

  readonly #draw = (): void => {
    this.#ask();
    const { window, filter, order } = this.#model;
    const { kind } = this.#connection;
    const isFailed = kind === 'failed' || kind === 'untrusted' || this.#refusal !== null;
    const sight = sightOf(isFailed, window, filter);
    const searching = filter !== '' && (this.#model.isStale || window?.partial === true);
    render(
      topTemplate(
        { filter, order, searching, notices: this.#notices() },
        {
          filtered: (event) => this.#filterTyped(event),
          filterKey: (event) => this.#filterKey(event),
          clear: () => this.#moves.setFilter(''),
          toggleOrder: () => this.#moves.setOrder(order === 'attention' ? 'created' : 'attention'),
          run: (command) => this.#run(command),
        },
      ),
      this.#top,
    );
    render(
      sightTemplate(sight, filter, (command) => this.#run(command)),
      this.#sight,
    );
    this.#tree.setAttribute('aria-label', say('tree.label'));
    this.#tree.setAttribute('aria-busy', String(searching));
    this.#setActive();
  };

  #notices(): readonly Notice[] {
    const notices: Notice[] = [];
    const connection = connectionNotice(this.#connection);
    if (connection !== null) notices.push(connection);
    else if (this.#refusal !== null) {
      notices.push({ icon: 'warning', tone: 'error', text: this.#refusal, commands: [] });
    } else if (this.#fleet !== null && this.#fleet.trouble !== null) {
      notices.push({ icon: 'warning', tone: 'warning', text: this.#fleet.trouble, commands: [] });
    }
    const scripted = this.#model.window?.rows.some((row) => isScripted(row.agent.model)) ?? false;
    if (scripted || this.#fleet?.scripted === true) {
      notices.push({
        icon: 'info',
        tone: 'info',
        text: say('model.scriptedChip'),
        title: say('model.scriptedLong'),
        commands: [],
      });
    }
    return notices;
  }

  /** Asks for other rows when those that are known do not suffice. */
  #ask(): void {
    const query = this.#model.ask(this.#list.seen);
    if (query !== null) this.#follow?.move({ kind: 'tree', query });
  }

  #moved(): void {
    this.#parts.memory.update({ topRow: this.#list.seen.first });
    this.#request();
  }

  #drawRow(element: HTMLElement, index: number): void {
    const row = this.#model.rowAt(index);
    const selected =
      index === this.#model.selectedRow && (row === undefined || row.agent.id === this.#model.selected);
    const { total } = this.#model;
    const next: Drawn = {
      index,
      total,
      selected,
      agent: row?.agent,
      level: row?.level,
      expanded: row?.expanded,
    };
    const drawn = this.#drawn.get(element);
    if (drawn !== undefined && isSame(drawn, next)) return;
    this.#drawn.set(element, next);
    drawRow(element, row, { index, total, selected });
  }

  #setActive(): void {
    const { first, count } = this.#list.seen;
    const at = this.#model.selectedRow;
    const isSeen = this.#model.selected !== null && first <= at && at < first + count;
    if (isSeen) this.#tree.setAttribute('aria-activedescendant', `row-${at}`);
    else this.#tree.removeAttribute('aria-activedescendant');
  }

  /** The keys need a row to start from; one that a filter has hidden is none. */
  #focused(): void {
    if (this.#model.window === null) return;
    const isHidden = this.#model.filter !== '' && this.#model.selectedAgent() === undefined;
    if (this.#model.selected === null || isHidden) this.#moves.select(this.#list.seen.first);
  }

  #keyDown(event: KeyboardEvent): void {
    const intent = treeIntent(event);
    if (intent === null) return;
    event.preventDefault();
    this.#moves.act(intent);
    this.#request();
  }

  #startFilter(text: string): void {
    this.#moves.setFilter(this.#model.filter + text);
    this.#draw();
    this.#top.querySelector('input')?.focus();
  }

  #filterTyped(event: InputEvent): void {
    if (event.target instanceof HTMLInputElement) this.#moves.setFilter(event.target.value);
  }

  #filterKey(event: KeyboardEvent): void {
    if (event.isComposing) return;
    if (event.key === 'Escape') this.#moves.setFilter('');
    if (event.key !== 'Escape' && event.key !== 'ArrowDown' && event.key !== 'Enter') return;
    event.preventDefault();
    // What was selected before may not match: the keys that follow are about what is shown.
    if (event.key !== 'Escape' && this.#model.selectedAgent() === undefined) this.#model.selectFirst();
    this.#request();
    this.#draw();
    this.#tree.focus();
  }

  #clicked(event: MouseEvent): void {
    const row = this.#selectAt(event);
    if (row === undefined || !(event.target instanceof Element)) return;
    const act = event.target.closest('[data-act]')?.getAttribute('data-act');
    if (act === 'toggle') this.#moves.toggle(row);
    else if (act === 'stop') this.#moves.stop(row, false);
    else this.#moves.open(row);
  }

  #selectAt(event: MouseEvent): TreeRow | undefined {
    if (!(event.target instanceof Element)) return undefined;
    const at = event.target.closest('[data-index]')?.getAttribute('data-index') ?? null;
    if (at === null) return undefined;
    this.#moves.select(Number(at));
    return this.#model.rowAt(Number(at));
  }

  #run(command: PanelCommand): void {
    this.#parts.bridge.post({ kind: 'command', command });
  }
}

function part(name: string): HTMLElement {
  const element = document.createElement('div');
  element.className = name;
  return element;
}

function isSame(a: Drawn, b: Drawn): boolean {
  const samePlace = a.index === b.index && a.total === b.total && a.selected === b.selected;
  return samePlace && a.agent === b.agent && a.level === b.level && a.expanded === b.expanded;
}
