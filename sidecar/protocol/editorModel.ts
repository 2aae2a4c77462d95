// Model requests that go through an editor: the models that a person has there (`vscode.lm`, such as Copilot's), as
// a window offers them, and the form in which a request reaches the window and its answer comes back.
//
// A request ends with its window. Its conversation is sent in pages before it is asked, so that neither side ever
// holds more than a page of it in a message. Not here: who is asked, and how (rpc/editorModels.ts).

import type { JsonObject } from './json.ts';

/** A model of an editor that the person has allowed Roost to use. */
export interface OfferedModel {
  /** The vendor and the vendor's own name of it, such as `copilot/gpt-4o`: what stands after `vscode/`. */
  readonly id: string;
  /** As the editor shows it. */
  readonly name: string;
  /** Tokens of one request; 0: the editor does not say (case 177). */
  readonly inputTokens: number;
}

/** What a window offers, as a whole: it replaces what the window offered before. */
export interface ModelOffer {
  readonly models: readonly OfferedModel[];
  /** Whether agents that were started by agents may use them too (case 178). */
  readonly swarms: boolean;
}

export type LmPart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'call'; readonly key: string; readonly tool: string; readonly input: JsonObject }
  | { readonly kind: 'result'; readonly key: string; readonly text: string };

/** A message in the form of `vscode.lm`, which knows no system prompt and no reasoning. */
export interface LmMessage {
  readonly role: 'user' | 'assistant';
  readonly parts: readonly LmPart[];
}

export interface LmTool {
  readonly name: string;
  readonly description: string;
  readonly schema: JsonObject;
}

/** How a request ended. Parts of an answer are texts and calls. */
export type LmEnding =
  | { readonly kind: 'answer'; readonly parts: readonly LmPart[] }
  /** `code` is that of `vscode.LanguageModelError`, or empty; `message` says all that its causes say. */
  | { readonly kind: 'error'; readonly code: string; readonly message: string };
