// Hunks as lines: both files can be read back from what is drawn, numbers are right on both sides, and marks of
// words never change a text. Cases 25, 62.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { structuredPatch } from 'diff';
import fc from 'fast-check';
import type { ChangeDetail, Hunk } from '../../sidecar/protocol/change.ts';
import { compareTexts, drawHunks, splitLines } from '../../webview/changes/diff.ts';
import type { DiffLine } from '../../webview/changes/diff.ts';
import { limits } from '../../webview/limits.ts';
import { change, hunk } from './samples.ts';

const textOf = (line: DiffLine): string => line.pieces.map((piece) => piece.text).join('');

/** Hunks between two texts in the form of the protocol: runs of changed lines without context. */
function hunksOf(before: readonly string[], after: readonly string[]): Hunk[] {
  const join = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');
  const patch = structuredPatch('a', 'b', join(before), join(after), undefined, undefined, { context: 0 });
  return patch.hunks.map((each, index) => {
    const removed = each.lines.filter((line) => line.startsWith('-')).map((line) => line.slice(1));
    const added = each.lines.filter((line) => line.startsWith('+')).map((line) => line.slice(1));
    const base = { start: each.oldStart, count: each.oldLines };
    const now = { start: each.newStart, count: each.newLines };
    return { id: `h${index}`, base, after: now, now, removed, added };
  });
}

function detailOf(before: readonly string[], after: readonly string[]): ChangeDetail {
  return change(1, { hunks: hunksOf(before, after), baseText: before.map((line) => `${line}\n`).join('') });
}

test('each drawn line is the line of its number, on the side or sides where it is', () => {
  const line = fc.constantFrom('a', 'b', 'const x = 1;', 'const x = 2;', '', '  }', 'return x;');
  const lines = fc.array(line, { maxLength: 25 });
  fc.assert(
    fc.property(lines, lines, (before, after) => {
      const drawn = drawHunks(detailOf(before, after)).flatMap((each) => each.lines);
      for (const each of drawn) {
        if (each.baseLine !== null) assert.equal(textOf(each), before[each.baseLine - 1]);
        if (each.afterLine !== null) assert.equal(textOf(each), after[each.afterLine - 1]);
        assert.equal(each.kind === 'added', each.baseLine === null);
        assert.equal(each.kind === 'removed', each.afterLine === null);
      }
      const bases = drawn.flatMap((each) => (each.baseLine === null ? [] : [each.baseLine]));
      assert.equal(new Set(bases).size, bases.length, 'context of two hunks is not drawn twice');
    }),
    { numRuns: 300 },
  );
});

test('two texts side by side give both back', () => {
  const lines = fc.array(fc.constantFrom('a', 'b', 'const x = 1;', 'const x = 2;', '  }'), { maxLength: 15 });
  fc.assert(
    fc.property(lines, lines, (before, after) => {
      const drawn = compareTexts(before.join('\n'), after.join('\n'));
      const side = (kind: 'removed' | 'added'): string[] =>
        drawn.filter((each) => each.kind === 'same' || each.kind === kind).map(textOf);
      assert.deepEqual(side('removed'), before);
      assert.deepEqual(side('added'), after);
      for (const each of drawn) {
        if (each.baseLine !== null) assert.equal(textOf(each), before[each.baseLine - 1]);
        if (each.afterLine !== null) assert.equal(textOf(each), after[each.afterLine - 1]);
      }
    }),
  );
});

test('changed words are marked, and only they', () => {
  const [drawn] = drawHunks(
    change(1, { hunks: [hunk('h', 3, ['const total = sum(rows);'], ['const total = sum(lines);'])] }),
  );
  assert.deepEqual(
    drawn?.lines.map((each) => each.pieces.filter((piece) => piece.changed).map((piece) => piece.text)),
    [['rows'], ['lines']],
  );
});

test('lines that have nothing in common get no marks', () => {
  const [drawn] = drawHunks(
    change(1, { hunks: [hunk('h', 1, ['import fs from "fs";'], ['export const answer = 42;'])] }),
  );
  assert.ok(drawn?.lines.every((each) => each.pieces.every((piece) => !piece.changed)));
});

test('case 25: a hunk too large to compare by words is drawn by lines', () => {
  const long = 'word '.repeat(limits.wordDiffChars / 5);
  const [drawn] = drawHunks(change(1, { hunks: [hunk('h', 1, [long], [`${long}more`])] }));
  assert.deepEqual(
    drawn?.lines.map((each) => each.pieces.length),
    [1, 1],
  );
});

test('without the base there is no context, and the hunk is drawn all the same', () => {
  const [drawn] = drawHunks(change(1, { hunks: [hunk('h', 7, ['a'], [])], baseText: null }));
  assert.deepEqual(
    drawn?.lines.map((each) => [each.kind, each.baseLine, each.afterLine]),
    [['removed', 7, null]],
  );
});

test('lines of every kind of line end', () => {
  assert.deepEqual(splitLines('a\r\nb\nc\rd'), ['a', 'b', 'c', 'd']);
  assert.deepEqual(splitLines('a\n\n'), ['a', '']);
  assert.deepEqual(splitLines(''), []);
});
