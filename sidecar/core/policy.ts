// Whether a person is asked before a call runs.

import type { Isolation, Mode } from '../protocol/agent.ts';
import type { Ask } from './terms.ts';

/**
 * `ask` asks for edits of the person's files and for commands, `edits` for commands, `auto` for commands that no
 * sandbox holds; what is protected asks in every mode, what only looks in none. An edit in a worktree touches
 * nothing of the person's until it is reviewed, so it does not ask.
 */
export function mustAsk(ask: Ask, mode: Mode, isolation: Isolation): boolean {
  if (ask.always) return true;
  if (ask.harmless) return false;
  switch (mode) {
    case 'ask':
      return ask.kind === 'command' || isolation !== 'worktree';
    case 'edits':
      return ask.kind === 'command';
    case 'auto':
      return ask.kind === 'command' && !ask.sandboxed;
  }
}
