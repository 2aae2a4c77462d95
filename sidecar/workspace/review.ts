// The Review port: changes with their hunks, and verdicts brought to the files (DESIGN §11).
//
// What a verdict does is decided by core/verdict.ts on byte strings; here the files are read and written. The
// hashes of the file before and after are committed in between, so after a crash, and after an edit by the
// person, it is known whether to write, to be content, or to stop (case 67).

import { hunksOf, mapRange, merge3 } from '../core/merge.ts';
import { editsBetween, splitLines } from '../core/lines.ts';
import type { TextHunk } from '../core/merge.ts';
import { rangesOf } from '../core/overlap.ts';
import { decide } from '../core/verdict.ts';
import type { VerdictOutcome } from '../core/verdict.ts';
import type { Review, ReviewDone, ReviewFile, ReviewJob, ReviewPlan } from '../ports.ts';
import type { ChangeDetail, ChangeRow, Hunk } from '../protocol/change.ts';
import type { Json } from '../protocol/json.ts';
import { limits } from '../runtime/limits.ts';
import { currentOf, noBuffers, putCurrent } from './buffers.ts';
import type { Buffers, Current } from './buffers.ts';
import { byteString, bytesOf, hashOf, isUtf8, notText, shownLines, shownText } from './bytes.ts';
import { messageOf } from './files.ts';
import type { Locks } from './locks.ts';
import type { Witness } from './witness.ts';

export interface ReviewOptions {
  readonly buffers: Buffers;
  /** The same locks as the tools': a verdict and an edit of one file never cross. */
  readonly locks: Locks;
  /** Told before a file is written, so that no command is taken for the author. */
  readonly wrote: Witness['wrote'];
}

/** The Review port over real files. */
export function createReview(options: ReviewOptions): Review {
  const conflict = (message: string): { kind: 'conflict'; message: string } => ({
    kind: 'conflict',
    message,
  });
  return {
    detail: (row, file, post) => {
      posted(detail(options, row, file), post, () => ({
        ...row,
        hunks: [],
        baseText: null,
        afterText: null,
      }));
    },
    plan: (job, post) => posted<ReviewPlan>(plan(options, job), post, conflict),
    write: (job, evidence, post) => posted<ReviewDone>(write(options, job, evidence), post, conflict),
    measure,
    rebase,
  };
}

function posted<T>(work: Promise<T>, post: (value: T) => void, failed: (message: string) => T): void {
  work.then(post, (error: unknown) =>
    post(failed(`The file could not be brought up to date: ${messageOf(error)}`)),
  );
}

/** Both files of a change as they stand now; for an agent that is not isolated they are the same. */
interface Now {
  readonly person: Extract<Current, { kind: 'current' }>;
  readonly written: Extract<Current, { kind: 'current' }>;
}

async function nowOf(options: ReviewOptions, file: ReviewFile): Promise<Now | string> {
  const person = await currentOf(options.buffers, file.path);
  if (person.kind === 'refused') return person.text;
  if (file.isolation !== 'worktree') return { person, written: person };
  const written = await currentOf(noBuffers, file.written);
  return written.kind === 'refused' ? written.text : { person, written };
}

const textOf = (bytes: Uint8Array | null): string | null => (bytes === null ? null : byteString(bytes));
const bytesOrNull = (text: string | null): Uint8Array | null => (text === null ? null : bytesOf(text));

async function detail(options: ReviewOptions, row: ChangeRow, file: ReviewFile): Promise<ChangeDetail> {
  const now = await nowOf(options, file);
  const person = typeof now === 'string' ? null : textOf(now.person.bytes);
  const shown = {
    baseText: shownSide(file.path, file.base),
    afterText: shownSide(file.path, file.after),
  };
  if (coarse(file)) return { ...row, ...shown, hunks: [] };
  const hunks = hunksOf(textOf(file.base), textOf(file.after), file.path);
  return { ...row, ...shown, hunks: placed(hunks, file, person) };
}

function shownSide(path: string, bytes: Uint8Array | null): string | null {
  if (bytes === null || limits.shownFileBytes < bytes.length || notText(path, bytes) !== null) return null;
  return shownText(bytes);
}

/** Too large to look for hunks while others wait: such a change is accepted or rejected as a whole. */
const coarse = (file: Pick<ReviewFile, 'base' | 'after'>): boolean =>
  limits.diffBytes < Math.max(file.base?.length ?? 0, file.after?.length ?? 0);

/**
 * Hunks with their places in the person's file. In a shared folder that is where the new lines stand; for a
 * worktree it is where the lines stand that they would replace.
 */
function placed(hunks: readonly TextHunk[], file: ReviewFile, person: string | null): Hunk[] {
  const isolated = file.isolation === 'worktree';
  const from = isolated ? file.base : file.after;
  const edits =
    from === null || person === null ? null : editsBetween(splitLines(byteString(from)), splitLines(person));
  const utf8 = isUtf8(file.base ?? new Uint8Array()) && isUtf8(file.after ?? new Uint8Array());
  return hunks.map((hunk) => ({
    id: hunk.id,
    base: hunk.base,
    after: hunk.after,
    now: edits === null ? null : mapRange(edits, isolated ? hunk.base : hunk.after),
    removed: shownLines(hunk.removed, utf8),
    added: shownLines(hunk.added, utf8),
  }));
}

const messages = {
  stale: 'A hunk that you decided is not there any more. Look at the change again and decide once more.',
  accept:
    'You have edited the lines that this hunk would replace. Nothing was changed: take what you want of it by hand, then say that it is merged, or reject it.',
  reject:
    'The lines of this hunk have been edited since. That text was kept and nothing was changed: edit it by hand, or accept the hunk.',
  moved:
    'The file was edited while the verdict was on its way. Nothing was changed: look at it again and decide once more.',
} as const;

function decided(job: ReviewJob, now: Now): VerdictOutcome {
  if (coarse(job) && job.hunks !== 'all') return { kind: 'stale' };
  return decide({
    path: job.path,
    isolation: job.isolation,
    verdict: job.verdict,
    hunks: job.hunks,
    merged: job.merged === true,
    base: textOf(job.base),
    after: textOf(job.after),
    person: textOf(now.person.bytes),
    written: textOf(now.written.bytes),
  });
}

async function plan(options: ReviewOptions, job: ReviewJob): Promise<ReviewPlan> {
  const now = await nowOf(options, job);
  if (typeof now === 'string') return { kind: 'conflict', message: now };
  const outcome = decided(job, now);
  if (outcome.kind === 'stale') return { kind: 'stale', message: messages.stale };
  if (outcome.kind === 'conflict') return { kind: 'conflict', message: messages[job.verdict] };
  const { left } = outcome;
  return {
    kind: 'plan',
    evidence: evidenceOf(job, now, outcome),
    base: bytesOrNull(outcome.base),
    after: bytesOrNull(outcome.after),
    left: left.length,
    added: left.reduce((sum, hunk) => sum + hunk.added.length, 0),
    removed: left.reduce((sum, hunk) => sum + hunk.removed.length, 0),
    decided: outcome.decided,
  };
}

function evidenceOf(job: ReviewJob, now: Now, outcome: Extract<VerdictOutcome, { kind: 'decided' }>): Json {
  const { target } = outcome;
  if (target === 'none') return { path: job.path, target, beforeHash: 'none', afterHash: 'none' };
  return {
    path: target === 'person' ? job.path : job.written,
    target,
    beforeHash: hashOf(now[target].bytes),
    afterHash: hashOf(bytesOrNull(outcome.text)),
  };
}

interface Evidence {
  readonly path: string;
  readonly target: 'none' | 'person' | 'written';
  readonly beforeHash: string;
  readonly afterHash: string;
}

function isEvidence(value: unknown): value is Evidence {
  if (typeof value !== 'object' || value === null) return false;
  const named = (name: string): unknown => Reflect.get(value, name);
  const target = named('target');
  return (
    ['path', 'beforeHash', 'afterHash'].every((name) => typeof named(name) === 'string') &&
    (target === 'none' || target === 'person' || target === 'written')
  );
}

async function write(options: ReviewOptions, job: ReviewJob, evidence: Json): Promise<ReviewDone> {
  if (!isEvidence(evidence)) return { kind: 'conflict', message: messages.moved };
  const { target, path, beforeHash, afterHash } = evidence;
  if (target === 'none') return { kind: 'done' };
  return await options.locks(path, async () => {
    const now = await nowOf(options, job);
    if (typeof now === 'string') return { kind: 'conflict', message: now };
    const found = hashOf(now[target].bytes);
    if (found === afterHash) return { kind: 'done' };
    const outcome = found === beforeHash ? decided(job, now) : null;
    if (outcome?.kind !== 'decided' || hashOf(bytesOrNull(outcome.text)) !== afterHash) {
      return { kind: 'conflict', message: messages.moved };
    }
    const buffers = target === 'person' ? options.buffers : noBuffers;
    options.wrote(path, bytesOrNull(outcome.text));
    const put = await putCurrent(buffers, path, now[target], bytesOrNull(outcome.text));
    return put ? { kind: 'done' } : { kind: 'conflict', message: messages.moved };
  });
}

function measure(before: Uint8Array | null, after: Uint8Array | null): ReturnType<Review['measure']> {
  const hashes = { beforeHash: hashOf(before), afterHash: hashOf(after) };
  if (hashes.beforeHash === hashes.afterHash) return { added: 0, removed: 0, ranges: '', ...hashes };
  const from = splitLines(textOf(before) ?? '');
  const to = splitLines(textOf(after) ?? '');
  const edits = coarse({ base: before, after })
    ? [{ baseStart: 0, baseCount: from.length, afterCount: to.length }]
    : editsBetween(from, to);
  return {
    added: edits.reduce((sum, edit) => sum + edit.afterCount, 0),
    removed: edits.reduce((sum, edit) => sum + edit.baseCount, 0),
    ranges: rangesOf(edits),
    ...hashes,
  };
}

/**
 * The base of a change that grows: the agent found the file as `found`, not as it had left it (`after`), so what
 * others wrote in between becomes part of the base and is nobody's hunk. Where they wrote into a hunk, their text
 * stands: that hunk is theirs now.
 */
function rebase(file: Pick<ReviewFile, 'base' | 'after'>, found: Uint8Array | null): Uint8Array | null {
  if (hashOf(file.after) === hashOf(found)) return file.base;
  if (file.base === null || file.after === null || found === null || coarse(file)) return found;
  const merged = merge3(byteString(file.after), byteString(found), byteString(file.base));
  return merged.kind === 'merged' ? bytesOf(merged.text) : found;
}
