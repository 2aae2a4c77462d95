// Groups for clients (protocol/group.ts): a group is started as an agent whose task is its plan; putting its members side
// by side and picking one are made of what there is for agents and changes, so both can be asked again after a crash.

import { conductorProvider, fanTask, modelToGive, raceTask } from '../core/conductor.ts';
import { head, utf8Bytes } from '../core/text.ts';
import type { AgentRow } from '../protocol/agent.ts';
import type { ChangeRow, VerdictResult } from '../protocol/change.ts';
import { RoostError } from '../protocol/errors.ts';
import type { GroupMember, GroupMethods, GroupPicked, Runner } from '../protocol/group.ts';
import { agentId, changeId, type AgentId } from '../protocol/ids.ts';
import type { Params, Result } from '../protocol/methods.ts';
import type { Reads } from '../ports.ts';
import { limits } from '../runtime/limits.ts';
import { findAgent } from './found.ts';
import type { Peer } from './peer.ts';

type Start = Params<'agent/start'>;
type GroupReads = Pick<Reads, 'agent' | 'agentByName' | 'agents' | 'changes' | 'lastTurn'>;

/** What groups are made of. */
interface GroupParts extends PickDeeds {
  readonly reads: GroupReads;
  /** Looks at a start before it is promised: folder, model, key. */
  check(start: Start): Promise<unknown>;
  start(start: Start, peer: Peer): Promise<Result<'agent/start'>>;
}

type GroupHandlers = {
  readonly [M in keyof GroupMethods]: (params: Params<M>, peer: Peer) => Result<M> | Promise<Result<M>>;
};

export function groupHandlers(parts: GroupParts): GroupHandlers {
  const { reads } = parts;
  // The models of its members are looked at too, so that a person is told at once what is missing.
  const start = async ({ start: wanted, models }: GroupStart, peer: Peer): Promise<Result<'fan/start'>> => {
    for (const model of models) await parts.check({ ...wanted, model });
    return await parts.start(wanted, peer);
  };
  return {
    'fan/start': (params, peer) => start(fanStart(reads, params), peer),
    'race/start': (params, peer) => start(raceStart(reads, params), peer),
    'group/compare': (params) => compareGroup(reads, params),
    'group/pick': (params) => pickOfGroup(reads, parts, params),
  };
}

/** What a start of a group comes to: the start of its conductor, and the models that must be there for its members. */
interface GroupStart {
  readonly start: Start;
  readonly models: readonly string[];
}

function fanStart(reads: GroupReads, params: Params<'fan/start'>): GroupStart {
  const { template, items, profile = null, atOnce = null, isolation = null, schema = null } = params;
  if (!template.includes('{item}'))
    throw new RoostError('request/invalid', 'The template has no {item}: say where each item goes.');
  const model = modelOf(reads, params);
  // What is not asked for is left to the profile of each, and then to the conductor's name.
  const asked = params.model ?? null;
  const text = fanTask({ template, items, profile, atOnce, isolation, schema, model: asked });
  return { start: conductorStart(params, text, model), models: [model] };
}

function raceStart(reads: GroupReads, params: Params<'race/start'>): GroupStart {
  const { text: task, isolation = 'worktree', schema = null } = params;
  if (task.trim() === '')
    throw new RoostError('request/invalid', 'The text is empty. Say what is to be done.');
  const runners = named(params.runners);
  const own = params.runners.flatMap(({ model }) => model ?? []);
  const model = own.length === runners.length ? (own[0] ?? modelOf(reads, params)) : modelOf(reads, params);
  const text = raceTask({ text: task, runners, isolation, schema });
  return { start: conductorStart(params, text, model), models: [...new Set([model, ...own])] };
}

function named(runners: readonly Runner[]) {
  const taken = new Set<string>();
  return runners.map(({ name, profile = null, model = null }) => {
    const words = [profile ?? '', model?.split('/').at(-1) ?? ''].filter((word) => word !== '');
    const wanted =
      name ??
      (words
        .join('-')
        .replaceAll(/[^\w-]+/g, '-')
        .slice(0, 50) ||
        'runner');
    let free = wanted;
    for (let n = 2; taken.has(free); n++) free = `${wanted}-${n}`;
    taken.add(free);
    return { name: free, profile, model: model ?? null };
  });
}

/** The model of those that name none. */
function modelOf(reads: GroupReads, { model, parent }: Pick<Start, 'model' | 'parent'>): string {
  const found = model ?? (parent === undefined ? undefined : modelToGive(findAgent(reads, parent).model));
  if (found !== undefined) return found;
  throw new RoostError(
    'model/unknown',
    'No model is chosen. Name one as provider/model: the setting roost.model, ROOST_MODEL, or --model.',
  );
}

function conductorStart(
  params: Params<'fan/start'> | Params<'race/start'>,
  text: string,
  model: string,
): Start {
  if (limits.messageBytes < utf8Bytes(text)) {
    throw new RoostError(
      'request/invalid',
      `The plan of the group has more than ${limits.messageBytes} bytes. Put long texts into files and name the files, or start several groups.`,
    );
  }
  const { name, parent, workspace, mode, budget, key } = params;
  return {
    ...(name === undefined ? {} : { name }),
    ...(parent === undefined ? {} : { parent }),
    ...(mode === undefined ? {} : { mode }),
    ...(budget === undefined ? {} : { budget }),
    ...{ workspace, key, text, model: `${conductorProvider}/${model}` },
  };
}

function compareGroup(
  reads: GroupReads,
  { agent, after, limit }: Params<'group/compare'>,
): Result<'group/compare'> {
  findAgent(reads, agent);
  const { rows, more } = reads.agents(agent, after ?? 0, Math.min(limit, limits.members));
  return { rows: rows.map((row) => memberOf(reads, row)), more };
}

function memberOf(reads: GroupReads, agent: AgentRow): GroupMember {
  const last = reads.lastTurn(agent.id);
  const changes = openChanges(reads, agent.id);
  const result = last?.result ?? null;
  const isSmall = result !== null && utf8Bytes(JSON.stringify(result)) <= limits.memberResultBytes;
  return {
    agent,
    outcome: agent.phase === 'idle' ? (last?.outcome ?? null) : null,
    text: head(last?.text ?? '', limits.memberChars),
    result: isSmall ? result : null,
    files: changes
      .slice(0, limits.memberFiles)
      .map(({ label, added, removed }) => ({ label, added, removed })),
    added: changes.reduce((sum, { added }) => sum + added, 0),
    removed: changes.reduce((sum, { removed }) => sum + removed, 0),
  };
}

/** Changes of an agent without a verdict; those of agents below it are theirs. */
function openChanges(reads: GroupReads, agent: AgentId): readonly ChangeRow[] {
  const found: ChangeRow[] = [];
  for (let after = 0; ;) {
    const { rows, more } = reads.changes(agent, after, limits.pageRows);
    found.push(...rows.filter(({ state }) => state === 'open' || state === 'conflict'));
    after = rows.at(-1)?.id ?? 0;
    if (!more || after === 0) return found;
  }
}

/** What picking does to agents and changes: each of them is answered after its commit. */
interface PickDeeds {
  verdict(params: Params<'change/verdict'>): Promise<VerdictResult>;
  remove(params: Params<'agent/delete'>): Promise<unknown>;
}

async function pickOfGroup(
  reads: GroupReads,
  deeds: PickDeeds,
  { agent, winner, key }: Params<'group/pick'>,
): Promise<GroupPicked> {
  const row = findAgent(reads, winner);
  if (row.parent !== agent)
    throw new RoostError(
      'request/invalid',
      `${row.name} is not one of the group ${findAgent(reads, agent).name}.`,
    );
  if (row.phase !== 'idle')
    throw new RoostError('agent/busy', `${row.name} is at work. Wait until it has ended, or stop it first.`);
  const conflicts: GroupPicked['conflicts'][number][] = [];
  let accepted = 0;
  for (const { id, label, baseHash, afterHash } of openChanges(reads, winner)) {
    const verdict = { change: id, verdict: 'accept', hunks: 'all', baseHash, afterHash } as const;
    const { state, message } = await deeds.verdict({
      ...verdict,
      key: `${key}/${id}/${afterHash.slice(0, 12)}`,
    });
    if (state === 'applied') accepted += 1;
    else conflicts.push({ change: changeId(id), label, message });
  }
  const discarded: AgentId[] = [];
  for (let after = 0; conflicts.length === 0;) {
    const { rows, more } = reads.agents(agent, after, limits.pageRows);
    for (const { id } of rows) {
      if (id === winner) continue;
      await deeds.remove({ agent: id, key: `${key}/${id}` });
      discarded.push(agentId(id));
    }
    after = rows.at(-1)?.id ?? 0;
    if (!more || after === 0) break;
  }
  return { accepted, conflicts, discarded };
}
