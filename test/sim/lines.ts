// What each transcript must be made of, found out another way than the product does: all entries are replayed in their
// order, an agent's end of a turn is remembered, and a rewind goes on from the one that it names.

import type { EntryBody } from '../../sidecar/protocol/entry.ts';
import type { EntryRecord } from '../../sidecar/core/rows.ts';
import type { FakeDisk } from './fakeDisk.ts';

interface Link {
  readonly entry: Readonly<EntryRecord>;
  readonly before: Link | null;
}

export function bodyIn(disk: FakeDisk, entry: Readonly<EntryRecord>): EntryBody {
  const blob = disk.row('blob', entry.blob)?.bytes;
  return JSON.parse(entry.body ?? Buffer.from(blob ?? []).toString()) as EntryBody;
}

/** The entries of an agent's transcript, oldest first. */
export function lineIn(disk: FakeDisk, agent: number): readonly Readonly<EntryRecord>[] {
  const ends = new Map<number, Link>();
  const now = new Map<number, Link | null>();
  // Of agents that were deleted for good what forks begin with is left.
  const owners = [
    ...disk.rows('remains').map((row) => [row.agent, row.forkEntry] as const),
    ...disk.rows('agent').map((row) => [row.id, row.forkEntry] as const),
  ];
  const forks = new Map(owners);
  const turnAt = (turn: number): Link | null => ends.get(disk.row('turn', turn)?.last ?? 0) ?? null;
  for (const entry of disk.rows('entry')) {
    const body = entry.kind === 'rewind' ? bodyIn(disk, entry) : null;
    const first = ends.get(forks.get(entry.agent) ?? 0) ?? null;
    const before = body?.kind === 'rewind' ? turnAt(body.turn) : (now.get(entry.agent) ?? first);
    const link = { entry, before };
    now.set(entry.agent, link);
    if (entry.kind === 'end') ends.set(entry.id, link);
  }
  const line: Readonly<EntryRecord>[] = [];
  for (let at = now.get(agent) ?? null; at !== null; at = at.before) line.push(at.entry);
  return line.reverse();
}
