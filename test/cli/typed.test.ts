// Typed results through the real command and the real sidecar: a schema in a file, a result that is mended, and the
// bare value that a script reads.

import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

import { one, Store } from './roost.ts';

const schema = {
  type: 'object',
  properties: { count: { type: 'integer' } },
  required: ['count'],
  additionalProperties: false,
};

const submit = (result: unknown): unknown => [{ call: 'submit_result', input: { result } }];

/** A task that says "wrong" never hands in what fits; one that says "once" mends it; any other says words. */
const rules = [
  { user: 'wrong', say: submit({ count: 'many' }) },
  { user: 'once', result: 'does not fit', say: submit({ count: 2 }) },
  { user: 'once', tool: 'submit_result', say: [{ text: 'handed in' }] },
  { user: 'once', say: submit({ count: 'two' }) },
];

function file(store: Store, name: string, content: unknown): string {
  const at = path.join(store.workspace, name);
  fs.writeFileSync(at, typeof content === 'string' ? content : JSON.stringify(content));
  return at;
}

test('run with a schema ends with a result that fits, and result prints it alone', async (t) => {
  const store = new Store(t, rules);
  const at = file(store, 'schema.json', schema);
  const run = await store.lines(
    'run',
    '--new',
    '--agent',
    'lead',
    '--schema',
    at,
    ...store.model,
    '--',
    'once',
  );
  const result = one(run, 'result');
  assert.deepEqual(
    [result['outcome'], result['result'], result['text']],
    ['done', { count: 2 }, 'handed in'],
  );
  const value = await store.roost('result', 'lead', '--value');
  assert.deepEqual([value.code, value.stdout], [0, '{"count":2}\n']);
  const whole = one(await store.lines('result', String(result['turn'])), 'result');
  assert.deepEqual([whole['result'], whole['revision'], whole['superseded']], [{ count: 2 }, 1, false]);

  // A message without a schema hands in nothing, and one that never fits is a failure that says so.
  await store.lines('run', '--agent', 'lead', '--', 'hello');
  const none = await store.roost('result', 'lead', '--value');
  assert.deepEqual([none.code, none.stdout], [2, '']);
  assert.match(none.stderr, /has handed in no result/);
  const failed = await store.roost('run', '--agent', 'lead', '--schema', at, '--', 'wrong');
  assert.equal(failed.code, 1);
  assert.match(
    String(one(failed.lines, 'result')['text']),
    /^No result that fits its schema came in 5 tries/,
  );
  const forked = one(await store.lines('fork', 'lead', '--schema', at, '--', 'once'), 'started');
  const waited = one(await store.lines('wait', String(forked['turn'])), 'result');
  assert.deepEqual(waited['result'], { count: 2 });
});

test('a schema that is no file, no JSON, or not carried out is exit code 2, and no agent is made', async (t) => {
  const store = new Store(t, rules);
  const cases: [schema: string, says: RegExp][] = [
    [path.join(store.workspace, 'missing.json'), /--schema .*missing\.json: ENOENT/],
    [file(store, 'torn.json', '{"type":'), /--schema .*torn\.json: .*JSON/],
    [file(store, 'list.json', '[]'), /a JSON Schema is an object/],
    [
      file(store, 'pattern.json', { type: 'object', properties: { a: { pattern: '^(a+)+$' } } }),
      /#\/properties\/a has "pattern": regular expressions are not run/,
    ],
  ];
  for (const [at, says] of cases) {
    const { code, stderr } = await store.roost('run', '--new', '--schema', at, ...store.model, '--', 'once');
    assert.equal(code, 2, stderr);
    assert.match(stderr, says);
  }
  assert.deepEqual(await store.lines('ls'), []);
});
