// The Review port over the files of the world outside: a change is one hunk, a verdict brings the file to one of
// two texts. Conflicts come when the seed says so. Not here: diffs and merges, which are core's.

import type { Review, ReviewDone, ReviewFile, ReviewJob, ReviewPlan } from '../../sidecar/ports.ts';
import type { ChangeDetail, ChangeRow } from '../../sidecar/protocol/change.ts';
import type { Json } from '../../sidecar/protocol/json.ts';
import { hash } from './chance.ts';
import type { Sim } from './sim.ts';
import type { Process } from './world.ts';

const textOf = (bytes: Uint8Array | null): string | null =>
  bytes === null ? null : Buffer.from(bytes).toString();
const hashOf = (bytes: Uint8Array | null): string => String(hash(textOf(bytes) ?? '-none-'));

export class FakeReview implements Review {
  readonly #sim: Sim;
  readonly #process: Process;

  constructor(sim: Sim, process: Process) {
    this.#sim = sim;
    this.#process = process;
  }

  detail(row: ChangeRow, _file: ReviewFile, post: (detail: ChangeDetail) => void): void {
    void row;
    void post;
  }

  plan(job: ReviewJob, post: (plan: ReviewPlan) => void): void {
    const { chance, odds } = this.#sim;
    this.#sim.effect(`plan verdict on ${job.path}`);
    const settled = job.verdict === 'accept' ? job.after : job.base;
    const plan: ReviewPlan = chance.hits(odds.conflict)
      ? { kind: 'conflict', message: 'edited meanwhile' }
      : {
          kind: 'plan',
          evidence: { path: job.path, text: textOf(settled) },
          base: settled,
          after: settled,
          left: 0,
          added: 0,
          removed: 0,
          decided: 1,
        };
    this.#later(() => post(plan));
  }

  write(job: ReviewJob, evidence: Json, post: (done: ReviewDone) => void): void {
    const { chance, odds, outside } = this.#sim;
    this.#sim.effect(`write verdict on ${job.path}`);
    const text =
      typeof evidence === 'object' && evidence !== null && 'text' in evidence ? evidence.text : null;
    this.#later(() => {
      if (chance.hits(odds.conflict)) return post({ kind: 'conflict', message: 'edited meanwhile' });
      if (typeof text === 'string') outside.files.set(job.path, text);
      else outside.files.delete(job.path);
      post({ kind: 'done' });
    });
  }

  rebase(
    file: { readonly base: Uint8Array | null; readonly after: Uint8Array | null },
    found: Uint8Array | null,
  ) {
    return textOf(file.after) === textOf(found) ? file.base : found;
  }

  measure(before: Uint8Array | null, after: Uint8Array | null) {
    return { added: 1, removed: 1, ranges: '0+1', beforeHash: hashOf(before), afterHash: hashOf(after) };
  }

  #later(work: () => void): void {
    this.#sim.world.later(this.#sim.chance.around(this.#sim.swarm.toolMs), work, this.#process);
  }
}
