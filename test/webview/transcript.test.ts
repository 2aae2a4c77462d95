// The transcript's model without a page: a stretch of entries without holes and of bounded size, and items made
// of it. Cases 9, 10, 11.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Entry } from '../../sidecar/protocol/entry.ts';
import type { EntryId } from '../../sidecar/protocol/ids.ts';
import { callId } from '../../sidecar/protocol/ids.ts';
import { tailEntries, transcriptReducer } from '../../sidecar/protocol/transcript.ts';
import type { TranscriptState } from '../../sidecar/protocol/transcript.ts';
import { callLine, editLines, inWorkspace, prettyInput } from '../../webview/agent/calls.ts';
import { Heights, itemAt } from '../../webview/agent/heights.ts';
import { itemsOf, withLive } from '../../webview/agent/items.ts';
import type { CallItem, Item } from '../../webview/agent/items.ts';
import { TranscriptModel } from '../../webview/agent/model.ts';
import type { Page, PageEnd } from '../../webview/agent/model.ts';
import { limits } from '../../webview/limits.ts';
import { agent, answer, call, entry, openCall, request, result, said, text, transcript } from './samples.ts';

/** A stored conversation whose entries come and are paged like the sidecar's. */
class Conversation {
  entries: Entry[] = [];
  state: TranscriptState = transcript(agent(1), []);

  add(count: number): Entry[] {
    const fresh = Array.from({ length: count }, (_, index) =>
      said(2 * (this.entries.length + index) + 1, 'word'),
    );
    this.entries.push(...fresh);
    this.state = transcriptReducer(this.state, { kind: 'agent/entries', entries: fresh });
    return fresh;
  }

  page(end: PageEnd, from: EntryId): Page {
    const at = this.entries.findIndex((each) => each.id === from);
    const start = end === 'before' ? Math.max(0, at - limits.pageEntries) : at + 1;
    const stop = end === 'before' ? at : Math.min(this.entries.length, at + 1 + limits.pageEntries);
    return {
      entries: this.entries.slice(start, stop),
      more: end === 'before' ? 0 < start : stop < this.entries.length,
    };
  }
}

function assertWhole(model: TranscriptModel, stored: Conversation): void {
  const ids = model.entries.map((each) => each.id);
  const first = stored.entries.findIndex((each) => each.id === ids[0]);
  assert.deepEqual(
    ids,
    stored.entries.slice(first, first + ids.length).map((each) => each.id),
    'a stretch has no hole',
  );
  assert.ok(ids.length <= limits.loadedEntries);
  assert.equal(model.hasBefore, 0 < first, 'it says whether there is more above');
  assert.equal(
    model.hasAfter,
    first + ids.length < stored.entries.length,
    'it says whether there is more below',
  );
}

test('case 10: however the person pages and the agent talks, the stretch is whole and bounded', () => {
  const step = fc.oneof(
    fc.record({
      kind: fc.constant('add' as const),
      count: fc.integer({ min: 1, max: 350 }),
      atEnd: fc.boolean(),
    }),
    fc.record({
      kind: fc.constantFrom('before' as const, 'after' as const, 'latest' as const, 'snapshot' as const),
    }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const stored = new Conversation();
      stored.add(5);
      const model = new TranscriptModel();
      model.take(stored.state, true);
      for (const each of steps) {
        if (each.kind === 'add') {
          stored.add(each.count);
          model.take(stored.state, each.atEnd);
        } else if (each.kind === 'latest') model.toLatest();
        else if (each.kind === 'snapshot') model.take(stored.state, false);
        else {
          const from = model.pageFrom(each.kind);
          if (from !== null) model.addPage(each.kind, from, stored.page(each.kind, from));
        }
        assertWhole(model, stored);
      }
    }),
    { numRuns: 60 },
  );
});

test('case 9: 10,000 entries are read from end to start and back with at most 400 in memory', () => {
  const stored = new Conversation();
  stored.add(10_000);
  const model = new TranscriptModel();
  model.take(stored.state, true);
  assert.equal(model.entries.length, tailEntries);
  const read = (end: PageEnd): number => {
    let pages = 0;
    for (let from = model.pageFrom(end); from !== null; from = model.pageFrom(end)) {
      model.addPage(end, from, stored.page(end, from));
      pages += 1;
      assert.ok(model.entries.length <= limits.loadedEntries);
    }
    return pages;
  };
  assert.equal(read('before'), 98);
  assert.equal(model.entries[0]?.id, 1);
  assert.ok(90 <= read('after'));
  assert.equal(model.entries.at(-1)?.id, stored.entries.at(-1)?.id);
});

test('long entries are bounded by their characters', () => {
  const model = new TranscriptModel();
  const long = Array.from({ length: 20 }, (_, index) => said(index + 1, 'x'.repeat(1_000_000)));
  model.take(transcript(agent(1), long), true);
  assert.equal(model.entries.length, limits.loadedChars / 1_000_000);
  assert.equal(model.hasBefore, true);
});

test('a snapshot after a gap does not move a person who reads above, and moves one at the end', () => {
  for (const atEnd of [true, false]) {
    const model = new TranscriptModel();
    model.take(transcript(agent(1), [said(1, 'a'), said(2, 'b')]), true);
    model.take(transcript(agent(1), [said(900, 'y'), said(901, 'z')], { older: true }), atEnd);
    assert.deepEqual(
      model.entries.map((each) => Number(each.id)),
      atEnd ? [900, 901] : [1, 2],
    );
    assert.equal(model.hasAfter, !atEnd);
  }
});

const kinds = (items: readonly Item[]): string[] => items.map((item) => item.kind);

test('a call and its result are one item, wherever the result stands', () => {
  const items = itemsOf([
    said(1, 'go'),
    answer(2, text('I look.'), call('a', 'read', { path: 'x.ts' }), call('b', 'shell', { command: 'ls' })),
    result(3, 'b', { status: 'error', text: 'no' }),
    entry(4, { kind: 'user', from: 'person', text: 'also y.ts', delivery: 'steer' }),
    result(5, 'a', { tool: 'read' }),
  ]);
  assert.deepEqual(kinds(items), ['user', 'text', 'call', 'call', 'user']);
  assert.deepEqual(
    items.map((item) => (item.kind === 'call' ? [item.tool, item.result?.status] : null)),
    [null, null, ['read', 'ok'], ['shell', 'error'], null],
  );
});

test('an id that a provider uses again means the newer call; a result without its call stands alone', () => {
  const items = itemsOf([
    result(1, 'lost', { text: 'from before' }),
    answer(2, call('0', 'shell', { command: 'one' })),
    result(3, '0', { text: 'first' }),
    answer(4, call('0', 'shell', { command: 'two' })),
    result(5, '0', { text: 'second' }),
  ]);
  assert.deepEqual(
    items.map((item) => (item.kind === 'call' ? [item.input, item.result?.text] : null)),
    [
      [null, 'from before'],
      ['{"command":"one"}', 'first'],
      ['{"command":"two"}', 'second'],
    ],
  );
});

test('what goes on now stands at its place: a running call, its request under it, the answer at the end', () => {
  const settled = itemsOf([
    said(1, 'go'),
    answer(2, call('a', 'shell', { command: 'ls' }), call('b', 'shell', { command: 'rm' })),
  ]);
  const state = transcript(agent(1, { phase: 'calling' }), [], {
    calls: [openCall(7, 'a', { output: 'x.ts' }), openCall(8, 'b', { state: 'asking' })],
    requests: [
      request(1, { call: callId(8) }),
      request(2, { kind: 'question' }),
      request(3, { state: 'answered' }),
    ],
  });
  const items = withLive(settled, state);
  assert.deepEqual(kinds(items), ['user', 'call', 'call', 'request', 'request']);
  assert.equal(items[1]?.kind === 'call' ? items[1].open?.output : '', 'x.ts');
  const streaming = withLive(
    settled,
    transcript(agent(1, { phase: 'asking' }), [], { streaming: 'Wo', thinking: 'hm' }),
  );
  assert.deepEqual(kinds(streaming), ['user', 'call', 'call', 'thinking', 'text']);
  assert.deepEqual(kinds(withLive([], transcript(agent(1, { phase: 'asking' }), []))), ['asking']);
});

test('keys of items are unique', () => {
  const items = withLive(
    itemsOf([said(1, 'go'), answer(2, text('a'), text('b'), call('a', 'shell', {})), result(3, 'z')]),
    transcript(agent(1, { phase: 'asking' }), [], {
      streaming: 'x',
      calls: [openCall(1, 'q')],
      requests: [request(1)],
    }),
  );
  assert.equal(new Set(items.map((item) => item.key)).size, items.length);
});

test('a call says in one line what it is about, whatever the model wrote', () => {
  assert.equal(callLine('{"command":"npm  test\\n-- x"}').summary, 'npm test -- x');
  assert.deepEqual(callLine('{"path":"src/a.ts","startLine":7}'), {
    summary: 'src/a.ts',
    path: 'src/a.ts',
    line: 7,
  });
  assert.equal(
    callLine('{"tasks":[{"name":"docs","task":"x"},{"task":"Look for bugs"}]}').summary,
    'docs · Look for bugs',
  );
  assert.equal(callLine('{"unknown":{"a":1},"other":"text"}').summary, 'text');
  for (const odd of ['', '[]', 'null', '"x"', '{"comm', '{"path":7}', '{}', '{"tasks":[null,3]}']) {
    assert.equal(typeof callLine(odd).summary, 'string', odd);
    assert.equal(typeof prettyInput(odd), 'string', odd);
  }
  assert.equal(prettyInput('{"path":"a","text":"x\\ny"}'), 'path: a\ntext:\nx\ny');
  assert.equal(inWorkspace('/home/me/shop', 'src/a.ts'), '/home/me/shop/src/a.ts');
  assert.equal(inWorkspace('C:\\shop', 'src\\a.ts'), 'C:\\shop\\src\\a.ts');
  assert.equal(inWorkspace('/home/me/shop', '/etc/hosts'), '/etc/hosts');
});

test('an edit is read as a diff of its two texts; anything else is not', () => {
  const item = (tool: string, input: string): CallItem => ({
    ...{ key: 'k', atMs: 0, kind: 'call', call: 'a', result: null, open: null },
    ...{ tool, input },
  });
  const lines = editLines(
    item('edit', JSON.stringify({ path: 'a', old: 'a = 1;\nb\n', new: 'a = 2;\nb\n' })),
  );
  const drawn = lines?.map((line) => `${line.kind} ${line.pieces.map(({ text: words }) => words).join('')}`);
  assert.deepEqual(drawn, ['removed a = 1;', 'added a = 2;', 'same b']);
  for (const odd of ['{"old":1,"new":"x"}', '{"old":"x"', 'x'.repeat(limits.outputChars + 1)]) {
    assert.equal(editLines(item('edit', odd)), null);
  }
  assert.equal(editLines(item('write', '{"old":"a","new":"b"}')), null);
});

test('heights: measured where seen, estimated elsewhere, found by halving', () => {
  const heights = new Heights();
  const items = Array.from({ length: 300 }, (_, index) => ({ key: String(index) }));
  assert.equal(heights.measure('3', 100), true);
  assert.equal(heights.measure('3', 100.2), false);
  const layout = heights.layout(items, () => 20);
  assert.equal(layout.totalPx, 299 * 20 + 100.2);
  for (const [px, index] of [
    [-5, 0],
    [0, 0],
    [59, 2],
    [60, 3],
    [159, 3],
    [161, 4],
    [1e9, 299],
  ] as const) {
    assert.equal(itemAt(layout, px), index, String(px));
  }
  assert.equal(
    itemAt(
      heights.layout([], () => 20),
      50,
    ),
    0,
  );
  for (let index = 0; index < 1_000; index += 1) heights.measure(`gone ${index}`, 10);
  heights.prune(items);
  assert.equal(heights.size, 1);
});
