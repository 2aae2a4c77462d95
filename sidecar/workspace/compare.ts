// What differs between a snapshot and a later one, with the bytes of both sides.
//
// Both come out of git, as they were on the disk: a file that git converts when it is checked out (line ends,
// filters) is given as it was checked out. Bounded by files and by bytes; what is
// past the bounds, and what has no text (links, other repositories), is named in `unseen`.

import { createHash } from 'node:crypto';
import path from 'node:path';
import { limits } from '../runtime/limits.ts';
import { byteString, bytesOf, utf8ByteString } from './bytes.ts';
import { readWhole } from './files.ts';
import { git } from './git.ts';

export interface Difference {
  /** Relative to the top, with forward slashes. */
  readonly path: string;
  /** Null: there was, or is, no such file. */
  readonly before: Uint8Array | null;
  readonly after: Uint8Array | null;
}

export interface Comparison {
  readonly differences: readonly Difference[];
  /** Paths that differ too. */
  readonly unseen: readonly string[];
}

export interface Compared {
  readonly top: string;
  /** Tells git where the objects are (Snapshots.environment). */
  readonly env: Readonly<Record<string, string>>;
  /** Ids of the trees. */
  readonly from: string;
  readonly to: string;
}

/** Compares two snapshots of one working tree, of which `to` is the newest. A string says why that cannot be done. */
export async function compare(compared: Compared): Promise<Comparison | string> {
  const { top, env, from, to } = compared;
  if (from === to) return { differences: [], unseen: [] };
  const args = ['diff-tree', '-r', '-z', '--no-renames', '--no-ext-diff', from, to];
  const listed = await git(top, args, { env, bytes: true });
  if (listed.code !== 0) return listed.problem;
  const all = changesIn(listed.out);
  const files = all.filter((change) => change.isFile).slice(0, limits.comparedFiles);
  const unseen = all.filter((change) => !files.includes(change)).map((change) => change.path);
  const contents = await contentsOf(compared, files);
  if (typeof contents === 'string') return contents;
  const reader = await readerOf(compared, files, contents);
  const differences: Difference[] = [];
  for (const file of files) {
    const before = await reader.before(file);
    const after = await reader.after(file);
    if (before === undefined || after === undefined) unseen.push(file.path);
    else if (!same(before, after)) differences.push({ path: file.path, before, after });
  }
  return { differences, unseen };
}

const same = (a: Uint8Array | null, b: Uint8Array | null): boolean =>
  a === b || (a !== null && b !== null && byteString(a) === byteString(b));

interface Change {
  readonly path: string;
  /** Object on each side; null: there is none. */
  readonly before: string | null;
  readonly after: string | null;
  /** Both sides, as far as they are there, are regular files whose name is UTF-8. */
  readonly isFile: boolean;
}

/** Reads `:mode mode object object letter`, NUL, path, NUL; bytes as characters. */
function changesIn(out: string): Change[] {
  const parts = out.split('\0');
  const changes: Change[] = [];
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [modes = '', mode = '', before = '', after = ''] = (parts[at] ?? '').split(' ');
    const name = parts[at + 1] ?? '';
    const shown = Buffer.from(name, 'latin1').toString('utf8');
    const sides = [modes.slice(1), mode].filter((each) => each !== '000000');
    const plain = sides.every((each) => each.startsWith('100')) && !shown.includes('\n');
    changes.push({
      path: shown,
      before: modes === ':000000' ? null : before,
      after: mode === '000000' ? null : after,
      isFile: plain && utf8ByteString(shown) === name,
    });
  }
  return changes;
}

/** Undefined: past the bounds, or not to be read. */
type Side = Uint8Array | null | undefined;

/** The objects of both sides, as git keeps them; without those that are too large. A string says why not. */
async function contentsOf(
  { top, env }: Compared,
  files: readonly Change[],
): Promise<Map<string, Uint8Array> | string> {
  const names = new Set(
    files.flatMap(({ before, after }) => [before, after]).filter((name) => name !== null),
  );
  if (names.size === 0) return new Map();
  const sizes = await git(top, ['cat-file', '--batch-check'], { env, input: `${[...names].join('\n')}\n` });
  if (sizes.code !== 0) return sizes.problem;
  const fitting = fittingOf(sizes.out);
  if (fitting.length === 0) return new Map();
  const input = `${fitting.join('\n')}\n`;
  const read = await git(top, ['cat-file', '--batch'], { env, input, bytes: true });
  return read.code === 0 ? contentsIn(read.out) : read.problem;
}

/** Objects that are read: none is too large, and neither are all together. */
function fittingOf(out: string): string[] {
  const fitting: string[] = [];
  let bytes = 0;
  for (const line of out.split('\n')) {
    const [object = '', kind, size = ''] = line.split(' ');
    if (kind !== 'blob' || limits.fileBytes < Number(size)) continue;
    bytes += Number(size);
    if (limits.comparedBytes < bytes) break;
    fitting.push(object);
  }
  return fitting;
}

/** Reads `object blob size`, line end, bytes, line end. */
function contentsIn(out: string): Map<string, Uint8Array> {
  const contents = new Map<string, Uint8Array>();
  for (let at = 0; at < out.length;) {
    const lineEnd = out.indexOf('\n', at);
    if (lineEnd < 0) break;
    const [object = '', , size = '0'] = out.slice(at, lineEnd).split(' ');
    const start = lineEnd + 1;
    contents.set(object, bytesOf(out.slice(start, start + Number(size))));
    at = start + Number(size) + 1;
  }
  return contents;
}

interface Reader {
  before(file: Change): Promise<Side>;
  after(file: Change): Promise<Side>;
}

/**
 * Reads the sides of files as they were on the disk. Where the disk has what git keeps, git's object of the other
 * side is as it was on the disk too. Else git converts the file, or it was written again after the later look.
 */
async function readerOf(
  compared: Compared,
  files: readonly Change[],
  contents: ReadonlyMap<string, Uint8Array>,
): Promise<Reader> {
  const disk = new Map<Change, Uint8Array>();
  for (const file of files) {
    if (file.after === null || !contents.has(file.after)) continue;
    const read = await readWhole(path.join(compared.top, file.path), limits.fileBytes);
    if (read.kind === 'file') disk.set(file, read.bytes);
  }
  const odd = files.filter(
    (file) => file.after !== null && nameOf(file.after, disk.get(file)) !== file.after,
  );
  const converted = await convertedOf(
    compared,
    odd.filter((file) => disk.has(file)),
  );
  const gone = files.filter((file) => file.after === null);
  let singly = 0;
  const asOnDisk = async (file: Change, object: string | null): Promise<Side> => {
    if (object === null) return null;
    const content = contents.get(object);
    if (content === undefined || !(odd.includes(file) || gone.includes(file))) return content;
    singly += 1;
    return singly <= limits.comparedSingly
      ? await checkedOut(compared, { object, path: file.path })
      : content;
  };
  return {
    before: (file) => asOnDisk(file, file.before),
    after: (file) => (converted.has(file) ? Promise.resolve(disk.get(file)) : asOnDisk(file, file.after)),
  };
}

/** The name of bytes as an object. Repositories name theirs by SHA-1 or by SHA-256 (gitformat-hash). */
function nameOf(like: string, bytes: Uint8Array | undefined): string {
  if (bytes === undefined) return '';
  const hash = createHash(like.length === 64 ? 'sha256' : 'sha1');
  return hash.update(`blob ${bytes.length}\0`).update(bytes).digest('hex');
}

/** Files on the disk that git keeps in another form, but which are as they were when they were looked at. */
async function convertedOf({ top, env }: Compared, files: readonly Change[]): Promise<Set<Change>> {
  if (files.length === 0) return new Set();
  const input = `${files.map((file) => file.path).join('\n')}\n`;
  const named = await git(top, ['hash-object', '--stdin-paths'], { env, input });
  const names = named.code === 0 ? named.out.split('\n') : [];
  return new Set(files.filter((file, i) => names[i] === file.after));
}

/** An object as it is checked out under a name; undefined when git cannot say. */
async function checkedOut(
  { top, env }: Compared,
  file: { readonly object: string; readonly path: string },
): Promise<Side> {
  const args = ['cat-file', '--filters', `--path=${file.path}`, file.object];
  const read = await git(top, args, { env, bytes: true });
  return read.code === 0 ? bytesOf(read.out) : undefined;
}
