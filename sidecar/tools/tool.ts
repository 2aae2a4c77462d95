// What a tool is to the registry: its words for the model, and how it looks, acts and judges after a crash.
//
// Inside, tools may be async; the registry turns them into the callbacks of the Tools port. What can happen is in
// the results; a rejected promise is a bug or a failing disk, and becomes an error that the model is told.

import type { CallClass, Prepared, ToolJob, ToolOutcome, ToolSpec } from '../ports.ts';
import type { CallId } from '../protocol/ids.ts';
import type { JsonObject, Json } from '../protocol/json.ts';

/** What a running tool is given besides its job. */
export interface Doing {
  /** Aborted when the call is interrupted. */
  readonly signal: AbortSignal;
  /** Newest output, for those who look. */
  readonly output: (text: string) => void;
}

export interface Tool {
  readonly spec: ToolSpec;
  readonly callClass: CallClass;
  prepare(job: ToolJob): Promise<Prepared>;
  /** For a tool that only reads its arguments to prepare; null: not yet, something is loaded for it. */
  prepareNow?(job: ToolJob): Prepared | null;
  run(job: ToolJob, evidence: Json, doing: Doing): Promise<ToolOutcome>;
  /** Whether this call may write files; when not given every call may that is not pure. */
  mayWrite?(job: ToolJob): boolean;
  recover(job: ToolJob, evidence: Json, doing: Doing): Promise<ToolOutcome>;
  /** The end of a call, which the tool has told, is committed: it will not be recovered any more. */
  settled?(call: CallId): void;
}

export const refuse = (text: string): Prepared => ({ kind: 'refuse', text });
export const failure = (text: string): ToolOutcome => ({ status: 'error', text });

/** JSON Schema of an object with these properties and no others. */
export function schemaOf(properties: JsonObject, required: readonly string[]): JsonObject {
  return { type: 'object', properties, required, additionalProperties: false };
}

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
