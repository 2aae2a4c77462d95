// What a person may set about models. Secrets are not here: they live in memory, keyed by provider name.

import type { ModelPrice } from './cost.ts';

export type Dialect = 'anthropic' | 'chat' | 'responses' | 'scripted';

export type KeyHeader = 'authorization' | 'api-key';

/** A place where models are served. Stored; the key is not. */
export interface ProviderSpec {
  /** The part of a model's name before the slash, such as `anthropic` or `ollama`. */
  readonly name: string;
  readonly dialect: Dialect;
  /** Such as `https://api.anthropic.com`; for `scripted` the absolute path of the script file. */
  readonly baseUrl: string;
  /**
   * The header that the key goes in, where it is not the dialect's own: gateways in front of Azure want `api-key`.
   * Azure's own hosts are known by their names.
   */
  readonly keyHeader?: KeyHeader;
  /** A server on this machine that needs no key. */
  readonly keyless?: boolean;
  /** PEM file of a certificate authority to trust besides the system's. */
  readonly caFile?: string;
  /** Tokens that its models take, where a person knows better: of a server without a key 32,768 are assumed. */
  readonly contextTokens?: number;
}

export interface ModelInfo {
  /** provider/model. */
  readonly id: string;
  readonly contextTokens: number;
  readonly outputTokens: number;
  readonly scripted: boolean;
  /** Null: nobody knows what it costs, and it cannot spend a limited budget of money. */
  readonly price?: ModelPrice | null;
  /** Only agents that a person starts may use it, not those that an agent starts (case 178). */
  readonly alone?: boolean;
}

/** Provider of the models that a person has in the editor: `vscode/copilot/gpt-4o`. It has no address and no key. */
export const editorProvider = 'vscode';
