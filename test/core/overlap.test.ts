// Which lines a change replaces, kept in a row, and whether two changes meet.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { editsBetween, splitLines } from '../../sidecar/core/lines.ts';
import { merge3 } from '../../sidecar/core/merge.ts';
import { meet, rangesOf } from '../../sidecar/core/overlap.ts';

const place = (base: string, text: string): { baseHash: string; ranges: string } => ({
  baseHash: base,
  ranges: rangesOf(editsBetween(splitLines(base), splitLines(text))),
});

test('ranges are those of the base, and many become one', () => {
  assert.equal(rangesOf([]), '');
  assert.equal(place('a\nb\nc\nd\n', 'a\nB\nc\nd\ne\n').ranges, '1+1,4+0');
  const lines = Array.from({ length: 100 }, (_, i) => `${i}\n`);
  const odd = lines.map((line, i) => (i % 2 === 1 ? `x${line}` : line)).join('');
  assert.equal(place(lines.join(''), odd).ranges, '1+99');
});

test('changes of different bases are not compared', () => {
  assert.equal(meet(place('a\n', 'b\n'), place('c\n', 'b\n')), false);
  assert.equal(meet(place('a\n', 'b\n'), place('a\n', 'c\n')), true);
});

test('two changes of a base meet exactly when accepting one puts the other in conflict', () => {
  const base = ['a', 'b', 'c', 'd', 'e'];
  const edits: ((lines: string[], word: string) => string[])[] = [];
  for (let at = 0; at <= base.length; at++) {
    edits.push((lines, word) => lines.toSpliced(at, 0, word));
    for (const count of [1, 2]) {
      if (at + count <= base.length) edits.push((lines, word) => lines.toSpliced(at, count, word));
    }
  }
  const textOf = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');
  let met = 0;
  for (const one of edits) {
    for (const other of edits) {
      const [mine, theirs] = [textOf(one(base, 'mine')), textOf(other(base, 'theirs'))];
      const conflict = merge3(textOf(base), mine, theirs).kind === 'conflict';
      const found = meet(place(textOf(base), mine), place(textOf(base), theirs));
      assert.equal(found, conflict, `${mine}\n${theirs}`);
      if (found) met += 1;
    }
  }
  assert.ok(20 < met && met < edits.length ** 2 / 2);
});
