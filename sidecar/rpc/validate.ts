// What a client may ask, as schemas: the wire's table (protocol/methods.ts) once more, for data that is not ours.
//
// A field that is missing, of another type, too long or unknown is an error that names it (case: a newer client
// is told so instead of being half obeyed). After this point params are trusted. The type of the table makes a
// method without a schema, or with a schema of another shape, not compile.

import * as v from 'valibot';

import { RoostError } from '../protocol/errors.ts';
import * as ids from '../protocol/ids.ts';
import type { Channel } from '../protocol/frame.ts';
import type { JsonObject } from '../protocol/json.ts';
import type { LmEnding, LmPart, ModelOffer } from '../protocol/editorModel.ts';
import type { EditorMethods } from '../protocol/editorMethods.ts';
import type { ClientNotifications, MethodName, Methods, Params } from '../protocol/methods.ts';
import type { TreeQuery } from '../protocol/tree.ts';
import { branchLines } from './branchLines.ts';
import { limits } from '../runtime/limits.ts';

type Schema<T> = v.GenericSchema<unknown, T>;

const id = v.pipe(v.number(), v.safeInteger(), v.minValue(1));
const cursor = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const agent = v.pipe(id, v.transform(ids.agentId));
const turn = v.pipe(id, v.transform(ids.turnId));
const entry = v.pipe(cursor, v.transform(ids.entryId));
const call = v.pipe(id, v.transform(ids.callId));
const request = v.pipe(id, v.transform(ids.requestId));
const change = v.pipe(id, v.transform(ids.changeId));
const checkpoint = v.pipe(id, v.transform(ids.checkpointId));
const blob = v.pipe(id, v.transform(ids.blobId));

const name = v.pipe(v.string(), v.minLength(1), v.maxLength(limits.nameChars));
const key = v.pipe(v.string(), v.minLength(1), v.maxLength(200));
const text = v.pipe(v.string(), v.maxBytes(limits.messageBytes));
const pageLimit = v.pipe(v.number(), v.safeInteger(), v.minValue(1));
const nothing = v.strictObject({});

const isolation = v.picklist(['shared', 'worktree', 'readonly']);
const mode = v.picklist(['ask', 'edits', 'auto']);
const budgetPart = v.exactOptional(v.nullable(count));
const microUsd = v.pipe(count, v.maxValue(limits.priceMicroUsd));
const price = v.strictObject({
  input: microUsd,
  output: microUsd,
  cacheRead: v.exactOptional(microUsd),
  cacheWrite: v.exactOptional(microUsd),
});
const budget = v.strictObject({
  microUsd: budgetPart,
  tokens: budgetPart,
  agents: budgetPart,
  depth: budgetPart,
  wallMs: budgetPart,
});

// What it may hold is looked at where it is taken (core/schema.ts); here only that looking cannot overflow the stack.
const schema: Schema<JsonObject> = v.custom<JsonObject>(
  (value) => isObject(value) && isShallow(value, limits.schemaDepth),
  `it must be an object of at most ${limits.schemaDepth} levels`,
);

const isObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return 0 < levels && Object.values(value).every((each) => isShallow(each, levels - 1));
}

const answer = v.variant('kind', [
  v.strictObject({ kind: v.literal('allow') }),
  v.strictObject({ kind: v.literal('deny'), reason: text }),
  v.strictObject({ kind: v.literal('text'), text }),
]);

const treeQuery: Schema<TreeQuery> = v.strictObject({
  expanded: v.pipe(v.array(agent), v.maxLength(limits.expandedAgents)),
  order: v.picklist(['attention', 'created']),
  filter: v.pipe(v.string(), v.maxLength(limits.nameChars)),
  top: count,
  height: v.pipe(count, v.maxValue(limits.windowRows)),
});

const channel: Schema<Channel> = v.variant('kind', [
  v.strictObject({ kind: v.literal('fleet') }),
  v.strictObject({ kind: v.literal('tree'), query: treeQuery }),
  v.strictObject({ kind: v.literal('agent'), agent }),
  v.strictObject({ kind: v.literal('changes'), agent: v.nullable(agent) }),
  v.strictObject({ kind: v.literal('requests') }),
  v.strictObject({ kind: v.literal('log'), agent: v.nullable(agent) }),
]);

// Hello alone may hold more than is known here: a client with a newer minor version attaches.
const hello: Schema<Params<'hello'>> = v.object({
  protocol: v.object({ major: count, minor: count }),
  build: name,
  nonce: v.pipe(v.string(), v.maxLength(200)),
  client: v.object({ kind: v.picklist(['extension', 'cli', 'test', 'bench']), name }),
  can: v.pipe(v.array(v.picklist(['buffers', 'secrets', 'reveal', 'languages'])), v.maxLength(8)),
  workspaces: v.pipe(v.array(name), v.maxLength(100)),
  call: v.exactOptional(call),
});

const start: Schema<Params<'agent/start'>> = v.strictObject({
  name: v.exactOptional(name),
  parent: v.exactOptional(agent),
  text,
  workspace: name,
  profile: v.exactOptional(name),
  model: v.exactOptional(name),
  isolation: v.exactOptional(isolation),
  mode: v.exactOptional(mode),
  budget: v.exactOptional(budget),
  schema: v.exactOptional(schema),
  key,
});

const groupStart = {
  name: v.exactOptional(name),
  parent: v.exactOptional(agent),
  workspace: name,
  model: v.exactOptional(name),
  isolation: v.exactOptional(isolation),
  mode: v.exactOptional(mode),
  budget: v.exactOptional(budget),
  schema: v.exactOptional(schema),
  key,
};

const runner = v.strictObject({
  name: v.exactOptional(v.pipe(name, v.regex(/^[\w-]{1,60}$/, 'use 1 to 60 letters, digits, - or _'))),
  profile: v.exactOptional(name),
  model: v.exactOptional(name),
});

const verdict: Schema<Params<'change/verdict'>> = v.strictObject({
  change,
  verdict: v.picklist(['accept', 'reject']),
  hunks: v.union([v.literal('all'), v.pipe(v.array(name), v.maxLength(limits.waitTurns))]),
  merged: v.exactOptional(v.boolean()),
  baseHash: v.pipe(v.string(), v.maxLength(200)),
  afterHash: v.pipe(v.string(), v.maxLength(200)),
  key,
});

const provider = v.pipe(
  v.strictObject({
    name,
    dialect: v.picklist(['anthropic', 'chat', 'responses', 'scripted']),
    baseUrl: name,
    keyHeader: v.exactOptional(v.picklist(['authorization', 'api-key'])),
    keyless: v.exactOptional(v.boolean()),
    caFile: v.exactOptional(name),
    contextTokens: v.exactOptional(
      v.pipe(count, v.minValue(limits.windowLeastTokens), v.maxValue(limits.windowMostTokens)),
    ),
  }),
  v.check(
    ({ dialect, baseUrl }) => dialect === 'scripted' || /^https?:\/\/./.test(baseUrl),
    'baseUrl must begin with https:// or http://',
  ),
);

// What came as JSON is JSON: only that it is an object is left to see.
const jsonObject = v.custom<JsonObject>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
);

const offer: Schema<ModelOffer> = v.strictObject({
  models: v.pipe(
    v.array(v.strictObject({ id: name, name, inputTokens: count })),
    v.maxLength(limits.modelsListed),
  ),
  swarms: v.boolean(),
});

const answerPart: Schema<LmPart> = v.variant('kind', [
  v.strictObject({ kind: v.literal('text'), text: v.string() }),
  v.strictObject({ kind: v.literal('call'), key: v.string(), tool: v.string(), input: jsonObject }),
]);

const lmEnding: Schema<LmEnding> = v.variant('kind', [
  v.strictObject({
    kind: v.literal('answer'),
    parts: v.pipe(v.array(answerPart), v.maxLength(limits.answerBlocks)),
  }),
  v.strictObject({ kind: v.literal('error'), code: v.string(), message: v.string() }),
]);

const schemas: { readonly [M in MethodName]: Schema<Params<M>> } = {
  hello,
  ping: nothing,
  'agent/start': start,
  'agent/send': v.strictObject({
    agent,
    text,
    delivery: v.picklist(['queue', 'steer', 'reject']),
    schema: v.exactOptional(schema),
    key,
  }),
  'agent/get': v.strictObject({ agent: v.union([agent, name]) }),
  'agent/list': v.strictObject({ parent: v.nullable(agent), after: v.nullable(agent), limit: pageLimit }),
  'agent/interrupt': v.strictObject({ agent, branch: v.boolean(), key }),
  'turn/list': v.strictObject({ agent, before: v.nullable(turn), limit: pageLimit }),
  'turn/result': v.strictObject({ turn: v.exactOptional(turn), agent: v.exactOptional(agent) }),
  'turn/wait': v.strictObject({
    turns: v.pipe(v.array(turn), v.minLength(1), v.maxLength(limits.waitTurns)),
    mode: v.picklist(['any', 'all']),
    timeoutMs: count,
  }),
  'entry/page': v.strictObject({
    agent,
    before: v.exactOptional(entry),
    after: v.exactOptional(entry),
    turn: v.exactOptional(turn),
    limit: pageLimit,
  }),
  'blob/read': v.strictObject({ blob, offset: count, limit: pageLimit }),
  'tree/window': treeQuery,
  'follow/open': v.strictObject({ channel, after: v.exactOptional(entry) }),
  'follow/move': v.strictObject({ follow: id, channel }),
  'follow/close': v.strictObject({ follow: id }),
  'request/list': v.strictObject({ after: v.nullable(request), limit: pageLimit }),
  'request/answer': v.strictObject({ request, answer, key }),
  'request/answerMany': v.strictObject({
    requests: v.pipe(v.array(request), v.minLength(1), v.maxLength(limits.waitTurns)),
    answer,
    key,
  }),
  'command/list': v.strictObject({ agent: v.nullable(agent), after: v.nullable(call), limit: pageLimit }),
  'command/output': v.strictObject({ command: call, after: count }),
  'command/kill': v.strictObject({ command: call, key }),
  'change/list': v.strictObject({ agent: v.nullable(agent), after: v.nullable(change), limit: pageLimit }),
  'change/get': v.strictObject({ change }),
  'change/verdict': verdict,
  'checkpoint/list': v.strictObject({
    agent: v.nullable(agent),
    workspace: v.nullable(name),
    before: v.nullable(checkpoint),
    limit: pageLimit,
  }),
  'checkpoint/preview': v.strictObject({ checkpoint }),
  'checkpoint/restore': v.strictObject({
    checkpoint,
    paths: v.union([
      v.literal('all'),
      v.pipe(v.array(name), v.minLength(1), v.maxLength(limits.previewFiles)),
    ]),
    key,
  }),
  'worktree/list': v.strictObject({ agent: v.nullable(agent), after: v.nullable(agent), limit: pageLimit }),
  'worktree/remove': v.strictObject({ agent, force: v.boolean() }),
  'provider/set': provider,
  'agent/fork': v.strictObject({
    agent,
    turn: v.nullable(turn),
    name: v.exactOptional(name),
    text,
    schema: v.exactOptional(schema),
    key,
  }),
  'agent/rewind': v.strictObject({ agent, turn, stop: v.exactOptional(v.boolean()), key }),
  'agent/rename': v.strictObject({ agent, name, key }),
  'agent/configure': v.strictObject({
    agent,
    profile: v.exactOptional(name),
    model: v.exactOptional(name),
    mode: v.exactOptional(mode),
    isolation: v.exactOptional(isolation),
    key,
  }),
  'agent/compact': v.strictObject({
    agent,
    focus: v.exactOptional(v.pipe(v.string(), v.maxBytes(limits.focusBytes))),
    key,
  }),
  'agent/close': v.strictObject({ agent, key }),
  'agent/delete': v.strictObject({ agent, key }),
  'agent/restore': v.strictObject({ agent, key }),
  'agent/export': v.strictObject({ agent, cursor: v.nullable(v.pipe(v.string(), v.maxLength(100))) }),
  'agent/import': v.strictObject({
    key,
    workspace: name,
    after: count,
    lines: branchLines,
    last: v.boolean(),
  }),
  'trash/empty': v.strictObject({
    agents: v.nullable(v.pipe(v.array(agent), v.minLength(1), v.maxLength(limits.waitTurns))),
    key,
  }),
  'trash/keep': v.strictObject({ keptMs: v.nullable(count), key }),
  'trash/list': v.strictObject({ after: v.nullable(id), limit: pageLimit }),
  'turn/retry': v.strictObject({ agent, key }),
  'queue/list': v.strictObject({ agent, after: v.nullable(turn), limit: pageLimit }),
  'queue/remove': v.strictObject({ turn, key }),
  'budget/get': v.strictObject({ agent }),
  'budget/set': v.strictObject({ agent, budget, key }),
  'profile/list': v.strictObject({ workspace: name }),
  'trust/set': v.strictObject({
    workspace: name,
    hashes: v.pipe(
      v.array(v.pipe(v.string(), v.hexadecimal(), v.length(64))),
      v.maxLength(limits.trustHashes),
    ),
    trusted: v.boolean(),
    key,
  }),
  'model/offer': offer,
  'fan/start': v.strictObject({
    ...groupStart,
    template: text,
    items: v.pipe(v.array(text), v.minLength(1), v.maxLength(limits.spawnTasks)),
    profile: v.exactOptional(name),
    atOnce: v.exactOptional(v.pipe(count, v.minValue(1))),
  }),
  'race/start': v.strictObject({
    ...groupStart,
    text,
    runners: v.pipe(v.array(runner), v.minLength(2), v.maxLength(limits.raceRunners)),
  }),
  'group/compare': v.strictObject({ agent, after: v.nullable(agent), limit: pageLimit }),
  'group/pick': v.strictObject({ agent, winner: agent, key }),
  'model/price': v.strictObject({ model: name, price: v.nullable(price) }),
  'model/role': v.strictObject({ profile: name, model: v.nullable(name) }),
  'cost/get': v.strictObject({
    agent: v.nullable(agent),
    days: v.pipe(count, v.maxValue(limits.costDays)),
    offsetMinutes: v.pipe(v.number(), v.safeInteger(), v.minValue(-840), v.maxValue(840)),
  }),
  'cost/ledger': v.strictObject({ agent: v.nullable(agent), after: count, limit: pageLimit }),
  'mcp/list': v.strictObject({ workspace: name, connect: v.boolean() }),
  'mcp/restart': v.strictObject({ workspace: name, hash: name }),
  'mcp/files': v.strictObject({
    files: v.pipe(
      v.array(v.pipe(name, v.regex(/^(\/|[a-z]:[\\/])/i, 'it must be an absolute path'))),
      v.maxLength(limits.serverFiles),
    ),
    key,
  }),
  'model/list': nothing,
  'store/info': nothing,
  'store/doctor': nothing,
  shutdown: nothing,
};

const codePosition = v.strictObject({ line: count, character: count });
const codeRange = v.strictObject({ start: codePosition, end: codePosition });

type EditorResults = { readonly [M in keyof EditorMethods]: Schema<EditorMethods[M]['result']> };

/** What a client may answer when it is asked. Longer texts than a message may have do not arrive at all. */
export const editorResults: EditorResults = {
  'editor/readText': v.strictObject({ text: v.nullable(v.string()) }),
  'editor/applyEdit': v.strictObject({ applied: v.boolean() }),
  'editor/diagnostics': v.strictObject({
    diagnostics: v.array(
      v.strictObject({
        path: v.string(),
        range: codeRange,
        severity: v.picklist([1, 2, 3, 4]),
        message: v.string(),
        source: v.nullable(v.string()),
        code: v.nullable(v.string()),
      }),
    ),
    more: count,
    unseen: v.boolean(),
  }),
  'editor/locations': v.strictObject({
    locations: v.array(v.strictObject({ path: v.string(), range: codeRange, text: v.nullable(v.string()) })),
    more: count,
  }),
  'editor/rename': v.variant('kind', [
    v.strictObject({
      kind: v.literal('edit'),
      renames: v.nullable(v.string()),
      documentChanges: v.array(
        v.strictObject({
          path: v.string(),
          text: v.string(),
          edits: v.array(v.strictObject({ range: codeRange, newText: v.string() })),
        }),
      ),
      fileOperations: count,
    }),
    v.strictObject({ kind: v.literal('stale') }),
    v.strictObject({ kind: v.literal('refused'), unknown: v.boolean(), message: v.string() }),
  ]),
  'editor/secret': v.strictObject({
    key: v.nullable(v.pipe(v.string(), v.maxLength(limits.nameChars))),
    baseUrl: v.exactOptional(name),
  }),
  'editor/modelPage': nothing,
  'editor/modelAsk': lmEnding,
  'editor/modelDrop': nothing,
};

type ClientNotice = keyof ClientNotifications;

const notices: { readonly [N in ClientNotice]: Schema<ClientNotifications[N]> } = {
  'editor/modelSaid': v.strictObject({ request: id, text: v.string() }),
};

/** What a client tells unasked, checked; null when the wire has no such notification, or not with these params. */
export function validateNotice<N extends ClientNotice>(
  notice: N,
  params: unknown,
): ClientNotifications[N] | null {
  const schema: Schema<ClientNotifications[N]> = notices[notice];
  const parsed = v.safeParse(schema, params, { abortEarly: true });
  return parsed.success ? parsed.output : null;
}

/** Whether the wire has this method. */
export function isMethod(method: string): method is MethodName {
  return Object.hasOwn(schemas, method);
}

/** The params of a call, checked. Throws `request/invalid` with the field and what is wrong with it. */
export function validate<M extends MethodName>(method: M, params: unknown): Methods[M]['params'] {
  const schema: Schema<Params<M>> = schemas[method];
  const parsed = v.safeParse(schema, params ?? {}, { abortEarly: true });
  if (parsed.success) return parsed.output;
  throw new RoostError('request/invalid', `${method}: ${describe(parsed.issues[0])}`);
}

/** A client's answer, checked; null when it is not what the method promises. */
export function validateAnswer<M extends keyof EditorMethods>(
  method: M,
  answered: unknown,
): EditorMethods[M]['result'] | null {
  const schema: Schema<EditorMethods[M]['result']> = editorResults[method];
  const parsed = v.safeParse(schema, answered, { abortEarly: true });
  return parsed.success ? parsed.output : null;
}

function describe(issue: v.BaseIssue<unknown>): string {
  const path = v.getDotPath(issue);
  if (path === null) return `params must be an object, not ${issue.received}.`;
  if (issue.expected === 'never') {
    return `unknown field "${path}". A newer client may know it; this sidecar does not. Leave it out or update Roost.`;
  }
  if (issue.received === 'undefined') return `field "${path}" is missing.`;
  return `field "${path}" is not valid: ${issue.message}.`;
}
