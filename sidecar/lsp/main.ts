// `roost lsp`: lets any editor with a client of the Language Server Protocol be a window of the sidecar.
//
// Agents see the unsaved text of its documents and edit it as one step of its undo; what they changed shows as notes in
// the lines, and code actions accept or reject it by the same methods that the VS Code extension uses. It holds no
// truth and starts no agent. A bundle of its own (lsp.cjs), because no other command needs the library.
//
// Not here: which documents are unsaved (documents.ts), what is followed of the sidecar (changes.ts), what is shown of
// it (hints.ts).

import { fileURLToPath } from 'node:url';
import process from 'node:process';
import {
  CodeActionKind,
  createConnection,
  ErrorCodes,
  MessageType,
  ProposedFeatures,
  ResponseError,
  ShowMessageNotification,
  TextDocumentSyncKind,
} from 'vscode-languageserver/node';
import type { InitializeParams, InitializeResult } from 'vscode-languageserver/node';

import { Session } from '../cli/session.ts';
import { build } from '../protocol/version.ts';
import type { ProviderSpec } from '../protocol/settings.ts';
import { Changes } from './changes.ts';
import { Documents } from './documents.ts';
import { actionsAt, acceptCommand, hintsOf, mergedCommand, rejectCommand, verdictsOf } from './hints.ts';

export interface LspOptions {
  readonly store: string;
  readonly providers: readonly ProviderSpec[];
}

/** Serves on standard input and output until the editor ends it; then the process ends (0 after a shutdown, else 1). */
export function serve(options: LspOptions): Promise<never> {
  // The library ends the process when the editor says `exit`, closes the stream, or is gone.
  const connection = createConnection(ProposedFeatures.all, process.stdin, process.stdout);
  let parts: Parts | null = null;
  connection.onInitialize((params) => {
    parts = partsOf(options, connection, params);
    return capabilities;
  });
  connection.onInitialized(() => {
    parts?.changes.follow();
    connection.workspace.onDidChangeWorkspaceFolders(({ added, removed }) => {
      parts?.moveFolders(
        added.map(({ uri }) => uri),
        removed.map(({ uri }) => uri),
      );
    });
  });
  connection.onCodeAction(({ textDocument, range }) => {
    const document = parts?.documents.get(textDocument.uri);
    if (parts === null || document === undefined) return [];
    return actionsAt(document, parts.changes.of(textDocument.uri), range, parts.takesActions);
  });
  connection.onExecuteCommand(async ({ command, arguments: given }) => {
    const verdicts = verdictsOf(command, given);
    if (verdicts === null) {
      throw new ResponseError(
        ErrorCodes.InvalidParams,
        `${command} cannot be run by itself: use a code action.`,
      );
    }
    await parts?.changes.decide(verdicts);
    return null;
  });
  connection.onShutdown(() => parts?.close());
  connection.listen();
  return new Promise(() => undefined);
}

const capabilities: InitializeResult = {
  serverInfo: { name: 'roost', version: build },
  capabilities: {
    textDocumentSync: { openClose: true, change: TextDocumentSyncKind.Incremental, save: true },
    codeActionProvider: { codeActionKinds: [CodeActionKind.QuickFix] },
    executeCommandProvider: { commands: [acceptCommand, rejectCommand, mergedCommand] },
    workspace: { workspaceFolders: { supported: true, changeNotifications: true } },
  },
};

interface Parts {
  readonly documents: Documents;
  readonly changes: Changes;
  /** The editor takes code actions, not only commands. */
  readonly takesActions: boolean;
  moveFolders(added: readonly string[], removed: readonly string[]): void;
  close(): void;
}

type Connection = ProposedFeatures.Connection;

function partsOf({ store, providers }: LspOptions, connection: Connection, params: InitializeParams): Parts {
  const { capabilities: can, clientInfo } = params;
  let folders = foldersOf(params);
  const documents = new Documents(connection, {
    edits: can.workspace?.applyEdit === true,
    versions: can.workspace?.workspaceEdit?.documentChanges === true,
  });
  const window = {
    name: clientInfo?.name ?? 'editor',
    folders: () => folders.flatMap(pathOf),
    readText: (file: string) => documents.readText(file),
    applyEdit: documents.applyEdit.bind(documents),
  };
  const session = new Session({ store, start: true, secrets: true, call: null, window }, providers);
  const changes = new Changes(session, {
    documents,
    // Not `window.showWarningMessage`, which is a question and waits for a press.
    warn: (message) =>
      void connection.sendNotification(ShowMessageNotification.type, { type: MessageType.Warning, message }),
    log: (message) => connection.console.warn(message),
    show: (document, found) =>
      void connection.sendDiagnostics({ uri: document.uri, diagnostics: hintsOf(document, found) }),
  });
  return {
    documents,
    changes,
    takesActions: can.textDocument?.codeAction?.codeActionLiteralSupport !== undefined,
    moveFolders: (added, removed) => {
      folders = [...folders.filter((folder) => !removed.includes(folder)), ...added];
      // The sidecar learns of them in a new hello; the follow opens again by itself.
      session.renew();
    },
    close: () => {
      changes.close();
      session.close();
    },
  };
}

function foldersOf({ workspaceFolders, rootUri }: InitializeParams): string[] {
  if (workspaceFolders !== null && workspaceFolders !== undefined)
    return workspaceFolders.map(({ uri }) => uri);
  return rootUri === null ? [] : [rootUri];
}

/** The path of a file; none for what is not one. */
function pathOf(uri: string): string[] {
  try {
    return [fileURLToPath(uri)];
  } catch {
    return [];
  }
}
