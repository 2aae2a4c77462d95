// Stories of tools of servers (MCP): trusted before they are started, offered as they were when the agent was made,
// late when a server is slow, and unknown after a crash.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noKnowledge, type Knowledge, type Server } from '../../sidecar/core/knowledge.ts';
import type { Offer } from '../../sidecar/core/offers.ts';
import { World, type Answerer } from './world.ts';

const server = (name: string, own = true): Server => ({
  kind: 'server',
  name,
  label: `.mcp.json: ${name}`,
  path: '/w/.mcp.json',
  hash: name.padEnd(64, '0'),
  sizeBytes: 20,
  own,
  transport: 'stdio',
  line: `npx ${name}`,
  given: ['TOKEN'],
});
const offer = (...names: string[]): { kind: 'offer'; offer: Offer } => ({
  kind: 'offer',
  offer: {
    tools: names.map((name) => ({
      name,
      description: `does ${name}`,
      schema: { type: 'object' },
      reading: name.startsWith('find'),
    })),
    dropped: [],
  },
});
const told = (more: Partial<Knowledge>): Knowledge => ({ ...noKnowledge, ...more });
const offeredTo = (world: World, request = world.requests.at(-1)): string[] =>
  (request?.tools ?? []).map((tool) => tool.name).filter((name) => name.includes('__'));

function begin(world: World, knowledge: Knowledge, more: Parameters<World['start']>[1] = {}) {
  world.knowledge = knowledge;
  world.look();
  const started = world.start('work', more);
  world.run(1_000);
  return started;
}

test('a server is asked once what it offers; agents are made with that, and the next ones ask nobody', () => {
  const world = new World({ answer: () => 'done' });
  world.offers.set('docs', offer('find', 'post'));
  const { agent } = begin(world, told({ servers: [server('docs')] }));
  assert.equal(world.open.reads.agent(agent)?.outcome, 'done');
  assert.deepEqual(offeredTo(world), ['docs__find', 'docs__post']);
  begin(world, told({ servers: [server('docs')] }));
  begin(world, told({ servers: [server('docs')] }), { profile: 'explorer' });
  // Who only reads is offered what only reads.
  assert.deepEqual(offeredTo(world), ['docs__find']);
  world.crash();
  world.run(1_000);
  begin(world, told({ servers: [server('docs')] }));
  assert.deepEqual(offeredTo(world), ['docs__find', 'docs__post']);
  assert.deepEqual(world.asked, ['docs']);
  assert.deepEqual(world.bugs, []);
});

test('a server that nobody has trusted is not asked; texts and servers are two questions', () => {
  const world = new World({ answer: () => 'done' });
  world.offers.set('docs', offer('find'));
  const text = {
    ...server('x', false),
    kind: 'instructions',
    label: 'AGENTS.md',
    text: 'be gentle',
  } as const;
  const { agent } = begin(world, told({ instructions: [text], servers: [server('docs', false)] }));
  const asked = world.open.reads.requests(0, 10).rows;
  assert.deepEqual(
    asked.map((request) => request.title),
    ['Trust 1 file of this project: AGENTS.md', 'Trust 1 server of this project: .mcp.json: docs'],
  );
  assert.match(asked[1]?.detail ?? '', /runs: npx docs\nis given: TOKEN/);
  const say = (index: number, kind: 'allow' | 'deny'): void => {
    const request = asked[index];
    assert.ok(request !== undefined);
    const answer = kind === 'allow' ? ({ kind } as const) : ({ kind, reason: '' } as const);
    world.call('request/answer', { request: request.id, answer, key: world.key() });
    world.run(1_000);
  };
  say(0, 'deny');
  assert.equal(world.open.reads.agent(agent)?.why, 'approval');
  assert.deepEqual(world.asked, []);
  say(1, 'allow');
  assert.deepEqual(world.asked, ['docs']);
  assert.equal(world.open.reads.agent(agent)?.outcome, 'done');
  assert.deepEqual(offeredTo(world), ['docs__find']);
  assert.doesNotMatch(world.requests[0]?.system ?? '', /be gentle/);
  assert.deepEqual(world.bugs, []);
});

test('an agent waits for a server that was never asked, shows so, and goes on without it when it fails', () => {
  const world = new World({ answer: () => 'done' });
  const { agent } = begin(world, told({ servers: [server('slow')] }));
  assert.deepEqual(
    [world.open.reads.agent(agent)?.phase, world.open.reads.agent(agent)?.why],
    ['waiting', 'tools'],
  );
  // Nothing of it is in memory but that the server is being asked: after a crash it is asked again.
  world.crash();
  world.offers.set('slow', { kind: 'failed', message: 'it does not start' });
  world.run(1_000);
  assert.deepEqual(world.asked, ['slow', 'slow']);
  assert.equal(world.open.reads.agent(agent)?.outcome, 'done');
  assert.deepEqual(offeredTo(world), []);
  begin(world, told({ servers: [server('slow')] }));
  assert.deepEqual(world.asked, ['slow', 'slow']);

  // It has come by itself meanwhile: those that are made from now on have its tools (case 181).
  world.host.post({ kind: 'offered', server: server('slow').hash, answer: offer('find') });
  begin(world, told({ servers: [server('slow')] }));
  assert.deepEqual(offeredTo(world), ['slow__find']);
  assert.deepEqual(world.bugs, []);
});

test('a list that changes leaves the prefix of those who are there as it is', () => {
  const world = new World({ answer: () => 'done' });
  world.offers.set('docs', offer('find'));
  const { agent } = begin(world, told({ servers: [server('docs')] }));
  const bytes = (): string => JSON.stringify([world.requests.at(-1)?.system, world.requests.at(-1)?.tools]);
  const before = bytes();
  world.host.post({ kind: 'offered', server: server('docs').hash, answer: offer('find', 'post') });
  world.run(1_000);
  world.call('agent/send', { agent, text: 'more', delivery: 'queue', key: world.key() });
  world.run(1_000);
  assert.equal(bytes(), before);
  world.crash();
  world.call('agent/send', { agent, text: 'more', delivery: 'queue', key: world.key() });
  world.run(1_000);
  assert.equal(bytes(), before);
  begin(world, told({ servers: [server('docs')] }));
  assert.deepEqual(offeredTo(world), ['docs__find', 'docs__post']);
  // And one that is pinned anew has them too, which breaks its prefix.
  assert.deepEqual(world.call('agent/configure', { agent, profile: 'implementer', key: world.key() }), {
    prefix: 'breaks',
  });
  assert.deepEqual(world.bugs, []);
});

const calls: Answerer = (items) =>
  items.every((item) => item.kind !== 'result')
    ? [
        ['docs__post', { text: 'x' }],
        ['docs__none', {}],
      ]
    : 'done';

test('a call names its server and the tool there; one that was not offered is an error', () => {
  const world = new World({ answer: calls });
  world.offers.set('docs', offer('find', 'post'));
  const { agent } = begin(world, told({ servers: [server('docs')] }));
  const { hash, path, name } = server('docs');
  assert.deepEqual(
    world.ran.map((job) => job.remote),
    [{ server: { hash, path, name, workspace: '/w' }, tool: 'post', reading: false }],
  );
  assert.match(
    world.transcript(agent).join('\n'),
    /There is no tool "docs__none"\. There are: .*docs__find, docs__post/,
  );
  assert.deepEqual(world.bugs, []);
});

test('a call that was started when the process died is unknown, and is not made again (I3)', () => {
  const world = new World({ answer: calls, tool: () => 'silent' });
  world.offers.set('docs', offer('post'));
  const { agent } = begin(world, told({ servers: [server('docs')] }));
  assert.equal(world.ran.length, 1);
  world.crash();
  world.run(1_000);
  assert.equal(world.ran.length, 1);
  assert.match(world.transcript(agent).join('\n'), /result unknown: nobody knows what became of docs__post/);
  assert.deepEqual(world.bugs, []);
});

test('the files of servers that a person names are kept, and looked into at once', () => {
  const world = new World({ answer: () => 'done' });
  world.call('mcp/files', { files: ['/home/me/a.json'], key: world.key() });
  world.call('mcp/files', { files: ['/home/me/b.json'], key: world.key() });
  assert.deepEqual(world.serverFiles, ['/home/me/b.json']);
  const kept = world.open.store.range('setting.name', ['serverFiles'], { limit: 5 });
  assert.deepEqual(
    kept.map((row) => row.value),
    ['["/home/me/b.json"]'],
  );
});
