// An editor that speaks the Language Server Protocol over the standard streams of a real `roost lsp`: it holds texts,
// makes the edits that it is asked for, and remembers what it was told.

import { readFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import {
  ApplyWorkspaceEditRequest,
  CodeActionRequest,
  createProtocolConnection,
  DidChangeTextDocumentNotification,
  DidChangeWorkspaceFoldersNotification,
  DidOpenTextDocumentNotification,
  DidSaveTextDocumentNotification,
  ExecuteCommandRequest,
  ExitNotification,
  InitializedNotification,
  InitializeRequest,
  PublishDiagnosticsNotification,
  RegistrationRequest,
  ShowMessageNotification,
  ShutdownRequest,
  StreamMessageReader,
  StreamMessageWriter,
  TextDocumentEdit,
} from 'vscode-languageserver-protocol/node';
import type {
  ClientCapabilities,
  CodeAction,
  Command,
  Diagnostic,
  InitializeResult,
  ProtocolConnection,
} from 'vscode-languageserver-protocol/node';
import { TextDocument } from 'vscode-languageserver-textdocument';
import { until } from '../rpc/rig.ts';
import type { Running, Store } from '../cli/roost.ts';

export const capable: ClientCapabilities = {
  workspace: { applyEdit: true, workspaceEdit: { documentChanges: true }, workspaceFolders: true },
  textDocument: { codeAction: { codeActionLiteralSupport: { codeActionKind: { valueSet: ['quickfix'] } } } },
};

export class Editor {
  readonly running: Running;
  readonly said: InitializeResult;
  readonly messages: string[] = [];
  readonly #wire: ProtocolConnection;
  readonly #folder: string;
  readonly #texts = new Map<string, TextDocument>();
  readonly #notes = new Map<string, readonly Diagnostic[]>();

  private constructor(running: Running, wire: ProtocolConnection, said: InitializeResult, folder: string) {
    this.running = running;
    this.#wire = wire;
    this.said = said;
    this.#folder = folder;
  }

  /** Starts a server and greets it, with the store's workspace open, or with this one. */
  static async start(store: Store, can = capable, folder = store.workspace): Promise<Editor> {
    const running = store.start(['lsp']);
    const { stdin, stdout } = running.child;
    if (stdin === null || stdout === null) throw new Error('the server has no streams');
    const wire = createProtocolConnection(new StreamMessageReader(stdout), new StreamMessageWriter(stdin));
    const editor = (): Editor => made ?? unready();
    let made: Editor | null = null;
    wire.onNotification(PublishDiagnosticsNotification.type, ({ uri, diagnostics }) => {
      editor().#notes.set(uri, diagnostics);
    });
    wire.onNotification(ShowMessageNotification.type, ({ message }) => void editor().messages.push(message));
    wire.onRequest(RegistrationRequest.type, () => undefined);
    wire.onRequest(ApplyWorkspaceEditRequest.type, async ({ edit }) => {
      for (const change of edit.documentChanges ?? []) {
        if (TextDocumentEdit.is(change)) await editor().#apply(change);
      }
      return { applied: true };
    });
    wire.listen();
    const said = await wire.sendRequest(InitializeRequest.type, {
      processId: process.pid,
      clientInfo: { name: 'test editor' },
      rootUri: null,
      capabilities: can,
      workspaceFolders: [{ uri: pathToFileURL(folder).href, name: 'workspace' }],
    });
    made = new Editor(running, wire, said, folder);
    await wire.sendNotification(InitializedNotification.type, {});
    return made;
  }

  uri(file: string): string {
    return pathToFileURL(path.resolve(this.#folder, file)).href;
  }

  text(file: string): string {
    return this.#texts.get(this.uri(file))?.getText() ?? '';
  }

  notes(file: string): readonly Diagnostic[] {
    return this.#notes.get(this.uri(file)) ?? [];
  }

  /** Opens a file as it is on the disk. */
  async open(file: string): Promise<void> {
    const text = readFileSync(path.resolve(this.#folder, file), 'utf8');
    const uri = this.uri(file);
    this.#texts.set(uri, TextDocument.create(uri, 'plaintext', 1, text));
    const textDocument = { uri, languageId: 'plaintext', version: 1, text };
    await this.#wire.sendNotification(DidOpenTextDocumentNotification.type, { textDocument });
  }

  /** Types: puts a text in the place of the first that is like this. */
  async type(file: string, old: string, newText: string): Promise<void> {
    const document = this.#document(file);
    const at = document.getText().indexOf(old);
    const range = { start: document.positionAt(at), end: document.positionAt(at + old.length) };
    await this.#change(document, [{ range, newText }]);
  }

  async saved(file: string): Promise<void> {
    await this.#wire.sendNotification(DidSaveTextDocumentNotification.type, {
      textDocument: { uri: this.uri(file) },
    });
  }

  /** The titles of what can be done at a line, from 0. */
  async actions(file: string, line: number): Promise<readonly (CodeAction | Command)[]> {
    const place = { line, character: 0 };
    const found = await this.#wire.sendRequest(CodeActionRequest.type, {
      textDocument: { uri: this.uri(file) },
      range: { start: place, end: place },
      context: { diagnostics: [] },
    });
    return found ?? [];
  }

  /** Runs the first action whose title is like this. */
  async act(file: string, line: number, title: RegExp): Promise<void> {
    const found = await this.actions(file, line);
    const chosen = found.find((each) => title.test(each.title));
    if (chosen === undefined) throw new Error(`no ${title} in ${found.map((each) => each.title).join('; ')}`);
    const command = typeof chosen.command === 'object' ? chosen.command : (chosen as Command);
    await this.run(command.command, command.arguments ?? []);
  }

  async run(command: string, given: readonly unknown[]): Promise<void> {
    await this.#wire.sendRequest(ExecuteCommandRequest.type, { command, arguments: [...given] });
  }

  async moveFolders(added: string, removed: string): Promise<void> {
    const folder = (each: string) => ({ uri: pathToFileURL(each).href, name: 'x' });
    await this.#wire.sendNotification(DidChangeWorkspaceFoldersNotification.type, {
      event: { added: [folder(added)], removed: [folder(removed)] },
    });
  }

  /** Ends the server as editors do, and gives its exit code. */
  async stop(): Promise<number> {
    await this.#wire.sendRequest(ShutdownRequest.type);
    await this.#wire.sendNotification(ExitNotification.type);
    return (await this.running.ended).code;
  }

  async noted(file: string, count: number): Promise<void> {
    await until(`${count} notes in ${file}`, () => this.notes(file).length === count);
  }

  #document(file: string): TextDocument {
    const document = this.#texts.get(this.uri(file));
    if (document === undefined) throw new Error(`${file} is not open`);
    return document;
  }

  async #apply({ textDocument, edits }: TextDocumentEdit): Promise<void> {
    const document = this.#texts.get(textDocument.uri);
    if (document === undefined || textDocument.version !== document.version)
      throw new Error('another version');
    await this.#change(
      document,
      edits.flatMap((edit) => ('newText' in edit ? [edit] : [])),
    );
  }

  async #change(
    document: TextDocument,
    edits: readonly { readonly range: Diagnostic['range']; readonly newText: string }[],
  ): Promise<void> {
    // From the end on, so that the places of those before stay what they are.
    const contentChanges = [...edits].reverse().map(({ range, newText }) => ({ range, text: newText }));
    TextDocument.update(document, contentChanges, document.version + 1);
    const { uri, version } = document;
    await this.#wire.sendNotification(DidChangeTextDocumentNotification.type, {
      textDocument: { uri, version },
      contentChanges,
    });
  }
}

const unready = (): never => {
  throw new Error('the server spoke before it was greeted');
};
