// The read methods: answered from the last commit, without the runtime.

import { setImmediate as nextTurn } from 'node:timers/promises';

import { RoostError } from '../protocol/errors.ts';
import type { MethodName, Params, Result } from '../protocol/methods.ts';
import type { Reads, Review } from '../ports.ts';
import { limits } from '../runtime/limits.ts';
import { costReport } from './costs.ts';
import { fitEntry, fitRequests, roomBytes, takeFitting, takeNewest } from './fit.ts';
import { findAgent } from './found.ts';
import { fitWindow } from './treeView.ts';

type ReadMethod = Extract<
  MethodName,
  | 'agent/get'
  | 'agent/list'
  | 'turn/list'
  | 'turn/result'
  | 'entry/page'
  | 'blob/read'
  | 'tree/window'
  | 'request/list'
  | 'change/list'
  | 'command/list'
  | 'change/get'
  | 'store/doctor'
  | 'queue/list'
  | 'trash/list'
  | 'budget/get'
  | 'cost/get'
  | 'cost/ledger'
>;

export type Answers = {
  readonly [M in ReadMethod]: (params: Params<M>) => Result<M> | Promise<Result<M>>;
};

/** Every list has at most limits.pageRows rows; what is not found is an error that says where to look. */
export function createAnswers(reads: Reads, detail: Review['detail']): Answers {
  return {
    'agent/get': ({ agent }) => findAgent(reads, agent),
    'agent/list': ({ parent, after, limit }) => {
      if (parent !== null) findAgent(reads, parent);
      const page = reads.agents(parent ?? 0, after ?? 0, rows(limit));
      return fitPage(page);
    },
    'turn/list': ({ agent, before, limit }) => {
      findAgent(reads, agent);
      return fitPage(reads.turns(agent, before ?? 0, rows(limit)));
    },
    'turn/result': (params) => turnResult(reads, params),
    'entry/page': (params) => entryPage(reads, params),
    'blob/read': ({ blob, offset, limit }) => {
      const range = reads.blob(blob, offset, Math.min(limit, limits.blobRangeBytes));
      if (range !== undefined) return range;
      throw new RoostError('blob/unknown', `There is no blob ${blob} in this store.`, { blob });
    },
    'tree/window': (query) => fitWindow(reads.tree(query)),
    'request/list': ({ after, limit }) => {
      const page = reads.requests(after ?? 0, rows(limit));
      return { rows: fitRequests(page.rows), more: page.more };
    },
    'change/list': ({ agent, after, limit }) => {
      if (agent !== null) findAgent(reads, agent);
      return fitPage(reads.changes(agent ?? 0, after ?? 0, rows(limit)));
    },
    'command/list': ({ agent, after, limit }) => {
      if (agent === null) return fitPage(reads.commands(after ?? 0, rows(limit)));
      findAgent(reads, agent);
      return { rows: after === null ? reads.commandsOf(agent) : [], more: false };
    },
    'change/get': ({ change }) => {
      const found = reads.change(change);
      if (found === undefined)
        throw new RoostError('change/unknown', `There is no change ${change}.`, { change });
      return new Promise((resolve) => detail(found.row, found.file, resolve));
    },
    'store/doctor': () => examine(reads),
    'queue/list': ({ agent, after, limit }) => {
      findAgent(reads, agent);
      return fitPage(reads.queue(agent, after ?? 0, rows(limit)));
    },
    'trash/list': ({ after, limit }) => fitPage(reads.trash(after ?? 0, rows(limit))),
    'cost/get': (params) => costReport(reads, params, Date.now()),
    'cost/ledger': ({ agent, after, limit }) => reads.ledger(agent ?? 0, after, limit),
    'budget/get': ({ agent }) => {
      const state = reads.budget(agent);
      if (state !== undefined) return state;
      throw new RoostError('agent/unknown', `There is no agent ${agent}.`, { agent });
    },
  };
}

/** Slice by slice, so that the others are served meanwhile (I18). */
async function examine(reads: Reads): Promise<Result<'store/doctor'>> {
  const slices = reads.examine();
  for (;;) {
    const slice = slices.next();
    if (slice.done === true) return slice.value;
    await nextTurn();
  }
}

const rows = (wanted: number): number => Math.min(wanted, limits.pageRows);

function fitPage<T>(page: { readonly rows: readonly T[]; readonly more: boolean }): {
  rows: readonly T[];
  more: boolean;
} {
  const fitting = takeFitting(page.rows, roomBytes);
  return { rows: fitting, more: page.more || fitting.length < page.rows.length };
}

function turnResult(reads: Reads, { turn, agent }: Params<'turn/result'>): Result<'turn/result'> {
  if (turn !== undefined) {
    const result = reads.turn(turn);
    if (result !== undefined) return result;
    throw new RoostError('turn/unknown', `There is no turn ${turn} in this store.`, { turn });
  }
  if (agent === undefined) {
    throw new RoostError('request/invalid', 'turn/result: name a turn or an agent.');
  }
  const { name } = findAgent(reads, agent);
  const result = reads.lastTurn(agent);
  if (result !== undefined) return result;
  throw new RoostError('turn/none', `Agent ${name} has had no turn yet. Send it a message first.`, { agent });
}

function entryPage(reads: Reads, params: Params<'entry/page'>): Result<'entry/page'> {
  const { agent, before, after, turn } = params;
  findAgent(reads, agent);
  if (turn !== undefined && (reads.turn(turn)?.outcome ?? null) === null)
    throw new RoostError('turn/unknown', `There is no turn ${turn} that has ended.`, { turn });
  const page = reads.entries(agent, {
    ...(turn === undefined ? {} : { turn }),
    ...(before === undefined ? {} : { before }),
    ...(after === undefined ? {} : { after }),
    limit: Math.min(params.limit, limits.logEntries),
  });
  const entries = page.entries.map((entry) => fitEntry(entry));
  const fitting = after === undefined ? takeNewest(entries, roomBytes) : takeFitting(entries, roomBytes);
  return { entries: fitting, more: page.more || fitting.length < entries.length };
}
