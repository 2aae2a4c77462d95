// Records of worktrees: one file beside each worktree's folder, written when the worktree is complete and before
// its agent sees it. A folder without a record was never handed out (cases 130, 146).
//
// Not here: making, looking at and removing worktrees.

import { readFile } from 'node:fs/promises';
import path from 'node:path';
import * as v from 'valibot';
import type { AgentId } from '../protocol/ids.ts';
import { bytesOf, utf8ByteString } from './bytes.ts';
import { writeWhole } from './files.ts';

const schema = v.object({
  agent: v.number(),
  /** The person's folder that the agent works on. */
  workspace: v.string(),
  /** The repository that the worktree belongs to. */
  repository: v.string(),
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
});

export type WorktreeRecord = v.InferOutput<typeof schema>;

export const recordFile = (root: string, agent: number): string => path.join(root, `${agent}.json`);
export const folderOf = (root: string, agent: number): string => path.join(root, String(agent));

/** The record of an agent's worktree; null: there is none, or it cannot be read. */
export async function readRecord(root: string, agent: AgentId): Promise<WorktreeRecord | null> {
  const text = await readFile(recordFile(root, agent), 'utf8').catch(() => null);
  if (text === null) return null;
  try {
    const parsed = v.safeParse(schema, JSON.parse(text));
    return parsed.success ? parsed.output : null;
  } catch {
    return null;
  }
}

/** Writes a record, durably. */
export async function writeRecord(root: string, record: WorktreeRecord): Promise<void> {
  const file = recordFile(root, record.agent);
  await writeWhole(file, bytesOf(utf8ByteString(JSON.stringify(record))));
}
