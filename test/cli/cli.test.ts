// `roost` from end to end: the real command, the real sidecar, a scripted model.

import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

import { connect } from '../../sidecar/cli/connect.ts';
import { Failure } from '../../sidecar/cli/failure.ts';
import { takeOwnership } from '../../sidecar/store/owner.ts';
import { until } from '../rpc/rig.ts';
import { kinds, one, Store } from './roost.ts';

const slow = {
  user: 'slow',
  say: [{ text: 'slowly said, word by word by word' }],
  chunkChars: 2,
  betweenMs: 60,
};

test('run starts an agent and prints its turn; run again sends it a message', async (t) => {
  const store = new Store(t);
  const first = await store.lines('run', '--new', '--agent', 'lead', ...store.model, '--', 'hello there');
  assert.deepEqual(
    first.map((line) => line.type),
    ['started', 'entry', 'entry', 'entry', 'result'],
  );
  assert.deepEqual(kinds(first), ['user', 'answer', 'end']);
  const result = one(first, 'result');
  assert.deepEqual(
    [result['outcome'], result['text'], result['name']],
    ['done', 'heard hello there', 'lead'],
  );
  const again = await store.lines('run', '--agent', 'lead', '--', 'and more');
  assert.deepEqual(kinds(again), ['user', 'answer', 'end']);
  assert.notEqual(one(again, 'started')['turn'], one(first, 'started')['turn']);
  const taken = await store.roost('run', '--new', '--agent', 'lead', ...store.model, '--', 'x');
  assert.equal(taken.code, 1);
  assert.match(taken.stderr, /lead/);
});

test('the same key asked twice is done once', async (t) => {
  const store = new Store(t);
  const run = (): Promise<readonly { type: string }[]> =>
    store.lines('run', '--new', '--agent', 'lead', '--key', 'k1', ...store.model, '--', 'once');
  const [first, second] = [await run(), await run()];
  assert.deepEqual(first, second);
  assert.equal((await store.lines('ls')).length, 1);
});

test('a turn that fails is exit code 1, and says why', async (t) => {
  const store = new Store(t, [
    { user: 'break', fail: { kind: 'rejected', code: 'badRequest', message: 'the model said no' } },
  ]);
  const failed = await store.roost('run', '--new', ...store.model, '--', 'break');
  assert.equal(failed.code, 1);
  assert.equal(one(failed.lines, 'result')['outcome'], 'failed');
  assert.match(failed.stdout, /the model said no/);
});

test('fork, budget, queue, close, retry', async (t) => {
  const store = new Store(t, [slow]);
  const first = await store.lines('run', '--new', '--agent', 'lead', ...store.model, '--', 'hello');
  const turn = String(one(first, 'started')['turn']);
  const forked = one(
    await store.lines('fork', 'lead', '--turn', turn, '--agent', 'side', '--', 'hi'),
    'started',
  );
  assert.equal(forked['name'], 'side');
  assert.equal(one(await store.lines('wait', String(forked['turn'])), 'result')['text'], 'heard hi');
  assert.deepEqual(one(await store.lines('budget', 'side', '--budget', 'agents=3'), 'budget')['limits'], {
    microUsd: null,
    tokens: null,
    agents: 3,
    depth: null,
    wallMs: null,
  });
  assert.deepEqual(await store.lines('queue', 'side'), []);
  assert.equal(one(await store.lines('close', 'side'), 'closed')['stopped'], 0);
  const refused = await store.roost('send', 'side', '--', 'more');
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /side is closed/);
  const again = await store.roost('retry', 'lead');
  assert.match(again.stderr, /no turn that ended badly/);
});

test('ls, result, wait, send, interrupt', async (t) => {
  const store = new Store(t, [slow]);
  await store.lines('run', '--new', '--agent', 'lead', ...store.model, '--', 'hello');
  const kid = await store.lines(
    'run',
    '--new',
    '--agent',
    'kid',
    '--parent',
    'lead',
    ...store.model,
    '--',
    'hi',
  );
  assert.deepEqual(
    (await store.lines('ls')).map((row) => row['name']),
    ['lead'],
  );
  assert.deepEqual(
    (await store.lines('ls', '--all')).map((row) => row['name']),
    ['lead', 'kid'],
  );
  assert.equal(one(await store.lines('result', 'lead/kid'), 'result')['text'], 'heard hi');
  assert.equal(
    one(await store.lines('result', String(one(kid, 'started')['turn'])), 'result')['name'],
    'kid',
  );

  const sent = one(await store.lines('send', 'lead', '--', 'slow'), 'started');
  const early = await store.roost('wait', 'lead', 'lead/kid', '--timeout', '0');
  assert.equal(early.code, 1);
  assert.deepEqual(one(early.lines, 'open')['turns'], [sent['turn']]);
  const any = await store.lines('wait', 'lead', 'lead/kid', '--any');
  assert.equal(one(any, 'result')['name'], 'kid');
  const waiting = store.start(['wait', String(sent['turn'])]);
  assert.equal(one(await store.lines('interrupt', 'lead'), 'interrupted')['stopped'], 1);
  const ended = await waiting.ended;
  assert.equal(ended.code, 1);
  assert.equal(one(ended.lines, 'result')['outcome'], 'interrupted');
});

test('review lists changes, shows hunks, and a verdict is on the disk afterwards', async (t) => {
  const store = new Store(t, [
    { task: 'edit', tool: 'write', say: [{ text: 'written' }] },
    { task: 'edit', say: [{ call: 'write', input: { path: 'a.txt', text: 'agent\n' } }] },
  ]);
  const file = path.join(store.workspace, 'a.txt');
  fs.writeFileSync(file, 'person\n');
  await store.lines('run', '--new', '--agent', 'lead', '--mode', 'edits', ...store.model, '--', 'edit');
  assert.equal(fs.readFileSync(file, 'utf8'), 'agent\n');
  const listed = one(await store.lines('review', 'lead'), 'change');
  assert.deepEqual([listed['label'], listed['state']], ['a.txt', 'open']);
  const shown = one(await store.lines('review', 'show', String(listed['id'])), 'change');
  assert.equal((shown['hunks'] as unknown[]).length, 1);
  const verdict = one(await store.lines('review', 'reject', String(listed['id'])), 'verdict');
  assert.equal(verdict['state'], 'applied');
  assert.equal(fs.readFileSync(file, 'utf8'), 'person\n');
  assert.deepEqual(await store.lines('review'), []);
});

test('wrong usage and unknown things are exit code 2, one line on standard error', async (t) => {
  const store = new Store(t);
  const cases: [args: string[], says: RegExp][] = [
    [['dance'], /^roost: There is no command "dance"/],
    [['send', 'nobody', '--', 'x'], /^roost: There is no agent nobody\. "roost ls --all"/],
    [['result', '99'], /^roost: There is no turn 99/],
    [['interrupt', '99'], /^roost: There is no agent 99/],
    [['answer', '99', 'allow'], /^roost: .*99/],
    [['review', 'show', '99'], /^roost: There is no change 99/],
    [['run', '--new', '--', ''], /^roost: roost run needs a text/],
  ];
  for (const [args, says] of cases) {
    const { code, stdout, stderr } = await store.roost(...args);
    assert.equal(code, 2, stderr);
    assert.match(stderr, says);
    assert.equal(stderr.trim().split('\n').length, 1);
    assert.equal(stdout, '');
  }
  const json = await store.roost('result', '99', '--json-errors');
  assert.equal((JSON.parse(json.stderr) as { error: { code: string } }).error.code, 'turn/unknown');
});

test('no key, no folder, no model: an error at once, and no agent is made', async (t) => {
  const store = new Store(t);
  const cases: [args: string[], says: RegExp][] = [
    [['--model', 'anthropic/claude', '--workspace', store.workspace], /key/i],
    [['--model', 'nobody/x', '--workspace', store.workspace], /nobody/],
    [['--workspace', path.join(store.workspace, 'missing'), ...store.model.slice(0, 4)], /missing/],
  ];
  for (const [args, says] of cases) {
    const { code, stderr } = await store.roost('run', '--new', ...args, '--', 'x');
    assert.notEqual(code, 0);
    assert.match(stderr, says);
  }
  assert.deepEqual(await store.lines('ls'), []);
});

test('a store that cannot be written is said with its path (exit code 1)', async (t) => {
  const store = new Store(t);
  fs.writeFileSync(path.join(store.workspace, 'file'), '');
  const { code, stderr } = await store.roost('ls', '--store', path.join(store.workspace, 'file'));
  assert.equal(code, 1);
  assert.match(stderr, /workspace\/file cannot be written .*ROOST_STORE or --store/);
});

test('a store that is held by somebody who answers nobody is exit code 75', async (t) => {
  const store = new Store(t);
  const held = takeOwnership(store.directory);
  t.after(() => held?.release());
  const wanted = { store: store.directory, start: true, secrets: false, call: null, losses: 1 };
  const failure = await connect(wanted).catch((error: unknown) => error);
  assert.ok(failure instanceof Failure);
  assert.equal(failure.exitCode, 75);
  assert.match(failure.message, /is run by another process/);
});

test('commands that come at the same moment start one sidecar', async (t) => {
  const store = new Store(t);
  const all = await Promise.all(Array.from({ length: 4 }, () => store.roost('info')));
  assert.deepEqual(
    all.map(({ code }) => code),
    [0, 0, 0, 0],
  );
  assert.equal(new Set(all.map(({ lines }) => one(lines, 'info')['pid'])).size, 1);
});

test('looking starts nothing: doctor and shutdown without a sidecar', async (t) => {
  const store = new Store(t);
  const doctor = await store.lines('doctor');
  assert.match(String(doctor.at(-1)?.['message']), /none runs/);
  assert.equal(fs.existsSync(store.directory), false);
  const { code, stderr } = await store.roost('shutdown');
  assert.equal(code, 1);
  assert.match(stderr, /No sidecar runs/);
  await store.lines('ls');
  const checks = await store.lines('doctor');
  assert.ok(
    checks.every((check) => check['ok'] === true),
    JSON.stringify(checks),
  );
  const { pid } = one(await store.lines('shutdown'), 'shutdown');
  assert.equal(typeof pid, 'number');
});

test('a reader that has seen enough ends the command quietly', async (t) => {
  const store = new Store(t);
  await store.lines('run', '--new', '--agent', 'lead', ...store.model, '--', 'hello');
  const follow = store.start(['follow', '--all']);
  await until('it prints', () => 0 < follow.lines().length);
  follow.child.stdout?.destroy();
  await store.lines('run', '--agent', 'lead', '--', 'more');
  const { code, stderr } = await follow.ended;
  assert.deepEqual([code, stderr], [0, '']);
});

test('what was spent, by day and by request; prices and models of profiles last', async (t) => {
  const store = new Store(t);
  await store.lines('run', '--new', '--agent', 'lead', ...store.model, '--', 'hello');
  const model = 'play/x';
  const set = await store.lines('models', 'price', model, '--input', '1000', '--output', '0');
  const price = { input: 1_000_000_000, output: 0, cacheRead: 1_000_000_000, cacheWrite: 1_000_000_000 };
  assert.deepEqual(one(set, 'price')['price'], price);
  await store.lines('run', '--agent', 'lead', '--', 'again');
  const cost = await store.lines('cost', 'lead');
  const day = one(cost, 'dayCost');
  assert.equal(day['requests'], 2);
  assert.equal(day['model'], model);
  assert.ok(Number(day['microUsd']) > 0, 'the second request has the person’s price');
  const own = one(cost, 'agentCost')['own'] as { microUsd: number };
  assert.equal(own.microUsd, day['microUsd']);
  const ledger = (await store.lines('cost', '--ledger')).map((line) => line['microUsd']);
  assert.deepEqual(ledger, [0, day['microUsd']]);
  assert.match((await store.roost('cost', '--pretty')).stdout, /2 requests/);
  await store.lines('models', 'role', 'explorer', model);
  await store.lines('shutdown');
  const listed = await store.lines('models');
  assert.deepEqual(
    listed.filter((line) => line.type === 'role').map((line) => [line['profile'], line['model']]),
    [['explorer', model]],
  );
  assert.equal((await store.roost('models', 'role', 'explorer', 'nobody/x')).code, 2);
});
