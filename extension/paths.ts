// One file, two names: the editor shows a path as the person opened it, the sidecar knows it with its links
// resolved. This translates between them, and compares as the platform's file system does (case 231).

import { realpath } from 'node:fs/promises';
import path from 'node:path';

interface Folder {
  /** As the editor names it, and as it really is. */
  readonly shown: string;
  readonly real: string;
}

/** `fold`: names differ only by more than their case (Windows, macOS). */
export class Paths {
  #folders: readonly Folder[] = [];
  #set: Promise<void> = Promise.resolve();
  readonly #fold: boolean;

  constructor(platform: string) {
    this.#fold = platform === 'win32' || platform === 'darwin';
  }

  /** Takes the window's workspace folders. A folder that is gone stands for itself. */
  setFolders(folders: readonly string[]): Promise<void> {
    const look = async (shown: string): Promise<Folder> => ({
      shown,
      real: await realpath(shown).catch(() => shown),
    });
    this.#set = Promise.all(folders.map(look)).then((found) => {
      this.#folders = found;
    });
    return this.#set;
  }

  /** Resolves when the folders that were set last are known. */
  get ready(): Promise<void> {
    return this.#set;
  }

  /** The folders with links resolved, as the sidecar is told them. */
  get real(): readonly string[] {
    return this.#folders.map((folder) => folder.real);
  }

  /** The sidecar's name for a file of the editor. */
  toReal(shown: string): string {
    return this.#move(shown, (folder) => [folder.shown, folder.real]);
  }

  /** The editor's name for a file of the sidecar. */
  toShown(real: string): string {
    return this.#move(real, (folder) => [folder.real, folder.shown]);
  }

  /** Whether a file of the sidecar lies in one of this window's folders. */
  holds(real: string): boolean {
    return this.#folders.some((folder) => this.#below(folder.real, real) !== null);
  }

  /** Equal for two names of the same file. */
  key(real: string): string {
    return this.#fold ? real.toLowerCase() : real;
  }

  #move(file: string, ends: (folder: Folder) => readonly [string, string]): string {
    for (const folder of this.#folders) {
      const [from, to] = ends(folder);
      const rest = this.#below(from, file);
      if (rest !== null) return rest === '' ? to : path.join(to, rest);
    }
    return file;
  }

  /** What of `file` is below `folder`, '' for the folder itself; null: it is elsewhere. */
  #below(folder: string, file: string): string | null {
    const trimmed = folder.replace(/[/\\]+$/, '');
    if (this.key(file) === this.key(trimmed)) return '';
    const head = file.slice(0, trimmed.length + 1);
    return this.key(head) === this.key(trimmed + path.sep) ? file.slice(head.length) : null;
  }
}
