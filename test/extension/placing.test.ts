// Where hunks stand while a person types: shifted with whole lines, without a place once their own lines were
// touched (cases 62, 69).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  hunkAt,
  hunkBeside,
  isReverted,
  placedInFile,
  shiftHunks,
  shiftRange,
} from '../../extension/placing.ts';
import type { LineEdit } from '../../extension/placing.ts';
import { changeDetail, changeRow, hunk } from './rows.ts';

/** From `line:column` to `line:column`, 0-based, as an editor reports it. */
function edit(from: string, to: string, text: string): LineEdit {
  const [first = 0, firstColumn = 0] = from.split(':').map(Number);
  const [last = 0, lastColumn = 0] = to.split(':').map(Number);
  return { first, firstColumn, last, lastColumn, text };
}

const at = (start: number, count: number) => ({ start, count });

test('lines above move it, lines below leave it, its own lines take its place away', () => {
  // Lines 5 and 6 of the editor's count, 4 and 5 of the document's.
  const range = at(5, 2);
  assert.deepEqual(shiftRange(range, edit('0:3', '0:3', 'x')), range);
  assert.deepEqual(shiftRange(range, edit('1:0', '1:0', 'one\ntwo\n')), at(7, 2));
  assert.deepEqual(shiftRange(range, edit('1:0', '3:0', '')), at(3, 2));
  assert.deepEqual(shiftRange(range, edit('4:0', '4:0', 'new line\n')), at(6, 2));
  assert.deepEqual(shiftRange(range, edit('3:0', '4:0', '')), at(4, 2));
  assert.deepEqual(shiftRange(range, edit('6:0', '6:0', 'below\n')), range);
  assert.equal(shiftRange(range, edit('4:2', '4:2', 'x')), null);
  assert.equal(shiftRange(range, edit('5:0', '5:4', '')), null);
  assert.equal(shiftRange(range, edit('3:2', '4:0', '')), null);
  assert.equal(shiftRange(range, edit('0:0', '9:0', '')), null);
});

test('a deletion has a place between two lines', () => {
  const range = at(5, 0);
  assert.deepEqual(shiftRange(range, edit('0:0', '0:0', 'a\n')), at(6, 0));
  assert.deepEqual(shiftRange(range, edit('4:0', '4:3', 'typed')), range);
  assert.deepEqual(shiftRange(range, edit('7:0', '7:0', 'x')), range);
});

test('a range that keeps its place still names the same lines', () => {
  const lines = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', ' ') }), {
    minLength: 3,
    maxLength: 12,
  });
  const pick = fc.nat(1000);
  const text = fc.string({ unit: fc.constantFrom('x', '\n'), maxLength: 6 });
  fc.assert(
    fc.property(lines, fc.array(pick, { minLength: 6, maxLength: 6 }), text, (before, chances, typed) => {
      const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = chances;
      const start = (a % before.length) + 1;
      const count = Math.min(1 + (b % 3), before.length - start + 1);
      const ascending = (x: number, y: number): number => x - y;
      const [first = 0, second = 0] = [c % before.length, d % before.length].sort(ascending);
      const columnIn = (line: number, chance: number): number => chance % ((before[line] ?? '').length + 1);
      const columns = [columnIn(first, e), columnIn(second, f)];
      const [from = 0, to = 0] = first === second ? columns.sort(ascending) : columns;
      const head = [...before.slice(0, first), (before[first] ?? '').slice(0, from)].join('\n');
      const tail = [(before[second] ?? '').slice(to), ...before.slice(second + 1)].join('\n');
      const after = (head + typed + tail).split('\n');
      const moved = shiftRange(at(start, count), edit(`${first}:${from}`, `${second}:${to}`, typed));
      if (moved === null) return;
      const linesOf = (all: readonly string[], line: number): readonly string[] =>
        all.slice(line - 1, line - 1 + count);
      assert.deepEqual(linesOf(after, moved.start), linesOf(before, start));
    }),
    { numRuns: 2000 },
  );
});

test('several edits of one step: one that touched a hunk takes only its place', () => {
  const hunks = [hunk('a', 2), hunk('b', 8)];
  const [first, second] = shiftHunks(hunks, [edit('1:0', '1:2', 'x'), edit('0:0', '0:0', '\n\n')]);
  assert.equal(first?.now, null);
  assert.deepEqual(second?.now, at(10, 1));
});

test('hunks of several agents by line; a deletion behind the end is shown at the last line', () => {
  const one = changeDetail(changeRow(1), [hunk('late', 9), hunk('gone', 4, { now: null })]);
  const two = changeDetail(changeRow(2), [hunk('early', 2), hunk('end', 21, { now: at(21, 0), added: [] })]);
  const worktree = changeDetail(changeRow(3, { isolation: 'worktree' }), [hunk('elsewhere', 1)]);
  const placed = placedInFile([one, two, worktree], 20);
  assert.deepEqual(
    placed.map((each) => [each.hunk.id, each.line, each.count]),
    [
      ['elsewhere', 0, 1],
      ['early', 1, 1],
      ['late', 8, 1],
      ['end', 19, 0],
    ],
  );
  assert.equal(hunkAt(placed, 8)?.hunk.id, 'late');
  assert.equal(hunkAt(placed, 19)?.hunk.id, 'end');
  assert.equal(hunkAt(placed, 5), undefined);
  assert.equal(hunkBeside(placed, 1, 1)?.hunk.id, 'late');
  assert.equal(hunkBeside(placed, 0, -1)?.hunk.id, 'end');
  assert.deepEqual(
    placed.filter((each) => each.proposal).map((each) => each.hunk.id),
    ['elsewhere'],
  );
});

test('lines taken back by hand are seen as such, other edits are not', () => {
  const text = 'a\nnew\nb\n';
  const whole = hunk('h', 2);
  const after = (edited: string) => (line: number) => edited.split('\n')[line];
  assert.ok(isReverted(whole, edit('1:0', '1:3', 'old'), after('a\nold\nb\n')));
  assert.ok(isReverted(whole, edit('1:0', '2:0', 'old\n'), after('a\nold\nb\n')));
  assert.ok(!isReverted(whole, edit('1:3', '1:3', '!'), after('a\nnew!\nb\n')));
  assert.ok(!isReverted(whole, edit('0:0', '0:0', 'old\n'), after(`old\n${text}`)));

  // Only added: taking it back takes its lines away; the editor does so from the end of the line before.
  const added = hunk('add', 2, { removed: [] });
  assert.ok(isReverted(added, edit('0:1', '1:3', ''), after('a\nb\n')));
  assert.ok(isReverted(added, edit('1:0', '2:0', ''), after('a\nb\n')));
  assert.ok(!isReverted(added, edit('2:0', '3:0', ''), after('a\nnew\n')));

  // Only removed: taking it back puts the line there again.
  const gone = hunk('gone', 2, { now: at(2, 0), added: [] });
  assert.ok(isReverted(gone, edit('1:0', '1:0', 'old\n'), after('a\nold\nb\n')));
  assert.ok(!isReverted(gone, edit('1:0', '1:0', 'other\n'), after('a\nother\nb\n')));
});
