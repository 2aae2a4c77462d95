// Turns and rewinds through the real command and the real sidecar.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { kinds, one, Store } from './roost.ts';

test('turns lists them, rewind goes back and forward again, and what follows goes on from there', async (t) => {
  const store = new Store(t, [{ user: 'count', say: [{ text: 'after {task}' }] }]);
  const first = one(
    await store.lines('run', '--new', '--agent', 'lead', ...store.model, '--', 'one'),
    'started',
  );
  const second = one(await store.lines('run', '--agent', 'lead', '--', 'two'), 'started');
  const rewound = one(await store.lines('rewind', 'lead', String(first['turn'])), 'rewound');
  assert.deepEqual(
    [rewound['turn'], rewound['from'], rewound['stopped']],
    [first['turn'], second['turn'], 0],
  );
  const other = one(await store.lines('run', '--agent', 'lead', '--', 'other'), 'started');
  const turns = await store.lines('turns', 'lead');
  assert.deepEqual(
    turns.map((line) => [line['turn'], line['asked'], line['said'], line['left']]),
    [
      [other['turn'], 'other', 'heard other', false],
      [second['turn'], 'two', 'heard two', true],
      [first['turn'], 'one', 'heard one', false],
    ],
  );
  // The log has everything, in the order in which it happened.
  const log = await store.lines('follow', 'lead', '--once');
  assert.deepEqual(kinds(log), [
    ...['user', 'answer', 'end'],
    ...['user', 'answer', 'end'],
    ...['rewind', 'user', 'answer', 'end'],
  ]);
  await store.lines('rewind', 'lead', String(second['turn']));
  assert.equal(one(await store.lines('result', 'lead'), 'result')['text'], 'heard two');
  const forked = one(
    await store.lines('fork', 'lead', '--turn', String(other['turn']), '--', 'on'),
    'started',
  );
  assert.equal(one(await store.lines('wait', String(forked['turn'])), 'result')['text'], 'heard on');

  const pretty = await store.roost('turns', 'lead', '--pretty');
  assert.match(
    pretty.stdout,
    new RegExp(`turn ${other['turn']}: done \\(left by a rewind\\)\\n    you: other`),
  );
  const wrong = await store.roost('rewind', 'lead', '99');
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /That is no turn of lead that has ended\. "roost turns" lists them\./);
});

test('an agent at work is taken back only with --stop', async (t) => {
  const store = new Store(t, [{ user: 'slow', delayMs: 600_000, say: [{ text: 'never' }] }]);
  const first = one(
    await store.lines('run', '--new', '--agent', 'lead', ...store.model, '--', 'one'),
    'started',
  );
  await store.lines('send', 'lead', '--', 'slow');
  const busy = await store.roost('rewind', 'lead', String(first['turn']));
  assert.equal(busy.code, 1);
  assert.match(busy.stderr, /lead is at work\. Stop it first, or rewind with stop/);
  const stopped = one(await store.lines('rewind', 'lead', String(first['turn']), '--stop'), 'rewound');
  assert.equal(stopped['stopped'], 1);
  assert.equal(one(await store.lines('result', 'lead'), 'result')['text'], 'heard one');
});
