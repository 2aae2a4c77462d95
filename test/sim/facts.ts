// What an answer to a client promises about the rows, from then on for ever (S1).
//
// Not here: what was only true when it was said (a name, a limit): the next call may change it.

import type { AgentRecord } from '../../sidecar/core/rows.ts';
import type { RuntimeMethod } from '../../sidecar/runtime/event.ts';
import type { FakeDisk } from './fakeDisk.ts';
import { bodyIn } from './lines.ts';
import type { Sim } from './sim.ts';
import type { Call } from './workload.ts';

/** Returns what is wrong in the committed rows with something that a client was told, or null. */
export type Fact = () => string | null;

type Field = (name: string) => unknown;

/** What each method promises; null: nothing for later. */
const promises: Record<RuntimeMethod, ((disk: FakeDisk, call: Call, field: Field) => Fact) | null> = {
  'agent/start': born,
  'agent/fork': born,
  'agent/send': (disk, call, field) => () => {
    const turn = disk.row('turn', Number(field('turn')));
    if (turn?.agent !== call.params['agent']) return 'there is no such turn';
    return field('state') === 'steered' || turn?.key === call.key ? null : 'its turn has another key';
  },
  'turn/retry': (disk, call, field) => () =>
    disk.row('turn', Number(field('turn')))?.key === call.key ? null : 'there is no such turn',
  'queue/remove': (disk, call, field) => () =>
    field('removed') !== true || disk.row('turn', Number(call.params['turn']))?.outcome === 'superseded'
      ? null
      : 'the turn was not taken back',
  'agent/rewind': (disk, call, field) => () => {
    const moved = disk.rows('entry').some((entry) => {
      const body =
        entry.kind === 'rewind' && entry.agent === call.params['agent'] ? bodyIn(disk, entry) : null;
      return body?.kind === 'rewind' && body.turn === field('turn');
    });
    return moved || field('from') === field('turn') ? null : 'it did not go back';
  },
  'agent/close': (disk, call) => () => atWorkBelow(disk, Number(call.params['agent'])),
  'agent/delete': (disk, call) => once(() => atWorkBelow(disk, Number(call.params['agent']))),
  'agent/restore': null,
  'agent/import': (disk, call, field) => () =>
    field('agent') === null || disk.row('agent', Number(field('agent')))?.key === call.key
      ? null
      : 'there is no such branch',
  'trash/empty': null,
  'trash/keep': null,
  'request/answer': (disk, call, field) => () =>
    field('state') !== 'applied' || disk.row('request', Number(call.params['request']))?.state === 'answered'
      ? null
      : 'the request is open',
  'checkpoint/restore': (disk, call, field) => () => {
    const answered = disk.rows('answered').find((row) => row.key === call.key);
    const undo: unknown = answered === undefined ? null : Reflect.get(JSON.parse(answered.answer), 'undo');
    return undo === field('undo') ? null : 'its first answer was another';
  },
  'change/verdict': (disk, call, field) => () =>
    // A change that its agent has taken back is gone, with the verdicts on parts of it.
    field('state') !== 'applied' ||
    disk.row('change', Number(call.params['change'])) === undefined ||
    disk.rows('verdict').some((row) => row.key === call.key)
      ? null
      : 'there is no such verdict',
  'agent/interrupt': (disk, call) => () => (call.params['branch'] === true ? stillAtWork(disk, call) : null),
  'request/answerMany': null,
  'provider/set': null,
  'agent/rename': null,
  'agent/configure': null,
  'agent/compact': (disk, call, field) => () =>
    field('state') !== 'started' || disk.row('turn', Number(field('turn')))?.key === call.key
      ? null
      : 'there is no such turn',
  'budget/set': null,
  'model/price': null,
  'model/role': null,
  'command/kill': null,
  'trust/set': null,
  'mcp/files': null,
};

function born(disk: FakeDisk, call: Call, field: Field): Fact {
  return () => {
    const agent = disk.row('agent', Number(field('agent')));
    if (agent?.key !== call.key) return 'there is no such agent';
    return disk.row('turn', Number(field('turn')))?.agent === agent.id ? null : 'there is no such turn';
  };
}

/** True when it is said; what comes later may change it. */
function once(fact: Fact): Fact {
  let said = false;
  return () => {
    if (said) return null;
    said = true;
    return fact();
  };
}

/** Nothing starts under an agent that is closed. */
function atWorkBelow(disk: FakeDisk, closed: number): string | null {
  const busy = below(disk, closed).find((agent) => agent.phase !== 'idle');
  return busy === undefined ? null : `agent ${busy.id} below is ${busy.phase}`;
}

/** An agent and all its descendants. */
function below(disk: FakeDisk, top: number): readonly Readonly<AgentRecord>[] {
  return disk.rows('agent').filter((agent) => {
    let at: number | undefined = agent.id;
    while (at !== undefined && at !== 0 && at !== top) at = disk.row('agent', at)?.parent;
    return at === top;
  });
}

/** Once, when it is said: nobody in an interrupted branch works on a turn that began before the person asked. */
function stillAtWork(disk: FakeDisk, call: Call): string | null {
  const { askedAtMs } = call;
  call.askedAtMs = null; // what begins later is nobody's promise
  if (askedAtMs === null) return null;
  for (const agent of below(disk, Number(call.params['agent']))) {
    const turn = disk.row('turn', agent.turn);
    if (turn !== undefined && turn.started < askedAtMs) return `agent ${agent.id} below is still at work`;
  }
  return null;
}

/** A call that is sent again hears what it did at first. A person may have brought the branch back since then. */
function restoredSince(sim: Sim, { kind, tries, params }: Call): boolean {
  const { agent } = params;
  if (kind !== 'agent/delete' || tries < 2 || sim.disk.row('agent', Number(agent))?.trash !== 0) return false;
  return sim.workload.calls.some(
    (other) => other.kind === 'agent/restore' && other.params['agent'] === agent,
  );
}

/** The agent that an answer is about. */
function agentOf(disk: FakeDisk, { params }: Call, field: Field): number {
  const named = field('agent') ?? params['agent'];
  if (named !== undefined) return Number(named);
  const row =
    disk.row('turn', Number(params['turn'])) ??
    disk.row('request', Number(params['request'])) ??
    disk.row('change', Number(params['change']));
  return row?.agent ?? 0;
}

/** The promise of one answer, in words that name the call. */
export function factOf(sim: Sim, call: Call, value: unknown): Fact | null {
  const field: Field = (name) =>
    typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
  const fact = promises[call.kind]?.(sim.disk, call, field);
  if (fact === undefined || restoredSince(sim, call)) return null;
  const agent = agentOf(sim.disk, call, field);
  return () => {
    // A person has deleted it for good since.
    if (sim.purged.has(agent)) return null;
    const wrong = fact();
    return wrong === null ? null : `${call.kind} ${call.key} was acknowledged, but ${wrong}`;
  };
}
