// What a verdict on hunks does to the base, to the agent's version and to the files, decided on texts alone.
//
// Three versions: the base, the agent's, and the file as the person has it now. Accepting moves the base towards
// the agent's version, rejecting moves the agent's version towards the base; so an accepted hunk is no hunk any
// more and no later verdict can undo it (I11, cases 61 and 66). What the person wrote is never taken away: where it meets
// a hunk that would be taken in or out, the verdict is a conflict and nothing changes (case 62).

import type { Isolation } from '../protocol/agent.ts';
import type { Verdict } from '../protocol/change.ts';
import { applyHunks, hunksOf, merge3, withoutHunks } from './merge.ts';
import type { TextHunk } from './merge.ts';

export interface VerdictInput {
  readonly path: string;
  readonly isolation: Isolation;
  readonly verdict: Verdict;
  readonly hunks: readonly string[] | 'all';
  /** The person's file has what the person wants of them already: an accepted hunk is not put into it. */
  readonly merged?: boolean;
  /** Null: the file does not exist in this version. */
  readonly base: string | null;
  readonly after: string | null;
  /** The person's file as it is now, and the file in the agent's worktree (the same one when shared). */
  readonly person: string | null;
  readonly written: string | null;
}

export type VerdictOutcome =
  | {
      readonly kind: 'decided';
      readonly base: string | null;
      readonly after: string | null;
      /** Which file gets new text; none when the verdict only moves the base, or the file is right already. */
      readonly target: 'none' | 'person' | 'written';
      readonly text: string | null;
      readonly decided: number;
      readonly left: readonly TextHunk[];
    }
  /** A hunk that was named is not there any more. */
  | { readonly kind: 'stale' }
  | { readonly kind: 'conflict' };

/** Decides a verdict. Pure: the caller reads the files before and writes one afterwards. */
export function decide(input: VerdictInput): VerdictOutcome {
  const all = hunksOf(input.base, input.after, input.path);
  const named = input.hunks === 'all' ? null : new Set(input.hunks);
  const chosen = named === null ? all : all.filter((hunk) => named.has(hunk.id));
  if (named !== null && chosen.length !== named.size) return { kind: 'stale' };
  if (chosen.length === 0) return decided(input, chosen, { base: input.base, after: input.after });
  return input.verdict === 'accept' ? accept(input, chosen) : reject(input, chosen);
}

function accept(input: VerdictInput, chosen: readonly TextHunk[]): VerdictOutcome {
  const base = appears(input) ? input.after : applyHunks(input.base ?? '', chosen);
  const moved = decided(input, chosen, { base, after: input.after });
  // A shared agent's text is in the file already, and so is what a person has merged by hand.
  if (input.isolation !== 'worktree' || input.merged === true) return moved;
  const text = carried({ from: input.base, to: base, now: input.person });
  return text === undefined ? { kind: 'conflict' } : { ...moved, ...aimed('person', input.person, text) };
}

function reject(input: VerdictInput, chosen: readonly TextHunk[]): VerdictOutcome {
  const after = appears(input) ? input.base : withoutHunks(input.after ?? '', chosen);
  const moved = decided(input, chosen, { base: input.base, after });
  const target = input.isolation === 'worktree' ? 'written' : 'person';
  const now = input[target];
  // Somebody removed the file: there is nothing left to take out of it.
  if (now === null && input.after !== null) return moved;
  const text = carried({ from: input.after, to: after, now });
  return text === undefined ? { kind: 'conflict' } : { ...moved, ...aimed(target, now, text) };
}

/** The file comes into being or goes away: there is one hunk, and it is the whole file. */
const appears = (input: VerdictInput): boolean => input.base === null || input.after === null;

type Decided = Extract<VerdictOutcome, { kind: 'decided' }>;

function decided(
  input: VerdictInput,
  chosen: readonly TextHunk[],
  sides: { readonly base: string | null; readonly after: string | null },
): Decided {
  const left = hunksOf(sides.base, sides.after, input.path);
  return { kind: 'decided', ...sides, target: 'none', text: null, decided: chosen.length, left };
}

const aimed = (
  target: 'person' | 'written',
  now: string | null,
  text: string | null,
): { target: 'none' | 'person' | 'written'; text: string | null } =>
  now === text ? { target: 'none', text: null } : { target, text };

/** `now` with the step from `from` to `to` made in it; undefined when that would cost what somebody else wrote. */
function carried(step: {
  readonly from: string | null;
  readonly to: string | null;
  readonly now: string | null;
}): string | null | undefined {
  const { from, to, now } = step;
  if (now === from || now === to) return now === from ? to : now;
  if (from === null || to === null || now === null) return undefined;
  const merged = merge3(from, now, to);
  return merged.kind === 'merged' ? merged.text : undefined;
}
