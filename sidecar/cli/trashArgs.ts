// Command lines about the trash: list it, empty it, say how long things stay in it.

import { Failure } from './failure.ts';
import { need } from './values.ts';

export type TrashCommand =
  | { readonly kind: 'trash'; readonly deed: 'list' }
  | {
      readonly kind: 'trash';
      readonly deed: 'empty';
      /** Empty: all that is in it. */
      readonly branches: readonly string[];
    }
  | {
      readonly kind: 'trash';
      readonly deed: 'keep';
      /** Null: until somebody empties it. */
      readonly keptMs: number | null;
    };

const dayMs = 24 * 60 * 60_000;

/** Longest time that can be set, a hundred years: above it the end of it is no date any more. */
const mostDays = 36_500;

export function parseTrash([first, ...others]: readonly string[]): TrashCommand {
  switch (first) {
    case undefined:
    case 'ls':
      return { kind: 'trash', deed: 'list' };
    case 'empty':
      return { kind: 'trash', deed: 'empty', branches: others };
    case 'keep':
      return {
        kind: 'trash',
        deed: 'keep',
        keptMs: parseDays(need(others[0], 'trash keep', 'days, or "ever"')),
      };
    default:
      throw new Failure('usage', `roost trash: "${first}" is not known. Use ls, empty or keep.`);
  }
}

function parseDays(text: string): number | null {
  if (text === 'ever') return null;
  const days = Number(text);
  if (text.trim() !== '' && 0 <= days && days <= mostDays) return Math.round(days * dayMs);
  throw new Failure('usage', `roost trash keep ${text}: give days, up to ${mostDays}, or "ever".`);
}
