// The invariants of the store as SQL: each check finds the ids of the rows of one table that break it.
//
// Promises: a check reads one row of its table and, by an index, the rows that it speaks of; so a slice of it is
// one statement that sees one commit, and the work of a slice does not grow with the store.
// Not here: running them (doctor.ts).

import type { TableName } from '../core/rows.ts';

export interface Check {
  /** The invariant of the design that it guards. */
  readonly invariant: string;
  /** What is looked at, in words. */
  readonly about: string;
  /** What a finding says. */
  readonly message: string;
  readonly table: TableName;
  /** True for a row, named `own`, that breaks it. */
  readonly broken: string;
}

const running = (row: string): string => `(${row}.phase IN ('ready', 'asking', 'calling'))`;

const children = `agent AS child INDEXED BY "agent.children" WHERE child.detached = 0 AND child.parent = own.id`;
const trashed = `agent AS child INDEXED BY "agent.detached" WHERE child.detached = 1 AND child.parent = own.id`;

/** A column of an agent must be its own part and the sum over its children: then it is the sum over its branch. */
function rollup(column: string, own: string, from: readonly string[] = [children]): Check {
  const sums = from.map((rows) => `(SELECT ifnull(sum(child.${column}), 0) FROM ${rows})`).join(' + ');
  return {
    invariant: 'I9',
    about: `${column} of every agent is the sum over its branch`,
    message: `${column} is not the agent’s own part and the sum over its children.`,
    table: 'agent',
    broken: `own.${column} <> ${own} + ${sums}`,
  };
}

/** What a branch has spent or holds stays so when a part of it is in the trash. */
const spend = (column: string, own: string): Check => rollup(column, own, [children, trashed]);

/** A counter of an agent must be the number of rows that it counts. */
function counter(column: string, rows: string): Check {
  return {
    invariant: 'I9',
    about: `${column} of every agent is a count of rows`,
    message: `${column} is not the number of rows that it counts.`,
    table: 'agent',
    broken: `own.${column} <> (SELECT count(*) FROM ${rows})`,
  };
}

/** A column that names a row of another table; 0 names none. */
function points(table: TableName, column: string, to: TableName): Check {
  return {
    invariant: 'I9',
    about: `${table}.${column} names a row that is there`,
    message: `${column} names a row of ${to} that is not there.`,
    table,
    broken: `own."${column}" <> 0 AND NOT EXISTS (SELECT 1 FROM "${to}" AS other WHERE other.id = own."${column}")`,
  };
}

/** What a transcript is made of is of an agent that is there, or of the beginning of a fork's transcript. */
function ownedUpTo(table: 'entry' | 'call' | 'stretch' | 'turn', entry: string): Check {
  return {
    invariant: 'I9',
    about: `every ${table} is of an agent that is there, or a fork begins with it`,
    message: 'Its agent is not there, and no fork begins with it.',
    table,
    broken: `NOT EXISTS (SELECT 1 FROM agent WHERE agent.id = own.agent) AND NOT EXISTS (SELECT 1
      FROM remains INDEXED BY "remains.agent" WHERE remains.agent = own.agent AND own.${entry} <= remains.upTo)`,
  };
}

const lineage: readonly Check[] = [
  {
    invariant: 'I9',
    about: 'agents form a forest',
    message: 'The agent’s parent is missing, or is not one level above it under the same root.',
    table: 'agent',
    // A parent is one level above, so no circle is possible.
    broken: `CASE own.parent WHEN 0 THEN own.root <> own.id OR own.depth <> 0
      ELSE NOT EXISTS (SELECT 1 FROM agent AS above
        WHERE above.id = own.parent AND above.root = own.root AND above.depth = own.depth - 1) END`,
  },
  counter('children', children),
  counter('openChildren', `${children} AND child.turn <> 0`),
  rollup('bAgents', '1'),
  rollup('bRunning', running('own')),
  rollup('bWaiting', `(own.phase = 'waiting')`),
  rollup('bNeeds', 'own.requests'),
  rollup('bFailed', `(own.phase = 'idle' AND own.outcome IS 'failed')`),
  rollup('bDone', `(own.phase = 'idle' AND own.outcome IS 'done')`),
  spend('bMicroUsd', 'own.microUsd'),
  spend('bTokens', 'own.tokens'),
  spend('bCacheable', 'own.cacheable'),
  spend('bCacheRead', 'own.cacheRead'),
  spend('bHeldMicroUsd', 'own.heldMicroUsd'),
  spend('bHeldTokens', 'own.heldTokens'),
  {
    invariant: 'I16',
    about: 'the order of the tree follows from the counts',
    message: 'rank is not what the agent’s counts and outcome say.',
    table: 'agent',
    broken: `own.rank <> CASE WHEN own.bNeeds > 0 THEN 0 WHEN own.bRunning > 0 THEN 1 WHEN own.bWaiting > 0 THEN 2
      WHEN own.outcome IS 'failed' THEN 3 WHEN own.outcome IS NULL THEN 5 ELSE 4 END`,
  },
];

const turns: readonly Check[] = [
  counter('queued', `turn INDEXED BY "turn.queued" WHERE turn.state = 'queued' AND turn.agent = own.id`),
  {
    invariant: 'I16',
    about: 'an agent at work has an open turn, and only such an agent',
    message: 'The agent’s phase and its open turn do not agree.',
    table: 'agent',
    broken: `(own.phase = 'idle') <> (own.turn = 0) OR (own.phase = 'waiting') <> (own.why IS NOT NULL)
      OR own.turn <> 0 AND NOT EXISTS (SELECT 1 FROM turn
        WHERE turn.id = own.turn AND turn.agent = own.id AND turn.state = 'open')`,
  },
  {
    invariant: 'I16',
    about: 'an open turn is the one that its agent is in; an ended one has an outcome (case 101)',
    message: 'The turn is open and its agent is not in it, or it has ended and has no outcome.',
    table: 'turn',
    broken: `own.state = 'open' AND NOT EXISTS (SELECT 1 FROM agent WHERE agent.id = own.agent AND agent.turn = own.id)
      OR (own.state = 'ended') <> (own.outcome IS NOT NULL)`,
  },
  {
    invariant: 'I8',
    about: 'an agent knows how many outcomes of children it has not heard',
    message: 'unheard is not the number of outcomes after heard.',
    table: 'agent',
    broken: `own.unheard <> (SELECT count(*) FROM outcome INDEXED BY "outcome.parent"
      WHERE outcome.parent = own.id AND outcome.id > own.heard AND outcome.via IS NULL)`,
  },
  {
    invariant: 'I8',
    about: 'a turn names the outcome that tells of it',
    message: 'The turn names an outcome that is not its own.',
    table: 'turn',
    broken: `own.told <> 0 AND NOT EXISTS (SELECT 1 FROM outcome WHERE outcome.id = own.told AND outcome.turn = own.id)`,
  },
  {
    invariant: 'I8',
    about: 'an outcome is of a turn of a child, and that turn has ended',
    message: 'The outcome’s turn has not ended, or its child is not a child of its parent.',
    table: 'outcome',
    // Of a child that was deleted for good only the outcome is left, for a parent that has not heard it.
    broken: `NOT EXISTS (SELECT 1 FROM agent WHERE agent.id = own.parent)
      OR EXISTS (SELECT 1 FROM turn WHERE turn.id = own.turn AND (turn.state <> 'ended' OR turn.agent <> own.child))
      OR EXISTS (SELECT 1 FROM agent WHERE agent.id = own.child AND agent.parent <> own.parent)`,
  },
  {
    invariant: 'I5',
    about: 'an agent is queued for a slot exactly while it is ready, and a call only while it is open',
    message: 'A place in a queue belongs to nobody who waits for it.',
    table: 'ready',
    broken: `NOT EXISTS (SELECT 1 FROM agent WHERE agent.id = own.agent AND agent.turn <> 0)
      OR own.call <> 0 AND NOT EXISTS (SELECT 1 FROM call WHERE call.id = own.call AND call.open = 1)`,
  },
  {
    invariant: 'I4',
    about: 'a wait knows how many turns it waits for',
    message: 'remaining is not the number of turns that the wait waits for.',
    table: 'wait',
    broken: `own.remaining <> (SELECT count(*) FROM waiting INDEXED BY "waiting.wait" WHERE waiting.wait = own.id)`,
  },
];

const calls: readonly Check[] = [
  {
    invariant: 'I3',
    about: 'a call is open, or it has its one result (case 98)',
    message: 'The call has ended and has no result, or it has one and is still open.',
    table: 'call',
    broken: `(own.open = 1) <> (own.state IN ('planned', 'asking', 'started')) OR (own.open = 1) <> (own.result = 0)
      OR own.result <> 0 AND NOT EXISTS (SELECT 1 FROM entry
        WHERE entry.id = own.result AND entry.agent = own.agent AND entry.kind = 'result')`,
  },
  {
    invariant: 'I3',
    about: 'a turn that ended has no open call',
    message: 'The call is open and its turn has ended.',
    table: 'call',
    broken: `own.open = 1 AND NOT EXISTS (SELECT 1 FROM turn WHERE turn.id = own.turn AND turn.state = 'open')`,
  },
  {
    invariant: 'I7',
    about: 'money is held only for a request in flight',
    message: 'Something is held for a request of the agent, and it has none in flight.',
    table: 'agent',
    broken: `own.phase <> 'asking' AND (own.heldMicroUsd <> 0 OR own.heldTokens <> 0)`,
  },
  counter(
    'requests',
    `request INDEXED BY "request.open" WHERE request.state = 'open' AND request.agent = own.id`,
  ),
  counter('commands', `background INDEXED BY "background.agent" WHERE background.agent = own.id`),
  counter(
    'changes',
    `change INDEXED BY "change.agent" WHERE change.agent = own.id AND change.state = 'open'`,
  ),
];

const references: readonly Check[] = [
  {
    invariant: 'I2',
    about: 'every entry has its body',
    message: 'The entry’s body is neither in its row nor in a blob, or is not JSON.',
    table: 'entry',
    broken: `CASE WHEN own.body IS NULL THEN NOT EXISTS (SELECT 1 FROM blob WHERE blob.id = own.blob)
      ELSE NOT json_valid(own.body) END`,
  },
  ownedUpTo('entry', 'id'),
  points('agent', 'head', 'entry'),
  points('agent', 'forkEntry', 'entry'),
  points('agent', 'profile', 'blob'),
  points('agent', 'schema', 'blob'),
  points('agent', 'result', 'call'),
  points('agent', 'last', 'turn'),
  points('agent', 'born', 'turn'),
  points('agent', 'stretch', 'stretch'),
  points('turn', 'stretch', 'stretch'),
  ownedUpTo('stretch', 'first'),
  points('stretch', 'fromEntry', 'entry'),
  points('turn', 'schema', 'blob'),
  points('agent', 'place', 'place'),
  ownedUpTo('turn', 'last'),
  points('turn', 'answer', 'entry'),
  ownedUpTo('call', 'entry'),
  points('call', 'entry', 'entry'),
  points('request', 'agent', 'agent'),
  points('inbox', 'agent', 'agent'),
  points('wait', 'call', 'call'),
  points('waiting', 'wait', 'wait'),
  points('change', 'agent', 'agent'),
  points('background', 'agent', 'agent'),
  points('background', 'call', 'call'),
  points('change', 'base', 'blob'),
  points('change', 'after', 'blob'),
  points('verdict', 'change', 'change'),
  points('shared', 'blob', 'blob'),
  points('agent', 'nextProfile', 'blob'),
  points('knowledge', 'place', 'place'),
  points('knowledge', 'blob', 'blob'),
  points('offer', 'blob', 'blob'),
  {
    invariant: 'I15',
    about: 'a file is trusted or denied once for its bytes',
    message: 'Two decisions about the same bytes.',
    table: 'trust',
    broken: `own.verdict NOT IN ('trusted', 'denied') OR EXISTS (SELECT 1 FROM trust INDEXED BY "trust.hash"
      WHERE trust.hash = own.hash AND trust.id <> own.id)`,
  },
  points('timer', 'agent', 'agent'),
  points('spend', 'root', 'agent'),
  {
    invariant: 'I7',
    about: 'what is added up by hour of a root is not more than its branch has spent (case 242)',
    message: 'More is added up of the root than its branch has spent.',
    table: 'agent',
    broken: `own.parent = 0 AND (SELECT ifnull(sum(spend.microUsd), 0) FROM spend INDEXED BY "spend.root"
      WHERE spend.root = own.id) > own.bMicroUsd`,
  },
];

const trash: readonly Check[] = [
  {
    invariant: 'I11',
    about: 'what is out of the tree is in the trash, and can be found there',
    message: 'The agent is out of the tree, and no branch in the trash begins with it.',
    table: 'agent',
    broken: `own.detached NOT IN (0, 1) OR own.trash <> 0 AND NOT EXISTS (SELECT 1 FROM trash WHERE trash.id = own.trash)
      OR own.detached = 1 AND NOT EXISTS (SELECT 1 FROM trash WHERE trash.id = own.trash AND trash.agent = own.id)`,
  },
  {
    invariant: 'I11',
    about: 'a branch in the trash is there as a whole',
    message: 'The agent is not in the same trash as its parent.',
    table: 'agent',
    // While a branch moves, those that the walk has not visited yet are still where they were.
    broken: `own.detached = 0 AND own.trash <> (SELECT above.trash FROM agent AS above WHERE above.id = own.parent)
      AND NOT EXISTS (SELECT 1 FROM trash INDEXED BY "trash.state" WHERE trash.state IN ('moving', 'leaving'))`,
  },
  {
    invariant: 'I11',
    about: 'the trash holds branches',
    message: 'The branch that is in the trash is not there, or is not out of the tree.',
    table: 'trash',
    broken: `NOT EXISTS (SELECT 1 FROM agent WHERE agent.id = own.agent AND agent.trash = own.id
      AND (agent.detached = 1 OR own.state = 'moving'))`,
  },
  {
    invariant: 'I11',
    about: 'changes of agents in the trash are in no list',
    message: 'An undecided change is not where its agent is: in the trash, or not.',
    table: 'change',
    broken: `own.state = 'open' AND own.trash <> (SELECT agent.trash FROM agent WHERE agent.id = own.agent)
      AND NOT EXISTS (SELECT 1 FROM trash INDEXED BY "trash.state" WHERE trash.state IN ('moving', 'leaving'))`,
  },
  points('walk', 'agent', 'agent'),
  {
    invariant: 'I11',
    about: 'a fork begins with entries that are there',
    message: 'The entry that the fork begins with is not of the agent that it was forked from.',
    table: 'agent',
    broken: `own.forkAgent <> 0 AND NOT EXISTS (SELECT 1 FROM entry
      WHERE entry.id = own.forkEntry AND entry.agent = own.forkAgent)`,
  },
  {
    invariant: 'I14',
    about: 'of what was deleted for good only what forks begin with is kept',
    message: 'More or less is kept than the forks of an agent that is gone begin with.',
    table: 'remains',
    broken: `own.due = 0 AND own.upTo <> max(
      (SELECT ifnull(max(fork.forkEntry), 0) FROM agent AS fork INDEXED BY "agent.forks"
        WHERE fork.forkAgent <> 0 AND fork.forkAgent = own.agent),
      (SELECT ifnull(max(fork.forkEntry), 0) FROM remains AS fork INDEXED BY "remains.forks"
        WHERE fork.forkAgent <> 0 AND fork.forkAgent = own.agent))`,
  },
];

export const checks: readonly Check[] = [...lineage, ...turns, ...calls, ...references, ...trash];
