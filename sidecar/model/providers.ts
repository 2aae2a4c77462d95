// Providers that need no setting: where each is, what it speaks. A person's `provider/set` of the same name
// replaces an entry, a key may bring another base URL with it (case 54).

import type { ProviderSpec } from '../protocol/settings.ts';

export const knownProviders: readonly ProviderSpec[] = [
  { name: 'anthropic', dialect: 'anthropic', baseUrl: 'https://api.anthropic.com' },
  { name: 'openai', dialect: 'responses', baseUrl: 'https://api.openai.com/v1' },
  { name: 'openai-chat', dialect: 'chat', baseUrl: 'https://api.openai.com/v1' },
  { name: 'openrouter', dialect: 'chat', baseUrl: 'https://openrouter.ai/api/v1' },
  { name: 'gemini', dialect: 'chat', baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai' },
  { name: 'deepseek', dialect: 'chat', baseUrl: 'https://api.deepseek.com/v1' },
  { name: 'groq', dialect: 'chat', baseUrl: 'https://api.groq.com/openai/v1' },
  { name: 'mistral', dialect: 'chat', baseUrl: 'https://api.mistral.ai/v1' },
  { name: 'xai', dialect: 'chat', baseUrl: 'https://api.x.ai/v1' },
  { name: 'ollama', dialect: 'chat', baseUrl: 'http://127.0.0.1:11434/v1', keyless: true },
  { name: 'lmstudio', dialect: 'chat', baseUrl: 'http://127.0.0.1:1234/v1', keyless: true },
  { name: 'vllm', dialect: 'chat', baseUrl: 'http://127.0.0.1:8000/v1', keyless: true },
];

/**
 * Path of a dialect’s requests below a base URL, with the queries of both. People write `https://host`,
 * `https://host/` and `https://host/v1`; where the path begins with /v1 itself it is not doubled.
 */
export function pathBelow(base: URL, path: string): string {
  const before = base.pathname.replace(/\/+$/, '');
  const whole = before.endsWith('/v1') && path.startsWith('/v1/') ? before + path.slice(3) : before + path;
  return base.search === '' ? whole : whole + (path.includes('?') ? `&${base.search.slice(1)}` : base.search);
}
