// Stories of branches that are exported and imported, in the runtime alone: at work, over a crash, from two clients.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BranchLine } from '../../sidecar/protocol/branchFile.ts';
import type { AgentId } from '../../sidecar/protocol/ids.ts';
import type { Params, Result } from '../../sidecar/protocol/methods.ts';
import { exportPage } from '../../sidecar/rpc/branchExport.ts';
import { limits } from '../../sidecar/runtime/limits.ts';
import { lastOf, World } from './world.ts';

/** The text of a branch's file without its last line, and the sizes of its pages. */
function exported(world: World, agent: AgentId, secret = 'none'): { text: string; pages: readonly number[] } {
  const redacted = (text: string): string => text.replaceAll(secret, '[secret]');
  const options = { reads: world.open.reads, redacted, nowMs: () => world.nowMs };
  const pages: string[] = [];
  for (let cursor: string | null = null; ;) {
    const page: Result<'agent/export'> = exportPage(options, { agent, cursor });
    pages.push(page.text);
    cursor = page.next;
    if (cursor === null) break;
  }
  return { text: pages.join(''), pages: pages.map((page) => Buffer.byteLength(JSON.stringify(page))) };
}

const linesIn = (text: string): BranchLine[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as BranchLine);

type Part = Partial<Params<'agent/import'>>;

const send = (world: World, part: Part): Result<'agent/import'> =>
  world.call('agent/import', { key: 'file', workspace: '/w', after: 0, lines: [], last: false, ...part });

/** Imports lines in parts of a few. */
function imported(world: World, lines: readonly BranchLine[], each = 3): Result<'agent/import'> {
  for (let at = 0; ; at += each) {
    const last = lines.length <= at + each;
    const done = send(world, { after: at, lines: lines.slice(at, at + each), last });
    if (last) return done;
  }
}

function healthy(world: World): void {
  assert.deepEqual(world.bugs, []);
  assert.deepEqual(world.open.reads.doctor().findings, []);
}

const agents = (world: World): number => world.open.reads.fleet().agents;

/** A lead that starts two children which call a tool; the tool ends when the world goes on for a second. */
const swarm = (): World =>
  new World({
    answer: (items) => {
      const { user, results } = lastOf(items);
      if (user === 'lead' && results.length === 0)
        return [['spawn_agent', { tasks: [{ task: 'a' }, { task: 'b' }] }]];
      if (user === 'lead') return results.length === 1 ? [['wait_agent', {}]] : 'all done';
      return results.length === 0 ? [['shell', { command: 'x' }]] : 'said';
    },
    tool: () => ({
      kind: 'done',
      outcome: {
        status: 'ok',
        text: 'the s3cret word',
        whole: Buffer.from('the s3cret word '.repeat(9_000)),
      },
    }),
  });

test('an agent that is at work when it is exported comes back interrupted, and nothing of it runs', () => {
  const world = swarm();
  const { agent } = world.start('lead');
  while (world.open.reads.agent(agent)?.why !== 'child') assert.ok(world.step(), 'it waits for its children');
  const there = new World({ answer: () => 'yes' });
  const done = imported(there, linesIn(exported(world, agent).text));
  assert.ok(done.agent !== null);
  assert.deepEqual([done.agents, done.name], [3, 'lead']);
  there.run(60_000);
  assert.equal(there.requests.length, 0, 'no model was asked');
  assert.equal(there.ran.length, 0, 'no tool was run');
  const row = there.open.reads.agent(done.agent);
  assert.deepEqual([row?.phase, row?.outcome, row?.branch.running], ['idle', 'interrupted', 0]);
  assert.deepEqual([row?.branch.microUsd, row?.branch.tokens], [0, 0]);
  const { entries } = there.open.reads.entries(done.agent, { limit: 50 });
  const open = entries.flatMap(({ body }) => (body.kind === 'result' ? [[body.tool, body.status]] : []));
  assert.deepEqual(open, [
    ['spawn_agent', 'ok'],
    ['wait_agent', 'interrupted'],
  ]);
  healthy(there);
  there.call('agent/send', { agent: done.agent, text: 'go on', delivery: 'queue', key: there.key() });
  there.run(60_000);
  assert.equal(there.open.reads.agent(done.agent)?.outcome, 'done');
  healthy(there);
});

test('pages are small whatever a line holds, and keys are taken out of every text', () => {
  const world = swarm();
  const { agent } = world.start('lead');
  world.run(60_000);
  const { text, pages } = exported(world, agent, 's3cret');
  assert.ok(
    limits.exportPageBytes < Math.max(...text.split('\n').map((line) => line.length)),
    'a line is longer',
  );
  for (const bytes of pages) assert.ok(bytes <= limits.frameBytes, `a page of ${bytes} bytes`);
  assert.doesNotMatch(text, /s3cret/);
  const wholes = linesIn(text).flatMap((line) =>
    line.type === 'entry' && line.body.kind === 'result' && line.body.whole !== undefined
      ? [line.body.whole]
      : [],
  );
  assert.deepEqual(wholes, Array(2).fill('the [secret] word '.repeat(9_000)));
});

test('until its last part a branch is nowhere; a crash takes what is there of it, and it can be sent again', () => {
  const world = swarm();
  const { agent } = world.start('lead');
  world.run(60_000);
  const lines = linesIn(exported(world, agent).text);
  const there = new World({ answer: () => 'yes' });
  const seen = (): unknown[] => [agents(there), there.open.reads.agents(0, 0, 9).rows.length];
  for (let cut = 1; cut < lines.length; cut += 5) {
    send(there, { lines: lines.slice(0, cut) });
    assert.deepEqual(seen(), [0, 0]);
    const arriving = there.open.reads.trash(0, 9).rows.filter((row) => row.state === 'arriving');
    for (const { agent: top } of arriving)
      assert.throws(() => there.call('agent/restore', { agent: top.id, key: there.key() }), /being imported/);
    there.crash();
    there.run(1_000);
    assert.deepEqual([seen(), there.open.reads.trash(0, 9).rows], [[0, 0], []]);
    assert.throws(() => send(there, { after: cut, lines: lines.slice(cut) }), /import\/stale/);
    healthy(there);
  }
  const done = imported(there, lines);
  assert.deepEqual([done.agents, seen()], [3, [3, 1]]);
  assert.deepEqual(imported(there, lines), done, 'the same file twice is one branch');
  there.crash();
  there.run(1_000);
  assert.deepEqual(imported(there, lines), done, 'after a crash too');
  assert.deepEqual(seen(), [3, 1]);
  healthy(there);
});

test('what is deleted while a branch is exported cuts no file: who exports is told', () => {
  const world = swarm();
  const { agent } = world.start('lead');
  world.run(60_000);
  const [first] = world.open.reads.agents(agent, 0, 9).rows;
  assert.ok(first !== undefined);
  const options = { reads: world.open.reads, redacted: (text: string) => text, nowMs: () => 0 };
  const cursor = `entries.${first.id}.0.0.0`;
  assert.notEqual(exportPage(options, { agent, cursor }).text, '');
  world.call('agent/delete', { agent: first.id, key: world.key() });
  world.call('trash/empty', { agents: null, key: world.key() });
  world.run(1_000);
  assert.throws(() => exportPage(options, { agent, cursor }), /deleted while it was exported/);
  assert.throws(() => exportPage(options, { agent, cursor: 'x' }), /no cursor of an export/);
});

test('of two clients with the same file the later one imports it; one that was left alone goes by its age', () => {
  const world = swarm();
  const { agent } = world.start('lead');
  world.run(60_000);
  const lines = linesIn(exported(world, agent).text);
  const there = new World({ answer: () => 'yes' });
  send(there, { lines: lines.slice(0, 4) });
  send(there, { lines: lines.slice(0, 6) });
  send(there, { after: 6, lines: lines.slice(6, 8) });
  assert.throws(() => send(there, { after: 4, lines: lines.slice(4) }), /import\/stale/);
  for (let other = 1; other < limits.arrivals; other++)
    send(there, { key: `other${other}`, lines: lines.slice(0, 4) });
  assert.throws(() => send(there, { key: 'more', lines: lines.slice(0, 4) }), /overloaded/);
  there.run(limits.arrivalIdleMs + 1_000);
  assert.deepEqual(there.open.reads.trash(0, 9).rows, []);
  assert.equal(imported(there, lines).agents, 3);
  healthy(there);
});
