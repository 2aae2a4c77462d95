// What a model's arguments may be: complete JSON, an object, and flat enough for what walks over it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isTooDeep, parseInput } from '../../sidecar/core/answer.ts';
import { callInput } from '../../sidecar/model/dialect.ts';

const nested = (levels: number): string => `{"a":${'['.repeat(levels)}1${']'.repeat(levels)}}`;
const limitBytes = 4 * 1024 * 1024;

test('arguments that nest without end are refused, and go back to the provider as text', () => {
  for (const levels of [200, 5_000, 1_000_000]) {
    const { input, problem } = parseInput(nested(levels), limitBytes);
    assert.equal(input, null);
    assert.match(problem, /nest deeper than 128 levels/);
    assert.deepEqual(callInput(nested(levels)), { invalid_json: nested(levels) });
  }
  assert.notEqual(parseInput(nested(100), limitBytes).input, null);
});

test('brackets in texts, and many of them side by side, are no depth', () => {
  assert.equal(isTooDeep(JSON.stringify({ text: '[{"\\'.repeat(1_000) })), false);
  assert.equal(isTooDeep(JSON.stringify({ list: Array.from({ length: 1_000 }, () => [{}]) })), false);
  assert.equal(isTooDeep(JSON.stringify({ text: 'x'.repeat(limitBytes) })), false);
});

test('halves of surrogate pairs are replaced in names of fields too', () => {
  assert.deepEqual(callInput('{"a":{"\\ud800":"\\udc00"}}'), { a: { '\ufffd': '\ufffd' } });
});
