// Results of calls: each call gets exactly one, as an entry, in the transaction that closes it.

import { invariant } from '../core/assert.ts';
import type { AgentRecord, CallRecord, CallState } from '../core/rows.ts';
import type { EntryBody } from '../protocol/entry.ts';
import { blobId, callId } from '../protocol/ids.ts';
import type { Step } from './step.ts';

export interface CallResult {
  readonly status: 'ok' | 'error' | 'unknown' | 'interrupted';
  readonly text: string;
  readonly whole?: Uint8Array;
}

const stateOf: Record<CallResult['status'], CallState> = {
  ok: 'done',
  error: 'done',
  unknown: 'unknown',
  interrupted: 'interrupted',
};

/** Changes a call's row; one that is being planned is written once, as the step leaves it. */
export function setCall(step: Step, call: CallRecord, patch: Partial<Omit<CallRecord, 'id'>>): void {
  Object.assign(call, patch);
  if (patch.state !== undefined) step.callsChanged(call.agent);
  if (step.planning !== call) step.store.update('call', call.id, patch);
}

/** Writes the result of an open call. The agent's phase follows at the end of the step. */
export function finishCall(step: Step, agent: AgentRecord, call: CallRecord, result: CallResult): void {
  invariant(call.open === 1, 'a result answers an open call', { call: call.id });
  const body: EntryBody = {
    kind: 'result',
    call: callId(call.id),
    key: call.key,
    tool: call.tool,
    status: result.status,
    text: result.text,
    ...(result.whole === undefined ? {} : { blob: blobId(step.store.putBlob(result.whole)) }),
  };
  const entry = step.addEntry(agent, call.turn, body);
  step.closedCalls.add(call.id);
  setCall(step, call, { state: stateOf[result.status], open: 0, result: entry });
  step.callsChanged(agent.id);
  step.unsettled.add(agent.id);
}
