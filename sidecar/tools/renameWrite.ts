// Writes the files of a rename: all are held and looked at before the first is written, and when one is not as it was
// when the rename was planned, none is. After a crash those that are done already count as written.

import { unlink } from 'node:fs/promises';
import type { ToolJob, Touched } from '../ports.ts';
import { limits } from '../runtime/limits.ts';
import { currentOf, putCurrent } from '../workspace/buffers.ts';
import type { Buffers, Current } from '../workspace/buffers.ts';
import { hashOf } from '../workspace/bytes.ts';
import { messageOf, temporaryOf } from '../workspace/files.ts';
import type { Locks } from '../workspace/locks.ts';
import { unified } from '../workspace/unified.ts';
import type { EditOptions } from './edit.ts';
import { locateToWrite } from './locate.ts';
import type { Located } from './locate.ts';
import type { PlannedFile, RenameEvidence } from './renameEvidence.ts';
import { splicedAll, undoOf } from './renamePlan.ts';
import { askerOf } from './setup.ts';
import type { Doing } from './tool.ts';
import { buffersFor } from './versions.ts';

export interface Writing {
  readonly job: ToolJob;
  readonly evidence: RenameEvidence;
  readonly doing: Doing;
  /** After a crash: some files may have been written already. */
  readonly again: boolean;
}

export type Written =
  | {
      readonly kind: 'written';
      readonly touched: readonly Touched[];
      readonly diffs: readonly string[];
      /** Files that could not be written, though they were as planned. */
      readonly failed: readonly { readonly label: string; readonly reason: string }[];
      /** What the agent is told of a worktree that was made for this call. */
      readonly news: string | null;
    }
  | { readonly kind: 'refused'; readonly status: 'error' | 'unknown'; readonly text: string };

interface Target {
  readonly located: Located;
  readonly file: PlannedFile;
}

export async function writeAll(options: EditOptions, writing: Writing): Promise<Written> {
  const { job, evidence, doing } = writing;
  const asker = askerOf(options.runner, job, evidence.setup, doing);
  const targets: Target[] = [];
  for (const file of evidence.files) {
    const located = await locateToWrite(options.worktrees, { job, asker }, file.path);
    if (located.kind === 'refused') {
      return { kind: 'refused', status: 'error', text: `${located.text} Nothing was changed.` };
    }
    targets.push({ located, file });
  }
  const names = targets.map(({ located }) => located.written);
  return await holding(options.locks, names, () => writeHeld(options, writing, targets));
}

/** Does something while it holds all these names: in one order, so that two renames never wait for each other. */
function holding<T>(locks: Locks, names: readonly string[], work: () => Promise<T>): Promise<T> {
  const [first, ...rest] = [...new Set(names)].sort();
  return first === undefined ? work() : locks(first, () => holding(locks, rest, work));
}

interface Found extends Target {
  readonly now: Extract<Current, { kind: 'current' }>;
  readonly before: Uint8Array;
  readonly after: Uint8Array;
  readonly isDone: boolean;
}

async function writeHeld(
  options: EditOptions,
  { again }: Writing,
  targets: readonly Target[],
): Promise<Written> {
  const found: Found[] = [];
  const moved: string[] = [];
  for (const target of targets) {
    if (again) await unlink(temporaryOf(target.located.written)).catch(() => undefined);
    const each = await foundAs(buffersFor(options.buffers, target.located), target, again);
    if (typeof each === 'string') return { kind: 'refused', status: 'error', text: each };
    if (each === null) moved.push(target.located.label);
    else found.push(each);
  }
  if (moved.length !== 0) return movedOn(moved, again);
  const touched: Touched[] = [];
  const diffs: string[] = [];
  const failed: { label: string; reason: string }[] = [];
  for (const each of found) {
    const { located, before, after } = each;
    const reason = each.isDone ? null : await put(options, each);
    if (reason !== null) failed.push({ label: located.label, reason });
    else {
      touched.push({ path: located.person, written: located.written, before, after });
      diffs.push(unified(located.label, before, after, limits.renameEchoBytes));
    }
  }
  return { kind: 'written', touched, diffs, failed, news: found[0]?.located.news ?? null };
}

/** The file before and after; null: it is neither, and a string says that it cannot be looked at. */
async function foundAs(buffers: Buffers, target: Target, again: boolean): Promise<Found | null | string> {
  const { located, file } = target;
  const now = await currentOf(buffers, located.written);
  if (now.kind === 'refused') return now.text;
  if (now.bytes === null) return null;
  const hash = hashOf(now.bytes);
  if (hash === file.before) {
    const after = splicedAll(now.bytes, file.splices);
    return after === null ? null : { ...target, now, before: now.bytes, after, isDone: false };
  }
  if (!again || hash !== file.after) return null;
  const before = splicedAll(now.bytes, undoOf(file.splices));
  return before === null ? null : { ...target, now, before, after: now.bytes, isDone: true };
}

function movedOn(labels: readonly string[], again: boolean): Written {
  const names = labels.slice(0, limits.renameNamed).join(', ');
  if (again) {
    const text = `The runtime was restarted during this rename, and somebody else has written ${names} since. Other files may have the new name already: search for both names before you go on.`;
    return { kind: 'refused', status: 'unknown', text };
  }
  const text = `${names} changed after the rename was planned. Nothing was changed; try again.`;
  return { kind: 'refused', status: 'error', text };
}

/** Null: it is written; else why not. */
async function put(options: EditOptions, { located, now, after }: Found): Promise<string | null> {
  options.wrote(located.written, after);
  try {
    if (await putCurrent(buffersFor(options.buffers, located), located.written, now, after)) return null;
  } catch (error) {
    return `it could not be written: ${messageOf(error)}.`;
  }
  return 'the person is editing it right now. Rename there with edit.';
}
