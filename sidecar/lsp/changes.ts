// The changes that wait for a verdict in the documents that are open: followed as the extension follows them, asked for
// hunk by hunk, and decided.

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TextDocument } from 'vscode-languageserver-textdocument';

import { isLost } from '../cli/failure.ts';
import type { Session } from '../cli/session.ts';
import type { ChangeDetail, ChangeRow } from '../protocol/change.ts';
import type { Snapshot } from '../protocol/frame.ts';
import { reduce } from '../protocol/reduce.ts';
import { limits } from '../runtime/limits.ts';
import type { Documents } from './documents.ts';
import type { GivenVerdict } from './hints.ts';

export interface ChangesParts {
  readonly documents: Documents;
  /** Tells the person. */
  readonly warn: (message: string) => void;
  /** Tells whoever reads the editor's log. */
  readonly log: (message: string) => void;
  readonly show: (document: TextDocument, changes: readonly ChangeDetail[]) => void;
}

export class Changes {
  readonly #session: Session;
  readonly #parts: ChangesParts;
  #rows: readonly ChangeRow[] = [];
  /** What was shown last, by document. */
  readonly #shown = new Map<string, readonly ChangeDetail[]>();
  readonly #pauses = new Map<string, NodeJS.Timeout>();
  #closed = false;

  constructor(session: Session, parts: ChangesParts) {
    this.#session = session;
    this.#parts = parts;
    parts.documents.onChange((document) => this.#soon(document));
  }

  /** Begins to follow, and goes on over any number of sidecars. */
  follow(): void {
    void this.#follow();
  }

  /** What is shown in a document. */
  of(uri: string): readonly ChangeDetail[] {
    return this.#shown.get(uri) ?? [];
  }

  /** Gives verdicts, one after the other. Says what kept one from being done. */
  async decide(verdicts: readonly GivenVerdict[]): Promise<void> {
    for (const verdict of verdicts) {
      try {
        const { state, message } = await this.#session.call('change/verdict', {
          ...verdict,
          key: randomUUID(),
        });
        if (state !== 'applied') this.#parts.warn(message);
      } catch (error) {
        this.#parts.warn(messageOf(error));
      }
    }
    for (const document of this.#parts.documents.all) this.#soon(document);
  }

  close(): void {
    this.#closed = true;
    for (const timer of this.#pauses.values()) clearTimeout(timer);
  }

  async #follow(): Promise<void> {
    let told = '';
    while (!this.#closed) {
      try {
        await this.#hear();
        told = '';
      } catch (error) {
        if (this.#closed || isLost(error)) continue;
        // Said once: it is tried again, and a person may mend it meanwhile.
        const message = messageOf(error);
        if (message !== told) this.#parts.warn(message);
        told = message;
        await sleep(limits.lspAgainMs, undefined, { ref: false });
      }
    }
  }

  /** Resolves when the connection has ended. */
  async #hear(): Promise<void> {
    const wire = await this.#session.wire();
    const opened = await wire.call('follow/open', { channel: { kind: 'changes', agent: null } });
    let state: Snapshot = opened.snapshot;
    this.#take(state);
    await new Promise<void>((resolve) => {
      wire.hear(opened.follow, (frame) => {
        if (frame === null) return resolve();
        state = frame.actions.reduce(reduce, frame.reset ?? state);
        this.#take(state);
      });
    });
  }

  #take(snapshot: Snapshot): void {
    if (snapshot.kind !== 'changes') return;
    this.#rows = snapshot.state.rows.filter(({ state }) => state !== 'accepted' && state !== 'rejected');
    for (const document of this.#parts.documents.all) this.#soon(document);
  }

  /** Looks again after a pause in typing: the sidecar says where the hunks are now. */
  #soon({ uri }: TextDocument): void {
    clearTimeout(this.#pauses.get(uri));
    const look = (): void => {
      this.#pauses.delete(uri);
      this.#show(uri).catch((error: unknown) => this.#parts.log(`${uri}: ${messageOf(error)}`));
    };
    this.#pauses.set(uri, setTimeout(look, limits.lspPauseMs));
  }

  async #show(uri: string): Promise<void> {
    const file = await this.#parts.documents.pathOf(uri);
    const rows = this.#rows.filter((row) => row.path === file).slice(0, limits.lspChanges);
    const found = await Promise.all(
      rows.map(({ id }) => this.#session.call('change/get', { change: id }).catch(() => null)),
    );
    const document = this.#parts.documents.get(uri);
    const changes = found.filter((each) => each !== null);
    if (document === undefined || this.#closed) {
      this.#shown.delete(uri);
      return;
    }
    const before = this.#shown.get(uri);
    this.#shown.set(uri, changes);
    if (changes.length !== 0 || (before !== undefined && before.length !== 0))
      this.#parts.show(document, changes);
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
