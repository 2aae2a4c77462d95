// The line of a transcript: which entries of which agents it is made of, in order.
//
// An agent's entries are in stretches. The first one goes on behind the prefix that a fork shares, each later one
// behind the turn that a rewind went back to; both are a reference, so forking and rewinding cost the same at any
// length. What is on no line is left, not lost: a rewind to it puts it on the line again.

import { must } from '../core/assert.ts';
import type { AgentRecord, StretchRecord, TurnRecord } from '../core/rows.ts';
import type { Store } from '../ports.ts';
import { limits } from './limits.ts';

/** Where a transcript ends. */
export interface End {
  readonly agent: number;
  readonly entry: number;
  readonly stretch: number;
}

/** Entries of an agent with ids above `after`, up to and with `upTo`. */
export interface Part {
  readonly agent: number;
  readonly stretch: number;
  readonly after: number;
  readonly upTo: number;
}

type Prefix = Pick<AgentRecord, 'forkAgent' | 'forkEntry' | 'forkStretch'>;

/** The parts of an agent's transcript, oldest first; at most limits.forkChain, which none is let grow beyond. */
export function lineOf(store: Store, agent: Prefix & Pick<AgentRecord, 'id' | 'head' | 'stretch'>): Part[] {
  const parts: Part[] = [];
  let at: End | null = { agent: agent.id, entry: agent.head, stretch: agent.stretch };
  while (at !== null && parts.length < limits.forkChain) {
    const end: End = at;
    const begin: StretchRecord | null = end.stretch === 0 ? null : stretchOf(store, end.stretch);
    const after = (begin?.first ?? 1) - 1;
    parts.unshift({ agent: end.agent, stretch: end.stretch, after, upTo: end.entry });
    at =
      begin === null
        ? prefixOf(end.agent === agent.id ? agent : ownerOf(store, end.agent))
        : { agent: begin.fromAgent, entry: begin.fromEntry, stretch: begin.fromStretch };
  }
  return parts;
}

const stretchOf = (store: Store, stretch: number): StretchRecord =>
  must(store.get('stretch', stretch), 'a stretch that is referred to exists', { stretch });

/** An agent whose entries others begin with; of one that was deleted for good that much is left. */
export const ownerOf = (store: Store, id: number): Prefix | undefined =>
  store.get('agent', id) ?? store.range('remains.agent', [id], { limit: 1 })[0];

const prefixOf = (agent: Prefix | undefined): End | null =>
  agent === undefined || agent.forkAgent === 0
    ? null
    : { agent: agent.forkAgent, entry: agent.forkEntry, stretch: agent.forkStretch };

/** Whether a turn that has ended is on a line. */
export const isOnLine = (line: readonly Part[], turn: TurnRecord): boolean =>
  turn.last !== 0 &&
  line.some((part) => part.agent === turn.agent && part.stretch === turn.stretch && turn.last <= part.upTo);

/** Whether a rewind has left a turn that has ended. */
export const isLeft = (store: Store, agent: AgentRecord, turn: TurnRecord): boolean =>
  agent.stretch !== 0 && turn.last !== 0 && !isOnLine(lineOf(store, agent), turn);

/** Whether a rewind of its parent has left the turn that started an agent. */
export function isOrphan(store: Store, parent: AgentRecord, child: AgentRecord): boolean {
  if (parent.stretch === 0 || child.born === 0) return false;
  const born = store.get('turn', child.born);
  return born !== undefined && isLeft(store, parent, born);
}
