// Commands that make agents work or watch them: run, send, follow, wait, result.
//
// Inside an agent's shell `run` makes the new agent a child of that agent, and while one of these waits, the slot
// of the command that it runs in is lent out (the sidecar does that, told by `call` in hello).

import { readFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';

import type { AgentRow } from '../protocol/agent.ts';
import { agentId, blobId, turnId, type AgentId, type TurnId } from '../protocol/ids.ts';
import type { Json, JsonObject } from '../protocol/json.ts';
import type { Result, TurnResult } from '../protocol/methods.ts';
import { newKey } from '../platform/random.ts';
import type { Command, RunOptions } from './args.ts';
import type { Context } from './context.ts';
import { Failure } from './failure.ts';
import { hasSecrets } from './secrets.ts';
import { Log, type Session } from './session.ts';
import type { Printer } from './printer.ts';
import { exitCodeOf, onInterrupt, waitMs, watchRest, watchTurn, type Handle } from './watch.ts';

type Of<K extends Command['kind']> = Extract<Command, { kind: K }>;

/** A detached command stays so long, at most, for the sidecar to ask it for a key. */
const lingerMs = 10_000;
const lookEveryMs = 50;

export function dispatch(
  context: Context,
  command: Of<'run' | 'send' | 'follow' | 'wait' | 'result'>,
): Promise<number> {
  switch (command.kind) {
    case 'run':
      return run(context, command);
    case 'send':
      return send(context, command);
    case 'follow':
      return follow(context, command);
    case 'wait':
      return wait(context, command);
    case 'result':
      return result(context, command);
  }
}

async function run(context: Context, options: RunOptions): Promise<number> {
  const { printer } = context;
  const handle = await begin(context, { ...options, text: readText(options.text) });
  await printer.print({
    type: 'started',
    agent: handle.agent,
    turn: handle.turn,
    name: handle.name,
    state: handle.state,
  });
  if (options.detach) {
    await linger(context, handle.agent);
    return 0;
  }
  return watchTurn(context, handle);
}

async function send(context: Context, command: Of<'send'>): Promise<number> {
  const row = await findAgent(context, command.agent);
  const handle = await sendTo(context, row, { ...command, text: readText(command.text) });
  const { agent, turn, name, state } = handle;
  await context.printer.print({ type: 'started', agent, turn, name, state });
  if (command.follow) return watchTurn(context, handle);
  await linger(context, agent);
  return 0;
}

async function follow({ session, printer }: Context, command: Of<'follow'>): Promise<number> {
  const agent = command.agent === null ? null : await findAgent({ session }, command.agent);
  const channel = { kind: 'log', agent: agent?.id ?? null } as const;
  const log = new Log(session, channel, command.after);
  onInterrupt(() => {
    const what = command.agent === null ? '--all' : command.agent;
    printer.note(`agents go on. Come back with: roost follow ${what} --after ${log.cursor}`);
  });
  const rest =
    agent === null || command.until !== 'rest' ? null : watchRest(session, agent.id, () => log.stop());
  // Handled where it is awaited; until then a failure must not count as one that nobody handles.
  rest?.catch(() => undefined);
  const caughtUp = await printLog(printer, log, command.until === 'stored');
  if (rest === null) return 0;
  const { id } = await rest;
  // What was written before it came to rest may still be on its way.
  await printLog(printer, new Log(session, channel, log.cursor), true, caughtUp);
  const found = await session.call('turn/result', { agent: id });
  await printer.print({ type: 'result', ...found });
  return exitCodeOf(found.outcome);
}

/** Prints a log, with one line where the stored part ends; `once`: until there. Returns whether it got there. */
async function printLog(printer: Printer, log: Log, once: boolean, told = false): Promise<boolean> {
  let caughtUp = told;
  for await (const event of log) {
    if (event.kind === 'entry') {
      await printer.print({ type: 'entry', ...event.entry });
      continue;
    }
    if (!caughtUp) await printer.print({ type: 'caughtUp', cursor: log.cursor });
    caughtUp = true;
    if (once) log.stop();
  }
  return caughtUp;
}

async function wait(context: Context, command: Of<'wait'>): Promise<number> {
  const { session, printer } = context;
  const turns = await Promise.all(command.targets.map((target) => findTurn(context, target)));
  const untilMs =
    command.timeoutMs === null ? Number.POSITIVE_INFINITY : performance.now() + command.timeoutMs;
  onInterrupt(() => printer.note(`the turns go on. Come back with: roost wait ${turns.join(' ')}`));
  for (;;) {
    const leftMs = Math.max(0, Math.round(Math.min(waitMs, untilMs - performance.now())));
    const mode = command.any ? 'any' : 'all';
    const { done, open } = await session.call('turn/wait', { turns, mode, timeoutMs: leftMs });
    const over = open.length === 0 || (command.any && 0 < done.length);
    if (!over && performance.now() < untilMs) continue;
    for (const result of done)
      await printer.print({ type: 'result', ...(await withResult(session, result)) });
    if (0 < open.length) await printer.print({ type: 'open', turns: open });
    return over && done.every((result) => result.outcome === 'done') ? 0 : 1;
  }
}

async function result(context: Context, command: Of<'result'>): Promise<number> {
  const { session, printer } = context;
  const number = numberIn(command.target);
  const found =
    number === null
      ? await session.call('turn/result', { agent: (await findAgent(context, command.target)).id })
      : await session.call('turn/result', { turn: turnId(number) });
  if (command.value) {
    if (found.result === null && found.outcome !== null)
      throw new Failure('turn/none', `Turn ${found.turn} of ${found.name} has handed in no result.`);
    if (found.result !== null) printer.json(found.result);
  } else {
    await printer.print({ type: 'result', ...(command.whole ? await whole(session, found) : found) });
  }
  if (found.outcome === null)
    printer.note(`turn ${found.turn} has not ended. Wait for it with: roost wait ${found.turn}`);
  return exitCodeOf(found.outcome);
}

/** An agent by number or by path of names; a plain name inside a shell may also be a child of its agent. */
export async function findAgent({ session }: Pick<Context, 'session'>, named: string): Promise<AgentRow> {
  const number = numberIn(named.replace(/^agent:/, ''));
  return session.call('agent/get', { agent: number === null ? named : agentId(number) });
}

async function begin(context: Context, options: RunOptions): Promise<Handle> {
  const { session } = context;
  const parent = await parentOf(context, options);
  const known = options.fresh ? null : await findByName(context, parent, options.agent ?? '');
  if (known !== null) return sendTo(context, known, options);
  const model = options.model ?? nonEmpty(process.env['ROOST_MODEL']);
  const started = await session.call('agent/start', {
    ...(options.agent === null ? {} : { name: options.agent }),
    ...(parent === null ? {} : { parent: parent.id }),
    text: options.text,
    workspace: path.resolve(options.workspace ?? parent?.workspace ?? process.cwd()),
    ...(options.profile === null ? {} : { profile: options.profile }),
    ...(model === null ? {} : { model }),
    ...(options.isolation === null ? {} : { isolation: options.isolation }),
    ...(options.mode === null ? {} : { mode: options.mode }),
    ...(options.budget === null ? {} : { budget: options.budget }),
    ...schemaIn(options.schema),
    key: context.key ?? newKey(),
  });
  return { ...started, state: 'started', after: 0 };
}

async function sendTo(
  { session, key }: Context,
  row: AgentRow,
  options: Pick<RunOptions, 'text' | 'delivery' | 'schema'>,
): Promise<Handle> {
  const newest = await session.call('entry/page', { agent: row.id, limit: 1 });
  const sentAs = key ?? newKey();
  const sent = await session.call('agent/send', {
    agent: row.id,
    text: options.text,
    delivery: options.delivery,
    ...schemaIn(options.schema),
    key: sentAs,
  });
  return { agent: row.id, name: row.name, ...sent, key: sentAs, after: newest.entries.at(-1)?.id ?? 0 };
}

/** Whose child a new agent is: as named, else of the agent in whose shell this runs. */
export async function parentOf(
  context: Context,
  { parent }: Pick<RunOptions, 'parent'>,
): Promise<AgentRow | null> {
  if (parent === 'none') return null;
  if (parent !== null) return findAgent(context, parent);
  return context.inside === null ? null : context.session.call('agent/get', { agent: context.inside });
}

/** The agent of this name among the children of `parent` (or the roots); null when there is none. */
async function findByName(
  { session }: Context,
  parent: AgentRow | null,
  name: string,
): Promise<AgentRow | null> {
  let names = name;
  for (let above = parent; above !== null;) {
    names = `${above.name}/${names}`;
    above = above.parent === null ? null : await session.call('agent/get', { agent: above.parent });
  }
  try {
    return await session.call('agent/get', { agent: names });
  } catch (error) {
    if (error instanceof Failure && error.code === 'agent/unknown') return null;
    throw error;
  }
}

/** Stays until the new turn has what it needs of this command: a key is asked for when the turn starts. */
export async function linger({ session, printer }: Context, agent: AgentId): Promise<void> {
  if (!hasSecrets(process.env)) return;
  const untilMs = performance.now() + lingerMs;
  while (performance.now() < untilMs) {
    const { phase, why } = await session.call('agent/get', { agent });
    if (phase !== 'ready' && why !== 'key') return;
    await sleep(lookEveryMs);
  }
  printer.note(
    'the turn waits for a slot or for a key. If it needs a key, any window or "roost follow" can give it.',
  );
}

async function findTurn(context: Context, target: string): Promise<TurnId> {
  const number = numberIn(target);
  if (number !== null) return turnId(number);
  const row = await findAgent(context, target);
  return row.turn ?? (await context.session.call('turn/result', { agent: row.id })).turn;
}

/** With the result that was handed in, when an answer about many turns had no room for it. */
async function withResult(session: Session, found: TurnResult): Promise<TurnResult> {
  if (found.result !== null || found.resultBytes === 0) return found;
  const { result } = await session.call('turn/result', { turn: found.turn });
  return { ...found, result };
}

/** The whole text of a result whose text is in a blob. */
async function whole(session: Session, found: TurnResult): Promise<TurnResult> {
  if (found.blob === null) return found;
  const parts: string[] = [];
  for (let offset: number | null = 0; offset !== null;) {
    const range: Result<'blob/read'> = await session.call('blob/read', {
      blob: blobId(found.blob),
      offset,
      limit: 128 * 1024,
    });
    parts.push(range.text);
    offset = range.nextOffset;
  }
  return { ...found, text: parts.join('') };
}

const isObject = (value: Json): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The schema in a file, as a call names it. */
export function schemaIn(file: string | null): { readonly schema?: JsonObject } {
  if (file === null) return {};
  try {
    const schema: Json = JSON.parse(readFileSync(file === '-' ? 0 : file, 'utf8'));
    if (isObject(schema)) return { schema };
  } catch (error) {
    throw new Failure('usage', `--schema ${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
  throw new Failure('usage', `--schema ${file}: a JSON Schema is an object.`);
}

function readText(text: string): string {
  return text === '-' ? readFileSync(0, 'utf8') : text;
}

const nonEmpty = (text: string | undefined): string | null =>
  text === undefined || text === '' ? null : text;

const numberIn = (text: string): number | null => (/^\d{1,15}$/.test(text) ? Number(text) : null);
