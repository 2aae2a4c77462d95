// Going back to a checkpoint: asked by a person, done by the workspace, and what the store knows of the files follows.

import type { CheckpointRestored } from '../protocol/checkpoint.ts';
import { refuse } from './agents.ts';
import { bytesOf, recordTouched, verdictOnItsWay } from './changes.ts';
import type { ClientEvent, RuntimeEvent } from './event.ts';
import { limits } from './limits.ts';
import type { Step } from './step.ts';

/** A person wants files back. The checkpoint of how they are now is the workspace's to make first. */
export function onCheckpointRestore(
  step: Step,
  event: Extract<ClientEvent, { kind: 'checkpoint/restore' }>,
): void {
  const { params, reply } = event;
  const known = answerOf(step, params.key);
  if (known !== null) return void step.after(() => reply({ ok: true, value: known }));
  const { checkpoint, paths, key } = params;
  const { rt } = step;
  step.after(() =>
    rt.checkpoints.restore({ checkpoint, paths }, (event) => {
      if (event.kind === 'file') rt.post({ kind: 'fileRestored', path: event.path, after: event.after });
      else rt.post({ kind: 'checkpointRestored', key, event, reply });
    }),
  );
}

/** The answer to a key that was used before: a client that lost its connection asks again. */
function answerOf(step: Step, key: string): CheckpointRestored | null {
  const row = step.store.range('answered.key', [key], { limit: 1 })[0];
  if (row === undefined) return null;
  const answer: CheckpointRestored = JSON.parse(row.answer);
  return answer;
}

/** All files are as they were. */
export function onCheckpointRestored(
  step: Step,
  restored: Extract<RuntimeEvent, { kind: 'checkpointRestored' }>,
): void {
  const { key, event, reply } = restored;
  if (event.kind === 'failed') return refuse(step, reply, event.code, event.message);
  const value = answerOf(step, key) ?? event.result;
  if (value === event.result)
    step.store.insert('answered', { key, answer: JSON.stringify(value), at: step.nowMs });
  step.after(() => reply({ ok: true, value }));
}

/** Undecided changes of agents that wrote the file in place are now what is left of them: often nothing. */
export function onFileRestored(
  step: Step,
  { path, after }: Extract<RuntimeEvent, { kind: 'fileRestored' }>,
): void {
  for (const change of step.store.range('change.file', [0, path], { limit: limits.overlapsLooked })) {
    if (change.isolation === 'worktree' || verdictOnItsWay(step, change.id)) continue;
    const before = bytesOf(step, change.after);
    recordTouched(step, step.agent(change.agent), { path, written: change.written, before, after });
  }
}
