// The ranges over the rows that are ever read. The store makes an index of each, and takes no query without one.

import type { TableName, Tables } from './rows.ts';

/**
 * Every range that is ever read, by name: the columns compared for equality, then the row id ascending. `where`
 * makes the index partial: only rows whose column has this value are in it.
 */
export interface IndexSpec {
  readonly table: TableName;
  readonly columns: readonly string[];
  readonly where?:
    | { readonly column: string; readonly is: string | number }
    | { readonly column: string; readonly not: number }
    | { readonly column: string; readonly notNull: true };
}

export const indexes = {
  /** Children that are in no trash of their own: what lists, paths and counts see. */
  'agent.children': { table: 'agent', columns: ['parent'], where: { column: 'detached', is: 0 } },
  /** Children in attention order: needs-a-person first, then by id. */
  'agent.ranked': { table: 'agent', columns: ['parent', 'rank'], where: { column: 'detached', is: 0 } },
  'agent.named': { table: 'agent', columns: ['parent', 'name'], where: { column: 'detached', is: 0 } },
  /** Children that are in the trash, each the top of a branch. */
  'agent.detached': { table: 'agent', columns: ['parent'], where: { column: 'detached', is: 1 } },
  /** Forks of an agent, by where they begin: what of it must outlive it. */
  'agent.forks': {
    table: 'agent',
    columns: ['forkAgent', 'forkEntry'],
    where: { column: 'forkAgent', not: 0 },
  },
  'agent.key': { table: 'agent', columns: ['key'], where: { column: 'key', notNull: true } },
  'agent.asking': { table: 'agent', columns: ['phase'], where: { column: 'phase', is: 'asking' } },
  'agent.calling': { table: 'agent', columns: ['phase'], where: { column: 'phase', is: 'calling' } },
  'agent.waiting': { table: 'agent', columns: ['why'], where: { column: 'phase', is: 'waiting' } },
  'agent.failed': { table: 'agent', columns: ['trash'], where: { column: 'rank', is: 3 } },
  'turn.queued': { table: 'turn', columns: ['agent'], where: { column: 'state', is: 'queued' } },
  'turn.agent': { table: 'turn', columns: ['agent'] },
  'turn.late': { table: 'turn', columns: ['late'], where: { column: 'late', notNull: true } },
  'turn.key': { table: 'turn', columns: ['key'], where: { column: 'key', notNull: true } },
  'entry.agent': { table: 'entry', columns: ['agent'] },
  /** How a conversation is sent at any point of it: a fork begins with the newest before its own. */
  'entry.context': { table: 'entry', columns: ['agent'], where: { column: 'kind', is: 'context' } },
  'shared.hash': { table: 'shared', columns: ['hash'] },
  'place.path': { table: 'place', columns: ['path'] },
  'knowledge.place': { table: 'knowledge', columns: ['place'] },
  'offer.server': { table: 'offer', columns: ['server'] },
  'trust.hash': { table: 'trust', columns: ['hash'] },
  'call.open': { table: 'call', columns: ['agent'], where: { column: 'open', is: 1 } },
  'inbox.agent': { table: 'inbox', columns: ['agent'] },
  'inbox.key': { table: 'inbox', columns: ['key'], where: { column: 'key', notNull: true } },
  'wait.agent': { table: 'wait', columns: ['agent'] },
  'waiting.turn': { table: 'waiting', columns: ['turn'] },
  'waiting.wait': { table: 'waiting', columns: ['wait'] },
  'outcome.parent': { table: 'outcome', columns: ['parent'] },
  'outcome.via': { table: 'outcome', columns: ['via'], where: { column: 'via', notNull: true } },
  'request.open': { table: 'request', columns: ['agent'], where: { column: 'state', is: 'open' } },
  'request.allOpen': { table: 'request', columns: ['state'], where: { column: 'state', is: 'open' } },
  /** What a person decided in a turn: an approval that was given, a denial that still holds (case 249). */
  'request.turn': { table: 'request', columns: ['turn'] },
  'change.agent': { table: 'change', columns: ['agent'] },
  'change.path': { table: 'change', columns: ['agent', 'path'] },
  /** Who has an undecided change of a file: the touch index. */
  'change.file': { table: 'change', columns: ['trash', 'path'], where: { column: 'state', is: 'open' } },
  'change.open': { table: 'change', columns: ['trash'], where: { column: 'state', is: 'open' } },
  /** Files that agents made. */
  'change.made': { table: 'change', columns: ['path'], where: { column: 'kind', is: 'create' } },
  /** All of it, in order of id: no index, the rows are kept in that order. */
  'ledger.all': { table: 'ledger', columns: [] },
  'verdict.started': { table: 'verdict', columns: ['state'], where: { column: 'state', is: 'started' } },
  /** A file has one verdict on its way at a time. */
  'verdict.change': { table: 'verdict', columns: ['change'], where: { column: 'state', is: 'started' } },
  'verdict.of': { table: 'verdict', columns: ['change'] },
  'verdict.key': { table: 'verdict', columns: ['key'], where: { column: 'key', notNull: true } },
  /** Read with `above` a root: the next root in turn that has work, so that no root starves another. */
  'ready.root': { table: 'ready', columns: ['slot', 'urgency', 'root'] },
  'ready.agent': { table: 'ready', columns: ['agent'] },
  'timer.due': { table: 'timer', columns: ['due'] },
  'timer.agent': { table: 'timer', columns: ['agent'] },
  'price.model': { table: 'price', columns: ['model'] },
  'role.profile': { table: 'role', columns: ['profile'] },
  'spend.root': { table: 'spend', columns: ['root', 'hour', 'model'] },
  'folded.upTo': { table: 'folded', columns: ['upTo'] },
  'provider.name': { table: 'provider', columns: ['name'] },
  'answered.key': { table: 'answered', columns: ['key'] },
  'stretch.agent': { table: 'stretch', columns: ['agent'] },
  'background.agent': { table: 'background', columns: ['agent'] },
  'background.call': { table: 'background', columns: ['call'] },
  'remains.agent': { table: 'remains', columns: ['agent'] },
  'remains.forks': {
    table: 'remains',
    columns: ['forkAgent', 'forkEntry'],
    where: { column: 'forkAgent', not: 0 },
  },
  'remains.due': { table: 'remains', columns: ['due'], where: { column: 'due', is: 1 } },
  'setting.name': { table: 'setting', columns: ['name'] },
  'trash.state': { table: 'trash', columns: ['state'] },
  'walk.agent': { table: 'walk', columns: ['agent'] },
  'walk.key': { table: 'walk', columns: ['key'] },
  'process.started': { table: 'process', columns: ['started'] },
} as const satisfies Record<string, IndexSpec>;

export type IndexName = keyof typeof indexes;
export type RowOf<I extends IndexName> = Tables[(typeof indexes)[I]['table']];
