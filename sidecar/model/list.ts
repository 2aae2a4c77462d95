// What models a provider says it has: one small GET, made seldom.
//
// This goes through undici and not through the wires of model requests: it wants no stream, no shared session and
// no pacing, and undici brings redirects, compression and proxies of the environment. It is loaded at the first
// list (12 MB), so a sidecar that is never asked for one does not pay for it.

import { readFile } from 'node:fs/promises';
import type { ModelInfo } from '../protocol/settings.ts';
import { limits } from '../runtime/limits.ts';

export interface ListPlace {
  readonly provider: string;
  /** Of the list: the base URL and `/models`. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly caFile: string | null;
  readonly sizes: (name: string) => Pick<ModelInfo, 'contextTokens' | 'outputTokens'>;
}

/** Models of one provider, as it names them; none when it does not answer in time or in a form that is known. */
export async function listModels(place: ListPlace): Promise<readonly ModelInfo[]> {
  const { EnvHttpProxyAgent, request } = await import('undici');
  const connect = place.caFile === null ? {} : { ca: await readFile(place.caFile) };
  const dispatcher = new EnvHttpProxyAgent({ connect, requestTls: connect });
  try {
    const { statusCode, body } = await request(place.url, {
      dispatcher,
      headers: place.headers,
      signal: AbortSignal.timeout(limits.modelListMs),
    });
    if (statusCode !== 200) {
      await body.dump();
      return [];
    }
    return namesIn(await body.json()).map((name) => ({
      id: `${place.provider}/${name}`,
      ...place.sizes(name),
      scripted: false,
    }));
  } catch {
    return [];
  } finally {
    await dispatcher.destroy();
  }
}

/**
 * `{ data: [{ id }] }`, which OpenAI, Anthropic and those that follow them all answer. Azure says of each what it can;
 * those that cannot chat are left out.
 */
function namesIn(answer: unknown): readonly string[] {
  if (typeof answer !== 'object' || answer === null || !('data' in answer) || !Array.isArray(answer.data))
    return [];
  const names = answer.data.flatMap((each: unknown) =>
    typeof each === 'object' && each !== null && 'id' in each && typeof each.id === 'string' && chats(each)
      ? [each.id]
      : [],
  );
  return names.slice(0, limits.modelsListed);
}

function chats(model: object): boolean {
  if (!('capabilities' in model)) return true;
  const { capabilities } = model;
  if (typeof capabilities !== 'object' || capabilities === null) return true;
  return !('chat_completion' in capabilities) || capabilities.chat_completion !== false;
}
