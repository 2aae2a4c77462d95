// Going back to a checkpoint: what it would do to each file, and doing it.
//
// How the folder is now is recorded as a checkpoint first, so going back can be gone back on (case 63). A file is only
// written when it is as that record has it: what was saved a moment ago, has unsaved changes in an editor, or was too
// large to be recorded is left, with the reason. A file that was not there is removed only when an agent made it, and
// there is no `git clean`, no reset, no ref that moves (cases 157, 158).

import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  readlink,
  rm,
  rmdir,
  symlink,
  unlink,
} from 'node:fs/promises';
import path from 'node:path';
import type { CheckpointFile } from '../protocol/checkpoint.ts';
import { limits } from '../runtime/limits.ts';
import type { Buffers } from './buffers.ts';
import type { CheckpointRecord, CheckpointRoot } from './checkpointStore.ts';
import type { Checkpoints, Seen } from './checkpoints.ts';
import { messageOf, readWhole, writeWhole } from './files.ts';
import { git } from './git.ts';
import type { Locks } from './locks.ts';
import { resolveInside, within } from './paths.ts';
import type { Witness } from './witness.ts';

export interface RestoreOptions {
  readonly checkpoints: Checkpoints;
  readonly buffers: Buffers;
  /** The same locks as the tools' and the verdicts'. */
  readonly locks: Locks;
  /** Told of each file that is about to be written: it is no command's doing. */
  readonly wrote: Witness['wrote'];
  /** Whether an agent made a file after a time. */
  readonly madeByAgent: (path: string, sinceMs: number) => boolean;
}

/** What a restore does to one file. */
interface Change extends CheckpointFile {
  readonly root: CheckpointRoot;
  /** Relative to the top of its root. */
  readonly name: string;
  /** As git writes it: 100644, 100755, 120000; 000000 is no file. */
  readonly mode: string;
  /** There is no such file now. */
  readonly isNew: boolean;
}

export interface Plan {
  readonly record: CheckpointRecord;
  readonly seen: Seen;
  readonly changes: readonly Change[];
  /** Repositories that cannot be brought back, each in a sentence; the others can (case 65). */
  readonly problems: readonly string[];
}

/** Compares a checkpoint with the folder as it is now. A string says why that cannot be done. */
export async function planRestore(options: RestoreOptions, record: CheckpointRecord): Promise<Plan | string> {
  const seen = await options.checkpoints.now(record.workspace);
  if (typeof seen === 'string') return seen;
  const changes: Change[] = [];
  const problems: string[] = [];
  for (const root of record.roots) {
    const found = await changesOf(options, record, { root, seen });
    if (typeof found === 'string') problems.push(found);
    else changes.push(...found);
  }
  const [first] = problems;
  if (first !== undefined && problems.length === record.roots.length) return first;
  return { record, seen, problems, changes: changes.sort((a, b) => (a.path < b.path ? -1 : 1)) };
}

interface Compared {
  readonly root: CheckpointRoot;
  readonly seen: Seen;
}

async function changesOf(
  options: RestoreOptions,
  record: CheckpointRecord,
  { root, seen }: Compared,
): Promise<Change[] | string> {
  const now = seen.roots.find((each) => each.top === root.top);
  if (now === undefined) return `${root.top} cannot be looked at now: ${seen.problems.join(' ')}`;
  const env = await options.checkpoints.store.environment(root);
  const args = ['diff-tree', '-r', '-z', '--no-renames', '--no-ext-diff', root.tree, now.tree];
  const listed = await git(root.top, args, { env });
  if (listed.code !== 0) return `The checkpoint cannot be read any more: ${listed.problem}`;
  const left = new Set(now.left);
  const parts = listed.out.split('\0');
  const changes: Change[] = [];
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [before = '', after = ''] = (parts[at] ?? '').slice(1).split(' ');
    const name = parts[at + 1] ?? '';
    const file = path.join(root.top, name);
    const label = within(record.workspace, file);
    if (label === null) continue;
    const reason = await whyNot(options, record, { file, before, after, isUnknown: left.has(name) });
    const action = reason !== null ? 'leave' : before === '000000' ? 'remove' : 'write';
    changes.push({ path: file, label, action, reason, root, name, mode: before, isNew: after === '000000' });
  }
  return changes;
}

interface Difference {
  readonly file: string;
  /** Modes in the checkpoint and now. */
  readonly before: string;
  readonly after: string;
  /** How it is now is not recorded. */
  readonly isUnknown: boolean;
}

/** Why a file is left as it is; null: it is brought back. */
async function whyNot(
  { buffers, madeByAgent }: RestoreOptions,
  record: CheckpointRecord,
  { file, before, after, isUnknown }: Difference,
): Promise<string | null> {
  if (before === '160000' || after === '160000') return 'It is a repository of its own.';
  // A name that is not UTF-8 was read as another name.
  if (file.includes('\ufffd')) return 'Its name is not UTF-8.';
  if (isUnknown)
    return 'How it is now could not be recorded, so it is kept: it is too large, or cannot be read.';
  if (before === '000000' && !record.made.includes(file) && !madeByAgent(file, record.atMs))
    return 'It is newer, and no agent made it. Remove it by hand if it should go.';
  const unsaved = await buffers.readText(file);
  return unsaved === null ? null : 'It has unsaved changes in the editor. Save or revert them first.';
}

/** A file that was brought back, for what the store knows of it. */
export interface Restored {
  readonly path: string;
  readonly before: Uint8Array | null;
  readonly after: Uint8Array | null;
}

export interface RestoreResult {
  readonly written: number;
  readonly removed: number;
  readonly left: readonly CheckpointFile[];
  /** Number of the checkpoint that undoes it; null: there was nothing to do. */
  readonly undo: number | null;
}

/** Does what a plan says, for all files or for these; `each` hears of every file that was changed. */
export async function restore(
  options: RestoreOptions,
  plan: Plan,
  { paths, each }: { readonly paths: readonly string[] | 'all'; each(file: Restored): void },
): Promise<RestoreResult> {
  const named = paths === 'all' ? null : new Set(paths);
  const changes = plan.changes.filter((change) => named === null || named.has(change.path));
  const doing = changes.filter((change) => change.action !== 'leave');
  const left: CheckpointFile[] = changes.filter((change) => change.action === 'leave').map(fileOf);
  if (doing.length === 0) return { written: 0, removed: 0, left, undo: null };
  const made = doing.filter((change) => change.isNew).map((change) => change.path);
  const undo = await options.checkpoints.keep(plan.record.workspace, plan.seen, made);
  const counts = { written: 0, removed: 0 };
  for (const root of plan.record.roots) {
    const own = doing.filter((change) => change.root.top === root.top);
    if (own.length === 0) continue;
    const out = await checkOut(options, root, own);
    if (out.problem !== null) {
      left.push(
        ...own.map((change) => ({ ...fileOf(change), action: 'leave' as const, reason: out.problem })),
      );
      continue;
    }
    try {
      for (const change of own) {
        const problem = await bring(options, { change, out: out.folder, seen: plan.seen, each });
        if (problem !== null) left.push({ ...fileOf(change), action: 'leave', reason: problem });
        else counts[change.action === 'remove' ? 'removed' : 'written'] += 1;
      }
    } finally {
      await rm(out.folder, { recursive: true, force: true });
    }
  }
  return { ...counts, left: left.slice(0, limits.previewFiles), undo: undo.id };
}

export const fileOf = ({ path: file, label, action, reason }: CheckpointFile): CheckpointFile => ({
  path: file,
  label,
  action,
  reason,
});

/** The files of a root as git checks them out, line ends and filters included, in a folder of our own. */
async function checkOut(
  options: RestoreOptions,
  root: CheckpointRoot,
  changes: readonly Change[],
): Promise<{ readonly folder: string; readonly problem: string | null }> {
  const own = path.dirname(await options.checkpoints.store.objects(root));
  const folder = await mkdtemp(path.join(own, 'out-'));
  const names = changes.filter((change) => change.action === 'write').map((change) => change.name);
  if (names.length === 0) return { folder, problem: null };
  const index = path.join(own, `${path.basename(folder)}.index`);
  const env = { ...(await options.checkpoints.store.environment(root)), GIT_INDEX_FILE: index };
  const indexed = await git(root.top, ['read-tree', root.tree], { env });
  const args = ['checkout-index', '--quiet', '--force', `--prefix=${folder}/`, '-z', '--stdin'];
  const input = `${names.join('\0')}\0`;
  const written = indexed.code === 0 ? await git(root.top, args, { env, input }) : indexed;
  await rm(index, { force: true });
  if (written.code === 0) return { folder, problem: null };
  await rm(folder, { recursive: true, force: true });
  return { folder, problem: `It cannot be read out of the checkpoint any more: ${written.problem}` };
}

/** Git is asked where the repository is before it looks at files. */
const lookDelayMs = 2;

interface Bringing {
  readonly change: Change;
  /** Folder with the files to bring. */
  readonly out: string;
  readonly seen: Seen;
  each(file: Restored): void;
}

/** Brings one file back; a string says why it was left. */
async function bring(options: RestoreOptions, { change, out, seen, each }: Bringing): Promise<string | null> {
  const file = change.path;
  const where = await resolveInside(change.root.top, path.dirname(change.name));
  if (where.kind === 'refused' || where.real !== path.dirname(file)) return 'Its folder is a link now.';
  return await options.locks(file, async () => {
    const found = await lstat(file).catch(() => null);
    // A look begins a few milliseconds after its time, and file systems round times down.
    if (found !== null && seen.atMs + lookDelayMs < Math.max(found.mtimeMs, found.ctimeMs))
      return 'It was written a moment ago. Look at the checkpoint again.';
    if (found?.isDirectory() === true) return 'A folder is in its place.';
    const unsaved = await options.buffers.readText(file);
    if (unsaved !== null) return 'It has unsaved changes in the editor. Save or revert them first.';
    try {
      const before = found?.isFile() === true ? await bytesAt(file) : null;
      const after =
        change.action === 'remove' ? await remove(options, change) : await put(options, change, out);
      each({ path: file, before, after });
      return null;
    } catch (error) {
      return `It could not be written: ${messageOf(error)}.`;
    }
  });
}

/** Bytes of a file, as far as changes are made of such; null: none, or it is too large. */
async function bytesAt(file: string): Promise<Uint8Array | null> {
  const read = await readWhole(file, limits.fileBytes);
  return read.kind === 'file' ? read.bytes : null;
}

/** Removes a file, and the folders that are empty without it. */
async function remove({ wrote }: RestoreOptions, { path: file, root }: Change): Promise<null> {
  wrote(file, null);
  await unlink(file);
  for (let folder = path.dirname(file); folder !== root.top; folder = path.dirname(folder)) {
    const gone = await rmdir(folder).then(
      () => true,
      () => false,
    );
    if (!gone) break;
  }
  return null;
}

/** Puts a file in place with its mode; returns its bytes, null for a link. */
async function put({ wrote }: RestoreOptions, change: Change, out: string): Promise<Uint8Array | null> {
  const file = change.path;
  const source = path.join(out, change.name);
  if (change.mode === '120000') {
    await mkdir(path.dirname(file), { recursive: true });
    const target = await readlink(source);
    await rm(file, { force: true });
    await symlink(target, file);
    return null;
  }
  const found = await lstat(file).catch(() => null);
  if (found?.isSymbolicLink() === true) await unlink(file);
  const bytes = await readFile(source);
  wrote(file, bytes);
  await writeWhole(file, bytes);
  const { mode } = await lstat(file);
  const wanted = change.mode === '100755' ? mode | ((mode & 0o444) >> 2) : mode & ~0o111;
  if ((wanted & 0o7777) !== (mode & 0o7777)) await chmod(file, wanted & 0o7777);
  return bytes;
}
