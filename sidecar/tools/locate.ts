// Which file a path of an agent means: the person's, or the one in the agent's worktree.
//
// A worktree agent reads and edits its worktree once it has one, and the person's folder before (DESIGN §11). It
// may name files by either folder. Every path goes through the fence of both.

import path from 'node:path';
import type { ToolJob } from '../ports.ts';
import { carry, carriable } from '../workspace/worktree.ts';
import type { Worktree, Worktrees } from '../workspace/worktree.ts';
import type { Asker } from '../workspace/worktreeSetup.ts';
import { isProtected, resolveInside, within } from '../workspace/paths.ts';

export interface Located {
  readonly kind: 'located';
  /** The person's file. */
  readonly person: string;
  /** The file that a write goes to, now: in the worktree if there is one. */
  readonly written: string;
  /** The file to read: the person's, where the worktree has none of its own yet. */
  readonly read: string;
  /** What is shown: relative to the workspace, with forward slashes. */
  readonly label: string;
  readonly protected: boolean;
  /** The edit does not touch the person's file, so its buffer does not matter. */
  readonly isolated: boolean;
  readonly worktree: Worktree | null;
  /** What the agent is told of a worktree that was made for this call. */
  readonly news: string | null;
}

export type LocatedOr = Located | { readonly kind: 'refused'; readonly text: string };

/** Resolves a path for reading. */
export async function locate(worktrees: Worktrees, job: ToolJob, given: string): Promise<LocatedOr> {
  const isolated = job.place.isolation === 'worktree';
  const worktree = isolated ? await worktrees.find(job.agent, job.place.workspace) : null;
  return await locateIn(job, given, worktree);
}

/** Resolves a path for writing: makes the worktree first, and brings along what it lacks. */
export async function locateToWrite(
  worktrees: Worktrees,
  { job, asker }: { readonly job: ToolJob; readonly asker: Asker },
  given: string,
): Promise<LocatedOr> {
  if (job.place.isolation !== 'worktree') return await locateIn(job, given, null);
  const made = await worktrees.ensure(job.agent, job.place.workspace, asker);
  if (made.kind === 'refused') return made;
  const located = await locateIn(job, given, made.worktree);
  if (located.kind === 'refused') return located;
  if (linkOf(made.worktree, located.person) !== null) {
    const text = `${located.label} is behind a link to the person's own folder, and is not written from a worktree.`;
    return { kind: 'refused', text };
  }
  await carry(made.worktree, { person: located.person, relative: located.label });
  return { ...located, news: made.news };
}

async function locateIn(job: ToolJob, given: string, worktree: Worktree | null): Promise<LocatedOr> {
  const { workspace, isolation } = job.place;
  const relative =
    worktree !== null && path.isAbsolute(given)
      ? (within(worktree.place, path.resolve(given)) ?? given)
      : given;
  const person = await resolveInside(workspace, relative);
  if (person.kind === 'refused') return person;
  const located = {
    kind: 'located' as const,
    person: person.real,
    label: person.relative,
    protected: isProtected(person.relative),
    isolated: isolation === 'worktree',
    worktree,
    news: null,
  };
  const own = { ...located, written: person.real, read: person.real };
  if (worktree === null || linkOf(worktree, person.real) !== null) return own;
  const written = await resolveInside(worktree.place, person.relative);
  if (written.kind === 'refused') return written;
  const lacking = await carriable(worktree, { person: person.real, relative: person.relative });
  return { ...located, written: written.real, read: lacking ? person.real : written.real };
}

/** The linked folder of the person's that a file lies in; null: in none. */
const linkOf = (worktree: Worktree, person: string): string | null =>
  worktree.linked.find((folder) => within(folder, person) !== null) ?? null;
