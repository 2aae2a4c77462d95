// Keys of model providers: kept in the editor's secret storage, else taken from the environment. They go to the
// sidecar's memory when it asks, never into a log, a setting or a webview (I12, case 115).

import type { SecretStorage } from 'vscode';

export interface Key {
  readonly key: string;
  /** Where this key is valid, when it says so: key and address come from one place (case 54). */
  readonly baseUrl?: string;
}

/** Providers whose keys people have in their environment under these names. */
const spelt: Readonly<Record<string, string>> = { anthropic: 'ANTHROPIC', openai: 'OPENAI' };

export class Secrets {
  readonly #storage: SecretStorage;
  readonly #env: Readonly<Record<string, string | undefined>>;

  constructor(storage: SecretStorage, env: Readonly<Record<string, string | undefined>>) {
    this.#storage = storage;
    this.#env = env;
  }

  /** The key of a provider, or null. Rejects when the secret storage fails, such as without a keyring. */
  async key(provider: string): Promise<Key | null> {
    const stored = await this.#storage.get(slot(provider));
    if (stored !== undefined && stored !== '') return { key: stored };
    return this.fromEnvironment(provider);
  }

  /** `OPENROUTER_API_KEY` and `OPENROUTER_BASE_URL` for `openrouter`, and so on. */
  fromEnvironment(provider: string): Key | null {
    const prefix = spelt[provider] ?? provider.toUpperCase().replace(/[^A-Z0-9]/g, '_');
    const key = this.#env[`${prefix}_API_KEY`];
    if (key === undefined || key === '') return null;
    const baseUrl = this.#env[`${prefix}_BASE_URL`];
    return baseUrl === undefined || baseUrl === '' ? { key } : { key, baseUrl };
  }

  /** Keeps a key; empty text removes it. */
  async set(provider: string, key: string): Promise<void> {
    if (key === '') await this.#storage.delete(slot(provider));
    else await this.#storage.store(slot(provider), key);
  }
}

function slot(provider: string): string {
  return `roost.key.${provider}`;
}
