// Records of worktrees: one file beside each worktree's folder, written when the worktree is complete and before
// its agent sees it. A folder without a record was never handed out (cases 130, 146).
//
// Not here: making, looking at and removing worktrees.

import { readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import * as v from 'valibot';
import { readRecord, writeRecord } from './record.ts';

const schema = v.object({
  agent: v.number(),
  /** The person's folder that the agent works on. */
  workspace: v.string(),
  /** The repository that the worktree belongs to, and the top of the person's working tree. */
  repository: v.string(),
  top: v.optional(v.string(), ''),
  /** The place of the workspace in the worktree, relative. */
  inside: v.string(),
  /** Commit that it was made of. */
  base: v.string(),
  /** Number of its ports and names: no two worktrees at a time have the same. */
  slot: v.optional(v.number(), 0),
  /** Bytes of its files when it was made, as far as they are in the repository. */
  sizeBytes: v.optional(v.number(), 0),
  madeAtMs: v.optional(v.number(), 0),
  /** Folders of the person's, absolute, that it has a link to. */
  linked: v.optional(v.array(v.string()), []),
  /** The setup command, and how far it has come; `run` and `origin` name the record of the command. */
  setup: v.optional(
    v.nullable(
      v.object({
        command: v.string(),
        state: v.picklist(['pending', 'done', 'failed']),
        run: v.nullable(v.string()),
        origin: v.nullable(v.string()),
      }),
    ),
    null,
  ),
});

export type WorktreeRecord = v.InferOutput<typeof schema>;

export const recordFile = (root: string, agent: number): string => path.join(root, `${agent}.json`);
export const folderOf = (root: string, agent: number): string => path.join(root, String(agent));

export interface Records {
  /** The record of an agent's worktree; null: there is none, or it cannot be read. */
  read(agent: number): Promise<WorktreeRecord | null>;
  /** Writes a record, durably. */
  write(record: WorktreeRecord): Promise<void>;
  remove(agent: number): Promise<void>;
  /** All of them, by agent. */
  all(): Promise<readonly WorktreeRecord[]>;
}

/** The records under `root`, read once and kept: nobody else writes them. */
export function createRecords(root: string): Records {
  let loading: Promise<Map<number, WorktreeRecord>> | null = null;
  const known = (): Promise<Map<number, WorktreeRecord>> => (loading ??= load(root));
  return {
    read: async (agent) => (await known()).get(agent) ?? null,
    write: async (record) => {
      const records = await known();
      await writeRecord(recordFile(root, record.agent), record);
      records.set(record.agent, record);
    },
    remove: async (agent) => {
      const records = await known();
      await rm(recordFile(root, agent), { force: true });
      records.delete(agent);
    },
    all: async () => [...(await known()).values()].sort((a, b) => a.agent - b.agent),
  };
}

async function load(root: string): Promise<Map<number, WorktreeRecord>> {
  const names = await readdir(root).catch(() => []);
  const records = new Map<number, WorktreeRecord>();
  for (const name of names.filter((each) => /^\d{1,15}\.json$/.test(each))) {
    const record = readRecord(schema, await readFile(path.join(root, name), 'utf8').catch(() => ''));
    if (record !== null) records.set(record.agent, record);
  }
  return records;
}
