// The witness: which files commands have changed, and whose they were (DESIGN §11).
//
// Before a command starts its folder is looked at, and again when it has ended; what differs is its work. Looks
// cut time into pieces. A piece in which commands of one agent ran is that agent's; one in which commands of
// several agents ran goes to the one that ends it, with the names of the others, because nobody can tell. What
// Roost itself wrote meanwhile (edits, verdicts) is no command's, and what changed while no command ran is nobody's.
//
// A mark, kept outside of this process before the command starts, is enough to find out after a crash. Not here:
// the commands themselves, the folders (ground.ts).

import { lstat } from 'node:fs/promises';
import path from 'node:path';
import * as v from 'valibot';
import type { Touched } from '../ports.ts';
import { agentId } from '../protocol/ids.ts';
import type { AgentId } from '../protocol/ids.ts';
import { limits } from '../runtime/limits.ts';
import { hashOf } from './bytes.ts';
import type { Comparison } from './compare.ts';
import { createGrounds } from './ground.ts';
import type { Ground, Grounds, Look } from './ground.ts';
import { createLocks } from './locks.ts';
import type { Locks } from './locks.ts';

/** Where a command runs, and for whom. */
export interface Scene {
  readonly agent: AgentId;
  /** The folder that it runs in, and the person's folder that this one stands for; in a worktree they differ. */
  readonly place: string;
  readonly workspace: string;
}

export interface Seen {
  readonly touched: readonly Touched[];
  /** What the agent is told: what could not be seen. */
  readonly notes: readonly string[];
}

export interface Watching {
  /** The command has ended, at this time (ms since 1970) or just now: what it has changed. Call it once. */
  end(endedMs?: number): Promise<Seen>;
  /** The command never ran: nothing is its work. */
  drop(): Promise<void>;
}

export interface Witness {
  /** Looks at the place, before the command starts. `remember` keeps a mark until the command has its result. */
  watch(scene: Scene, remember: (mark: string) => void): Promise<Watching>;
  /** Goes on with a command of an earlier process, by its newest mark. */
  resume(scene: Scene, mark: string | null): Promise<Watching>;
  /** Roost itself brought a file to these bytes. */
  wrote(file: string, bytes: Uint8Array | null): void;
}

/** A witness with its snapshots under `root`. */
export function createWitness(root: string): Witness {
  const grounds = createGrounds(root);
  const field: Field = { grounds, locks: createLocks(), lots: new Map(), own: new Map(), looking: 0 };
  return {
    watch: (scene, remember) => watch(field, scene, remember),
    resume: (scene, mark) => resume(field, scene, mark),
    wrote: (file, bytes) => {
      // Nobody asks when no command runs or is about to: the first look at a folder may be older than this.
      if (isCalm(field)) return;
      field.own.delete(file);
      field.own.set(file, hashOf(bytes));
      const oldest = field.own.keys().next();
      if (limits.ownWrites < field.own.size && oldest.done !== true) field.own.delete(oldest.value);
    },
  };
}

interface Field {
  readonly grounds: Grounds;
  /** One reckoning at a time for each ground, in the order of its looks. */
  readonly locks: Locks;
  /** Commands that run, by the ground that they run on. */
  readonly lots: Map<Ground, Set<Window>>;
  /** Hashes of what Roost itself wrote while commands ran. */
  readonly own: Map<string, string>;
  /** Commands whose folder is being looked at before they start. */
  looking: number;
}

const isCalm = ({ lots, looking }: Field): boolean => lots.size === 0 && looking === 0;

/** The time of one command on one ground. */
interface Window {
  readonly scene: Scene;
  readonly ground: Ground;
  readonly remember: () => void;
  /** The look that its changes are counted from. */
  from: Look;
  /** Agents whose commands ran here at some time since then. */
  readonly others: Set<AgentId>;
  readonly found: Touched[];
  readonly notes: string[];
}

async function watch(field: Field, scene: Scene, remember: (mark: string) => void): Promise<Watching> {
  field.looking += 1;
  try {
    return await lookedAt(field, scene, remember);
  } finally {
    field.looking -= 1;
    if (isCalm(field)) field.own.clear();
  }
}

async function lookedAt(field: Field, scene: Scene, remember: (mark: string) => void): Promise<Watching> {
  const windows: Window[] = [];
  const notes: string[] = [];
  const told = (): void => remember(markOf(windows));
  const folders = [scene.place];
  for (let at = 0; at < folders.length && windows.length < limits.groundsInside; at++) {
    const folder = folders[at] ?? '';
    const ground = await field.grounds.of(folder);
    if (typeof ground !== 'string' && windows.some((window) => window.ground === ground)) continue;
    const look = typeof ground === 'string' ? ground : await heldLook(ground);
    if (typeof ground === 'string' || typeof look === 'string') {
      notes.push(`What it changed in ${folder} is not shown for review: ${String(look)}`);
      continue;
    }
    windows.push(await field.locks(ground.top, () => open(field, { scene, ground, look, remember: told })));
    for (const name of look.left?.keys() ?? [])
      if (name.endsWith('/')) folders.push(path.join(ground.top, name.slice(0, -1)));
  }
  told();
  return watching(field, windows, notes);
}

/** A look that is there until the ground is released; without one it is not held. */
async function heldLook(ground: Ground): Promise<Look | string> {
  ground.hold();
  const look = await ground.look();
  if (typeof look === 'string') await ground.release();
  return look;
}

const markSchema = v.array(
  v.object({
    top: v.string(),
    tree: v.string(),
    left: v.nullable(v.array(v.tuple([v.string(), v.string()]))),
    others: v.array(v.number()),
  }),
);

function markOf(windows: readonly Window[]): string {
  const marks = windows.map(({ ground, from, others }): v.InferOutput<typeof markSchema>[number] => ({
    top: ground.top,
    tree: from.tree,
    left: from.left === null || limits.slice < from.left.size ? null : [...from.left],
    others: [...others],
  }));
  return JSON.stringify(marks);
}

async function resume(field: Field, scene: Scene, mark: string | null): Promise<Watching> {
  const parsed = mark === null ? null : v.safeParse(markSchema, jsonOf(mark));
  const windows: Window[] = [];
  const notes =
    parsed?.success === true ? [] : ['What it changed before the restart is not shown for review.'];
  for (const { top, tree, left, others } of parsed?.success === true ? parsed.output : []) {
    const ground = await field.grounds.of(top);
    if (typeof ground === 'string') {
      notes.push(`What it changed in ${top} is not shown for review: ${ground}`);
      continue;
    }
    ground.hold();
    const look: Look = { kind: 'look', tree, left: left === null ? null : new Map(left) };
    const opening = { scene, ground, look, remember: () => undefined };
    const window = await field.locks(ground.top, () => Promise.resolve(enter(field, opening)));
    for (const other of others) window.others.add(agentId(other));
    windows.push(window);
  }
  return watching(field, windows, notes);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

interface Opening {
  readonly scene: Scene;
  readonly ground: Ground;
  readonly look: Look;
  readonly remember: () => void;
}

async function open(field: Field, opening: Opening): Promise<Window> {
  const { ground, look } = opening;
  // Until now this was the work of one agent, which is known for sure only until the new one starts.
  const running = [...(field.lots.get(ground) ?? [])];
  const [first] = running;
  const isAlone = running.every((each) => each.scene.agent === first?.scene.agent && each.others.size === 0);
  if (first !== undefined && isAlone) await cut(field, first, { look, endedMs: null });
  return enter(field, opening);
}

/** Counts a command in from its look on, on a ground that is held for it. */
function enter(field: Field, { scene, ground, look, remember }: Opening): Window {
  const lot = field.lots.get(ground) ?? new Set<Window>();
  const window: Window = { scene, ground, remember, from: look, others: new Set(), found: [], notes: [] };
  field.lots.set(ground, lot.add(window));
  for (const each of lot) meet(each, lot);
  return window;
}

function meet(window: Window, lot: Iterable<Window>): void {
  for (const { scene } of lot) if (scene.agent !== window.scene.agent) window.others.add(scene.agent);
}

interface Cut {
  readonly look: Look;
  /** When the command had ended; null: it runs, or ended just before the look. */
  readonly endedMs: number | null;
}

/** Gives what changed since a window's last cut to it; all windows of its ground count from here on. */
async function cut(field: Field, window: Window, { look, endedMs }: Cut): Promise<void> {
  const { ground, from } = window;
  const compared = await ground.compare(from.tree, look.tree);
  if (typeof compared === 'string') window.notes.push(`What it changed is not shown for review: ${compared}`);
  else window.found.push(...(await touchedIn(field, window, { compared, endedMs })));
  window.notes.push(...unseenOf(compared, from, look));
  const lot = field.lots.get(ground) ?? [];
  for (const each of lot) {
    each.from = look;
    each.others.clear();
    meet(each, lot);
    each.remember();
  }
}

async function touchedIn(
  field: Field,
  { ground, scene, others }: Window,
  { compared, endedMs }: { readonly compared: Comparison; readonly endedMs: number | null },
): Promise<Touched[]> {
  const touched: Touched[] = [];
  for (const { path: name, before, after } of compared.differences) {
    const written = path.join(ground.top, name);
    if (field.own.get(written) === hashOf(after)) continue;
    const person = path.resolve(scene.workspace, path.relative(scene.place, written));
    const changed = endedMs === null ? null : await lstat(written).catch(() => null);
    const isLate = changed !== null && endedMs !== null && endedMs < changed.mtimeMs;
    touched.push({ path: person, written, before, after, others: [...others], isLate });
  }
  return touched;
}

/** Names what changed and is not shown. */
function unseenOf(compared: Comparison | string, from: Look, to: Look): string[] {
  const names = typeof compared === 'string' ? [] : [...compared.unseen];
  if (from.left !== null)
    for (const [name, mark] of to.left ?? []) if (from.left.get(name) !== mark) names.push(name);
  if (names.length === 0) return [];
  const shown = names.slice(0, limits.editCandidates).join(', ');
  const more =
    names.length <= limits.editCandidates ? '' : ` and ${names.length - limits.editCandidates} more`;
  return [`Not shown for review, because it is too much or no text: ${shown}${more}.`];
}

function watching(field: Field, windows: readonly Window[], notes: readonly string[]): Watching {
  return {
    end: async (endedMs) => {
      await Promise.all(windows.map((window) => close(field, window, endedMs ?? null)));
      return {
        touched: windows.flatMap((window) => window.found),
        notes: [...notes, ...windows.flatMap((window) => window.notes)],
      };
    },
    drop: async () => {
      await Promise.all(windows.map((window) => leave(field, window, () => Promise.resolve())));
    },
  };
}

async function close(field: Field, window: Window, endedMs: number | null): Promise<void> {
  const look = await window.ground.look();
  await leave(field, window, async () => {
    if (typeof look !== 'string') await cut(field, window, { look, endedMs });
    else window.notes.push(`What it changed is not shown for review: ${look}`);
  });
}

/** Takes a window out of the count, and then does this with it. */
async function leave(field: Field, window: Window, last: () => Promise<void>): Promise<void> {
  const { ground } = window;
  await field.locks(ground.top, async () => {
    const lot = field.lots.get(ground);
    lot?.delete(window);
    if (lot?.size === 0) field.lots.delete(ground);
    await last();
    if (isCalm(field)) field.own.clear();
  });
  await ground.release();
}
