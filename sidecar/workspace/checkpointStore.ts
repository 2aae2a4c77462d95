// Where checkpoints are: for each working tree a bare repository of our own with the objects that the person's does
// not have, and a record of one file for each checkpoint.
//
// A record is written before the write that it is made for (I1), durably. Objects that the person's repository has
// are read there: git keeps what no ref names for two weeks, longer than a checkpoint lives. What no record names
// any more is removed with the records (prune). Not here: making and restoring.

import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import * as v from 'valibot';
import { limits } from '../runtime/limits.ts';
import { bytesOf, hashOfText, utf8ByteString } from './bytes.ts';
import { writeWhole } from './files.ts';
import { git } from './git.ts';
import { readRecord, writeRecord } from './record.ts';
import type { Repository } from './repository.ts';

const schema = v.object({
  id: v.number(),
  kind: v.picklist(['turn', 'restore']),
  /** 0: none. */
  agent: v.number(),
  turn: v.number(),
  workspace: v.string(),
  atMs: v.number(),
  /** Working trees, the outermost first, with the tree of each. */
  roots: v.array(
    v.object({
      top: v.string(),
      common: v.string(),
      tree: v.string(),
      /** The folder is in no repository; `common` is one of ours. */
      isOurs: v.optional(v.boolean(), false),
    }),
  ),
  problems: v.array(v.string()),
  /** Files that the restore makes which comes after it, absolute: restoring this one removes them. */
  made: v.optional(v.array(v.string()), []),
});

export type CheckpointRecord = v.InferOutput<typeof schema>;
export type CheckpointRoot = CheckpointRecord['roots'][number];

export interface CheckpointStore {
  /** All records, oldest first. */
  all(): Promise<readonly CheckpointRecord[]>;
  get(id: number): Promise<CheckpointRecord | null>;
  /** Writes a record under the next number. */
  add(record: Omit<CheckpointRecord, 'id'>): Promise<CheckpointRecord>;
  /** Folder for new objects of a working tree; made when it is missing. */
  objects(repository: Pick<Repository, 'top'>): Promise<string>;
  /** What git is told to find the objects of a root's tree. */
  environment(root: CheckpointRoot): Promise<Record<string, string>>;
  /** Removes records past the bounds, and the objects that only they named. Nobody may make a checkpoint meanwhile. */
  prune(nowMs: number): Promise<void>;
}

/** The checkpoints under `root`, which is made when it is missing. */
export function createCheckpointStore(root: string): CheckpointStore {
  const folder = path.join(root, 'records');
  let loading: Promise<CheckpointRecord[]> | null = null;
  let newest = 0;
  const known = (): Promise<CheckpointRecord[]> =>
    (loading ??= load(folder).then((records) => {
      newest = records.at(-1)?.id ?? 0;
      return records;
    }));
  const ownOf = (top: string): string => path.join(root, hashOfText(top).slice(0, 16));
  const objects = async ({ top }: Pick<Repository, 'top'>): Promise<string> => {
    const own = path.join(ownOf(top), 'objects');
    await mkdir(path.join(own, 'info'), { recursive: true });
    return own;
  };
  return {
    all: known,
    get: async (id) => (await known()).find((record) => record.id === id) ?? null,
    add: async (record) => {
      const records = await known();
      newest += 1;
      const added = { ...record, id: newest };
      await writeRecord(fileOf(folder, added.id), added);
      records.push(added);
      return added;
    },
    objects,
    environment: async ({ top, common, isOurs }) => ({
      ...(isOurs ? { GIT_DIR: common, GIT_WORK_TREE: top } : {}),
      GIT_OBJECT_DIRECTORY: await objects({ top }),
      GIT_ALTERNATE_OBJECT_DIRECTORIES: path.join(common, 'objects'),
    }),
    prune: async (nowMs) => {
      const records = await known();
      const gone = pastBounds(records, nowMs);
      if (gone.size === 0) return;
      for (const record of gone) await rm(fileOf(folder, record.id), { force: true });
      const left = records.filter((record) => !gone.has(record));
      loading = Promise.resolve(left);
      const tops = new Set([...gone].flatMap((record) => record.roots.map((each) => each.top)));
      for (const top of tops) await forgetObjects(ownOf(top), top, left);
    },
  };
}

const fileOf = (folder: string, id: number): string => path.join(folder, `${id}.json`);

async function load(folder: string): Promise<CheckpointRecord[]> {
  const records: CheckpointRecord[] = [];
  for (const name of await readdir(folder).catch(() => [])) {
    const text = await readFile(path.join(folder, name), 'utf8').catch(() => '');
    const record = readRecord(schema, text);
    if (record !== null) records.push(record);
  }
  return records.sort((a, b) => a.id - b.id);
}

/** Those that are too old, and of each folder those beyond the newest ones. */
function pastBounds(records: readonly CheckpointRecord[], nowMs: number): Set<CheckpointRecord> {
  const gone = new Set<CheckpointRecord>();
  const counts = new Map<string, number>();
  for (const record of records.toReversed()) {
    const count = (counts.get(record.workspace) ?? 0) + 1;
    counts.set(record.workspace, count);
    const isOld = limits.checkpointKeptMs < nowMs - record.atMs;
    if (isOld || limits.checkpointsKept < count) gone.add(record);
  }
  return gone;
}

/** Removes objects that none of these records names: what is kept is named by refs while git looks. */
async function forgetObjects(own: string, top: string, left: readonly CheckpointRecord[]): Promise<void> {
  const kept = left.flatMap((record) =>
    record.roots.filter((each) => each.top === top).map((each) => ({ id: record.id, ...each })),
  );
  const [first] = kept;
  if (first === undefined) return await rm(own, { recursive: true, force: true });
  if ((await git(own, ['init', '--quiet', '--bare', '--template=', own])).code !== 0) return;
  const alternates = `${path.join(first.common, 'objects')}\n`;
  await writeWhole(path.join(own, 'objects/info/alternates'), bytesOf(utf8ByteString(alternates)));
  const refs = kept.map(({ id, tree }) => `${tree} refs/checkpoints/${id}\n`).sort();
  await writeWhole(path.join(own, 'packed-refs'), bytesOf(refs.join('')));
  const env = { GIT_DIR: own };
  // When an object of a kept tree is gone from the person's repository nothing is removed here either.
  const packed = await git(own, ['repack', '-a', '-d', '-l', '--quiet'], { env });
  if (packed.code === 0) await git(own, ['prune', '--expire=now'], { env });
}
