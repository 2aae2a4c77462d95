// Changes of agents in the words of the Language Server Protocol: a note at each hunk, and code actions that decide it.
// Pure: from changes and a text to what an editor shows.

import { CodeActionKind, DiagnosticSeverity } from 'vscode-languageserver/node';
import type { CodeAction, Command, Diagnostic, Range } from 'vscode-languageserver/node';
import type { TextDocument } from 'vscode-languageserver-textdocument';

import type { ChangeDetail, Hunk, Verdict } from '../protocol/change.ts';
import { changeId } from '../protocol/ids.ts';
import type { Params } from '../protocol/methods.ts';
import { limits } from '../runtime/limits.ts';

export const acceptCommand = 'roost.accept';
export const rejectCommand = 'roost.reject';
export const mergedCommand = 'roost.merged';

/** A verdict on the state of a change that was shown. */
export type GivenVerdict = Omit<Params<'change/verdict'>, 'key'>;

interface Placed {
  readonly change: ChangeDetail;
  readonly hunk: Hunk;
  readonly range: Range;
}

export function hintsOf(document: TextDocument, changes: readonly ChangeDetail[]): Diagnostic[] {
  const placed = placedIn(document, changes).map(({ change, hunk, range }) =>
    hint(range, [said(change, hunk.removed.length, hunk.added.length), ...linesOf(hunk)].join('\n')),
  );
  const top = { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };
  const rest = changes.filter(
    (change) => change.hunks.length === 0 || change.hunks.some(({ now }) => now === null),
  );
  return [...rest.map((change) => hint(top, restOf(change))), ...placed];
}

const hint = (range: Range, message: string): Diagnostic => {
  return { range, message, severity: DiagnosticSeverity.Information, source: 'roost' };
};

function said({ agentName, isolation }: ChangeDetail, removed: number, added: number): string {
  const what = isolation === 'worktree' ? 'proposes' : 'changed this:';
  return `${agentName} ${what} −${removed} +${added}. Accept or reject it with a code action.`;
}

function restOf(change: ChangeDetail): string {
  if (change.hunks.length === 0) return said(change, change.removed, change.added);
  const how =
    change.isolation === 'worktree' ? ' Merge by hand what you want, then say so with a code action.' : '';
  return `You changed lines that ${change.agentName} changed too: "roost review show ${change.id}" has its version.${how}`;
}

function linesOf({ removed, added }: Hunk): string[] {
  const lines = [...removed.map((line) => `- ${line}`), ...added.map((line) => `+ ${line}`)];
  const more = lines.length - limits.lspHintLines;
  return more <= 0 ? lines : [...lines.slice(0, limits.lspHintLines), `… and ${more} more lines`];
}

/** The hunks that have a place in the text. A deletion stands at the line behind it. */
function placedIn(document: TextDocument, changes: readonly ChangeDetail[]): readonly Placed[] {
  const last = document.lineCount - 1;
  return changes.flatMap((change) =>
    change.hunks.flatMap((hunk): Placed[] => {
      if (hunk.now === null) return [];
      const first = Math.max(0, Math.min(hunk.now.start - 1, last));
      const end = Math.min(first + hunk.now.count, document.lineCount) - 1;
      const stop =
        end < first ? { line: first, character: 0 } : { line: end, character: widthOf(document, end) };
      return [{ change, hunk, range: { start: { line: first, character: 0 }, end: stop } }];
    }),
  );
}

function widthOf(document: TextDocument, line: number): number {
  const start = { line, character: 0 };
  return document.getText({ start, end: { line: line + 1, character: 0 } }).replace(/\r?\n$/, '').length;
}

/** The verdicts that can be given at a range: of the hunks there, of each agent's change of the file, of all. */
export function actionsAt(
  document: TextDocument,
  changes: readonly ChangeDetail[],
  range: Range,
  takesActions: boolean,
): (CodeAction | Command)[] {
  const here = placedIn(document, changes).filter(
    (each) => each.range.start.line <= range.end.line && range.start.line <= each.range.end.line,
  );
  const commands = [
    ...here.flatMap(({ change, hunk }) => {
      const count = `−${hunk.removed.length} +${hunk.added.length} of ${change.agentName}`;
      return both(`this hunk (${count})`, [verdictOn(change, [hunk.id])]);
    }),
    ...changes.flatMap((change) =>
      both(`all of ${change.agentName} in this file`, [verdictOn(change, 'all')]),
    ),
    ...changes.filter(isProposedElsewhere).map((change) => ({
      title: `Roost: what I want of ${change.agentName} is in this file, merged by hand`,
      command: mergedCommand,
      arguments: [verdictOn(change, 'all')],
    })),
    ...(changes.length < 2
      ? []
      : both(
          `all ${changes.length} changes of this file`,
          changes.map((change) => verdictOn(change, 'all')),
        )),
  ];
  return takesActions
    ? commands.map((command) => ({ title: command.title, kind: CodeActionKind.QuickFix, command }))
    : commands;
}

/** A proposal some of whose lines the person has changed too: it cannot be accepted as it is. */
const isProposedElsewhere = ({ isolation, hunks }: ChangeDetail): boolean =>
  isolation === 'worktree' && hunks.some(({ now }) => now === null);

type Target = Omit<GivenVerdict, 'verdict'>;

const verdictOn = ({ id, baseHash, afterHash }: ChangeDetail, hunks: readonly string[] | 'all'): Target => {
  return { change: id, hunks, baseHash, afterHash };
};

const both = (what: string, targets: readonly Target[]): Command[] => [
  { title: `Roost: accept ${what}`, command: acceptCommand, arguments: [...targets] },
  { title: `Roost: reject ${what}`, command: rejectCommand, arguments: [...targets] },
];

/** What a command that came back from the editor decides; null: it is not one of ours. */
export function verdictsOf(command: string, given: readonly unknown[] = []): readonly GivenVerdict[] | null {
  const isMerged = command === mergedCommand;
  const verdict: Verdict | null =
    command === acceptCommand || isMerged ? 'accept' : command === rejectCommand ? 'reject' : null;
  if (verdict === null || given.length === 0) return null;
  const targets = given.map(targetOf).filter((target) => target !== null);
  return targets.length === given.length
    ? targets.map((target) => ({ ...target, verdict, ...(isMerged ? { merged: true } : {}) }))
    : null;
}

function targetOf(given: unknown): Target | null {
  if (typeof given !== 'object' || given === null) return null;
  const field = (name: string): unknown => Reflect.get(given, name);
  const [change, baseHash, afterHash, hunks] = ['change', 'baseHash', 'afterHash', 'hunks'].map(field);
  if (typeof change !== 'number' || typeof baseHash !== 'string' || typeof afterHash !== 'string')
    return null;
  const named = Array.isArray(hunks)
    ? hunks.filter((each): each is string => typeof each === 'string')
    : null;
  if (hunks !== 'all' && named === null) return null;
  return { change: changeId(change), baseHash, afterHash, hunks: named ?? 'all' };
}
