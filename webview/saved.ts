// What a view keeps in the editor over a reload: where the tree was, texts not yet sent. Bounded, checked when
// read (an older build may have written it), and never a secret (I12). The agents' state is not here: it
// comes from the sidecar again.

import { agentId } from '../sidecar/protocol/ids.ts';
import type { AgentId } from '../sidecar/protocol/ids.ts';
import type { TreeQuery } from '../sidecar/protocol/tree.ts';
import { isRecord } from './bridge.ts';
import type { Bridge } from './bridge.ts';
import { inNextFrame } from './frames.ts';
import { limits } from './limits.ts';

export type BusyDelivery = 'queue' | 'steer';

export interface Saved {
  readonly order: TreeQuery['order'];
  readonly filter: string;
  readonly expanded: readonly AgentId[];
  readonly selected: AgentId | null;
  /** First row seen. */
  readonly topRow: number;
  /** The agent that the panel shows; the extension reads it to open the panel again. */
  readonly agent: AgentId | null;
  /** Unsent text by agent, the one written to last at the end. */
  readonly drafts: readonly (readonly [AgentId, string])[];
  readonly delivery: BusyDelivery;
}

export const nothingSaved: Saved = {
  order: 'attention',
  filter: '',
  expanded: [],
  selected: null,
  topRow: 0,
  agent: null,
  drafts: [],
  delivery: 'queue',
};

/** What was saved, with the default for each part that is missing or not what it should be. */
export function readSaved(value: unknown): Saved {
  if (!isRecord(value)) return nothingSaved;
  const text = (key: string): string => (typeof value[key] === 'string' ? value[key] : '');
  return {
    order: value['order'] === 'created' ? 'created' : 'attention',
    filter: text('filter').slice(0, limits.filterChars),
    expanded: readList(value['expanded']).filter(isId).map(agentId).slice(-limits.expanded),
    selected: readId(value['selected']),
    topRow: isId(value['topRow']) ? value['topRow'] : 0,
    agent: readId(value['agent']),
    drafts: readList(value['drafts']).flatMap(readDraft).slice(-limits.drafts),
    delivery: value['delivery'] === 'steer' ? 'steer' : 'queue',
  };
}

/** The drafts with one agent's text replaced; an empty text is forgotten, and so is the oldest above the bound. */
export function withDraft(drafts: Saved['drafts'], agent: AgentId, text: string): Saved['drafts'] {
  const others = drafts.filter(([id]) => id !== agent);
  if (text === '') return others;
  const kept: readonly [AgentId, string] = [agent, text.slice(0, limits.draftChars)];
  return [...others, kept].slice(-limits.drafts);
}

/** Saves at most once a frame, however fast somebody types, and at once when the page goes away. */
export class Memory {
  readonly #bridge: Bridge;
  #saved: Saved;
  #dirty = false;

  constructor(bridge: Bridge) {
    this.#bridge = bridge;
    this.#saved = readSaved(bridge.recall());
    window.addEventListener('pagehide', this.#flush);
    document.addEventListener('visibilitychange', this.#flush);
  }

  get saved(): Saved {
    return this.#saved;
  }

  update(part: Partial<Saved>): void {
    this.#saved = { ...this.#saved, ...part };
    this.#dirty = true;
    inNextFrame(this.#flush);
  }

  readonly #flush = (): void => {
    if (!this.#dirty) return;
    this.#dirty = false;
    this.#bridge.remember(this.#saved);
  };
}

function readList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function isId(value: unknown): value is number {
  return Number.isSafeInteger(value) && typeof value === 'number' && 0 <= value;
}

function readId(value: unknown): AgentId | null {
  return isId(value) ? agentId(value) : null;
}

function readDraft(value: unknown): (readonly [AgentId, string])[] {
  const [id, text]: readonly unknown[] = readList(value);
  return isId(id) && typeof text === 'string' ? [[agentId(id), text]] : [];
}
