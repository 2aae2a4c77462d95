// A comment on a line becomes a message to the agent that changed it. The threads live in this window only: what
// was said stands in the agent's transcript. There is no range for commenting on every line, because the editor
// would draw a stripe beside all of them; a thread begins at a hunk's lens or at the cursor.

import * as vscode from 'vscode';
import type { AgentId } from '../sidecar/protocol/ids.ts';
import type { Ctx } from './ctx.ts';
import { limits } from './limits.ts';
import { pickAgent } from './pick.ts';
import { hunkAt } from './placing.ts';
import { changeOfUri } from './reviews.ts';
import type { Reviews } from './reviews.ts';
import { agentOf, changesOf, numberField, textField } from './targets.ts';

const { t } = vscode.l10n;

interface Author {
  readonly agent: AgentId;
  readonly name: string;
}

export class Comments {
  readonly #ctx: Ctx;
  readonly #reviews: Reviews;
  readonly #controller: vscode.CommentController;
  /** Whom each open thread is written to, oldest first. */
  readonly #threads = new Map<vscode.CommentThread, Author>();

  constructor(ctx: Ctx, reviews: Reviews) {
    this.#ctx = ctx;
    this.#reviews = reviews;
    this.#controller = ctx.own(vscode.comments.createCommentController('roost', 'Roost'));
    this.#controller.options = { prompt: t('Tell the agent'), placeHolder: t('What should be different?') };
    ctx.command('roost.comment', (given: unknown) => this.#begin(given));
    ctx.command('roost.sendComment', (reply: vscode.CommentReply) => this.#send(reply.thread, reply.text));
    ctx.command('roost.closeComment', (thread: vscode.CommentThread) => this.#close(thread));
  }

  async #begin(given: unknown): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (editor === undefined) return;
    const { document } = editor;
    const line = Math.min(numberField(given, 'line') ?? editor.selection.active.line, document.lineCount - 1);
    const author = await this.#author(given, document, line);
    if (author === undefined) return;
    const text = textField(given, 'text') ?? (await this.#ask(author, document.uri, line));
    if (text === undefined || text.trim() === '') return;
    const thread = this.#open(author, document.uri, line);
    await this.#send(thread, text);
  }

  /** A box that has the focus from the start; the box of a new thread has to be clicked first. */
  #ask(author: Author, uri: vscode.Uri, line: number): Thenable<string | undefined> {
    return vscode.window.showInputBox({
      title: `${author.name} · ${vscode.workspace.asRelativePath(uri)}:${line + 1}`,
      prompt: t('What should be different?'),
      ignoreFocusOut: true,
    });
  }

  #open(author: Author, uri: vscode.Uri, line: number): vscode.CommentThread {
    const thread = this.#controller.createCommentThread(uri, new vscode.Range(line, 0, line, 0), []);
    thread.label = author.name;
    thread.canReply = true;
    thread.contextValue = 'roost';
    thread.collapsibleState = vscode.CommentThreadCollapsibleState.Expanded;
    this.#threads.set(thread, author);
    const [oldest] = this.#threads.keys();
    if (limits.threads < this.#threads.size && oldest !== undefined) this.#close(oldest);
    return thread;
  }

  /** The agent of the hunk at the line, else of the file's first change, else one that the person chooses. */
  async #author(given: unknown, document: vscode.TextDocument, line: number): Promise<Author | undefined> {
    const placed = this.#reviews.placed(document);
    const [named] = changesOf(given);
    const id = named ?? changeOfUri(document.uri);
    const change =
      (id === undefined ? undefined : this.#reviews.known(id)) ??
      hunkAt(placed, line)?.change ??
      this.#reviews.rowsOf(document.uri)[0];
    if (change !== undefined) return { agent: change.agent, name: change.agentName };
    const agent = agentOf(given);
    if (agent !== undefined) return { agent, name: String(agent) };
    const picked = await pickAgent(this.#ctx, t('Comment to which agent?'));
    return picked === undefined ? undefined : { agent: picked.id, name: picked.name };
  }

  async #send(thread: vscode.CommentThread, text: string): Promise<void> {
    const author = this.#threads.get(thread);
    if (author === undefined || text.trim() === '') return;
    const line = thread.range?.start.line ?? 0;
    const about = await quoted(thread.uri, line);
    const message = `Comment on ${vscode.workspace.asRelativePath(thread.uri)}, line ${line + 1}:\n${about}\n${text}`;
    // A busy agent reads it at its next step; an idle one starts a turn with it.
    const params = { agent: author.agent, text: message, delivery: 'steer', key: this.#ctx.key() } as const;
    await this.#ctx.connection.call('agent/send', params);
    const said: vscode.Comment = {
      // A string is shown as Markdown by some versions: text of a person is shown as it is.
      body: new vscode.MarkdownString().appendText(text),
      mode: vscode.CommentMode.Preview,
      author: { name: t('You') },
      timestamp: new Date(),
    };
    thread.comments = [...thread.comments, said];
    thread.label = t('Sent to {0}', author.name);
  }

  #close(thread: vscode.CommentThread): void {
    this.#threads.delete(thread);
    thread.dispose();
  }
}

/** The line that a comment is about, as a Markdown quote. */
async function quoted(uri: vscode.Uri, line: number): Promise<string> {
  const document = await vscode.workspace.openTextDocument(uri);
  return document.lineCount <= line ? '' : `> ${document.lineAt(line).text.slice(0, limits.quoteChars)}\n`;
}
