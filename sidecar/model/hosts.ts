// Habits of servers that speak chat completions: where they differ from each other in what they accept. A host
// that is not listed gets what most of them take. Each line was found in that host's documentation or in the
// tables of other clients (pi's openai-completions, LiteLLM); what is only suspected is not here.

import type { IdForm } from './callId.ts';

export interface Habits {
  /** The field that bounds the answer. OpenAI refuses the old one for reasoning models, others do not know the new one. */
  readonly outputField: 'max_tokens' | 'max_completion_tokens';
  /** Whether usage is asked for; a server that always sends it may refuse to be asked. */
  readonly asksUsage: boolean;
  /** Whether it routes its prompt cache by a key. */
  readonly cacheKey: boolean;
  /** Ids of calls that it takes back. */
  readonly ids: IdForm;
  /**
   * When an answer's reasoning goes back in the field it came in. `calls`: with answers that call tools, which is
   * when models go on from it. `always`: with those even when it is empty, else the server answers 400.
   */
  readonly reasoning: 'never' | 'calls' | 'always';
  /** Whether Anthropic's cache marks pass through, for which models. */
  readonly marksFor: RegExp | null;
}

const usual: Habits = {
  outputField: 'max_tokens',
  asksUsage: true,
  cacheKey: false,
  ids: { pattern: /^[\x21-\x7e]{1,40}$/, length: 24 },
  reasoning: 'calls',
  marksFor: null,
};

const known: readonly { readonly host: RegExp; readonly habits: Habits }[] = [
  {
    host: /(^|\.)openai\.com$/,
    habits: { ...usual, outputField: 'max_completion_tokens', cacheKey: true, reasoning: 'never' },
  },
  // Its older models know the new field too; not all of them route their cache by a key.
  {
    host: /(^|\.)(openai|cognitiveservices|services\.ai)\.azure\.(com|us|cn)$/,
    habits: { ...usual, outputField: 'max_completion_tokens', reasoning: 'never' },
  },
  // Ids are nine letters and digits; unknown fields are refused, and usage always comes.
  {
    host: /(^|\.)mistral\.ai$/,
    habits: {
      ...usual,
      asksUsage: false,
      reasoning: 'never',
      ids: { pattern: /^[a-zA-Z0-9]{9}$/, length: 9 },
    },
  },
  { host: /(^|\.)deepseek\.com$/, habits: { ...usual, reasoning: 'always' } },
  { host: /(^|\.)groq\.com$/, habits: { ...usual, outputField: 'max_completion_tokens' } },
  { host: /(^|\.)cerebras\.ai$/, habits: { ...usual, outputField: 'max_completion_tokens' } },
  { host: /(^|\.)openrouter\.ai$/, habits: { ...usual, marksFor: /^anthropic\// } },
];

export const habitsOf = (host: string): Habits => known.find((each) => each.host.test(host))?.habits ?? usual;
