// The tool `history`: an agent reads back what is left out of what it is sent, by the numbers of entries. Only of its
// own transcript, a fork's prefix included, and a bounded piece at a time.

import type { HistoryVerb } from '../core/verbs.ts';
import type { AgentRecord, EntryRecord } from '../core/rows.ts';
import { firstLine, wellFormed } from '../core/text.ts';
import type { EntryBody } from '../protocol/entry.ts';
import type { Store } from '../ports.ts';
import { bodyOf } from './jobs.ts';
import { limits } from './limits.ts';
import type { CallResult } from './results.ts';
import type { Step } from './step.ts';
import { entriesBack, entryOf, viewOf } from './transcript.ts';

/** What the model is told: one entry from an offset on, or a list of entries. */
export function readHistory(step: Step, agent: AgentRecord, verb: HistoryVerb): CallResult {
  return verb.entry === null ? list(step, agent, verb) : readEntry(step, agent, verb.entry, verb);
}

function readEntry(step: Step, agent: AgentRecord, id: number, verb: HistoryVerb): CallResult {
  const entry = entryOf(step.store, agent, id);
  if (entry === undefined)
    return {
      status: 'error',
      text: `Your conversation has no entry ${id}. Use history without "entry" to see them.`,
    };
  const body = bodyOf(step.store, entry);
  const all = verb.whole ? wholeOf(step.store, body) : wordsOf(body);
  const end = pieceEnd(all, verb.offset);
  const piece = wellFormed(all.slice(verb.offset, end));
  const notes: string[] = [];
  if (end < all.length) notes.push(`go on with offset ${end} of ${all.length}`);
  if (!verb.whole && body.kind === 'result' && body.blob !== undefined)
    notes.push('this is what you were told of the output; with "whole" you get all of it');
  const rest = notes.length === 0 ? '' : `\n[${notes.join('; ')}]`;
  return { status: 'ok', text: `Entry ${id}, ${titleOf(body)}:\n${piece}${rest}` };
}

/** Where a piece ends: not between the halves of a character. */
function pieceEnd(text: string, offset: number): number {
  const end = Math.min(text.length, offset + limits.historyChars);
  const code = text.charCodeAt(end - 1);
  return end < text.length && 0xd800 <= code && code <= 0xdbff ? end - 1 : end;
}

/** All that a command has printed, where the row has only its head and tail. */
function wholeOf(store: Store, body: EntryBody): string {
  const whole = body.kind === 'result' && body.blob !== undefined ? store.blobText(body.blob) : undefined;
  return whole ?? wordsOf(body);
}

/** The words of an entry, calls with their arguments. */
function wordsOf(body: EntryBody): string {
  if (body.kind !== 'answer') return body.text;
  const said = body.blocks.map((block) =>
    block.kind === 'call' ? `[${block.tool} ${block.input}]` : block.text,
  );
  return said.filter((text) => text !== '').join('\n');
}

function titleOf(body: EntryBody): string {
  switch (body.kind) {
    case 'user':
      return body.from === 'person' ? 'a message of the person' : 'a message';
    case 'answer':
      return 'your answer';
    case 'result':
      return `result of ${body.tool}, ${body.status}`;
    case 'context':
      return body.how === 'compacted' ? 'your summary' : 'of the runtime';
    case 'notice':
    case 'note':
    case 'rewind':
    case 'end':
      return 'of the runtime';
  }
}

function list(step: Step, agent: AgentRecord, verb: HistoryVerb): CallResult {
  const { from } = viewOf(step.store, agent.context);
  const before = verb.before ?? (from === 0 ? agent.head + 1 : from);
  const wanted = verb.find === null ? null : verb.find.toLowerCase();
  const page = { before, from: 0, limit: limits.slice, of: (row: EntryRecord) => row };
  const rows = entriesBack(step.store, agent, page);
  const lines: string[] = [];
  let oldest = before;
  for (const row of rows) {
    if (lines.length === limits.historyLines) break;
    oldest = row.id;
    if (row.kind === 'end') continue;
    const line = lineOf(row, bodyOf(step.store, row), wanted);
    if (line !== null) lines.unshift(line);
  }
  const none = wanted === null ? 'Nothing is older than that.' : 'Nothing was found there.';
  const isAll = rows.length < limits.slice && oldest === (rows.at(-1)?.id ?? before);
  const more = isAll ? '' : `\n[older ones: before ${oldest}]`;
  return { status: 'ok', text: `${lines.length === 0 ? none : lines.join('\n')}${more}` };
}

/** One line of a list; null when the text that is looked for is not in the entry. */
function lineOf(row: EntryRecord, body: EntryBody, wanted: string | null): string | null {
  const words = wordsOf(body);
  const at = wanted === null ? 0 : words.toLowerCase().indexOf(wanted);
  if (at === -1) return null;
  const start = wanted === null ? 0 : Math.max(0, at - 40);
  const shown = firstLine(words.slice(start).replaceAll('\n', ' '), limits.taskChars);
  return `${row.id} ${titleOf(body)}, ${row.bytes} bytes: ${wellFormed(shown)}`;
}
