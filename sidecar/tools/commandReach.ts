// What the words of a command may reach: files outside of its workspace, files that are protected, and commands that
// stand in the words of another one. Whatever is not sure counts as reached (cases 211, 213, 214, 215 and 217).

import { realpathSync } from 'node:fs';
import path from 'node:path';
import { isProtected, within } from '../workspace/paths.ts';

/** Stands in a word for what is known only when its line runs: a character that no command line has. */
export const open = '\0';
export const isOpen = (word: string): boolean => word.includes(open);
/** A word as people are shown it. */
export const shown = (word: string): string => word.replaceAll(open, '…');

/** Programs that only read the files that they are given. */
const readers = new Set(
  'ls cat head tail wc sort uniq grep egrep fgrep rg diff cmp stat file less more cd echo printf test [ [['.split(
    ' ',
  ),
);
/** Programs that write the files that they are given. */
const writers = new Set('cp mv tee install touch mkdir sed patch tar unzip rsync split'.split(' '));

/** Whether a redirection goes out of the workspace or into what is protected. */
export function leaves(target: string, directory: string, workspace: string): boolean {
  if (target === '/dev/null' || target === '/dev/stderr' || target === '/dev/stdout') return false;
  if (isOpen(target) || /^~|[$*?[]/.test(target)) return true;
  const absolute = path.resolve(directory, target);
  return isOutside(absolute, workspace) || isOutside(real(absolute), real(workspace));
}

function isOutside(absolute: string, workspace: string): boolean {
  const inside = within(workspace, absolute);
  return inside === null || isProtected(inside);
}

/** The path with the links of what exists of it followed. */
function real(absolute: string): string {
  try {
    return realpathSync(absolute);
  } catch {
    const parent = path.dirname(absolute);
    return parent === absolute ? absolute : path.join(real(parent), path.basename(absolute));
  }
}

/** Why the files that a command is given make it dangerous; null: they do not. */
export function reachOf(words: readonly string[], directory: string, workspace: string): string | null {
  const [word = '', ...rest] = words;
  const program = path.basename(word);
  if (readers.has(program)) return null;
  for (const each of rest) {
    if (isOpen(each)) return `It may change ${shown(each)}, which may be protected.`;
    // Files stand alone, as the value of an option, and behind a colon.
    for (const name of [each, ...each.split(/[=:,]/), each.replace(/^-\w/, '')]) {
      // A revision, not the file that makes a folder a repository.
      if (name === '' || (program === 'git' && /^HEAD\b/.test(name))) continue;
      if (/(^|\/)\.[^/]*[*?[]|[*?[][^/]*(hooks|\.json|\.code-workspace)/i.test(name))
        return `It may change ${each}, which may be protected.`;
      const inside = within(workspace, path.resolve(directory, name));
      if (inside !== null && inside !== '.' && isProtected(inside))
        return `It may change ${inside}, which decides what agents and the editor may do.`;
    }
    if (
      writers.has(program) &&
      !each.startsWith('-') &&
      isPathLike(each) &&
      leaves(each, directory, workspace)
    )
      return `It may write to ${each}.`;
  }
  return null;
}

const isPathLike = (word: string): boolean => /^[~/]|(^|\/)\.\.(\/|$)/.test(word);

/** Where a `cd` leads: null when that is not sure. Other commands stay where they are. */
export function directoryAfter(
  words: readonly string[],
  directory: string,
  workspace: string,
): string | null {
  const [program = '', ...rest] = words;
  if (program === 'popd' || program === 'pushd') return null;
  if (program !== 'cd') return directory;
  const [target, ...more] = rest.filter((word) => word !== '--');
  if (target === undefined || more.length > 0 || isOpen(target) || /^[-~]|[$*?[]/.test(target)) return null;
  const next = path.resolve(directory, target);
  return within(workspace, next) === null ? null : next;
}

/** Most words of one command that are looked at for another command in them: a longer one counts as dangerous. */
const mostWords = 200;

/**
 * The commands that may stand in the words of a carrier such as `env` or `xargs`: one from each word on, since which
 * options take a value is not known. Null: there are too many.
 */
export function carried(words: readonly string[]): readonly (readonly string[])[] | null {
  if (mostWords < words.length) return null;
  return words.slice(1).map((_word, index) => words.slice(index + 1));
}

/** The text that a shell is given with `-c`; null: there is none. */
export function textOfShell(words: readonly string[]): string | null {
  const at = words.findIndex((word, index) => index > 0 && /^-[a-z]*c$/.test(word));
  return at === -1 ? null : (words[at + 1] ?? '');
}
