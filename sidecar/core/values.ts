// The closed sets of the protocol as values, for checking what comes from outside.

import type { Isolation } from '../protocol/agent.ts';

export const isolations: readonly Isolation[] = ['shared', 'worktree', 'readonly'];
