// Azure OpenAI and the places that look like it: OpenAI's two dialects below other paths, with the key in another header.
// Shapes are those of the `openai` package 7.59 (azure.ts) and of Azure's v1 API.
//
//   https://NAME.openai.azure.com                                    as people copy it: means /openai/v1
//   https://NAME.openai.azure.com/openai/v1                          the model's name is that of a deployment
//   https://NAME.openai.azure.com/openai?api-version=2025-04-01      dated: chat goes below the deployment
//
// A key is sent as `api-key`; a token of Entra ID, which is a JWT, as what it is.

import type { KeyPlace } from './dialect.ts';

const hosts = /(^|\.)(openai|cognitiveservices|services\.ai)\.azure\.(com|us|cn)$/;

export const isAzure = (host: string): boolean => hosts.test(host);

/** The header that carries the key to a server that speaks one of OpenAI's dialects. */
export function keyHeaders(key: string | null, place: KeyPlace): Record<string, string> {
  if (key === null) return {};
  const header = place.header ?? (isAzure(place.host) ? 'api-key' : 'authorization');
  return header === 'api-key' && !isToken(key) ? { 'api-key': key } : { authorization: `Bearer ${key}` };
}

/** `header.payload.signature`, where the header is JSON in base64 and so begins with eyJ. */
const isToken = (key: string): boolean => /^eyJ[\w-]+\.[\w-]+\.[\w-]+$/.test(key);

/** The base URL that a person meant: Azure's pages show the resource without a path. */
export function azureBase(url: URL): URL {
  if (!isAzure(url.hostname) || url.pathname !== '/') return url;
  const whole = new URL(url);
  whole.pathname = url.searchParams.has('api-version') ? '/openai' : '/openai/v1';
  return whole;
}

/** A dialect's path below a base URL: where the API is a dated one, its chat is asked below the deployment. */
export function deploymentPath(base: URL, path: string, model: string): string {
  const isDated = base.searchParams.has('api-version') && /\/openai\/?$/.test(base.pathname);
  return isDated && path === '/chat/completions' ? `/deployments/${encodeURIComponent(model)}${path}` : path;
}
