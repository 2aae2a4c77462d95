// Room in a context: estimates, and plans for any conversation: what is left out never tears a call from its result,
// never what was asked in the open turn, and fits.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { wholeView } from '../../sidecar/core/context.ts';
import { estimate, keptMessages, learnRatio, planRoom, trimRoom } from '../../sidecar/core/room.ts';
import type { RoomFacts, RoomRow } from '../../sidecar/core/room.ts';
import { limits } from '../../sidecar/runtime/limits.ts';

test('an estimate is what was counted, and bytes for what came since', () => {
  const load = { bytes: 9_000, headBytes: 3_000, seenTokens: 0, seenBytes: 0 };
  assert.equal(estimate(load, 3), 4_000);
  assert.equal(estimate({ ...load, seenTokens: 2_500, seenBytes: 8_400 }, 3), 2_700);
  assert.equal(estimate({ ...load, seenTokens: 2_500, seenBytes: 9_001 }, 3), 4_000, 'it was cut since');
});

test('the density of a text is followed at once when it grows, slowly when it falls, within bounds', () => {
  const seen = (bytes: number) => ({ bytes, tokens: 1_000 });
  assert.equal(learnRatio(undefined, { bytes: 0, tokens: 0 }, limits), limits.bytesPerToken);
  assert.equal(learnRatio(3, seen(2_000), limits), 1.8);
  const slow = learnRatio(3, seen(4_000), limits);
  assert.ok(slow > 3 && slow < 3.2);
  assert.equal(learnRatio(3, seen(10), limits), limits.bytesPerTokenLeast);
  let ratio = 3;
  for (let n = 0; n < 100; n++) ratio = learnRatio(ratio, seen(9_000), limits);
  assert.equal(ratio, limits.bytesPerTokenMost);
});

/** A conversation of turns and rounds: the text of each entry is so many bytes. */
const conversation = fc
  .array(
    fc.record({
      asked: fc.integer({ min: 20, max: 2_000 }),
      rounds: fc.array(
        fc.record({
          answer: fc.integer({ min: 50, max: 20_000 }),
          results: fc.array(fc.integer({ min: 20, max: 40_000 }), { maxLength: 6 }),
        }),
        { maxLength: 12 },
      ),
    }),
    { minLength: 1, maxLength: 6 },
  )
  .map((turns) => {
    const rows: RoomRow[] = [];
    const add = (kind: string, turn: number, bytes: number): void => {
      rows.push({ id: (rows.at(-1)?.id ?? 0) + 3, kind, turn, bytes });
    };
    turns.forEach(({ asked, rounds }, turn) => {
      add('user', turn + 1, asked);
      for (const { answer, results } of rounds) {
        add('answer', turn + 1, answer);
        for (const bytes of results) add('result', turn + 1, bytes);
      }
      if (turn < turns.length - 1) add('end', turn + 1, 40);
    });
    return rows.reverse();
  });

const factsOf = (rows: readonly RoomRow[], window: number, wanted: boolean): RoomFacts => {
  const bytes = rows.reduce((sum, row) => sum + row.bytes, 0);
  return {
    rows,
    kept: [],
    summaryBytes: 0,
    headBytes: 6_000,
    tokens: Math.ceil((bytes + 6_000) / 3),
    mostTokens: Math.floor(window * 0.75),
    mostForSummary: Math.floor(window * 0.75) - 512,
    mostBytes: limits.requestBytes,
    turn: rows[0]?.turn ?? 0,
    wanted,
  };
};

test('any plan fits, begins where a round begins, and keeps what was asked', () => {
  const seen = { round: 0, elided: 0, trimmed: 0, summary: 0, never: 0 };
  fc.assert(
    fc.property(
      conversation,
      fc.integer({ min: 8_000, max: 60_000 }),
      fc.boolean(),
      (rows, window, wanted) => {
        const facts = factsOf(rows, window, wanted);
        for (const plan of [planRoom(wholeView, facts, limits), trimRoom(wholeView, facts, limits)]) {
          seen[plan.kind]++;
          if (plan.kind === 'never') continue;
          const { change } = plan;
          if (plan.kind === 'round') assert.ok((change ?? facts).tokens <= facts.mostTokens);
          const begins = rows.find(
            (row) => row.id === (plan.kind === 'summary' ? plan.tail : change?.view.from),
          );
          assert.notEqual(begins?.kind, 'result', 'a result keeps its call');
          if (change === null) continue;
          seen[change.how]++;
          const answer = rows.find((row) => row.kind === 'answer')?.id ?? 0;
          const isBare = change.view.cutTo === change.view.elided;
          assert.ok(isBare || change.view.elided <= answer, 'what it has not read is there');
          const [asked] = keptMessages(facts, limits.keptMessageBytes);
          const isThere =
            asked === undefined || change.view.from <= asked.id || change.view.kept.includes(asked.id);
          assert.ok(isThere, 'what was asked is there');
        }
      },
    ),
    { numRuns: 400, seed: 4 },
  );
  for (const [kind, count] of Object.entries(seen)) assert.ok(count > 0, `${kind} was never planned`);
});
