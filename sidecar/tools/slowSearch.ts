// The search for machines without ripgrep: literal, in order, within a budget of files and time. Ignore files at
// every level are honoured; links are not followed.

import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import ignore from 'ignore';
import type { Ignore } from 'ignore';
import picomatch from 'picomatch';
import { limits } from '../runtime/limits.ts';
import { readWhole } from '../workspace/files.ts';
import { notText, shownText } from '../workspace/bytes.ts';

export interface SearchInput {
  readonly pattern: string;
  readonly path: string;
  readonly glob: string | null;
}

export interface SearchPlace {
  readonly root: string;
  readonly target: string;
  readonly signal: AbortSignal;
}

/** Matching lines, `path:line:text`; `cut` says why there may be more; `problem` that the pattern is wrong. */
export interface Found {
  readonly lines: readonly string[];
  readonly cut: string | null;
  readonly problem: string | null;
}

interface Walk {
  readonly input: SearchInput;
  readonly place: SearchPlace;
  readonly wanted: (relative: string) => boolean;
  readonly lines: string[];
  readonly endMs: number;
  files: number;
  cut: string | null;
}

/** Finds lines that contain the pattern as it is written. */
export async function slowSearch(input: SearchInput, place: SearchPlace): Promise<Found> {
  const { glob } = input;
  const matches = glob === null ? null : picomatch(glob.includes('/') ? glob : `**/${glob}`, { dot: true });
  const walk: Walk = {
    input,
    place,
    wanted: (relative) => matches === null || matches(relative),
    lines: [],
    endMs: performance.now() + limits.searchMs,
    files: 0,
    cut: null,
  };
  const target = place.target === '.' ? '' : place.target.split(path.sep).join('/');
  await visit(walk, target, await rulesAbove(place.root, target));
  return {
    lines: walk.lines,
    cut: walk.cut ?? 'ripgrep is missing, so the pattern was taken literally',
    problem: null,
  };
}

interface Rules {
  readonly directory: string;
  readonly rules: Ignore;
}

async function visit(walk: Walk, relative: string, outer: readonly Rules[]): Promise<void> {
  const absolute = path.join(walk.place.root, relative);
  const entries = await readdir(absolute, { withFileTypes: true }).catch(() => null);
  if (entries === null) return await look(walk, relative);
  const own = await rulesOf(absolute, relative);
  const rules = own === null ? outer : [...outer, own];
  for (const entry of entries.sort((one, two) => (one.name < two.name ? -1 : 1))) {
    if (walk.cut !== null) return;
    const below = path.posix.join(relative, entry.name);
    if (entry.name === '.git' || entry.isSymbolicLink() || ignored(rules, below, entry.isDirectory()))
      continue;
    if (entry.isDirectory()) await visit(walk, below, rules);
    else if (entry.isFile() && walk.wanted(below)) await look(walk, below);
  }
}

/** The rules of the folders above the one that is searched. */
async function rulesAbove(root: string, target: string): Promise<Rules[]> {
  const found: Rules[] = [];
  for (let folder = target; folder !== '';) {
    const above = path.posix.dirname(folder);
    folder = above === '.' ? '' : above;
    const rules = await rulesOf(path.join(root, folder), folder);
    if (rules !== null) found.unshift(rules);
  }
  return found;
}

async function rulesOf(absolute: string, relative: string): Promise<Rules | null> {
  const texts = await Promise.all(
    ['.gitignore', '.ignore'].map((name) => readFile(path.join(absolute, name), 'utf8').catch(() => '')),
  );
  const text = texts.join('\n');
  return text.trim() === '' ? null : { directory: relative, rules: ignore().add(text) };
}

function ignored(all: readonly Rules[], relative: string, directory: boolean): boolean {
  return all.some(({ directory: from, rules }) => {
    const below = path.posix.relative(from, relative);
    return rules.ignores(directory ? `${below}/` : below);
  });
}

async function look(walk: Walk, relative: string): Promise<void> {
  walk.files++;
  if (walk.place.signal.aborted) walk.cut = 'it was interrupted';
  else if (limits.searchFiles < walk.files) walk.cut = `only ${limits.searchFiles} files were looked at`;
  else if (walk.endMs < performance.now())
    walk.cut = `the search took longer than ${limits.searchMs / 1000} seconds`;
  if (walk.cut !== null) return;
  const read = await readWhole(path.join(walk.place.root, relative), limits.searchFileBytes);
  if (read.kind !== 'file' || notText(relative, read.bytes) !== null) return;
  for (const [index, line] of shownText(read.bytes).split('\n').entries()) {
    if (!line.includes(walk.input.pattern)) continue;
    walk.lines.push(`${relative}:${index + 1}:${line.slice(0, limits.searchLineBytes).trimEnd()}`);
    if (limits.searchMatches < walk.lines.length) {
      walk.cut = `only ${limits.searchMatches} matches are shown`;
      return;
    }
  }
}
