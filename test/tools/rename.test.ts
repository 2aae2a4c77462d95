// The tool `rename` on real files: what a language server says becomes splices of bytes, all files or none, in the
// person's folder or in a worktree; and what an agent is told when it cannot be done.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { FileEdits, Renaming } from '../../sidecar/protocol/language.ts';
import { noLanguages } from '../../sidecar/tools/language.ts';
import type { Languages } from '../../sidecar/tools/language.ts';
import { planOf, splicedAll, undoOf } from '../../sidecar/tools/renamePlan.ts';
import { noBuffers } from '../../sidecar/workspace/buffers.ts';
import { hashOfText } from '../../sidecar/workspace/bytes.ts';
import { createRepository } from '../workspace/repository.ts';
import { begin, createPlace, evidenceOf } from './place.ts';
import type { Place } from './place.ts';

const nameOf = (text: string): string =>
  createHash('sha256')
    .update(text.replace(/\r\n|\r/g, '\n'), 'utf8')
    .digest('hex');

/** Every whole word `old` of a text, as a server would rename it. */
function editsOf(text: string, old: string, newText: string): FileEdits['edits'] {
  return text.split(/\r\n|\r|\n/).flatMap((found, line) =>
    [...found.matchAll(new RegExp(`\\b${old}\\b`, 'g'))].map(({ index }) => ({
      range: { start: { line, character: index }, end: { line, character: index + old.length } },
      newText,
    })),
  );
}

type Asked = Parameters<Languages['rename']>[0];

/** A server that renames the word `count` in these files of a folder. */
function server(folder: () => string, files: readonly string[], asked: Asked[] = []): Languages {
  const rename = (at: Asked): Promise<Renaming> => {
    asked.push(at);
    const documentChanges = files.map((file) => {
      const text = new TextDecoder().decode(readFileSync(path.join(folder(), file)));
      return {
        path: path.join(folder(), file),
        text: nameOf(text),
        edits: editsOf(text, 'count', at.newName),
      };
    });
    return Promise.resolve({ kind: 'edit', renames: 'count', documentChanges, fileOperations: 0 });
  };
  return { ...noLanguages, rename };
}

function placeWith(files: Readonly<Record<string, string>>, change: Partial<Languages> = {}): Place {
  const place = createPlace({
    languages: { ...server(() => place.workspace, Object.keys(files)), ...change },
  });
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(place.workspace, name), text);
  return place;
}

const wish = { path: 'a.ts', line: 1, symbol: 'count', to: 'total' };
const onDisk = (place: Place, file: string): string => readFileSync(path.join(place.workspace, file), 'utf8');

test('a name changes in all files, each a change of its own, and every other byte stays', async () => {
  const a = '\ufefflet count = 1;\r\n/* 🐟 é */ count += 1;\nlet counter = count;\r\n';
  const place = placeWith({ 'a.ts': a, 'b.ts': 'count();' });
  const prepared = await place.prepare(place.job('rename', wish));
  assert.ok(prepared.kind === 'run' && prepared.ask !== null);
  assert.equal(prepared.ask.title, 'Rename count to total in 2 files');
  assert.match(prepared.ask.detail, /let count = 1;[^]*let total = 1;[^]*b\.ts[^]*\+total\(\);/);
  const { status, text, touched } = await place.call('rename', wish);
  assert.equal(status, 'ok');
  assert.match(text, /^Renamed count to total: 4 places in 2 files\./);
  assert.equal(onDisk(place, 'a.ts'), a.replace(/\bcount\b/g, 'total'));
  assert.equal(onDisk(place, 'b.ts'), 'total();');
  assert.deepEqual(
    touched?.map((each) => path.basename(each.path)),
    ['a.ts', 'b.ts'],
  );
});

test('after a crash half way the rest is written, and both files tell what stood there before', async () => {
  const place = placeWith({ 'a.ts': 'count = count', 'b.ts': 'count' });
  const job = place.job('rename', wish);
  const evidence = await evidenceOf(place, job);
  writeFileSync(path.join(place.workspace, 'a.ts'), 'total = total');
  const { status, touched } = await begin(place.tools, job, evidence, 'recover').outcome;
  assert.equal(status, 'ok');
  assert.deepEqual(
    touched?.map(({ before, after }) => [
      String(Buffer.from(before ?? [])),
      String(Buffer.from(after ?? [])),
    ]),
    [
      ['count = count', 'total = total'],
      ['count', 'total'],
    ],
  );
  assert.equal(onDisk(place, 'b.ts'), 'total');
});

test('a file that has moved on since it was planned: nothing is written; after a crash that is unknown', async () => {
  const place = placeWith({ 'a.ts': 'count', 'b.ts': 'count' });
  const job = place.job('rename', wish);
  const evidence = await evidenceOf(place, job);
  writeFileSync(path.join(place.workspace, 'b.ts'), 'count // mine');
  const ran = await begin(place.tools, job, evidence).outcome;
  assert.deepEqual([ran.status, onDisk(place, 'a.ts')], ['error', 'count']);
  assert.match(ran.text, /b\.ts changed after the rename was planned\. Nothing was changed/);
  const taken = await begin(place.tools, job, evidence, 'recover').outcome;
  assert.deepEqual([taken.status, onDisk(place, 'a.ts')], ['unknown', 'count']);
});

test('an unsaved buffer is renamed in the editor, and not on the disk under it', async () => {
  const edits: unknown[] = [];
  const unsaved = 'count = 1; // unsaved\n';
  const isA = (file: string): boolean => path.basename(file) === 'a.ts';
  const at = (): string => path.join(place.workspace, 'a.ts');
  const change = (): FileEdits => {
    return { path: at(), text: nameOf(unsaved), edits: editsOf(unsaved, 'count', 'total') };
  };
  const place = createPlace({
    languages: {
      ...noLanguages,
      rename: () =>
        Promise.resolve({ kind: 'edit', renames: 'count', documentChanges: [change()], fileOperations: 0 }),
    },
    buffers: {
      readText: (file) => Promise.resolve(isA(file) ? unsaved : null),
      applyEdit: (_file, expect, made) => {
        edits.push([expect, made]);
        return Promise.resolve(true);
      },
    },
  });
  writeFileSync(at(), 'count = 0;\n');
  assert.equal((await place.call('rename', wish)).status, 'ok');
  assert.deepEqual(edits, [
    [hashOfText(unsaved), [{ start: 0, end: unsaved.length, text: unsaved.replace('count', 'total') }]],
  ]);
  assert.equal(onDisk(place, 'a.ts'), 'count = 0;\n');
});

test('in a worktree a rename goes to the lines that are the same, and the others are left to the agent', async () => {
  const asked: Asked[] = [];
  const languages = server(() => place.workspace, ['a.ts', 'b.ts'], asked);
  const place = createPlace({ languages });
  createRepository({ 'a.ts': 'count = 1;\nuse(count);\ncount;\n', 'b.ts': 'count\n' }, place.workspace);
  const how = { isolation: 'worktree', agent: 7 } as const;
  const own = 'new line\ncount = 1;\nuse(count, 2);\ncount;\n';
  await place.call('write', { path: 'a.ts', text: own }, how);
  const { status, text, touched } = await place.call('rename', { ...wish, line: 2 }, how);
  assert.equal(status, 'ok', text);
  assert.deepEqual(asked[0]?.position, { line: 0, character: 0 });
  assert.equal(asked[0]?.path, path.join(place.workspace, 'a.ts'));
  assert.match(text, /3 places in 2 files/);
  assert.match(text, /Left to you, .*: a\.ts:2\.\n.*search for count/);
  const [a, b] = touched ?? [];
  assert.equal(readFileSync(a?.written ?? '', 'utf8'), 'new line\ntotal = 1;\nuse(count, 2);\ntotal;\n');
  assert.equal(readFileSync(b?.written ?? '', 'utf8'), 'total\n');
  assert.equal(onDisk(place, 'a.ts'), 'count = 1;\nuse(count);\ncount;\n', 'the person’s stays');
  assert.match(
    (await place.call('rename', { ...wish, line: 3 }, how)).text,
    /line 3 of a\.ts .*worktree only/,
  );
});

test('an editor whose text is older is asked again, and then the agent is told', async () => {
  let asked = 0;
  const late = placeWith(
    { 'a.ts': 'count' },
    {
      rename: (at) => {
        asked += 1;
        if (asked < 3) return Promise.resolve({ kind: 'stale' });
        return server(() => late.workspace, ['a.ts']).rename(at);
      },
    },
  );
  assert.equal((await late.call('rename', wish)).status, 'ok');
  const never = placeWith({ 'a.ts': 'count' }, { rename: () => Promise.resolve({ kind: 'stale' }) });
  assert.match((await never.call('rename', wish)).text, /text of a\.ts is not the one .* try again/);
});

test('what cannot be renamed is said with what to do instead', async () => {
  const said = async (answer: Renaming | null, how = {}): Promise<string> => {
    const place = placeWith({ 'a.ts': 'count' }, { rename: () => Promise.resolve(answer) });
    const { status, text } = await place.call('rename', { ...wish, ...how });
    assert.equal(status, 'error');
    assert.equal(onDisk(place, 'a.ts'), 'count');
    return text;
  };
  assert.match(await said(null), /No editor window .* search and edit/);
  assert.match(
    await said({ kind: 'refused', unknown: true, message: '' }),
    /no language server .* renames in a\.ts/,
  );
  const message = 'You cannot rename this element.';
  assert.match(await said({ kind: 'refused', unknown: false, message }), /refuses: You cannot rename/);
  assert.match(
    await said({ kind: 'edit', renames: 'count', documentChanges: [], fileOperations: 1 }),
    /change nothing/,
  );
  const outside = { path: '/elsewhere/x.ts', text: '', edits: [] };
  assert.match(
    await said({ kind: 'edit', renames: 'count', documentChanges: [outside], fileOperations: 0 }),
    /would change \/elsewhere\/x\.ts\. .*outside/,
  );
  assert.match(
    await said({ kind: 'edit', renames: 'other', documentChanges: [], fileOperations: 0 }),
    /at count the language server would rename other/,
  );
  assert.match(await said(null, { to: 'count' }), /nothing to do/);
  assert.match(await said(null, { line: 4 }), /has no line 4/);
  const reader = placeWith({ 'a.ts': 'count' });
  assert.match((await reader.call('rename', wish, { isolation: 'readonly' })).text, /may only read/);
});

test('a person who types into a file that was planned is not written over, and the agent is told which it is', async () => {
  const buffers = {
    ...noBuffers,
    readText: (file: string) => Promise.resolve(path.basename(file) === 'b.ts' ? 'count\n' : null),
  };
  const place = createPlace({ languages: server(() => place.workspace, ['a.ts', 'b.ts']), buffers });
  writeFileSync(path.join(place.workspace, 'a.ts'), 'count\n');
  writeFileSync(path.join(place.workspace, 'b.ts'), 'count\n');
  const { status, text, touched } = await place.call('rename', wish);
  assert.equal(status, 'error');
  assert.match(text, /NOT in b\.ts: the person is editing it right now/);
  assert.equal(touched?.length, 1);
});

test('splices go back to exactly the bytes that were there', () => {
  const bytes = Buffer.from('count\r\n\tcount=count\n');
  const text = bytes.toString();
  const plan = planOf(text, bytes, editsOf(text, 'count', 'n'));
  assert.ok(plan.kind === 'plan');
  const after = splicedAll(bytes, plan.splices);
  assert.equal(String(Buffer.from(after ?? [])), 'n\r\n\tn=n\n');
  assert.deepEqual(Buffer.from(splicedAll(after ?? bytes, undoOf(plan.splices)) ?? []), bytes);
  assert.equal(splicedAll(Buffer.from('other'), plan.splices), null);
  const [first] = editsOf(text, 'count', 'n');
  assert.ok(first !== undefined);
  assert.equal(planOf(text, bytes, [first, first]).kind, 'refused');
});
