// What must hold of all committed rows together, at any moment: counts equal a recount, and whoever waits has
// something that will wake it. Pure over the rows, so a test can also feed it rows that are wrong on purpose.

import { noShare, rankOf, shareOf, spendOf, type Share } from '../../sidecar/core/branch.ts';
import type { AgentRecord, CallRecord } from '../../sidecar/core/rows.ts';
import { limits } from '../../sidecar/runtime/limits.ts';
import { importedAtMs } from './files.ts';
import type { FakeDisk } from './fakeDisk.ts';

export interface Wrong {
  readonly check: string;
  readonly message: string;
}

type Agent = Readonly<AgentRecord>;

/** The first promise that the rows break; null when none. `lowered`: agents whose budget a person has set later. */
export function recount(disk: FakeDisk, lowered: ReadonlySet<number>): Wrong | null {
  const found =
    first('S7', branchCounts(disk)) ??
    first('S7', ownCounts(disk)) ??
    first('S2', turns(disk)) ??
    first('S6', held(disk, lowered)) ??
    first('S5', calls(disk)) ??
    first('S8', outcomes(disk)) ??
    first('wake', waits(disk)) ??
    first('wake', queues(disk)) ??
    first('wake', parked(disk)) ??
    first('trash', trash(disk)) ??
    first('trash', orphans(disk)) ??
    first('S6', spend(disk)) ??
    first('S10', bounds(disk));
  return found;
}

function first(check: string, found: string | null): Wrong | null {
  return found === null ? null : { check, message: found };
}

/**
 * What is added up by hour is what the ledger says, up to the row that is named; of each root that is there, and of all.
 * Sums of a root that is being deleted for good are on their way out.
 */
function spend(disk: FakeDisk): string | null {
  const upTo = disk.rows('folded')[0]?.upTo ?? 0;
  const wanted = new Map<string, number>();
  const leaving = new Set(disk.rows('trash').flatMap((row) => (row.state === 'emptying' ? [row.agent] : [])));
  const isCounted = (root: number): boolean =>
    root === 0 || (disk.row('agent', root) !== undefined && !leaving.has(root));
  const add = (key: string, by: number): void => void wanted.set(key, (wanted.get(key) ?? 0) + by);
  const key = (root: number, hour: number, model: string): string => `${root} ${hour} ${model}`;
  for (const row of disk.rows('ledger')) {
    if (upTo < row.id) continue;
    for (const each of [row.root, 0])
      if (isCounted(each)) add(key(each, Math.floor(row.at / 3_600_000), row.model), row.microUsd + 1e6);
  }
  for (const row of disk.rows('spend'))
    if (isCounted(row.root)) add(key(row.root, row.hour, row.model), -row.microUsd - row.requests * 1e6);
  // Old rows of the ledger are deleted; what is added up of them stays.
  const isWhole = disk.rows('ledger')[0]?.id === 1;
  const wrong = [...wanted].find(([, left]) => (isWhole ? left !== 0 : 0 < left));
  return wrong === undefined ? null : `what was spent (${wrong[0]}) is off by ${wrong[1]} up to row ${upTo}`;
}

const sums = [
  ['agents', 'bAgents'],
  ['running', 'bRunning'],
  ['waiting', 'bWaiting'],
  ['needs', 'bNeeds'],
  ['failed', 'bFailed'],
  ['done', 'bDone'],
  ['microUsd', 'bMicroUsd'],
  ['tokens', 'bTokens'],
  ['cacheable', 'bCacheable'],
  ['cacheRead', 'bCacheRead'],
  ['heldMicroUsd', 'bHeldMicroUsd'],
  ['heldTokens', 'bHeldTokens'],
] as const satisfies readonly (readonly [keyof Share, keyof AgentRecord])[];

function branchCounts(disk: FakeDisk): string | null {
  const agents = disk.rows('agent');
  const shares = new Map<number, Share>(agents.map((agent) => [agent.id, { ...noShare }]));
  // Children come after their parents, so one way back adds each branch to its parent when it is complete.
  for (const agent of agents.toReversed()) {
    const share = shares.get(agent.id) ?? { ...noShare };
    const own = shareOf({ ...agent });
    const above = shares.get(agent.parent);
    for (const [name, column] of sums) {
      share[name] += own[name];
      if (share[name] !== agent[column])
        return `agent ${agent.id}: ${column} is ${agent[column]}, a recount gives ${share[name]}`;
    }
    const told = agent.detached === 1 ? spendOf(share) : share;
    for (const [name] of sums) if (above !== undefined) above[name] += told[name];
    if (agent.rank !== rankOf({ ...agent }))
      return `agent ${agent.id}: rank is ${agent.rank}, not ${rankOf({ ...agent })}`;
  }
  return null;
}

function countBy(rows: Iterable<Readonly<Record<string, unknown>>>, column: string): Map<number, number> {
  const counts = new Map<number, number>();
  for (const row of rows) {
    const key = Number(row[column]);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

function ownCounts(disk: FakeDisk): string | null {
  const agents = disk.rows('agent');
  const attached = agents.filter((agent) => agent.detached === 0);
  const counted = {
    children: countBy(attached as unknown as Iterable<Record<string, unknown>>, 'parent'),
    openChildren: countBy(
      attached.filter((agent) => agent.phase !== 'idle') as unknown as Iterable<Record<string, unknown>>,
      'parent',
    ),
    queued: countBy(
      where(disk, 'turn', (row) => row['state'] === 'queued'),
      'agent',
    ),
    requests: countBy(
      where(disk, 'request', (row) => row['state'] === 'open'),
      'agent',
    ),
    changes: countBy(
      where(disk, 'change', (row) => row['state'] === 'open'),
      'agent',
    ),
    unheard: countBy(
      where(
        disk,
        'outcome',
        (row) =>
          row['via'] === null && Number(row['id']) > (disk.row('agent', Number(row['parent']))?.heard ?? 0),
      ),
      'parent',
    ),
  };
  const names = new Set<string>();
  for (const agent of agents) {
    for (const column of ['children', 'openChildren', 'queued', 'requests', 'changes', 'unheard'] as const) {
      const count = counted[column].get(agent.id) ?? 0;
      if (agent[column] !== count)
        return `agent ${agent.id}: ${column} is ${agent[column]}, a recount gives ${count}`;
    }
    const name = `${agent.parent}/${agent.name}`;
    if (agent.detached === 0 && names.has(name))
      return `agent ${agent.id}: another child of ${agent.parent} is named ${agent.name}`;
    if (agent.detached === 0) names.add(name);
    const parent = disk.row('agent', agent.parent);
    if (
      agent.parent !== 0 &&
      (parent === undefined || parent.root !== agent.root || parent.depth + 1 !== agent.depth)
    ) {
      return `agent ${agent.id}: its parent ${agent.parent} is not the one above it`;
    }
  }
  return null;
}

function where(
  disk: FakeDisk,
  table: Parameters<FakeDisk['table']>[0],
  test: (row: Readonly<Record<string, unknown>>) => boolean,
) {
  return [...disk.table(table).rows.values()].filter(test);
}

function turns(disk: FakeDisk): string | null {
  const open = countBy(
    where(disk, 'turn', (row) => row['state'] === 'open'),
    'agent',
  );
  for (const agent of disk.rows('agent')) {
    const count = open.get(agent.id) ?? 0;
    if (count !== (agent.turn === 0 ? 0 : 1))
      return `agent ${agent.id} is ${agent.phase} and has ${count} open turns`;
    const turn = agent.turn === 0 ? undefined : disk.row('turn', agent.turn);
    if (agent.last !== 0 && disk.row('turn', agent.last)?.state !== 'ended')
      return `agent ${agent.id}: its last turn ${agent.last} has not ended`;
    if (agent.turn !== 0 && (turn?.agent !== agent.id || turn.state !== 'open'))
      return `agent ${agent.id}: turn ${agent.turn} is ${turn?.state}`;
  }
  return null;
}

/** Whether somebody in the agent's lineage had a limit of money or tokens when it asked. */
function isLimited(disk: FakeDisk, agent: Readonly<AgentRecord>, lowered: ReadonlySet<number>): boolean {
  for (
    let at: Readonly<AgentRecord> | undefined = agent;
    at !== undefined;
    at = disk.row('agent', at.parent)
  ) {
    if (lowered.has(at.id)) return false;
    if (at.maxMicroUsd !== null || at.maxTokens !== null) return true;
  }
  return false;
}

function held(disk: FakeDisk, lowered: ReadonlySet<number>): string | null {
  for (const agent of disk.rows('agent')) {
    if (agent.phase !== 'asking' && agent.heldMicroUsd + agent.heldTokens !== 0)
      return `agent ${agent.id} is ${agent.phase} and holds ${agent.heldTokens} tokens`;
    if (agent.phase === 'asking' && agent.heldTokens === 0 && isLimited(disk, agent, lowered))
      return `agent ${agent.id} asks on a budget and holds nothing`;
    if (lowered.has(agent.id)) continue;
    const { maxMicroUsd, maxTokens, maxAgents } = agent;
    if (maxMicroUsd !== null && agent.bMicroUsd + agent.bHeldMicroUsd > maxMicroUsd) {
      return `the branch of agent ${agent.id} has spent and holds ${agent.bMicroUsd + agent.bHeldMicroUsd} of ${maxMicroUsd} micro-dollars`;
    }
    if (maxTokens !== null && agent.bTokens + agent.bHeldTokens > maxTokens) {
      return `the branch of agent ${agent.id} has spent and holds ${agent.bTokens + agent.bHeldTokens} of ${maxTokens} tokens`;
    }
    if (maxAgents !== null && agent.bAgents > Math.max(1, maxAgents))
      return `the branch of agent ${agent.id} has ${agent.bAgents} of ${maxAgents} agents`;
  }
  return null;
}

function calls(disk: FakeDisk): string | null {
  const openOf = new Map<number, Readonly<CallRecord>[]>();
  for (const call of disk.rows('call')) {
    if (call.open === 0) {
      if (call.result === 0) return `call ${call.id} is ${call.state} without a result`;
      continue;
    }
    if (call.result !== 0) return `call ${call.id} is open and has a result`;
    openOf.set(call.agent, [...(openOf.get(call.agent) ?? []), call]);
  }
  const asked = new Set(
    where(disk, 'request', (row) => row['state'] === 'open').map((row) => Number(row['call'])),
  );
  for (const [id, open] of openOf) {
    const agent = disk.row('agent', id);
    if (agent === undefined || agent.turn === 0) return `call ${open[0]?.id} is open, its agent ${id} rests`;
    if (agent.phase !== 'calling' && agent.phase !== 'waiting')
      return `agent ${id} is ${agent.phase} with calls open`;
    for (const call of open) {
      if (call.turn !== agent.turn) return `call ${call.id} is open, its turn ${call.turn} is not`;
      if ((call.state === 'asking') !== asked.has(call.id))
        return `call ${call.id} is ${call.state}, its request ${asked.has(call.id) ? 'is open' : 'is not'}`;
    }
  }
  for (const agent of disk.rows('agent')) {
    const open = openOf.get(agent.id) ?? [];
    if (agent.phase === 'calling' && open.length === 0)
      return `agent ${agent.id} is calling without an open call`;
  }
  return null;
}

/** Each turn of a child that ended has one outcome for its parent, and only a call with a result may have told it (I8). */
function outcomes(disk: FakeDisk): string | null {
  for (const { id, via, turn, revision } of disk.rows('outcome')) {
    const call = via === null ? undefined : disk.row('call', via);
    if (via !== null && via !== 0 && call?.state !== 'started' && call?.state !== 'done')
      return `outcome ${id} was told through call ${via}, which is ${call?.state}`;
    const told = disk.row('turn', turn);
    if (told !== undefined && told.revision !== revision)
      return `outcome ${id} answers task ${revision}, its turn ${told.revision}`;
    // Of a child that was deleted for good only this is left.
    if (told !== undefined && told.told !== id) return `turn ${turn} does not name its outcome ${id}`;
  }
  const count = countBy(disk.table('outcome').rows.values(), 'turn');
  for (const turn of disk.rows('turn')) {
    const parent = disk.row('agent', turn.agent)?.parent ?? 0;
    const takenBack = turn.outcome === 'superseded' && turn.last === 0; // it never began, so there is nothing to tell
    // An import tells nobody: whoever was above has heard it, or never will. Nor does a turn that was only for a summary.
    const isSilent = takenBack || turn.started === importedAtMs || turn.cause === 'compact';
    const due = turn.state === 'ended' && parent !== 0 && !isSilent ? 1 : 0;
    const has = count.get(turn.id) ?? 0;
    if (has !== due)
      return `turn ${turn.id} of agent ${turn.agent} is ${turn.state} and has ${has} outcomes for its parent`;
  }
  return null;
}

function waits(disk: FakeDisk): string | null {
  const waiting = countBy(disk.table('waiting').rows.values(), 'wait');
  const byCall = new Set<number>();
  const timers = disk.rows('timer');
  for (const wait of disk.rows('wait')) {
    byCall.add(wait.call);
    const agent = disk.row('agent', wait.agent);
    const call = disk.row('call', wait.call);
    if (call?.open !== 1 || call.tool !== 'wait_agent')
      return `wait ${wait.id} is of call ${wait.call}, which is ${call?.state}`;
    const left = waiting.get(wait.id) ?? 0;
    // In a branch that is being closed or deleted nobody is woken: the walk ends the wait.
    if (isStopped(disk, wait.agent)) continue;
    if (wait.everyChild === 0 && (left !== wait.remaining || left === 0))
      return `wait ${wait.id} counts ${wait.remaining}, has ${left} turns to wait for`;
    if (wait.everyChild === 1 && agent?.openChildren === 0)
      return `wait ${wait.id} of agent ${wait.agent} waits for children, and none is at work`;
    if (wait.deadline !== 0 && !timers.some((timer) => timer.kind === 'wait' && timer.ref === wait.id))
      return `wait ${wait.id} has a deadline and no timer`;
  }
  for (const row of disk.rows('waiting')) {
    if (disk.row('wait', row.wait) === undefined) return `waiting row ${row.id} is of no wait`;
    if (
      disk.row('turn', row.turn)?.state === 'ended' &&
      !isStopped(disk, disk.row('wait', row.wait)?.agent ?? 0)
    )
      return `wait ${row.wait} waits for turn ${row.turn}, which has ended`;
  }
  for (const call of where(
    disk,
    'call',
    (row) => row['open'] === 1 && row['tool'] === 'wait_agent' && row['state'] === 'started',
  )) {
    if (!byCall.has(call.id)) return `call ${call.id} waits, and there is no wait`;
  }
  return null;
}

/** Places in the queues for slots: one for each agent that is ready, one for each call that waits. */
function queues(disk: FakeDisk): string | null {
  const rows = disk.rows('ready');
  const model = countBy(
    rows.filter((row) => row.slot !== 'command') as unknown as Iterable<Record<string, unknown>>,
    'agent',
  );
  for (const agent of disk.rows('agent')) {
    const places = model.get(agent.id) ?? 0;
    if (places !== (agent.phase === 'ready' ? 1 : 0))
      return `agent ${agent.id} is ${agent.phase} and has ${places} places in the queue for a slot`;
  }
  const command = countBy(
    rows.filter((row) => row.slot === 'command') as unknown as Iterable<Record<string, unknown>>,
    'call',
  );
  for (const [id, places] of command) {
    const call = disk.row('call', id);
    if (call?.state !== 'planned' || places !== 1)
      return `call ${id} is ${call?.state} and has ${places} places in the queue for a slot`;
  }
  return null;
}

/** Whoever is parked has what will wake it. */
function parked(disk: FakeDisk): string | null {
  const timers = disk.rows('timer');
  const has = (agent: Agent, kind: string, ref?: number): boolean =>
    timers.some(
      (timer) => timer.agent === agent.id && timer.kind === kind && (ref === undefined || timer.ref === ref),
    );
  for (const agent of disk.rows('agent')) {
    const why = agent.why;
    const inFlight = agent.phase === 'asking' || agent.phase === 'calling';
    if (inFlight && agent.crashes >= limits.crashes)
      return `agent ${agent.id} is ${agent.phase} again after ${agent.crashes} crashes`;
    if ((why === 'rate' || why === 'timer') && !has(agent, 'rate', agent.turn))
      return `agent ${agent.id} waits for a time (${why}) without a timer`;
    if ((why === 'approval' || why === 'answer' || why === 'quarantine') && agent.requests === 0)
      return `agent ${agent.id} waits for a person (${why}) without a request`;
    if (agent.phase === 'idle' && agent.halted === 0 && agent.queued > 0)
      return `agent ${agent.id} rests with ${agent.queued} messages in its queue`;
    if (agent.phase !== 'idle' || agent.halted !== 0 || agent.unheard === 0) continue;
    if (isStopped(disk, agent.id)) continue;
    if (agent.openChildren === 0)
      return `agent ${agent.id} rests, its children too, and ${agent.unheard} outcomes are unheard`;
    if (!has(agent, 'notice'))
      return `agent ${agent.id} rests with ${agent.unheard} outcomes unheard and no timer`;
  }
  return null;
}

/** Whether the agent or one above it is closed, or in the trash or on its way there or back. */
export function isStopped(disk: FakeDisk, id: number): boolean {
  for (let at = disk.row('agent', id); at !== undefined; at = disk.row('agent', at.parent))
    if (at.closed !== 0 || at.trash !== 0) return true;
  return false;
}

/** What is in the trash: whole branches, at rest, and nothing else; a walk for each that is on its way. */
function trash(disk: FakeDisk): string | null {
  const rows = disk.rows('trash');
  const moving = rows.some((row) => row.state === 'moving' || row.state === 'leaving');
  for (const row of rows) {
    const top = disk.row('agent', row.agent);
    if (top?.trash !== row.id)
      return `trash ${row.id} is of agent ${row.agent}, which is in trash ${top?.trash}`;
    if (top.detached !== (row.state === 'moving' ? 0 : 1))
      return `trash ${row.id} is ${row.state}, and its agent ${top.id} is ${top.detached === 0 ? 'in' : 'out of'} the tree`;
    const kind = row.state === 'moving' ? 'delete' : row.state === 'leaving' ? 'restore' : null;
    const walks = disk.rows('walk').filter((walk) => walk.agent === top.id && walk.kind !== 'close');
    if (walks.length !== (kind === null ? 0 : 1) || (walks[0] !== undefined && walks[0].kind !== kind))
      return `trash ${row.id} is ${row.state}, and ${walks.length} walks move it`;
  }
  for (const agent of disk.rows('agent')) {
    const row = disk.row('trash', agent.trash);
    if (agent.trash !== 0 && row === undefined)
      return `agent ${agent.id} is in trash ${agent.trash}, which is not there`;
    if (agent.detached === 1 && row?.agent !== agent.id)
      return `agent ${agent.id} is out of the tree and no top of the trash`;
    if (moving) continue;
    if (agent.trash !== 0 && agent.phase !== 'idle')
      return `agent ${agent.id} is in the trash and ${agent.phase}`;
    const above = disk.row('agent', agent.parent)?.trash ?? 0;
    if (agent.detached === 0 && agent.trash !== above)
      return `agent ${agent.id} is in trash ${agent.trash}, its parent in ${above}`;
  }
  for (const change of disk.rows('change')) {
    if (moving || change.state !== 'open') continue;
    const at = disk.row('agent', change.agent)?.trash ?? 0;
    if (change.trash !== at) return `change ${change.id} is in trash ${change.trash}, its agent in ${at}`;
  }
  return null;
}

/** Every row is somebody's: of an agent that is there, or of the beginning of a fork's transcript. */
function orphans(disk: FakeDisk): string | null {
  const kept = new Map(disk.rows('remains').map((row) => [row.agent, row]));
  for (const table of ['request', 'inbox', 'timer', 'change', 'wait', 'ready'] as const)
    for (const row of disk.rows(table))
      if (disk.row('agent', row.agent) === undefined)
        return `${table} ${row.id} is of agent ${row.agent}, which is gone`;
  for (const outcome of disk.rows('outcome'))
    if (disk.row('agent', outcome.parent) === undefined) return `outcome ${outcome.id} is told to nobody`;
  for (const verdict of disk.rows('verdict'))
    if (disk.row('change', verdict.change) === undefined) return `verdict ${verdict.id} is on no change`;
  const parts = [
    ...disk.rows('entry').map((row) => ({ ...row, what: 'entry', at: row.id })),
    ...disk.rows('call').map((row) => ({ ...row, what: 'call', at: row.entry })),
    ...disk.rows('turn').map((row) => ({ ...row, what: 'turn', at: row.last })),
    ...disk.rows('stretch').map((row) => ({ ...row, what: 'stretch', at: row.first })),
  ];
  for (const { agent, id, what, at } of parts) {
    const upTo = kept.get(agent)?.upTo ?? 0;
    if (disk.row('agent', agent) !== undefined || (at !== 0 && at <= upTo)) continue;
    return `${what} ${id} is of agent ${agent}, which is gone`;
  }
  for (const { forkAgent, forkEntry, id } of [...disk.rows('agent'), ...disk.rows('remains')]) {
    if (forkAgent === 0) continue;
    const entry = disk.row('entry', forkEntry);
    if (entry?.agent !== forkAgent)
      return `fork ${id} begins with entry ${forkEntry} of agent ${forkAgent}, which is gone`;
  }
  for (const row of kept.values()) {
    if (row.due === 1) continue;
    const forks = [...disk.rows('agent'), ...disk.rows('remains')].filter(
      (fork) => fork.forkAgent === row.agent,
    );
    if (Math.max(0, ...forks.map((fork) => fork.forkEntry)) !== row.upTo)
      return `of agent ${row.agent} entries up to ${row.upTo} are kept, and its forks begin at ${forks.map((fork) => fork.forkEntry).join()}`;
  }
  return nameless(disk);
}

/** Every blob is named by a row. */
function nameless(disk: FakeDisk): string | null {
  const named = new Set<number>();
  for (const entry of disk.rows('entry')) {
    named.add(entry.blob);
    if (entry.kind !== 'result') continue;
    const json = entry.body ?? Buffer.from(disk.row('blob', entry.blob)?.bytes ?? []).toString();
    const blob = /"blob":(\d+)\}$/.exec(json)?.[1];
    if (blob !== undefined) named.add(Number(blob));
  }
  for (const { base, after } of [...disk.rows('change'), ...disk.rows('verdict')]) named.add(base).add(after);
  for (const { blob } of [...disk.rows('shared'), ...disk.rows('knowledge'), ...disk.rows('offer')])
    named.add(blob);
  for (const { id } of disk.rows('blob')) if (!named.has(id)) return `blob ${id} is named by no row`;
  return null;
}

function bounds(disk: FakeDisk): string | null {
  for (const agent of disk.rows('agent')) {
    // Steers that came too late for their turn join the queue above its bound: nothing a person said is dropped.
    if (agent.queued > limits.queuedTurns + limits.slice)
      return `agent ${agent.id} has ${agent.queued} messages in its queue`;
    if (agent.depth > limits.depth) return `agent ${agent.id} is ${agent.depth} deep`;
  }
  // Notes are of the runtime, one for each command that it had in the background.
  const messages = [...disk.table('inbox').rows.values()].filter((row) => row['kind'] !== 'note');
  for (const [agent, count] of countBy(messages, 'agent')) {
    if (count > limits.inboxMessages + limits.inboxSteers)
      return `agent ${agent} has ${count} messages in its inbox`;
  }
  return null;
}
