// The inbox: messages between agents that wake nobody, and steers, until the next round reads them.

import type { Step } from './step.ts';

/** Whether an agent has fewer than `most` unread messages and steers. Looks at no more rows than that. */
export function hasRoom(step: Step, agent: number, most: number): boolean {
  return step.store.range('inbox.agent', [agent], { limit: most }).length < most;
}
