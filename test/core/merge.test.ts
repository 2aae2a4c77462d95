// Hunks, their verdicts and three-way merges: the laws that keep a person's text, over random texts, and the
// merge against git's own.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { editsBetween, splitLines } from '../../sidecar/core/lines.ts';
import { applyHunks, hunksOf, mapRange, merge3, withoutHunks } from '../../sidecar/core/merge.ts';

/** Few different lines, so that they repeat; ends of every kind, the last one with or without. */
const line = fc.tuple(
  fc.constantFrom('a', 'b', 'c', '', '}', 'long line'),
  fc.constantFrom('\n', '\n', '\r\n'),
);
const text = fc
  .tuple(fc.array(line, { maxLength: 14 }), fc.constantFrom('', 'tail', '\r'))
  .map(([lines, tail]) => lines.map(([words, end]) => words + end).join('') + tail);

test('a text is its lines', () => {
  fc.assert(fc.property(text, (whole) => splitLines(whole).join('') === whole));
  assert.deepEqual(splitLines('a\r\n\nb'), ['a\r\n', '\n', 'b']);
});

test('all hunks taken in give the new text, all taken out give the old one', () => {
  fc.assert(
    fc.property(text, text, (base, after) => {
      const hunks = hunksOf(base, after, 'a.ts');
      assert.equal(applyHunks(base, hunks), after);
      assert.equal(withoutHunks(after, hunks), base);
      assert.equal(new Set(hunks.map((hunk) => hunk.id)).size, hunks.length);
    }),
  );
});

test('any of the hunks taken in or the others taken out is the same text', () => {
  fc.assert(
    fc.property(text, text, fc.array(fc.boolean(), { maxLength: 20 }), (base, after, picks) => {
      const hunks = hunksOf(base, after, 'a.ts');
      const chosen = hunks.filter((_, index) => picks[index] === true);
      const others = hunks.filter((_, index) => picks[index] !== true);
      assert.equal(applyHunks(base, chosen), withoutHunks(after, others));
    }),
  );
});

test('a file that appears or goes away is one hunk, also an empty one', () => {
  assert.equal(hunksOf(null, '', 'a').length, 1);
  assert.equal(hunksOf('', null, 'a').length, 1);
  assert.deepEqual(hunksOf(null, 'x\ny\n', 'a')[0]?.added, ['x\n', 'y\n']);
  assert.deepEqual(hunksOf(null, null, 'a'), []);
});

test('ids stay the same when other hunks are decided', () => {
  const base = 'one\ntwo\nthree\nfour\nfive\n';
  const after = 'ONE\ntwo\nthree\nfour\nFIVE\n';
  const [first, second] = hunksOf(base, after, 'a.ts');
  assert.ok(first !== undefined && second !== undefined);
  assert.equal(hunksOf(applyHunks(base, [first]), after, 'a.ts')[0]?.id, second.id);
  assert.equal(hunksOf(base, withoutHunks(after, [first]), 'a.ts')[0]?.id, second.id);
});

test('very different texts cost a bounded search and stay exact', () => {
  const lines = (seed: number): string =>
    Array.from({ length: 3_000 }, (_, i) => `${(i * seed) % 1_009}\n`).join('');
  const base = lines(7) + 'kept\n' + lines(11);
  const after = lines(13) + 'kept\n' + lines(17);
  const hunks = hunksOf(base, after, 'a.ts');
  assert.ok(1 < hunks.length, 'the line that both have once is found');
  assert.equal(applyHunks(base, hunks), after);
});

test('a merge with one side unchanged is the other side', () => {
  fc.assert(
    fc.property(text, text, (base, other) => {
      assert.deepEqual(merge3(base, base, other), { kind: 'merged', text: other });
      assert.deepEqual(merge3(base, other, base), { kind: 'merged', text: other });
      assert.deepEqual(merge3(base, other, other), { kind: 'merged', text: other });
    }),
  );
});

test('a merge is the same from both sides', () => {
  fc.assert(
    fc.property(text, text, text, (base, ours, theirs) => {
      const one = merge3(base, ours, theirs);
      const two = merge3(base, theirs, ours);
      assert.equal(one.kind, two.kind);
      if (one.kind === 'merged' && two.kind === 'merged') assert.equal(one.text, two.text);
    }),
  );
});

test('changes that touch merge, changes at the same place conflict', () => {
  const base = 'a\nb\nc\n';
  assert.deepEqual(merge3(base, 'A\nb\nc\n', 'a\nB\nc\n'), { kind: 'merged', text: 'A\nB\nc\n' });
  assert.deepEqual(merge3(base, 'x\na\nb\nc\n', 'A\nb\nc\n'), { kind: 'merged', text: 'x\nA\nb\nc\n' });
  assert.equal(merge3(base, 'a\nx\nb\nc\n', 'a\ny\nb\nc\n').kind, 'conflict', 'two insertions at one place');
  assert.equal(merge3(base, 'a\nX\nc\n', 'a\nY\nc\n').kind, 'conflict', 'two replacements of one line');
});

test('a last line without an end does not grow together with another', () => {
  assert.equal(merge3('a\n', 'a', 'a\nb\n').kind, 'conflict');
});

/** Edits that leave something to merge: some lines replaced, removed, added. */
const edited = (lines: readonly string[], seed: number): string =>
  lines
    .map((each, index) => {
      const roll = Math.imul(index + 1, seed * 2_654_435_761) >>> 27;
      if (roll === 0) return '';
      if (roll === 1) return `changed by ${seed}\n`;
      return roll === 2 ? `${each}added by ${seed}\n` : each;
    })
    .join('');

test('what git merge-file merges is merged in the same way', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'roost-merge-'));
  const gitMerge = (base: string, ours: string, theirs: string): string | null => {
    for (const [name, content] of Object.entries({ base, ours, theirs })) {
      writeFileSync(path.join(folder, name), content);
    }
    try {
      return execFileSync('git', ['merge-file', '-p', '--diff3', 'ours', 'base', 'theirs'], {
        cwd: folder,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      });
    } catch {
      return null;
    }
  };
  let clean = 0;
  for (let seed = 1; seed <= 60; seed++) {
    // Every third line is like others, as braces and empty lines are.
    const lines = Array.from({ length: 40 }, (_, i) => (i % 3 === 0 ? '}\n' : `line ${i}\n`));
    const base = lines.join('');
    const ours = edited(lines, seed * 2);
    const theirs = edited(lines, seed * 2 + 1);
    const merged = merge3(base, ours, theirs);
    const git = gitMerge(base, ours, theirs);
    if (git === null) continue;
    assert.deepEqual(merged, { kind: 'merged', text: git }, `seed ${seed}`);
    clean++;
  }
  rmSync(folder, { recursive: true });
  assert.ok(5 < clean && clean < 55, `${clean} of 60 merge: both ways were tried`);
});

test('a range is found again where it moved to, and lost where it was edited', () => {
  const edits = editsBetween(splitLines('a\nb\nc\nd\n'), splitLines('new\na\nb\nX\nd\n'));
  assert.deepEqual(mapRange(edits, { start: 2, count: 1 }), { start: 3, count: 1 });
  assert.equal(mapRange(edits, { start: 2, count: 2 }), null);
  assert.deepEqual(mapRange(edits, { start: 4, count: 1 }), { start: 5, count: 1 });
  assert.deepEqual(mapRange([], { start: 3, count: 0 }), { start: 3, count: 0 });
});

test('a mapped range has the same lines', () => {
  fc.assert(
    fc.property(text, text, fc.nat(12), fc.nat(4), (from, to, start, count) => {
      const lines = splitLines(from);
      const range = {
        start: Math.min(start, lines.length) + 1,
        count: Math.min(count, Math.max(0, lines.length - start)),
      };
      const mapped = mapRange(editsBetween(lines, splitLines(to)), range);
      if (mapped === null) return;
      const there = splitLines(to).slice(mapped.start - 1, mapped.start - 1 + mapped.count);
      assert.deepEqual(there, lines.slice(range.start - 1, range.start - 1 + range.count));
    }),
  );
});
