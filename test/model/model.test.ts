// What the Model port knows without asking anybody: providers, sizes, prices, keys; and the clock of deadlines.

import assert from 'node:assert/strict';
import { describe, mock, test } from 'node:test';
import { Deadlines, type Due } from '../../sidecar/model/deadlines.ts';
import { createModel } from '../../sidecar/model/model.ts';
import { pathBelow } from '../../sidecar/model/providers.ts';

describe('what is known of models', () => {
  const model = createModel();

  test('sizes are never 0, whatever the model (case 177)', () => {
    for (const name of [
      'anthropic/claude-haiku-4-5',
      'anthropic/claude-of-tomorrow',
      'ollama/some:7b',
      'openrouter/a/b',
    ]) {
      const info = model.info(name);
      assert.ok(info !== null && info.contextTokens >= 32_768 && info.outputTokens >= 4_096, name);
    }
    assert.equal(model.info('nobody/x'), null);
    const local = { name: 'mine', dialect: 'chat', baseUrl: 'http://127.0.0.1:9/v1', keyless: true } as const;
    model.setProvider(local);
    assert.equal(model.info('mine/x')?.contextTokens, 32_768);
    model.setProvider({ ...local, contextTokens: 131_072 });
    assert.equal(
      model.info('mine/x')?.contextTokens,
      131_072,
      'what a person says goes before what is assumed',
    );
    assert.equal(model.info('plain'), null);
  });

  test('prices are the list’s, by dated name too; local ones are free; unknown ones are not known', () => {
    const haiku = { input: 1_000_000, output: 5_000_000, cacheRead: 100_000, cacheWrite: 1_250_000 };
    assert.deepEqual(model.price('anthropic/claude-haiku-4-5'), haiku);
    assert.deepEqual(model.price('anthropic/claude-haiku-4-5-20251001'), haiku);
    assert.deepEqual(model.price('openrouter/anthropic/claude-haiku-4.5'), haiku);
    assert.deepEqual(model.price('openai/gpt-5-2025-08-07'), model.price('openai/gpt-5'));
    assert.equal(model.price('openai/gpt-5-unheard-of'), null);
    assert.equal(model.price('openrouter/anthropic/claude-haiku-4.5:unheard-of'), null);
    assert.equal(model.price('nobody/x'), null);
    assert.equal(model.price('ollama/qwen3')?.input, 0);
  });

  test('a key is needed where one is', () => {
    assert.equal(model.lacks('anthropic/claude-haiku-4-5'), 'key');
    assert.equal(model.lacks('lmstudio/x'), null);
    assert.equal(model.lacks('nobody/x'), null);
    model.setKey('anthropic', 'k');
    assert.equal(model.lacks('anthropic/claude-haiku-4-5'), null);
    model.setKey('anthropic', null);
    assert.equal(model.lacks('anthropic/claude-haiku-4-5'), 'key');
  });
});

test('paths below base URLs as people write them', () => {
  const at = (base: string, path: string): string => pathBelow(new URL(base), path);
  assert.equal(at('https://api.anthropic.com', '/v1/messages'), '/v1/messages');
  assert.equal(at('https://api.anthropic.com/v1/', '/v1/messages'), '/v1/messages');
  assert.equal(at('https://gateway/anthropic', '/v1/messages'), '/anthropic/v1/messages');
  assert.equal(at('https://api.openai.com/v1', '/chat/completions'), '/v1/chat/completions');
});

test('deadlines: one timer that stands still without work, moves with dueMs, and notices sleep', (context) => {
  mock.timers.enable({ apis: ['setInterval', 'Date'] });
  context.after(() => mock.timers.reset());
  const deadlines = new Deadlines(1_000);
  const rung: string[] = [];
  const due = (name: string, dueMs: number): Due => ({
    dueMs,
    expire(): void {
      rung.push(name);
      deadlines.remove(this);
    },
    woke(): void {
      rung.push(`${name} woke`);
    },
  });
  const soon = due('soon', 0);
  const late = due('late', Number.POSITIVE_INFINITY);
  deadlines.add(soon);
  deadlines.add(late);
  // The mocked wall clock moves, the steady one does not: to the model that is a machine that sleeps.
  mock.timers.tick(1_000);
  assert.deepEqual(rung, ['soon']);
  mock.timers.setTime(Date.now() + 3_600_000);
  mock.timers.tick(1_000);
  assert.ok(rung.includes('late woke'));
  late.dueMs = 0;
  mock.timers.tick(1_000);
  assert.ok(rung.includes('late'));
  const before = rung.length;
  mock.timers.tick(60_000);
  assert.equal(rung.length, before);
});
