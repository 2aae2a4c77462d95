// Checkpoints as clients ask for them: the list, what going back would do, and going back.

import type { Checkpoints as CheckpointsPort, RestoreEvent, RestoreJob } from '../ports.ts';
import type { CheckpointPreview, CheckpointRow } from '../protocol/checkpoint.ts';
import { RoostError } from '../protocol/errors.ts';
import { agentId, checkpointId, turnId } from '../protocol/ids.ts';
import type { Params, Result } from '../protocol/methods.ts';
import { limits } from '../runtime/limits.ts';
import type { CheckpointRecord } from './checkpointStore.ts';
import { messageOf } from './files.ts';
import { createLocks } from './locks.ts';
import { fileOf, planRestore, restore } from './restore.ts';
import type { RestoreOptions } from './restore.ts';

export interface ServiceOptions extends RestoreOptions {
  /** Name of an agent; undefined: the store has none such. */
  readonly agentName: (agent: number) => string | undefined;
  /** Whether an agent has an undecided change of this file of the person's: then the store is told of it. */
  readonly isOpen: (path: string) => boolean;
  /** Names of agents at work that share a folder with the person. */
  readonly atWork: (workspace: string) => readonly string[];
}

export interface CheckpointService extends CheckpointsPort {
  list(params: Params<'checkpoint/list'>): Promise<Result<'checkpoint/list'>>;
  preview(params: Params<'checkpoint/preview'>): Promise<CheckpointPreview>;
}

export function createCheckpointService(options: ServiceOptions): CheckpointService {
  const locks = createLocks();
  return {
    list: (params) => list(options, params),
    preview: ({ checkpoint }) => preview(options, checkpoint),
    restore: (job, post) => {
      const work = locks('restore', () => goBack(options, job, post));
      work.then(post, (error: unknown) =>
        post({
          kind: 'failed',
          code: 'internal',
          message: `The checkpoint could not be restored: ${messageOf(error)}.`,
        }),
      );
    },
  };
}

async function list(
  options: ServiceOptions,
  { agent, workspace, before, limit }: Params<'checkpoint/list'>,
): Promise<Result<'checkpoint/list'>> {
  const all = await options.checkpoints.store.all();
  const found = all
    .filter((record) => agent === null || record.agent === agent)
    .filter((record) => workspace === null || record.workspace === workspace)
    .filter((record) => before === null || record.id < before)
    .reverse();
  const wanted = found.slice(0, Math.min(limit, limits.pageRows));
  return { rows: wanted.map((record) => rowOf(options, record)), more: wanted.length < found.length };
}

function rowOf({ agentName }: ServiceOptions, record: CheckpointRecord): CheckpointRow {
  const { id, kind, agent, turn, workspace, atMs, problems } = record;
  return {
    ...{ id: checkpointId(id), kind, workspace, atMs, problems },
    agent: agent === 0 ? null : agentId(agent),
    agentName: agent === 0 ? null : (agentName(agent) ?? null),
    turn: turn === 0 ? null : turnId(turn),
  };
}

const unknown = (checkpoint: number): string =>
  `There is no checkpoint ${checkpoint} any more: they are kept ${limits.checkpointKeptMs / 86_400_000} days. List them again.`;

async function preview(options: ServiceOptions, checkpoint: number): Promise<CheckpointPreview> {
  const record = await options.checkpoints.store.get(checkpoint);
  if (record === null) throw new RoostError('checkpoint/unknown', unknown(checkpoint), { checkpoint });
  const plan = await planRestore(options, record);
  if (typeof plan === 'string') throw new RoostError('checkpoint/unreadable', plan, { checkpoint });
  const row = rowOf(options, record);
  return {
    checkpoint: { ...row, problems: [...row.problems, ...plan.problems] },
    files: plan.changes.slice(0, limits.previewFiles).map(fileOf),
    more: Math.max(0, plan.changes.length - limits.previewFiles),
    atWork: options.atWork(record.workspace),
  };
}

async function goBack(
  options: ServiceOptions,
  { checkpoint, paths }: RestoreJob,
  post: (event: RestoreEvent) => void,
): Promise<RestoreEvent> {
  const record = await options.checkpoints.store.get(checkpoint);
  if (record === null) return { kind: 'failed', code: 'checkpoint/unknown', message: unknown(checkpoint) };
  const plan = await planRestore(options, record);
  if (typeof plan === 'string') return { kind: 'failed', code: 'checkpoint/unreadable', message: plan };
  const result = await restore(options, plan, {
    paths,
    each: (file) => {
      if (options.isOpen(file.path)) post({ kind: 'file', ...file });
    },
  });
  const undo = result.undo === null ? null : checkpointId(result.undo);
  return { kind: 'done', result: { ...result, undo } };
}
