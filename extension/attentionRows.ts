// The rows of the Attention view, from the state of the channel `requests`: sections, clusters of requests that
// may be answered together, changes by their author, and rollups. Pure: no editor, no time.
//
// Promises: at most limits.treeNodes rows whatever the state, and what was left out is said as a count; a row
// keeps its id while it stands for the same thing, so that the view keeps what is expanded and selected.

import type { AgentRow } from '../sidecar/protocol/agent.ts';
import type { AttentionState } from '../sidecar/protocol/attention.ts';
import type { ChangeRow } from '../sidecar/protocol/change.ts';
import type { AgentId } from '../sidecar/protocol/ids.ts';
import type { RequestRow } from '../sidecar/protocol/request.ts';
import { limits } from './limits.ts';

export type SectionName = 'needs' | 'reviews' | 'conflicts' | 'failed';

export type AttentionNode =
  | {
      readonly kind: 'section';
      readonly id: string;
      readonly section: SectionName;
      /** All there are, also those that have no row. */
      readonly total: number;
      readonly children: readonly AttentionNode[];
    }
  | {
      readonly kind: 'cluster';
      readonly id: string;
      readonly requests: readonly RequestRow[];
      readonly children: readonly AttentionNode[];
    }
  | { readonly kind: 'request'; readonly id: string; readonly request: RequestRow }
  | {
      readonly kind: 'author';
      readonly id: string;
      readonly agent: AgentId;
      readonly name: string;
      readonly changes: readonly ChangeRow[];
      readonly children: readonly AttentionNode[];
    }
  | { readonly kind: 'change'; readonly id: string; readonly change: ChangeRow }
  | { readonly kind: 'failed'; readonly id: string; readonly agent: AgentRow }
  | {
      readonly kind: 'rollup';
      readonly id: string;
      readonly what: 'running' | 'done';
      readonly count: number;
    }
  | { readonly kind: 'more'; readonly id: string; readonly count: number };

/** Counts down the rows that may still be made. */
interface Room {
  left: number;
}

/** The sections that have something in them, most urgent first. */
export function attentionRows(state: AttentionState): readonly AttentionNode[] {
  // Five sections, four "more" rows and two rollups are always possible.
  const room: Room = { left: limits.treeNodes - 11 };
  const conflicts = state.reviews.filter((change) => change.state === 'conflict');
  const reviews = state.reviews.filter((change) => change.state !== 'conflict');
  const sections = [
    section('needs', state.requestsTotal, fill(groupRequests(state.requests), room)),
    section('conflicts', conflicts.length, fill(conflicts.map(changeNode), room)),
    section('reviews', state.reviewsTotal - conflicts.length, fill(groupChanges(reviews), room)),
    section('failed', state.failedTotal, fill(state.failed.map(failedNode), room)),
  ];
  return [
    ...sections.filter((each) => each.total > 0),
    ...rollup('running', state.running),
    ...rollup('done', state.done),
  ];
}

export interface Redrawn {
  /** The rows to go on with: those of before, brought up to date, where they stand for the same thing. */
  readonly roots: readonly AttentionNode[];
  /** Those that are to be drawn anew with all below them; null: the whole tree. */
  readonly changed: readonly AttentionNode[] | null;
}

/**
 * Brings rows up to date so that as little as possible is drawn anew: a row that is drawn while a person presses
 * one of its buttons does not hear the press. The editor knows rows by their objects, so these are kept.
 */
export function updateRows(before: readonly AttentionNode[], now: readonly AttentionNode[]): Redrawn {
  const known = new Map(before.map((node) => [node.id, node]));
  const sameRoots = before.length === now.length && now.every((node, index) => before[index]?.id === node.id);
  if (!sameRoots) return { roots: now, changed: null };
  const changed: AttentionNode[] = [];
  const roots = now.map((node) => {
    const kept = known.get(node.id) ?? node;
    if (JSON.stringify(kept) !== JSON.stringify(node)) changed.push(Object.assign(kept, node));
    return kept;
  });
  return { roots, changed };
}

/** The children of a row; a leaf has none. */
export function childrenOf(node: AttentionNode): readonly AttentionNode[] {
  return 'children' in node ? node.children : [];
}

/** How many requests or changes a row stands for. */
function weight(node: AttentionNode): number {
  if (node.kind === 'cluster') return node.requests.length;
  if (node.kind === 'author') return node.changes.length;
  return node.kind === 'more' ? node.count : 1;
}

function section(
  name: SectionName,
  total: number,
  children: readonly AttentionNode[],
): Extract<AttentionNode, { kind: 'section' }> {
  const shown = children.reduce((sum, child) => sum + weight(child), 0);
  const more: readonly AttentionNode[] =
    shown < total ? [{ kind: 'more', id: `more:${name}`, count: total - shown }] : [];
  return { kind: 'section', id: `section:${name}`, section: name, total, children: [...children, ...more] };
}

/** Takes rows with all that is below them while there is room. */
function fill(nodes: readonly AttentionNode[], room: Room): readonly AttentionNode[] {
  const taken: AttentionNode[] = [];
  for (const node of nodes) {
    const size = 1 + childrenOf(node).length;
    if (room.left < size) break;
    room.left -= size;
    taken.push(node);
  }
  return taken;
}

/** Requests in their order; those of one cluster stand where the first of them stood. */
function groupRequests(requests: readonly RequestRow[]): readonly AttentionNode[] {
  const groups = new Map<string, RequestRow[]>();
  for (const request of requests) {
    const key =
      request.cluster === null ? `request:${request.id}` : `cluster:${request.kind}:${request.cluster}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [request]);
    else group.push(request);
  }
  return [...groups].map(([id, group]): AttentionNode => {
    const children = group.map((request) => requestNode(request));
    const [first] = children;
    return group.length === 1 && first !== undefined
      ? first
      : { kind: 'cluster', id, requests: group, children };
  });
}

/** Changes by the agent that made them; a single change needs no row for its author. */
function groupChanges(changes: readonly ChangeRow[]): readonly AttentionNode[] {
  const authors = new Map<AgentId, ChangeRow[]>();
  for (const change of changes) {
    const group = authors.get(change.agent);
    if (group === undefined) authors.set(change.agent, [change]);
    else group.push(change);
  }
  return [...authors].map(([agent, group]): AttentionNode => {
    const children = group.map(changeNode);
    const [first] = children;
    if (group.length === 1 && first !== undefined) return first;
    const name = group[0]?.agentName ?? '';
    return { kind: 'author', id: `author:${agent}`, agent, name, changes: group, children };
  });
}

function requestNode(request: RequestRow): AttentionNode {
  return { kind: 'request', id: `request:${request.id}`, request };
}

function changeNode(change: ChangeRow): AttentionNode {
  return { kind: 'change', id: `change:${change.id}`, change };
}

function failedNode(agent: AgentRow): AttentionNode {
  return { kind: 'failed', id: `failed:${agent.id}`, agent };
}

function rollup(what: 'running' | 'done', count: number): readonly AttentionNode[] {
  return count === 0 ? [] : [{ kind: 'rollup', id: `rollup:${what}`, what, count }];
}
