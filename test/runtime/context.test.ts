// Stories of contexts: what is left out of a request and when, summaries, refusals for length, reading back.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agentId } from '../../sidecar/protocol/ids.ts';
import type { EntryBody } from '../../sidecar/protocol/entry.ts';
import { limits } from '../../sidecar/runtime/limits.ts';
import { World, lastOf, type Answerer } from './world.ts';
import type { Item, ModelRequest } from './types.ts';

const kb = (count: number, letter = 'x'): string => letter.repeat(count * 1024);

const isWish = (items: readonly Item[]): boolean => {
  const last = items.at(-1);
  return last?.kind === 'user' && last.text.startsWith('[roost] This conversation is about to be replaced');
};

const itemsOf = (request: ModelRequest): Item[] => {
  const items: Item[] = [];
  const next = request.pages();
  for (let page = next(); page !== null; page = next()) items.push(...page);
  return items;
};

const textsOf = (items: readonly Item[]): string[] =>
  items.map((item) => (item.kind === 'answer' ? `answer ${item.blocks.length}` : item.text));

/** Reads as often as its task says ("read 5"), then says what it read last. */
const reader: Answerer = (items) => {
  if (isWish(items)) return 'SUMMARY of what was read';
  const from = items.findLastIndex((item) => item.kind === 'user' && item.text.startsWith('read '));
  const task = items[from];
  const wanted = task?.kind === 'user' ? Number(task.text.slice(5)) : 0;
  const summaries = items.filter((item) => item.kind === 'user' && item.text.includes('SUMMARY')).length;
  const read = items.slice(from + 1).filter((item) => item.kind === 'answer').length;
  return read + summaries * 100 < wanted ? [['read', { path: `f${read}` }]] : 'read enough';
};

const result = (text: string) => ({ kind: 'done', outcome: { status: 'ok', text } }) as const;

const bodies = (world: World, agent: number): EntryBody[] =>
  world.open.reads.entries(agent, { after: 0, limit: 500 }).entries.map((entry) => entry.body);

const contexts = (world: World, agent: number): Extract<EntryBody, { kind: 'context' }>[] =>
  bodies(world, agent).flatMap((body) => (body.kind === 'context' ? [body] : []));

test('old results are left out first, in one bite: their entries stay and the request says where they are', () => {
  const world = new World({ contextTokens: 40_000, tool: () => result(kb(10)), answer: reader });
  const { agent } = world.start('read 16');
  world.run(60_000);
  assert.deepEqual(
    contexts(world, agent).map((body) => body.how),
    ['elided'],
  );
  const texts = textsOf(itemsOf(world.requests.at(-1)!)).filter((text) => !text.startsWith('answer'));
  const elided = texts.filter((text) => /^\[elided, read with history: entry \d+, 10240 bytes\]$/.test(text));
  assert.ok(elided.length >= 7, `${elided.length} are left out`);
  assert.equal(texts.at(-1), kb(10), 'what it works on is there');
  assert.equal(texts[0], 'read 16');
  const results = bodies(world, agent).filter((body) => body.kind === 'result');
  assert.deepEqual(
    results.map((body) => body.text.length),
    new Array(16).fill(10_240),
    'nothing is gone',
  );
  assert.equal(world.transcript(agent).at(-1), 'end done');
  assert.deepEqual(world.bugs, []);
});

test('a summary is asked for over the same prefix; later requests begin with it and what was asked', () => {
  const world = new World({
    contextTokens: 40_000,
    answer: (items) => (isWish(items) ? 'SUMMARY' : `${lastOf(items).user.slice(0, 6)} ${kb(20)}`),
  });
  const { agent } = world.start('say 0');
  for (let n = 1; n <= 6; n++) {
    world.run(1_000);
    world.call('agent/send', { agent, text: `say ${n}`, delivery: 'queue', key: world.key() });
  }
  world.run(1_000);
  const at = world.requests.findIndex((request) => isWish(itemsOf(request)));
  assert.ok(at > 0);
  const [before, wish, after] = world.requests.slice(at - 1, at + 2);
  assert.ok(before !== undefined && wish !== undefined && after !== undefined);
  assert.equal(wish.system, before.system);
  assert.equal(wish.tools, before.tools, 'the very same tools');
  assert.equal(wish.cacheKey, before.cacheKey);
  const sent = itemsOf(before);
  assert.ok(
    JSON.stringify(itemsOf(wish).slice(0, sent.length)) === JSON.stringify(sent),
    'the prefix that a cache has',
  );
  const [summary, ...rest] = textsOf(itemsOf(after));
  assert.match(summary ?? '', /SUMMARY/);
  assert.deepEqual(rest, ['answer 1', 'say 6'], 'what came last is as it was');
  const body = contexts(world, agent)[0];
  assert.equal(body?.how, 'compacted');
  assert.equal(body.text, 'SUMMARY');
  assert.ok(body.bytesAfter < body.bytesBefore / 5);
  assert.equal(body.usage?.input !== undefined && body.usage.input > 10_000, true);
  assert.equal(
    world.transcript(agent).filter((line) => line.startsWith('person: ')).length,
    7,
    'all entries stay',
  );
  assert.equal(world.transcript(agent).at(-1), 'end done');
  assert.deepEqual(world.bugs, []);
});

/** An agent with a conversation of 30 KB, at rest. */
function talked(answer: Answerer = (items) => (isWish(items) ? 'SUMMARY' : kb(30))): {
  world: World;
  agent: number;
} {
  const world = new World({ contextTokens: 100_000, answer });
  const { agent } = world.start('talk');
  world.run(1_000);
  return { world, agent };
}

const compact = (world: World, agent: number, more: object = {}) =>
  world.call('agent/compact', { agent: agentId(agent), key: world.key(), ...more });

test('a person has it summarised at rest: in a turn of its own, which leaves its last answer as it was', () => {
  const { world, agent } = talked();
  const before = world.open.reads.agent(agent);
  const key = world.key();
  const asked = world.call('agent/compact', { agent: agentId(agent), focus: 'the names', key });
  assert.equal(asked.state, 'started');
  world.run(1_000);
  assert.match(textsOf(itemsOf(world.requests.at(-1)!)).at(-1) ?? '', /the names$/);
  assert.equal(world.open.reads.turn(asked.turn ?? 0)?.outcome, 'done');
  assert.match(world.open.reads.turn(asked.turn ?? 0)?.text ?? '', /30 KB of it became 1 KB/);
  const after = world.open.reads.agent(agent);
  assert.equal(after?.outcome, before?.outcome);
  assert.equal(after?.doing, before?.doing);
  assert.equal(
    world.open.reads.lastTurn(agent)?.text.length,
    30 * 1024,
    'its result is still that of its work',
  );
  assert.deepEqual(
    world.call('agent/compact', { agent: agentId(agent), key }),
    asked,
    'the same key asks once',
  );
  assert.equal(compact(world, agent).state, 'nothing');
  world.call('agent/send', { agent: agentId(agent), text: 'more', delivery: 'queue', key: world.key() });
  world.run(1_000);
  const sent = textsOf(itemsOf(world.requests.at(-1)!));
  assert.match(sent[0] ?? '', /SUMMARY/);
  assert.deepEqual(sent.slice(1), ['more']);
  assert.deepEqual(world.bugs, []);
});

test('at work it is summarised before the next request', () => {
  const world = new World({
    contextTokens: 100_000,
    tool: () => result(kb(4)),
    answer: reader,
  });
  const { agent } = world.start('read 3');
  world.run(45);
  const asked = world.requests.length;
  assert.equal(compact(world, agent).state, 'queued');
  world.run(5_000);
  const wish = itemsOf(world.requests[asked]!);
  assert.ok(isWish(wish), 'the next request is for the summary');
  const [task, summary, answer, result_] = itemsOf(world.requests[asked + 1]!);
  assert.deepEqual(textsOf([task!]), ['read 3']);
  assert.match(textsOf([summary!])[0] ?? '', /SUMMARY/);
  assert.deepEqual(
    [answer?.kind, result_?.kind],
    ['answer', 'result'],
    'what it has not read yet is as it was',
  );
  assert.equal(wish.length, 6, 'and not in what was summarised');
  assert.equal(world.transcript(agent).at(-1), 'end done');
  assert.deepEqual(world.bugs, []);
});

test('a steer waits behind the summary and is read whole; a queued message is a turn after it', () => {
  let hold = true;
  const { world, agent } = talked((items) => {
    if (isWish(items)) return hold ? 'silent' : 'SUMMARY';
    return lastOf(items).user === 'talk' ? kb(30) : 'on';
  });
  compact(world, agent);
  world.run(100);
  const steer = { agent: agentId(agent), text: 'mind the gap', delivery: 'steer', key: world.key() } as const;
  assert.equal(world.call('agent/send', steer).state, 'steered');
  assert.equal(
    world.call('agent/send', { ...steer, text: 'later', delivery: 'queue', key: world.key() }).state,
    'queued',
  );
  hold = false;
  world.crash();
  world.run(5_000);
  assert.deepEqual(
    world.transcript(agent).filter((line) => !line.startsWith('answer: xx')),
    [
      'person: talk',
      'end done',
      'context compacted: SUMMARY',
      'end done',
      'person: later',
      'answer: on',
      'end done',
      'person: mind the gap',
      'answer: on',
      'end done',
    ],
  );
  assert.deepEqual(world.bugs, []);
});

test('a crash while the summary is made: it is asked for again, and the model hears of the crash after it', () => {
  let crashed = false;
  const world = new World({
    contextTokens: 100_000,
    tool: () => result(kb(4)),
    answer: (items, request) => (isWish(items) && !crashed ? 'silent' : reader(items, request)),
  });
  const { agent } = world.start('read 3');
  world.run(45);
  compact(world, agent);
  world.run(1_000);
  assert.ok(isWish(itemsOf(world.requests.at(-1)!)));
  crashed = true;
  world.crash();
  world.run(5_000);
  const lines = world.transcript(agent).map((line) => line.slice(0, 30));
  const at = lines.indexOf('context compacted: SUMMARY of ');
  assert.ok(at > 0);
  assert.match(lines[at + 1] ?? '', /^note: \[roost\] The runtime rest/);
  assert.equal(contexts(world, agent).length, 1);
  assert.equal(world.transcript(agent).at(-1), 'end done');
  assert.deepEqual(world.bugs, []);
});

test('an interrupt gives the summary up, and what it held is free', () => {
  const { world, agent } = talked((items) => (isWish(items) ? 'silent' : kb(30)));
  world.call('budget/set', { agent: agentId(agent), budget: { tokens: 1_000_000 }, key: world.key() });
  const { turn } = compact(world, agent);
  world.run(100);
  assert.ok((world.open.reads.budget(agent)?.held.tokens ?? 0) > 0);
  world.call('agent/interrupt', { agent: agentId(agent), branch: false, key: world.key() });
  assert.equal(world.open.reads.turn(turn ?? 0)?.outcome, 'interrupted');
  assert.equal(world.open.reads.budget(agent)?.held.tokens, 0);
  assert.equal(world.open.reads.agent(agent)?.outcome, 'done', 'the work before it still stands');
  assert.deepEqual(contexts(world, agent), []);
  assert.deepEqual(world.bugs, []);
});

test('a summary that the branch cannot pay for waits for budget (I7)', () => {
  const { world, agent } = talked();
  world.call('budget/set', { agent: agentId(agent), budget: { tokens: 1 }, key: world.key() });
  const asked = world.requests.length;
  compact(world, agent);
  world.run(100);
  assert.equal(world.requests.length, asked, 'it was not made');
  assert.equal(world.open.reads.agent(agent)?.why, 'budget');
  world.call('budget/set', { agent: agentId(agent), budget: { tokens: null }, key: world.key() });
  world.run(1_000);
  assert.equal(contexts(world, agent)[0]?.text, 'SUMMARY');
  assert.deepEqual(world.bugs, []);
});

test('a child that is summarised tells its parent nothing, and a wait of the parent does not end for it', () => {
  const world = new World({
    contextTokens: 100_000,
    answer: (items) => {
      if (isWish(items)) return 'SUMMARY';
      const { user, results } = lastOf(items);
      if (user === 'lead' && results.length === 0)
        return [['spawn_agent', { tasks: [{ task: 'talk', name: 'c' }] }]];
      if (user === 'lead' && results.length === 1) return [['wait_agent', {}]];
      return user === 'talk' ? kb(30) : 'led';
    },
  });
  const { agent } = world.start('lead');
  world.run(5_000);
  const child = world.open.reads.agentByName('lead/c');
  assert.ok(child !== undefined);
  const lines = world.transcript(agent);
  compact(world, child.id);
  world.run(120_000);
  assert.equal(contexts(world, child.id).length, 1);
  assert.deepEqual(world.transcript(agent), lines);
  assert.deepEqual(world.open.reads.doctor().findings, []);
  assert.deepEqual(world.bugs, []);
});

test('no summary comes out: after a few tries the oldest part is left out without one', () => {
  // 25,000 tokens of messages, in a context of 30,000.
  const answer: Answerer = (items) => (isWish(items) ? '' : 'heard');
  const world = new World({ contextTokens: 30_000, answer });
  const { agent } = world.start(kb(30));
  world.run(1_000);
  for (const text of [kb(30), kb(15), kb(1)]) {
    world.call('agent/send', { agent: agentId(agent), text, delivery: 'queue', key: world.key() });
    world.run(5_000);
  }
  const wishes = world.requests.filter((request) => isWish(itemsOf(request))).length;
  assert.equal(wishes, limits.summaryTries);
  assert.deepEqual(
    contexts(world, agent).map(({ how }) => how),
    ['trimmed'],
  );
  assert.equal(world.transcript(agent).at(-1), 'end done');
  assert.deepEqual(world.bugs, []);
});

test('a person wishes for a summary and none comes out: where there is room nothing is left out', () => {
  const { world, agent } = talked((items) => (isWish(items) ? '' : kb(30)));
  const { turn } = compact(world, agent);
  world.run(5_000);
  const wishes = world.requests.filter((request) => isWish(itemsOf(request))).length;
  assert.equal(wishes, limits.summaryTries);
  assert.deepEqual(contexts(world, agent), []);
  const ended = world.open.reads.turn(turn ?? 0);
  assert.equal(ended?.outcome, 'done');
  assert.match(ended?.text ?? '', /No summary could be made.*left as it is/);
  assert.deepEqual(world.bugs, []);
});

test('another profile has other instructions and tools: what was counted under the last one is not relied on', () => {
  const world = new World({ contextTokens: 100_000, answer: () => 'heard' });
  const { agent } = world.start(kb(30));
  world.run(1_000);
  const counted = (): number => world.open.store.get('agent', agent)?.seenTokens ?? 0;
  assert.ok(counted() > 0);
  const configure = (profile: string) =>
    world.call('agent/configure', { agent: agentId(agent), profile, key: world.key() });
  configure('implementer');
  assert.ok(counted() > 0, 'it is the profile that it has');
  configure('explorer');
  assert.equal(counted(), 0);
});

const tooLong = { kind: 'rejected', code: 'contextTooLong', message: 'prompt is too long' } as const;

test('a refusal for length is answered by making room, with and without a number (413, prompt too long)', () => {
  for (const limitTokens of [undefined, 12_000]) {
    const world = new World({
      contextTokens: 200_000,
      tool: () => result(kb(10)),
      answer: (items, request) => {
        const chars = itemsOf(request).reduce(
          (sum, item) => sum + (item.kind === 'answer' ? 50 : item.text.length),
          0,
        );
        if (chars > 48_000) return limitTokens === undefined ? tooLong : { ...tooLong, limitTokens };
        return reader(items, request);
      },
    });
    const { agent } = world.start('read 12');
    world.run(60_000);
    assert.equal(world.transcript(agent).at(-1), 'end done', `limit ${limitTokens}`);
    assert.ok(contexts(world, agent).length > 0);
    assert.deepEqual(world.bugs, []);
  }
});

test('what never fits ends the turn after a few tries, and says what to do', () => {
  const world = new World({ answer: () => tooLong });
  const { agent } = world.start(kb(40));
  world.run(60_000);
  assert.match(world.transcript(agent).at(-1) ?? '', /^end failed: .*(?:larger context)/);
  assert.ok(world.requests.length <= limits.overflows);
  assert.deepEqual(world.bugs, []);
});

test('a message longer than the context is cut in requests, and whole in the transcript (cases 127, 185)', () => {
  const world = new World({ contextTokens: 40_000, answer: () => 'seen' });
  const { agent, turn } = world.start(`begin ${kb(900)} end`);
  world.run(5_000);
  const [sent] = textsOf(itemsOf(world.requests.at(-1)!));
  assert.match(sent ?? '', /^begin x+\n\[elided, read with history: entry \d+, \d+ bytes\]\nx+ end$/);
  assert.ok((sent?.length ?? 0) > 40_000, 'no more is left out than has to be');
  assert.equal(world.transcript(agent)[0]?.length, 'person: begin  end'.length + 900 * 1024);
  assert.equal(world.open.reads.turn(turn)?.outcome, 'done');
  assert.deepEqual(world.bugs, []);
});

test('results of one round that are too much together are cut alike, those of old rounds first', () => {
  const world = new World({
    contextTokens: 40_000,
    tool: () => result(kb(30)),
    answer: (items) =>
      lastOf(items).results.length === 0
        ? Array.from({ length: 12 }, (_, index) => ['read', { path: `f${index}` }] as const)
        : 'read all',
  });
  const { turn } = world.start('look');
  world.run(5_000);
  const results = itemsOf(world.requests.at(-1)!).flatMap((item) =>
    item.kind === 'result' ? [item.text] : [],
  );
  assert.equal(results.length, 12);
  for (const text of results) {
    assert.match(text, /^x+\n\[elided, read with history: entry \d+, \d+ bytes\]\nx+$/);
    assert.ok(text.length > 2_000);
  }
  assert.equal(world.open.reads.turn(turn)?.outcome, 'done');
  assert.deepEqual(world.bugs, []);
});

test('reasoning that its provider does not take back is left out, once; a second refusal ends the turn', () => {
  for (const mends of [true, false]) {
    const thought = { kind: 'thinking', text: 'hm', provider: 'scripted', signature: 's' } as const;
    const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 };
    const world = new World({
      answer: (items) => {
        const sent = items.some(
          (item) => item.kind === 'answer' && item.blocks.some((b) => b.kind === 'thinking'),
        );
        const answers = items.filter((item) => item.kind === 'answer').length;
        if (answers === 0) {
          const call = { kind: 'call', key: 'k', tool: 'read', input: '{"path":"a"}' } as const;
          return { kind: 'answer', blocks: [thought, call], stop: 'calls', usage };
        }
        return sent || !mends
          ? { kind: 'rejected', code: 'staleReasoning', message: 'Invalid signature.' }
          : 'fine';
      },
    });
    const { agent } = world.start('think');
    world.run(5_000);
    assert.equal(
      world
        .transcript(agent)
        .at(-1)
        ?.startsWith(mends ? 'end done' : 'end failed'),
      true,
    );
    assert.deepEqual(
      contexts(world, agent).map((body) => body.how),
      ['plain'],
    );
    assert.deepEqual(world.bugs, []);
  }
});

test('history reads back what is left out: lists, finds, pieces, the whole of an output; nothing of others', () => {
  const asked: string[] = [];
  let want: object = {};
  const world = new World({
    contextTokens: 200_000,
    tool: () => ({
      kind: 'done',
      outcome: { status: 'ok', text: 'head … tail', whole: Buffer.from(`head ${kb(20, 'm')} tail`) },
    }),
    answer: (items) => {
      if (isWish(items)) return 'SUMMARY';
      const { user, results } = lastOf(items);
      if (user === 'look')
        return results.length === 0 ? [['shell', { command: 'make' }]] : `looked ${kb(3, 'y')}`;
      if (results.length === 0) return [['history', want]];
      asked.push(results[0] ?? '');
      return 'read back';
    },
  });
  const other = world.start('another one').agent;
  const { agent } = world.start('look');
  world.run(5_000);
  compact(world, agent);
  world.run(5_000);
  const entries = world.open.reads.entries(agent, { after: 0, limit: 50 }).entries;
  const output = entries.find((entry) => entry.body.kind === 'result');
  assert.ok(output !== undefined);
  const ask = (input: object): string => {
    want = input;
    world.call('agent/send', { agent: agentId(agent), text: 'back', delivery: 'queue', key: world.key() });
    world.run(1_000);
    return asked.at(-1) ?? '';
  };
  assert.match(
    ask({}),
    new RegExp(`^${entries[0]?.id} a message of the person, .*: look\\n[^]*result of shell, ok`),
  );
  assert.match(ask({ find: 'LOOKED' }), /^\d+ your answer, \d+ bytes: looked y+…$/);
  assert.match(ask({ entry: output.id }), /result of shell, ok:\nhead … tail\n\[.*with "whole"/);
  assert.match(ask({ entry: output.id, whole: true }), /head m+\n\[go on with offset 12000 of 20490\]$/);
  assert.match(ask({ entry: output.id, whole: true, offset: 12_000 }), /m+ tail$/);
  const strange = world.open.reads.entries(other, { after: 0, limit: 1 }).entries[0]?.id;
  assert.match(ask({ entry: strange }), /has no entry/);
  assert.match(ask({ entry: -1 }), /whole number/);
  assert.deepEqual(world.bugs, []);
});

test('a fork before a summary has the whole conversation, one after it begins with the summary', () => {
  const { world, agent } = talked();
  const first = world.open.reads.lastTurn(agent)?.turn;
  assert.ok(first !== undefined);
  compact(world, agent);
  world.run(1_000);
  const fork = (turn: typeof first | null): string[] => {
    world.call('agent/fork', { agent: agentId(agent), turn, text: 'go on', key: world.key() });
    world.run(1_000);
    return textsOf(itemsOf(world.requests.at(-1)!));
  };
  assert.deepEqual(fork(first), ['talk', 'answer 1', 'go on']);
  const after = fork(null);
  assert.match(after[0] ?? '', /SUMMARY/);
  assert.deepEqual(after.slice(1), ['go on']);
  assert.deepEqual(world.bugs, []);
});
