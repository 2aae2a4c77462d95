// When a person is asked: every kind of ask against every mode and isolation that decides it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mustAsk } from '../../sidecar/core/policy.ts';
import type { Ask } from '../../sidecar/core/terms.ts';

const ask = (more: Partial<Ask>): Ask => ({
  kind: 'command',
  title: '',
  detail: '',
  cluster: null,
  always: false,
  harmless: false,
  sandboxed: false,
  ...more,
});

test("ask asks for commands and for edits of the person's files, not for edits in a worktree", () => {
  assert.equal(mustAsk(ask({}), 'ask', 'shared'), true);
  assert.equal(mustAsk(ask({ kind: 'edit' }), 'ask', 'shared'), true);
  assert.equal(mustAsk(ask({ kind: 'edit' }), 'ask', 'worktree'), false);
});

test('edits asks for commands only', () => {
  assert.equal(mustAsk(ask({ kind: 'edit' }), 'edits', 'shared'), false);
  assert.equal(mustAsk(ask({}), 'edits', 'shared'), true);
});

test('auto runs a command unasked only inside a sandbox', () => {
  assert.equal(mustAsk(ask({}), 'auto', 'shared'), true);
  assert.equal(mustAsk(ask({ sandboxed: true }), 'auto', 'shared'), false);
});

test('what only looks is never asked about, what is protected always is', () => {
  assert.equal(mustAsk(ask({ harmless: true }), 'ask', 'shared'), false);
  for (const mode of ['ask', 'edits', 'auto'] as const) {
    assert.equal(mustAsk(ask({ always: true, harmless: true, sandboxed: true }), mode, 'worktree'), true);
  }
});
