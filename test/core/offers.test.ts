// What servers offer: bad tools are dropped one by one, and names are such that every provider takes them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  judgeOffer,
  remoteTools,
  wantsServer,
  type Offer,
  type RemoteWish,
} from '../../sidecar/core/offers.ts';
import type { Json } from '../../sidecar/protocol/json.ts';
import { limits } from '../../sidecar/runtime/limits.ts';

const schema = { type: 'object' };
const server = (name: string) => ({ name, hash: `hash of ${name}`, path: '/w/.mcp.json' });
const offerOf = (...names: string[]): Offer =>
  judgeOffer(
    names.map((name) => ({ name, inputSchema: schema })),
    limits,
  );

test('a tool that cannot be used is dropped with its reason, and takes no other along', () => {
  const offer = judgeOffer(
    [
      { name: 'good', description: ' Does it. ', inputSchema: schema, annotations: { readOnlyHint: true } },
      7,
      { name: 'list', inputSchema: [] },
      { name: 'large', inputSchema: { type: 'object', title: 'x'.repeat(limits.offeredSchemaBytes) } },
      { name: 'good', inputSchema: schema },
      { name: 'bare' },
    ],
    limits,
  );
  assert.deepEqual(offer.tools, [
    { name: 'bare', description: '', schema, reading: false },
    { name: 'good', description: 'Does it.', schema, reading: true },
  ]);
  assert.deepEqual(
    offer.dropped.map(({ name, reason }) => `${name}: ${reason}`.replace(/\d{5,}/g, 'N')),
    [
      'tool 2: it is not an object',
      'list: its inputSchema is not the schema of an object',
      'large: its schema has N bytes, the limit is N',
      'good: another tool has this name',
    ],
  );
});

test('names are taken by every provider, are not alike, and do not hang on the order of a list', () => {
  const name = fc.string({ minLength: 1, maxLength: 80 }).filter((text) => text.trim() !== '');
  fc.assert(
    fc.property(
      fc.uniqueArray(name, { maxLength: 12 }),
      fc.array(name, { minLength: 1, maxLength: 3 }),
      (tools, servers) => {
        const listed = (
          all: readonly string[],
        ): readonly { server: ReturnType<typeof server>; offer: Offer }[] =>
          [...new Set(servers)].map((each) => ({ server: server(each), offer: offerOf(...all) }));
        const made = remoteTools(listed(tools), 'all', limits).tools;
        for (const tool of made) assert.match(tool.name, /^[A-Za-z0-9_-]{1,64}$/);
        assert.equal(new Set(made.map((tool) => tool.name)).size, made.length);
        assert.deepEqual(remoteTools(listed(tools.toReversed()), 'all', limits).tools, made);
      },
    ),
    { numRuns: 200 },
  );
});

test('a profile is offered what it wants, and what there is room for', () => {
  const reading: Json = { name: 'find', inputSchema: schema, annotations: { readOnlyHint: true } };
  const offers = [
    { server: server('docs'), offer: judgeOffer([reading, { name: 'post', inputSchema: schema }], limits) },
    { server: server('my db'), offer: offerOf('query') },
  ];
  const names = (wish: RemoteWish): string[] =>
    remoteTools(offers, wish, limits).tools.map((tool) => tool.name);
  assert.deepEqual(names('all'), ['docs__find', 'docs__post', 'my_db__query']);
  assert.deepEqual(names('reading'), ['docs__find']);
  assert.deepEqual(names(['docs/post', 'my_db/*']), ['docs__post', 'my_db__query']);
  assert.deepEqual(names([]), []);
  assert.equal(wantsServer(['docs/post'], 'my db'), false);
  const narrow = { ...limits, remoteTools: 2 };
  const { tools, left } = remoteTools(offers, 'all', narrow);
  assert.deepEqual([tools.length, left], [2, 1]);
});
