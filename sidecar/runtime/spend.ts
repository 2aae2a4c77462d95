// What was spent, added up by hour, root and model, behind the ledger: settled requests are kept in memory until some
// hundreds of them are one write, and the row `folded` says up to which of the ledger that has come. After a crash the
// rest is read from the ledger again. Who asks what a day cost reads these sums and the few rows after them.
//
// To add up within the commit of each request would write a page more for each group of events: 0.7 KB a child.

import type { FoldedRecord, LedgerRecord, SpendRecord } from '../core/moneyRows.ts';
import { limits } from './limits.ts';
import type { Runtime } from './memory.ts';
import type { Step } from './step.ts';

type Row = Readonly<LedgerRecord>;

/** A request was settled; told after the commit of its row. */
export function noteSpend(rt: Runtime, row: Row): void {
  rt.unfolded.push(row);
  if (rt.unfolded.length % limits.foldRows === 0) rt.post({ kind: 'fold' });
}

/** The row of the ledger up to which all is added up; 0: none is. */
export const addedUpTo = (step: Step): number => lastFold(step)?.upTo ?? 0;

const lastFold = (step: Step): FoldedRecord | undefined =>
  step.store.range('folded.upTo', [], { newest: true, limit: 1 })[0];

/** Adds up what was settled since the last time. */
export function onFold(step: Step): void {
  const folded = lastFold(step);
  const from = folded?.upTo ?? 0;
  // Rows of the last process that it had not added up; those of this one are in memory.
  const kept = step.rt.unfolded.filter((row) => from < row.id);
  const first = kept[0]?.id ?? step.store.nextId('ledger');
  const rows = from + 1 < first && !step.rt.foldedOld ? readLedger(step, from, first) : kept;
  const upTo = rows.at(-1)?.id;
  if (upTo === undefined) return void step.after(() => (step.rt.foldedOld = true));
  // A root that was deleted for good is asked about by nobody; what it spent stays in the sums of all.
  for (const sum of sumsOf(rows))
    if (sum.root === 0 || step.findAgent(sum.root) !== undefined) add(step, sum);
  if (folded === undefined) step.store.insert('folded', { upTo });
  else step.store.update('folded', folded.id, { upTo });
  step.after(() => {
    step.rt.unfolded = step.rt.unfolded.filter((row) => upTo < row.id);
    if (!step.rt.foldedOld) step.rt.post({ kind: 'fold' });
  });
}

/** At most a slice of the rows after `from` and before `before`. Some ids are missing, at most a lease of them in a row. */
function readLedger(step: Step, from: number, before: number): readonly Row[] {
  const rows: Row[] = [];
  for (let id = from + 1; id < before && rows.length < limits.slice; id += 1) {
    const row = step.store.get('ledger', id);
    if (row !== undefined) rows.push(row);
  }
  return rows;
}

type Sum = Omit<SpendRecord, 'id'>;

/** Of each root, and of all together under 0. */
function sumsOf(rows: readonly Row[]): Iterable<Sum> {
  const sums = new Map<string, Sum>();
  for (const row of rows) {
    for (const root of new Set([row.root, 0])) {
      const hour = Math.floor(row.at / hourMs);
      const key = `${root} ${hour} ${row.model}`;
      const sum = sums.get(key) ?? { ...nothing, root, hour, model: row.model };
      sums.set(key, sum);
      sum.requests += 1;
      sum.lost += row.state === 'lost' ? 1 : 0;
      sum.input += row.input;
      sum.output += row.output;
      sum.cacheRead += row.cacheRead;
      sum.cacheWrite += row.cacheWrite;
      sum.microUsd += row.microUsd;
    }
  }
  return sums.values();
}

const hourMs = 3_600_000;
const nothing = { requests: 0, lost: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, microUsd: 0 };

function add(step: Step, sum: Sum): void {
  const known = step.store.range('spend.root', [sum.root, sum.hour, sum.model], { limit: 1 })[0];
  if (known === undefined) return void step.store.insert('spend', sum);
  step.store.update('spend', known.id, {
    requests: known.requests + sum.requests,
    lost: known.lost + sum.lost,
    input: known.input + sum.input,
    output: known.output + sum.output,
    cacheRead: known.cacheRead + sum.cacheRead,
    cacheWrite: known.cacheWrite + sum.cacheWrite,
    microUsd: known.microUsd + sum.microUsd,
  });
}
