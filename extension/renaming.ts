// What a rename would change, by the language servers of this window. Nothing is changed here: the sidecar does it, where
// the agent works, and the person reviews it.

import { createHash } from 'node:crypto';
import * as vscode from 'vscode';
import type { EditorMethods } from '../sidecar/protocol/editorMethods.ts';
import type { FileEdits, Renaming } from '../sidecar/protocol/language.ts';
import { namedSymbols, rangeOf } from './languageServices.ts';
import { limits } from './limits.ts';
import { describe } from './log.ts';
import type { Paths } from './paths.ts';

type Asked = EditorMethods['editor/rename']['params'];

export async function renaming(
  paths: Paths,
  { path, position, text, newName, most }: Asked,
): Promise<Renaming> {
  const document = await vscode.workspace.openTextDocument(vscode.Uri.file(paths.toShown(path)));
  if (textName(document) !== text) return { kind: 'stale' };
  const { uri } = document;
  const isKnown = await namedSymbols(uri);
  const at = new vscode.Position(position.line, position.character);
  const refused = (message: string): Renaming => ({ kind: 'refused', unknown: !isKnown, message });
  try {
    // Both commands reject with the words of the server (VS Code 1.101, extHostApiCommands).
    const prepared: unknown = await vscode.commands.executeCommand('vscode.prepareRename', uri, at);
    const edit = await settled(uri, at, newName);
    if (edit === null) return refused('it gives no edits.');
    const files = edit.entries().filter(([each]) => each.scheme === 'file');
    const count = files.reduce((sum, [, edits]) => sum + edits.length, 0);
    if (most < count) return refused(`it would change ${count} places; one rename changes at most ${most}.`);
    const documentChanges = await Promise.all(files.map((each) => fileEdits(paths, each)));
    const fileOperations = Math.max(0, edit.size - files.length);
    return { kind: 'edit', renames: placeholderOf(prepared), documentChanges, fileOperations };
  } catch (error) {
    return refused(describe(error));
  }
}

function placeholderOf(prepared: unknown): string | null {
  const said: unknown =
    typeof prepared === 'object' && prepared !== null ? Reflect.get(prepared, 'placeholder') : null;
  return typeof said === 'string' ? said : null;
}

/**
 * The edit of a server that knows every text it changes as the editor has it. What stands in no document it reads from
 * the disk when it likes; so those are loaded, and then it is asked again.
 */
async function settled(
  uri: vscode.Uri,
  at: vscode.Position,
  newName: string,
): Promise<vscode.WorkspaceEdit | null> {
  let edit: vscode.WorkspaceEdit | null = null;
  for (let asked = 0; asked < limits.renameAsks; asked++) {
    const answer: unknown = await vscode.commands.executeCommand(
      'vscode.executeDocumentRenameProvider',
      uri,
      at,
      newName,
    );
    if (!(answer instanceof vscode.WorkspaceEdit)) return null;
    edit = answer;
    const open = new Set(vscode.workspace.textDocuments.map((document) => document.uri.toString()));
    const closed = edit.entries().filter(([each]) => each.scheme === 'file' && !open.has(each.toString()));
    if (closed.length === 0) return edit;
    await Promise.all(closed.map(([each]) => vscode.workspace.openTextDocument(each)));
  }
  return edit;
}

async function fileEdits(
  paths: Paths,
  [uri, edits]: readonly [vscode.Uri, readonly vscode.TextEdit[]],
): Promise<FileEdits> {
  const document = await vscode.workspace.openTextDocument(uri);
  return {
    path: paths.toReal(uri.fsPath),
    text: textName(document),
    edits: edits.map(({ range, newText }) => ({ range: rangeOf(range), newText })),
  };
}

/** As the wire names texts (FileEdits.text). */
function textName(document: vscode.TextDocument): string {
  const lines = document.getText().split(/\r\n|\r|\n/);
  return createHash('sha256').update(lines.join('\n'), 'utf8').digest('hex');
}
