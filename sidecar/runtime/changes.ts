// Changes: what agents did to files, one row for each file until a person has decided. Not here: the verdicts of
// a person on them (verdicts.ts).

import type { AgentRecord, ChangeRecord } from '../core/rows.ts';
import { must } from '../core/assert.ts';
import { agentId, changeId } from '../protocol/ids.ts';
import type { ChangeRow } from '../protocol/change.ts';
import type { Touched } from '../ports.ts';
import { othersAt, overlapNote, overlapsOf, tellOthers } from './overlaps.ts';
import { limits } from './limits.ts';
import type { Step } from './step.ts';

/** The bytes of a blob; null for none. */
export const bytesOf = (step: Step, blob: number): Uint8Array | null =>
  blob === 0 ? null : (step.store.blobBytes(blob) ?? null);
/** A blob for these bytes; 0 for none. */
export const blobOf = (step: Step, bytes: Uint8Array | null): number =>
  bytes === null ? 0 : step.store.putBlob(bytes);

/** Whether a person still has to decide on a change. */
export const undecided = (change: ChangeRecord): boolean => change.state === 'open';

/**
 * A tool wrote a file: the agent's change of that file begins or grows. While a verdict is on its way to the file
 * the change that it decides stands still, and what the agent writes begins another. Returns what the agent should
 * know of others at the same file, when its change begins; else null.
 */
export function recordTouched(step: Step, agent: AgentRecord, touched: Touched): string | null {
  const open = step.store
    .range('change.path', [agent.id, touched.path], { limit: 1, newest: true })
    .find((change) => undecided(change) && !verdictOnItsWay(step, change.id));
  const before =
    open === undefined
      ? touched.before
      : step.rt.review.rebase(
          { base: bytesOf(step, open.base), after: bytesOf(step, open.after) },
          touched.before,
        );
  const { added, removed, beforeHash, afterHash, ranges } = step.rt.review.measure(before, touched.after);
  step.changesChanged(agent.id);
  tellOthers(step, agent.id, touched.path);
  if (beforeHash === afterHash) {
    if (open !== undefined) {
      removeChange(step, open);
      agent.changes -= 1;
    }
    return null;
  }
  if (open === undefined && isOfOthers(step, agent, touched.path, afterHash)) return null;
  const kind = before === null ? 'create' : touched.after === null ? 'delete' : 'edit';
  const after = blobOf(step, touched.after);
  const doubt = doubtOf(step, touched);
  if (open !== undefined) {
    step.store.update('change', open.id, {
      kind,
      base: beforeHash === open.baseHash ? open.base : blobOf(step, before),
      baseHash: beforeHash,
      conflict: 0,
      after,
      afterHash,
      added,
      removed,
      ranges,
      at: step.nowMs,
      doubt: open.doubt === '' ? doubt : open.doubt,
    });
    dropVersions(step, open);
    return null;
  }
  const id = step.store.insert('change', {
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
    trash: agent.trash,
    accepted: 0,
    rejected: 0,
    conflict: 0,
    ranges,
    doubt,
  });
  agent.changes += 1;
  const change = must(step.store.get('change', id), 'a change that was inserted is there', { id });
  return overlapNote(step, agent, change);
}

/**
 * Whether a file stands exactly as the undecided change of another agent left it. A command whose folder was looked at
 * before a crash and after it sees what others wrote meanwhile, and that is theirs.
 */
function isOfOthers(step: Step, agent: AgentRecord, path: string, afterHash: string): boolean {
  if (agent.isolation !== 'shared') return false;
  return othersAt(step, agent.id, path).some(
    (other) => other.isolation === 'shared' && other.afterHash === afterHash,
  );
}

/** Whose work it may be besides the agent's, in words for a person. */
function doubtOf(step: Step, { others = [], isLate = false }: Touched): string {
  const names = others.map((id) => step.findAgent(id)?.name ?? `agent ${id}`);
  const beside =
    names.length === 0
      ? ''
      : `A command changed this file while commands of ${names.join(', ')} ran in the same folder: it may be their work. `;
  const late = isLate
    ? 'It was written after the command had ended, before Roost looked: it may be yours.'
    : '';
  return (beside + late).trim();
}

/** The agent has put the file back as it was: there is nothing to decide. Verdicts on parts of it go with it. */
function removeChange(step: Step, change: ChangeRecord): void {
  for (const verdict of step.store.range('verdict.of', [change.id], { limit: limits.slice })) {
    step.store.remove('verdict', verdict.id);
    for (const blob of [verdict.base, verdict.after]) if (blob !== 0) step.store.remove('blob', blob);
  }
  step.store.remove('change', change.id);
  for (const blob of [change.base, change.after]) if (blob !== 0) step.store.remove('blob', blob);
}

/** The change has moved on from `before`: versions of the file that nothing names any more are freed. */
export function dropVersions(step: Step, before: ChangeRecord): void {
  const now = step.store.get('change', before.id);
  const verdicts = step.store.range('verdict.of', [before.id], { limit: limits.slice });
  const named = new Set(
    [now, ...verdicts].flatMap((row) => (row === undefined ? [] : [row.base, row.after])),
  );
  for (const blob of [before.base, before.after])
    if (blob !== 0 && !named.has(blob)) step.store.remove('blob', blob);
}

/** Whether a verdict on this change is committed and its file not yet written. */
export const verdictOnItsWay = (step: Step, change: number): boolean =>
  step.store.range('verdict.change', [change], { limit: 1 }).length > 0;

function labelOf(step: Step, agent: AgentRecord, path: string): string {
  const root = must(step.store.get('place', agent.place), 'the folder of an agent is in the store', {
    agent: agent.id,
  }).path;
  const inside = path.startsWith(root) ? path.slice(root.length) : path;
  return inside.replaceAll('\\', '/').replace(/^\//, '');
}

/** A change as clients see it. */
export function changeRowOf(step: Step, change: ChangeRecord): ChangeRow {
  const { kind, added, removed, path, label, isolation, baseHash, afterHash, doubt } = change;
  return {
    id: changeId(change.id),
    agent: agentId(change.agent),
    agentName: step.agent(change.agent).name,
    path,
    label,
    isolation,
    kind,
    state: change.state === 'open' && change.conflict === 1 ? 'conflict' : change.state,
    added,
    removed,
    baseHash,
    afterHash,
    atMs: change.at,
    overlaps: overlapsOf(step, change),
    doubt: doubt === '' ? null : doubt,
  };
}
