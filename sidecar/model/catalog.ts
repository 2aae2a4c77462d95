// What is known of models before they are asked: room, longest answer, price. Prices are the list prices of
// November 2026 as collected by @pydantic/genai-prices 0.1.8; a model that is not listed has no price, and then
// cannot spend money until a person sets one (DESIGN §8). Sizes are the providers'; where a longest answer is not
// known for sure, a smaller number stands that is.
//
// Where a price steps up for long requests the window ends at the step, so that a reservation is never too small.

interface Known {
  readonly contextTokens: number;
  readonly outputTokens: number;
  /** US dollars per million tokens: input, output, read from the cache, written to it. */
  readonly usd: readonly [number, number, number, number];
}

/** Price in millionths of a US dollar per million tokens. */
export interface Price {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

export const free: Price = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

const model = (contextTokens: number, outputTokens: number, usd: Known['usd']): Known => ({
  contextTokens,
  outputTokens,
  usd,
});

const anthropic: Readonly<Record<string, Known>> = {
  'claude-opus-5-5': model(1_000_000, 64_000, [4, 20, 0.2, 5]),
  'claude-opus-5': model(1_000_000, 64_000, [5, 25, 0.5, 6.25]),
  'claude-opus-4-8': model(1_000_000, 64_000, [5, 25, 0.5, 6.25]),
  'claude-opus-4-7': model(1_000_000, 64_000, [5, 25, 0.5, 6.25]),
  'claude-opus-4-6': model(1_000_000, 64_000, [5, 25, 0.5, 6.25]),
  'claude-opus-4-5': model(200_000, 64_000, [5, 25, 0.5, 6.25]),
  'claude-opus-4-1': model(200_000, 32_000, [15, 75, 1.5, 18.75]),
  'claude-fable-5-1': model(1_000_000, 64_000, [10, 50, 0.25, 12.5]),
  'claude-fable-5': model(1_000_000, 64_000, [10, 50, 1, 12.5]),
  'claude-sonnet-5': model(1_000_000, 64_000, [2, 10, 0.2, 2.5]),
  'claude-sonnet-4-6': model(1_000_000, 64_000, [3, 15, 0.3, 3.75]),
  'claude-sonnet-4-5': model(200_000, 64_000, [3, 15, 0.3, 3.75]),
  'claude-haiku-4-5': model(200_000, 64_000, [1, 5, 0.1, 1.25]),
};

const openai: Readonly<Record<string, Known>> = {
  'gpt-6-astra': model(271_000, 64_000, [10, 50, 1, 12.5]),
  'gpt-6-sol': model(271_000, 64_000, [2, 10, 0.2, 2.5]),
  'gpt-6-luna': model(271_000, 64_000, [0.1, 0.5, 0.01, 0.125]),
  'gpt-5.6-sol': model(271_000, 64_000, [4, 20, 0.4, 5]),
  'gpt-5.6-terra': model(271_000, 64_000, [2, 12, 0.2, 2.5]),
  'gpt-5.6-luna': model(271_000, 64_000, [0.2, 1.2, 0.02, 0.25]),
  // Until 5.5 writing to the cache cost what input costs.
  'gpt-5.5': model(271_000, 64_000, [5, 30, 0.5, 5]),
  'gpt-5.4': model(271_000, 64_000, [2.5, 15, 0.25, 2.5]),
  'gpt-5.4-mini': model(400_000, 64_000, [0.75, 4.5, 0.075, 0.75]),
  'gpt-5.4-nano': model(400_000, 64_000, [0.2, 1.25, 0.02, 0.2]),
  'gpt-5.3-codex': model(400_000, 64_000, [1.75, 14, 0.175, 1.75]),
  'gpt-5.2': model(400_000, 128_000, [1.75, 14, 0.175, 1.75]),
  'gpt-5.1': model(400_000, 128_000, [1.25, 10, 0.125, 1.25]),
  'gpt-5': model(400_000, 128_000, [1.25, 10, 0.125, 1.25]),
  'gpt-5-mini': model(400_000, 128_000, [0.25, 2, 0.025, 0.25]),
  'gpt-5-nano': model(400_000, 128_000, [0.05, 0.4, 0.005, 0.05]),
  'gpt-4.1': model(1_000_000, 32_768, [2, 8, 0.5, 2]),
  'gpt-4.1-mini': model(1_000_000, 32_768, [0.4, 1.6, 0.1, 0.4]),
  'gpt-4.1-nano': model(1_000_000, 32_768, [0.1, 0.4, 0.025, 0.1]),
  'o4-mini': model(200_000, 100_000, [1.1, 4.4, 0.275, 1.1]),
  o3: model(200_000, 100_000, [2, 8, 0.5, 2]),
  'gpt-4o': model(128_000, 16_384, [2.5, 10, 1.25, 2.5]),
  'gpt-4o-mini': model(128_000, 16_384, [0.15, 0.6, 0.075, 0.15]),
};

const gemini: Readonly<Record<string, Known>> = {
  'gemini-3.1-pro-preview': model(200_000, 64_000, [2, 12, 0.2, 2]),
  'gemini-3-pro-preview': model(200_000, 64_000, [2, 12, 0.2, 2]),
  'gemini-3-flash-preview': model(1_000_000, 64_000, [0.5, 3, 0.05, 0.5]),
  'gemini-2.5-pro': model(200_000, 64_000, [1.25, 10, 0.125, 1.25]),
  'gemini-2.5-flash': model(1_000_000, 64_000, [0.3, 2.5, 0.03, 0.3]),
  'gemini-2.5-flash-lite': model(1_000_000, 64_000, [0.1, 0.4, 0.01, 0.1]),
};

const xai: Readonly<Record<string, Known>> = {
  'grok-4.3': model(199_000, 32_000, [1.25, 2.5, 0.2, 1.25]),
  'grok-4-1-fast': model(2_000_000, 30_000, [0.2, 0.5, 0.05, 0.2]),
  'grok-code-fast-1': model(256_000, 10_000, [0.2, 1.5, 0.02, 0.2]),
};

const deepseek: Readonly<Record<string, Known>> = {
  'deepseek-v4-pro': model(1_000_000, 32_000, [0.66, 1.98, 0.022, 0.66]),
  'deepseek-v4-flash': model(1_000_000, 32_000, [0.22, 0.66, 0.007, 0.22]),
};

const groq: Readonly<Record<string, Known>> = {
  'openai/gpt-oss-120b': model(131_072, 65_536, [0.15, 0.6, 0.075, 0.15]),
  'openai/gpt-oss-20b': model(131_072, 65_536, [0.075, 0.3, 0.0375, 0.075]),
};

const vendors: Readonly<Record<string, Readonly<Record<string, Known>>>> = {
  anthropic,
  openai,
  'openai-chat': openai,
  gemini,
  xai,
  deepseek,
  groq,
};

/** OpenRouter takes the makers' own prices; only makers that serve their models themselves are certain. */
const behindOpenRouter: Readonly<Record<string, Readonly<Record<string, Known>>>> = {
  anthropic,
  openai,
  google: gemini,
  'x-ai': xai,
};

/** What is known of a model of a provider; null: nothing. Dated names are those of the model they are dates of. */
function find(provider: string, name: string): Known | null {
  if (provider === 'openrouter') {
    const [maker = '', rest = ''] = name.split('/', 2);
    const known = behindOpenRouter[maker];
    if (known === undefined || rest.includes(':')) return null;
    return lookUp(known, maker === 'anthropic' ? rest.replaceAll('.', '-') : rest);
  }
  const known = vendors[provider];
  return known === undefined ? null : lookUp(known, name);
}

function lookUp(known: Readonly<Record<string, Known>>, name: string): Known | null {
  const plain = name.replace(/-(?:\d{8}|\d{4}-\d{2}-\d{2}|latest)$/, '');
  return known[name] ?? known[plain] ?? null;
}

/** Price of a model; null when nobody knows it. */
export function priceOf(provider: string, name: string): Price | null {
  const known = find(provider, name);
  if (known === null) return null;
  const [input, output, cacheRead, cacheWrite] = known.usd.map((usd) => Math.round(usd * 1_000_000));
  if (input === undefined || output === undefined || cacheRead === undefined || cacheWrite === undefined)
    return null;
  return { input, output, cacheRead, cacheWrite };
}

// A model that is not known gets a window that nearly every current one has; a local server's is often small.
const unknownRemote = { contextTokens: 128_000, outputTokens: 16_384 };
const unknownLocal = { contextTokens: 32_768, outputTokens: 8_192 };

/** Room of a model in tokens. Never 0: what is not known is assumed (case 177). */
export function sizesOf(
  provider: string,
  name: string,
  isLocal: boolean,
): { contextTokens: number; outputTokens: number } {
  const known = find(provider, name);
  if (known === null) return isLocal ? unknownLocal : unknownRemote;
  return { contextTokens: known.contextTokens, outputTokens: known.outputTokens };
}
