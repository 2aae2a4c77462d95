// The setup command of a repository's worktrees: whether it may run, and that it runs once in each.
//
// It is what the repository says (`.roost/worktree.json`), so a person allows it before the first time, and again
// when it is another command: what was allowed is kept beside the worktrees by its hash. How commands are run is
// the caller's; how far a setup has come is in the worktree's record, so that a setup under way at a crash is
// taken up and not run twice (I3).

import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { CallId } from '../protocol/ids.ts';
import { limits } from '../runtime/limits.ts';
import { hashOfText } from './bytes.ts';
import { writeRecord } from './record.ts';
import { createPlaces } from './locks.ts';
import { parseSettings, settingsFile } from './worktreeInclude.ts';
import { recordFile } from './worktreeRecord.ts';
import type { Records, WorktreeRecord } from './worktreeRecord.ts';

/** Who wants a worktree: the call that writes, what a person has allowed with it, and how to run the command. */
export interface Asker {
  readonly call: CallId;
  /** Name of the setup command that was shown to the person with this call (SetupWish); null: none was. */
  readonly allowed: string | null;
  run(job: SetupJob): Promise<SetupEnd>;
}

export interface SetupJob {
  readonly command: string;
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
  /** Name of the command's record; `taken`: it may have been started by an earlier process, under this origin. */
  readonly record: string;
  readonly taken: string | null;
  /** Called with the origin of the record, before anything is started. */
  readonly starting: (origin: string | null) => Promise<void>;
}

/** `interrupted`: the call was stopped, and the setup with it. */
export interface SetupEnd {
  readonly kind: 'done' | 'failed' | 'interrupted';
  /** How it ended and what it said. */
  readonly text: string;
}

/** A setup command that a person must allow. */
export interface SetupWish {
  readonly command: string;
  /** Names the command and the repository. */
  readonly name: string;
  /** Top of the repository. */
  readonly top: string;
}

export interface Setups {
  /** What must be asked before this agent's next write; null: nothing. Looks at two small files at most. */
  wish(agent: number, workspace: string): SetupWish | null;
  /** Runs the setup of a new worktree, if it still has to be. Null: all is well; else what went wrong. */
  run(record: WorktreeRecord, where: SetupPlace, asker: Asker): Promise<string | null>;
}

export interface SetupPlace {
  readonly top: string;
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Setups of the worktrees under `root`. */
export function createSetups(root: string, records: Records): Setups {
  const trusted = createTrusted(path.join(root, 'trusted.json'));
  const places = createPlaces(limits.setupsAtOnce);
  return {
    wish: (agent, workspace) => {
      const top = topOf(workspace);
      if (top === null) return null;
      const pending = pendingOf(root, agent);
      if (pending === 'settled') return null;
      const command = pending ?? commandOf(top);
      if (command === null) return null;
      const name = nameOf(top, command);
      return trusted.has(name) ? null : { command, name, top };
    },
    run: async (record, where, asker) => {
      if (record.setup?.state !== 'pending') return null;
      const name = nameOf(where.top, record.setup.command);
      if (asker.allowed !== name && !trusted.has(name)) {
        return `The setup command of this repository's worktrees (${settingsFile}) has to be allowed by the person first. Repeat the call: they are asked with it.`;
      }
      await trusted.add(name);
      return await places(() => runOne(records, record, where, asker));
    },
  };
}

const nameOf = (top: string, command: string): string => hashOfText(`${top}\0${command}`).slice(0, 16);

type Setup = NonNullable<WorktreeRecord['setup']>;

async function runOne(
  records: Records,
  record: WorktreeRecord,
  where: SetupPlace,
  asker: Asker,
): Promise<string | null> {
  const { setup } = record;
  if (setup === null) return null;
  const note = (change: Partial<Setup>): Promise<void> =>
    records.write({ ...record, setup: { ...setup, ...change } });
  // Its own number behind the call's: a command of the same call has one of its own.
  const run = setup.run ?? `${asker.call}.9000`;
  const end = await asker.run({
    command: setup.command,
    directory: where.directory,
    env: where.env,
    record: run,
    taken: setup.run === null ? null : setup.origin,
    starting: (origin) => note({ run, origin }),
  });
  if (end.kind === 'interrupted') {
    await note({ run: null, origin: null });
    return `The setup of the worktree was interrupted. It starts anew with the next write.`;
  }
  await note({ state: end.kind });
  if (end.kind === 'done') return null;
  return `The worktree is there, but its setup command (${settingsFile}) failed, so nothing else was done. It is not run again by itself: repair what is missing, or go on without it.\n$ ${setup.command}\n${end.text}`;
}

/** The setup that a worktree still waits for; null: there is no worktree yet. */
function pendingOf(root: string, agent: number): string | 'settled' | null {
  const text = readNow(recordFile(root, agent));
  if (text === null) return null;
  const record: unknown = JSON.parse(text);
  const setup: unknown = typeof record === 'object' && record !== null ? Reflect.get(record, 'setup') : null;
  if (typeof setup !== 'object' || setup === null) return 'settled';
  const { state, command } = { state: Reflect.get(setup, 'state'), command: Reflect.get(setup, 'command') };
  return state === 'pending' && typeof command === 'string' ? command : 'settled';
}

function commandOf(top: string): string | null {
  const text = readNow(path.join(top, settingsFile));
  const settings = text === null ? null : parseSettings(text);
  return settings === null || typeof settings === 'string' || settings.setup === '' ? null : settings.setup;
}

function readNow(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

/** The folder with `.git` that a folder lies in: the top of its repository, found without git. */
function topOf(folder: string): string | null {
  for (let at = folder; ; at = path.dirname(at)) {
    if (existsSync(path.join(at, '.git'))) return at;
    if (at === path.dirname(at)) return null;
  }
}

interface Trusted {
  has(name: string): boolean;
  add(name: string): Promise<void>;
}

function createTrusted(file: string): Trusted {
  let names: Set<string> | null = null;
  const known = (): Set<string> => {
    if (names !== null) return names;
    const text = readNow(file);
    const list: unknown = text === null ? [] : JSON.parse(text);
    names = new Set(Array.isArray(list) ? list.filter((name) => typeof name === 'string') : []);
    return names;
  };
  return {
    has: (name) => known().has(name),
    add: async (name) => {
      if (known().has(name)) return;
      known().add(name);
      await writeRecord(file, [...known()]);
    },
  };
}
