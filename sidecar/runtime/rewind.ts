// Rewind: an agent goes on from the end of an earlier turn, as if nothing had come after.
//
// Nothing is copied and nothing is deleted: a new stretch of entries begins behind that turn (line.ts), so it costs the
// same at any length, and a rewind to a turn that was left brings it back. The agent rests when it happens. Its queue is
// kept, and so are its files, changes, messages and commands in the background. Those commands, and what its children
// had ended with until then, are told in the entry of the rewind, so that nothing is lost that it would have heard;
// children that it now has never started are stopped, with all below them, and their ends are told to nobody.
// Not here: the pages that are read along a line (transcript.ts, store/entryReads.ts).

import type { AgentRecord, TurnRecord } from '../core/rows.ts';
import { firstLine } from '../core/text.ts';
import { turnId } from '../protocol/ids.ts';
import type { Result } from '../protocol/methods.ts';
import { refuse } from './agents.ts';
import { answerTo, keepAnswer } from './answered.ts';
import { backgroundOf, endBackgroundOf } from './background.ts';
import { forgetCounts } from './estimate.ts';
import type { ClientEvent, RuntimeEvent } from './event.ts';
import { interruptAgent } from './interrupt.ts';
import { briefOf } from './jobs.ts';
import { limits } from './limits.ts';
import { isOnLine, isOrphan, lineOf } from './line.ts';
import { hear } from './notices.ts';
import { standingProblem, type Problem } from './standing.ts';
import type { Step } from './step.ts';
import { contextAt, entryIn } from './transcript.ts';

type Moved = Omit<Result<'agent/rewind'>, 'stopped'>;

/** Takes an agent back, or forward again. The same key does it once, and goes on with what a crash has cut off. */
export function onRewind(step: Step, event: Extract<ClientEvent, { kind: 'agent/rewind' }>): void {
  const { params, reply } = event;
  const agent = step.findAgent(params.agent);
  if (agent === undefined) return refuse(step, reply, 'agent/unknown', `There is no agent ${params.agent}.`);
  const known = answerTo<Moved>(step, params.key);
  if (known !== null) return stopOrphans(step, agent, { moved: known, stopped: 0, reply });
  const goal = goalOf(step, agent, params.turn);
  if ('code' in goal) return refuse(step, reply, goal.code, goal.message);
  const standing = standingProblem(step, agent);
  if (standing !== null) return refuse(step, reply, standing.code, standing.message);
  if (agent.phase !== 'idle' && params.stop !== true) {
    const message = `${agent.name} is at work. Stop it first, or rewind with stop: the turn that is open is left then.`;
    return refuse(step, reply, 'agent/busy', message);
  }
  const stopped = agent.phase !== 'idle' && interruptAgent(step, agent) ? 1 : 0;
  const newest = newestTurn(step, agent);
  const moved: Moved = { turn: turnId(goal.id), from: newest === 0 ? null : turnId(newest) };
  if (goal.id !== newest) goTo(step, agent, goal);
  keepAnswer(step, params.key, moved);
  stopOrphans(step, agent, { moved, stopped, reply });
}

/** The turn whose end a fork or a rewind begins at: one of the agent, left or not, or of the line that it was forked with. */
export function goalOf(step: Step, agent: AgentRecord, id: number): TurnRecord | Problem {
  const turn = step.store.get('turn', id);
  const line = lineOf(step.store, agent);
  const own = turn !== undefined && (turn.agent === agent.id || isOnLine(line, turn));
  if (!own || turn.last === 0) {
    const message = `That is no turn of ${agent.name} that has ended. "roost turns" lists them.`;
    return { code: 'turn/unknown', message };
  }
  if (limits.forkChain <= line.length + 1) {
    const message = `${agent.name} was forked or taken back ${limits.forkChain} times in a row. Start a new agent.`;
    return { code: 'overloaded', message };
  }
  return turn;
}

/** Its last turn that ended, or one after it in which its conversation was only summarised. */
export function newestTurn(step: Step, { id, last, context }: AgentRecord): number {
  const summarised = context === 0 ? 0 : entryIn(step.store, context).turn;
  const turn = step.store.get('turn', summarised);
  return turn?.state === 'ended' && turn.agent === id ? Math.max(last, turn.id) : last;
}

function goTo(step: Step, agent: AgentRecord, goal: TurnRecord): void {
  agent.stretch = step.store.insert('stretch', {
    agent: agent.id,
    first: step.store.nextId('entry'),
    fromAgent: goal.agent,
    fromEntry: goal.last,
    fromStretch: goal.stretch,
  });
  agent.head = goal.last;
  agent.bytes = goal.bytes;
  agent.context = contextAt(step.store, goal);
  forgetCounts(agent);
  agent.last = goal.id;
  agent.outcome = goal.outcome;
  agent.doing = firstLine(briefOf(step.store, goal), limits.taskChars);
  const heard = hear(step, agent);
  const ended = heard === null ? '' : `\n${heard.count} of your agents have ended a turn:\n${heard.text}`;
  const commands = backgroundOf(step, agent);
  const running = commands === null ? '' : `\n${commands}`;
  const text = `[roost] A person took this conversation to this point: what came after it is not part of it any more. Files and agents are as they are now, so look before you rely on what you read above.${running}${ended}`;
  step.addEntry(agent, goal.id, { kind: 'rewind', turn: turnId(goal.id), text, outcomes: heard?.count ?? 0 });
  step.transcriptMoved(agent.id);
}

interface Stopping {
  readonly moved: Moved;
  readonly stopped: number;
  readonly reply: Extract<ClientEvent, { kind: 'agent/rewind' }>['reply'];
}

function stopOrphans(step: Step, agent: AgentRecord, { moved, stopped, reply }: Stopping): void {
  // Those of children that rest too.
  endBackgroundOf(step, (lineage) => {
    const child = lineage[lineage.findIndex((each) => each.id === agent.id) - 1];
    return child !== undefined && isOrphan(step.store, agent, child);
  });
  if (agent.children === 0) return void step.after(() => reply({ ok: true, value: { ...moved, stopped } }));
  step.after(() =>
    step.rt.post({ kind: 'orphansMore', agent: agent.id, after: 0, parents: [], moved, stopped, reply }),
  );
}

/** The next page of children: those whose start was left are stopped; then, page by page, all below them. */
export function onOrphansMore(step: Step, event: Extract<RuntimeEvent, { kind: 'orphansMore' }>): void {
  const { moved, reply } = event;
  const agent = step.agent(event.agent);
  const rows = step.store.range('agent.children', [agent.id], { after: event.after, limit: limits.slice });
  const parents = [...event.parents];
  let { stopped } = event;
  step.countAllNow();
  for (const row of rows) {
    const child = step.agent(row.id);
    if (!isOrphan(step.store, agent, child)) continue;
    if (interruptAgent(step, child, 'Stopped: the turn that started it was left.')) stopped += 1;
    if (child.bRunning + child.bWaiting > 0 && child.children > 0) parents.push(child.id);
  }
  const last = rows.at(-1);
  if (rows.length === limits.slice && last !== undefined) {
    step.after(() => step.rt.post({ ...event, after: last.id, parents, stopped }));
    return;
  }
  step.after(() =>
    step.rt.post({
      kind: 'interruptMore',
      parents,
      after: 0,
      stopped,
      call: 0,
      reply: (answer) => reply(answer.ok ? { ok: true, value: { ...moved, ...answer.value } } : answer),
    }),
  );
}
