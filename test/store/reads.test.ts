// What clients are shown: transcripts with forks, pages and their bounds, results, requests, changes, totals.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { EntryBody } from '../../sidecar/protocol/entry.ts';
import { openStore } from '../../sidecar/store/open.ts';
import type { OpenStore } from '../../sidecar/store/open.ts';
import { agentRow, callRow, changeRow, entryRow, requestRow, turnRow } from './samples.ts';

function opened(t: TestContext): OpenStore & { readonly put: <T>(work: () => T) => T } {
  const open = openStore({ directory: '', durability: 'process', mode: 'memory' });
  t.after(() => open.close());
  const put = <T>(work: () => T): T => {
    const result = open.store.transact(work);
    assert.ok(result.kind === 'committed');
    return result.value;
  };
  return { ...open, put };
}

const texts = (entries: readonly { readonly body: EntryBody }[]): string[] =>
  entries.map(({ body }) => (body.kind === 'user' ? body.text : body.kind));

test('a transcript is paged both ways', (t) => {
  const { store, reads, put } = opened(t);
  put(() => {
    store.insert('agent', agentRow());
    for (let at = 1; at <= 7; at += 1) {
      store.insert('entry', entryRow(1, `m${at}`));
      store.insert('entry', entryRow(2, 'of another'));
    }
  });
  assert.deepEqual(texts(reads.entries(1, { limit: 3 }).entries), ['m5', 'm6', 'm7']);
  const older = reads.entries(1, { before: 9, limit: 3 });
  assert.deepEqual([texts(older.entries), older.more], [['m2', 'm3', 'm4'], true]);
  const oldest = reads.entries(1, { before: 3, limit: 3 });
  assert.deepEqual([texts(oldest.entries), oldest.more], [['m1'], false]);
  const newer = reads.entries(1, { after: 9, limit: 1 });
  assert.deepEqual([texts(newer.entries), newer.more], [['m6'], true]);
  assert.deepEqual(reads.entries(9, { limit: 3 }), { entries: [], more: false });
});

test('a fork shows the prefix that it shares, also of a fork, and nothing of what came later', (t) => {
  const { store, reads, put } = opened(t);
  put(() => {
    store.insert('agent', agentRow());
    for (const text of ['a1', 'a2', 'a3']) store.insert('entry', entryRow(1, text));
    store.insert('agent', agentRow({ forkAgent: 1, forkEntry: 2 }));
    for (const text of ['b4', 'b5']) store.insert('entry', entryRow(2, text));
    store.insert('agent', agentRow({ forkAgent: 2, forkEntry: 4 }));
    store.insert('entry', entryRow(3, 'c6'));
    // Forked inside the prefix that its source shares.
    store.insert('agent', agentRow({ forkAgent: 2, forkEntry: 1 }));
  });
  assert.deepEqual(texts(reads.entries(2, { limit: 9 }).entries), ['a1', 'a2', 'b4', 'b5']);
  assert.deepEqual(texts(reads.entries(3, { limit: 9 }).entries), ['a1', 'a2', 'b4', 'c6']);
  assert.deepEqual(texts(reads.entries(4, { limit: 9 }).entries), ['a1']);
  assert.deepEqual(texts(reads.entries(3, { after: 1, limit: 2 }).entries), ['a2', 'b4']);
  assert.deepEqual(texts(reads.entries(3, { before: 6, limit: 2 }).entries), ['a2', 'b4']);
});

test('the prefix outlives the agent that it came from', (t) => {
  const { store, reads, put } = opened(t);
  put(() => {
    store.insert('agent', agentRow());
    store.insert('entry', entryRow(1, 'a1'));
    store.insert('agent', agentRow({ forkAgent: 1, forkEntry: 1 }));
    store.remove('agent', 1);
  });
  assert.deepEqual(texts(reads.entries(2, { limit: 9 }).entries), ['a1']);
});

test('a page of entries fits into a frame, and holds one entry whatever its size', (t) => {
  const { store, reads, put } = opened(t);
  put(() => {
    store.insert('agent', agentRow());
    for (let at = 0; at < 6; at += 1) {
      const body = JSON.stringify({ kind: 'note', text: 'x'.repeat(at === 5 ? 400_000 : 100_000) });
      const blob = store.putBlob(body);
      store.insert('entry', { ...entryRow(1, ''), body: null, blob, kind: 'note' });
    }
  });
  const newest = reads.entries(1, { limit: 10 });
  assert.deepEqual([newest.entries.map((entry) => Number(entry.id)), newest.more], [[6], true]);
  const before = reads.entries(1, { before: 6, limit: 10 });
  assert.deepEqual([before.entries.map((entry) => Number(entry.id)), before.more], [[4, 5], true]);
  assert.deepEqual(
    reads.entriesAfter(0, 0, 10).map((entry) => Number(entry.id)),
    [1, 2],
  );
});

test('the log gives entries of all agents or of one, after a cursor', (t) => {
  const { store, reads, put } = opened(t);
  put(() => {
    for (const [agent, text] of [
      [1, 'a'],
      [2, 'b'],
      [1, 'c'],
    ] as const)
      store.insert('entry', entryRow(agent, text));
  });
  assert.deepEqual(texts(reads.entriesAfter(0, 0, 2)), ['a', 'b']);
  assert.deepEqual(texts(reads.entriesAfter(2, 0, 2)), ['c']);
  assert.deepEqual(texts(reads.entriesAfter(0, 1, 9)), ['a', 'c']);
  assert.deepEqual(reads.entriesAfter(3, 0, 9), []);
});

test('an entry whose text is missing says so and does not end the transcript (case 93)', (t) => {
  const { store, reads, put } = opened(t);
  put(() => {
    store.insert('agent', agentRow());
    store.insert('entry', { ...entryRow(1, ''), body: null, blob: 7 });
    store.insert('entry', entryRow(1, 'later'));
  });
  const { entries } = reads.entries(1, { limit: 9 });
  assert.equal(entries.length, 2);
  assert.match(JSON.stringify(entries[0]?.body), /missing/);
});

test('a blob is read in parts that end between characters, packed or not', (t) => {
  const { store, reads, put } = opened(t);
  const contents = ['ä𝒳'.repeat(20), 'word ä𝒳 '.repeat(3_000)];
  const ids = put(() => contents.map((content) => store.putBlob(content)));
  contents.forEach((content, at) => {
    let text = '';
    let offset: number | null = 0;
    let parts = 0;
    while (offset !== null) {
      const part: ReturnType<typeof reads.blob> = reads.blob(ids[at] ?? 0, offset, 1_001);
      assert.ok(part);
      assert.doesNotMatch(part.text, /\ufffd/);
      assert.equal(part.totalBytes, Buffer.byteLength(content));
      text += part.text;
      offset = part.nextOffset;
      parts += 1;
    }
    assert.equal(text, content);
    assert.equal(parts, Math.ceil(Buffer.byteLength(content) / 998 - 0.1));
  });
  assert.equal(reads.blob(99, 0, 10), undefined);
  assert.equal(reads.blobBytes(99), null);
});

test('a turn’s result is the words of its answer, cut at 64 KB with the whole as a blob', (t) => {
  const { store, reads, put } = opened(t);
  const long = 'long '.repeat(20_000);
  const answer = (text: string): EntryBody => ({
    kind: 'answer',
    model: 'scripted/test',
    blocks: [
      { kind: 'thinking', text: 'hm', provider: 'scripted' },
      { kind: 'text', text },
      { kind: 'call', key: 'k', tool: 'read', input: '{}' },
    ],
    stop: 'end',
    usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 },
  });
  put(() => {
    store.insert('agent', agentRow({ name: 'lead', phase: 'asking', turn: 3, last: 2 }));
    const short = store.insert('entry', entryRow(1, answer('short')));
    store.insert('turn', turnRow({ state: 'ended', outcome: 'done', answer: short, result: '{"n":1}' }));
    const blob = store.putBlob(JSON.stringify(answer(long)));
    const whole = store.insert('entry', { ...entryRow(1, answer('')), body: null, blob });
    store.insert('turn', turnRow({ state: 'ended', outcome: 'done', answer: whole }));
    store.insert('turn', turnRow({ state: 'open' }));
  });
  const first = reads.turn(1);
  assert.deepEqual(
    [first?.text, first?.result, first?.resultBytes, first?.name, first?.outcome, first?.blob],
    ['short', { n: 1 }, 7, 'lead', 'done', null],
  );
  const second = reads.turn(2);
  assert.equal(second?.text, long.slice(0, 64 * 1024));
  assert.equal(Number(second?.blob), 1);
  assert.deepEqual([Number(reads.lastTurn(1)?.turn), reads.lastTurn(1)?.outcome], [3, null]);
  put(() => store.update('agent', 1, { phase: 'idle', turn: 0 }));
  assert.equal(Number(reads.lastTurn(1)?.turn), 2);
  put(() => store.insert('turn', turnRow({ late: 2, key: 'steer' })));
  assert.deepEqual(reads.turn(2)?.late, [{ turn: 4, key: 'steer' }]);
  assert.deepEqual([reads.turn(2)?.superseded, reads.turn(2)?.revision], [false, 0]);
  put(() => store.update('agent', 1, { revision: 1 }));
  assert.equal(reads.turn(2)?.superseded, true);
  assert.equal(reads.turn(9), undefined);
  assert.equal(reads.lastTurn(9), undefined);
});

test('agents are found by id, by path of names and by parent', (t) => {
  const { store, reads, put } = opened(t);
  put(() => {
    const profile = store.putBlob('{"name":"planner"}');
    const place = store.insert('place', { path: '/w' });
    store.insert('agent', agentRow({ name: 'lead', profile, place, endBy: 1_790_000_060_000 }));
    store.insert('agent', agentRow({ name: 'tests', parent: 1, depth: 1, maxMicroUsd: 0 }));
    store.insert('agent', agentRow({ name: 'docs', parent: 1, depth: 1 }));
  });
  const lead = reads.agent(1);
  assert.deepEqual(
    [lead?.profile, lead?.workspace, lead?.parent, lead?.budget.wallMs],
    ['planner', '/w', null, 60_000],
  );
  assert.equal(reads.agentByName('lead/tests')?.id, 2);
  assert.equal(reads.agentByName('lead/tests')?.budget.microUsd, 0);
  assert.equal(reads.agentByName('lead/none'), undefined);
  assert.equal(reads.agentByName('tests'), undefined);
  assert.deepEqual(
    reads.agents(1, 0, 1).rows.map((row) => row.name),
    ['tests'],
  );
  assert.equal(reads.agents(1, 0, 1).more, true);
  assert.deepEqual(
    reads.agents(1, 2, 9).rows.map((row) => row.name),
    ['docs'],
  );
  assert.equal(reads.agent(9), undefined);
});

test('open calls, requests and changes of an agent; a decided one leaves the lists', (t) => {
  const { store, reads, put } = opened(t);
  put(() => {
    store.insert('agent', agentRow({ name: 'lead' }));
    store.insert('call', callRow({ state: 'started' }));
    store.insert('call', callRow({ state: 'done', open: 0 }));
    store.insert('request', requestRow({ choices: '["yes","no"]', kind: 'question' }));
    store.insert('request', requestRow({ agent: 2 }));
    const base = store.putBlob('before');
    store.insert('change', changeRow({ base, after: 0, kind: 'delete' }));
    store.insert('change', changeRow({ agent: 2 }));
  });
  assert.deepEqual(
    reads.openCalls(1).map((call) => [Number(call.call), call.state, call.output]),
    [[1, 'started', '']],
  );
  assert.deepEqual(
    reads.requestsOf(1).map((request) => [request.agentName, request.choices, request.call]),
    [['lead', ['yes', 'no'], null]],
  );
  assert.equal(reads.requests(0, 1).more, true);
  const change = reads.change(1);
  assert.equal(change?.row.agentName, 'lead');
  assert.deepEqual([Buffer.from(change?.file.base ?? []).toString(), change?.file.after], ['before', null]);
  put(() => {
    store.update('request', 1, { state: 'answered' });
    store.update('change', 1, { state: 'accepted' });
  });
  assert.deepEqual(reads.requestsOf(1), []);
  assert.equal(reads.attention().requestsTotal, 1);
  assert.equal(reads.attention().reviewsTotal, 1);
  assert.equal(reads.changes(1, 0, 9).rows[0]?.state, 'accepted');
  assert.deepEqual(
    reads.changes(0, 0, 9).rows.map((row) => Number(row.id)),
    [2],
  );
});

test('the totals follow the roots, and say why nothing starts', (t) => {
  const { store, reads, put } = opened(t);
  put(() => {
    store.insert('agent', agentRow({ bAgents: 3, bRunning: 1, bMicroUsd: 10, phase: 'asking' }));
    store.insert('agent', agentRow({ parent: 1, depth: 1, bAgents: 2, bRunning: 1 }));
    store.insert('agent', agentRow({ bDone: 1, model: 'anthropic/x' }));
  });
  assert.deepEqual(reads.fleet(), {
    agents: 4,
    running: 1,
    waiting: 0,
    decisions: 0,
    reviews: 0,
    failed: 0,
    done: 1,
    microUsd: 10,
    scripted: true,
    trouble: null,
  });
  put(() => {
    store.update('agent', 1, { bRunning: 0, bWaiting: 1, phase: 'waiting', why: 'key' });
    store.update('agent', 2, { bRunning: 7, bAgents: 9 });
    store.remove('agent', 3);
    store.insert('request', requestRow());
  });
  const fleet = reads.fleet();
  assert.deepEqual(
    [fleet.agents, fleet.running, fleet.waiting, fleet.done, fleet.decisions],
    [3, 0, 1, 0, 1],
  );
  assert.equal(fleet.scripted, false);
  assert.match(fleet.trouble ?? '', /key/);
  assert.throws(() =>
    put(() => {
      store.update('agent', 1, { bAgents: 100 });
      throw new Error('no');
    }),
  );
  assert.equal(reads.fleet().agents, 3);
});
