// The table of prices: as its script makes it, and read as the package that it is made of reads its own.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { calcPrice } from '@pydantic/genai-prices';
import { priceOf, sizesOf, type Shop } from '../../sidecar/model/catalog.ts';
import { prices } from '../../sidecar/model/prices.ts';
import { pricesFile, pricesText } from '../support/prices.ts';

const nowMs = Date.UTC(2026, 11, 1, 12);
const at = (provider: string, baseUrl = ''): Shop => ({ provider, baseUrl });
const usd = (shop: Shop, name: string, whenMs = nowMs): number[] | null => {
  const price = priceOf(shop, name, whenMs);
  return price === null
    ? null
    : [price.input, price.output, price.cacheRead, price.cacheWrite].map((each) => each / 1_000_000);
};

test('the table is what its script makes: run "npm run prices" when this fails', () => {
  assert.equal(readFileSync(pricesFile, 'utf8'), pricesText());
});

test('prices are those of the package, for models of each provider at a time', () => {
  let compared = 0;
  const timestamp = new Date(nowMs);
  for (const section of prices.split('\n@').slice(1)) {
    const [head = '', ...lines] = section.split('\n');
    const [provider = ''] = head.split('\t');
    for (const line of lines) {
      // A name that is written out is the only one that is sure to be the model's.
      const name = /^\^([^|$(\\[]+)\$(?:\||\t)/.exec(line)?.[1];
      if (name === undefined) continue;
      const own = priceOf(at(provider), name, nowMs);
      const usage = { input_tokens: 1_000, output_tokens: 1_000 };
      const theirs = calcPrice(usage, name, { providerId: provider, timestamp });
      if (own === null || theirs === null || /deepseek/.test(name)) continue;
      const cost = (own.input + own.output) / 1e9;
      assert.ok(
        Math.abs(cost - theirs.total_price) < 1e-9,
        `${provider} ${name}: ${cost}, ${theirs.total_price}`,
      );
      compared += 1;
    }
  }
  assert.ok(compared > 500, `${compared} compared`);
});

test('a price may begin on a day and hold at some hours; the window ends where a price steps up', () => {
  const flash = at('deepseek');
  assert.deepEqual(usd(flash, 'deepseek-v4-flash'), [0.22, 0.66, 0.007, 0.22]);
  assert.deepEqual(usd(flash, 'deepseek-v4-flash', Date.UTC(2026, 11, 1, 2)), [0.44, 1.32, 0.014, 0.44]);
  assert.deepEqual(usd(flash, 'deepseek-v4-flash', Date.UTC(2026, 6, 1, 12)), [0.14, 0.28, 0.0028, 0.14]);
  const sizes = (name: string): number =>
    sizesOf({ ...at('openai'), isLocal: false }, name, nowMs).contextTokens;
  assert.equal(sizes('gpt-5.6-terra'), 271_999);
  assert.equal(sizes('gpt-5'), 400_000);
});

test('a provider is known by its name or by its address; names of resold models by their makers', () => {
  assert.deepEqual(usd(at('mine', 'https://api.anthropic.com/'), 'claude-haiku-4-5'), [1, 5, 0.1, 1.25]);
  assert.deepEqual(usd(at('gemini'), 'gemini-2.5-flash'), [0.3, 2.5, 0.03, 0.3]);
  assert.equal(usd(at('azure'), 'gpt-5')?.[0], 1.25);
  assert.equal(usd(at('work', 'https://me.openai.azure.com/openai/v1'), 'claude-haiku-4-5')?.[0], 1);
  assert.notEqual(usd(at('bedrock'), 'us.anthropic.claude-haiku-4-5-20251001-v1:0'), null);
  assert.equal(usd(at('mine', 'https://example.com'), 'gpt-5'), null);
  assert.equal(usd(at('openai'), 'nobody-knows'), null);
});
