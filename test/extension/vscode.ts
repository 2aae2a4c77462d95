// A stand-in for the `vscode` module: what the extension registers is kept where tests find it, what it shows is
// a list, what a person would choose is set beforehand. It holds no behaviour of the editor beyond that; how the
// real one behaves is what test/e2e is for.
import { registerHooks } from 'node:module';
import path from 'node:path';

type Handler = (...args: unknown[]) => unknown;

/** All that happened, and what the person will answer. */
export const seen = {
  commands: new Map<string, Handler>(),
  executed: [] as unknown[][],
  messages: [] as string[],
  contexts: new Map<string, unknown>(),
  configuration: new Map<string, unknown>(),
  documents: [] as unknown[],
  /** Answers of quick picks, input boxes and messages, in the order in which they are asked. */
  answers: [] as unknown[],
  views: new Map<string, Record<string, unknown>>(),
  treeProviders: new Map<
    string,
    { getChildren(node?: unknown): unknown[]; getTreeItem(node: unknown): TreeItem }
  >(),
  statusItems: [] as Record<string, unknown>[],
  opened: [] as string[],
  trusted: true,
  /** Models of the editor, and whether VS Code lets the extension use them; undefined: it was not asked yet. */
  models: [] as TestModel[],
  canSendRequest: undefined as boolean | undefined,
  visibleEditors: [] as { document: unknown }[],
  contentProviders: new Map<string, { provideTextDocumentContent(uri: Uri): Promise<string> }>(),
  lensProviders: [] as { provideCodeLenses(document: unknown): CodeLens[] }[],
};

/** A model of the editor: `sends` is what a request to it does. */
export interface TestModel {
  readonly vendor: string;
  readonly id: string;
  readonly name: string;
  readonly family: string;
  readonly version: string;
  readonly maxInputTokens: number;
  sendRequest(
    messages: LanguageModelChatMessage[],
    options: { tools?: unknown[]; justification?: string },
    token: CancellationToken,
  ): Promise<{ stream: AsyncIterable<unknown> }>;
}

/** Lets `import … from 'vscode'` find this file. Import the extension after this has run. */
export function standIn(): void {
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === 'vscode'
        ? { url: import.meta.url, shortCircuit: true, format: 'module-typescript' }
        : next(specifier, context),
  });
}

const nothing = { dispose: (): void => undefined };
const ignore = (): typeof nothing => nothing;

export class EventEmitter<T> {
  readonly #listeners = new Set<(value: T) => void>();
  readonly event = (listener: (value: T) => void): typeof nothing => {
    this.#listeners.add(listener);
    return { dispose: () => this.#listeners.delete(listener) };
  };
  fire(value: T): void {
    for (const listener of this.#listeners) listener(value);
  }
  dispose(): void {
    this.#listeners.clear();
  }
}

/** Events that tests fire. */
export const events = {
  trustGranted: new EventEmitter<void>(),
  configuration: new EventEmitter<{ affectsConfiguration(section: string): boolean }>(),
  visibleEditors: new EventEmitter<unknown>(),
  textChanged: new EventEmitter<unknown>(),
  chatModels: new EventEmitter<void>(),
};

export class LanguageModelTextPart {
  readonly value: string;
  constructor(value: string) {
    this.value = value;
  }
}

export class LanguageModelToolCallPart {
  readonly callId: string;
  readonly name: string;
  readonly input: object;
  constructor(callId: string, name: string, input: object) {
    this.callId = callId;
    this.name = name;
    this.input = input;
  }
}

export class LanguageModelToolResultPart {
  readonly callId: string;
  readonly content: unknown[];
  constructor(callId: string, content: unknown[]) {
    this.callId = callId;
    this.content = content;
  }
}

export class LanguageModelChatMessage {
  readonly role: 1 | 2;
  readonly content: unknown[];
  constructor(role: 1 | 2, content: string | unknown[]) {
    this.role = role;
    this.content = typeof content === 'string' ? [new LanguageModelTextPart(content)] : content;
  }
  static User(content: string | unknown[]): LanguageModelChatMessage {
    return new LanguageModelChatMessage(1, content);
  }
  static Assistant(content: string | unknown[]): LanguageModelChatMessage {
    return new LanguageModelChatMessage(2, content);
  }
}

/** As VS Code's: the code is the name of the function that makes it. */
export class LanguageModelError extends Error {
  readonly code: string;
  constructor(message: string, code: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
  static NoPermissions(message = ''): LanguageModelError {
    return new LanguageModelError(message, 'NoPermissions');
  }
  static Blocked(message = ''): LanguageModelError {
    return new LanguageModelError(message, 'Blocked');
  }
  static NotFound(message = ''): LanguageModelError {
    return new LanguageModelError(message, 'NotFound');
  }
}

export interface CancellationToken {
  readonly isCancellationRequested: boolean;
  onCancellationRequested(listener: () => void): { dispose(): void };
}

export class CancellationTokenSource {
  readonly #emitter = new EventEmitter<void>();
  #cancelled = false;
  readonly token: CancellationToken;
  constructor() {
    const isCancelled = (): boolean => this.#cancelled;
    this.token = {
      get isCancellationRequested() {
        return isCancelled();
      },
      onCancellationRequested: this.#emitter.event,
    };
  }
  cancel(): void {
    if (this.#cancelled) return;
    this.#cancelled = true;
    this.#emitter.fire();
  }
  dispose(): void {
    this.#emitter.dispose();
  }
}

export const lm = {
  onDidChangeChatModels: events.chatModels.event,
  selectChatModels: ({ vendor, id }: { vendor?: string; id?: string } = {}): Promise<TestModel[]> =>
    Promise.resolve(
      seen.models.filter(
        (model) => (vendor ?? model.vendor) === model.vendor && (id ?? model.id) === model.id,
      ),
    ),
};

export class Position {
  readonly line: number;
  readonly character: number;
  constructor(line: number, character: number) {
    this.line = line;
    this.character = character;
  }
}

export class Range {
  readonly start: Position;
  readonly end: Position;
  constructor(a: number | Position, b: number | Position, c = 0, d = 0) {
    this.start = typeof a === 'number' ? new Position(a, typeof b === 'number' ? b : 0) : a;
    this.end = typeof b === 'number' ? new Position(c, d) : b;
  }
}

export class Selection extends Range {}

export class Uri {
  readonly scheme: string;
  readonly path: string;
  readonly query: string;
  constructor(scheme: string, file: string, query = '') {
    this.scheme = scheme;
    this.path = file;
    this.query = query;
  }
  static file(file: string): Uri {
    return new Uri('file', file);
  }
  static parse(text: string): Uri {
    const { protocol, pathname, search } = new URL(text);
    return new Uri(protocol.slice(0, -1), decodeURIComponent(pathname), search.slice(1));
  }
  static joinPath(base: Uri, ...parts: string[]): Uri {
    return new Uri(base.scheme, path.posix.join(base.path, ...parts));
  }
  get fsPath(): string {
    return this.path;
  }
  with(change: { scheme?: string; query?: string }): Uri {
    return new Uri(change.scheme ?? this.scheme, this.path, change.query ?? this.query);
  }
  toString(): string {
    return `${this.scheme}://${this.path}${this.query === '' ? '' : `?${this.query}`}`;
  }
}

export class ThemeIcon {
  readonly id: string;
  constructor(id: string) {
    this.id = id;
  }
}

export const ProgressLocation = { Notification: 15 };
export const QuickPickItemKind = { Separator: -1, Default: 0 };

export class ThemeColor extends ThemeIcon {}

export class TreeItem {
  label: string;
  collapsibleState: number;
  description?: string;
  command?: { command: string; arguments: unknown[] };
  contextValue?: string;
  constructor(label: string, collapsibleState: number) {
    this.label = label;
    this.collapsibleState = collapsibleState;
  }
}

export class MarkdownString {
  value = '';
  appendText(text: string): this {
    this.value += text;
    return this;
  }
  appendMarkdown(text: string): this {
    this.value += text;
    return this;
  }
  appendCodeblock(text: string): this {
    this.value += `\n\`\`\`\n${text}\n\`\`\`\n`;
    return this;
  }
}

export class CodeLens {
  readonly range: Range;
  readonly command: { title: string; command: string };
  constructor(range: Range, command: { title: string; command: string }) {
    this.range = range;
    this.command = command;
  }
}

/** Collects the edits of a test's document and applies them to its text. */
export class WorkspaceEdit {
  readonly edits: { uri: Uri; range: Range; text: string }[] = [];
  replace(uri: Uri, range: Range, text: string): void {
    this.edits.push({ uri, range, text });
  }
}

export const TreeItemCollapsibleState = { None: 0, Collapsed: 1, Expanded: 2 } as const;
export const StatusBarAlignment = { Left: 1, Right: 2 } as const;
export const OverviewRulerLane = { Left: 1 } as const;
export const ViewColumn = { Active: -1 } as const;
export const CommentMode = { Preview: 1 } as const;
export const CommentThreadCollapsibleState = { Expanded: 1 } as const;
export const TextEditorRevealType = { InCenterIfOutsideViewport: 2 } as const;

export const l10n = {
  bundle: undefined,
  t: (message: string, ...values: unknown[]): string =>
    message.replace(/\{(\d)\}/g, (_hole, digit: string) => String(values[Number(digit)])),
};

export const env = {
  appName: 'Test',
  language: 'en',
  clipboard: { writeText: (): Promise<void> => Promise.resolve() },
  openExternal: (uri: Uri): Promise<boolean> => {
    seen.opened.push(uri.toString());
    return Promise.resolve(true);
  },
};

export const commands = {
  registerCommand: (name: string, handler: Handler): typeof nothing => {
    if (seen.commands.has(name)) throw new Error(`registered twice: ${name}`);
    seen.commands.set(name, handler);
    return nothing;
  },
  /** An editor without commands that are not documented. */
  getCommands: (): Promise<readonly string[]> => Promise.resolve([]),
  executeCommand: (name: string, ...args: unknown[]): Promise<unknown> => {
    if (name === 'setContext') seen.contexts.set(String(args[0]), args[1]);
    else seen.executed.push([name, ...args]);
    return Promise.resolve(seen.commands.get(name)?.(...args));
  },
};

const answer = (): Promise<unknown> => Promise.resolve(seen.answers.shift());
const say = (message: string): Promise<unknown> => {
  seen.messages.push(message);
  return answer();
};

const log = { debug: ignore, info: ignore, warn: ignore, error: ignore, show: ignore, dispose: ignore };

export const window = {
  state: { focused: true },
  get visibleTextEditors(): { document: unknown }[] {
    return seen.visibleEditors;
  },
  tabGroups: { all: [], onDidChangeTabs: ignore },
  activeTextEditor: undefined,
  createOutputChannel: () => log,
  createStatusBarItem: () => {
    const item = {
      shown: false,
      show: () => (item.shown = true),
      hide: () => (item.shown = false),
      dispose: ignore,
    };
    seen.statusItems.push(item);
    return item;
  },
  createTreeView: (id: string, options: { treeDataProvider: never }) => {
    const view = {
      visible: true,
      selection: [],
      reveal: () => Promise.resolve(),
      onDidChangeVisibility: ignore,
      dispose: ignore,
    };
    seen.views.set(id, view);
    seen.treeProviders.set(id, options.treeDataProvider);
    return view;
  },
  registerWebviewViewProvider: (id: string, provider: object) => {
    seen.views.set(id, { provider });
    return nothing;
  },
  registerWebviewPanelSerializer: ignore,
  registerUriHandler: ignore,
  createTextEditorDecorationType: () => nothing,
  onDidChangeVisibleTextEditors: events.visibleEditors.event,
  showInformationMessage: say,
  showWarningMessage: say,
  showErrorMessage: say,
  showQuickPick: answer,
  showInputBox: answer,
  withProgress: (_options: unknown, work: () => unknown) => work(),
  setStatusBarMessage: ignore,
};

export const workspace = {
  get isTrusted(): boolean {
    return seen.trusted;
  },
  name: 'project',
  workspaceFolders: [{ uri: Uri.file('/project'), name: 'project' }],
  get textDocuments(): unknown[] {
    return seen.documents;
  },
  getConfiguration: () => ({ get: (name: string) => seen.configuration.get(name) }),
  getWorkspaceFolder: () => workspace.workspaceFolders[0],
  onDidGrantWorkspaceTrust: events.trustGranted.event,
  onDidChangeConfiguration: events.configuration.event,
  onDidChangeWorkspaceFolders: ignore,
  onDidChangeTextDocument: events.textChanged.event,
  onDidCloseTextDocument: ignore,
  onDidSaveTextDocument: ignore,
  openTextDocument: (uri: Uri): Promise<unknown> =>
    Promise.resolve(seen.documents.find((each) => (each as TestDocument).uri.path === uri.path)),
  registerTextDocumentContentProvider: (scheme: string, provider: never) => {
    seen.contentProviders.set(scheme, provider);
    return nothing;
  },
  applyEdit: (edit: WorkspaceEdit): Promise<boolean> => {
    for (const { uri, range, text } of edit.edits.toReversed()) {
      const document = seen.documents.find(
        (each) => (each as TestDocument).uri.path === uri.path,
      ) as TestDocument;
      document.replace(range, text);
    }
    return Promise.resolve(true);
  },
};

export const languages = {
  registerCodeLensProvider: (_selector: unknown, provider: never) => {
    seen.lensProviders.push(provider);
    return nothing;
  },
};
export const scm = { createSourceControl: () => ({ dispose: ignore }) };
export const comments = { createCommentController: () => nothing };

/** A document in the editor: its text may differ from the disk's. */
export class TestDocument {
  readonly uri: Uri;
  isDirty: boolean;
  isClosed = false;
  saves = 0;
  #text: string;
  constructor(file: string, text: string, isDirty: boolean) {
    this.uri = Uri.file(file);
    this.#text = text;
    this.isDirty = isDirty;
  }
  getText(): string {
    return this.#text;
  }
  get lineCount(): number {
    return this.#text.split('\n').length;
  }
  lineAt(line: number): { text: string } {
    return { text: this.#text.split('\n')[line] ?? '' };
  }
  positionAt(offset: number): Position {
    const before = this.#text.slice(0, offset).split('\n');
    return new Position(before.length - 1, before.at(-1)?.length ?? 0);
  }
  replace(range: Range, text: string): void {
    const lines = this.#text.split('\n');
    const offset = ({ line, character }: Position): number =>
      lines.slice(0, line).reduce((sum, each) => sum + each.length + 1, 0) + character;
    this.#text = this.#text.slice(0, offset(range.start)) + text + this.#text.slice(offset(range.end));
    this.isDirty = true;
  }
  save(): Promise<boolean> {
    this.saves += 1;
    this.isDirty = false;
    return Promise.resolve(true);
  }
}

/** The editor's storage. */
export function memento(): object {
  const kept = new Map<string, unknown>();
  return {
    get: (key: string) => kept.get(key),
    update: (key: string, value: unknown) => Promise.resolve(void kept.set(key, value)),
  };
}

/** What `activate` is given. */
export function extensionContext(root: string): object {
  const kept = new Map<string, string>();
  return {
    subscriptions: [] as { dispose(): void }[],
    extensionUri: Uri.file(root),
    globalState: memento(),
    languageModelAccessInformation: { canSendRequest: () => seen.canSendRequest },
    workspaceState: { get: () => undefined, update: () => Promise.resolve() },
    secrets: {
      get: (key: string) => Promise.resolve(kept.get(key)),
      store: (key: string, value: string) => Promise.resolve(void kept.set(key, value)),
      delete: (key: string) => Promise.resolve(void kept.delete(key)),
      onDidChange: ignore,
    },
  };
}
