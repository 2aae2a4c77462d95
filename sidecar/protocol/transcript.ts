// Channel `agent/<id>`: one agent with the tail of its transcript and what streams in right now. Older
// entries are fetched with `entry/page`; the state here keeps at most `tailEntries`.

import type { AgentRow } from './agent.ts';
import type { CommandRow } from './command.ts';
import type { Entry } from './entry.ts';
import type { CallId } from './ids.ts';
import type { RequestRow } from './request.ts';

/** Entries kept at the live end; a panel pages for older ones, so its memory does not grow with the conversation. */
export const tailEntries = 200;

/** A call that has not ended. `output` is the newest 4 KB of what a command has printed. */
export interface OpenCall {
  readonly call: CallId;
  readonly key: string;
  readonly tool: string;
  readonly state: 'planned' | 'asking' | 'started';
  readonly output: string;
}

export interface TranscriptState {
  readonly agent: AgentRow;
  readonly entries: readonly Entry[];
  /** There are entries older than the first one here. */
  readonly older: boolean;
  /** Text of the answer being received; empty between answers. Never stored. */
  readonly streaming: string;
  readonly thinking: string;
  readonly calls: readonly OpenCall[];
  /** Its commands in the background. */
  readonly commands: readonly CommandRow[];
  readonly requests: readonly RequestRow[];
}

export type TranscriptAction =
  | { readonly kind: 'agent/row'; readonly agent: AgentRow }
  | { readonly kind: 'agent/entries'; readonly entries: readonly Entry[] }
  | { readonly kind: 'agent/delta'; readonly text: string; readonly thinking: string }
  /** The answer was stored or abandoned: what streamed is gone, its entry follows if there is one. */
  | { readonly kind: 'agent/streamEnd' }
  | { readonly kind: 'agent/calls'; readonly calls: readonly OpenCall[] }
  | { readonly kind: 'agent/commands'; readonly commands: readonly CommandRow[] }
  | { readonly kind: 'agent/requests'; readonly requests: readonly RequestRow[] };

export function transcriptReducer(state: TranscriptState, action: TranscriptAction): TranscriptState {
  switch (action.kind) {
    case 'agent/row':
      return { ...state, agent: action.agent };
    case 'agent/entries': {
      const entries = [...state.entries, ...action.entries];
      const cut = Math.max(0, entries.length - tailEntries);
      return { ...state, entries: entries.slice(cut), older: state.older || cut > 0 };
    }
    case 'agent/delta':
      return {
        ...state,
        streaming: state.streaming + action.text,
        thinking: state.thinking + action.thinking,
      };
    case 'agent/streamEnd':
      return { ...state, streaming: '', thinking: '' };
    case 'agent/calls':
      return { ...state, calls: action.calls };
    case 'agent/commands':
      return { ...state, commands: action.commands };
    case 'agent/requests':
      return { ...state, requests: action.requests };
    default:
      return state;
  }
}
