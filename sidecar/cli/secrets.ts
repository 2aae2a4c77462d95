// Keys from the environment. They are given to the sidecar when it asks, kept there in memory only, and taken out
// of the environment that a sidecar is started with (DESIGN §13).

import { sidecarEnvironment } from '../protocol/discovery.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Secret {
  readonly key: string | null;
  readonly baseUrl?: string;
}

const keyName = /^([A-Z0-9_]+)_API_KEY$/;

/** `ANTHROPIC_API_KEY` with `ANTHROPIC_BASE_URL` for the provider `anthropic`: the two move together (case 54). */
export function secretOf(env: Environment, provider: string): Secret {
  const prefix = provider.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_');
  const key = env[`${prefix}_API_KEY`];
  const baseUrl = env[`${prefix}_BASE_URL`];
  if (key === undefined || key === '') return { key: null };
  return { key, ...(baseUrl === undefined || baseUrl === '' ? {} : { baseUrl }) };
}

/** Whether there is anything to offer. */
export function hasSecrets(env: Environment): boolean {
  return Object.entries(env).some(
    ([name, value]) => keyName.test(name) && value !== undefined && value !== '',
  );
}

/** The environment for a new sidecar: without keys, and without the marks of the command that may run this one. */
export function environmentForSidecar(env: Environment): Record<string, string | undefined> {
  const marks = /^ROOST_(AGENT|CALL|PARENT|MODEL)$/;
  const kept = Object.entries(sidecarEnvironment(env)).filter(
    ([name]) => !keyName.test(name) && !marks.test(name),
  );
  return Object.fromEntries(kept);
}
