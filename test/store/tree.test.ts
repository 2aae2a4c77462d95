// The windowed tree against a tree that is written out whole: any expansion, order, place and height.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { agentId } from '../../sidecar/protocol/ids.ts';
import type { TreeQuery } from '../../sidecar/protocol/tree.ts';
import { openStore } from '../../sidecar/store/open.ts';
import type { OpenStore } from '../../sidecar/store/open.ts';
import { agentRow } from './samples.ts';

interface Plant {
  readonly parent: number;
  readonly rank: number;
}

/** A store with one agent a plant; a plant's parent is an earlier one, 0 for a root. */
function forest(plants: readonly Plant[]): OpenStore {
  const open = openStore({ directory: '', durability: 'process', mode: 'memory' });
  open.store.transact(() => {
    plants.forEach(({ parent, rank }, at) => {
      const children = plants.filter((other) => other.parent === at + 1).length;
      open.store.insert('agent', agentRow({ parent, rank, children, name: `a${at + 1}` }));
    });
  });
  return open;
}

/** All rows of an expanded tree as `level:id`, in order. */
function writtenOut(plants: readonly Plant[], query: TreeQuery, parent = 0, level = 0): string[] {
  const siblings = plants
    .map((plant, at) => ({ ...plant, id: at + 1 }))
    .filter((plant) => plant.parent === parent)
    .sort((a, b) => (query.order === 'attention' ? a.rank - b.rank : 0) || a.id - b.id);
  return siblings.flatMap(({ id }) => {
    const open = query.expanded.includes(agentId(id));
    return [`${level}:${id}`, ...(open ? writtenOut(plants, query, id, level + 1) : [])];
  });
}

const plant = (at: number): fc.Arbitrary<Plant> =>
  fc.record({ parent: fc.oneof(fc.constant(0), fc.nat({ max: at })), rank: fc.nat({ max: 5 }) });

const plantings = fc
  .integer({ min: 1, max: 40 })
  .chain((count) => fc.tuple(...Array.from({ length: count }, (_, at) => plant(at))));

test('a window shows the rows of the whole tree between two places', () => {
  fc.assert(
    fc.property(
      plantings,
      fc.array(fc.integer({ min: 1, max: 40 })),
      fc.constantFrom('attention' as const, 'created' as const),
      (plants, expanded, order) => {
        const open = forest(plants);
        const query = { expanded: expanded.map(agentId), order, filter: '' };
        const whole = writtenOut(plants, { ...query, top: 0, height: 0 });
        for (let top = 0; top < whole.length + 2; top += 1) {
          for (const height of [1, 3, 50]) {
            const window = open.reads.tree({ ...query, top, height });
            assert.equal(window.total, whole.length);
            assert.equal(window.partial, false);
            const shown = window.rows.map((row) => `${row.level}:${row.agent.id}`);
            assert.deepEqual(shown, whole.slice(window.top, window.top + height));
            assert.ok(window.top === top || window.top === Math.max(0, whole.length - height));
          }
        }
        open.close();
      },
    ),
    { numRuns: 60 },
  );
});

test('a row says whether it is expanded; an agent without children never is', () => {
  const open = forest([
    { parent: 0, rank: 5 },
    { parent: 1, rank: 5 },
  ]);
  const rows = open.reads.tree({
    expanded: [agentId(1), agentId(2), agentId(99)],
    order: 'created',
    filter: '',
    top: 0,
    height: 9,
  }).rows;
  assert.deepEqual(
    rows.map((row) => [Number(row.agent.id), row.expanded]),
    [
      [1, true],
      [2, false],
    ],
  );
  open.close();
});

test('a filter looks at a slice a call, says that it is not done, and finds what came later', () => {
  const open = openStore({ directory: '', durability: 'process', mode: 'memory' });
  const add = (count: number, own: object): void => {
    open.store.transact(() => {
      for (let made = 0; made < count; made += 1)
        open.store.insert('agent', agentRow({ name: 'other', ...own }));
    });
  };
  add(1, { name: 'Needle' });
  add(4_500, {});
  add(1, { task: 'find the NEEDLE', rank: 0 });
  const look = (order: 'created' | 'attention' = 'created'): { ids: number[]; partial: boolean } => {
    const window = open.reads.tree({ expanded: [], order, filter: ' needle', top: 0, height: 10 });
    return { ids: window.rows.map((row) => Number(row.agent.id)), partial: window.partial };
  };
  assert.deepEqual(look(), { ids: [1], partial: true });
  assert.deepEqual(look(), { ids: [1], partial: true });
  assert.deepEqual(look(), { ids: [1, 4_502], partial: false });
  add(1, { name: 'needles' });
  assert.deepEqual(look(), { ids: [1, 4_502, 4_503], partial: false });
  assert.deepEqual(look('attention').ids, [4_502, 1, 4_503]);
  open.close();
});
