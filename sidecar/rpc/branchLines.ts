// The lines of a branch's file as they come from a client, checked (protocol/branchFile.ts): the file may be
// anybody's. What a line may mean where it stands is the runtime's (arrivals.ts).

import * as v from 'valibot';

import type { BranchLine, FileBody } from '../protocol/branchFile.ts';
import { branchFileVersion } from '../protocol/branchFile.ts';
import type { JsonObject } from '../protocol/json.ts';
import { limits } from '../runtime/limits.ts';

type Schema<T> = v.GenericSchema<unknown, T>;

const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
/** Latest moment that is a date. */
const time = v.pipe(count, v.maxValue(8.64e15));
const id = v.pipe(count, v.minValue(1));
const short = v.pipe(v.string(), v.maxLength(limits.nameChars));
// As people and agents may choose them, or as the first words of a task in any language make them.
const named = v.pipe(
  short,
  v.regex(/^[\p{L}\p{N}_.-]{1,80}$/u, 'a name has 1 to 80 letters, digits, . - or _'),
);
const text = v.pipe(v.string(), v.maxBytes(limits.branchLineBytes));
const sender = v.picklist(['person', 'parent', 'agent']);
const outcome = v.picklist(['done', 'failed', 'interrupted', 'superseded']);

/** Looking at it must not overflow the stack. */
function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return 0 < levels && Object.values(value).every((each) => isShallow(each, levels - 1));
}

const isObject = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  isShallow(value, limits.schemaDepth);

const object: Schema<JsonObject> = v.custom<JsonObject>(isObject, 'it must be an object that is not deep');
const opaque = v.exactOptional(object);

function isJson(value: string): boolean {
  try {
    JSON.parse(value);
    return true;
  } catch {
    return false;
  }
}

const block = v.variant('kind', [
  v.strictObject({ kind: v.literal('text'), text, opaque }),
  v.strictObject({
    kind: v.literal('thinking'),
    text,
    provider: short,
    signature: v.exactOptional(text),
    opaque,
  }),
  v.strictObject({ kind: v.literal('call'), key: short, tool: short, input: text, opaque }),
]);

const body: Schema<FileBody> = v.variant('kind', [
  v.strictObject({
    kind: v.literal('user'),
    from: sender,
    text,
    delivery: v.picklist(['turn', 'steer', 'message']),
    schema: v.exactOptional(object),
  }),
  v.strictObject({ kind: v.literal('notice'), text, outcomes: count }),
  v.strictObject({
    kind: v.literal('answer'),
    model: short,
    blocks: v.pipe(v.array(block), v.maxLength(limits.answerBlocks)),
    stop: v.picklist(['end', 'calls', 'length', 'refusal', 'pause']),
    usage: v.strictObject({ input: count, output: count, cacheRead: count, cacheWrite: count }),
  }),
  v.strictObject({
    kind: v.literal('result'),
    key: short,
    tool: short,
    status: v.picklist(['ok', 'error', 'unknown', 'interrupted']),
    text,
    whole: v.exactOptional(text),
  }),
  v.strictObject({ kind: v.literal('note'), text }),
  v.strictObject({ kind: v.literal('end'), outcome, text }),
]);

const limit = v.nullable(count);

/** Any line but the last. */
const branchLine: Schema<BranchLine> = v.variant('type', [
  v.strictObject({
    type: v.literal('branch'),
    version: v.literal(branchFileVersion),
    build: short,
    name: short,
    atMs: time,
  }),
  v.strictObject({
    type: v.literal('agent'),
    id,
    parent: v.nullable(id),
    name: named,
    task: v.pipe(v.string(), v.maxLength(2 * limits.taskChars)),
    model: short,
    profile: short,
    isolation: v.picklist(['shared', 'worktree', 'readonly']),
    closed: v.boolean(),
    createdAtMs: time,
    budget: v.strictObject({ microUsd: limit, tokens: limit, agents: limit, depth: limit }),
  }),
  v.strictObject({
    type: v.literal('turn'),
    cause: v.picklist(['message', 'spawn', 'notice', 'timer', 'followup', 'retry', 'compact']),
    from: sender,
    outcome: v.nullable(outcome),
    brief: v.pipe(v.string(), v.maxLength(4_096)),
    result: v.nullable(
      v.pipe(v.string(), v.maxBytes(limits.resultJsonBytes), v.check(isJson, 'it is no JSON')),
    ),
    startedAtMs: time,
    endedAtMs: v.nullable(time),
  }),
  v.strictObject({ type: v.literal('entry'), atMs: time, answer: v.exactOptional(v.literal(true)), body }),
  v.strictObject({
    type: v.literal('change'),
    label: v.pipe(v.string(), v.maxLength(4_096)),
    kind: v.picklist(['edit', 'create', 'delete']),
    state: v.picklist(['open', 'accepted', 'rejected', 'mixed']),
    added: count,
    removed: count,
    atMs: time,
  }),
]);

/** Whether lines may come in one part, which is one step: one line may be long, several may not. */
const isSmall = (lines: BranchLine[]): boolean =>
  lines.length <= 1 || Buffer.byteLength(JSON.stringify(lines)) <= limits.importPartBytes;

/** The lines of one part. */
export const branchLines: Schema<readonly BranchLine[]> = v.pipe(
  v.array(branchLine),
  v.maxLength(limits.importLines),
  v.check(isSmall, 'send fewer lines at once'),
);
