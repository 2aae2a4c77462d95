// Review in the editor against a fake sidecar: what is asked for, what is shown while a person types and decides,
// and what a verdict names.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import type { Ctx } from '../../extension/ctx.ts';
import { Connection } from '../../extension/connection.ts';
import { Paths } from '../../extension/paths.ts';
import { Signal } from '../../extension/signal.ts';
import type { ChangeRow, Hunk } from '../../sidecar/protocol/change.ts';
import { changeId } from '../../sidecar/protocol/ids.ts';
import { FakeSidecar, quietLog, temporaryStore, noModels } from './fakeSidecar.ts';
import { changeDetail, changeRow, hunk } from './rows.ts';
import { events, Range, seen, standIn, TestDocument, Uri } from './vscode.ts';

standIn();
const { Reviews, sideUri, changeOfUri } = await import('../../extension/reviews.ts');
const { ReviewDocs } = await import('../../extension/reviewDocs.ts');
const { registerMerge } = await import('../../extension/reviewMerge.ts');
const { ReviewLens } = await import('../../extension/reviewLens.ts');

type ReviewsType = InstanceType<typeof Reviews>;
type Verdict = {
  change: number;
  verdict: string;
  hunks: string[] | 'all';
  baseHash: string;
  afterHash: string;
};

let sidecar: FakeSidecar;
let connection: Connection;
let reviews: ReviewsType;
let rowsChanged: Signal<void>;
let owned: { dispose(): void }[];
let remove: () => void;
let docs: InstanceType<typeof ReviewDocs>;
let theCtx: Ctx;
/** The sidecar's truth. */
let row: ChangeRow;
let hunks: readonly Hunk[];
let document: TestDocument;

beforeEach(async () => {
  const place = temporaryStore();
  remove = place.remove;
  row = changeRow(1, { path: '/project/a.ts', label: 'a.ts' });
  hunks = [hunk('one', 2), hunk('two', 4)];
  document = new TestDocument('/project/a.ts', 'a\nnew\nb\nnew\nc\n', false);
  seen.documents = [document];
  seen.visibleEditors = [{ document }];
  seen.messages = [];
  sidecar = new FakeSidecar(place.store, { 'change/get': () => changeDetail(row, hunks) });
  connection = new Connection({
    store: () => place.store,
    launch: () => sidecar.start(),
    client: () => Promise.resolve({ name: 'window', workspaces: [] }),
    can: [],
    editor: {
      'editor/readText': () => Promise.resolve({ text: null }),
      'editor/applyEdit': () => Promise.resolve({ applied: false }),
      'editor/secret': () => Promise.resolve({ key: null }),
      ...noModels,
    },
    log: quietLog(),
  });
  rowsChanged = new Signal();
  owned = [];
  let keys = 0;
  const ctx = {
    own: <T extends { dispose(): void }>(thing: T): T => (owned.push(thing), thing),
    onChanges: (listener: () => void) => rowsChanged.on(listener),
    get changes() {
      return [row];
    },
    paths: new Paths('linux'),
    log: quietLog(),
    connection,
    key: () => `k${(keys += 1)}`,
    command: (name: string, run: (...given: unknown[]) => unknown) => void seen.commands.set(name, run),
  };
  reviews = new Reviews(ctx as unknown as Ctx);
  theCtx = ctx as unknown as Ctx;
  docs = new ReviewDocs(theCtx, reviews);
  seen.lensProviders = [];
  new ReviewLens(ctx as unknown as Ctx, reviews);
  rowsChanged.fire();
  await shown('one@1', 'two@3');
});

afterEach(async () => {
  for (const each of owned) each.dispose();
  connection.dispose();
  await sidecar.crash();
  remove();
});

const places = (): string[] =>
  reviews.placed(document as never).map((each) => `${each.hunk.id}@${each.line}`);

/** Resolves when these hunks are drawn at these lines. */
function shown(...wanted: string[]): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (places().join() !== wanted.join()) return;
      listening.dispose();
      resolve();
    };
    const listening = reviews.onChange(look);
    look();
  });
}

function type(range: Range, text: string): void {
  document.replace(range, text);
  events.textChanged.fire({ document, contentChanges: [{ range, text }] });
}

const verdicts = (): Verdict[] =>
  sidecar.calls
    .filter((call) => call.method === 'change/verdict')
    .map((call) => call.params as unknown as Verdict);

/** A sidecar that moves its hashes with each verdict, and refuses one that names old ones. */
function answerVerdicts(): void {
  sidecar.answers['change/verdict'] = ({ hunks: named, baseHash, afterHash }: Verdict) => {
    const fresh = baseHash === row.baseHash && afterHash === row.afterHash;
    if (fresh) {
      hunks = named === 'all' ? [] : hunks.filter((each) => !named.includes(each.id));
      row = { ...row, baseHash: `${row.baseHash}+`, state: hunks.length === 0 ? 'accepted' : 'open' };
    }
    return { state: fresh ? 'applied' : 'stale', message: fresh ? '' : 'Look again.', change: row };
  };
}

test('a file in sight is asked for once, and drawn with a row of verbs a hunk', () => {
  assert.equal(sidecar.calls.filter((call) => call.method === 'change/get').length, 1);
  const titles = seen.lensProviders[0]?.provideCodeLenses(document).map((lens) => lens.command.title);
  assert.deepEqual(titles?.slice(0, 4), [
    '$(check)\u00a0Accept',
    '$(discard)\u00a0Reject',
    '$(comment)\u00a0Comment',
    '−1 +1 · agent1',
  ]);
});

test('a file that nobody looks at is not asked for', () => {
  seen.visibleEditors = [];
  const before = sidecar.calls.length;
  row = { ...row, afterHash: 'moved' };
  rowsChanged.fire();
  assert.equal(sidecar.calls.length, before);
});

test('two verdicts in a hurry are given one after the other, each on the state before it', async () => {
  answerVerdicts();
  const decided = Promise.all([
    reviews.decide(changeId(1), 'accept', ['one']),
    reviews.decide(changeId(1), 'reject', ['two']),
  ]);
  await decided;
  assert.deepEqual(
    verdicts().map((each) => [each.verdict, each.hunks, each.baseHash]),
    [
      ['accept', ['one'], 'b1'],
      ['reject', ['two'], 'b1+'],
    ],
  );
  assert.deepEqual(seen.messages, []);
  assert.deepEqual(places(), []);
});

test('a hunk disappears at once, and comes back with the reason when the verdict is refused', async () => {
  let answer: (result: unknown) => void = () => undefined;
  sidecar.answers['change/verdict'] = () => new Promise((resolve) => (answer = resolve));
  const decided = reviews.decide(changeId(1), 'accept', ['one']);
  await shown('two@3');
  await sidecar.called('change/verdict');
  answer({ state: 'stale', message: 'Look again.', change: row });
  await decided;
  await shown('one@1', 'two@3');
  assert.deepEqual(seen.messages, ['Look again.']);
});

test('while a person types hunks move with the lines, and one that is touched waits for the sidecar', async () => {
  type(new Range(0, 0, 0, 0), 'first\n');
  assert.deepEqual(places(), ['one@2', 'two@4']);
  type(new Range(2, 3, 2, 3), '!');
  assert.deepEqual(places(), ['two@4']);
  const titles = seen.lensProviders[0]?.provideCodeLenses(document).map((lens) => lens.command.title);
  assert.match(titles?.[0] ?? '', /You changed lines that agent1 changed too/);
  // After the pause the sidecar says where they are.
  hunks = [hunk('one', 3), hunk('two', 5)];
  await shown('one@2', 'two@4');
});

test('lines that a person takes back are a hunk rejected, said to nobody', async () => {
  answerVerdicts();
  type(new Range(1, 0, 1, 3), 'old');
  await sidecar.called('change/verdict');
  await shown('two@3');
  assert.deepEqual(
    verdicts().map((each) => [each.verdict, each.hunks]),
    [['reject', ['one']]],
  );
  assert.deepEqual(seen.messages, []);
});

test('an agent that takes its own lines back decides nothing', async () => {
  document.replace(new Range(1, 0, 1, 3), 'old');
  document.isDirty = false;
  events.textChanged.fire({ document, contentChanges: [{ range: new Range(1, 0, 1, 3), text: 'old' }] });
  hunks = [hunk('two', 4)];
  await shown('two@3');
  assert.deepEqual(verdicts(), []);
});

test('the two sides of a change are documents by its number, their text is asked for', async () => {
  const base = sideUri('roost-base', row) as unknown as Uri;
  assert.equal(base.toString(), 'roost-base:///project/a.ts?change=1');
  assert.equal(changeOfUri(base as never), 1);
  assert.equal(changeOfUri(new Uri('roost-base', '/a', 'change=x') as never), undefined);
  assert.equal(await seen.contentProviders.get('roost-base')?.provideTextDocumentContent(base), 'base\n');
  const after = sideUri('roost-after', row) as unknown as Uri;
  assert.equal(await seen.contentProviders.get('roost-after')?.provideTextDocumentContent(after), 'after\n');
});

test('a change that is decided elsewhere is drawn no more', async () => {
  row = { ...row, state: 'accepted' };
  rowsChanged.fire();
  await shown();
  assert.deepEqual(reviews.all, []);
});

test('case 62: where there is no merge editor the versions are compared, and what is merged by hand is said so', async () => {
  row = { ...row, isolation: 'worktree' };
  rowsChanged.fire();
  registerMerge(theCtx, reviews, docs);
  sidecar.answers['change/verdict'] = ({ merged }: { merged?: boolean }) => {
    const state = merged === true ? 'accepted' : 'conflict';
    row = { ...row, state };
    return { state: merged === true ? 'applied' : 'conflict', message: 'Lines.', change: row };
  };
  seen.executed = [];
  seen.answers = ['It Is Merged'];
  await reviews.decide(row.id, 'accept', ['one']);
  while (verdicts().length < 2) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(
    seen.executed.map(([name]) => name),
    ['vscode.diff'],
  );
  assert.match(seen.messages.join('\n'), /agent1 and you changed the same lines of a\.ts/);
  const [, second] = verdicts() as (Verdict & { merged?: boolean })[];
  assert.deepEqual([second?.verdict, second?.hunks, second?.merged], ['accept', 'all', true]);
});
