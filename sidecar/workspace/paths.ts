// The fence: what a path that an agent gives really names, and whether that lies in the agent's folder (I10).
//
// Links, case and `..` are resolved before anything is asked or opened, so a rule never judges one path while
// another is used (cases 214, 217). What is protected is decided on the resolved path too.

import { realpath, readlink } from 'node:fs/promises';
import path from 'node:path';
import { limits } from '../runtime/limits.ts';

export type Resolved =
  | {
      readonly kind: 'inside';
      /** Absolute, without links. */
      readonly real: string;
      /** From the root, with forward slashes; `.` is the root. */
      readonly relative: string;
    }
  | { readonly kind: 'refused'; readonly text: string };

/**
 * Resolves a path against a root. `root` is absolute and resolved. The file need not exist.
 * A path that is absolute is taken as it is, and must lie in the root too.
 */
export async function resolveInside(root: string, given: string): Promise<Resolved> {
  if (given === '' || given.includes('\0')) return { kind: 'refused', text: `"${given}" is not a path.` };
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(given)) {
    return {
      kind: 'refused',
      text: `"${given}" is an address. Give a path of a file, relative to the workspace.`,
    };
  }
  const real = await realOf(path.resolve(root, given), 0);
  if (real === null) {
    return {
      kind: 'refused',
      text: `"${given}" cannot be resolved: it leads through more than ${limits.linkHops} links, or through a file.`,
    };
  }
  const inside = within(root, real);
  if (inside === null) {
    const where = real === path.resolve(root, given) ? '' : ` (it leads to ${real})`;
    return {
      kind: 'refused',
      text: `"${given}"${where} is outside the workspace ${root}. File tools stay inside it.`,
    };
  }
  return { kind: 'inside', real, relative: inside };
}

/** `target` relative to `root`, with forward slashes, `.` for the root itself; null when it is not in it. Both resolved. */
export function within(root: string, target: string): string | null {
  const relative = path.relative(root, target);
  if (relative === '') return '.';
  if (relative === '..' || relative.startsWith(`..${path.sep}`) || path.isAbsolute(relative)) return null;
  return relative.split(path.sep).join('/');
}

/** The real path of what exists; for what does not, the real path of its nearest ancestor and the rest. */
async function realOf(absolute: string, hops: number): Promise<string | null> {
  if (limits.linkHops < hops) return null;
  try {
    return await realpath(absolute);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') return null;
  }
  const parent = path.dirname(absolute);
  if (parent === absolute) return absolute;
  const realParent = await realOf(parent, hops + 1);
  if (realParent === null) return null;
  const here = path.join(realParent, path.basename(absolute));
  // A link to what does not exist yet: a write would go through it, so its target is what counts.
  const target = await readlink(here).catch(() => null);
  return target === null ? here : await realOf(path.resolve(realParent, target), hops + 1);
}

export function codeOf(error: unknown): string {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code;
  return '';
}

// What grants power when it is edited: Roost's, the editor's and other agents' configuration, hooks that git or
// a package manager run, task files that the editor offers to start (case 215).
const protectedPaths = [
  /^(.*\/)?\.(roost|vscode|claude|cursor|codex|gemini|husky|devcontainer)(\/|$)/,
  /^(.*\/)?\.git(\/|$)/,
  // What makes a folder a bare repository, whose `config` then names programs that `git status` starts.
  /^(.*\/)?head$/,
  /^(.*\/)?\.github\/(agents|copilot|hooks|chatmodes|instructions|prompts)(\/|$)/,
  /^(.*\/)?\.?mcp\.json$/,
  /\.code-workspace$/,
  /^(.*\/)?\.(envrc|gitmodules|gitconfig|npmrc|yarnrc(\.yml)?)$/,
];

/** Whether an edit of this path (relative, resolved) must be asked in every mode. */
export function isProtected(relative: string): boolean {
  const folded = relative.toLowerCase();
  return protectedPaths.some((pattern) => pattern.test(folded));
}
