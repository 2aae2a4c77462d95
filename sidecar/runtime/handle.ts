// The routing table of events: one switch for clients' wishes, one for all else, each checked for completeness.

import { onInterrupt, onInterruptMore, onSend, onStart } from './agents.ts';
import { onAnswer, onAnswerMany } from './answers.ts';
import { onCommandEnd } from './background.ts';
import { onCallEnd, onLend, onPrepared, onTouched } from './calls.ts';
import { onVerdict, onVerdictPlanned, onVerdictWritten } from './verdicts.ts';
import { onClose, onDelete, onRestore } from './branches.ts';
import type { Store } from '../ports.ts';
import { onCompact } from './compact.ts';
import type { ClientEvent, RuntimeEvent } from './event.ts';
import { stopWork } from './interrupt.ts';
import { onLooked } from './knowledge.ts';
import { limits } from './limits.ts';
import { onCheckpointRestore, onCheckpointRestored, onFileRestored } from './checkpoints.ts';
import { onBudgetSet, onRaised } from './budgets.ts';
import { onCommandKill, onConfigure, onFork, onQueueRemove, onRename, onRetry } from './manage.ts';
import { lookAtNotice, onTold } from './notices.ts';
import { onPrice, onRole } from './prices.ts';
import { onOffered, onServerFiles } from './offers.ts';
import { onLeaving, onRecover } from './recover.ts';
import { onOrphansMore, onRewind } from './rewind.ts';
import { onPurge } from './purge.ts';
import { onModelEnd } from './rounds.ts';
import { onImport } from './arrivals.ts';
import { onSpawnMore } from './spawn.ts';
import { onFold } from './spend.ts';
import type { Step } from './step.ts';
import { takeDue } from './timers.ts';
import { onTrustMore, onTrustSet } from './trust.ts';
import { expire, onEmpty, onEmptyMore, onTrashKeep } from './trash.ts';
import { endTurn, startRound } from './turns.ts';
import { waitOver } from './waits.ts';
import { onWalk } from './walks.ts';

/** Handles one event within the step's transaction. */
export function handle(step: Step, event: RuntimeEvent): void {
  if ('params' in event) return handleClient(step, event);
  switch (event.kind) {
    case 'modelEnd':
      return onModelEnd(step, event);
    case 'prepared':
      return onPrepared(step, event.call, event.prepared);
    case 'touched':
      return onTouched(step, event.call, event.touched);
    case 'callEnd':
      return onCallEnd(step, event.call, event.outcome);
    case 'commandEnd':
      return onCommandEnd(step, event.command, event.outcome);
    case 'verdictPlanned':
      return onVerdictPlanned(step, event.verdict, event.plan);
    case 'verdictWritten':
      return onVerdictWritten(step, event.verdict, event.done);
    case 'keys':
      return onKeys(step);
    case 'editors':
      return wakeWaiting(step, 'editor', event.after);
    case 'fold':
      return onFold(step);
    case 'keysMore':
      return wakeWaiting(step, 'key', event.after);
    case 'budgetsMore':
      return wakeWaiting(step, 'budget', event.after);
    case 'raisedMore':
      return onRaised(step, event.after);
    case 'walk':
      return onWalk(step, event.chain);
    case 'purge':
      return onPurge(step, event.chain, event.passes);
    case 'emptyMore':
      return onEmptyMore(step, event);
    case 'trustMore':
      return onTrustMore(step, event.after);
    case 'offered':
      return onOffered(step, event);
    case 'offersMore':
      return wakeWaiting(step, 'tools', event.after);
    case 'looked':
      return onSeen(step, event);
    case 'told':
      return onTold(step, event);
    case 'checkpointRestored':
      return onCheckpointRestored(step, event);
    case 'fileRestored':
      return onFileRestored(step, event);
    case 'lend':
      return onLend(step, event.call, event.lent);
    case 'alarm':
      return onAlarm(step);
    case 'spawnMore':
      return onSpawnMore(step, event.call);
    case 'orphansMore':
      return onOrphansMore(step, event);
    case 'interruptMore':
      return onInterruptMore(step, event);
    case 'admit':
      return; // the end of every step admits
    case 'recover':
      return onRecover(step, event);
    case 'leaving':
      return onLeaving(step);
    case 'broken':
      return onBroken(step, event.agent, event.message);
  }
}

function handleClient(step: Step, event: ClientEvent): void {
  switch (event.kind) {
    case 'agent/start':
      return onStart(step, event);
    case 'agent/send':
      return onSend(step, event);
    case 'agent/interrupt':
      return onInterrupt(step, event);
    case 'request/answer':
      return onAnswer(step, event);
    case 'request/answerMany':
      return onAnswerMany(step, event);
    case 'change/verdict':
      return onVerdict(step, event);
    case 'provider/set':
      return onProvider(step, event);
    case 'agent/fork':
      return onFork(step, event);
    case 'agent/rewind':
      return onRewind(step, event);
    case 'agent/rename':
      return onRename(step, event);
    case 'agent/configure':
      return onConfigure(step, event);
    case 'agent/compact':
      return onCompact(step, event);
    case 'agent/close':
      return onClose(step, event);
    case 'agent/delete':
      return onDelete(step, event);
    case 'agent/restore':
      return onRestore(step, event);
    case 'agent/import':
      return onImport(step, event);
    case 'trash/empty':
      return onEmpty(step, event);
    case 'trash/keep':
      return onTrashKeep(step, event);
    case 'turn/retry':
      return onRetry(step, event);
    case 'queue/remove':
      return onQueueRemove(step, event);
    case 'model/price':
      return onPrice(step, event);
    case 'model/role':
      return onRole(step, event);
    case 'command/kill':
      return onCommandKill(step, event);
    case 'budget/set':
      return onBudgetSet(step, event);
    case 'mcp/files':
      return onServerFiles(step, event);
    case 'trust/set':
      return onTrustSet(step, event);
    case 'checkpoint/restore':
      return onCheckpointRestore(step, event);
  }
}

function onSeen(step: Step, event: Extract<RuntimeEvent, { kind: 'looked' }>): void {
  onLooked(step, event);
  if (event.call !== 0) onSpawnMore(step, event.call);
}

function onProvider(step: Step, event: Extract<RuntimeEvent, { kind: 'provider/set' }>): void {
  const { params, reply } = event;
  const spec = JSON.stringify(params);
  const known = step.store.range('provider.name', [params.name], { limit: 1 })[0];
  if (known === undefined) step.store.insert('provider', { name: params.name, spec });
  else if (known.spec !== spec) step.store.update('provider', known.id, { spec });
  step.after(() => {
    step.rt.model.setProvider(params);
    step.rt.post({ kind: 'keys' });
    reply({ ok: true, value: {} });
  });
}

/** Somebody new may have keys: they are asked too, whoever is being asked at the moment. */
function onKeys(step: Step): void {
  step.after(() => step.rt.askingKey.clear());
  wakeWaiting(step, 'key', 0);
}

/** Agents that wait for a key, an editor, held budget or tools of servers look again, a slice at a time. Those with an open request wait for the person. */
function wakeWaiting(step: Step, why: keyof typeof wakeMore, after: number): void {
  const rows = step.store.range('agent.waiting', [why], { after, limit: limits.slice });
  for (const row of rows) {
    step.lookingAt = row.id;
    const agent = step.agent(row.id);
    // The row is as of the last commit; an earlier event of this step may have moved the agent.
    const parked = agent.phase === 'waiting' && agent.why === why;
    if (parked && agent.requests === 0) startRound(step, agent);
  }
  const last = rows.at(-1);
  if (rows.length < limits.slice || last === undefined) return;
  step.after(() => step.rt.post({ kind: wakeMore[why], after: last.id }));
}

/** The event that goes on with the next slice. */
const wakeMore = { key: 'keysMore', editor: 'editors', budget: 'budgetsMore', tools: 'offersMore' } as const;

function onAlarm(step: Step): void {
  expire(step);
  for (const timer of takeDue(step)) {
    step.lookingAt = timer.agent;
    const agent = step.findAgent(timer.agent);
    if (agent === undefined) continue;
    const parked = agent.phase === 'waiting' && (agent.why === 'rate' || agent.why === 'timer');
    if (timer.kind === 'rate' && parked && agent.turn === timer.ref) startRound(step, agent);
    if (timer.kind === 'notice') lookAtNotice(step, agent, false, true);
    if (timer.kind === 'wait') waitOver(step, timer.ref);
  }
}

/** Work on an agent met a bug: its turn ends with the message, and no other. */
function onBroken(step: Step, id: number, message: string): void {
  const agent = step.findAgent(id);
  if (agent === undefined || agent.phase === 'idle') return;
  stopWork(step, agent, 'Roost met a bug and ended the turn.');
  endTurn(step, agent, {
    outcome: 'failed',
    text: `Roost met a bug and ended this turn: ${message}`,
    answer: 0,
  });
}

/** The agent whose turn an event of a port belongs to; 0: none. */
export function agentOf(store: Store, event: RuntimeEvent): number {
  if (event.kind === 'modelEnd') return event.agent;
  if (
    event.kind === 'prepared' ||
    event.kind === 'touched' ||
    event.kind === 'callEnd' ||
    event.kind === 'spawnMore' ||
    event.kind === 'interruptMore'
  ) {
    return store.get('call', event.call)?.agent ?? 0;
  }
  return 0;
}
