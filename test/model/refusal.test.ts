// What failures mean, and when a server may be asked again: tables of what servers really say.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { judgeFailure } from '../../sidecar/model/refusal.ts';
import { durationMs, retryAtMs, type Headers } from '../../sidecar/model/retryAfter.ts';
import type { Json } from '../../sidecar/protocol/json.ts';

const nowMs = Date.parse('2026-11-30T12:00:00Z');

const wait = (headers: Headers, body: Json = null): number | null => {
  const at = retryAtMs(headers, body, nowMs);
  return at === null ? null : at - nowMs;
};

describe('retry-after in every form (case 165)', () => {
  const headers: readonly [string, Headers, number | null][] = [
    ['seconds', { 'retry-after': '20' }, 20_000],
    ['seconds with a fraction', { 'retry-after': '0.5' }, 500],
    ['milliseconds first', { 'retry-after-ms': '1500', 'retry-after': '2' }, 1_500],
    ['a date', { 'retry-after': 'Mon, 30 Nov 2026 12:01:00 GMT' }, 60_000],
    [
      'a date by the server’s own clock',
      { 'retry-after': 'Mon, 30 Nov 2026 11:01:00 GMT', date: 'Mon, 30 Nov 2026 11:00:00 GMT' },
      60_000,
    ],
    ['a date that is past', { 'retry-after': 'Mon, 30 Nov 2026 11:00:00 GMT' }, 0],
    ['a duration', { 'retry-after': '1m30s' }, 90_000],
    ['below zero', { 'retry-after': '-1' }, null],
    ['nonsense', { 'retry-after': 'soon' }, null],
    [
      'OpenAI’s empty bucket',
      {
        'x-ratelimit-remaining-tokens': '0',
        'x-ratelimit-reset-tokens': '6m0s',
        'x-ratelimit-remaining-requests': '5',
        'x-ratelimit-reset-requests': '1h',
      },
      360_000,
    ],
    [
      'Anthropic’s empty bucket',
      {
        'anthropic-ratelimit-input-tokens-remaining': '0',
        'anthropic-ratelimit-input-tokens-reset': '2026-11-30T12:00:07Z',
      },
      7_000,
    ],
    [
      'milliseconds since 1970',
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(nowMs + 9_000) },
      9_000,
    ],
    [
      'no bucket is empty',
      { 'x-ratelimit-remaining-requests': '5', 'x-ratelimit-reset-requests': '1h' },
      null,
    ],
    ['nothing', {}, null],
  ];
  for (const [name, given, expected] of headers) test(name, () => assert.equal(wait(given), expected));

  const bodies: readonly [string, Json, number | null][] = [
    [
      'words of OpenAI',
      {
        error: {
          message:
            'Rate limit reached for gpt-5 in organization x on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 1.998s. Visit ...',
        },
      },
      1_998,
    ],
    ['minutes and seconds', { error: { message: 'Please try again in 7m12.48s.' } }, 432_480],
    [
      'milliseconds in words',
      { response: { error: { code: 'rate_limit_exceeded', message: 'try again in 250ms' } } },
      250,
    ],
    [
      'words of Google',
      { error: { code: 429, message: 'You exceeded your current quota. Please retry in 36.5s.' } },
      36_500,
    ],
    [
      'Google’s detail',
      {
        error: {
          code: 429,
          details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '36s' }],
        },
      },
      36_000,
    ],
    ['long words', { error: { message: 'Try again in 2 hours 5 minutes.' } }, 7_500_000],
    [
      'ChatGPT’s reset',
      { error: { type: 'usage_limit_reached', resets_at: nowMs / 1_000 + 3_600 } },
      3_600_000,
    ],
    [
      'OpenRouter’s headers',
      { error: { code: 429, metadata: { headers: { 'X-RateLimit-Reset': String(nowMs + 5_000) } } } },
      5_000,
    ],
    [
      'numbers that are no time',
      { error: { message: 'Limit 30000, Requested 40000. Retry with fewer.' } },
      null,
    ],
  ];
  for (const [name, body, expected] of bodies) test(name, () => assert.equal(wait({}, body), expected));

  test('durations', () => {
    assert.deepEqual(['6m0s', '1s', '20ms', '1h2m', '1.5s', 'soon', ''].map(durationMs), [
      360_000,
      1_000,
      20,
      3_720_000,
      1_500,
      null,
      null,
    ]);
  });
});

const judged = (status: number, body: Json, headers: Headers = {}): string => {
  const outcome = judgeFailure({ status, headers, body, receivedBytes: 0, nowMs });
  return outcome.kind === 'rejected' ? outcome.code : outcome.kind;
};
const error = (message: string, more: { [key: string]: Json } = {}): Json => ({
  error: { message, ...more },
});

describe('what a failure means', () => {
  const table: readonly [string, number, Json, string][] = [
    [
      'wrong key (OpenAI)',
      401,
      error('Incorrect API key provided: sk-x.', { code: 'invalid_api_key' }),
      'wrongKey',
    ],
    [
      'wrong key (Anthropic)',
      401,
      { type: 'error', error: { type: 'authentication_error', message: 'invalid x-api-key' } },
      'wrongKey',
    ],
    ['forbidden', 403, error('Country not supported'), 'wrongKey'],
    [
      'no access to the model',
      403,
      error('Project does not have access to model gpt-9', { code: 'model_not_found' }),
      'modelUnknown',
    ],
    [
      'no such model (OpenAI)',
      404,
      error('The model `x` does not exist or you do not have access to it.', { code: 'model_not_found' }),
      'modelUnknown',
    ],
    [
      'no such model (Anthropic)',
      404,
      { type: 'error', error: { type: 'not_found_error', message: 'model: claude-9' } },
      'modelUnknown',
    ],
    [
      'no such model (Ollama)',
      404,
      error('model "llama9" not found, try pulling it first', { type: 'api_error' }),
      'modelUnknown',
    ],
    ['no such model (OpenRouter)', 400, error('x/y is not a valid model ID', { code: 400 }), 'modelUnknown'],
    ['no such path', 404, '404 page not found', 'badRequest'],
    [
      'credit (OpenAI)',
      429,
      error('You exceeded your current quota, please check your plan and billing details.', {
        code: 'insufficient_quota',
      }),
      'noCredit',
    ],
    [
      'credit (Anthropic)',
      400,
      error('Your credit balance is too low to access the Anthropic API.', { type: 'invalid_request_error' }),
      'noCredit',
    ],
    ['credit (OpenRouter)', 402, error('Insufficient credits. Add more', { code: 402 }), 'noCredit'],
    [
      'a minute’s quota (Google)',
      429,
      error(
        'You exceeded your current quota, please check your plan and billing details. Please retry in 36s.',
        { code: 429, status: 'RESOURCE_EXHAUSTED' },
      ),
      'refused',
    ],
    [
      'too many requests',
      429,
      error('Rate limit reached for requests', { code: 'rate_limit_exceeded' }),
      'refused',
    ],
    ['too many requests, no body', 429, '', 'refused'],
    [
      'overloaded (Anthropic)',
      529,
      { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
      'refused',
    ],
    [
      'overloaded inside a stream',
      200,
      { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
      'refused',
    ],
    [
      'rate limit inside a stream',
      200,
      { response: { error: { code: 'rate_limit_exceeded', message: 'try again in 1s' } } },
      'refused',
    ],
    ['numeric code inside a stream', 200, error('Provider returned error', { code: 502 }), 'cut'],
    [
      'server error inside a stream',
      200,
      { type: 'response.failed', response: { error: { code: 'server_error', message: 'x' } } },
      'cut',
    ],
    [
      'bad request inside a stream',
      200,
      { type: 'error', error: { type: 'invalid_request_error', message: 'x' } },
      'badRequest',
    ],
    [
      'overflow inside a stream',
      200,
      {
        response: {
          error: {
            code: 'context_length_exceeded',
            message: 'Your input exceeds the context window of this model.',
          },
        },
      },
      'contextTooLong',
    ],
    ['busy', 503, error('The server is overloaded'), 'refused'],
    ['gateway', 502, '<html><h1>Bad Gateway</h1></html>', 'cut'],
    ['internal', 500, error('Internal error', { type: 'server_error' }), 'cut'],
    ['timeout', 408, '', 'cut'],
    [
      'body too large (413)',
      413,
      error('Request exceeds the maximum size', { type: 'request_too_large' }),
      'contextTooLong',
    ],
    ['no body at all (Cerebras)', 400, '', 'contextTooLong'],
    [
      'more than a minute may hold',
      429,
      error(
        'Request too large for gpt-4o in organization x on tokens per min (TPM): Limit 30000, Requested 40000.',
        { code: 'rate_limit_exceeded' },
      ),
      'contextTooLong',
    ],
    [
      'bad request',
      400,
      error('messages.1: tool_use ids were found without tool_result', { type: 'invalid_request_error' }),
      'badRequest',
    ],
    ['unprocessable', 422, { detail: 'Extra inputs are not permitted' }, 'badRequest'],
    ['moved', 308, '', 'badRequest'],
  ];
  for (const [name, status, body, expected] of table)
    test(name, () => assert.equal(judged(status, body), expected));

  const overflows: readonly (readonly [message: string, limitTokens: number | null])[] = [
    ['prompt is too long: 213462 tokens > 200000 maximum', 200_000],
    ['Your input exceeds the context window of this model', null],
    ['The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)', 1_048_575],
    ["This model's maximum prompt length is 131072 but the request contains 537812 tokens", 131_072],
    ['Please reduce the length of the messages or completion.', null],
    [
      "This endpoint's maximum context length is 4096 tokens. However, you requested about 9000 tokens",
      4_096,
    ],
    ["This model's maximum context length is 8192 tokens.", 8_192],
    ['the request exceeds the available context size, try increasing it', null],
    ['request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it', 4_096],
    ['tokens to keep from the initial prompt is greater than the context length', null],
    ['prompt token count of 99999 exceeds the limit of 64000 tokens', 64_000],
    ['Your request exceeded model token limit: 262144 (requested: 300000)', 262_144],
    ['Prompt contains 99999 tokens and is too large for model with 32768 maximum context length', 32_768],
  ];
  for (const [message, limitTokens] of overflows)
    test(`overflow: ${message.slice(0, 40)}`, () => {
      assert.equal(judged(400, error(message)), 'contextTooLong');
      const body = error(message);
      const outcome = judgeFailure({ status: 400, headers: {}, body, receivedBytes: 0, nowMs });
      assert.equal(outcome.kind === 'rejected' ? (outcome.limitTokens ?? null) : 0, limitTokens);
    });

  const stale = [
    'messages.1.content.0: Invalid `signature` in `thinking` block',
    'messages.3.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block',
    'messages.5.content.2: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.',
    'The encrypted content for item rs_123 could not be verified.',
    "Item 'rs_123' of type 'reasoning' was provided without its required following item.",
  ];
  for (const message of stale)
    test(`reasoning that is not taken back: ${message.slice(0, 40)}`, () =>
      assert.equal(judged(400, error(message)), 'staleReasoning'));

  test('x-should-retry has the last word on failures that may pass', () => {
    assert.equal(judged(500, '', { 'x-should-retry': 'false' }), 'badRequest');
    assert.equal(judged(422, '', { 'x-should-retry': 'true' }), 'cut');
    assert.equal(judged(503, '', { 'retry-after': '3' }), 'refused');
  });

  test('messages are short, without markup, and end like a sentence', () => {
    const outcome = judgeFailure({
      status: 502,
      headers: {},
      body: `<html><b>Bad</b>\n Gateway</html>${'x'.repeat(5_000)}`,
      receivedBytes: 0,
      nowMs,
    });
    assert.ok(outcome.kind === 'cut' && outcome.message.startsWith('HTTP 502: Bad Gateway x'));
    assert.ok(outcome.kind === 'cut' && outcome.message.length < 700);
  });
});
