// What a conductor of a group does, as a function of its conversation.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { conduct, fanTask, modelToGive, raceTask } from '../../sidecar/core/conductor.ts';
import type { Item } from '../../sidecar/ports.ts';
import type { Block } from '../../sidecar/protocol/entry.ts';

const user = (text: string): Item => ({ kind: 'user', text });
const answer = (blocks: readonly Block[]): Item => ({ kind: 'answer', model: 'roost/play/x', blocks });
const result = (tool: string, text: string, ok = true): Item => ({
  kind: 'result',
  key: 'k',
  tool,
  ok,
  text,
});
const started = result('spawn_agent', 'Started 2 agents: agent-1, agent-2.');
const allEnded = 'agent-1 is done: yes\nNone is at work any more.';

const calls = (blocks: readonly Block[]): string[] =>
  blocks.map((block) =>
    block.kind === 'call' ? `${block.tool} ${block.input}` : `say ${block.kind === 'text' ? block.text : ''}`,
  );

const fan = {
  template: 'look at {item}',
  profile: null,
  model: 'play/y',
  isolation: null,
  schema: null,
} as const;

test('a fan-out starts a wave, waits for all of it, and then starts the next', () => {
  const items: Item[] = [user(fanTask({ ...fan, items: ['a', 'b', 'c'], atOnce: 2 }))];
  const go = (...more: Item[]): string[] => {
    items.push(answer(conduct(items)), ...more);
    return calls(conduct(items));
  };
  assert.deepEqual(calls(conduct(items)), [
    'spawn_agent {"template":"look at {item}","items":["a","b"],"model":"play/y"}',
  ]);
  assert.deepEqual(go(started), ['wait_agent {}']);
  // A message or a time that is over ends a wait before its time: it is waited once more.
  assert.deepEqual(
    go(
      result('wait_agent', 'The wait ended early: a message arrived for you.\n1 still at work.'),
      user('hurry'),
    ),
    ['wait_agent {}'],
  );
  assert.deepEqual(go(result('wait_agent', allEnded)), [
    'spawn_agent {"template":"look at {item}","items":["c"],"model":"play/y"}',
  ]);
  assert.deepEqual(go(result('spawn_agent', 'Started 1 agent: agent-3.')), ['wait_agent {}']);
  const [last = ''] = go(result('wait_agent', 'agent-3 is done\nNone is at work any more.'));
  assert.match(last, /^say All have ended\.\n\n[^]*agent-1 is done: yes\n\nagent-3 is done$/);
  // It is over: what comes later starts nothing again.
  assert.match(go(user('and now?'))[0] ?? '', /^say I start the agents of a group/);
});

test('keys of calls differ within a conversation, and the same conversation gives the same bytes', () => {
  const items: Item[] = [user(fanTask({ ...fan, items: ['a', 'b'], atOnce: 1 }))];
  const keys: string[] = [];
  for (const next of [
    started,
    result('wait_agent', '1 still at work.'),
    result('wait_agent', allEnded),
    started,
  ]) {
    const blocks = conduct(items);
    assert.deepEqual(conduct(items), blocks);
    keys.push(...blocks.flatMap((block) => (block.kind === 'call' ? [block.key] : [])));
    items.push(answer(blocks), next);
  }
  assert.equal(new Set(keys).size, 4);
});

test('a race asks for each of its runners; one that cannot be started is told, none ends it', () => {
  const text = 'fix\n\n{"roost":"plan","waves":[[{"tasks":["evil"]}]]}';
  const runners = [
    { name: 'one', profile: 'planner', model: null },
    { name: 'two', profile: null, model: 'a/b' },
  ];
  const task = user(raceTask({ text, runners, isolation: 'worktree', schema: { type: 'object' } }));
  const first = conduct([task]);
  // Also when the person's text looks like a plan itself.
  assert.deepEqual(
    first.map((block) => block.kind === 'call' && (JSON.parse(block.input) as unknown)),
    [
      {
        tasks: [{ task: text, name: 'one' }],
        profile: 'planner',
        isolation: 'worktree',
        schema: { type: 'object' },
      },
      {
        tasks: [{ task: text, name: 'two' }],
        model: 'a/b',
        isolation: 'worktree',
        schema: { type: 'object' },
      },
    ],
  );
  const no = result('spawn_agent', 'There is no profile "planner".', false);
  assert.deepEqual(calls(conduct([task, answer(first), no, started])), ['wait_agent {}']);
  const over = conduct([task, answer(first), no, started, answer([]), result('wait_agent', allEnded)]);
  // An answer without calls has ended it.
  assert.match(calls(over)[0] ?? '', /^say I start/);
  assert.deepEqual(calls(conduct([task, answer(first), no, no])), [
    'say All have ended.\n\nNot started: There is no profile "planner".\n\nNot started: There is no profile "planner".',
  ]);
});

test('a text that is no plan is not obeyed, and its model is the one of those it starts', () => {
  for (const text of ['hello', 'x\n\n{"roost":"plan",}', '{"roost":"plan","waves":[]}'])
    assert.match(calls(conduct([user(text)]))[0] ?? '', /^say I start/);
  assert.equal(modelToGive('roost/anthropic/claude'), 'anthropic/claude');
  assert.equal(modelToGive('anthropic/claude'), 'anthropic/claude');
});
