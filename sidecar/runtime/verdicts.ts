// Verdicts of a person on the changes of agents.
//
// A verdict is planned (nothing promised), then committed as a started row with what the file was and will be,
// then the file is written, then the row is done and the change moves. A crash in between is judged by the
// hashes, like an edit (DESIGN §7). A change has one verdict on its way at a time.

import { must } from '../core/assert.ts';
import type { ChangeRecord, VerdictRecord } from '../core/rows.ts';
import type { ReviewDone, ReviewFile, ReviewJob, ReviewPlan } from '../ports.ts';
import type { VerdictResult } from '../protocol/change.ts';
import { blobOf, bytesOf, changeRowOf, undecided, verdictOnItsWay, dropVersions } from './changes.ts';
import { refuse } from './agents.ts';
import type { ClientEvent, Reply } from './event.ts';
import { limits } from './limits.ts';
import type { Runtime } from './memory.ts';
import { tellOthers } from './overlaps.ts';
import { standingProblem } from './standing.ts';
import { goOnPurging } from './chains.ts';
import type { Step } from './step.ts';

function fileOf(step: Step, change: ChangeRecord): ReviewFile {
  const { path, written, isolation } = change;
  return { path, written, isolation, base: bytesOf(step, change.base), after: bytesOf(step, change.after) };
}

type VerdictEvent = Extract<ClientEvent, { kind: 'change/verdict' }>;

/** A person's verdict: checked against the state it was given on, then planned. */
export function onVerdict(step: Step, event: VerdictEvent): void {
  const { params, reply } = event;
  const change = step.store.get('change', params.change);
  if (change === undefined) return answerUnknown(step, params.change, reply);
  const known = step.store.range('verdict.key', [params.key], { limit: 1 })[0];
  if (known !== undefined && known.state !== 'started') return answerVerdict(step, change, reply, known);
  const standing = change.trash === 0 ? null : standingProblem(step, step.agent(change.agent));
  if (standing !== null) return refuse(step, reply, standing.code, standing.message);
  const onItsWay = known === undefined && verdictOnItsWay(step, change.id);
  if (known === undefined && (onItsWay || !standsAs(change, params))) {
    return answerVerdict(step, change, reply, { state: 'stale' });
  }
  const stale = resultOf(step, change, { state: 'stale' });
  const { verdict, hunks, merged = false } = params;
  const job: ReviewJob = { ...fileOf(step, change), verdict, hunks, merged };
  const { rt } = step;
  step.after(() => {
    const pending = rt.verdicts.get(change.id);
    if (pending === undefined) {
      rt.verdicts.set(change.id, { params, replies: [reply] });
      if (known !== undefined) return; // started by a process that is gone; recovery writes the file
      rt.review.plan(job, (plan) => rt.post({ kind: 'verdictPlanned', verdict: change.id, plan }));
    } else if (pending.params.key === params.key) pending.replies.push(reply);
    else reply({ ok: true, value: stale });
  });
}

/** Whether a change is undecided and as the person saw it. */
const standsAs = (
  change: ChangeRecord,
  seen: { readonly baseHash: string; readonly afterHash: string },
): boolean => undecided(change) && change.baseHash === seen.baseHash && change.afterHash === seen.afterHash;

function answerUnknown(step: Step, change: number, reply: Reply<VerdictResult>): void {
  const message = `There is no change ${change} any more. Reload the list of changes.`;
  step.after(() => reply({ ok: false, code: 'change/unknown', message }));
}

const messages: Record<VerdictRecord['state'], string> = {
  started: '',
  done: '',
  stale: 'The change has moved since you saw it. Look at it again and decide once more.',
  conflict: 'The lines have been edited since. Your text was kept; resolve this hunk by hand.',
};

interface Spoken {
  readonly state: VerdictRecord['state'];
  readonly message?: string;
}

function resultOf(step: Step, change: ChangeRecord, spoken: Spoken): VerdictResult {
  const { state } = spoken;
  const word = state === 'stale' || state === 'conflict' ? state : 'applied';
  return { state: word, message: spoken.message ?? messages[state], change: changeRowOf(step, change) };
}

function answerVerdict(step: Step, change: ChangeRecord, reply: Reply<VerdictResult>, spoken: Spoken): void {
  const { state, message } = spoken;
  const value = resultOf(step, change, message === undefined ? { state } : { state, message });
  step.after(() => reply({ ok: true, value }));
}

/** Tells everybody who asked with the pending verdict's key, also those who asked while this step ran. */
function answerPending(step: Step, change: ChangeRecord, spoken: Spoken): void {
  const value = resultOf(step, change, spoken);
  const { rt } = step;
  step.after(() => {
    const pending = rt.verdicts.get(change.id);
    rt.verdicts.delete(change.id);
    for (const reply of pending?.replies ?? []) reply({ ok: true, value });
  });
}

/** What the verdict would do is known: commit it, then write the file. `id` is the change. */
export function onVerdictPlanned(step: Step, id: number, plan: ReviewPlan): void {
  const { rt } = step;
  const pending = rt.verdicts.get(id);
  if (pending === undefined) return;
  const change = step.store.get('change', id);
  if (change === undefined) {
    step.after(() => void rt.verdicts.delete(id));
    for (const reply of pending.replies) answerUnknown(step, id, reply);
    return;
  }
  const { params } = pending;
  if (plan.kind === 'stale') return answerPending(step, change, { state: 'stale', message: plan.message });
  if (!standsAs(change, params)) return answerPending(step, change, { state: 'stale' });
  if (plan.kind === 'conflict') return inConflict(step, change, plan.message);
  const { beforeHash, afterHash } = rt.review.measure(plan.base, plan.after);
  const verdict = step.store.insert('verdict', {
    change: id,
    verdict: params.verdict,
    hunks: JSON.stringify(params.hunks),
    state: 'started',
    evidence: JSON.stringify(plan.evidence),
    base: blobOf(step, plan.base),
    after: blobOf(step, plan.after),
    baseHash: beforeHash,
    afterHash,
    left: plan.left,
    added: plan.added,
    removed: plan.removed,
    decided: plan.decided,
    key: params.key,
    at: step.nowMs,
  });
  writeVerdict(
    step,
    must(step.store.get('verdict', verdict), 'a verdict that was inserted is there', { verdict }),
  );
}

/** Brings the file to what a started verdict says; again after a crash. */
export function writeVerdict(step: Step, verdict: VerdictRecord): void {
  const change = step.store.get('change', verdict.change);
  if (change === undefined) return;
  const hunks: string[] | 'all' = JSON.parse(verdict.hunks);
  // What is written is in the evidence: whether it was merged by hand has been decided.
  const job: ReviewJob = { ...fileOf(step, change), verdict: verdict.verdict, hunks };
  const { rt } = step;
  step.after(() =>
    rt.review.write(job, JSON.parse(verdict.evidence), (done) =>
      rt.post({ kind: 'verdictWritten', verdict: verdict.id, done }),
    ),
  );
}

/** The file is right, or the person's text stood in the way: the change moves, the person is told. */
export function onVerdictWritten(step: Step, id: number, done: ReviewDone): void {
  const verdict = step.store.get('verdict', id);
  if (verdict === undefined || verdict.state !== 'started') return;
  const change = must(step.store.get('change', verdict.change), 'a verdict has its change', { verdict: id });
  const agent = step.agent(change.agent);
  step.changesChanged(agent.id);
  if (done.kind === 'conflict') {
    step.store.update('verdict', id, { state: 'conflict' });
    return inConflict(step, change, done.message);
  }
  const moved = afterVerdict(step, change, verdict);
  tellOthers(step, agent.id, change.path);
  step.store.update('verdict', id, { state: 'done' });
  step.store.update('change', change.id, moved);
  dropVersions(step, change);
  if (moved.state !== 'open') agent.changes -= 1;
  const closed = agent.changes === 0 && step.lineage(agent.id).some((each) => each.closed !== 0);
  if (closed) step.after(() => step.rt.trees.sweep());
  if (change.trash !== 0) goOnPurging(step);
  answerPending(step, { ...change, ...moved }, { state: 'done' });
}

/** The person's text stands where a hunk would go: remembered until the next verdict or write, and told. */
function inConflict(step: Step, change: ChangeRecord, message: string): void {
  step.changesChanged(change.agent);
  step.store.update('change', change.id, { conflict: 1 });
  answerPending(step, { ...change, conflict: 1 }, { state: 'conflict', message });
}

function afterVerdict(step: Step, change: ChangeRecord, verdict: VerdictRecord) {
  const accepted = change.accepted + (verdict.verdict === 'accept' ? verdict.decided : 0);
  const rejected = change.rejected + (verdict.verdict === 'reject' ? verdict.decided : 0);
  const { base, after, baseHash, afterHash, added, removed } = verdict;
  const all = rejected === 0 ? 'accepted' : accepted === 0 ? 'rejected' : 'mixed';
  const state: ChangeRecord['state'] = verdict.left > 0 ? 'open' : all;
  const { review } = step.rt;
  // Only a change of which a part is left has lines to compare.
  const ranges = verdict.left > 0 ? review.measure(bytesOf(step, base), bytesOf(step, after)).ranges : '';
  const moved = { base, after, baseHash, afterHash, added, removed, accepted, rejected };
  return { ...moved, state, ranges, conflict: 0 };
}

/** The plan of a verdict met a bug: those who wait for it are told. */
export function failVerdict(rt: Runtime, change: number, message: string): void {
  const pending = rt.verdicts.get(change);
  rt.verdicts.delete(change);
  for (const reply of pending?.replies ?? []) reply({ ok: false, code: 'internal', message });
}

/** The end of a verdict met a bug: its row stays as it is, and the next process writes the file again. */
export function failWriting(rt: Runtime, verdict: number, message: string): void {
  const row = rt.store.get('verdict', verdict);
  if (row !== undefined) failVerdict(rt, row.change, message);
}

/** A slice of the verdicts that were started when the last process ended; returns them. */
export function recoverVerdicts(step: Step, after: number): readonly VerdictRecord[] {
  const started = step.store.range('verdict.started', ['started'], { after, limit: limits.slice });
  for (const verdict of started) writeVerdict(step, verdict);
  return started;
}
