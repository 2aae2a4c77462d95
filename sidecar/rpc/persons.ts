// What only a person decides: a command of an agent that connects (`roost` in its shell) is refused it. An agent that
// could answer its own requests, raise its own budget or trust what it wrote would need nobody (DESIGN §13).
//
// A command says which call it is of when it connects. One that hides that is asked about before it runs
// (tools/commandLine.ts), and kept from the door by a sandbox only.

import { RoostError } from '../protocol/errors.ts';
import type { MethodName } from '../protocol/methods.ts';
import type { Peer } from './peer.ts';

const ofPersons: ReadonlySet<MethodName> = new Set<MethodName>([
  // What agents ask, and what becomes of what they wrote.
  'request/answer',
  'request/answerMany',
  'change/verdict',
  'group/pick',
  'checkpoint/restore',
  // What they are told, what they may do, and what they may spend.
  'trust/set',
  'mcp/files',
  'mcp/restart',
  'agent/configure',
  'agent/import',
  'budget/set',
  'model/price',
  'model/role',
  'provider/set',
  // What nobody can undo.
  'trash/empty',
  'trash/keep',
  'shutdown',
]);

/** Throws when a command of an agent asks for what only a person decides. */
export function checkPerson(peer: Peer, method: MethodName): void {
  if (ofPersons.has(method)) refuseInside(peer);
}

/** Throws when a command of an agent asks. */
export function refuseInside(peer: Peer): void {
  if (peer.hello?.call === undefined) return;
  throw new RoostError(
    'request/invalid',
    'A person decides that, in the editor or in a terminal of their own.',
  );
}
