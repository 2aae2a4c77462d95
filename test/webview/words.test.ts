// The words and small decisions of the views: states, reasons, keys, what is kept over a reload.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AgentRow } from '../../sidecar/protocol/agent.ts';
import { agentId } from '../../sidecar/protocol/ids.ts';
import { limits } from '../../webview/limits.ts';
import { nothingSaved, readSaved, withDraft } from '../../webview/saved.ts';
import { english, say, sayCount, setStrings } from '../../webview/strings.ts';
import { sightOf } from '../../webview/tree/around.ts';
import { treeIntent } from '../../webview/tree/keys.ts';
import type { Key } from '../../webview/tree/keys.ts';
import {
  becauseWords,
  branchCounts,
  bytesWords,
  costWords,
  lookOf,
  moneyWords,
  phaseWords,
  rowLabel,
  shortCount,
} from '../../webview/words.ts';
import { agent, rollup } from './samples.ts';

test('case 225: each state of an agent has a look and words of its own', () => {
  const states: [Partial<AgentRow>, string, string][] = [
    [{ phase: 'asking' }, 'running', 'thinking'],
    [{ phase: 'calling' }, 'running', 'running tools'],
    [{ phase: 'ready' }, 'ready', 'queued: waits for a free slot'],
    [{ phase: 'waiting', why: 'approval' }, 'needs', 'needs approval'],
    [{ phase: 'waiting', why: 'answer' }, 'needs', 'needs an answer'],
    [{ phase: 'waiting', why: 'quarantine' }, 'needs', 'needs you: quarantined'],
    [{ phase: 'waiting', why: 'key' }, 'needs', 'waiting: key'],
    [{ phase: 'waiting', why: 'child' }, 'waiting', 'waiting: its agents'],
    [{ phase: 'waiting', why: 'rate' }, 'waiting', 'waiting: rate limit'],
    [{ phase: 'idle', outcome: 'done' }, 'done', 'done'],
    [{ phase: 'idle', outcome: 'failed' }, 'failed', 'failed'],
    [{ phase: 'idle', outcome: 'interrupted' }, 'stopped', 'stopped'],
    [{ phase: 'idle', outcome: 'superseded' }, 'stopped', 'replaced by a newer instruction'],
    [{ phase: 'idle', outcome: null }, 'idle', 'idle'],
  ];
  for (const [part, look, words] of states) {
    assert.equal(lookOf(agent(1, part)), look, words);
    assert.equal(phaseWords(agent(1, part)), words);
  }
});

test('a turn that does not go on says why; one that does says nothing', () => {
  const parked = agent(1, {
    phase: 'waiting',
    why: 'child',
    children: 5,
    branch: rollup({ agents: 6, running: 2, waiting: 2 }),
  });
  assert.equal(becauseWords(parked), 'Waits for 3 agents that it started.');
  assert.match(becauseWords(agent(1, { phase: 'waiting', why: 'budget' })) ?? '', /Raise the budget/);
  assert.equal(becauseWords(agent(1, { phase: 'asking' })), null);
  assert.equal(becauseWords(agent(1)), null);
});

test('a row reads as one sentence, with its scripted model said', () => {
  const row = agent(1, {
    name: 'lead',
    phase: 'calling',
    doing: 'npm test',
    model: 'scripted/x',
    branch: rollup({ agents: 3, running: 2, needs: 1, microUsd: 1_230_000 }),
  });
  assert.equal(
    rowLabel(row),
    'lead, running tools, npm test, 1 decision for you, 2 running, cost $1.23, Scripted model: no real AI. Its answers come from a script file.',
  );
  assert.deepEqual(
    branchCounts(rollup({ done: 4, failed: 1 })).map(({ look, count }) => [look, count]),
    [
      ['failed', 1],
      ['done', 4],
    ],
  );
});

test('a budget is said beside the cost, also one of nothing', () => {
  const of = (microUsd: number, limit: number | null): string =>
    costWords(agent(1, { branch: rollup({ microUsd }), budget: { ...agent(1).budget, microUsd: limit } }));
  assert.equal(of(0, null), '');
  assert.equal(of(420_000, null), 'cost $0.42');
  assert.equal(of(420_000, 5_000_000), 'cost $0.42 of $5.00');
  assert.equal(of(0, 0), 'cost $0 of $0');
});

test('money, counts and bytes in few characters', () => {
  assert.deepEqual([0, 1, 9_999, 10_000, 999_990_000, 1_234_567_890_000].map(moneyWords), [
    '',
    '<$0.01',
    '<$0.01',
    '$0.01',
    '$999.99',
    '$1,234,568',
  ]);
  assert.deepEqual([0, 999, 1_000, 9_999, 10_000, 999_999, 1_000_000].map(shortCount), [
    '0',
    '999',
    '1.0k',
    '9.9k',
    '10k',
    '999k',
    '1.0M',
  ]);
  assert.deepEqual([0, 1_023, 65_536, 3_000_000].map(bytesWords), ['0 B', '1023 B', '64 KB', '2.9 MB']);
});

test('phrases: replaced by key, counted in two forms, holes filled', () => {
  assert.equal(say('tree.noMatch', 'x'), 'No agent matches “x”.');
  setStrings({ 'tree.noMatch': 'Kein Agent passt zu {0}.', 'count.files.many': '{0} Dateien' });
  assert.equal(say('tree.noMatch', '{1}'), 'Kein Agent passt zu {1}.');
  assert.equal(sayCount('count.files', 1_200), '1,200 Dateien');
  assert.equal(sayCount('count.files', 1), '1 file');
  setStrings({});
  for (const [key, words] of Object.entries(english)) {
    assert.notEqual(words, '');
    if (key.endsWith('.one')) assert.ok(key.replace(/one$/, 'many') in english, key);
  }
});

test('case 230: loading, empty, no match and failed are told apart', () => {
  const none = { total: 0, partial: false };
  assert.equal(sightOf(false, null, ''), 'loading');
  assert.equal(sightOf(false, { total: 0, partial: true }, 'x'), 'loading');
  assert.equal(sightOf(false, none, ''), 'empty');
  assert.equal(sightOf(false, none, 'x'), 'noMatch');
  assert.equal(sightOf(true, null, ''), 'failed');
  assert.equal(sightOf(true, { total: 3, partial: false }, ''), 'rows');
});

test('case 237: keys of the tree are plain keys; chords belong to the editor', () => {
  const key = (name: string, part: Partial<Key> = {}): Key => ({
    key: name,
    ctrlKey: false,
    metaKey: false,
    altKey: false,
    isComposing: false,
    ...part,
  });
  assert.deepEqual(treeIntent(key('ArrowDown')), { kind: 'by', rows: 1 });
  assert.deepEqual(treeIntent(key('x')), { kind: 'stop', branch: false });
  assert.deepEqual(treeIntent(key('X')), { kind: 'stop', branch: true });
  assert.deepEqual(treeIntent(key('l')), { kind: 'filter', text: 'l' });
  assert.deepEqual(treeIntent(key('ü')), { kind: 'filter', text: 'ü' });
  for (const left of [
    key('F1'),
    key('Tab'),
    key('z', { ctrlKey: true }),
    key('y', { metaKey: true }),
    key('a', { isComposing: true }),
  ]) {
    assert.equal(treeIntent(left), null, left.key);
  }
});

test('what was saved is checked when it is read, and bounded', () => {
  for (const odd of [
    undefined,
    null,
    'x',
    [],
    { expanded: 'x', drafts: [[1], ['a', 'b'], [2, 3]], topRow: -1, selected: '1', delivery: 'reject' },
  ]) {
    assert.deepEqual(readSaved(odd), nothingSaved);
  }
  const kept = {
    ...nothingSaved,
    order: 'created',
    filter: 'x',
    expanded: [1, 2],
    selected: 2,
    topRow: 7,
    drafts: [[1, 'text']],
    delivery: 'steer',
  };
  assert.deepEqual(readSaved(JSON.parse(JSON.stringify(kept))), kept);
});

test('drafts are kept by agent, the oldest goes first, an empty one is forgotten', () => {
  let drafts = nothingSaved.drafts;
  for (let id = 1; id <= limits.drafts + 3; id += 1) drafts = withDraft(drafts, agentId(id), `draft ${id}`);
  assert.equal(drafts.length, limits.drafts);
  assert.deepEqual(drafts[0], [4, 'draft 4']);
  assert.ok(withDraft(drafts, agentId(9), '').every(([id]) => id !== 9));
});
