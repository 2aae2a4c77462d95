// Changes: what agents did to files, and the verdicts of a person on them.
//
// A verdict is planned (nothing promised), then committed as a started row with what the file was and will be,
// then the file is written, then the row is done and the change moves. A crash in between is judged by the
// hashes, like an edit (DESIGN §7).

import type { AgentRecord, ChangeRecord, VerdictRecord } from '../core/rows.ts';
import { must } from '../core/assert.ts';
import { agentId, changeId } from '../protocol/ids.ts';
import type { ChangeRow, VerdictResult } from '../protocol/change.ts';
import type { ReviewDone, ReviewFile, ReviewJob, ReviewPlan, Touched } from '../ports.ts';
import type { ClientEvent, Reply } from './event.ts';
import { limits } from './limits.ts';
import type { Step } from './step.ts';

const bytesOf = (step: Step, blob: number): Uint8Array | null =>
  blob === 0 ? null : (step.store.blobBytes(blob) ?? null);
const blobOf = (step: Step, bytes: Uint8Array | null): number =>
  bytes === null ? 0 : step.store.putBlob(bytes);

/** A tool wrote a file: the agent's change of that file begins or grows. */
export function recordTouched(step: Step, agent: AgentRecord, touched: Touched): void {
  const open = step.store
    .range('change.path', [agent.id, touched.path], { limit: 1, newest: true })
    .find((change) => change.state === 'open' || change.state === 'conflict');
  const before =
    open === undefined
      ? touched.before
      : step.rt.review.rebase(
          { base: bytesOf(step, open.base), after: bytesOf(step, open.after) },
          touched.before,
        );
  const { added, removed, beforeHash, afterHash } = step.rt.review.measure(before, touched.after);
  step.changesChanged(agent.id);
  if (beforeHash === afterHash) {
    if (open !== undefined) {
      step.store.remove('change', open.id);
      agent.changes -= 1;
    }
    return;
  }
  const kind = before === null ? 'create' : touched.after === null ? 'delete' : 'edit';
  const after = blobOf(step, touched.after);
  if (open !== undefined) {
    step.store.update('change', open.id, {
      kind,
      base: beforeHash === open.baseHash ? open.base : blobOf(step, before),
      baseHash: beforeHash,
      state: 'open',
      after,
      afterHash,
      added,
      removed,
      at: step.nowMs,
    });
    return;
  }
  step.store.insert('change', {
    agent: agent.id,
    path: touched.path,
    written: touched.written,
    label: labelOf(step, agent, touched.path),
    isolation: agent.isolation,
    kind,
    state: 'open',
    base: blobOf(step, before),
    after,
    baseHash: beforeHash,
    afterHash,
    added,
    removed,
    at: step.nowMs,
    accepted: 0,
    rejected: 0,
  });
  agent.changes += 1;
}

function labelOf(step: Step, agent: AgentRecord, path: string): string {
  const root = must(step.store.get('place', agent.place), 'the folder of an agent is in the store', {
    agent: agent.id,
  }).path;
  const inside = path.startsWith(root) ? path.slice(root.length) : path;
  return inside.replaceAll('\\', '/').replace(/^\//, '');
}

/** A change as clients see it. */
export function changeRowOf(step: Step, change: ChangeRecord): ChangeRow {
  const { kind, state, added, removed, path, label, isolation, baseHash, afterHash } = change;
  return {
    id: changeId(change.id),
    agent: agentId(change.agent),
    agentName: step.agent(change.agent).name,
    path,
    label,
    isolation,
    kind,
    state,
    added,
    removed,
    baseHash,
    afterHash,
    atMs: change.at,
  };
}

function fileOf(step: Step, change: ChangeRecord): ReviewFile {
  const { path, written, isolation } = change;
  return { path, written, isolation, base: bytesOf(step, change.base), after: bytesOf(step, change.after) };
}

type VerdictEvent = Extract<ClientEvent, { kind: 'change/verdict' }>;

/** A person's verdict: checked against the state it was given on, then planned. */
export function onVerdict(step: Step, event: VerdictEvent): void {
  const { params, reply } = event;
  const change = step.store.get('change', params.change);
  if (change === undefined) {
    step.after(() =>
      reply({
        ok: false,
        code: 'change/unknown',
        message: `There is no change ${params.change}. Reload the list of changes.`,
      }),
    );
    return;
  }
  const known = step.store.range('verdict.key', [params.key], { limit: 1 })[0];
  if (known !== undefined) return answerVerdict(step, change, reply, { state: known.state });
  const busy = step.store.range('verdict.change', [change.id], { limit: 1 }).length > 0;
  if (busy || change.baseHash !== params.baseHash || change.afterHash !== params.afterHash) {
    return answerVerdict(step, change, reply, { state: 'stale' });
  }
  const id = change.id;
  const job: ReviewJob = { ...fileOf(step, change), verdict: params.verdict, hunks: params.hunks };
  const { rt } = step;
  step.after(() => {
    rt.verdicts.set(id, { params, reply });
    rt.review.plan(job, (plan) => rt.post({ kind: 'verdictPlanned', verdict: id, plan }));
  });
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

function answerVerdict(step: Step, change: ChangeRecord, reply: Reply<VerdictResult>, spoken: Spoken): void {
  const { state } = spoken;
  const row = changeRowOf(step, change);
  const word = state === 'stale' || state === 'conflict' ? state : 'applied';
  const message = spoken.message ?? messages[state];
  step.after(() => reply({ ok: true, value: { state: word, message, change: row } }));
}

/** What the verdict would do is known: commit it, then write the file. `id` is the change. */
export function onVerdictPlanned(step: Step, id: number, plan: ReviewPlan): void {
  const { rt } = step;
  const pending = rt.verdicts.get(id);
  const change = step.store.get('change', id);
  if (pending === undefined || change === undefined) return;
  const { params, reply } = pending;
  if (plan.kind !== 'plan' || change.baseHash !== params.baseHash || change.afterHash !== params.afterHash) {
    step.after(() => void rt.verdicts.delete(id));
    answerVerdict(
      step,
      change,
      reply,
      plan.kind === 'plan' ? { state: 'stale' } : { state: plan.kind, message: plan.message },
    );
    return;
  }
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
  const pending = step.rt.verdicts.get(change.id);
  step.after(() => void step.rt.verdicts.delete(change.id));
  step.changesChanged(agent.id);
  if (done.kind === 'conflict') {
    step.store.update('verdict', id, { state: 'conflict' });
    step.store.update('change', change.id, { state: 'conflict' });
    const spoken: Spoken = { state: 'conflict', message: done.message };
    if (pending !== undefined) answerVerdict(step, { ...change, state: 'conflict' }, pending.reply, spoken);
    return;
  }
  const moved = afterVerdict(change, verdict);
  step.store.update('verdict', id, { state: 'done' });
  step.store.update('change', change.id, moved);
  if (moved.state !== 'open') agent.changes -= 1;
  if (pending !== undefined) answerVerdict(step, { ...change, ...moved }, pending.reply, { state: 'done' });
}

function afterVerdict(change: ChangeRecord, verdict: VerdictRecord) {
  const accepted = change.accepted + (verdict.verdict === 'accept' ? verdict.decided : 0);
  const rejected = change.rejected + (verdict.verdict === 'reject' ? verdict.decided : 0);
  const { base, after, baseHash, afterHash, added, removed } = verdict;
  const all = rejected === 0 ? 'accepted' : accepted === 0 ? 'rejected' : 'mixed';
  const state: ChangeRecord['state'] = verdict.left > 0 ? 'open' : all;
  return { base, after, baseHash, afterHash, added, removed, accepted, rejected, state };
}

/** A slice of the verdicts that were started when the last process ended; returns them. */
export function recoverVerdicts(step: Step, after: number): readonly VerdictRecord[] {
  const started = step.store.range('verdict.started', ['started'], { after, limit: limits.slice });
  for (const verdict of started) writeVerdict(step, verdict);
  return started;
}
