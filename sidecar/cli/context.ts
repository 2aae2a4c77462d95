// What every command is given.

import type { AgentId } from '../protocol/ids.ts';
import type { Printer } from './printer.ts';
import type { Session } from './session.ts';

export interface Context {
  readonly session: Session;
  readonly printer: Printer;
  readonly key: string | null;
  /** The agent in whose shell this runs, when it is of the same store. */
  readonly inside: AgentId | null;
}
