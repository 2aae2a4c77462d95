// Room for one more worktree: the number that gives it ports and names of its own, and the disk that it takes.
//
// Sixty worktrees with what is built in them have filled disks of terabytes (case 141), and then git cannot even
// take its locks; so none is made past a quota, nor when little of the disk is free.

import { statfs } from 'node:fs/promises';
import path from 'node:path';
import { limits } from '../runtime/limits.ts';
import { git } from './git.ts';
import { createLocks } from './locks.ts';
import { pathsOf } from './repository.ts';
import type { Repository } from './repository.ts';
import type { Records, WorktreeRecord } from './worktreeRecord.ts';

export interface Room {
  readonly slot: number;
  /** Bytes of the files that will be checked out. */
  readonly sizeBytes: number;
}

export interface RoomBounds {
  /** Bytes that all worktrees may take as they were checked out. */
  readonly quotaBytes: number;
  /** Bytes of the disk that must stay free. */
  readonly freeBytes: number;
}

export const roomBounds: RoomBounds = {
  quotaBytes: limits.worktreesBytes,
  freeBytes: limits.worktreeFreeBytes,
};

export interface Rooms {
  /** Sets room aside for an agent's worktree; a string says why there is none and what to do. */
  take(agent: number, repository: Repository): Promise<Room | string>;
  /** The worktree has its record now, or was not made. */
  give(agent: number): void;
}

export function createRooms(root: string, records: Records, bounds: RoomBounds): Rooms {
  const locks = createLocks();
  const aside = new Map<number, Room>();
  return {
    take: (agent, repository) =>
      locks('room', async () => {
        const others = (await records.all()).filter(
          (other) => other.agent !== agent && !aside.has(other.agent),
        );
        const room = await roomFor(root, repository, [...others, ...aside.values()], bounds);
        if (typeof room !== 'string') aside.set(agent, room);
        return room;
      }),
    give: (agent) => void aside.delete(agent),
  };
}

async function roomFor(
  root: string,
  repository: Repository,
  others: readonly Room[],
  bounds: RoomBounds,
): Promise<Room | string> {
  const sizeBytes = await checkoutBytes(repository);
  const takenBytes = others.reduce((sum, other) => sum + other.sizeBytes, 0);
  if (bounds.quotaBytes < takenBytes + sizeBytes) {
    return `${others.length} worktrees take ${shown(takenBytes)} already, and all may take ${shown(bounds.quotaBytes)}. Review what their agents did, then close the agents, or remove worktrees with "roost worktree rm".`;
  }
  const { bavail, bsize } = await statfs(root);
  const freeBytes = bavail * bsize;
  if (freeBytes < bounds.freeBytes + sizeBytes) {
    return `Only ${shown(freeBytes)} are free on the disk of ${root}; a worktree takes ${shown(sizeBytes)}, and ${shown(bounds.freeBytes)} must stay free. Free some space, or remove worktrees with "roost worktree rm".`;
  }
  const used = new Set(others.map((other) => other.slot));
  let slot = 0;
  while (used.has(slot)) slot += 1;
  return { slot, sizeBytes };
}

const shown = (bytes: number): string =>
  bytes < 1024 * 1024 * 1024
    ? `${Math.round(bytes / 1024 / 1024)} MB`
    : `${(bytes / 1024 / 1024 / 1024).toFixed(1)} GB`;

const sizes = new Map<string, number>();

/** What a checkout of HEAD takes on disk, in blocks of 4 KB. Looked up once for a commit. */
async function checkoutBytes({ top, head }: Repository): Promise<number> {
  if (head === null) return 0;
  const known = sizes.get(head);
  if (known !== undefined) return known;
  const listed = await git(top, ['ls-tree', '-r', '-l', '-z', '--full-tree', head]);
  let bytes = 0;
  for (const line of pathsOf(listed.out)) {
    bytes += blocks(Number(/^\d+ blob [0-9a-f]+ +(\d+)\t/.exec(line)?.[1] ?? 0));
  }
  if (sizes.size >= limits.checkoutSizes) sizes.clear();
  sizes.set(head, bytes);
  return bytes;
}

const blocks = (bytes: number): number => Math.ceil(bytes / 4096) * 4096;

/** The first of a worktree's ports. */
export const firstPortOf = (record: WorktreeRecord): number =>
  limits.firstWorktreePort + (record.slot % limits.worktreeSlots) * limits.worktreePorts;

/** Names and ports of a worktree's own, as variables of its commands (case 137). */
export function environmentOf(record: WorktreeRecord, folder: string): Record<string, string> {
  const port = String(firstPortOf(record));
  return {
    ROOST_WORKTREE: folder,
    ROOST_WORKSPACE: record.workspace,
    ROOST_PORT_BASE: port,
    PORT: port,
    COMPOSE_PROJECT_NAME: `${composeName(path.basename(record.workspace))}-roost-${record.agent}`,
  };
}

/** What Compose takes: lower case letters, digits, - and _, a letter or digit first. */
const composeName = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]/g, '')
    .replace(/^[_-]+/, '') || 'project';
