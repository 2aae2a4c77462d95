// Typed results: a task may come with a JSON Schema, and the turn then ends well only with a result that fits it.
//
// The schema is a shared blob that the task's entry names; the model reads it behind the task. A result that does not
// fit is an error that says what is wrong, and a turn that would end without one is asked again; both are bounded by
// limits.resultTries, after which the turn has failed. What was accepted is named by its call until the turn ends, and
// a steer that is read after it makes it superseded: it answers less than what was asked.

import { readSchema, type ResultSchema } from '../core/schema.ts';
import type { AgentRecord, CallRecord } from '../core/rows.ts';
import { utf8Bytes } from '../core/text.ts';
import { parseVerb } from '../core/verbs.ts';
import type { JsonObject } from '../protocol/json.ts';
import { inputOf } from './jobs.ts';
import { limits } from './limits.ts';
import { remember } from './memory.ts';
import { pinnedProfile } from './profiles.ts';
import { finishCall } from './results.ts';
import { sharedBlob } from './shared.ts';
import type { Step } from './step.ts';
import { schemaIn } from './transcript.ts';

/** The blob of a schema that comes with a task; 0: none came. A text: why it cannot be taken. `profile`: who is asked. */
export function pinSchema(
  step: Step,
  schema: JsonObject | null | undefined,
  profile: number,
): number | string {
  if (schema === null || schema === undefined) return 0;
  const json = JSON.stringify(schema);
  if (limits.schemaBytes < utf8Bytes(json))
    return `The result schema has more than ${limits.schemaBytes} bytes. Make it smaller; descriptions count too.`;
  const read = readSchema(schema, limits);
  if (typeof read === 'string') return read;
  const pinned = pinnedProfile(step, profile);
  if (!pinned.tools.some((tool) => tool.name === 'submit_result')) {
    return `The profile ${pinned.revision.name} does not offer submit_result, so it cannot hand in a result. Leave the schema out, or use another profile.`;
  }
  return sharedBlob(step, json);
}

/** Takes a result that the model hands in, or says what is wrong with it. One that was taken before stays then. */
export function submitResult(step: Step, agent: AgentRecord, call: CallRecord, result: JsonObject): void {
  const problem = problemOf(step, agent, result);
  if (problem === null) {
    agent.result = call.id;
    finishCall(step, agent, call, {
      status: 'ok',
      text: 'Recorded. It is handed over when you end your turn.',
    });
    return;
  }
  agent.misses += 1;
  const left = limits.resultTries - agent.misses;
  const next =
    agent.result !== 0
      ? 'The one that you handed in before stays.'
      : left > 0
        ? `Hand in the whole result again. Tries left: ${left}.`
        : 'There are no tries left.';
  finishCall(step, agent, call, { status: 'error', text: `${problem}\n${next}` });
}

function problemOf(step: Step, agent: AgentRecord, result: JsonObject): string | null {
  const bytes = utf8Bytes(JSON.stringify(result));
  if (limits.resultJsonBytes < bytes) {
    return `The result has ${bytes} bytes; at most ${limits.resultJsonBytes} are taken. Write the long parts to a file and name the file in the result.`;
  }
  if (agent.schema === 0) return null;
  const problem = schemaOf(step, agent.schema).problemOf(result);
  return problem === null ? null : `The result does not fit its schema, so it was not taken:\n${problem}`;
}

/** A turn would end without the result that was asked for. Returns what its model is told; null: nothing is missing. */
export function missingResult(agent: AgentRecord): string | null {
  if (agent.schema === 0 || agent.result !== 0) return null;
  agent.misses += 1;
  return '[roost] You have not handed in your result. Call submit_result with JSON that fits the schema that came with your task, then end your turn.';
}

/** Why a turn cannot go on to hand in a result; null while it may. */
export function noResult(agent: AgentRecord): string | null {
  if (agent.schema === 0 || agent.result !== 0 || agent.misses < limits.resultTries) return null;
  return `No result that fits its schema came in ${agent.misses} tries; the transcript says what was wrong with each. Send the task again, with a simpler schema or another model.`;
}

/** A message entered the turn that asks for more than the result answers which was handed in before it. */
export function supersedeResult(step: Step, agent: AgentRecord): void {
  if (agent.result === 0) return;
  agent.result = 0;
  const text =
    '[roost] The result that you handed in is superseded: it came before this message. Hand in one that answers it too.';
  step.addEntry(agent, agent.turn, { kind: 'note', text });
}

/** The JSON of the result that the open turn hands over; null: it has none. */
export function resultOf(step: Step, agent: AgentRecord): string | null {
  const call = agent.result === 0 ? undefined : step.store.get('call', agent.result);
  if (call === undefined) return null;
  const verb = parseVerb(call.tool, inputOf(step, call));
  return verb.kind === 'submit_result' ? JSON.stringify(verb.result) : null;
}

/** A schema as it was taken. It was judged then, so it reads. */
function schemaOf(step: Step, blob: number): ResultSchema {
  const { schemas } = step.rt;
  const known = schemas.get(blob);
  if (known !== undefined) return known;
  const json: JsonObject = JSON.parse(schemaIn(step.store, blob));
  const read = readSchema(json, limits);
  if (typeof read === 'string') throw new Error(`A schema that was taken cannot be read: ${read}`);
  // After the commit: the blob of a step that is rolled back may be another's later.
  step.after(() => remember(schemas, blob, read, limits.schemasKept));
  return read;
}
