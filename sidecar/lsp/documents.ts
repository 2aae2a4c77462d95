// The documents that the editor has open, by the paths that the sidecar knows, and which of them are unsaved.
//
// The protocol does not say whether a document is saved. One is unsaved when it was edited and its text was then not the
// text of its file. That is looked at when it is opened, edited or saved, never later: a file that an agent has written
// since must not make an old text look like a person's work.

import { createHash } from 'node:crypto';
import { readFile, realpath } from 'node:fs/promises';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { TextDocuments } from 'vscode-languageserver/node';
import type { ProposedFeatures } from 'vscode-languageserver/node';
import { TextDocument } from 'vscode-languageserver-textdocument';

import type { EditorMethods } from '../protocol/editorMethods.ts';

type Connection = ProposedFeatures.Connection;

export interface Editing {
  /** It makes edits when it is asked to. */
  readonly edits: boolean;
  /** It takes edits of a version of a document, and refuses those of another. */
  readonly versions: boolean;
}

interface Open {
  /** With links resolved, as the sidecar names it. */
  readonly path: Promise<string | null>;
  /** Whether its text is not that of its file; decided for the newest text, in order. */
  isUnsaved: Promise<boolean>;
}

type Change = EditorMethods['editor/applyEdit']['params'];

export class Documents {
  readonly #connection: Connection;
  readonly #editing: Editing;
  readonly #texts = new TextDocuments(TextDocument);
  readonly #open = new Map<string, Open>();
  #changed: (document: TextDocument) => void = () => undefined;

  constructor(connection: Connection, editing: Editing) {
    this.#connection = connection;
    this.#editing = editing;
    this.#texts.onDidOpen(({ document }) => {
      this.#open.set(document.uri, { path: realPath(document.uri), isUnsaved: Promise.resolve(false) });
    });
    // Told of an opening too, after it.
    this.#texts.onDidChangeContent(({ document }) => {
      this.#look(document);
      this.#changed(document);
    });
    this.#texts.onDidSave(({ document }) => {
      this.#look(document);
      this.#changed(document);
    });
    this.#texts.onDidClose(({ document }) => void this.#open.delete(document.uri));
    this.#texts.listen(connection);
  }

  /** Tells of each document that was opened, edited or saved. */
  onChange(changed: (document: TextDocument) => void): void {
    this.#changed = changed;
  }

  get(uri: string): TextDocument | undefined {
    return this.#texts.get(uri);
  }

  get all(): readonly TextDocument[] {
    return this.#texts.all();
  }

  /** The sidecar's name of a document's file; null: it is none. */
  pathOf(uri: string): Promise<string | null> {
    return this.#open.get(uri)?.path ?? Promise.resolve(null);
  }

  /** As `editor/readText` says. */
  async readText(file: string): Promise<string | null> {
    const document = await this.#find(file);
    if (document === null || (await this.#open.get(document.uri)?.isUnsaved) !== true) return null;
    return this.#texts.get(document.uri)?.getText() ?? null;
  }

  /** As `editor/applyEdit` says. */
  async applyEdit({ path: file, expect, edits }: Change): Promise<boolean> {
    const document = await this.#find(file);
    if (document === null || !this.#editing.edits || hashOf(document.getText()) !== expect) return false;
    const { uri, version } = document;
    const changes = edits.map(({ start, end, text }) => ({
      range: { start: document.positionAt(start), end: document.positionAt(end) },
      newText: text,
    }));
    const edit = this.#editing.versions
      ? { documentChanges: [{ textDocument: { uri, version }, edits: changes }] }
      : { changes: { [uri]: changes } };
    const { applied } = await this.#connection.workspace.applyEdit({ label: 'Roost', edit });
    return applied;
  }

  async #find(file: string): Promise<TextDocument | null> {
    for (const [uri, open] of this.#open) {
      if (keyOf((await open.path) ?? '') === keyOf(file)) return this.#texts.get(uri) ?? null;
    }
    return null;
  }

  #look(document: TextDocument): void {
    const open = this.#open.get(document.uri);
    if (open === undefined) return;
    const text = document.getText();
    // Looked at now, behind the looks before it, so that the newest text is decided last.
    const looked = Promise.all([open.path, open.isUnsaved]).then(([file]) => differs(file, text));
    open.isUnsaved = looked;
  }
}

/** Whether a file has another text. One that is not there has: its document is not saved. */
async function differs(file: string | null, text: string): Promise<boolean> {
  if (file === null) return false;
  const saved = await readFile(file, 'utf8').catch(() => null);
  return saved === null || linesOf(saved) !== linesOf(text);
}

/** Editors show no byte order mark, and some speak of `\n` whatever the file has. */
const linesOf = (text: string): string => text.replace(/^\ufeff/, '').replaceAll('\r\n', '\n');

async function realPath(uri: string): Promise<string | null> {
  try {
    const file = fileURLToPath(uri);
    return await realpath(file).catch(() => file);
  } catch {
    return null;
  }
}

/** Equal for two names of one file. */
const keyOf = (file: string): string =>
  process.platform === 'win32' || process.platform === 'darwin' ? file.toLowerCase() : file;

const hashOf = (text: string): string => createHash('sha256').update(text, 'utf8').digest('hex');
