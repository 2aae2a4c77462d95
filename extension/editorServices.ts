// What this window does for the sidecar when it is asked: the text of unsaved buffers, edits of open documents,
// keys, models. Each answers from what the editor holds; none opens an editor or takes the focus (case 238).

import { createHash } from 'node:crypto';
import * as vscode from 'vscode';
import type { EditorMethods } from '../sidecar/protocol/editorMethods.ts';
import type { EditorModels } from './editorModels.ts';
import { languageServices } from './languageServices.ts';
import type { EditorHandlers } from './wire.ts';
import { describe } from './log.ts';
import type { Log } from './log.ts';
import type { Paths } from './paths.ts';
import { renaming } from './renaming.ts';
import type { Secrets } from './secrets.ts';

export interface EditorParts {
  readonly paths: Paths;
  readonly secrets: Secrets;
  readonly editorModels: Pick<EditorModels, 'handlers'>;
  readonly log: Log;
}

export function editorServices(parts: EditorParts): EditorHandlers {
  return {
    ...parts.editorModels.handlers,
    'editor/readText': ({ path }) => {
      const document = openDocument(parts.paths, path);
      return Promise.resolve({ text: document?.isDirty === true ? document.getText() : null });
    },
    'editor/applyEdit': (params) => applyEdit(parts, params),
    ...languageServices(parts.paths),
    'editor/rename': (asked) => renaming(parts.paths, asked),
    'editor/secret': async ({ provider }) => {
      try {
        const key = await parts.secrets.key(provider);
        return key ?? { key: null };
      } catch (error) {
        // A keyring that is locked or missing: the sidecar then says that a key is needed (case 198).
        parts.log.warn(`secret storage: ${describe(error)}`);
        return parts.secrets.fromEnvironment(provider) ?? { key: null };
      }
    },
  };
}

/** The document of a file when some editor holds it, by the sidecar's path. */
export function openDocument(paths: Paths, real: string): vscode.TextDocument | undefined {
  const wanted = paths.key(real);
  return vscode.workspace.textDocuments.find(
    (document) =>
      document.uri.scheme === 'file' &&
      !document.isClosed &&
      paths.key(paths.toReal(document.uri.fsPath)) === wanted,
  );
}

/** SHA-256, hex, of the buffer's text as UTF-8 without a byte order mark. */
export function hashOfText(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}

async function applyEdit(
  { paths, log }: EditorParts,
  { path, expect, edits }: EditorMethods['editor/applyEdit']['params'],
): Promise<{ applied: boolean }> {
  const document = openDocument(paths, path);
  // What the person has typed since must not be written over: the sidecar looks again (case 62).
  if (document === undefined || hashOfText(document.getText()) !== expect) return { applied: false };
  const clean = !document.isDirty;
  const change = new vscode.WorkspaceEdit();
  for (const edit of edits) {
    const range = new vscode.Range(document.positionAt(edit.start), document.positionAt(edit.end));
    change.replace(document.uri, range, edit.text);
  }
  const applied = await vscode.workspace.applyEdit(change);
  // A document that was saved stays saved; one with unsaved work stays the person's to save.
  if (applied && clean && !(await document.save())) log.warn(`${path}: edited, but it could not be saved`);
  return { applied };
}
