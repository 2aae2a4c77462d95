// Watching a turn until it ends: its entries as they are stored, and what it asks of a person.

import process from 'node:process';

import type { AgentRow } from '../protocol/agent.ts';
import type { Outcome } from '../protocol/entry.ts';
import { entryId, type AgentId, type TurnId } from '../protocol/ids.ts';
import type { Result, TurnResult } from '../protocol/methods.ts';
import type { Context } from './context.ts';
import { Failure, isLost } from './failure.ts';
import { Actions, Log, type Session } from './session.ts';

/** One wait is asked again after so long; the sidecar allows an hour. */
export const waitMs = 10 * 60_000;
/** Exit code of a turn: done or not. */
export const exitCodeOf = (outcome: Outcome | null): number => (outcome === 'done' ? 0 : 1);

export interface Handle extends Omit<Result<'agent/start'>, 'agent'> {
  readonly agent: AgentId;
  readonly state: 'started' | 'queued' | 'steered';
  /** What a message was sent with. */
  readonly key?: string;
  /** Entries before this one are not of this turn. */
  readonly after: number;
}

/** Prints the entries of a turn, and what it asks of a person, until it ends. Returns the exit code. */
export async function watchTurn(context: Context, handle: Handle): Promise<number> {
  const { session, printer } = context;
  const { agent, turn } = handle;
  onInterrupt(() => {
    printer.note(
      `${handle.name} goes on. Come back with: roost follow ${agent} --after ${log.cursor}, or: roost wait ${turn}`,
    );
  });
  const log = new Log(session, { kind: 'log', agent }, handle.after);
  const requests = watchRequests(context, agent);
  const ended = waitUntilEnded(session, turn).then((found) => {
    log.stop();
    requests.stop();
    return found;
  });
  // Handled where it is awaited; until then a failure must not count as one that nobody handles.
  ended.catch(() => log.stop());
  for await (const event of log) {
    if (event.kind === 'entry' && event.entry.turn === turn)
      await printer.print({ type: 'entry', ...event.entry });
  }
  const found = await ended;
  await printRest(context, handle, log.cursor);
  await printer.print({ type: 'result', ...found });
  const late = found.late.find((each) => each.key !== null && each.key === handle.key);
  if (handle.state !== 'steered' || late === undefined) return exitCodeOf(found.outcome);
  printer.note(`the message came too late for turn ${turn}; it is turn ${late.turn} now`);
  return watchTurn(context, { ...handle, turn: late.turn, state: 'queued', after: log.cursor });
}

async function waitUntilEnded(session: Session, turn: TurnId): Promise<TurnResult> {
  for (;;) {
    const { done } = await session.call('turn/wait', { turns: [turn], mode: 'all', timeoutMs: waitMs });
    const [found] = done;
    if (found !== undefined) return found;
  }
}

/** The turn ended while the log was still on its way: the rest is read from the store. */
async function printRest(
  { session, printer }: Context,
  { agent, turn }: Handle,
  cursor: number,
): Promise<void> {
  for (let after = cursor; ;) {
    const page = await session.call('entry/page', { agent, after: entryId(after), limit: 200 });
    for (const entry of page.entries) {
      if (entry.turn === turn) await printer.print({ type: 'entry', ...entry });
      after = entry.id;
    }
    if (!page.more || page.entries.length === 0) return;
  }
}

/** Prints each request of an agent once, as it comes. */
function watchRequests({ session, printer }: Context, agent: AgentId): { stop(): void } {
  const told = new Set<number>();
  let actions: Actions | null = null;
  let stopped = false;
  const watch = async (): Promise<void> => {
    while (!stopped) {
      try {
        actions = await Actions.open(await session.wire(), { kind: 'agent', agent }, 0);
        if (stopped) actions.stop();
        if (actions.snapshot.kind === 'agent')
          for (const row of actions.snapshot.state.requests) await tell(row);
        for await (const action of actions) {
          if (action.kind === 'agent/requests') for (const row of action.requests) await tell(row);
        }
      } catch (error) {
        if (!isLost(error)) return; // the log says what is wrong
      }
    }
  };
  const tell = async (row: Result<'request/list'>['rows'][number]): Promise<void> => {
    if (row.agent !== agent || row.state !== 'open' || told.has(row.id)) return;
    told.add(row.id);
    await printer.print({ type: 'request', ...row });
  };
  void watch();
  return {
    stop: () => {
      stopped = true;
      actions?.stop();
    },
  };
}

/**
 * Resolves with an agent that rests: no turn is open, and none below it. A queue that is kept after a stop is rest.
 * `rests` is called then, before it resolves. Goes on over any number of sidecars; rejects when the agent is gone.
 */
export async function watchRest(session: Session, agent: AgentId, rests: () => void): Promise<AgentRow> {
  for (;;) {
    try {
      const actions = await Actions.open(await session.wire(), { kind: 'agent', agent }, 0);
      const row = await firstAtRest(actions);
      actions.stop();
      rests();
      return row;
    } catch (error) {
      if (isLost(error)) continue;
      rests();
      throw error;
    }
  }
}

async function firstAtRest(actions: Actions): Promise<AgentRow> {
  const atRest = ({ phase, branch }: AgentRow): boolean =>
    phase === 'idle' && branch.running === 0 && branch.waiting === 0;
  const { snapshot } = actions;
  if (snapshot.kind === 'agent' && atRest(snapshot.state.agent)) return snapshot.state.agent;
  for await (const action of actions) {
    if (action.kind === 'agent/row' && atRest(action.agent)) return action.agent;
  }
  throw new Failure('sidecar/lost', 'The connection to the sidecar was lost.');
}

/**
 * Ctrl-C leaves the turn running: says how to come back, and ends this command as shells expect (128 + SIGINT). Takes
 * the place of what was to be said before.
 */
export function onInterrupt(say: () => void): void {
  process.removeAllListeners('SIGINT');
  process.once('SIGINT', () => {
    say();
    process.exit(130);
  });
}
