// Commands that look and decide: ls, interrupt, answer, review, info, doctor, shutdown.

import { existsSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';

import { changeId, requestId, type AgentId } from '../protocol/ids.ts';
import type { Answer, RequestRow } from '../protocol/request.ts';
import { discoveryFile } from '../protocol/discovery.ts';
import { unsafeFileSystem } from '../platform/fileSystem.ts';
import { readDiscovery } from '../platform/paths.ts';
import { isRunning } from '../platform/processes.ts';
import { newKey } from '../platform/random.ts';
import { nodeProblem } from '../platform/selfTest.ts';
import type { Command } from './args.ts';
import { Failure } from './failure.ts';
import type { Printer } from './printer.ts';
import type { Session } from './session.ts';
import type { Context } from './context.ts';
import { findAgent } from './work.ts';

type Of<K extends Command['kind']> = Extract<Command, { kind: K }>;

/** Rows asked for at a time. */
const pageRows = 200;

export function agents(context: Context, command: Of<'ls' | 'interrupt'>): Promise<number> {
  return command.kind === 'ls' ? ls(context, command) : interrupt(context, command);
}

async function ls(context: Context, command: Of<'ls'>): Promise<number> {
  const parent = command.agent === null ? null : (await findAgent(context, command.agent)).id;
  await listChildren(context, parent, command.all);
  return 0;
}

/** Depth is bounded by the runtime (32), a page by `pageRows`: nothing here grows with the forest. */
async function listChildren(context: Context, parent: AgentId | null, all: boolean): Promise<void> {
  for (let after: AgentId | null = null; ;) {
    const page: Awaited<ReturnType<typeof readPage>> = await readPage(context.session, parent, after);
    for (const row of page.rows) {
      await context.printer.print({ type: 'agent', ...row });
      if (all && 0 < row.children) await listChildren(context, row.id, true);
      after = row.id;
    }
    if (!page.more || page.rows.length === 0) return;
  }
}

const readPage = (session: Session, parent: AgentId | null, after: AgentId | null) =>
  session.call('agent/list', { parent, after, limit: pageRows });

async function interrupt(context: Context, command: Of<'interrupt'>): Promise<number> {
  const { id } = await findAgent(context, command.agent);
  const { stopped } = await context.session.call('agent/interrupt', {
    agent: id,
    branch: command.branch,
    key: context.key ?? newKey(),
  });
  await context.printer.print({ type: 'interrupted', agent: id, stopped });
  return 0;
}

export async function requests({ session, printer }: Context): Promise<number> {
  for (const row of await openRequests(session)) await printer.print({ type: 'request', ...row });
  return 0;
}

export async function answer(context: Context, command: Of<'answer'>): Promise<number> {
  const { session, printer } = context;
  const given = command.requests.map(requestId);
  const ids = given.length === 0 ? [await theOnlyRequest(session)] : given;
  const words = parseAnswer(command.words);
  const key = context.key ?? newKey();
  const [first] = ids;
  if (first !== undefined && ids.length === 1) {
    const { state } = await session.call('request/answer', { request: first, answer: words, key });
    const applied = state === 'applied' ? 1 : 0;
    await printer.print({ type: 'answered', applied, stale: 1 - applied });
    return state === 'applied' ? 0 : 1;
  }
  const { applied, stale } = await session.call('request/answerMany', { requests: ids, answer: words, key });
  await printer.print({ type: 'answered', applied, stale });
  return stale === 0 ? 0 : 1;
}

function parseAnswer([first = '', ...rest]: readonly string[]): Answer {
  const others = rest.join(' ');
  if (first === 'allow' && others === '') return { kind: 'allow' };
  if (first === 'deny') return { kind: 'deny', reason: others };
  return { kind: 'text', text: [first, ...rest].join(' ') };
}

async function theOnlyRequest(session: Session): Promise<RequestRow['id']> {
  const open = await openRequests(session);
  const [only] = open;
  if (only !== undefined && open.length === 1) return only.id;
  const found =
    open.length === 0 ? 'Nothing waits for an answer.' : `${open.length} requests wait; name one.`;
  throw new Failure('request/unknown', `${found} "roost answer --list" shows them.`);
}

async function openRequests(session: Session): Promise<readonly RequestRow[]> {
  const rows: RequestRow[] = [];
  for (;;) {
    const page = await session.call('request/list', { after: rows.at(-1)?.id ?? null, limit: pageRows });
    rows.push(...page.rows);
    if (!page.more || page.rows.length === 0) return rows;
  }
}

/** Changes of files: the list, one of them, a verdict. */
export function look(context: Context, command: Of<'review' | 'change' | 'verdict'>): Promise<number> {
  if (command.kind === 'review') return review(context, command);
  return command.kind === 'change' ? change(context, command) : verdict(context, command);
}

async function review(context: Context, command: Of<'review'>): Promise<number> {
  const { session, printer } = context;
  const agent = command.agent === null ? null : (await findAgent(context, command.agent)).id;
  for (let after = null; ;) {
    const page: Awaited<ReturnType<typeof readChanges>> = await readChanges(session, agent, after);
    for (const row of page.rows) await printer.print({ type: 'change', ...row });
    after = page.rows.at(-1)?.id ?? null;
    if (!page.more || after === null) return 0;
  }
}

const readChanges = (session: Session, agent: AgentId | null, after: ReturnType<typeof changeId> | null) =>
  session.call('change/list', { agent, after, limit: pageRows });

async function change({ session, printer }: Context, command: Of<'change'>): Promise<number> {
  const detail = await session.call('change/get', { change: changeId(command.change) });
  await printer.print({ type: 'change', ...detail });
  return 0;
}

async function verdict({ session, printer, key }: Context, command: Of<'verdict'>): Promise<number> {
  const id = changeId(command.change);
  // The verdict names the state that it was given on; when that moves meanwhile it is refused as stale.
  const { baseHash, afterHash } = await session.call('change/get', { change: id });
  const given = await session.call('change/verdict', {
    change: id,
    verdict: command.verdict,
    ...(command.merged ? { merged: true } : {}),
    hunks: command.hunks.length === 0 ? 'all' : command.hunks,
    baseHash,
    afterHash,
    key: key ?? newKey(),
  });
  await printer.print({ type: 'verdict', ...given });
  return given.state === 'applied' ? 0 : 1;
}

export function sidecar(context: Context, kind: 'info' | 'shutdown'): Promise<number> {
  return kind === 'info' ? info(context) : shutdown(context);
}

async function info({ session, printer }: Context): Promise<number> {
  await printer.print({ type: 'info', ...(await session.call('store/info', {})) });
  return 0;
}

async function shutdown({ session, printer }: Context): Promise<number> {
  const { hello } = await session.wire();
  await session.call('shutdown', {});
  await printer.print({ type: 'shutdown', pid: hello.pid });
  return 0;
}

/** Looks and changes nothing: it starts no sidecar and ends none (case 194). */
export async function doctor(store: string, session: Session, printer: Printer): Promise<number> {
  let bad = 0;
  const check = async (name: string, problem: string | null, fine: string): Promise<void> => {
    if (problem !== null) bad += 1;
    await printer.print({ type: 'check', name, ok: problem === null, message: problem ?? fine });
  };
  await check('node', nodeProblem(), `Node ${process.versions.node}`);
  const type = existsSync(store) ? unsafeFileSystem(store) : null;
  const unsafe =
    type === null ? null : `${store} is on ${type}, where a database can break. Choose a local disk.`;
  await check('store', unsafe, existsSync(store) ? store : `${store} (not made yet)`);
  const found = readDiscovery(store);
  if (found === null || !isRunning(found)) {
    const left =
      found === null
        ? ''
        : ` ${path.join(store, discoveryFile)} is left from process ${found.pid}, which is gone.`;
    await check('sidecar', null, `none runs; the next command starts one.${left}`);
    return bad === 0 ? 0 : 1;
  }
  const { hello } = await session.wire();
  await check('sidecar', null, `process ${hello.pid}, build ${hello.build}`);
  const { findings, checked } = await session.call('store/doctor', {});
  for (const finding of findings) await printer.print({ type: 'finding', ...finding });
  const counted =
    findings.length === 0 ? null : `${findings.length} findings; please report them with this output.`;
  await check('invariants', counted, `${checked.length} hold`);
  return bad === 0 ? 0 : 1;
}
