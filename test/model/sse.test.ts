// The reader of event streams: any split of the bytes gives the same events, and nothing grows without bound.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { EventReader } from '../../sidecar/model/sse.ts';
import { limits } from '../../sidecar/runtime/limits.ts';

function read(bytes: Buffer, cuts: readonly number[]): string[] {
  const reader = new EventReader();
  const seen: string[] = [];
  let from = 0;
  for (const cut of [...cuts, bytes.length]) {
    for (const event of reader.read(bytes.subarray(from, cut)) ?? [])
      seen.push(`${event.type}|${event.data}`);
    from = cut;
  }
  for (const event of reader.finish()) seen.push(`${event.type}|${event.data}`);
  return seen;
}

const odd = Buffer.from(
  [
    '\uFEFFevent: first\r\ndata: {"a":"ä🦉"}\r\n\r\n',
    ': OPENROUTER PROCESSING\n\n',
    'data: one\ndata: two\n\n',
    'id: 7\nretry: soon\nnonsense\ndata:no blank\n\n',
    'event: ping\ndata\n\n',
    'event: lonely\n\n',
    'data: last without a blank line',
  ].join(''),
);

const expected = ['first|{"a":"ä🦉"}', '|one\ntwo', '|no blank', 'ping|', '|last without a blank line'];

test('every split at two bytes gives the same events', () => {
  for (let one = 0; one <= odd.length; one++) {
    assert.deepEqual(read(odd, [one]), expected, `cut at ${one}`);
    assert.deepEqual(read(odd, [one, Math.min(odd.length, one + 1)]), expected, `cut around ${one}`);
  }
});

test('any number of cuts gives the same events', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(odd.length)), (cuts) => {
      assert.deepEqual(
        read(
          odd,
          [...cuts].sort((a, b) => a - b),
        ),
        expected,
      );
    }),
  );
});

test('an event longer than its bound ends the reading instead of growing', () => {
  const reader = new EventReader();
  const piece = Buffer.from(`data: ${'x'.repeat(1024 * 1024)}`);
  let reads = 0;
  while (reader.read(piece.subarray(reads === 0 ? 0 : 6)) !== null) reads++;
  assert.ok(reads <= limits.streamEventBytes / (1024 * 1024));
  assert.equal(reader.read(Buffer.from('\n\n')), null);
  assert.deepEqual(reader.finish(), []);
});
