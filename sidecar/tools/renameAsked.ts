// What a rename would do to the agent's files, asked of the language servers in the person's editor: where the name is
// in the text that they know, what would change in it, and what of that fits the files as the agent has them. Changes
// nothing.

import type { ToolJob } from '../ports.ts';
import type { FileEdits, Position, Renaming } from '../protocol/language.ts';
import { limits } from '../runtime/limits.ts';
import { currentOf } from '../workspace/buffers.ts';
import type { Buffers } from '../workspace/buffers.ts';
import { hashOf, hashOfText, notText } from '../workspace/bytes.ts';
import { unified } from '../workspace/unified.ts';
import type { Worktrees } from '../workspace/worktree.ts';
import type { Languages } from './language.ts';
import { locate } from './locate.ts';
import type { Located } from './locate.ts';
import { editorLines } from './position.ts';
import type { PlannedFile } from './renameEvidence.ts';
import { planOf, splicedAll } from './renamePlan.ts';
import { buffersFor, editorPlace, textOf } from './versions.ts';

export interface RenameParts {
  readonly languages: Languages;
  readonly buffers: Buffers;
  readonly worktrees: Worktrees;
}

export const noWindow =
  'No editor window with this folder answers, so its language servers cannot be asked. Find the uses with search and edit them one by one.';

export interface Wish {
  readonly path: string;
  readonly line: number;
  readonly symbol: string;
  readonly to: string;
}

interface Question {
  readonly located: Located;
  /** The name in the text of the person's file, and that text's name. */
  readonly position: Position;
  readonly text: string;
  readonly symbol: string;
  readonly to: string;
}

/** Where the person's editor has the name that the agent means; a string says why it has not. */
export async function askedAt(parts: RenameParts, located: Located, wish: Wish): Promise<Question | string> {
  const { label } = located;
  const place = await editorPlace(parts.buffers, located, { label, line: wish.line, symbol: wish.symbol });
  if (typeof place === 'string') return place;
  const { position, known } = place;
  return { located, position, text: textName(known), symbol: wish.symbol, to: wish.to };
}

/** As `FileEdits.text` names texts. */
const textName = (text: string): string => hashOfText(editorLines(text).join('\n'));

export interface Planned {
  readonly kind: 'planned';
  readonly files: readonly PlannedFile[];
  /** What a person is shown. */
  readonly diffs: readonly string[];
  /** One of the files is. */
  readonly isProtected: boolean;
  /** Places, such as `a.ts:12`, that the agent's own version does not have as the server knows them. */
  readonly left: readonly string[];
  readonly fileOperations: number;
}

export interface Problem {
  readonly kind: 'problem';
  readonly text: string;
  /** The editor spoke of another text than the one that is there. */
  readonly isStale: boolean;
}

const problem = (text: string, isStale = false): Problem => ({ kind: 'problem', text, isStale });

export async function plannedBy(
  options: RenameParts,
  job: ToolJob,
  question: Question,
): Promise<Planned | Problem> {
  const said = await options.languages.rename({
    path: question.located.person,
    position: question.position,
    text: question.text,
    newName: question.to,
    most: limits.renameEdits,
  });
  if (said === null) return problem(noWindow);
  if (said.kind === 'stale') return stale(question.located.label);
  if (said.kind === 'refused') return problem(refusalOf(said, question));
  const { renames, documentChanges, fileOperations } = said;
  if (renames !== null && renames !== question.symbol) {
    return problem(
      `at ${question.symbol} the language server would rename ${renames}. If you mean that, name it.`,
    );
  }
  if (limits.renameFiles < documentChanges.length) {
    return problem(
      `it would change ${documentChanges.length} files, and one call changes at most ${limits.renameFiles}. Do it with a command.`,
    );
  }
  const files: PlannedFile[] = [];
  const left: string[] = [];
  const diffs: string[] = [];
  let isProtected = false;
  for (const change of documentChanges) {
    const found = await plannedFile(options, job, change);
    if (found.kind === 'problem') return found;
    if (found.file !== null) files.push(found.file);
    if (found.diff !== null) diffs.push(found.diff);
    left.push(...found.left);
    isProtected ||= found.isProtected && found.file !== null;
  }
  if (files.length !== 0) return { kind: 'planned', files, diffs, isProtected, left, fileOperations };
  if (left.length === 0) return problem('the language servers would change nothing. Is it named so already?');
  return problem(`your worktree has none of the lines that would change as they are: ${namesOf(left)}.`);
}

function refusalOf(said: Extract<Renaming, { kind: 'refused' }>, { located }: Question): string {
  if (said.unknown) {
    return `no language server in the person’s editor renames in ${located.label}. Find the uses with search and edit them one by one.`;
  }
  return `the language server refuses: ${said.message}`;
}

const stale = (label: string): Problem =>
  problem(
    `the editor’s text of ${label} is not the one that is there now. Nothing was changed; try again in a moment.`,
    true,
  );

interface OneFile {
  readonly kind: 'file';
  /** Null: nothing changes in it. */
  readonly file: PlannedFile | null;
  readonly diff: string | null;
  readonly left: readonly string[];
  readonly isProtected: boolean;
}

async function plannedFile(
  options: RenameParts,
  job: ToolJob,
  change: FileEdits,
): Promise<OneFile | Problem> {
  const located = await locate(options.worktrees, job, change.path);
  if (located.kind === 'refused') return problem(`it would change ${change.path}. ${located.text}`);
  const { label, isolated, protected: isProtected } = located;
  const known = await textOf(options.buffers, located.person);
  if (known === null || textName(known) !== change.text) return stale(label);
  const now = await currentOf(buffersFor(options.buffers, located), located.read);
  if (now.kind === 'refused') return problem(now.text);
  const lines = change.edits.map(({ range }) => range.start.line + 1);
  const none: OneFile = { kind: 'file', file: null, diff: null, left: placesOf(label, lines), isProtected };
  if (now.bytes === null) return isolated ? none : problem(`${label} is gone.`, true);
  const reason = notText(label, now.bytes);
  if (reason !== null) return problem(`it would change ${label}, and ${reason}.`);
  const plan = planOf(known, now.bytes, change.edits);
  if (plan.kind === 'refused') return problem(`${label} ${plan.text}.`);
  const after = splicedAll(now.bytes, plan.splices);
  const left = placesOf(label, plan.left);
  if (after === null || plan.splices.length === 0) return { ...none, left };
  const diff = unified(label, now.bytes, after, limits.askDetailBytes);
  const file = { path: label, before: hashOf(now.bytes), after: hashOf(after), splices: plan.splices };
  return { kind: 'file', file, diff, left, isProtected };
}

const placesOf = (label: string, lines: readonly number[]): string[] =>
  [...new Set(lines)].map((line) => `${label}:${line}`);

export function namesOf(names: readonly string[]): string {
  const more = names.length - limits.renameNamed;
  return names.slice(0, limits.renameNamed).join(', ') + (more > 0 ? ` and ${more} more` : '');
}
