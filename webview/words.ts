// What an agent's row means in words: its look (an icon and a word, never a colour alone), why it waits, what
// it has cost. Pure. Every view takes its words from here, so that the tree and the panel never disagree.

import type { AgentRow, Rollup } from '../sidecar/protocol/agent.ts';
import { say, sayCount } from './strings.ts';

/** How an agent looks. Derived from its durable row and nothing else (I16). */
export type Look = 'needs' | 'running' | 'ready' | 'waiting' | 'failed' | 'done' | 'stopped' | 'idle';

const asksPerson: ReadonlySet<string> = new Set(['approval', 'answer', 'quarantine', 'key']);

export function lookOf(row: AgentRow): Look {
  switch (row.phase) {
    case 'asking':
    case 'calling':
      return 'running';
    case 'ready':
      return 'ready';
    case 'waiting':
      return row.why !== null && asksPerson.has(row.why) ? 'needs' : 'waiting';
    case 'idle':
      return lookOfOutcome(row);
  }
}

function lookOfOutcome(row: AgentRow): Look {
  switch (row.outcome) {
    case 'done':
      return 'done';
    case 'failed':
      return 'failed';
    case 'interrupted':
    case 'superseded':
      return 'stopped';
    case null:
      return 'idle';
  }
}

/** The state in a few words: "needs approval", "running tools", "done". */
export function phaseWords(row: AgentRow): string {
  if (row.phase === 'waiting' && row.why !== null) return say(`why.${row.why}`);
  if (row.phase === 'asking' || row.phase === 'calling' || row.phase === 'ready')
    return say(`phase.${row.phase}`);
  if (row.outcome === 'superseded') return say('phase.superseded');
  return say(`state.${lookOf(row)}`);
}

/** The sentence that says why a turn does not go on; null when nothing holds it up. */
export function becauseWords(row: AgentRow): string | null {
  if (row.phase === 'ready') return say('because.ready');
  if (row.phase !== 'waiting' || row.why === null) return null;
  if (row.why !== 'child') return say(`because.${row.why}`);
  const busy = row.branch.running + row.branch.waiting - 1;
  return sayCount('because.child', Math.max(1, Math.min(row.children, busy)));
}

export function isScripted(model: string): boolean {
  return model.startsWith('scripted/');
}

export function isBusy(row: AgentRow): boolean {
  return row.phase !== 'idle';
}

/** Which counts of a branch are shown, in the order of urgency. Zero is not shown. */
export function branchCounts(
  branch: Rollup,
): readonly { readonly look: Look; readonly count: number; readonly words: string }[] {
  const counts: readonly (readonly [Look, number, string])[] = [
    ['needs', branch.needs, sayCount('count.needs', branch.needs)],
    ['failed', branch.failed, say('count.failed', branch.failed)],
    ['running', branch.running, say('count.running', branch.running)],
    ['waiting', branch.waiting, say('count.waiting', branch.waiting)],
    ['done', branch.done, say('count.done', branch.done)],
  ];
  return counts.filter(([, count]) => 0 < count).map(([look, count, words]) => ({ look, count, words }));
}

/** Money for people: `$0.42`, `<$0.01`, empty for nothing. */
export function moneyWords(microUsd: number): string {
  if (microUsd <= 0) return '';
  if (microUsd < 10_000) return '<$0.01';
  const usd = microUsd / 1_000_000;
  if (usd < 1_000) return `$${usd.toFixed(2)}`;
  return `$${Math.round(usd).toLocaleString('en')}`;
}

/** What a branch has cost, and of how much when it has a budget; empty when there is nothing to say. */
export function costWords(row: AgentRow): string {
  const spent = moneyWords(row.branch.microUsd);
  const limit = row.budget.microUsd;
  if (limit !== null)
    return say('costOf', spent === '' ? '$0' : spent, limit === 0 ? '$0' : moneyWords(limit));
  return spent === '' ? '' : say('cost', spent);
}

/** A count in four places: `999`, `1.2k`, `45k`, `1.0M`. */
export function shortCount(count: number): string {
  if (count < 1_000) return String(count);
  if (count < 10_000) return `${(Math.floor(count / 100) / 10).toFixed(1)}k`;
  if (count < 1_000_000) return `${Math.floor(count / 1_000)}k`;
  return `${(Math.floor(count / 100_000) / 10).toFixed(1)}M`;
}

export function bytesWords(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`;
  if (bytes < 1_048_576) return `${Math.round(bytes / 1_024)} KB`;
  return `${(bytes / 1_048_576).toFixed(1)} MB`;
}

/** Time of day of a moment, with its date when it is not of today. Absolute, so that nothing has to tick. */
export function clockWords(atMs: number, nowMs: number): string {
  const at = new Date(atMs);
  const time = at.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
  if (at.toDateString() === new Date(nowMs).toDateString()) return time;
  return `${at.toLocaleDateString([], { month: 'short', day: 'numeric' })} ${time}`;
}

/** Everything a row of the tree shows, as one sentence for a screen reader. */
export function rowLabel(row: AgentRow): string {
  const parts = [phaseWords(row)];
  if (row.doing !== '') parts.push(row.doing);
  if (1 < row.branch.agents) parts.push(...branchCounts(row.branch).map((count) => count.words));
  if (0 < row.changes) parts.push(sayCount('count.reviews', row.changes));
  const cost = costWords(row);
  if (cost !== '') parts.push(cost);
  if (isScripted(row.model)) parts.push(say('model.scriptedLong'));
  return say('tree.row', row.name, parts.join(', '));
}
