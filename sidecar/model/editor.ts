// Models of the editor (`vscode.lm`): the conversation in the form that the editor takes, and one request to its
// outcome. Who carries it is a window's business (rpc/editorModels.ts); what VS Code does with it is the
// extension's. Shapes are those of @types/vscode 1.101 (namespace `lm`).
//
// `vscode.lm` knows no system prompt, no reasoning and no token counts: the prompt is the first message, reasoning
// is left out, and usage is estimated at four characters a token (case 177). A request ends with its window.

import type { Cancel, ModelEvent, ModelRequest } from '../ports.ts';
import type { Item, ModelOutcome } from '../core/terms.ts';
import type { Block } from '../protocol/entry.ts';
import type { LmEnding, LmMessage, LmPart, LmTool, OfferedModel } from '../protocol/editorModel.ts';
import { limits } from '../runtime/limits.ts';
import type { Deadlines, Due } from './deadlines.ts';
import { callInput, Settled } from './dialect.ts';
import { judgeFailure } from './refusal.ts';
import type { Patience } from './transport.ts';

export interface EditorAsk {
  /** As the window offers it, without `vscode/`. */
  readonly model: string;
  readonly tools: readonly LmTool[];
  /** The conversation; null after the last page. */
  readonly pages: () => readonly LmMessage[] | null;
}

export type EditorEvent =
  | { readonly kind: 'text'; readonly text: string }
  /** Last, once. `gone`: the window went away, or there is none that has the model. */
  | { readonly kind: 'end'; readonly ending: LmEnding | { readonly kind: 'gone' } };

/** The windows of editors that lend their models. */
export interface EditorModels {
  /** What windows offer now. */
  offered(): readonly OfferedModel[];
  /** A model that some window offers, or offered since this process started. */
  find(id: string): OfferedModel | null;
  /** Whether agents that agents started may use their models. */
  swarms(): boolean;
  ask(ask: EditorAsk, post: (event: EditorEvent) => void): Cancel;
}

/** For a process without editors. */
export const noEditors: EditorModels = {
  offered: () => [],
  find: () => null,
  swarms: () => false,
  ask: (_ask, post) => {
    const soon = setImmediate(() => post({ kind: 'end', ending: { kind: 'gone' } }));
    return () => clearImmediate(soon);
  },
};

// ---------------------------------------------------------------- request

/** The conversation as messages, page by page; the first holds the system prompt. */
export function lmPages(request: Pick<ModelRequest, 'system' | 'pages'>): EditorAsk['pages'] {
  const next = request.pages();
  const settled = new Settled();
  let phase: 'head' | 'items' | 'done' = request.system === '' ? 'items' : 'head';
  return () => {
    if (phase === 'done') return null;
    if (phase === 'head') {
      phase = 'items';
      return [{ role: 'user', parts: [{ kind: 'text', text: request.system }] }];
    }
    const page = next();
    if (page !== null) return messagesOf(page.flatMap((item) => settled.take(item)));
    phase = 'done';
    return messagesOf(settled.end());
  };
}

/** Items as messages: neighbours of one role are one. */
function messagesOf(items: readonly Item[]): readonly LmMessage[] {
  const messages: { role: LmMessage['role']; parts: LmPart[] }[] = [];
  for (const item of items) {
    const role = item.kind === 'answer' ? 'assistant' : 'user';
    const parts = partsOf(item);
    const last = messages.at(-1);
    if (last?.role === role) last.parts.push(...parts);
    else if (parts.length > 0) messages.push({ role, parts: [...parts] });
  }
  return messages;
}

function partsOf(item: Item): readonly LmPart[] {
  switch (item.kind) {
    case 'user':
      return [{ kind: 'text', text: item.text.trim() === '' ? '(empty)' : item.text }];
    case 'result': {
      const text = item.ok ? item.text : `[error] ${item.text}`;
      return [{ kind: 'result', key: item.key, text: text === '' ? '(no output)' : text }];
    }
    case 'answer':
      return item.blocks.flatMap((block): LmPart[] => {
        if (block.kind === 'thinking') return [];
        if (block.kind === 'text')
          return block.text.trim() === '' ? [] : [{ kind: 'text', text: block.text }];
        return [{ kind: 'call', key: block.key, tool: block.tool, input: callInput(block.input) }];
      });
  }
}

/** Characters of what is sent: what the input is estimated by. */
const charsOf = (messages: readonly LmMessage[]): number => JSON.stringify(messages).length;

// ---------------------------------------------------------------- one request

interface FlightTools {
  readonly editors: EditorModels;
  readonly deadlines: Deadlines;
  readonly patience: Pick<Patience, 'firstByteMs' | 'betweenBytesMs'>;
}

/** Asks a model of the editor. As with a provider nothing is posted before this has returned, nor after a cancel. */
export function askEditor(
  request: ModelRequest,
  tools: FlightTools,
  post: (event: ModelEvent) => void,
): Cancel {
  const flight = new EditorFlight(tools, post);
  const soon = setImmediate(() => flight.start(request));
  return () => {
    clearImmediate(soon);
    flight.cancel();
  };
}

class EditorFlight implements Due {
  dueMs = Number.POSITIVE_INFINITY;
  private readonly tools: FlightTools;
  private readonly post: (event: ModelEvent) => void;
  private giveUp: Cancel | null = null;
  private over = false;
  private sentChars = 0;
  private receivedChars = 0;

  constructor(tools: FlightTools, post: (event: ModelEvent) => void) {
    this.tools = tools;
    this.post = post;
  }

  start(request: ModelRequest): void {
    const { deadlines, editors, patience } = this.tools;
    this.dueMs = deadlines.nowMs() + patience.firstByteMs;
    deadlines.add(this);
    const pages = lmPages(request);
    const ask: EditorAsk = {
      model: request.model.slice(request.model.indexOf('/') + 1),
      tools: request.tools.map(({ name, description, schema }) => ({ name, description, schema })),
      pages: () => {
        const page = pages();
        this.sentChars += page === null ? 0 : charsOf(page);
        return page;
      },
    };
    this.giveUp = editors.ask(ask, (event) => {
      if (this.over) return;
      if (event.kind === 'end') return this.end(this.judge(event.ending));
      this.dueMs = deadlines.nowMs() + patience.betweenBytesMs;
      this.receivedChars += event.text.length;
      this.post(event);
    });
  }

  cancel(): void {
    this.leave();
  }

  expire(): void {
    this.giveUp?.();
    this.end(this.cut('The editor was silent for too long.'));
  }

  private judge(ending: LmEnding | { readonly kind: 'gone' }): ModelOutcome {
    switch (ending.kind) {
      case 'gone':
        return { kind: 'rejected', code: 'noEditor', message: 'The window that asked this model is gone.' };
      case 'error':
        return judgeLmError(ending, this.receivedChars);
      case 'answer': {
        const { parts } = ending;
        if (parts.length > limits.answerBlocks) return this.cut(`The answer has ${parts.length} parts.`);
        const blocks = parts.flatMap(blockOf);
        const stop = blocks.some((block) => block.kind === 'call') ? 'calls' : 'end';
        const input = Math.ceil(this.sentChars / 4);
        const output = Math.ceil(JSON.stringify(parts).length / 4);
        return { kind: 'answer', blocks, stop, usage: { input, output, cacheRead: 0, cacheWrite: 0 } };
      }
    }
  }

  private cut(message: string): ModelOutcome {
    return { kind: 'cut', receivedBytes: this.receivedChars, message };
  }

  private end(outcome: ModelOutcome): void {
    if (this.over) return;
    this.giveUp = null;
    this.leave();
    this.post({ kind: 'end', outcome });
  }

  private leave(): void {
    this.over = true;
    this.tools.deadlines.remove(this);
    const { giveUp } = this;
    this.giveUp = null;
    giveUp?.();
  }
}

function blockOf(part: LmPart): readonly Block[] {
  switch (part.kind) {
    case 'text':
      return part.text === '' ? [] : [{ kind: 'text', text: part.text }];
    case 'call':
      return [{ kind: 'call', key: part.key, tool: part.tool, input: JSON.stringify(part.input) }];
    case 'result':
      return [];
  }
}

/**
 * What an error of `vscode.lm` means. `NoPermissions` waits as for a window: the person took the permission back.
 * `Blocked` is a quota or a filter; which of them, and everything that a vendor says in other words, is read from
 * the words as with any provider.
 */
export function judgeLmError(
  { code, message }: { readonly code: string; readonly message: string },
  receivedBytes: number,
): ModelOutcome {
  if (code === 'NoPermissions') return { kind: 'rejected', code: 'noEditor', message };
  if (code === 'NotFound') return { kind: 'rejected', code: 'modelUnknown', message };
  if (isQuota.test(`${code} ${message}`)) return { kind: 'rejected', code: 'noCredit', message };
  // Without a status it is judged as an error inside a stream: unknown ones may be asked again.
  const body = { error: { code, type: code === 'Blocked' ? 'invalid_request_error' : '', message } };
  return judgeFailure({ status: 200, headers: {}, body, receivedBytes, nowMs: Date.now() });
}

/** Copilot says these when the allowance of the month or day is used up; a passing limit names a rate instead. */
const isQuota =
  /quota ?exceeded|premium requests?|monthly (?:limit|quota|allowance)|out of (?:requests|quota)/i;
