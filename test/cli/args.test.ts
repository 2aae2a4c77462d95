// The command line as it is understood.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { parseLine } from '../../sidecar/cli/args.ts';
import { Failure } from '../../sidecar/cli/failure.ts';
import { environmentForSidecar, hasSecrets, secretOf } from '../../sidecar/cli/secrets.ts';
import { parseBudget, parseProvider } from '../../sidecar/cli/values.ts';
import { prettyLine } from '../../sidecar/cli/pretty.ts';
import type { PrintedLine } from '../../sidecar/cli/lines.ts';

const command = (text: string): unknown => parseLine(text.split(' ')).command;

function refuses(text: string, says: RegExp): void {
  assert.throws(
    () => parseLine(text.split(' ')),
    (error: unknown) => error instanceof Failure && error.exitCode === 2 && says.test(error.message),
    text,
  );
}

test('prices, models of profiles and costs', () => {
  const price = (text: string): unknown => command(`models price ${text}`);
  assert.deepEqual(price('a/b/c --input 3 --output 15.5'), {
    kind: 'price',
    model: 'a/b/c',
    price: { input: 3_000_000, output: 15_500_000 },
  });
  assert.deepEqual(price('a/b --input 0 --output 0 --cache-read 0.1'), {
    kind: 'price',
    model: 'a/b',
    price: { input: 0, output: 0, cacheRead: 100_000 },
  });
  assert.deepEqual(price('a/b --clear'), { kind: 'price', model: 'a/b', price: null });
  assert.deepEqual(command('models role explorer a/b'), { kind: 'role', profile: 'explorer', model: 'a/b' });
  assert.deepEqual(command('models role explorer --clear'), {
    kind: 'role',
    profile: 'explorer',
    model: null,
  });
  assert.deepEqual(command('cost lead --days 7'), { kind: 'cost', agent: 'lead', days: 7, ledger: false });
  refuses('models price a/b --input 3', /--output/);
  refuses('models price a/b --input -3 --output 1', /--input/);
  refuses('models price a/b --input 3 --output 1 --clear', /not both/);
  refuses('models price b --input 3 --output 1', /PROVIDER\/MODEL/);
  refuses('models prise a/b', /price and role/);
  refuses('models role explorer', /needs a model/);
});

test('run takes its options and everything behind -- as text', () => {
  assert.deepEqual(
    command(
      'run --new --agent lead --model a/b --isolation readonly --mode edits --budget usd=0.5,agents=3 --detach -- fix --it now',
    ),
    {
      kind: 'run',
      fresh: true,
      agent: 'lead',
      model: 'a/b',
      workspace: null,
      profile: null,
      isolation: 'readonly',
      mode: 'edits',
      budget: { microUsd: 500_000, agents: 3 },
      parent: null,
      delivery: 'queue',
      detach: true,
      schema: null,
      text: 'fix --it now',
    },
  );
});

test('answers: numbers in front name requests, the rest is the answer', () => {
  assert.deepEqual(command('answer 3 4 allow'), { kind: 'answer', requests: [3, 4], words: ['allow'] });
  assert.deepEqual(command('answer allow'), { kind: 'answer', requests: [], words: ['allow'] });
  assert.deepEqual(command('answer 3 deny not now'), {
    kind: 'answer',
    requests: [3],
    words: ['deny', 'not', 'now'],
  });
  assert.deepEqual(command('answer 3 4'), { kind: 'answer', requests: [3], words: ['4'] });
  assert.deepEqual(command('answer --list'), { kind: 'requests' });
});

test('review, follow, wait', () => {
  assert.deepEqual(command('review accept 7 h1 h2'), {
    kind: 'verdict',
    merged: false,
    verdict: 'accept',
    change: 7,
    hunks: ['h1', 'h2'],
  });
  assert.deepEqual(command('review show 7'), { kind: 'change', change: 7 });
  assert.deepEqual(command('review lead'), { kind: 'review', agent: 'lead' });
  assert.deepEqual(command('follow --all --after 12 --once'), {
    kind: 'follow',
    agent: null,
    after: 12,
    until: 'stored',
  });
  assert.deepEqual(command('wait 1 lead --any --timeout 1.5'), {
    kind: 'wait',
    targets: ['1', 'lead'],
    any: true,
    timeoutMs: 1_500,
  });
});

test('what is not understood is named, with exit code 2', () => {
  refuses('dance', /no command "dance"/);
  refuses('ls --colour', /Unknown option '--colour'/);
  refuses('ls --detach', /"roost ls" has no option --detach/);
  refuses('run -- text', /--agent NAME, or start a new one with --new/);
  refuses('run --new', /needs a text/);
  refuses('run --new --mode root -- x', /"root" is none of ask, edits, auto/);
  refuses('run --new --steer --queue -- x', /Choose one/);
  refuses('follow lead --all', /not both/);
  refuses('follow --after soon', /"soon" is not a number/);
  refuses('wait 1 --timeout never', /needs seconds/);
  refuses('review accept many', /"many" is not a number/);
  refuses('send lead', /needs a text/);
});

test('providers and budgets', () => {
  assert.deepEqual(parseProvider('local=chat,http://127.0.0.1:1/v1,keyless'), {
    name: 'local',
    dialect: 'chat',
    baseUrl: 'http://127.0.0.1:1/v1',
    keyless: true,
  });
  assert.deepEqual(parseProvider('f=anthropic,https://x,ca=/tmp/ca.pem').caFile, '/tmp/ca.pem');
  assert.deepEqual(parseProvider('f=chat,http://x,context=131072').contextTokens, 131_072);
  assert.throws(() => parseProvider('f=chat,http://x,context=much'), /"context=much" is not known/);
  assert.throws(() => parseProvider('nothing'), /must look like NAME=DIALECT,URL/);
  assert.throws(() => parseProvider('a=french,http://x'), /"french" is none of/);
  assert.throws(() => parseProvider('a=chat,http://x,fast'), /"fast" is not known/);
  assert.deepEqual(parseBudget('usd=0,minutes=1.5,tokens=7,depth=2'), {
    microUsd: 0,
    wallMs: 90_000,
    tokens: 7,
    depth: 2,
  });
  assert.throws(() => parseBudget('usd=-1'), /not negative/);
  assert.throws(() => parseBudget('pence=1'), /known are usd/);
});

test('keys come from the environment with their base URL, and a sidecar is started without them (case 54)', () => {
  const env = {
    PATH: '/bin',
    ANTHROPIC_API_KEY: 'k',
    ANTHROPIC_BASE_URL: 'https://x',
    MY_LLM_API_KEY: 'm',
    OPENAI_API_KEY: '',
    NODE_OPTIONS: '--inspect',
    VSCODE_PID: '1',
    ROOST_CALL: '5',
    ROOST_STORE: '/s',
  };
  assert.deepEqual(secretOf(env, 'anthropic'), { key: 'k', baseUrl: 'https://x' });
  assert.deepEqual(secretOf(env, 'my-llm'), { key: 'm' });
  assert.deepEqual(secretOf(env, 'openai'), { key: null });
  assert.equal(hasSecrets(env), true);
  assert.equal(hasSecrets({ OPENAI_API_KEY: '' }), false);
  const started = environmentForSidecar(env);
  const names = Object.keys(started).filter((name) => !name.startsWith('MALLOC_'));
  assert.deepEqual(names.sort(), ['ANTHROPIC_BASE_URL', 'PATH', 'ROOST_STORE']);
});

test('text for people holds no control characters of others', () => {
  const line = {
    type: 'entry',
    id: 1,
    agent: 2,
    turn: 3,
    atMs: 0,
    body: { kind: 'note', text: '\u001b[31mred\u0007\nnext\ttab\u009b' },
  };
  assert.equal(prettyLine(line as unknown as PrintedLine), '[2] note: [31mred\nnext\ttab\n');
});

test('fork, close, retry, compact, budget, queue', () => {
  const command = (...args: string[]): unknown => parseLine(args).command;
  assert.deepEqual(command('fork', 'lead', '--turn', '3', '--', 'go', 'on'), {
    kind: 'fork',
    agent: 'lead',
    turn: 3,
    name: null,
    schema: null,
    text: 'go on',
  });
  assert.deepEqual(command('close', 'lead'), { kind: 'close', agent: 'lead' });
  assert.deepEqual(command('retry', 'lead'), { kind: 'retry', agent: 'lead' });
  assert.deepEqual(command('compact', 'lead', '--detach', '--', 'the', 'names'), {
    kind: 'compact',
    agent: 'lead',
    focus: 'the names',
    detach: true,
  });
  assert.deepEqual(command('budget', 'lead'), { kind: 'budget', agent: 'lead', budget: null });
  assert.deepEqual(command('budget', 'lead', '--budget', 'usd=1'), {
    kind: 'budget',
    agent: 'lead',
    budget: { microUsd: 1_000_000 },
  });
  assert.deepEqual(command('queue', 'lead', '--remove', '4'), { kind: 'queue', agent: 'lead', remove: 4 });
  assert.throws(() => command('fork', 'lead'), /needs a text/);
});
