// Worktrees of a hundred agents that write for the first time at the same moment, against `git worktree add` as a
// script would run it, one after the other (git's own lock lets no two run at once).
//
// The repository has as many files as asked for, of 0 to 8 KB, in folders of fifty; the person has changed ten of
// them and made one. What is compared is until the files are there; git's worktrees are of HEAD, ours have the
// person's changes too. Bytes are those that the file system has given (512-byte blocks of every file).

import { execFileSync } from 'node:child_process';
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { agentId } from '../../sidecar/protocol/ids.ts';
import { createWorktrees } from '../../sidecar/workspace/worktree.ts';
import { round, type Workload } from '../workload.ts';

export const workload: Workload = {
  title: 'worktrees: for a hundred agents at once, against plain git worktree add',
  options: { worktrees: 100, files: 5_000 },
  run: async ({ worktrees = 1, files = 1 }, say) => {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'roost-bench-worktrees-'));
    try {
      const repository = path.join(folder, 'repository');
      makeRepository(repository, files);
      const store = path.join(folder, 'store');
      const ours = await timed(() => ensureAll(store, repository, worktrees));
      const oursBytes = bytesIn(store);
      say(`ours: ${round(ours / 1000, 2)} s, ${round(oursBytes / worktrees / 2 ** 20)} MB a worktree`);
      rmSync(store, { recursive: true });
      git(repository, 'worktree', 'prune', '--expire=now');
      const plain = path.join(folder, 'plain');
      const git1 = await timed(() => addAll(plain, repository, worktrees));
      const plainBytes = bytesIn(plain);
      say(`git: ${round(git1 / 1000, 2)} s, ${round(plainBytes / worktrees / 2 ** 20)} MB a worktree`);
      return {
        seconds: round(ours / 1000, 2),
        gitSeconds: round(git1 / 1000, 2),
        timeRatio: round(ours / git1, 2),
        megabytesEach: round(oursBytes / worktrees / 2 ** 20, 2),
        diskRatio: round(oursBytes / plainBytes, 3),
      };
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

const git = (directory: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@localhost', ...args], {
    cwd: directory,
    encoding: 'utf8',
  });

function makeRepository(repository: string, files: number): void {
  for (let file = 0; file < files; file++) {
    const name = path.join(repository, `folder${Math.floor(file / 50)}`, `file${file}.ts`);
    if (file % 50 === 0) mkdirSync(path.dirname(name), { recursive: true });
    writeFileSync(name, `// file ${file}\n`.repeat((file * 37) % 600));
  }
  git(repository, 'init', '--quiet');
  git(repository, 'add', '--all');
  git(repository, 'commit', '--quiet', '--message', 'All');
  for (let file = 0; file < Math.min(10, files); file++)
    writeFileSync(path.join(repository, 'folder0', `file${file}.ts`), 'changed\n');
  writeFileSync(path.join(repository, 'new.ts'), 'new\n');
}

/** What was written before is on the disk first, or its writing would be counted here. */
async function timed(work: () => Promise<void>): Promise<number> {
  execFileSync('sync');
  const beginMs = performance.now();
  await work();
  return performance.now() - beginMs;
}

async function ensureAll(store: string, repository: string, count: number): Promise<void> {
  const worktrees = createWorktrees(store);
  const made = await Promise.all(
    Array.from({ length: count }, (_, i) => worktrees.ensure(agentId(i + 1), repository)),
  );
  for (const result of made) if (result.kind === 'refused') throw new Error(result.text);
}

async function addAll(plain: string, repository: string, count: number): Promise<void> {
  for (let i = 0; i < count; i++)
    git(repository, 'worktree', 'add', '--quiet', '--detach', path.join(plain, String(i)));
  await Promise.resolve();
}

function bytesIn(folder: string): number {
  let bytes = 0;
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
    bytes += lstatSync(path.join(folder, name)).blocks * 512;
  return bytes;
}
