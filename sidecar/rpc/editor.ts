// What the sidecar asks of clients: unsaved buffers, edits of open files, keys.
//
// A path goes to the windows whose workspaces hold it, the one that was used last first. A window that does not
// answer within limits.editorMs counts as not there, and then the file on disk is what there is. A key is asked
// of every client that offers secrets; the first that has it wins (DESIGN §2).

import { realpath } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Diagnostics, Locations, Renaming } from '../protocol/language.ts';
import type { EditorAbility, EditorMethods } from '../protocol/editorMethods.ts';
import type { Clients } from '../ports.ts';
import { limits } from '../runtime/limits.ts';
import type { EditorMethod, Peer } from './peer.ts';

type Answer<M extends EditorMethod> = EditorMethods[M]['result'];

/** The open buffers of editors, for tools and review. */
export interface Buffers {
  /** The text of an unsaved buffer; null when no editor has the path open and changed. */
  readText(path: string): Promise<string | null>;
  /**
   * Replaces ranges of an open buffer whose text has this SHA-256, as one undo step; false when no editor did it,
   * and then nothing was changed.
   */
  applyEdit(path: string, expect: string, edits: Edits): Promise<boolean>;
}

type Edits = EditorMethods['editor/applyEdit']['params']['edits'];

/** What a window must be able to do to be asked. */
const abilityFor = {
  'editor/readText': 'buffers',
  'editor/applyEdit': 'buffers',
  'editor/diagnostics': 'languages',
  'editor/locations': 'languages',
  'editor/rename': 'languages',
} as const;

export interface EditorsOptions {
  readonly warn: (message: string, fields: Readonly<Record<string, string | number>>) => void;
  /** A key came: it must not reach the log. */
  readonly learned: (secret: string) => void;
  /** For tests. */
  readonly editorMs?: number;
  readonly secretMs?: number;
}

/** The language servers of the windows, for tools; null: no window that holds the file answers. */
export interface Languages {
  diagnostics(file: string, most: number): Promise<Diagnostics | null>;
  locations(at: EditorMethods['editor/locations']['params']): Promise<Locations | null>;
  rename(at: EditorMethods['editor/rename']['params']): Promise<Renaming | null>;
}

export class Editors implements Clients, Buffers, Languages {
  readonly #options: EditorsOptions;
  /** Clients that said hello, each with the folders of its window. */
  readonly #folders = new Map<Peer, Set<string>>();
  /** Folders whose links are still being resolved. */
  readonly #resolving = new Set<Promise<void>>();

  constructor(options: EditorsOptions) {
    this.#options = options;
  }

  /** A client said hello: learns which folders its window has, links resolved. */
  add(peer: Peer): void {
    const named = peer.hello?.workspaces ?? [];
    const known = new Set(named);
    this.#folders.set(peer, known);
    // Tools name files with links resolved; a window names its folders as they were opened.
    for (const folder of named) {
      const resolving = realpath(folder)
        .then(
          (real) => void known.add(real),
          () => undefined, // not there: no file is in it either
        )
        .finally(() => this.#resolving.delete(resolving));
      this.#resolving.add(resolving);
    }
  }

  remove(peer: Peer): void {
    this.#folders.delete(peer);
  }

  async readText(file: string): Promise<string | null> {
    const answer = await this.#askInTurn('editor/readText', { path: file }, ({ text }) => text !== null);
    return answer?.text ?? null;
  }

  async applyEdit(file: string, expect: string, edits: Edits): Promise<boolean> {
    const answer = await this.#askInTurn(
      'editor/applyEdit',
      { path: file, expect, edits },
      ({ applied }) => applied,
    );
    return answer !== null;
  }

  diagnostics(file: string, most: number): Promise<Diagnostics | null> {
    return this.#askInTurn('editor/diagnostics', { path: file, most }, () => true);
  }

  locations(at: EditorMethods['editor/locations']['params']): Promise<Locations | null> {
    return this.#askInTurn('editor/locations', at, () => true);
  }

  rename(at: EditorMethods['editor/rename']['params']): Promise<Renaming | null> {
    return this.#askInTurn('editor/rename', at, () => true);
  }

  secret(
    provider: string,
    post: (key: { readonly key: string; readonly baseUrl?: string } | null) => void,
  ): void {
    const asked = this.#ableTo('secrets');
    let left = asked.length;
    let over = false;
    const hear = (answer: Answer<'editor/secret'> | null): void => {
      left -= 1;
      if (over || (0 < left && (answer?.key ?? null) === null)) return;
      over = true;
      const { key = null, baseUrl } = answer ?? {};
      if (key !== null) this.#options.learned(key);
      post(key === null ? null : { key, ...(baseUrl === undefined ? {} : { baseUrl }) });
    };
    // A post never comes before its call has returned (ports.ts).
    if (left === 0) setImmediate(() => post(null));
    const question = {
      method: 'editor/secret',
      params: { provider },
      withinMs: this.#options.secretMs ?? limits.secretMs,
    } as const;
    for (const peer of asked) askWithin(peer, question, hear);
  }

  #ableTo(ability: EditorAbility): Peer[] {
    return [...this.#folders.keys()].filter((peer) => peer.hello?.can.includes(ability) === true);
  }

  /** Asks one window after the other until one gives what is wanted; null when none does. */
  async #askInTurn<M extends keyof typeof abilityFor>(
    method: M,
    params: EditorMethods[M]['params'],
    wanted: (answer: Answer<M>) => boolean,
  ): Promise<Answer<M> | null> {
    const { path: file } = params;
    const ability = abilityFor[method];
    const withinMs = this.#options.editorMs ?? (ability === 'buffers' ? limits.editorMs : limits.languageMs);
    // A folder on a dead mount may take for ever; it is not waited for longer than a window.
    if (this.#resolving.size !== 0) {
      await Promise.race([Promise.all(this.#resolving), sleep(withinMs, undefined, { ref: false })]);
    }
    const windows = this.#ableTo(ability)
      .filter((peer) => [...(this.#folders.get(peer) ?? [])].some((folder) => holds(folder, file)))
      .sort((a, b) => b.usedMs - a.usedMs);
    for (const peer of windows) {
      const answer = await new Promise<Answer<M> | null>((resolve) => {
        askWithin(peer, { method, params, withinMs }, (answered, late) => {
          if (late)
            this.#options.warn('a window did not answer in time', { method, client: peer.id, path: file });
          resolve(answered);
        });
      });
      if (answer !== null && wanted(answer)) return answer;
    }
    return null;
  }
}

interface Question<M extends EditorMethod> {
  readonly method: M;
  readonly params: EditorMethods[M]['params'];
  readonly withinMs: number;
}

/** Asks one client; null when it does not know, fails, is gone, or is late. */
function askWithin<M extends EditorMethod>(
  peer: Peer,
  { method, params, withinMs }: Question<M>,
  post: (answer: Answer<M> | null, late: boolean) => void,
): void {
  let over = false;
  const end = (answer: Answer<M> | null, late: boolean): void => {
    if (over) return;
    over = true;
    clearTimeout(timer);
    post(answer, late);
  };
  const timer = setTimeout(() => end(null, true), withinMs);
  timer.unref();
  peer.ask(method, params, (answer) => end(answer, false));
}

/** Whether a file is the folder or below it, as this platform compares names. */
function holds(folder: string, file: string): boolean {
  const fold = (text: string): string =>
    process.platform === 'win32' || process.platform === 'darwin' ? text.toLowerCase() : text;
  const relative = path.relative(fold(folder), fold(file));
  return relative === '' || (!relative.startsWith('..') && !path.isAbsolute(relative));
}
