// Stories of typed results: taken when they fit, mended when not, asked for when they are missing, superseded when the
// task changed meanwhile, and told to whoever asked.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../sidecar/protocol/json.ts';
import type { Item } from '../../sidecar/ports.ts';
import { limits } from '../../sidecar/runtime/limits.ts';
import { World, lastOf, type Say } from './world.ts';

const schema: JsonObject = {
  type: 'object',
  properties: { count: { type: 'integer' }, of: { type: 'string' } },
  required: ['count'],
};

const submit = (result: unknown): Say => [['submit_result', { result }]];

/** Answers that the model gives one after another, the last one for ever. */
function saying(...answers: readonly Say[]): World {
  let at = 0;
  return new World({ answer: () => answers[Math.min(at++, answers.length - 1)] ?? 'done' });
}

const lastTurn = (world: World, agent: number) =>
  world.open.reads.lastTurn(agent) ?? assert.fail('it had a turn');
const lines = (world: World, agent: number, start: string): string[] =>
  world.transcript(agent).filter((line) => line.startsWith(start));

test('the model reads the schema behind its task, and what fits is the result of the turn', () => {
  const world = saying(submit({ count: 3 }), 'handed in');
  const { agent, turn } = world.start('count', { schema });
  world.run(1_000);
  const first = world.requests[0]?.pages()()?.[0] ?? assert.fail('it is asked');
  assert.match(
    first.kind === 'user' ? first.text : '',
    /^count\n\n\[roost\] When you are done, .*JSON Schema:\n\{"type":"object"/,
  );
  const found = world.open.reads.turn(turn);
  assert.deepEqual(found?.result, { count: 3 });
  assert.deepEqual(
    [found?.outcome, found?.resultBytes, found?.revision, found?.superseded],
    ['done', 11, 1, false],
  );
  // What a person sees is the task as it was given.
  assert.equal(world.transcript(agent)[0], 'person: count');
  assert.deepEqual(world.bugs, []);
});

test('what does not fit is an error that says why, and the mended one is taken', () => {
  const world = saying(submit({ count: 'three' }), submit({}), submit({ count: 3 }), 'handed in');
  const { agent } = world.start('count', { schema });
  world.run(1_000);
  const results = lines(world, agent, 'result');
  assert.match(
    results[0] ?? '',
    /^result error: The result does not fit.*\n- result\.count: .*\n.*Tries left: 4\.$/s,
  );
  assert.match(results[1] ?? '', /"count".*Tries left: 3\.$/s);
  assert.match(results[2] ?? '', /^result ok: Recorded/);
  assert.deepEqual(lastTurn(world, agent).result, { count: 3 });
  assert.deepEqual(world.bugs, []);
});

test('a wrong one after a right one leaves the right one', () => {
  const world = saying(submit({ count: 3 }), submit({ count: null }), 'handed in');
  const { agent } = world.start('count', { schema });
  world.run(1_000);
  assert.match(lines(world, agent, 'result')[1] ?? '', /The one that you handed in before stays\.$/);
  assert.deepEqual(lastTurn(world, agent).result, { count: 3 });
});

test('repair is bounded: after the last try the turn has failed and says so', () => {
  const world = saying(submit({ count: 'no' }));
  const { agent } = world.start('count', { schema });
  world.run(60_000);
  const found = lastTurn(world, agent);
  assert.equal(found.outcome, 'failed');
  assert.match(found.text, /^No result that fits its schema came in 5 tries;/);
  assert.equal(found.result, null);
  assert.equal(lines(world, agent, 'result').length, limits.resultTries);
  assert.equal(world.requests.length, limits.resultTries);
  assert.deepEqual(world.bugs, []);
});

test('who ends without a result is asked again a bounded number of times', () => {
  const world = saying('I am done');
  const { agent } = world.start('count', { schema });
  world.run(60_000);
  assert.equal(lastTurn(world, agent).outcome, 'failed');
  assert.equal(lines(world, agent, 'note: [roost] You have not handed in').length, limits.resultTries);
  assert.equal(world.requests.length, limits.resultTries);
  const mending = saying('I am done', submit({ count: 1 }), 'now I am');
  const other = mending.start('count', { schema });
  mending.run(60_000);
  assert.deepEqual(lastTurn(mending, other.agent).result, { count: 1 });
  assert.deepEqual([...world.bugs, ...mending.bugs], []);
});

test('without a schema a turn may hand in anything, or nothing', () => {
  const world = saying(submit({ any: ['thing'] }), 'done', 'nothing');
  const { agent } = world.start('free');
  world.run(1_000);
  assert.deepEqual(lastTurn(world, agent).result, { any: ['thing'] });
  world.call('agent/send', { agent, text: 'again', delivery: 'queue', key: world.key() });
  world.run(1_000);
  assert.deepEqual([lastTurn(world, agent).outcome, lastTurn(world, agent).result], ['done', null]);
});

test('a result that is too long is refused with the way out', () => {
  const world = saying(submit({ text: 'x'.repeat(limits.resultJsonBytes) }), 'done');
  const { agent } = world.start('long');
  world.run(1_000);
  assert.match(
    lines(world, agent, 'result')[0] ?? '',
    /at most 24576 are taken\. Write the long parts to a file/,
  );
});

test('a steer that is read after the result supersedes it: the turn hands in one that answers both', () => {
  const world: World = new World({
    answer: (items): Say => {
      const { user, results } = lastOf(items);
      if (user.startsWith('count'))
        return results.length === 0 ? submit({ count: 1 }) : [['shell', { command: 'slow' }]];
      if (
        user ===
        '[roost] The result that you handed in is superseded: it came before this message. Hand in one that answers it too.'
      )
        return results.length === 0 ? submit({ count: 2, of: 'both' }) : 'done';
      return 'done';
    },
    tool: () => 'silent',
  });
  const { agent, turn } = world.start('count', { schema });
  world.run(1_000);
  assert.equal(world.open.reads.agent(agent)?.phase, 'calling');
  world.call('agent/send', { agent, text: 'and the others', delivery: 'steer', key: world.key() });
  const call = world.ran[0]?.call ?? assert.fail('it runs');
  world.host.post({ kind: 'callEnd', call, outcome: { status: 'ok', text: 'ok' } });
  world.run(1_000);
  assert.deepEqual(world.open.reads.turn(turn)?.result, { count: 2, of: 'both' });
  assert.deepEqual(world.bugs, []);
});

test('a steer that came too late for its turn is a turn of its own that its sender finds', () => {
  const world = saying('silent' as Say, 'heard it');
  const { agent, turn } = world.start('slow');
  world.run(100);
  const sent = world.call('agent/send', { agent, text: 'hurry', delivery: 'steer', key: 'mine' });
  assert.deepEqual(sent, { turn, state: 'steered' });
  world.call('agent/interrupt', { agent, branch: false, key: world.key() });
  const late = world.open.reads.turn(turn)?.late ?? [];
  assert.deepEqual(
    late.map((each) => each.key),
    ['mine'],
  );
  // The same key is told the same answer, for ever.
  assert.deepEqual(world.call('agent/send', { agent, text: 'hurry', delivery: 'steer', key: 'mine' }), sent);
  assert.deepEqual(
    world.open.reads.queue(agent, 0, 10).rows.map((row) => row.turn),
    [late[0]?.turn],
  );
  assert.deepEqual(world.bugs, []);
});

test('a batch shares one schema, the parent is told each result, and reads the whole of them', () => {
  const world = new World({
    answer: (items): Say => {
      const { user, results } = lastOf(items);
      const part = /^part (\d+)/.exec(user)?.[1];
      if (part !== undefined)
        return results.length === 0 ? submit({ count: Number(part), of: 'x'.repeat(900) }) : 'ok';
      if (results.length === 0) {
        const items = Array.from({ length: 12 }, (_, n) => `${n}`);
        return [['spawn_agent', { template: 'part {item}', items, schema }]];
      }
      if (results.length === 1) return [['wait_agent', {}]];
      return results.length === 2 ? [['list_agents', { results: true }]] : 'all of them';
    },
  });
  const { agent } = world.start('lead');
  world.run(60_000);
  const [, waited, listed] = lines(world, agent, 'result');
  assert.match(waited ?? '', /12 ended:\n- agent-1: done: \{"count":0,/);
  assert.match(waited ?? '', /Cut ones are whole in list_agents with "results": true\./);
  for (let n = 0; n < 12; n++)
    assert.ok(listed?.includes(JSON.stringify({ count: n, of: 'x'.repeat(900) })), `result ${n} is whole`);
  const schemas = new Set(
    world.open.reads.agents(agent, 0, 20).rows.map((row) => {
      const entry = world.open.reads.entries(row.id, { after: 0, limit: 1 }).entries[0];
      return entry?.body.kind === 'user' ? entry.body.schema : undefined;
    }),
  );
  assert.equal(schemas.size, 1);
  assert.ok(!schemas.has(undefined));
  assert.deepEqual(world.bugs, []);
});

test('pages of whole results go on where they stopped, and a parent sees all of them once', () => {
  const seen: string[] = [];
  const listing = (results: readonly string[]): Say => {
    const last = results.at(-1) ?? '';
    seen.push(...[...last.matchAll(/^- (agent-\d+): done/gm)].map((match) => match[1] ?? ''));
    const after = /More: list_agents with "results": true and after "(.*)"\.$/.exec(last)?.[1];
    return after === undefined ? 'all' : [['list_agents', { results: true, after }]];
  };
  const world = new World({
    answer: (items: readonly Item[]): Say => {
      const { user, results } = lastOf(items);
      if (user.startsWith('part')) return results.length === 0 ? submit({ of: 'y'.repeat(9_000) }) : 'ok';
      if (results.length === 0)
        return [['spawn_agent', { template: 'part {item}', items: ['1', '2', '3', '4', '5', '6', '7'] }]];
      if (results.length === 1) return [['wait_agent', {}]];
      if (results.length === 2) return [['list_agents', { results: true }]];
      return listing(results);
    },
  });
  world.start('lead');
  world.run(60_000);
  assert.deepEqual(seen, ['agent-1', 'agent-2', 'agent-3', 'agent-4', 'agent-5', 'agent-6', 'agent-7']);
  assert.deepEqual(world.bugs, []);
});

test('the late result of an earlier task is told as superseded, the one of the newest is not', () => {
  const world: World = new World({
    answer: (items): Say | 'silent' => {
      const { user, results } = lastOf(items);
      if (user === 'first') return 'silent';
      if (user.startsWith('[roost] The runtime restarted'))
        return results.length === 0 ? submit({ count: 1 }) : 'ok';
      if (user.startsWith('second')) return results.length === 0 ? submit({ count: 2 }) : 'ok';
      if (user.startsWith('[roost]')) return 'heard';
      if (user !== 'lead') return 'ok';
      if (results.length === 0) return [['spawn_agent', { tasks: [{ task: 'first', name: 'kid' }] }]];
      return results.length === 1
        ? [['followup_task', { to: 'kid', task: 'second', schema }]]
        : 'asked it twice';
    },
  });
  const { agent } = world.start('lead');
  world.run(1_000);
  const kid = world.open.reads.agentByName('lead/kid') ?? assert.fail('there is a kid');
  const first = kid.turn ?? assert.fail('it works');
  world.crash(); // its request is asked again, and this time answered
  world.run(120_000);
  const notice = lines(world, agent, 'notice').join('\n');
  assert.match(
    notice,
    /- kid: done, superseded \(it answers an earlier task than your newest\): \{"count":1\}/,
  );
  assert.match(notice, /- kid: done: \{"count":2\}/);
  const [early, newest] = [world.open.reads.turn(first), lastTurn(world, kid.id)];
  assert.deepEqual([early?.revision, early?.superseded], [1, true]);
  assert.deepEqual([newest.revision, newest.superseded], [2, false]);
  assert.deepEqual(world.bugs, []);
});

test('a schema that cannot be used is refused where it is given: on the wire, in a batch, in a follow-up', () => {
  const bad = { type: 'object', properties: { a: { pattern: 'x' } } };
  const world = new World({
    answer: (items): Say => {
      const { user, results } = lastOf(items);
      if (user !== 'lead') return 'ok';
      if (results.length === 0)
        return [['spawn_agent', { tasks: [{ task: 'a', name: 'kid' }], schema: bad }]];
      if (results.length === 1)
        return [['spawn_agent', { tasks: [{ task: 'a', name: 'kid' }], schema: '{}' }]];
      if (results.length === 2) return [['spawn_agent', { tasks: [{ task: 'a', name: 'kid' }] }]];
      if (results.length === 3) return [['followup_task', { to: 'kid', task: 'b', schema: bad }]];
      return 'done';
    },
  });
  assert.throws(
    () => world.start('x', { schema: bad }),
    /request\/invalid: The result schema cannot be used: #\/properties\/a has "pattern"/,
  );
  assert.throws(
    () => world.start('x', { schema: { ...schema, description: 'x'.repeat(limits.schemaBytes) } }),
    /more than 16384 bytes/,
  );
  assert.equal(world.open.reads.sizes().agents, 0);
  const { agent } = world.start('lead');
  world.run(1_000);
  const said = lines(world, agent, 'result');
  assert.match(said[0] ?? '', /^result error: The result schema cannot be used/);
  assert.match(said[1] ?? '', /^result error: "schema" is a JSON Schema: an object, not a text/);
  assert.match(said[2] ?? '', /^result ok: Started 1 agent: kid/);
  assert.match(said[3] ?? '', /^result error: The result schema cannot be used/);
  assert.throws(
    () => world.call('agent/send', { agent, text: 'x', delivery: 'queue', schema: bad, key: world.key() }),
    /request\/invalid/,
  );
  assert.deepEqual(world.bugs, []);
});

test('a retry and a fork ask for what the turn was asked, and a crash changes nothing of it', () => {
  let broken = true;
  const world: World = new World({
    answer: (items) => {
      const { results } = lastOf(items);
      if (broken) return { kind: 'rejected', code: 'badRequest', message: 'no' };
      return results.length === 0 ? submit({ count: 7 }) : 'ok';
    },
  });
  const { agent } = world.start('count', { schema });
  world.run(1_000);
  broken = false;
  world.crash();
  world.call('turn/retry', { agent, key: world.key() });
  world.run(1_000);
  assert.deepEqual(lastTurn(world, agent).result, { count: 7 });
  const fork = world.call('agent/fork', { agent, turn: null, text: 'once more', schema, key: world.key() });
  world.run(1_000);
  assert.deepEqual(lastTurn(world, fork.agent).result, { count: 7 });
  assert.deepEqual(world.bugs, []);
});
