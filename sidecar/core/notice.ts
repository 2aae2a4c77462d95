// Notices: many outcomes of children folded into one message, bounded, each told once (I8).

import type { Outcome } from '../protocol/entry.ts';
import { head } from './text.ts';

export interface Told {
  readonly name: string;
  readonly outcome: Outcome;
  /** The child was given a newer task meanwhile: this is not the answer to it. */
  readonly superseded: boolean;
  /** What the child said last, or the JSON it handed in. */
  readonly brief: string;
}

const words: Record<Outcome, string> = {
  done: 'done',
  failed: 'FAILED',
  interrupted: 'interrupted',
  superseded: 'superseded by a newer instruction',
};

/**
 * The text of a notice about `told`, at most `limitBytes` UTF-16 units. When not all fit, failures come first and
 * the rest are counted; `unread` is how many ended besides those in `told`.
 */
export function foldOutcomes(told: readonly Told[], unread: number, limitBytes: number): string {
  const order = [...told].sort((a, b) => Number(a.outcome === 'done') - Number(b.outcome === 'done'));
  const share = Math.max(120, Math.floor((limitBytes - 200) / Math.max(1, order.length)) - 60);
  const lines: string[] = [];
  let room = limitBytes - 200;
  let left = unread;
  let cut = false;
  for (const each of order) {
    const late = each.superseded ? ', superseded (it answers an earlier task than your newest)' : '';
    const brief = each.brief === '' ? '' : `: ${head(each.brief, share)}`;
    const line = `- ${each.name}: ${words[each.outcome]}${late}${brief}`;
    cut ||= share < each.brief.length;
    if (line.length + 1 > room) {
      left += 1;
      continue;
    }
    lines.push(line);
    room -= line.length + 1;
  }
  if (left > 0) lines.push(`- and ${left} more. Use list_agents to read them.`);
  else if (cut) lines.push('Cut ones are whole in list_agents with "results": true.');
  return lines.join('\n');
}

/** What wakes a parent that is idle or busy elsewhere (DESIGN §5, after the condition of a wait of its own). */
export function noticeDue(facts: {
  readonly openChildren: number;
  readonly unheard: number;
  readonly failedNow: boolean;
  readonly windowOver: boolean;
}): boolean {
  if (facts.unheard === 0) return false;
  return facts.openChildren === 0 || facts.failedNow || facts.windowOver;
}
