// What the headers of an answer say about a provider's limits. Pure.
//
// OpenAI and those like it: x-ratelimit-{limit,remaining,reset}-{requests,tokens}, reset a duration ("6m0s").
// Anthropic: anthropic-ratelimit-{requests,tokens,input-tokens,output-tokens}-{limit,remaining,reset}, reset a time
// of RFC 3339 (https://platform.claude.com/docs/en/api/rate-limits).

import type { LimitReading } from '../core/terms.ts';
import { clockMs, headerOf, type Headers } from './retryAfter.ts';

const counted = {
  requests: 'requests',
  tokens: 'tokens',
  'input-tokens': 'input',
  'output-tokens': 'output',
} as const;

/** The limits that are told whole; none when none is. `nowMs` is wall time. */
export function limitsIn(headers: Headers, nowMs: number): readonly LimitReading[] {
  const readings: LimitReading[] = [];
  let name: keyof typeof counted;
  for (name in counted) {
    const field = (what: string): string =>
      headerOf(headers, `x-ratelimit-${what}-${name}`) ||
      headerOf(headers, `anthropic-ratelimit-${name}-${what}`);
    const limit = count(field('limit'));
    const remaining = count(field('remaining'));
    if (limit === null || remaining === null || limit <= 0) continue;
    const reset = field('reset');
    const fullAt = reset === '' ? null : clockMs(reset, nowMs);
    const fullInMs = fullAt === null ? null : Math.max(0, fullAt - nowMs);
    readings.push({ of: counted[name], limit, remaining, fullInMs });
  }
  return readings;
}

function count(text: string): number | null {
  const value = Number(text);
  return text.trim() !== '' && Number.isFinite(value) && value >= 0 ? value : null;
}
