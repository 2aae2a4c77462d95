// Clients that run in the command of an agent: who speaks when they do, and what they may start.

import { modeBelow } from '../core/knowledge.ts';
import type { Mode } from '../protocol/agent.ts';
import type { ClientEvent } from './event.ts';
import type { Problem } from './standing.ts';
import type { Step } from './step.ts';

/** Who speaks: the agent in whose command the client runs, 0 for a person. */
export function callerOf(step: Step, { call }: Pick<ClientEvent, 'call'>): number {
  return call === undefined ? 0 : (step.store.get('call', call)?.agent ?? 0);
}

/**
 * Why a client in the command of an agent may not start one there; null: it may. A command starts agents below its own
 * agent: anywhere else they would be out of its budget and its person's sight (I7).
 */
export function reachProblem(step: Step, event: Pick<ClientEvent, 'call'>, parent: number): Problem | null {
  if (event.call === undefined) return null;
  const caller = callerOf(step, event);
  const isBelow = caller !== 0 && parent !== 0 && step.lineage(parent).some(({ id }) => id === caller);
  const message = 'A command of an agent starts agents below that agent only. Leave the parent out.';
  return isBelow ? null : { code: 'request/invalid', message };
}

/** The mode that one may have who is started by a client: in a command never more than the command's agent has. */
export function modeFrom(step: Step, event: Pick<ClientEvent, 'call'>, wanted: Mode): Mode {
  const caller = callerOf(step, event);
  return caller === 0 ? wanted : modeBelow(step.agent(caller).mode, wanted);
}

/** The turn of `parent` in whose command the client runs; 0: it runs in none of its commands. */
export function turnOfCaller(step: Step, { call }: Pick<ClientEvent, 'call'>, parent: number): number {
  const row = call === undefined ? undefined : step.store.get('call', call);
  return row === undefined || row.agent !== parent ? 0 : row.turn;
}
