// Going back to a checkpoint: asked by a person, done by the workspace, and what the store knows of the files follows.

import type { CheckpointRestored } from '../protocol/checkpoint.ts';
import { refuse } from './agents.ts';
import { answerTo, keepAnswer } from './answered.ts';
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
  const known = answerTo<CheckpointRestored>(step, params.key);
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

/** All files are as they were. */
export function onCheckpointRestored(
  step: Step,
  restored: Extract<RuntimeEvent, { kind: 'checkpointRestored' }>,
): void {
  const { key, event, reply } = restored;
  if (event.kind === 'failed') return refuse(step, reply, event.code, event.message);
  const known = answerTo<CheckpointRestored>(step, key);
  const value = known ?? event.result;
  if (known === null) keepAnswer(step, key, value);
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
