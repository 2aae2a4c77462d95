// Messages between the extension and its webviews. A webview draws and asks; it holds no truth and no secret,
// and it reaches the sidecar only through the extension, which lets through what this table names (I12, case 222).

import type { AgentId, ChangeId, EntryId } from './ids.ts';
import type { Action, Channel, Snapshot } from './frame.ts';
import type { MethodName, Params, Result } from './methods.ts';

/** `tree`: the sidebar's Agents view. `agent`: the panel of one agent, with its transcript and changes. */
export type ViewKind = 'tree' | 'agent';

/** Wire methods that a webview may call. Everything else is refused by the extension. */
export const panelMethods = [
  'agent/get',
  'agent/send',
  'agent/interrupt',
  'entry/page',
  'blob/read',
  'request/answer',
  'request/answerMany',
  'change/list',
  'change/get',
  'change/verdict',
  'command/output',
  'command/kill',
] as const satisfies readonly MethodName[];
export type PanelMethod = (typeof panelMethods)[number];

export type ToExtension =
  /** First, and again after every reload of the view: the extension then posts `boot`. */
  | { readonly kind: 'ready'; readonly view: ViewKind }
  /** Opens or moves a follow. `tag` is the view's own name for it; a second `follow` with the same tag moves it. */
  | { readonly kind: 'follow'; readonly tag: string; readonly channel: Channel }
  | { readonly kind: 'unfollow'; readonly tag: string }
  | {
      readonly kind: 'call';
      readonly id: number;
      readonly method: PanelMethod;
      readonly params: Params<PanelMethod>;
    }
  /** Things only the editor can do. */
  | { readonly kind: 'showAgent'; readonly agent: AgentId }
  | { readonly kind: 'openFile'; readonly path: string; readonly line: number }
  /** Opens the diff editor of a change, at a hunk when one is named. */
  | { readonly kind: 'reviewChange'; readonly change: ChangeId; readonly hunk?: string }
  /** A link of a transcript; the extension opens http, https and mailto and nothing else. */
  | { readonly kind: 'openLink'; readonly href: string }
  /** Runs one of our own palette commands, such as `roost.newAgent`. */
  | { readonly kind: 'command'; readonly command: PanelCommand }
  | { readonly kind: 'copy'; readonly text: string };

export const panelCommands = [
  'roost.newAgent',
  'roost.askSwarm',
  'roost.review',
  'roost.setKey',
  'roost.restart',
  'roost.showLog',
] as const;
export type PanelCommand = (typeof panelCommands)[number];

export type Connection =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'connected' }
  /** The sidecar ended; a new one is being started. */
  | { readonly kind: 'restarting'; readonly attempt: number }
  /** Given up: what happened and what to do. */
  | { readonly kind: 'failed'; readonly message: string }
  /** Nothing is started in a workspace that the person does not trust (I17). */
  | { readonly kind: 'untrusted' };

export type ToWebview =
  | {
      readonly kind: 'boot';
      readonly view: ViewKind;
      readonly strings: Readonly<Record<string, string>>;
      readonly connection: Connection;
    }
  | { readonly kind: 'connection'; readonly connection: Connection }
  /** State of a follow; replaces what the view had for this tag. */
  | { readonly kind: 'snapshot'; readonly tag: string; readonly snapshot: Snapshot }
  | { readonly kind: 'actions'; readonly tag: string; readonly actions: readonly Action[] }
  /** The sidecar will not follow this, such as an agent that is not there: said in the view, which waits no longer. */
  | { readonly kind: 'refused'; readonly tag: string; readonly code: string; readonly message: string }
  | { readonly kind: 'answer'; readonly id: number; readonly ok: true; readonly result: Result<PanelMethod> }
  | {
      readonly kind: 'answer';
      readonly id: number;
      readonly ok: false;
      readonly code: string;
      readonly message: string;
    }
  /** The agent panel shows this agent from now on, scrolled to an entry when one is named. */
  | { readonly kind: 'show'; readonly agent: AgentId; readonly entry?: EntryId };
