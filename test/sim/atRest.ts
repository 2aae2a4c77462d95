// What must hold when nothing is left to happen: everybody has ended or is parked for a reason that a checker
// accepts, nothing is held, and what was said arrived once.

import { isDeepStrictEqual } from 'node:util';
import { textOf } from '../../sidecar/core/answer.ts';
import type { EntryBody } from '../../sidecar/protocol/entry.ts';
import type { AgentRecord, EntryRecord, TurnRecord } from '../../sidecar/core/rows.ts';
import { bodyIn } from './lines.ts';
import { isStopped, recount } from './recount.ts';
import { fitsSchema } from './script.ts';
import { importedAtMs } from './files.ts';
import type { Sim } from './sim.ts';

/** The first agent that is neither done nor parked for an accepted reason; null when there is none. */
export function pending(sim: Sim): string | null {
  for (const agent of sim.disk.rows('agent')) {
    const stopped = agent.halted === 1 || isStopped(sim.disk, agent.id);
    if (agent.phase === 'idle' && (stopped || (agent.queued === 0 && agent.unheard === 0))) continue;
    const calls = sim.disk.rows('call').filter((call) => call.agent === agent.id && call.open === 1);
    const doing = calls.map((call) => `${call.tool} ${call.state}`).join(', ');
    return `agent ${agent.id} (${agent.name}) is ${agent.phase} ${agent.why ?? ''} since ${agent.since}, queued ${agent.queued}, unheard ${agent.unheard}, requests ${agent.requests}, calls: ${doing}`;
  }
  return null;
}

export function atRest(sim: Sim): void {
  const wrong = recount(sim.disk, sim.workload.lowered);
  if (wrong !== null) return sim.fail(wrong.check, wrong.message);
  sim.check.factsHold();
  const stuck = pending(sim);
  if (stuck !== null) return sim.fail('rest', stuck);
  const held = holding(sim);
  if (held !== null) return sim.fail('rest', held);
  const unanswered = sim.workload.calls.find((call) => !call.answered);
  if (unanswered !== undefined)
    return sim.fail('rest', `${unanswered.kind} ${unanswered.key} was never answered`);
  const gone = sim.contexts.atRest();
  if (gone !== null) return sim.fail('view', gone);
  const behind = sim.followers?.differs() ?? null;
  if (behind !== null) return sim.fail('S9', behind);
  const group = groups(sim);
  if (group !== null) return sim.fail('groups', group);
  const said = words(sim);
  if (said !== null) sim.fail(said.check, said.message);
}

/** Each item of a fan-out was started once at most, and all of them when its conductor says that they have ended. */
function groups(sim: Sim): string | null {
  // What was deleted may be gone for good by now.
  const deleted = sim.workload.calls.some(({ kind }) => kind === 'agent/delete');
  for (const agent of sim.disk.rows('agent')) {
    const count = Number(/^Fan-out over (\d+):/.exec(agent.task)?.[1] ?? 0);
    // A rewind leaves what was started, and starts it again.
    if (count === 0 || agent.forkAgent !== 0 || agent.stretch !== 0) continue;
    const tasks = sim.disk
      .rows('agent')
      .filter((row) => row.parent === agent.id && row.key === null)
      .map(({ task }) => task);
    if (new Set(tasks).size < tasks.length)
      return `an item of ${agent.name} was started twice: ${tasks.join()}`;
    const last = sim.disk
      .rows('entry')
      .filter((entry) => entry.agent === agent.id && entry.kind === 'answer')
      .map((entry) => bodyIn(sim.disk, entry))
      .findLast((body) => body?.kind === 'answer' && textOf(body.blocks).startsWith('All have ended.'));
    const isWhole = last?.kind === 'answer' && !textOf(last.blocks).includes('Not started');
    if (isWhole && !deleted && tasks.length !== count)
      return `${agent.name} says that all ${count} have ended, and has started ${tasks.length}`;
  }
  return null;
}

/** What is still held at rest: slots, rows of work in flight. */
function holding(sim: Sim): string | null {
  const slots = sim.host?.slots();
  if (slots === undefined) return 'no process is there';
  if (slots.modelUsed !== 0 || slots.commandUsed !== 0) return `slots are in use: ${JSON.stringify(slots)}`;
  // A command in the background may run for ever, and keeps the process.
  const kept = sim.disk.rows('background').length > 0;
  if (sim.host?.busy() !== kept) return `the host says that it is ${kept ? 'at rest' : 'busy'}`;
  for (const table of ['wait', 'waiting', 'ready', 'walk'] as const) {
    const rows = sim.disk.rows(table);
    if (rows.length > 0) return `${table} has rows: ${JSON.stringify(rows[0])}`;
  }
  const moving = sim.disk.rows('trash').find((row) => row.state !== 'kept');
  if (moving !== undefined) return `a branch is in the trash for ever: ${JSON.stringify(moving)}`;
  const timer = sim.disk.rows('timer')[0];
  if (timer !== undefined) return `a timer is set: ${JSON.stringify(timer)}`;
  const verdict = sim.disk.rows('verdict').find((row) => row.state === 'started');
  if (verdict !== undefined) return `verdict ${verdict.id} is on its way for ever`;
  const behind = sim.outside.behind.wrong(sim);
  if (behind !== null) return behind;
  const steer = sim.disk
    .rows('inbox')
    .find((row) => row.kind === 'steer' && sim.disk.row('agent', row.agent)?.halted === 0);
  if (steer !== undefined) return `a steer was not read: "${steer.text}" for agent ${steer.agent}`;
  return null;
}

function bodies(sim: Sim): Map<number, { entry: Readonly<EntryRecord>; body: EntryBody }[]> {
  const of = new Map<number, { entry: Readonly<EntryRecord>; body: EntryBody }[]>();
  for (const entry of sim.disk.rows('entry')) {
    const list = of.get(entry.agent) ?? [];
    list.push({ entry, body: bodyIn(sim.disk, entry) });
    of.set(entry.agent, list);
  }
  return of;
}

interface Wrong {
  readonly check: string;
  readonly message: string;
}

/** The transcripts: outcomes heard once, messages read once, each turn's last words those of its script. */
function words(sim: Sim): Wrong | null {
  const transcripts = bodies(sim);
  for (const agent of sim.disk.rows('agent')) {
    const entries = transcripts.get(agent.id) ?? [];
    const stranger = strangers(sim, agent, entries);
    if (stranger !== null) return { check: 'words', message: stranger };
    const found =
      heardOnce(
        sim,
        agent,
        entries.map((each) => each.body),
      ) ??
      lastWords(sim, agent) ??
      handedIn(sim, agent, entries);
    if (found !== null) return found;
  }
  return messagesArrive(sim, transcripts);
}

/** Names that spawn_agent has told its caller and that none of its children has. */
function strangers(
  sim: Sim,
  agent: Readonly<AgentRecord>,
  entries: readonly { body: EntryBody }[],
): string | null {
  if (sim.workload.calls.some((call) => call.kind === 'agent/rename')) return null;
  // Those that were deleted for good are no children any more; restored ones may have another name.
  if (sim.bereft.has(agent.id) || sim.workload.calls.some((call) => call.kind === 'agent/restore'))
    return null;
  const children = sim.disk.rows('agent').filter((each) => each.parent === agent.id);
  const names = new Set(children.map((child) => child.name));
  for (const { body } of entries) {
    if (body.kind !== 'result' || body.tool !== 'spawn_agent' || body.text.includes('…')) continue;
    const told = /^Started \d+ agents?: ([^ ]+(?:, [^ ]+)*)\./.exec(body.text)?.[1]?.split(', ') ?? [];
    const stranger = told.find((name) => !names.has(name));
    if (stranger !== undefined)
      return `agent ${agent.id} was told that it has started ${stranger}, and has not`;
  }
  return null;
}

/** What an ended turn said last: its answer, or the brief that stands in for one. */
function saidLast(sim: Sim, turn: Readonly<TurnRecord>): string {
  const entry = turn.brief === '' ? sim.disk.row('entry', turn.answer) : undefined;
  if (entry === undefined) return turn.brief;
  const body = bodyIn(sim.disk, entry);
  return body.kind === 'answer' ? textOf(body.blocks) : '';
}

/** A fork of one goes on as one. */
function isConductor(sim: Sim, agent: Readonly<AgentRecord>): boolean {
  const source = sim.disk.row('agent', agent.forkAgent);
  return agent.task.startsWith('Fan-out over') || (source !== undefined && isConductor(sim, source));
}

/** Who may hear the words of an agent: its parent, and above a conductor or its fork, which pass them on, their parents. */
function tellers(sim: Sim, id: number): readonly number[] {
  const parent = sim.disk.row('agent', sim.disk.row('agent', id)?.parent ?? 0);
  if (parent === undefined) return [];
  if (!isConductor(sim, parent)) return [parent.id];
  const forks = sim.disk.rows('agent').filter(({ forkAgent }) => forkAgent === parent.id);
  return [parent, ...forks].flatMap((each) => [each.id, ...tellers(sim, each.id)]);
}

function heardOnce(sim: Sim, agent: Readonly<AgentRecord>, entries: readonly EntryBody[]): Wrong | null {
  // What it has heard of children that were deleted for good went with them.
  if (sim.bereft.has(agent.id)) return null;
  let heard = 0;
  const words = new Map<string, number>();
  for (const body of entries) {
    const told =
      body.kind === 'notice' || body.kind === 'rewind'
        ? body.text
        : body.kind === 'result' && body.tool === 'wait_agent'
          ? body.text
          : null;
    if (told === null) continue;
    heard +=
      body.kind === 'notice' || body.kind === 'rewind'
        ? body.outcomes
        : Number(/(?:^|\. )(\d+) ended:\n/.exec(told)?.[1] ?? 0);
    for (const [, name] of told.matchAll(/^- [^:]+: (?:done|FAILED): (done \w+)$/gm)) {
      if (name !== undefined) words.set(name, (words.get(name) ?? 0) + 1);
    }
  }
  const outcomes = sim.disk.rows('outcome').filter((row) => row.parent === agent.id);
  const told = outcomes.filter((row) => row.via !== null).length;
  if (heard + told + agent.unheard !== outcomes.length) {
    return {
      check: 'S8',
      message: `agent ${agent.id} heard ${heard} of ${outcomes.length} outcomes, its commands were told ${told}, ${agent.unheard} are unheard`,
    };
  }
  for (const [name, count] of words) {
    const turns = sim.disk
      .rows('turn')
      .filter((turn) => saidLast(sim, turn) === name && tellers(sim, turn.agent).includes(agent.id));
    if (count > turns.length)
      return { check: 'S8', message: `agent ${agent.id} heard "${name}" ${count} times` };
  }
  return null;
}

/** An outcome is the script's, or a fault that really happened explains it. */
function lastWords(sim: Sim, agent: Readonly<AgentRecord>): Wrong | null {
  const excuses = sim.excused.get(agent.id);
  for (const turn of sim.disk.rows('turn')) {
    if (turn.agent !== agent.id || turn.state !== 'ended' || turn.cause === 'compact') continue;
    if (turn.started === importedAtMs && agent.trash !== 0) continue; // its words may not have come yet
    const { outcome } = turn;
    const brief = saidLast(sim, turn);
    const odd = (why: string): Wrong => ({
      check: 'words',
      message: `turn ${turn.id} of agent ${agent.id} is ${outcome} with "${brief}": ${why}`,
    });
    if (
      outcome === 'done' &&
      !/^(done|heard) \w+$|^All have ended\.|^I start the agents of a group/.test(brief)
    )
      return odd('no script says that');
    if (outcome !== 'failed' || brief.startsWith('The model declined: no ')) continue;
    if (brief.includes('met a bug')) {
      if (brief.includes('simulated bug')) continue;
      return odd('a bug');
    }
    const denied =
      brief.startsWith('Ended by a person') || /^The budget is spent|^sim\/model has no price/.test(brief);
    const expected =
      (denied && excuses?.has('denied')) ||
      (brief.endsWith('sim') || brief.includes(': sim ') ? excuses?.has('rejected') : false) ||
      (brief.startsWith('The profile "custom"') && sim.swarm.edits > 0) ||
      (brief.includes('refused the key') && sim.swarm.odds.wrongKey > 0) ||
      (brief.includes('no usable answer') && sim.swarm.odds.emptyAnswer + sim.swarm.odds.oddStop > 0) ||
      (brief.startsWith('No result that fits its schema') && turn.schema !== 0) ||
      (brief.startsWith('The instructions, the tools and a single step') &&
        (sim.swarm.contextTokens * sim.swarm.contextTruth <= 20_000 || excuses?.has('rejected') === true)) ||
      brief.startsWith('The turn was ended after');
    if (expected !== true) return odd('nothing that happened explains it');
  }
  return null;
}

/**
 * A turn that came with a schema is done only with a result that fits it, which is the newest that was taken, and
 * nothing was steered into the turn after it.
 */
function handedIn(
  sim: Sim,
  agent: Readonly<AgentRecord>,
  entries: readonly { entry: Readonly<EntryRecord>; body: EntryBody }[],
): Wrong | null {
  for (const turn of sim.disk.rows('turn')) {
    if (turn.agent !== agent.id || turn.state !== 'ended') continue;
    const odd = (why: string): Wrong => ({
      check: 'typed',
      message: `turn ${turn.id} of agent ${agent.id}: ${why}`,
    });
    const result: unknown = turn.result === null ? null : JSON.parse(turn.result);
    if (turn.schema !== 0 && turn.outcome === 'done' && result === null)
      return odd('it is done without a result');
    if (turn.schema !== 0 && result !== null && !fitsSchema(result))
      return odd(`${turn.result ?? ''} does not fit its schema`);
    if (result === null) continue;
    const own = entries.filter(({ entry }) => entry.turn === turn.id);
    const taken = own.findLastIndex(
      ({ body }) => body.kind === 'result' && body.tool === 'submit_result' && body.status === 'ok',
    );
    const steered = own.findLastIndex(({ body }) => body.kind === 'user' && body.delivery === 'steer');
    if (taken < steered) return odd('a steer came after the result that it hands over');
    const answers = own.slice(0, taken).toReversed();
    const key = own[taken]?.body.kind === 'result' ? own[taken].body.key : '';
    const given = answers
      .flatMap(({ body }) => (body.kind === 'answer' ? body.blocks : []))
      .find((block) => block.kind === 'call' && block.key === key);
    const input: unknown = given?.kind === 'call' ? JSON.parse(given.input) : null;
    if (!isDeepStrictEqual(input, { result })) return odd('its result is not the newest that was taken');
  }
  return null;
}

/** Everything that a person sent and that was accepted is in the transcript once, or still queued. */
function messagesArrive(sim: Sim, transcripts: ReturnType<typeof bodies>): Wrong | null {
  for (const call of sim.workload.calls) {
    if (call.kind !== 'agent/send' || !call.said.some((said) => said.ok)) continue;
    const agent = Number(call.params['agent']);
    if (sim.purged.has(agent)) continue;
    const text = call.params['text'];
    const read = (transcripts.get(agent) ?? []).filter(
      ({ body }) => body.kind === 'user' && body.text === text,
    ).length;
    const queued = sim.disk.rows('turn').filter((turn) => turn.agent === agent && turn.text === text).length;
    const inbox = sim.disk.rows('inbox').filter((row) => row.agent === agent && row.text === text).length;
    if (read + queued + inbox !== 1) {
      return {
        check: 'S1',
        message: `"${String(text)}" was accepted for agent ${agent}: read ${read} times, queued ${queued}, left ${inbox}`,
      };
    }
  }
  return null;
}
