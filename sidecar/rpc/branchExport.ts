// The file of a branch, a page of its text at a time.
//
// Promises: a page is at most limits.exportPageBytes, however long a line is, and one line is in memory at a time;
// texts hold no key that the sidecar knows. A cursor says which line comes next and how much of it was sent.

import type { BranchPlace } from '../core/branchRows.ts';
import type { Reads } from '../ports.ts';
import { branchFileVersion } from '../protocol/branchFile.ts';
import type { BranchLine } from '../protocol/branchFile.ts';
import { RoostError } from '../protocol/errors.ts';
import type { Params, Result } from '../protocol/methods.ts';
import { build } from '../protocol/version.ts';
import { limits } from '../runtime/limits.ts';
import { findAgent } from './found.ts';

/** What a page needs of the sidecar. */
export interface ExportOptions {
  readonly reads: Reads;
  /** Takes known keys out of a text. */
  readonly redacted: (text: string) => string;
  readonly nowMs: () => number;
}

/** A place, and characters of the line there that were sent. */
interface Cursor {
  readonly place: BranchPlace;
  readonly sent: number;
}

/** A character is at most three bytes of UTF-8. */
const pageChars = Math.floor(limits.exportPageBytes / 3);

export function exportPage(
  { reads, redacted, nowMs }: ExportOptions,
  { agent, cursor }: Params<'agent/export'>,
): Result<'agent/export'> {
  const { name } = findAgent(reads, agent);
  const write = (line: BranchLine): string =>
    `${JSON.stringify(line, (_key, value: unknown) => (typeof value === 'string' ? redacted(value) : value))}\n`;
  const from = cursor === null ? start(agent) : parse(cursor);
  let text = '';
  if (cursor === null)
    text = write({ type: 'branch', version: branchFileVersion, build, name, atMs: nowMs() });
  let { place, sent } = from;
  for (const { line, next } of reads.branchLines(agent, place)) {
    const rest = write(line).slice(sent);
    const room = pageChars - text.length;
    if (room < rest.length) {
      // A long line is cut, a short one comes with the next page.
      if (text !== '') return { text, next: format({ place, sent }) };
      return { text: rest.slice(0, room), next: format({ place, sent: sent + room }) };
    }
    text += rest;
    place = next;
    sent = 0;
  }
  return { text, next: null };
}

const start = (agent: number): Cursor => ({ place: { agent, part: 'agent', after: 0, turn: 0 }, sent: 0 });

const format = ({ place: { agent, part, after, turn }, sent }: Cursor): string =>
  [part, agent, after, turn, sent].join('.');

function parse(text: string): Cursor {
  const [, part, ...numbers] =
    /^(agent|entries|changes)\.(\d{1,15})\.(\d{1,15})\.(\d{1,15})\.(\d{1,15})$/.exec(text) ?? [];
  const [agent = 0, after = 0, turn = 0, sent = 0] = numbers.map(Number);
  if (part !== 'agent' && part !== 'entries' && part !== 'changes')
    throw new RoostError('request/invalid', `"${text}" is no cursor of an export. Begin again without one.`);
  return { place: { agent, part, after, turn }, sent };
}
