// Ignored files that work needs, brought into a new worktree: copied by `.worktreeinclude`, linked by
// `.roost/worktree.json`; both are read from the person's working tree, at the top of the repository.
//
// `.worktreeinclude` has the syntax of `.gitignore` and is shared by several tools of the field: what matches and
// is ignored is copied (a clone where the file system has them). Without it `.env` and `.env.*` are. A link is
// only made when the person names it: what is written through it is written into the person's own folder. Nothing
// is put over a file that is there (case 138), and nothing outside either tree is followed.

import { constants } from 'node:fs';
import { copyFile, lstat, mkdir, readFile, symlink } from 'node:fs/promises';
import path from 'node:path';
import * as v from 'valibot';
import { limits } from '../runtime/limits.ts';
import { messageOf } from './files.ts';
import { git } from './git.ts';
import { resolveInside } from './paths.ts';
import { pathsOf } from './repository.ts';

export const settingsFile = '.roost/worktree.json';
const includeFile = '.worktreeinclude';

const schema = v.strictObject({
  /** Ignored folders that every worktree shares with the person by a link, relative to the top. */
  link: v.optional(v.array(v.string()), []),
  /** Command that runs once in each new worktree; empty: none. */
  setup: v.optional(v.string(), ''),
});

export type WorktreeSettings = v.InferOutput<typeof schema>;

/** What a repository wants for its worktrees; a string says what is wrong with the file. */
export async function settingsOf(top: string): Promise<WorktreeSettings | string> {
  const text = await readFile(path.join(top, settingsFile), 'utf8').catch(() => null);
  return text === null ? { link: [], setup: '' } : parseSettings(text);
}

/** The text of such a file, understood. */
export function parseSettings(text: string): WorktreeSettings | string {
  try {
    const parsed = v.safeParse(schema, JSON.parse(text));
    if (parsed.success) return parsed.output;
    const [issue] = parsed.issues;
    return `${settingsFile}: ${v.getDotPath(issue) ?? 'the file'}: ${issue.message}.`;
  } catch (error) {
    return `${settingsFile} is not JSON: ${messageOf(error)}.`;
  }
}

export interface Trees {
  /** The person's working tree and the agent's, both from the top of the repository. */
  readonly from: string;
  readonly to: string;
}

export interface Included {
  /** Folders of the person's, absolute, that a link was made to. */
  readonly linked: readonly string[];
  /** What was wanted and is not there, each with its reason, in words. */
  readonly missing: readonly string[];
}

/** Brings along what is wanted: links, then copies. What cannot be brought is told and hinders nothing. */
export async function include(
  trees: Trees,
  links: readonly string[],
  wanted: readonly string[],
): Promise<Included> {
  const linked: string[] = [];
  const missing: string[] = [];
  for (const name of links) {
    const made = await link(trees, name);
    if (made.problem === null) linked.push(made.real);
    else missing.push(`${name} (${made.problem})`);
  }
  missing.push(...(await copyAll(trees, wanted)));
  return { linked, missing };
}

interface Link {
  /** What it leads to. */
  readonly real: string;
  readonly problem: string | null;
}

async function link(trees: Trees, name: string): Promise<Link> {
  const not = (problem: string): Link => ({ real: '', problem });
  const from = await resolveInside(trees.from, name);
  if (from.kind === 'refused' || path.isAbsolute(name)) return not('not a path in the repository');
  const found = await lstat(from.real).catch(() => null);
  if (found === null) return not('the person has none');
  const ignored = await git(trees.from, ['check-ignore', '--quiet', '--', name]);
  if (ignored.code !== 0) return not('only what git ignores can be linked');
  const target = await resolveInside(trees.to, name);
  if (target.kind === 'refused') return not('its place leads out of the worktree');
  if ((await lstat(target.real).catch(() => null)) !== null) return not('something else is there');
  try {
    await mkdir(path.dirname(target.real), { recursive: true });
    await symlink(from.real, target.real, found.isDirectory() ? 'junction' : 'file');
    return { real: from.real, problem: null };
  } catch (error) {
    return not(messageOf(error));
  }
}

/** Copies what is wanted; returns what was not copied, with the reason. */
async function copyAll(trees: Trees, wanted: readonly string[]): Promise<string[]> {
  const missing: string[] = [];
  let leftBytes = limits.includedBytes;
  for (const name of wanted.slice(0, limits.includedFiles)) {
    const copied = await copy(trees, name, leftBytes);
    if (typeof copied === 'string') missing.push(`${name} (${copied})`);
    else leftBytes -= copied;
  }
  const more = wanted.length - limits.includedFiles;
  if (0 < more)
    missing.push(`${more} more files of ${includeFile} (at most ${limits.includedFiles} are copied)`);
  return missing;
}

/** Files that match and that git ignores, relative to the top. `ignored` is ignoredOf of it. */
export async function wantedFiles(top: string, ignored: readonly string[]): Promise<readonly string[]> {
  const list = path.join(top, includeFile);
  if ((await lstat(list).catch(() => null)) === null) {
    return ignored.filter((name) => /^\.env(\.[^/]+)?$/.test(path.posix.basename(name)));
  }
  const args = ['ls-files', '-z', '--others', '--ignored', `--exclude-from=${list}`];
  const matching = pathsOf((await git(top, args)).out);
  if (matching.length === 0) return [];
  const input = `${matching.join('\0')}\0`;
  return pathsOf((await git(top, ['check-ignore', '-z', '--stdin'], { input })).out);
}

/** Bytes that were copied, or why not. */
async function copy(trees: Trees, name: string, mostBytes: number): Promise<number | string> {
  const from = path.join(trees.from, name);
  const found = await lstat(from).catch(() => null);
  if (found === null) return 0;
  if (!found.isFile()) return 'not a regular file';
  if (mostBytes < found.size) return `more than ${limits.includedBytes / 1024 / 1024} MB altogether`;
  const target = await resolveInside(trees.to, name);
  if (target.kind === 'refused') return 'its place leads out of the worktree';
  if ((await lstat(target.real).catch(() => null)) !== null) return 0;
  try {
    await mkdir(path.dirname(target.real), { recursive: true });
    await copyFile(from, target.real, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    return found.size;
  } catch (error) {
    return messageOf(error);
  }
}

/** Folders that git ignores, of which the worktree has nothing. */
export async function lackingFolders(trees: Trees, ignored: readonly string[]): Promise<string[]> {
  const folders: string[] = [];
  for (const name of ignored.filter((each) => each.endsWith('/'))) {
    if ((await lstat(path.join(trees.to, name.slice(0, -1))).catch(() => null)) === null) folders.push(name);
  }
  return folders;
}
