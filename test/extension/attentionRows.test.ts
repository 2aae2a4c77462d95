// The rows of the Attention view: what is grouped, what is counted, and that the tree stays small.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { attentionRows, childrenOf, updateRows } from '../../extension/attentionRows.ts';
import type { AttentionNode } from '../../extension/attentionRows.ts';
import { limits } from '../../extension/limits.ts';
import { emptyAttention } from '../../sidecar/protocol/attention.ts';
import type { AttentionState } from '../../sidecar/protocol/attention.ts';
import { agentId } from '../../sidecar/protocol/ids.ts';
import { agentRow, changeRow, requestRow } from './rows.ts';

const state = (over: Partial<AttentionState>): AttentionState => ({ ...emptyAttention, ...over });

/** The tree as text: a line a row, indented. */
function drawn(nodes: readonly AttentionNode[], indent = ''): string {
  return nodes
    .map((node) => {
      const count = node.kind === 'section' ? ` ${node.total}` : 'count' in node ? ` ${node.count}` : '';
      return `${indent}${node.id}${count}\n${drawn(childrenOf(node), `${indent}  `)}`;
    })
    .join('');
}

function size(nodes: readonly AttentionNode[]): number {
  return nodes.reduce((sum, node) => sum + 1 + size(childrenOf(node)), 0);
}

test('nothing to show has no rows, so that the view can say why', () => {
  assert.deepEqual(attentionRows(emptyAttention), []);
});

test('requests that may be answered together are one row where the first of them stood', () => {
  const requests = [
    requestRow(1, { cluster: 'npm test' }),
    requestRow(2, { title: 'rm -rf build' }),
    requestRow(3, { cluster: 'npm test' }),
    requestRow(4, { kind: 'question', cluster: 'npm test' }),
  ];
  assert.equal(
    drawn(attentionRows(state({ requests, requestsTotal: 4 }))),
    [
      'section:needs 4',
      '  cluster:approval:npm test',
      '    request:1',
      '    request:3',
      '  request:2',
      '  request:4',
      '',
    ].join('\n'),
  );
});

test('changes stand under their agent, a single one by itself, conflicts apart', () => {
  const reviews = [
    changeRow(1, { agent: agentId(9) }),
    changeRow(2),
    changeRow(3, { agent: agentId(9) }),
    changeRow(4, { state: 'conflict' }),
  ];
  assert.equal(
    drawn(
      attentionRows(
        state({ reviews, reviewsTotal: 10, failed: [agentRow(7)], failedTotal: 1, running: 412, done: 88 }),
      ),
    ),
    [
      'section:conflicts 1',
      '  change:4',
      'section:reviews 9',
      '  author:9',
      '    change:1',
      '    change:3',
      '  change:2',
      '  more:reviews 6',
      'section:failed 1',
      '  failed:7',
      'rollup:running 412',
      'rollup:done 88',
      '',
    ].join('\n'),
  );
});

test('case 26: never more than 300 rows, and what is left out is counted', () => {
  const cluster = fc.option(fc.constantFrom('a', 'b', 'c'), { nil: null });
  fc.assert(
    fc.property(
      fc.array(cluster, { maxLength: 400 }),
      fc.array(fc.nat(60), { maxLength: 400 }),
      (clusters, authors) => {
        const requests = clusters.map((key, index) => requestRow(index + 1, { cluster: key }));
        const reviews = authors.map((author, index) => changeRow(index + 1, { agent: agentId(author) }));
        const failed = authors.map((_author, index) => agentRow(index + 1));
        const rows = attentionRows(
          state({
            ...{ requests, requestsTotal: requests.length, reviews, reviewsTotal: reviews.length },
            ...{ failed, failedTotal: failed.length, running: 1, done: 1 },
          }),
        );
        assert.ok(size(rows) <= limits.treeNodes, `${size(rows)} rows`);
        const ids = new Set<string>();
        const look = (node: AttentionNode): number => {
          assert.ok(!ids.has(node.id), `twice: ${node.id}`);
          ids.add(node.id);
          if (node.kind === 'request' || node.kind === 'change' || node.kind === 'failed') return 1;
          if (node.kind === 'more') return node.count;
          return childrenOf(node).reduce((sum, child) => sum + look(child), 0);
        };
        for (const row of rows) if (row.kind === 'section') assert.equal(look(row), row.total, row.id);
      },
    ),
    { numRuns: 40 },
  );
});

test('what is unchanged is not drawn anew, because a button that is drawn anew does not hear its press', () => {
  const before = state({ requests: [requestRow(1)], requestsTotal: 1, running: 3 });
  const first = updateRows([], attentionRows(before));
  assert.equal(first.changed, null, 'all is new');
  const second = updateRows(first.roots, attentionRows(before));
  assert.deepEqual(second.changed, []);
  const third = updateRows(second.roots, attentionRows({ ...before, running: 4 }));
  assert.equal(third.changed?.length, 1);
  assert.equal(third.changed?.[0], first.roots[1], 'the editor knows a row by its object');
  assert.equal(drawn(third.roots), drawn(attentionRows({ ...before, running: 4 })));
  const fourth = updateRows(third.roots, attentionRows({ ...before, requests: [requestRow(2)], running: 4 }));
  assert.deepEqual(
    fourth.changed?.map((node) => node.id),
    ['section:needs'],
  );
  assert.equal(updateRows(fourth.roots, attentionRows({ ...before, failedTotal: 1 })).changed, null);
});
