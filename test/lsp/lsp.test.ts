// `roost lsp` with a real client of the protocol over its standard streams, a real sidecar and a real repository: what
// agents see of an editor's texts, and how its person decides what they changed.

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Diagnostic } from 'vscode-languageserver-protocol';
import { one, Store } from '../cli/roost.ts';
import { until } from '../rpc/rig.ts';
import { createRepository } from '../workspace/repository.ts';
import { capable, Editor } from './editor.ts';

const edit = (old: string, text: string): object => {
  return { call: 'edit', input: { path: 'a.txt', old, new: text } };
};

/** A store whose model makes these edits of a.txt, one for each message, by the message's text. */
function storeOf(t: TestContext, text: string, edits: Readonly<Record<string, readonly object[]>>): Store {
  const rules = Object.entries(edits).map(([user, say]) => ({ user, round: 1, say }));
  const store = new Store(t, [...rules, { round: 2, say: [{ text: 'done: {result}' }] }]);
  createRepository({ 'a.txt': text }, store.workspace);
  return store;
}

const run = (store: Store, agent: string, task: string, ...how: string[]) =>
  store.lines(...['run', '--new', '--mode', 'edits', ...how, ...store.model], '--agent', agent, '--', task);

const said = (note: Diagnostic | undefined): string =>
  typeof note?.message === 'string' ? note.message : '';

const onDisk = (store: Store): string => readFileSync(path.join(store.workspace, 'a.txt'), 'utf8');

test('a hunk of an agent is a note in its lines, and a code action rejects it', async (t) => {
  const store = storeOf(t, 'one\ntwo\nthree\n', { change: [edit('one', 'ONE'), edit('three', 'THREE')] });
  const editor = await Editor.start(store);
  assert.equal(editor.said.serverInfo?.name, 'roost');
  await run(store, 'first', 'change');
  await editor.open('a.txt');
  await editor.noted('a.txt', 2);
  const [note] = editor.notes('a.txt');
  assert.deepEqual(note?.range, { start: { line: 0, character: 0 }, end: { line: 0, character: 3 } });
  assert.match(said(note), /^first changed this: −1 \+1\..*\n- one\n\+ ONE$/);
  assert.deepEqual(
    (await editor.actions('a.txt', 1)).map(({ title }) => title),
    ['Roost: accept all of first in this file', 'Roost: reject all of first in this file'],
  );
  await editor.act('a.txt', 0, /reject this hunk \(−1 \+1 of first\)/);
  await editor.noted('a.txt', 1);
  assert.equal(onDisk(store), 'one\ntwo\nTHREE\n');
  await editor.act('a.txt', 2, /accept this hunk/);
  await editor.noted('a.txt', 0);
  assert.deepEqual(await store.lines('review'), []);
  assert.equal(await editor.stop(), 0);
});

test('case 59: agents read and edit the unsaved text, as one step of the editor’s undo', async (t) => {
  const store = storeOf(t, 'one\ntwo\n', { change: [edit('mine', 'yours')], look: [edit('nothing', 'x')] });
  const editor = await Editor.start(store);
  await editor.open('a.txt');
  await editor.type('a.txt', 'two', 'mine 🐟 two');
  await run(store, 'first', 'change');
  await until('the edit is in the editor', () => editor.text('a.txt') === 'one\nyours 🐟 two\n');
  assert.equal(onDisk(store), 'one\ntwo\n');
  // A verdict goes into the unsaved text too.
  await editor.noted('a.txt', 1);
  await editor.act('a.txt', 1, /reject this hunk/);
  await until('the text is the person’s again', () => editor.text('a.txt') === 'one\nmine 🐟 two\n');
  assert.equal(onDisk(store), 'one\ntwo\n');
});

test('a text that is older than its file is no unsaved work: agents go on from the file', async (t) => {
  const store = storeOf(t, 'one\ntwo\n', { first: [edit('one', 'ONE')], second: [edit('ONE', 'won')] });
  const editor = await Editor.start(store);
  await editor.open('a.txt');
  await run(store, 'first', 'first');
  await run(store, 'second', 'second');
  assert.equal(onDisk(store), 'won\ntwo\n');
  assert.equal(editor.text('a.txt'), 'one\ntwo\n', 'and the editor was not asked to change anything');
  // What the person saves is the file from then on.
  await editor.type('a.txt', 'two', 'zwei');
  writeFileSync(path.join(store.workspace, 'a.txt'), editor.text('a.txt'));
  await editor.saved('a.txt');
  await run(store, 'third', 'first');
  assert.equal(onDisk(store), 'ONE\nzwei\n');
});

test('what an agent proposes from its worktree is accepted into the file, all of it at once', async (t) => {
  const store = storeOf(t, 'one\ntwo\nthree\n', { change: [edit('one', 'ONE'), edit('three', 'drei')] });
  const editor = await Editor.start(store);
  await editor.open('a.txt');
  await run(store, 'first', 'change', '--isolation', 'worktree');
  await editor.noted('a.txt', 2);
  assert.match(said(editor.notes('a.txt')[1]), /^first proposes −1 \+1\./);
  assert.equal(onDisk(store), 'one\ntwo\nthree\n');
  await editor.act('a.txt', 1, /accept all of first/);
  await editor.noted('a.txt', 0);
  assert.equal(onDisk(store), 'ONE\ntwo\ndrei\n');
});

test('a proposal whose lines the person has changed is merged by hand, and the editor says so', async (t) => {
  const store = storeOf(t, 'one\ntwo\n', { change: [edit('one', 'ONE')] });
  const editor = await Editor.start(store);
  await editor.open('a.txt');
  await run(store, 'first', 'change', '--isolation', 'worktree');
  await editor.noted('a.txt', 1);
  await editor.type('a.txt', 'one', 'uno');
  await until('the note says so', () => /lines that first changed too/.test(said(editor.notes('a.txt')[0])));
  await editor.act('a.txt', 0, /accept all of first/);
  await until('the person is told', () => editor.messages.length !== 0);
  assert.match(editor.messages[0] ?? '', /You have edited the lines/);
  await editor.act('a.txt', 0, /merged by hand/);
  await editor.noted('a.txt', 0);
  assert.equal(editor.text('a.txt'), 'uno\ntwo\n');
});

test('notes come back after the sidecar was killed, and a verdict on what has moved says so', async (t) => {
  const store = storeOf(t, 'one\n', { change: [edit('one', 'ONE')], again: [edit('ONE', 'won')] });
  const editor = await Editor.start(store, { ...capable, textDocument: {} });
  await run(store, 'first', 'change');
  await editor.open('a.txt');
  await editor.noted('a.txt', 1);
  const [, reject] = await editor.actions('a.txt', 0);
  assert.equal(typeof reject?.command, 'string', 'a client without code actions gets commands');
  await store.kill();
  await store.lines('send', 'first', '--follow', '--', 'again');
  await until('the note is of the new state', () => /\+ won/.test(said(editor.notes('a.txt')[0])));
  const given = reject as { command: string; arguments: unknown[] };
  await editor.run(given.command, given.arguments);
  await until('the person is told', () => editor.messages.length !== 0);
  assert.match(editor.messages[0] ?? '', /changed|moved|stale/);
  assert.equal(onDisk(store), 'won\n');
  await assert.rejects(editor.run('roost.accept', []), /use a code action/);
  await assert.rejects(editor.run('roost.accept', [{ change: 'x' }]), /use a code action/);
});

test('folders of the editor are told to the sidecar, also when they change; an editor that goes ends the server', async (t) => {
  const store = storeOf(t, 'one\n', { change: [edit('mine', 'yours')] });
  const elsewhere = path.join(store.directory, '../elsewhere');
  mkdirSync(elsewhere);
  const editor = await Editor.start(store, capable, elsewhere);
  const file = path.join(store.workspace, 'a.txt');
  await editor.open(file);
  await editor.type(file, 'one', 'mine');
  const line = one(await run(store, 'first', 'change'), 'result');
  assert.match(JSON.stringify(line), /does not stand in the file/, 'the file is in no folder of the editor');
  await editor.moveFolders(store.workspace, elsewhere);
  await until('the folder is known', async () => {
    await store.lines('send', 'first', '--follow', '--', 'change');
    return editor.text(file) === 'yours\n';
  });
  editor.running.child.stdin?.end();
  assert.equal((await editor.running.ended).code, 1, 'the editor went without a word');
  assert.ok(existsSync(file));
});
