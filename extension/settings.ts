// The settings of the extension, read when they are needed and checked where they are lists that people write.
// Nothing here is ever written: a person's settings are theirs (case 239).

import { homedir } from 'node:os';
import * as vscode from 'vscode';
import type { Mode } from '../sidecar/protocol/agent.ts';
import { defaultStore } from '../sidecar/protocol/discovery.ts';
import type { Dialect, ProviderSpec } from '../sidecar/protocol/settings.ts';
import type { Log } from './log.ts';

function read<T>(name: string, otherwise: T): T {
  return vscode.workspace.getConfiguration('roost').get<T>(name) ?? otherwise;
}

export const settings = {
  /** A Node to run the sidecar with; empty: found. */
  node: (): string => read('sidecar.node', '').trim(),

  /** Directory of the store: the setting, else the user's. */
  store: (): string => {
    const named = read('store', '').trim();
    const from = { platform: process.platform, env: process.env, home: homedir() };
    return named === '' ? defaultStore(from) : named.replace(/^~(?=$|[/\\])/, homedir());
  },

  /** provider/model, or empty for the sidecar's default. */
  model: (): string => read('model', '').trim(),

  mode: (): Mode => {
    const mode = read<string>('mode', 'ask');
    return mode === 'edits' || mode === 'auto' ? mode : 'ask';
  },

  /** The providers that a person added. What is wrong in the list is logged and left out. */
  providers: (log: Log): readonly ProviderSpec[] => {
    const list = read<unknown>('providers', []);
    if (!Array.isArray(list)) return [];
    return list.flatMap((each: unknown) => {
      if (isProvider(each)) return [each];
      log.warn(`roost.providers: left out, it needs name, dialect and baseUrl: ${JSON.stringify(each)}`);
      return [];
    });
  },
};

function isDialect(value: unknown): value is Dialect {
  return value === 'anthropic' || value === 'chat' || value === 'responses' || value === 'scripted';
}

/** True for what the sidecar will take; a field that it does not know would be an error there. */
export function isProvider(value: unknown): value is ProviderSpec {
  if (typeof value !== 'object' || value === null) return false;
  const fields: Record<string, unknown> = { ...value };
  const { name, dialect, baseUrl, keyHeader, keyless, caFile, contextTokens, ...rest } = fields;
  return (
    typeof name === 'string' &&
    /^[a-z0-9][a-z0-9_.-]*$/i.test(name) &&
    isDialect(dialect) &&
    typeof baseUrl === 'string' &&
    baseUrl !== '' &&
    (keyHeader === undefined || keyHeader === 'authorization' || keyHeader === 'api-key') &&
    (keyless === undefined || typeof keyless === 'boolean') &&
    (caFile === undefined || typeof caFile === 'string') &&
    (contextTokens === undefined || Number.isSafeInteger(contextTokens)) &&
    Object.keys(rest).length === 0
  );
}
