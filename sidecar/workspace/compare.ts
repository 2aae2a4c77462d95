// What differs between a snapshot and a later one, with the bytes of both sides.
//
// The earlier bytes come out of git, the later ones from the disk, as they are: a file that git converts when it
// is checked out (line ends, filters) is given back as it was checked out. Bounded by files and by bytes; what is
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
  const later = await laterOf(top, files);
  const earlier = await earlierOf(compared, files, later);
  if (typeof earlier === 'string') return earlier;
  const differences: Difference[] = [];
  for (const [i, { path: name }] of files.entries()) {
    const before = earlier[i];
    const after = later[i];
    if (before === undefined || after === undefined) unseen.push(name);
    else if (!same(before, after)) differences.push({ path: name, before, after });
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

type Side = Uint8Array | null | undefined;

/** The files as they are on the disk; undefined: past the bounds, or not to be read. */
async function laterOf(top: string, files: readonly Change[]): Promise<Side[]> {
  let bytes = 0;
  const later: Side[] = [];
  for (const file of files) {
    const read =
      limits.comparedBytes < bytes ? null : await readWhole(path.join(top, file.path), limits.fileBytes);
    bytes += read?.kind === 'file' ? read.bytes.length : 0;
    later.push(
      read === null || read.kind === 'refused' ? undefined : read.kind === 'missing' ? null : read.bytes,
    );
  }
  return later;
}

async function earlierOf(
  { top, env }: Compared,
  files: readonly Change[],
  later: readonly Side[],
): Promise<Side[] | string> {
  const wanted = files.map(({ before }, i) => (later[i] === undefined ? null : before));
  const names = wanted.filter((name) => name !== null);
  if (names.length === 0) return wanted.map(() => null);
  const sizes = await git(top, ['cat-file', '--batch-check'], { env, input: `${names.join('\n')}\n` });
  if (sizes.code !== 0) return sizes.problem;
  const fitting = fittingOf(sizes.out);
  const input = `${[...fitting].join('\n')}\n`;
  const read =
    fitting.size === 0 ? null : await git(top, ['cat-file', '--batch'], { env, input, bytes: true });
  if (read !== null && read.code !== 0) return read.problem;
  const contents = contentsIn(read?.out ?? '');
  const earlier: Side[] = [];
  let singly = 0;
  for (const [i, file] of files.entries()) {
    const object = wanted[i] ?? null;
    const content = object === null ? null : contents.get(object);
    const converted = content && isConverted(file, later[i] ?? null) && singly < limits.comparedSingly;
    if (converted) singly += 1;
    if (object === null || !converted) earlier.push(content);
    else earlier.push(await checkedOut(top, env, { object, path: file.path }));
  }
  return earlier;
}

/** Objects that are read: none is too large, and neither are all together. */
function fittingOf(out: string): Set<string> {
  const fitting = new Set<string>();
  let bytes = 0;
  for (const line of out.split('\n')) {
    const [object = '', kind, size = ''] = line.split(' ');
    if (kind !== 'blob' || fitting.has(object) || limits.fileBytes < Number(size)) continue;
    bytes += Number(size);
    if (limits.comparedBytes < bytes) break;
    fitting.add(object);
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

/** Whether git keeps the file in another form than the disk has it: then its object is not what the disk says. */
function isConverted(file: Change, after: Uint8Array | null): boolean {
  if (file.after === null || after === null) return true;
  // Repositories name their objects by SHA-1 or by SHA-256 (gitformat-hash).
  const hash = createHash(file.after.length === 64 ? 'sha256' : 'sha1');
  hash.update(`blob ${after.length}\0`).update(after);
  return hash.digest('hex') !== file.after;
}

/** An object as it is checked out under a name; undefined when git cannot say. */
async function checkedOut(
  top: string,
  env: Readonly<Record<string, string>>,
  file: { readonly object: string; readonly path: string },
): Promise<Side> {
  const args = ['cat-file', '--filters', `--path=${file.path}`, file.object];
  const read = await git(top, args, { env, bytes: true });
  return read.code === 0 ? bytesOf(read.out) : undefined;
}
