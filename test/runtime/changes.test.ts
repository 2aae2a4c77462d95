// Whose change a file is when the commands of several agents run in one folder.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { World, lastOf } from './world.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text);

/** Two agents whose commands are over; what the look after each has found is the test's. */
function changesAfter(found: Readonly<Record<string, string>>, isolation: 'shared' | 'worktree'): unknown[] {
  const world = new World({
    answer: (items) =>
      lastOf(items).results.length === 0 ? [['shell', { command: lastOf(items).user }]] : 'done',
    tool: (job) => {
      const after = bytes(found[String(job.input['command'])] ?? '');
      const touched = [{ path: '/w/a', written: '/w/a', before: bytes('old'), after }];
      return { kind: 'done', outcome: { status: 'ok', text: 'ok', touched } };
    },
  });
  for (const text of Object.keys(found)) {
    world.start(text, { isolation });
    world.run(1_000);
  }
  assert.deepEqual(world.bugs, []);
  return world.open.reads.changes(0, 0, 10).rows.map((row) => row.agentName);
}

test('a file that stands as another agent left it is not also the change of a command that found it', () => {
  assert.equal(changesAfter({ one: 'new', two: 'new' }, 'shared').length, 1);
});

test('a file that a command has changed further is its change too', () => {
  assert.equal(changesAfter({ one: 'new', two: 'newer' }, 'shared').length, 2);
});

test('in worktrees each agent has a file of its own', () => {
  assert.equal(changesAfter({ one: 'new', two: 'new' }, 'worktree').length, 2);
});
