// The tool `rename`: a name and all its uses, as the language servers in the person's editor know them.
//
// The editor only says what would change; it is done here, byte by byte, where the agent writes: each file becomes a
// change of the agent's that is reviewed like any edit. Idempotent by evidence: the splices of all files, with the
// hashes of each before and after, are committed before the first is written (I3). All files are looked at before
// one is written, and when one has moved on nothing is done.
//
// The servers know the person's folder. In a worktree an edit goes to the line that is the same there; what the agent
// has changed itself is named as left to it.

import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { counted } from '../core/text.ts';
import type { Prepared, ToolJob, ToolOutcome } from '../ports.ts';
import { limits } from '../runtime/limits.ts';
import type { EditOptions } from './edit.ts';
import { fieldsOf } from './fields.ts';
import type { Languages } from './language.ts';
import { locate } from './locate.ts';
import { askedAt, namesOf, noWindow, plannedBy } from './renameAsked.ts';
import type { Planned, Problem, Wish } from './renameAsked.ts';
import { evidenceOf, readEvidence } from './renameEvidence.ts';
import type { RenameEvidence } from './renameEvidence.ts';
import { writeAll } from './renameWrite.ts';
import { withSetup } from './setup.ts';
import { failure, refuse, schemaOf } from './tool.ts';
import type { Tool } from './tool.ts';

export interface RenameOptions extends EditOptions {
  readonly languages: Languages;
}

const spec = {
  name: 'rename',
  description:
    'Renames a symbol and all its uses in all files, with the language servers in the person’s editor. ' +
    'Safer than edits one by one: it knows which equal words mean something else.',
  schema: schemaOf(
    {
      path: { type: 'string', description: 'A file in which the name stands.' },
      line: { type: 'integer', minimum: 1, description: 'The line it stands on, from 1.' },
      symbol: { type: 'string', description: 'The name, as it is written there.' },
      to: { type: 'string', description: 'The new name.' },
    },
    ['path', 'line', 'symbol', 'to'],
  ),
};

export function createRename(options: RenameOptions): Tool {
  return {
    spec,
    callClass: 'idempotent',
    prepare: (job) => prepare(options, job),
    run: (job, evidence, doing) =>
      perform(options, { job, evidence: readEvidence(evidence), doing, again: false }),
    recover: (job, evidence, doing) =>
      perform(options, { job, evidence: readEvidence(evidence), doing, again: true }),
  };
}

function wishOf(job: ToolJob): Wish | string {
  const fields = fieldsOf('rename', job.input);
  const [file, symbol, to] = [fields.word('path'), fields.word('symbol'), fields.word('to')];
  const line = fields.optionalCount('line', { atLeast: 1, atMost: Number.MAX_SAFE_INTEGER });
  const problem = fields.problem();
  if (problem !== null) return problem;
  if (line === null) return 'rename needs "line", the line on which the name stands, from 1.';
  if (symbol === '' || to === '') return 'rename: "symbol" and "to" may not be empty.';
  if (limits.nameChars < to.length) return `rename: "to" has ${to.length} characters, which is no name.`;
  return symbol === to ? 'rename: both names are the same: nothing to do.' : { path: file, line, symbol, to };
}

async function prepare(options: RenameOptions, job: ToolJob): Promise<Prepared> {
  const wish = wishOf(job);
  if (typeof wish === 'string') return refuse(wish);
  if (job.place.isolation === 'readonly') {
    return refuse('rename: this agent may only read. Say what should be renamed in your answer.');
  }
  const located = await locate(options.worktrees, job, wish.path);
  if (located.kind === 'refused') return refuse(`rename: ${located.text}`);
  const question = await askedAt(options, located, wish);
  if (typeof question === 'string') return refuse(`rename: ${question}`);
  let planned: Planned | Problem = { kind: 'problem', text: noWindow, isStale: false };
  // What was written a moment ago reaches the editor's own copy of it by the file system's news, a moment later.
  for (let asked = 0; asked < limits.renameAsks; asked++) {
    if (0 < asked) await sleep(limits.renameAgainMs);
    planned = await plannedBy(options, job, question);
    if (planned.kind === 'planned' || !planned.isStale) break;
  }
  if (planned.kind === 'problem') return refuse(`rename: ${planned.text}`);
  return preparedOf(options, job, { wish, planned });
}

function preparedOf(
  options: RenameOptions,
  job: ToolJob,
  { wish, planned }: { readonly wish: Wish; readonly planned: Planned },
): Prepared {
  const { files, isProtected, fileOperations } = planned;
  const setup =
    job.place.isolation === 'worktree' ? options.worktrees.wish(job.agent, job.place.workspace) : null;
  const folders = new Set(files.map((file) => path.posix.dirname(file.path)));
  const [folder] = folders;
  const ask = {
    kind: 'edit' as const,
    title: `Rename ${wish.symbol} to ${wish.to} in ${counted(files.length, 'file')}`,
    detail: cutTo(planned.diffs.join('\n'), limits.askDetailBytes),
    cluster: isProtected || folders.size !== 1 ? null : `edit:${folder ?? '.'}`,
    always: isProtected,
    harmless: false,
    sandboxed: false,
  };
  return {
    kind: 'run',
    evidence: evidenceOf({ setup: setup?.name ?? null, files, left: planned.left, fileOperations }),
    ask: withSetup(ask, setup),
    usesCommandSlot: false,
  };
}

const cutTo = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most)}\n[more would be changed than is shown]`;

interface Performing {
  readonly job: ToolJob;
  readonly evidence: RenameEvidence | null;
  readonly doing: Parameters<Tool['run']>[2];
  readonly again: boolean;
}

async function perform(
  options: RenameOptions,
  { job, evidence, doing, again }: Performing,
): Promise<ToolOutcome> {
  const wish = wishOf(job);
  if (typeof wish === 'string') return failure(wish);
  if (evidence === null) return failure('rename: what was planned cannot be read. Nothing was changed.');
  const written = await writeAll(options, { job, evidence, doing, again });
  if (written.kind === 'refused') return { status: written.status, text: `rename: ${written.text}` };
  const { touched, failed, news } = written;
  const places = evidence.files.reduce((sum, file) => sum + file.splices.length, 0);
  const told = [
    `Renamed ${wish.symbol} to ${wish.to}: ${counted(places, 'place')} in ${counted(touched.length, 'file')}.`,
    ...failed.map(({ label, reason }) => `NOT in ${label}: ${reason}`),
    ...leftLines(job, wish, evidence),
    cutTo(written.diffs.join('\n'), limits.renameEchoBytes),
    ...(news === null ? [] : [news]),
  ];
  return { status: failed.length === 0 ? 'ok' : 'error', text: told.join('\n'), touched };
}

/** What an agent still has to do by hand. */
function leftLines(job: ToolJob, wish: Wish, { left, fileOperations }: RenameEvidence): string[] {
  const lines: string[] = [];
  if (left.length !== 0) {
    lines.push(
      `Left to you, because your worktree has these lines otherwise or not at all: ${namesOf(left)}.`,
    );
  }
  if (job.place.isolation === 'worktree') {
    lines.push(
      `The servers know the person's folder: search for ${wish.symbol} in what you have written since.`,
    );
  }
  if (fileOperations !== 0) {
    lines.push(
      `The server would also move or make ${counted(fileOperations, 'file')}; that was not done. Use a command.`,
    );
  }
  return lines;
}
