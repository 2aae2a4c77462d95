// Which model an agent gets when it is made, and whether it may have it. The one place that decides it.

import { modelToGive } from '../core/conductor.ts';
import type { Revision } from '../core/knowledge.ts';
import type { AgentRecord } from '../core/rows.ts';
import type { Step } from './step.ts';

export interface ModelWish {
  /** What the client or the agent that starts it asks for. */
  readonly named: string | null;
  readonly revision: Revision;
  /** Null: a root. */
  readonly parent: AgentRecord | null;
}

/**
 * The first of: what was asked for, what the person has set for the profile (`model/role`), the profile's own, the
 * parent's, the default. Null: nothing names one.
 */
export function modelFor(step: Step, { named, revision, parent }: ModelWish): string | null {
  const above = parent === null ? null : modelToGive(parent.model);
  return named ?? roleOf(step, revision.name) ?? revision.model ?? above ?? step.rt.options.defaultModel;
}

const roleOf = (step: Step, profile: string): string | null =>
  step.store.range('role.profile', [profile], { limit: 1 })[0]?.model ?? null;

/** Why an agent below another may not have this model; null when it may. */
export function childModelProblem(step: Step, model: string): string | null {
  const info = step.rt.model.info(model);
  if (info === null)
    return `There is no model "${model}". Name one as provider/model, or none: then the child gets yours.`;
  if (info.alone !== true) return null;
  return `${model} is a model of the person's editor, lent to agents that the person starts and not to those that they start. Name another model, or do the work yourself. (The person may lend it to swarms too: "Roost: Use Models of the Editor".)`;
}
