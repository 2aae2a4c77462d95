// Headers in which providers tell the state of their limits.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limitsIn } from '../../sidecar/model/rateLimits.ts';

const now = Date.parse('2026-11-02T10:00:00Z');

test('OpenAI: durations', () => {
  const headers = {
    'x-ratelimit-limit-requests': '5000',
    'x-ratelimit-remaining-requests': '4999',
    'x-ratelimit-reset-requests': '12ms',
    'x-ratelimit-limit-tokens': '2000000',
    'x-ratelimit-remaining-tokens': '1500000',
    'x-ratelimit-reset-tokens': '6m0s',
  };
  assert.deepEqual(limitsIn(headers, now), [
    { of: 'requests', limit: 5_000, remaining: 4_999, fullInMs: 12 },
    { of: 'tokens', limit: 2_000_000, remaining: 1_500_000, fullInMs: 360_000 },
  ]);
});

test('Anthropic: times, and tokens of each kind', () => {
  const headers = {
    'anthropic-ratelimit-requests-limit': '50',
    'anthropic-ratelimit-requests-remaining': '0',
    'anthropic-ratelimit-requests-reset': '2026-11-02T10:01:00Z',
    'anthropic-ratelimit-input-tokens-limit': '30000',
    'anthropic-ratelimit-input-tokens-remaining': '30000',
    'anthropic-ratelimit-input-tokens-reset': '2026-11-02T10:00:00Z',
    'anthropic-ratelimit-output-tokens-limit': '8000',
    'anthropic-ratelimit-output-tokens-remaining': '7000',
    'anthropic-ratelimit-output-tokens-reset': '2026-11-02T10:00:08Z',
  };
  assert.deepEqual(limitsIn(headers, now), [
    { of: 'requests', limit: 50, remaining: 0, fullInMs: 60_000 },
    { of: 'input', limit: 30_000, remaining: 30_000, fullInMs: 0 },
    { of: 'output', limit: 8_000, remaining: 7_000, fullInMs: 8_000 },
  ]);
});

test('what is told in part, or is no number, is not told', () => {
  assert.deepEqual(limitsIn({}, now), []);
  assert.deepEqual(limitsIn({ 'x-ratelimit-limit-requests': '10' }, now), []);
  assert.deepEqual(
    limitsIn({ 'x-ratelimit-limit-requests': 'many', 'x-ratelimit-remaining-requests': '1' }, now),
    [],
  );
  assert.deepEqual(limitsIn({ 'x-ratelimit-limit-tokens': '10', 'x-ratelimit-remaining-tokens': '3' }, now), [
    { of: 'tokens', limit: 10, remaining: 3, fullInMs: null },
  ]);
});
