// A real repository of a person, in a temporary folder, and what must never move in it.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after } from 'node:test';

export type Repository = {
  readonly folder: string;
  git(...args: string[]): string;
  write(name: string, text: string): string;
  read(name: string): string;
  /** Makes another repository a submodule; not committed. */
  addSubmodule(from: Repository, name: string): void;
  commit(): void;
  /** Branches, tags, stash, index and working tree, as text. */
  state(): string;
};

/** An empty folder, removed when the tests of the file are done. */
export function temporaryFolder(): string {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'roost-workspace-')));
  after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A repository with these files committed. Its own identity is only in the commands that make it. */
export function createRepository(
  files: Readonly<Record<string, string>>,
  folder = temporaryFolder(),
): Repository {
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=Person', '-c', 'user.email=person@localhost', ...args], {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  const repository: Repository = {
    folder,
    git,
    write: (name, text) => {
      const file = path.join(folder, name);
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, text);
      return file;
    },
    read: (name) => readFileSync(path.join(folder, name), 'utf8'),
    addSubmodule: (from, name) =>
      void git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', from.folder, name),
    commit: () => {
      git('add', '--all');
      git('commit', '--quiet', '--no-gpg-sign', '--allow-empty', '--message', 'Work');
    },
    state: () =>
      [
        git('for-each-ref'),
        git('rev-parse', 'HEAD'),
        git('stash', 'list'),
        git('diff', '--cached'),
        git('diff'),
        git('status', '--porcelain'),
      ].join('\n'),
  };
  mkdirSync(folder, { recursive: true });
  git('init', '--quiet', '--initial-branch=main');
  for (const [name, text] of Object.entries(files)) repository.write(name, text);
  if (0 < Object.keys(files).length) repository.commit();
  return repository;
}
